"""FmLAMA's published dishes: one file of JSON Lines per language."""
