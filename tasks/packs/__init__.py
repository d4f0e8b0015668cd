"""Packs: folders with a user's own content for evaluations. A pack is data; no code in it is run."""
