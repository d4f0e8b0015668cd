"""Models as judges: rubric files, prompts that separate judged text from instructions, and verdicts."""
