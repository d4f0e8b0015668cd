"""Does a judge do its work? Null texts that it should refuse, gold ones that it should accept, and whether it
judges its own kind. Pure.

A judge that gives null texts as much as real ones measures nothing: then no score says that texts fit what
they are about. A text is accepted if its score is 0.5 or more; of several votes on one text it is their mean.
A judge that refuses everything refuses all null texts too: read these shares beside the scores of real ones.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tasks.identity import digest
from tasks.judging.verdicts import NO_JUDGE, Opinion
from tasks.loop.requests import Engine
from tasks.loop.rows import OVERALL, Metric, Reasons, Slice, main_reason, mean_of, mean_row, scored, unscored
from tasks.metrics.intervals import MIN_FLIPPED, SHARE, sign_flip_p
from tasks.metrics.types import FloatArray

REAL, SHUFFLED, GENERIC, EMPTY = "real", "shuffled", "generic", "empty"
NULLS = (SHUFFLED, GENERIC, EMPTY)
SOURCES = (REAL, *NULLS)
"""Where a judged text is from."""

GOLD = "gold"
"""The source of right texts, which a judge should accept."""

NOT_CHECKED = "no such text was judged"

ACCEPTED_FROM = 0.5
"""The least score with which a text is accepted."""

Families = Mapping[str, frozenset[Hashable]]
"""Item -> all by which another item's text could be right for it too: its country, its group, its rule …"""


# What shares weights, training data or a maker's recipe. Words are found whole, with or without digits after
# them. Gemma is made from Gemini's research, by its makers' word; Vicuna is a Llama. Others' tunings mostly
# keep the name of what they tuned (Llama-3.1-Nemotron, Hermes-3-Llama) and are found by it.
_SINGLE = (
    "claude", "deepseek", "phi", "grok", "yi", "falcon", "granite", "nova", "minimax", "ernie", "hunyuan",
    "internlm", "nemotron", "pythia",
)  # fmt: skip
_FAMILIES = {
    "smollm": "smollm|smolvlm",
    "llama": "llama|codellama|vicuna",
    "gemini": "gemini|gemma|codegemma|medgemma|palm",
    "qwen": "qwen|qwq|qvq|codeqwen",
    "mistral": "mistral|mixtral|ministral|codestral|magistral|devstral|pixtral|mathstral",
    "gpt": r"gpt(?!-?(?:j|neo|neox|jt|4all)(?![a-z]))|chatgpt|davinci|(?<!\d)o[134](?!\d)",
    "command": "command|aya|cohere|cohereforai|coherelabs",
    "glm": "glm|chatglm",
    "olmo": "olmo|olmoe",
    "kimi": "kimi|moonlight",
    "bloom": "bloom|bloomz",
    **dict(zip(_SINGLE, _SINGLE, strict=True)),
}
_PATTERNS = {
    name: re.compile(rf"(?<![a-z])(?:{words})(?![a-z])", re.IGNORECASE) for name, words in _FAMILIES.items()
}


def texts_by_source(
    real: Mapping[str, str], families: Families, generic: str, scope: str
) -> dict[str, dict[str, str]]:
    """Source -> item -> the text to be judged.

    Args:
        real: item -> its text; items that have none are left out, and get no shuffled one either, since real
            and shuffled are compared item by item.
        families: of all items, also of those without a text.
        generic: a text that says nothing of any item in particular.
        scope: what the items are of, such as a benchmark; see ``shuffled``.
    """
    return {
        REAL: dict(real),
        SHUFFLED: shuffled(real, families, scope),
        GENERIC: dict.fromkeys(families, generic),
        EMPTY: dict.fromkeys(families, ""),
    }


def shuffled(texts: Mapping[str, str], families: Families, scope: str) -> dict[str, str]:
    """Item -> another item's text: that of the next one in a fixed random ring that is of another family.

    So each text is used about once. An item of whose family all others are is left out.

    Args:
        scope: fixes the ring, together with the items' names.
    """
    ring = sorted(texts, key=lambda item: digest([scope, item]))
    swapped: dict[str, str] = {}
    for place, item in enumerate(ring):
        others = ring[place + 1 :] + ring[:place]
        other = next((other for other in others if not same_family(families, item, other)), None)
        if other is not None:
            swapped[item] = texts[other]
    return swapped


def same_family(families: Families, first: str, second: str) -> bool:
    """Whether one text could be right for both items."""
    return not families[first].isdisjoint(families[second])


