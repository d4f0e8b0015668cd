"""Measuring Meta-Cultural Competency (2025), section 5: conversations and ratings of them."""
