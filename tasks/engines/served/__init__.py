"""Engines behind a server: providers, and any server that speaks the OpenAI API."""
