"""Engines behind servers: the APIs of OpenAI, Anthropic and Google, and compatible servers."""
