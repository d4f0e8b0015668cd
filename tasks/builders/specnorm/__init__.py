"""How SpecNorm is built: seed statements, a choice among them, drafts by a model, checks, review. Pure."""
