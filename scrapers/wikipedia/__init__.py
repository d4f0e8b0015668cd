"""Two lists of the English Wikipedia (CC BY-SA 4.0): circulating currencies and major religious groups."""
