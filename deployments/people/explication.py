"""Studies of explication: interviews that make personas, and conversations that people rate.

A page has two conversations of one persona. Every pair is shown in both orders to different people, so that
an effect of order cancels out in the mean.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

import polars as pl

from deployments.people.draw import Drawn, Wishes
from deployments.people.results import StudyResults
from deployments.people.store import FILE, StudyStore
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
from tasks.evaluations.explication.materials import identifier_of
from tasks.evaluations.explication.validation import ConversationRating, validation_rows
from tasks.identity import digest
from tasks.loop.written import without_reasoning
from tasks.people.answers import latest
from tasks.people.assignment import item_code, stratified
from tasks.people.study import PeopleItem, Private
from warehouse import Warehouse, WarehouseError
from warehouse.people import save_conversation_validation

LANGUAGES = {
    "en": "English",
    "zh": "Chinese",
    "ar": "Arabic",
    "ko": "Korean",
    "ru": "Russian",
    "he": "Hebrew",
}
DRAFT = "draft"
"""Key of the interviewer's whole draft, stored beside the texts that people see."""

_log = logging.getLogger("culturemeter")


class ModelInterviewer:
    """A model that interviews people: one person at a time with an in-process engine, eight with a server."""

    def __init__(self, spec: EngineSpec, cache: Path) -> None:
        """Raise EngineError if the model cannot generate text."""
        check_ability(spec, "generate")
        self._spec, self._cache = spec, cache
        self._turn = BoundedSemaphore(8 if spec.is_served else 1)

    def reply(self, turns: Turns, language: str) -> str:
        """Return the next question, or "" if the model fails."""
        sampling = Sampling(0.7, max_tokens=200, seed=len(turns))
        return self._written(messages(turns, LANGUAGES.get(language, language)), sampling, None)

    def draft(self, turns: Turns, language: str) -> dict[str, str]:
        """Return the texts of all fields of the form; they are empty if the model fails."""
        prompt = draft_messages(turns, LANGUAGES.get(language, language))
        draft = read_draft(self._written(prompt, Sampling(max_tokens=4000), SCHEMA))
        return texts_of(draft) | {DRAFT: json.dumps(draft)}

    def _written(self, conversation: list[Message], sampling: Sampling, schema: Schema) -> str:
        try:
            with self._turn:
                engine = load(self._spec, self._cache, "generate")
                return without_reasoning(engine.generate([conversation], sampling, schema)[0].text).strip()
        except EngineError as error:
            _log.warning("the interviewer %s gives no reply: %s", self._spec.name, error)
            return ""