def refusals(
    source: str,
    where: Slice,
    scores: Iterable[float | None],
    reason: str,
    clusters: ArrayLike | None = None,
) -> Metric:
    """``judge_<source>_refused``: the share of these null texts that the judge does not accept.

    Args:
        source: of the texts, one of ``NULLS``.
        scores: one for each text, in [0, 1]; None or NaN where unscored.
        reason: why there is no share, should none be scored.
        clusters: one label for each text, where several are about one thing; by default they are independent.
    """
    hits = 1 - _accepted(scores)
    return mean_row(f"judge_{source}_refused", where, hits, reason, clusters, SHARE)


def acceptances(
    where: Slice, scores: Iterable[float | None], reason: str, clusters: ArrayLike | None = None
) -> Metric:
    """``judge_gold_accepted``: the share of these gold answers that the judge accepts; see ``refusals``."""
    return mean_row("judge_gold_accepted", where, _accepted(scores), reason, clusters, SHARE)


def check_row(
    source: str, where: Slice, opinions: Sequence[Opinion], clusters: ArrayLike | None = None
) -> Metric:
    """Return the share of a source's texts that a judge takes as it should.

    Args:
        source: ``GOLD``, or one of ``NULLS``.
    """
    scores = [opinion.score for opinion in opinions]
    reasons = (opinion.verdict.unscored_reason for opinion in opinions if opinion.score is None)
    reason = next(filter(None, reasons), NOT_CHECKED)
    if source == GOLD:
        return acceptances(where, scores, reason, clusters)
    return refusals(source, where, scores, reason, clusters)


def _accepted(scores: Iterable[float | None]) -> FloatArray:
    """1 for what is accepted, 0 for what is not, NaN for what is unscored."""
    known = np.array([np.nan if score is None else score for score in scores], dtype=np.float64)
    return np.where(np.isnan(known), np.nan, known >= ACCEPTED_FROM)


def too_few(units: str) -> str:
    """Why there is no test; units: what varies, such as "personas"."""
    return f"fewer than {MIN_FLIPPED} {units} cannot show a difference"


def best_null(nulls: Iterable[FloatArray]) -> float | None:
    """The highest mean of a null's scores; None where none is scored."""
    return max((mean for scores in nulls if (mean := mean_of(scores)) is not None), default=None)


def told_apart_row(
    where: Slice,
    real: tuple[FloatArray, Reasons],
    null: tuple[FloatArray, Reasons],
    clusters: ArrayLike,
    units: str,
    seed: int,
) -> Metric:
    """``tells_real_from_shuffled``: 1 if real less null texts are above 0 by flipping the signs of clusters
    (one-sided, 0.025), else 0; unscored below ``MIN_FLIPPED``.

    Args:
        real, null: [n] scores and why they are missing. clusters: [n] labels; units: what they are, in words.
    """
    flag, gains = "tells_real_from_shuffled", real[0] - null[0]
    known = ~np.isnan(gains)
    n, of_known = int(known.sum()), np.asarray(clusters)[known]
    if np.unique(of_known).size < MIN_FLIPPED:
        reason = too_few(units) if n else main_reason(np.where(real[1] == "", null[1], real[1]))
        return unscored(flag, where, reason, gains.size)
    is_above = sign_flip_p(gains[known], of_known, seed) < 0.025
    return scored(flag, where, float(is_above), (n, gains.size - n))


def families(model: str) -> frozenset[str]:
    """Families that an engine's model name speaks of; empty where it names none that we know.

    Several for a model with two parents: ``DeepSeek-R1-Distill-Qwen-7B`` is of both. A word within another
    is no match (``ollama/…``, ``TinyLlama``: others' weights). Local paths are searched like other names.
    """
    return frozenset(name for name, pattern in _PATTERNS.items() if pattern.search(model))


def preference_row(judges: Iterable[Engine], candidate: str) -> Metric:
    """``self_preference_warning``: 1 if a judge is the candidate or of its family, else 0.

    Models prefer text that they wrote themselves (Panickssery et al. 2024, "LLM Evaluators Recognize and
    Favor Their Own Generations"). How far a judge favours its siblings is not known, so this warns and
    corrects nothing, and it warns rather too often than too seldom.

    Args:
        candidate: the model's name in its engine's spec, such as ``Qwen/Qwen3-8B``.
    """
    warned = [
        judge.model.casefold() == candidate.casefold() or bool(families(judge.model) & families(candidate))
        for judge in judges
    ]
    if not warned:
        return unscored("self_preference_warning", OVERALL, NO_JUDGE, 1)
    return scored("self_preference_warning", OVERALL, float(any(warned)), (len(warned), 0))
