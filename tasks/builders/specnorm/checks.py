"""Automatic checks of drafts: each fault has a named reason. Pure.

People judge whether a norm is true and a scene natural (``review``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rapidfuzz import fuzz, process, utils

from tasks.builders.specnorm.drafting import SpecnormDraft
from tasks.evaluations.cure.published.cues import is_named, normal

Reason = Literal[
    "unreadable", "cut_off", "cue_not_named", "stance_changed", "norm_changed", "answer_leaked",
    "not_a_yes_no_question", "near_duplicate",
]  # fmt: skip
"""Names of faults; the first two are of completions that are not a draft."""

SAME_NORM = 55.0
"""Minimum similarity (``fuzz.token_set_ratio``, 0 to 100) of the written norm to the seed's statement.

Measured between the shipped seeds and the sample's norms: the 99th percentile of pairs on different subjects
is 56, and nine in ten pairs on the same subject have 61 or more.
"""

CLOSE_NORM = 85.0
"""Similarity from which a negation in only one of norm and seed counts as a reversed norm."""

LEAK_WORDS = 6
"""Number of consecutive words of the norm that reveal the answer."""

DUPLICATE = 85.0
"""Similarity (``fuzz.ratio``) of persona, situation and question from which drafts are near-duplicates."""

_NEGATION = re.compile(r"\b(not?|never|nobody|none|nor|neither|without|avoids?|refrains?|\w+n't)\b")
_VERDICT = re.compile(
    r"\b((un|in|im|dis)?(acceptable|appropriate|proper|polite|respectful|suitable)(ly)?|rude(ly)?|rudeness|taboos?|"
    r"forbidden|prohibited|customary|offensive|offend(s|ed)|insult(s|ed|ing)?|as (custom|tradition) \w+)\b"
)
_REASON_GIVEN = re.compile(r"\b(because|since|given that|even though|although|despite)\b")
_OPENING = re.compile(
    r"(is|are|was|were|does|do|did|has|have|had|would|will|can|could|should|may|might)(n't)?\b"
)


@dataclass(frozen=True)
class SpecnormFault:
    """A reason to reject a draft."""

    reason: Reason
    detail: str


def faults(draft: SpecnormDraft) -> list[SpecnormFault]:
    """Return the faults of one draft, without comparing it with others."""
    checks = (_cues, _stance, _norm, _leak, _question)
    return [fault for check in checks for fault in check(draft)]


def near_duplicates(drafts: Sequence[SpecnormDraft], limit: float = DUPLICATE) -> list[SpecnormFault | None]:
    """Return a fault for every draft that nearly repeats an earlier one without such a fault, else None."""
    unique: dict[int, str] = {}
    twins: list[SpecnormFault | None] = []
    for number, draft in enumerate(drafts):
        written = draft.written
        text = utils.default_process(f"{written.persona} {written.situation} {written.question}")
        twin = process.extractOne(text, unique, scorer=fuzz.ratio, score_cutoff=limit)
        if twin is None:
            unique[number] = text
            twins.append(None)
        else:
            detail = f"{twin[1]:.0f} % the same as the draft for seed {drafts[twin[2]].seed}"
            twins.append(SpecnormFault("near_duplicate", detail))
    return twins


def _cues(draft: SpecnormDraft) -> list[SpecnormFault]:
    scene = f"{draft.written.persona} {draft.written.situation}"
    return [
        SpecnormFault("cue_not_named", f"neither persona nor situation contains {cue.value!r} ({cue})")
        for cue in draft.cues
        if not is_named(cue, scene)
    ]


def _stance(draft: SpecnormDraft) -> list[SpecnormFault]:
    if draft.written.label == draft.stance:
        return []
    return [
        SpecnormFault(
            "stance_changed", f"asked for a scene with the answer {draft.stance}, got {draft.written.label}"
        )
    ]


def _norm(draft: SpecnormDraft) -> list[SpecnormFault]:
    norm, statement = normal(draft.written.norm), normal(draft.statement)
    similarity = fuzz.token_set_ratio(norm, statement, processor=utils.default_process)
    if similarity < SAME_NORM:
        return [
            SpecnormFault(
                "norm_changed",
                f"the norm is {similarity:.0f} % like the seed's, {SAME_NORM:.0f} % is the least",
            )
        ]
    if similarity >= CLOSE_NORM and bool(_NEGATION.search(norm)) != bool(_NEGATION.search(statement)):
        return [SpecnormFault("norm_changed", "either the norm or the seed is negated, but not both")]
    return []


def _leak(draft: SpecnormDraft) -> list[SpecnormFault]:
    """Return leaks: a verdict in the scene, a reason in the question, or the norm's wording in either."""
    written = draft.written
    scene, question = normal(f"{written.persona} {written.situation}"), normal(written.question)
    leaks = [SpecnormFault("answer_leaked", f"the scene says {m[0]!r}") for m in _VERDICT.finditer(scene)]
    reason = _REASON_GIVEN.search(question)
    if reason:
        leaks.append(
            SpecnormFault("answer_leaked", f"the question gives a reason: {question[reason.start() :]!r}")
        )
    phrases = _phrases(scene) | _phrases(question)
    norm_phrases = (*_phrases(normal(written.norm)), *_phrases(normal(draft.statement)))
    shared = next((phrase for phrase in norm_phrases if phrase in phrases), None)
    if shared:
        leaks.append(
            SpecnormFault(
                "answer_leaked", f"the norm's words {' '.join(shared)!r} stand in scene or question"
            )
        )
    return leaks


def _phrases(text: str) -> set[tuple[str, ...]]:
    """Return all sequences of ``LEAK_WORDS`` consecutive words."""
    words = re.findall(r"\w+", text)
    return {tuple(words[i : i + LEAK_WORDS]) for i in range(len(words) - LEAK_WORDS + 1)}


def _question(draft: SpecnormDraft) -> list[SpecnormFault]:
    question = normal(draft.written.question)
    if _OPENING.match(question) and question.endswith("?") and question.count("?") == 1:
        return []
    return [
        SpecnormFault(
            "not_a_yes_no_question", f"{draft.written.question!r} is not one question for yes or no"
        )
    ]
