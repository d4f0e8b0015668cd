"""Judges that may favour their own kind: is the judge of the same family as the candidate? Pure.

Models prefer text that they wrote themselves (Panickssery et al. 2024, "LLM Evaluators Recognize and Favor
Their Own Generations"). How far a judge favours its siblings is not known, so this warns and corrects
nothing, and it warns rather too often than too seldom.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tasks.judging.prompts import NO_JUDGE
from tasks.loop.requests import Engine
from tasks.loop.rows import OVERALL, Metric, scored, unscored

# What shares weights, training data or a maker's recipe. Words are found whole, with or without digits after
# them. Gemma is made from Gemini's research, by its makers' word; Vicuna is a Llama. Others' tunings mostly
# keep the name of what they tuned (Llama-3.1-Nemotron, Hermes-3-Llama) and are found by it.
_FAMILIES: dict[str, str] = {
    "smollm": "smollm|smolvlm",
    "llama": "llama|codellama|vicuna",
    "gemini": "gemini|gemma|codegemma|medgemma|palm",
    "qwen": "qwen|qwq|qvq|codeqwen",
    "mistral": "mistral|mixtral|ministral|codestral|magistral|devstral|pixtral|mathstral",
    "gpt": r"gpt(?!-?(?:j|neo|neox|jt|4all)(?![a-z]))|chatgpt|davinci|(?<!\d)o[134](?!\d)",
    "claude": "claude",
    "deepseek": "deepseek",
    "phi": "phi",
    "command": "command|aya|cohere|cohereforai|coherelabs",
    "grok": "grok",
    "glm": "glm|chatglm",
    "yi": "yi",
    "falcon": "falcon",
    "olmo": "olmo|olmoe",
    "granite": "granite",
    "nova": "nova",
    "kimi": "kimi|moonlight",
    "minimax": "minimax",
    "ernie": "ernie",
    "hunyuan": "hunyuan",
    "internlm": "internlm",
    "nemotron": "nemotron",
    "bloom": "bloom|bloomz",
    "pythia": "pythia",
}
_PATTERNS = {
    name: re.compile(rf"(?<![a-z])(?:{words})(?![a-z])", re.IGNORECASE) for name, words in _FAMILIES.items()
}


def families(model: str) -> frozenset[str]:
    """Families that an engine's model name speaks of; empty where it names none that we know.

    Several for a model with two parents: ``DeepSeek-R1-Distill-Qwen-7B`` is of both. A word within another
    is no match (``ollama/…``, ``TinyLlama``: others' weights). Local paths are searched like other names.
    """
    return frozenset(name for name, pattern in _PATTERNS.items() if pattern.search(model))


def self_preference_warning(judge: str, candidate: str) -> str | None:
    """What to tell readers of a score where judge and candidate are of one family or the same; else None.

    Args:
        judge, candidate: model names as in their engine specs, such as ``Qwen/Qwen3-8B``.
    """
    if judge.casefold() == candidate.casefold():
        return f"the judge {judge} judges its own answers: it may favour them"
    shared = families(judge) & families(candidate)
    if not shared:
        return None
    return (
        f"the judge {judge} and the candidate {candidate} are of the same family "
        f"({', '.join(sorted(shared))}): it may favour its own kind"
    )


def preference_row(judges: Iterable[Engine], candidate: str) -> Metric:
    """``self_preference_warning``: 1 if a judge may favour the candidate, being of its family, else 0.

    Args:
        candidate: the model's name in its engine's spec.
    """
    warned = [self_preference_warning(judge.model, candidate) is not None for judge in judges]
    if not warned:
        return unscored("self_preference_warning", OVERALL, NO_JUDGE, 1)
    return scored("self_preference_warning", OVERALL, float(any(warned)), (len(warned), 0))
