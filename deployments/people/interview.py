"""Interviews that make personas: the model that asks, and personas of the forms that people corrected."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

from deployments.people.draw import Drawn, Wishes
from deployments.people.results import Results
from deployments.people.store import FILE, Store
from tasks.engines.load import check_ability, load
from tasks.engines.protocols import EngineError, Message, Sampling, Schema
from tasks.engines.specs import EngineSpec
from tasks.evaluations.explication.interview import (
    FIELDS,
    SCHEMA,
    Turns,
    draft_messages,
    messages,
    persona_of,
    read_draft,
    texts_of,
)
from tasks.loop.written import without_reasoning
from tasks.people.answers import latest
from warehouse import Warehouse

LANGUAGES = {
    "en": "English",
    "zh": "Chinese",
    "ar": "Arabic",
    "ko": "Korean",
    "ru": "Russian",
    "he": "Hebrew",
}
DRAFT = "draft"
"""Where the interviewer's whole draft lies beside the texts that people see."""

_log = logging.getLogger("culturescope")


class ModelInterviewer:
    """A model that asks; engines in this process answer one person after another, servers eight at once."""

    def __init__(self, spec: EngineSpec, cache: Path) -> None:
        """Raises EngineError: the model cannot write."""
        check_ability(spec, "generate")
        self._spec, self._cache = spec, cache
        self._turn = BoundedSemaphore(8 if spec.is_served else 1)

    def reply(self, turns: Turns, language: str) -> str:
        """The next question; "" where the model fails."""
        sampling = Sampling(0.7, max_tokens=200, seed=len(turns))
        return self._written(messages(turns, LANGUAGES.get(language, language)), sampling, None)

    def draft(self, turns: Turns, language: str) -> dict[str, str]:
        """Texts of all fields of the form; without content where the model fails."""
        asked = draft_messages(turns, LANGUAGES.get(language, language))
        draft = read_draft(self._written(asked, Sampling(max_tokens=4000), SCHEMA))
        return texts_of(draft) | {DRAFT: json.dumps(draft)}

    def _written(self, conversation: list[Message], sampling: Sampling, schema: Schema) -> str:
        try:
            with self._turn:
                engine = load(self._spec, self._cache, "generate")
                return without_reasoning(engine.generate([conversation], sampling, schema)[0].text).strip()
        except EngineError as error:
            _log.warning("the interviewer %s does not answer: %s", self._spec.name, error)
            return ""


def draw(warehouse: Warehouse, wishes: Wishes) -> Drawn:
    """None: its pages are those that everyone has once."""
    return []


def follow(warehouse: Warehouse, results: Results, folder: Path) -> list[str]:
    """Write the corrected personas to personas.json, for ``run explication --personas-file``.

    Those that lack something go to personas-open.json, to be completed by somebody who knows the evaluation.
    """
    texts: dict[str, dict[str, str]] = defaultdict(dict)
    for (annotator, item, field), answer in latest(results.answers).items():
        if item == "persona" and field in FIELDS and isinstance(answer.value, str):
            texts[annotator][field] = answer.value
    finished = {a for a in texts if not {"unfinished"} & set(results.excluded.get(a, ()))}
    drafts = _drafts(folder, finished)
    whole: list[dict[str, Any]] = []
    still_open: list[dict[str, Any]] = []
    said = []
    for annotator in sorted(finished):
        profile, faults = persona_of(annotator, texts[annotator], drafts[annotator])
        (still_open if faults else whole).append(profile)
        said += [f"{annotator}: {fault}" for fault in faults]
    for name, personas in (("personas.json", whole), ("personas-open.json", still_open)):
        (folder / name).write_text(
            json.dumps(personas, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )
    return [f"{len(whole)} personas in {folder / 'personas.json'}, {len(still_open)} to be completed", *said]


def _drafts(folder: Path, people: set[str]) -> dict[str, Any]:
    """What the interviewer drafted; {} where it is not known, as in a study that was pulled elsewhere."""
    if not (folder / FILE).exists():
        return {annotator: {} for annotator in people}
    store = Store(folder)
    try:
        return {a: json.loads(store.given(a, "persona").get(DRAFT, "{}")) for a in people}
    finally:
        store.close()
