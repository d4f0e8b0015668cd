"""Answers that are given elsewhere: what is asked, as lines of a folder, and what came back."""
