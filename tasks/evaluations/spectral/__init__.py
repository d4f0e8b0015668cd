"""Does a model know the macrostructure of culture? 170 countries x 9 domains (seed paper, sections 3, 4)."""
