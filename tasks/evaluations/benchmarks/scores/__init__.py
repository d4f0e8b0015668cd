"""Scores of texts in benchmarks that no recipe has: pure functions of an answer and its annotations."""
