"""Papers, one folder each: reading their public files, and reproducing their published numbers from them."""
