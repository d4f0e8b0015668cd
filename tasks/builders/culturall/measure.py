"""How hard drafts are: which models solve them. Pure; asked and judged as the evaluation does it.

So a model that is evaluated on the released items later is not asked again about those that it measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tasks.builders.culturall.params import Measured
from tasks.evaluations.culturall.items import Item, Loaded
from tasks.evaluations.culturall.params import CulturallParams
from tasks.evaluations.culturall.read import read_answers
from tasks.evaluations.culturall.study import CulturallStudy
from tasks.judging.panel import Key, Opinions
from tasks.loop.prompts import Completion, Completions
from tasks.loop.requests import Engine

NATIVE = "native"


def study_of(items: Sequence[Item], params: Measured, judges: Mapping[str, Engine]) -> CulturallStudy:
    """The study that asks these items in their own language."""
    knobs = {"max_tokens": params.answer_max_tokens, "batch": params.batch, "judges": list(judges)}
    asked = CulturallParams.model_validate({"models": params.solvers, "conditions": [NATIVE], **knobs})
    loaded = Loaded(tuple(sorted(items, key=lambda item: item.item)), {})
    return CulturallStudy(asked, loaded, {}, judges)


def answered(study: CulturallStudy, completions: Completions) -> dict[Key, Completion]:
    """(condition, item) -> its completion, of one solver's completions by prompt."""
    return {key: completions[prompt.id] for key, prompt in study.prompts.items() if prompt.id in completions}


def measure_rows(
    study: CulturallStudy, by_key: Mapping[Key, Completion], said: Opinions
) -> list[dict[str, Any]]:
    """Rows of culturall_measure of one solver, without who asked whom.

    Args:
        said: judge, by its name in the params -> key -> what it said.
    """
    rows = []
    for (condition, draft), answer in read_answers(study, by_key, said).items():
        verdict = answer.judged if study.judges else answer.matched
        rows.append(
            {
                "draft": draft,
                "judges": "|".join(sorted(judge.hash for judge in study.judges.values())),
                "text": answer.text,
                "matched": answer.matched,
                "judged": answer.judged,
                "is_right": verdict,
                "unscored_reason": None
                if verdict is not None
                else answer.reason or answer.unjudged or "unscored",
                "response_item": study.prompts[condition, draft].id,
            }
        )
    return rows
