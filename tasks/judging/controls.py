"""Controls of a judge: null texts to refuse, gold texts to accept, and a warning of self-preference. Pure.

A judge that scores null texts as high as real ones measures nothing. A text is accepted if its score, or the
mean of several votes, is 0.5 or more. A judge that refuses everything also refuses all null texts, so these
shares mean something only together with the scores of real texts.
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
"""Sources of judged texts."""

GOLD = "gold"
"""Source of right texts, which a judge should accept."""

NOT_CHECKED = "no such text was judged"

ACCEPTED_FROM = 0.5
"""Lowest score at which a text is accepted."""

Families = Mapping[str, frozenset[Hashable]]
"""Item -> properties by which another item's text could be right for it too: country, group, rule …"""


# Models of one family share weights, training data or a maker's recipe. Names match as whole words, with or
# without digits after them. Gemma is based on Gemini's research, by its maker's account; Vicuna is a Llama.
# Most fine-tuned models keep the name of their base, so it is found (Llama-3.1-Nemotron, Hermes-3-Llama).
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
    """Return the texts to be judged: source -> item -> text.

    Args:
        real: item -> its text. Items without a text get no shuffled one either, because real and shuffled
            texts are compared item by item.
        families: of all items, with a text or without.
        generic: a text that fits no item in particular.
        scope: see ``shuffled``.
    """
    return {
        REAL: dict(real),
        SHUFFLED: shuffled(real, families, scope),
        GENERIC: dict.fromkeys(families, generic),
        EMPTY: dict.fromkeys(families, ""),
    }


def shuffled(texts: Mapping[str, str], families: Families, scope: str) -> dict[str, str]:
    """Return another item's text for each item: the next item of another family in a fixed random ring.

    Each text is used about once. An item is left out if all others are of its family.

    Args:
        scope: name of the set of items, such as a benchmark; with the items' names it fixes the ring.
    """
    ring = sorted(texts, key=lambda item: digest([scope, item]))
    swapped: dict[str, str] = {}
    if ring and frozenset.intersection(*(families[item] for item in ring)):
        return swapped  # all are one family
    for place, item in enumerate(ring):
        others = (ring[(place + step) % len(ring)] for step in range(1, len(ring)))
        other = next((other for other in others if not same_family(families, item, other)), None)
        if other is not None:
            swapped[item] = texts[other]
    return swapped


def same_family(families: Families, first: str, second: str) -> bool:
    """Return whether one text could be right for both items."""
    return not families[first].isdisjoint(families[second])


def refusals(
    source: str,
    where: Slice,
    scores: Iterable[float | None],
    reason: str,
    clusters: ArrayLike | None = None,
) -> Metric:
    """Return ``judge_<source>_refused``: the share of these null texts that the judge does not accept.

    Args:
        source: of the texts, one of ``NULLS``.
        scores: one for each text, in [0, 1]; None or NaN where unscored.
        reason: used if no text is scored.
        clusters: a label for each text if several are about one thing; default: texts are independent.
    """
    hits = 1 - _accepted(scores)
    return mean_row(f"judge_{source}_refused", where, hits, reason, clusters, SHARE)


def acceptances(
    where: Slice, scores: Iterable[float | None], reason: str, clusters: ArrayLike | None = None
) -> Metric:
    """Return ``judge_gold_accepted``: the share of these gold answers that the judge accepts."""
    return mean_row("judge_gold_accepted", where, _accepted(scores), reason, clusters, SHARE)


def check_row(
    source: str, where: Slice, opinions: Sequence[Opinion], clusters: ArrayLike | None = None
) -> Metric:
    """Return the share of a source's texts that a judge accepts or refuses correctly.

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
    """Return 1 for accepted, 0 for refused and NaN for unscored texts."""
    known = np.array([np.nan if score is None else score for score in scores], dtype=np.float64)
    return np.where(np.isnan(known), np.nan, known >= ACCEPTED_FROM)


def too_few(units: str) -> str:
    """Return the reason for no test. units: a plural such as "personas"."""
    return f"fewer than {MIN_FLIPPED} {units} cannot show a difference"


def best_null(nulls: Iterable[FloatArray]) -> float | None:
    """Return the highest mean score of any null; None if none is scored."""
    return max((mean for scores in nulls if (mean := mean_of(scores)) is not None), default=None)


def separation_row(
    where: Slice,
    real: tuple[FloatArray, Reasons],
    null: tuple[FloatArray, Reasons],
    clusters: ArrayLike,
    units: str,
    seed: int,
) -> Metric:
    """Return ``tells_real_from_shuffled``: 1 if real texts score higher than null texts, else 0.

    The test flips the signs of clusters' differences (one-sided, 0.025). The row is unscored below
    ``MIN_FLIPPED`` clusters.

    Args:
        real, null: [n] scores and the reasons for missing ones.
        clusters: [n] labels. units: name of the clusters, a plural.
    """
    metric, gains = "tells_real_from_shuffled", real[0] - null[0]
    known = ~np.isnan(gains)
    n, of_known = int(known.sum()), np.asarray(clusters)[known]
    if np.unique(of_known).size < MIN_FLIPPED:
        reason = too_few(units) if n else main_reason(np.where(real[1] == "", null[1], real[1]))
        return unscored(metric, where, reason, gains.size)
    is_above = sign_flip_p(gains[known], of_known, seed) < 0.025
    return scored(metric, where, float(is_above), (n, gains.size - n))


def families(model: str) -> frozenset[str]:
    """Return the known families in an engine's model name.

    A model with two parents has two: ``DeepSeek-R1-Distill-Qwen-7B``. Parts of words do not match
    (``ollama/…``, or ``TinyLlama``, which has other weights). Local paths are searched like names.
    """
    return frozenset(name for name, pattern in _PATTERNS.items() if pattern.search(model))


def preference_row(judges: Iterable[Engine], candidate: str) -> Metric:
    """Return ``self_preference_warning``: 1 if a judge is the candidate or of its family, else 0.

    Models prefer text that they wrote themselves (Panickssery et al. 2024, "LLM Evaluators Recognize and
    Favor Their Own Generations"). How much a judge favours its siblings is unknown, so this only warns, and
    rather too often than too rarely.

    Args:
        candidate: the model's name in its engine's spec, such as ``Qwen/Qwen3-8B``.
    """
    is_related = [
        judge.model.casefold() == candidate.casefold() or bool(families(judge.model) & families(candidate))
        for judge in judges
    ]
    if not is_related:
        return unscored("self_preference_warning", OVERALL, NO_JUDGE, 1)
    return scored("self_preference_warning", OVERALL, float(any(is_related)), (len(is_related), 0))
