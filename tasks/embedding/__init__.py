"""Vectors of texts: an embedder reads each text once; its vector is stored and read back."""
