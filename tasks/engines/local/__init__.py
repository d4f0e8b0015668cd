"""Engines that hold a model in this machine's memory."""
