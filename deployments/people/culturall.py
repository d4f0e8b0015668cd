"""CulturALL studies: draw topics to write on, easy drafts and drafts to review; use the answers.

After Lin et al. (2026, section 2): nobody reviews a draft that they wrote or elevated.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from deployments.people.draw import Drawn, Wishes
from deployments.people.results import StudyResults
from tasks.builders.culturall import steps
from tasks.builders.culturall.drafts import TEXTS, harder_row, written_rows
from tasks.builders.culturall.prompts import TOPIC_LIST
from tasks.builders.culturall.review import QUEUE, queue_row
from tasks.people.answers import lacking, latest
from tasks.people.assignment import item_code, stratified
from tasks.people.review_file import DECISIONS, Decided
from tasks.people.study import PeopleItem, Private
from warehouse import Warehouse, WarehouseError, culturall_build

_TOPICS = """
SELECT topic, any_value(text) FILTER (kind = 'topic') AS description,
    list(text ORDER BY text) FILTER (kind = 'example') AS examples
FROM culturall_topic WHERE kind <> 'merge' GROUP BY topic HAVING description IS NOT NULL
"""
Things = dict[str, tuple[str, tuple[PeopleItem, Private]]]
"""Maps item code to (stratum, item with its hidden half), the input of ``stratified``."""

_HARDER = (*TEXTS[:3], "variants", TEXTS[3])
"""Texts that an elevation may change."""


class Said(NamedTuple):
    """One person's complete answers to one item."""

    annotator: str
    item: PeopleItem
    hidden: Private
    values: Mapping[str, str]
    saved: datetime


