"""Work that people do: what they are given, and what they give back."""
