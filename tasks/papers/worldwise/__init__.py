"""WorldWiseAI (2024): the files that it publishes."""
