"""Models as judges: rubric files, prompts that keep judged text apart from instructions, and verdicts."""
