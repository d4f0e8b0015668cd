"""Scores of texts that no recipe has: pure functions of an answer and its annotations."""
