"""The one loop, its flows, comparisons of runs, and rows recomputed from stored answers. No arithmetic."""
