"""Does a model know the macrostructure of culture? 170 countries x 9 domains (Wu et al. 2026, sections 3 and
4).
"""
