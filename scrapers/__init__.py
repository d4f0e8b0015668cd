"""Live sources, one folder each, with separate modules to fetch and to parse."""
