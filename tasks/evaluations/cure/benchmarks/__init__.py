"""CURE's four benchmarks: each module turns its published rows into items. ``common`` is what they share."""
