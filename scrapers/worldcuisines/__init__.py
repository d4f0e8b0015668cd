"""Dishes from the food knowledge base of World Cuisines (arXiv 2410.12705), a CSV file of the user's."""
