"""The papers, a folder each: their public files, and their published numbers made again from these."""
