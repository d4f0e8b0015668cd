"""FmLAMA's published dishes: JSON Lines, one file a language."""
