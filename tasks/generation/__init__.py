"""Text from models: ask what has no answer yet within a budget, store it, read everything back."""
