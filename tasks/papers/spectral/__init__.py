"""Measuring Meta-Cultural Competency (2025), which publishes no files: their formats are ours."""
