"""Engines with a model in this machine's memory."""
