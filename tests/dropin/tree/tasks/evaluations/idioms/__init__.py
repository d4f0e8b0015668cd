"""Does a model know what sayings mean? Invented, to show that an evaluation is a set of new files."""
