"""How items are built: topics, drafts, how hard they are, elevation, review, release. Pure but for steps."""
