"""CURE (Vo and Koyejo 2025): the files that it and its benchmarks publish."""
