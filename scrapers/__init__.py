"""Live sources, one folder each: fetch apart from parse."""
