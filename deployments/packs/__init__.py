"""Packs in the command line and forms: their content, evaluations and profiles."""
