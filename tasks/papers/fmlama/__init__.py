"""FmLAMA (Zhou et al. 2025): the files that it publishes."""
