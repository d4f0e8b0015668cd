"""Construction of items: topics, drafts, difficulty, elevation, review, release. Pure but for steps."""
