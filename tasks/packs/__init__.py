"""Packs: folders of a user's own content for evaluations. Data only: nothing in them is run or imported."""
