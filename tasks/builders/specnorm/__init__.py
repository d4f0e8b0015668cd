"""Construction of SpecNorm: seed statements, a choice among them, drafts by a model, checks, review. Pure."""
