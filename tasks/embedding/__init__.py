"""Vectors of texts: each is embedded once ever by an embedder, stored, and read back."""
