"""Dishes from the food knowledge base of World Cuisines (arXiv 2410.12705), in the user's CSV file."""