def draw_topics(warehouse: Warehouse, wishes: Wishes) -> Drawn:
    """Draw topics with examples and an item of another language as inspiration, evenly over topics."""
    topics = warehouse.query(_TOPICS).to_dicts() or [
        {"topic": name, "description": text, "examples": None} for name, text in TOPIC_LIST.items()
    ]
    copies = -(-wishes.n_items // len(topics))
    drawn: Drawn = []
    for language in wishes.languages:
        things: Things = {}
        for topic in topics:
            for n in range(copies):
                content = {"topic": topic["topic"], "description": topic["description"]}
                parts = content | {"examples": topic["examples"] or []}
                things |= _thing(wishes, "write", language, parts, topic["topic"], (topic["topic"], str(n)))
        for (stage, draft), line in steps.lines().items():
            if stage == "release" and line["language"] != language and line["scenario_en"]:
                named = TOPIC_LIST.get(line["topic"], "")
                parts = {"topic": line["topic"] or "Social", "description": named}
                parts["inspiration"] = f"{line['scenario_en']}\n{line['question_en']}"
                things |= _thing(wishes, "write", language, parts, parts["topic"], (draft,), code=draft)
        drawn += stratified(things, wishes.n_items, wishes.seed)
    return drawn


def draw_easy(warehouse: Warehouse, wishes: Wishes) -> Drawn:
    """Draw measured drafts that most models solve."""
    things: Things = {}
    for row in steps.easy():
        if row["language"] in wishes.languages:
            parts = {name: row[name] or "" for name in _HARDER}
            parts["solved"] = f"{row['n_right']} of {row['n_models']}"
            things |= _thing(wishes, "elevate", row["language"], parts, row["language"], code=row["draft"])
    return _some(things, wishes, "there is no easy draft: culturemeter culturall build --solvers A,B,C finds")


def draw_waiting(warehouse: Warehouse, wishes: Wishes) -> Drawn:
    """Draw drafts that wait to be published, and harder versions that wait to replace their parents."""
    harder = {row["draft"]: row for row in steps.elevations()}
    lines = [*steps.waiting(), *(queue_row(row, "elevate", []) for row in harder.values())]
    easy = {draft: line for (_, draft), line in steps.lines().items()}
    things: Things = {}
    for line in lines:
        if line["language"] in wishes.languages:
            parts = {name: line[name] for name in (*QUEUE.texts, "doubts", "solved")}
            parent = easy.get(harder[line["draft"]]["parent"]) if line["stage"] == "elevate" else None
            parts["easy"] = f"{parent['scenario']}\n{parent['question']}" if parent else ""
            hidden = {"code": line["draft"], "condition": line["stage"], "author": line["author"]}
            things |= _thing(wishes, "review", line["language"], parts, line["stage"], (), **hidden)
    return _some(things, wishes, "no draft waits for a review: culturemeter culturall release queues")


def follow_written(warehouse: Warehouse, results: StudyResults, folder: Path) -> list[str]:
    """Store items that people wrote as drafts; ``culturall build`` measures and ``release`` checks them."""
    rows: list[dict[str, Any]] = []
    left: Counter[str] = Counter()
    for answer in _complete(results):
        if answer.values["decision"] != "written":
            left["nothing came to mind"] += 1
            continue
        cells = {name: answer.values.get(name, "") for name in ("form", *_HARDER, "region")}
        cells |= {"language": answer.item.language, "topic": str(answer.item.content["topic"])}
        cells |= {"author": answer.annotator, "inspired_by": answer.hidden.code}
        try:
            rows += written_rows(f"study {results.folder.study.name}, {answer.item.item}", [cells])[0]
        except ValueError as error:
            left[str(error).partition(": ")[2]] += 1
    return _stored(warehouse, rows, left)


def follow_elevated(warehouse: Warehouse, results: StudyResults, folder: Path) -> list[str]:
    """Store harder versions as drafts, which another person reviews before they replace their parents."""
    known = {row["draft"]: row for row in warehouse.query(steps.STATES).to_dicts()}
    rows, left = [], Counter[str]()
    for answer in _complete(results):
        changed = {name: answer.values[name] for name in _HARDER if name in answer.values}
        changed = {name: text for name, text in changed.items() if text != answer.item.content[name]}
        if answer.values["decision"] != "harder":
            left["left as it is"] += 1
        elif not changed:
            left["no text was changed"] += 1
        elif answer.hidden.code not in known:
            left["the draft is no longer in the warehouse"] += 1
        else:
            technique: Any = answer.values["technique"]
            rows.append(harder_row(known[answer.hidden.code], answer.annotator, technique, changed))
    return _stored(warehouse, rows, left)


def follow_reviewed(warehouse: Warehouse, results: StudyResults, folder: Path) -> list[str]:
    """Store the decisions on which all reviewers of a draft agree; ``culturall release`` publishes them.

    A later decision, from a file or another study, is kept.
    """
    by_draft: dict[tuple[str, str], list[Said]] = defaultdict(list)
    for answer in _complete(results):
        by_draft[answer.hidden.condition, answer.hidden.code].append(answer)
    lines, left = steps.lines(), Counter[str]()
    read = {
        (row["stage"], row["draft"]): row["reviewed_at"]
        for row in warehouse.query("SELECT stage, draft, reviewed_at FROM culturall_review").to_dicts()
    }
    decided = []
    for key, own in by_draft.items():
        first = min(own, key=lambda answer: answer.annotator)
        row, problem = _decision(first, lines.get(key))
        if key in read and first.saved.replace(tzinfo=None) <= read[key]:
            left["decided already"] += 1
        elif len({answer.values["decision"] for answer in own}) > 1:
            left["the reviewers differ"] += 1
        elif row is None:
            left[problem] += 1
        else:
            decided.append(row)
    reviewed = steps.store_decisions(decided)
    counts = Counter(row["decision"] for row in reviewed.decisions)
    left["the revised texts have an error"] = len(reviewed.faulty)
    return [f"{name}: {counts[name]}" for name in DECISIONS] + _left(left)


def _decision(answer: Said, line: Mapping[str, str] | None) -> tuple[Decided | None, str]:
    """Return a review as a line of the review file, or the reason why it cannot be used."""
    before = {name: str(answer.item.content[name]) for name in QUEUE.texts}
    if line is None or line["text_hash"] != QUEUE.text_hash(before):
        return None, "the draft has changed since the study was drawn"
    texts = before | {name: answer.values[name] for name in QUEUE.texts if name in answer.values}
    values, is_changed = answer.values, texts != before
    if is_changed != (values["decision"] == "revise") and values["decision"] != "reject":
        return None, "accepted with changed texts" if is_changed else "revised without any change"
    cells = {name: line[name] for name in QUEUE.given} | (before if values["decision"] == "reject" else texts)
    where, decision = f"item {answer.item.item}", next(d for d in DECISIONS if d == values["decision"])
    return Decided(where, cells, decision, answer.annotator, values.get("note", "")), ""


def _complete(results: StudyResults) -> Iterator[Said]:
    """Yield the complete answers by person and item; incomplete items are left out."""
    folder, last = results.folder, latest(results.answers)
    own: dict[tuple[str, str], dict[tuple[str, str], Any]] = defaultdict(dict)
    for (annotator, item, field), answer in sorted(last.items()):
        own[annotator, item][item, field] = answer
    for (annotator, item), answers in own.items():
        if not lacking(folder, item, answers):
            values = {field: answer.value for (_, field), answer in answers.items()}
            saved = max(answer.saved for answer in answers.values())
            yield Said(annotator, folder.items[item], folder.private[item], values, saved)


def _thing(
    wishes: Wishes, page: str, language: str, parts: Mapping[str, Any], stratum: str,
    about: Sequence[str] = (), **hidden: str,
) -> Things:  # fmt: skip
    """Return the item of a study that a page shows."""
    code = item_code("culturall", wishes.name, page, language, *about, hidden.get("code", ""))
    item = PeopleItem(item=code, page=page, language=language, content=dict(parts))
    return {code: (stratum, (item, Private(item=code, stratum=stratum, **hidden)))}  # type: ignore[arg-type]


def _some(things: Things, wishes: Wishes, none: str) -> Drawn:
    """Return at most `n_items` items per language. Raises WarehouseError if a language has none."""
    if not things:
        raise WarehouseError(f"{none} some ({', '.join(wishes.languages)})")
    of = {
        language: {c: t for c, t in things.items() if t[1][0].language == language}
        for language in wishes.languages
    }
    return [one for own in of.values() for one in stratified(own, wishes.n_items, wishes.seed)]


def _stored(warehouse: Warehouse, rows: list[dict[str, Any]], left: Counter[str]) -> list[str]:
    """Store drafts that are new, and return lines that count them."""
    before = warehouse.query("SELECT count(*) FROM culturall_draft").item()
    culturall_build.add(warehouse, "culturall_draft", rows)
    new = warehouse.query("SELECT count(*) FROM culturall_draft").item() - before
    faulty = Counter(fault for row in rows for fault in row["faults"])
    notes = [f"{len(rows)} drafts, {new} of them new"]
    return notes + [f"drafts with the error {name}: {n}" for name, n in sorted(faulty.items())] + _left(left)


def _left(reasons: Counter[str]) -> list[str]:
    return [f"left out, {reason}: {n}" for reason, n in sorted(reasons.items()) if n]
