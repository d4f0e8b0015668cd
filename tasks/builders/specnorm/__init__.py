"""Construction of SpecNorm: a selection of seed statements, drafts by a model, checks and review.

Pure, except for ``steps`` and for reading and writing files.
"""
