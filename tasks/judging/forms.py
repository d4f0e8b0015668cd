"""Finds out whether a text for a judge says how its answer must look. Pure and quick to import."""

from __future__ import annotations

import re

_STATES_FORM = re.compile(
    r"(?:respond|answer|reply|output|return|say|write|print|scoring:?)[^.\n]{0,40}"
    r"(?:\b(?:yes|no|true|false|json)\b|\bdict(?:ionary)?\b|\b[01]\s*(?:or|/)\s*[01]\b)"
    r"|(?:output|answer|response) format|format of (?:the|your) (?:answer|output|response)"
    r"|\bvalid json|\bjson (?:object|output|format)|python dict|(?:end|finish) with|\bscore\W{0,4}:",
    re.IGNORECASE,
)
"""Pattern of rules that state the form of an answer: "Respond YES only if", "Output Format"."""


def states_form(*texts: str) -> bool:
    """Return whether rules of a judge, or its question, say how the answer must look."""
    return any(_STATES_FORM.search(text) for text in texts)
