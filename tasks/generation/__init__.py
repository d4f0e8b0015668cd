"""Text from models: ask what has no answer yet, store it, read everything back."""