def follow_interviews(warehouse: Warehouse, results: StudyResults, folder: Path) -> list[str]:
    """Write the corrected personas to personas.json, for ``run explication --personas-file``.

    Incomplete personas go to personas-open.json, for somebody who knows the evaluation to complete.
    """
    texts: dict[str, dict[str, str]] = defaultdict(dict)
    for (annotator, item, field), answer in latest(results.answers).items():
        if item == "persona" and field in FIELDS and isinstance(answer.value, str):
            texts[annotator][field] = answer.value
    finished = {a for a in texts if not {"unfinished"} & set(results.excluded.get(a, ()))}
    drafts = _drafts(folder, finished)
    whole: list[dict[str, Any]] = []
    still_open: list[dict[str, Any]] = []
    notes = []
    for annotator in sorted(finished):
        profile, faults = persona_of(annotator, texts[annotator], drafts[annotator])
        (still_open if faults else whole).append(profile)
        notes += [f"{annotator}: {fault}" for fault in faults]
    for name, personas in (("personas.json", whole), ("personas-open.json", still_open)):
        (folder / name).write_text(
            json.dumps(personas, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )
    return [f"{len(whole)} personas in {folder / 'personas.json'}, {len(still_open)} to be completed", *notes]


def _drafts(folder: Path, people: set[str]) -> dict[str, Any]:
    """Return the interviewer's drafts; {} if they are unknown because the study was served elsewhere."""
    if not (folder / FILE).exists():
        return {annotator: {} for annotator in people}
    store = StudyStore(folder)
    try:
        return {a: json.loads(store.given(a, "persona").get(DRAFT, "{}")) for a in people}
    finally:
        store.close()


_TALKS = """
SELECT c.run_id, c.model, c.task, c.persona, c.persona_name, c.cuisine, c.condition, c.repetition,
    c.description, c.transcript
FROM explication_conversation AS c JOIN latest_run AS r USING (run_id)
WHERE c.ended_by IN ('recommendation', 'farewell') AND NOT r.is_null AND r.config_hash = coalesce($config, (
    SELECT config_hash FROM latest_run WHERE evaluation = 'explication' AND NOT is_null
    ORDER BY finished_at DESC LIMIT 1
))
ORDER BY ALL
"""
_GRADES = """
SELECT run_id, config_hash, model, task, persona, condition, repetition, apr, interaction
FROM explication_conversation WHERE list_contains($runs, run_id)
"""
_KEY = ("run_id", "task", "persona", "condition", "repetition")
"""Fields that name a conversation."""
_DIMENSIONS = {"persona": "persona", "fit": "apr", "asked": "interaction"}
"""Maps a field's name after "first_" or "second_" to its dimension."""
_CHECK = {
    "person": "To show that you read this, choose 2 wherever you rate from 1 to 5 here.",
    "first": "–", "second": "–",
}  # fmt: skip

Row = dict[str, Any]


def draw_conversations(warehouse: Warehouse, wishes: Wishes) -> Drawn:
    """Draw pairs of conversations that were not cut off, evenly over tasks and personas, and one check.

    A persona that came from an interview with one of these people is shown to that person only, in one order
    chosen by a hash. Other pairs are shown in both orders.

    Raises:
        WarehouseError: there is no pair. ValueError: too few people for nobody to see both orders of a pair.
    """
    too_few = wishes.people < 2 * wishes.per_item
    if too_few and not wishes.codes:
        raise ValueError(_few(wishes))
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in warehouse.query(_TALKS, {"config": wishes.config}).iter_rows(named=True):
        groups[row["task"], row["persona"]].append(row)
    things = {}
    for group, rows in groups.items():
        for first, second in _pairs(rows, wishes.seed):
            name = json.dumps([_name(first), _name(second)])
            things[name] = (" ".join(group), (name, first, second))
    if not things:
        raise WarehouseError(
            "no persona has complete conversations with two models or under two conditions; start with: "
            "culturemeter run explication"
        )
    drawn: Drawn = []
    owners = {identifier_of(code): code for code in wishes.codes}
    chosen = stratified(things, wishes.n_items, wishes.seed)
    if too_few and any(pair[0]["persona"] not in owners for _, *pair in chosen):
        raise ValueError(_few(wishes))
    for name, *pair in chosen:
        reader = owners.get(pair[0]["persona"], "")
        orders = [pair, pair[::-1]]
        for rows in [orders[int(digest([wishes.seed, name]), 16) % 2]] if reader else orders:
            code = item_code("conversations", wishes.name, *map(_name, rows))
            content = {
                "person": pair[0]["description"],
                "first": rows[0]["transcript"],
                "second": rows[1]["transcript"],
            }
            item = PeopleItem(item=code, page="pair", language=wishes.languages[0], content=content)
            # The pair is the stratum: nobody gets it twice while another person is free.
            models, codes = " | ".join(row["model"] for row in rows), json.dumps([*map(_name, rows)])
            hidden = Private(item=code, stratum=name, model=models, code=codes, reader=reader)
            drawn.append((item, hidden))
    code = item_code("check", wishes.name)
    expected = {f"{which}_{field}": "2" for which in ("first", "second") for field in _DIMENSIONS}
    item = PeopleItem(item=code, page="pair", language=wishes.languages[0], content={**_CHECK})
    return [*drawn, (item, Private(item=code, expected={**expected}))]


def follow_conversations(warehouse: Warehouse, results: StudyResults, folder: Path) -> list[str]:
    """Store the agreement of people and judges in ``conversation_validation``; ``agreement`` shows it."""
    named = {
        name for hidden in results.folder.private.values() if hidden.code for name in json.loads(hidden.code)
    }
    runs = sorted({json.loads(name)[0] for name in named})
    grades = {_name(row): row for row in warehouse.query(_GRADES, {"runs": runs}).iter_rows(named=True)}
    lost = len(named - grades.keys())
    rows = validation_rows(list(_ratings(results, grades)))
    config = next((row["config_hash"] for row in grades.values()), "")
    stored = [asdict(row) | {"config_hash": config} for row in rows]
    save_conversation_validation(warehouse, results.folder.study.name, stored)
    notes = [f"{len(rows)} numbers on simulator and judges: culturemeter people agreement NAME shows them"]
    return notes + ([f"conversations that are no longer in the warehouse: {lost}"] if lost else [])


def validation(warehouse: Warehouse, study: str) -> pl.DataFrame:
    """Return the rows that the last pull stored; none before the first pull."""
    return warehouse.query(
        "SELECT * EXCLUDE (study, config_hash, pulled_at) FROM conversation_validation WHERE study = $study",
        {"study": study},
    )


def _ratings(results: StudyResults, grades: Mapping[str, Row]) -> Iterator[ConversationRating]:
    for rating in results.ratings:
        which, _, field = rating.field.partition("_")
        hidden = results.folder.private.get(rating.item)
        if hidden is None or not hidden.code or field not in _DIMENSIONS:
            continue
        name = json.loads(hidden.code)[which == "second"]
        row, dimension = grades.get(name), _DIMENSIONS[field]
        if row is not None:
            yield ConversationRating(
                rating.annotator, name, row["model"], row["persona"], dimension, float(rating.value),
                which == "first", row.get(dimension) if dimension != "persona" else None,
            )  # fmt: skip


def _pairs(rows: Sequence[Row], seed: int) -> Iterator[tuple[Row, Row]]:
    """Yield pairs of one persona's conversations of two models or conditions, each in one pair at most."""
    left = sorted(rows, key=lambda row: digest([seed, _name(row)]))
    while left:
        first = left.pop(0)
        who = (first["model"], first["condition"])
        second = next((row for row in left if (row["model"], row["condition"]) != who), None)
        if second is not None:
            left.remove(second)
            yield first, second


def _name(row: Mapping[str, Any]) -> str:
    return json.dumps([row[name] for name in _KEY])


def _few(wishes: Wishes) -> str:
    return (
        f"every pair is shown in both orders to {wishes.per_item} people each: ask for at least "
        f"{2 * wishes.per_item} people"
    )
