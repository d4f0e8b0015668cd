"""CulturALL (Lin et al. 2026): the files that it publishes."""
