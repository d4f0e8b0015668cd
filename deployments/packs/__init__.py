"""Packs as users meet them: what they bring, and the evaluations and profiles in them."""
