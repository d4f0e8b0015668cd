"""Tasks of lm-evaluation-harness: its prompts, filters and metrics; our nulls, clusters and intervals."""
