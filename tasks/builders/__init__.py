"""Builds of data sets: SpecNorm's and CulturALL's items, drafted by models and decided by people."""
