"""Drafts: prompts about a source or an easy item, and rows from the completions. Pure.

A row is a mapping with the columns of culturall_draft; ``item_of`` turns it into an item for the checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tasks.builders.culturall import prompts
from tasks.builders.culturall.checks import ItemFault, draft_faults, unchanged
from tasks.builders.culturall.params import Technique
from tasks.builders.culturall.sources import ItemSource, WrittenRow
from tasks.evaluations.culturall.items import CulturallItem, ItemTexts, load_items
from tasks.evaluations.culturall.matching.choices import chosen_letter
from tasks.identity import digest
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.replies import CUT_OFF, REFUSED, no_text, read_fields, unreadable
from tasks.packs.published import Row, validate
from tasks.parsing import complaints

TEXTS = (*ItemTexts._fields, "scenario_en", "question_en", "answer_en", "explanation_en")
"""Texts of an item. A reviewer may change them, and also region, topic and variants."""


@dataclass(frozen=True)
class CulturallJob:
    """A draft to be written.

    Attributes:
        row: its cells in culturall_draft that are known in advance.
        choices, answer: those of a dataset's question, which the draft must not change; else empty.
    """

    prompt: Prompt
    row: Mapping[str, Any]
    choices: tuple[str, ...] = ()
    answer: str = ""

    def draft(self, request_hash: str) -> str:
        """Return the draft's hash over its prompt and model."""
        return digest([request_hash, self.prompt.id])


class Written(BaseModel):
    """A draft in the model's own fields."""

    model_config = ConfigDict(frozen=True, extra="ignore", str_strip_whitespace=True)

    scenario: str = Field(max_length=prompts.MAX_CHARS)
    question: str = Field(max_length=prompts.MAX_CHARS)
    options: list[str] = Field([], max_length=8)
    answer: str = Field(max_length=300)
    explanation: str = Field("", max_length=prompts.MAX_CHARS)


def source_job(source: ItemSource, topics: Sequence[str], languages: Mapping[str, str]) -> CulturallJob:
    """Return the job of drafting an item from a source.

    Args:
        topics: topics with examples, for the prompt.
        languages: names in English by code.
    """
    language = languages.get(source.language, source.language)
    if source.origin == "page":
        prompt = prompts.from_page(topics, language, source.text)
    else:
        prompt = prompts.from_dataset(
            topics, language, source.text, source.choices, source.answer, source.background
        )
    text = prompts.with_options(source.text, source.choices) if source.choices else source.text
    row = {
        "origin": source.origin,
        "source": source.name,
        "source_hash": source.hash,
        "source_text": text,
        "language": source.language,
        "region": source.region,
    }
    return CulturallJob(prompt, row, source.choices, source.answer)


def elevation_job(
    easy: Mapping[str, Any], partner: Mapping[str, Any] | None, technique: Technique, language: str
) -> CulturallJob:
    """Return the job of making an easy draft harder.

    Args:
        easy, partner: rows of culturall_draft; the partner is the draft that a composition adds.
    """
    prompt = prompts.elevation(item_of(easy), language, technique, item_of(partner) if partner else None)
    fields = {
        name: easy[name] for name in ("source", "source_hash", "source_text", "language", "region", "topic")
    }
    lineage = {"parent": easy["draft"], "partner": partner["draft"] if partner else None}
    return CulturallJob(prompt, fields | lineage | {"origin": "elevation", "technique": technique})


def draft_row(job: CulturallJob, completion: Completion | None) -> dict[str, Any]:
    """Return the draft's row with its faults; without texts if the completion cannot be read."""
    reason = no_text(completion)
    if completion is None or reason:
        return _row(
            job.row, None, [ItemFault("refused" if reason == REFUSED else "unreadable", reason or "")]
        )
    try:
        written = Written.model_validate(read_fields(completion.text, tuple(Written.model_fields)))
    except ValidationError as error:
        detail = next(complaints(error, "answer"))
        fault = ItemFault("cut_off" if unreadable(completion) == CUT_OFF else "unreadable", detail)
        return _row(job.row, None, [fault])
    item = _item(job, written)
    faults = draft_faults(item)
    if job.row["origin"] == "dataset":
        faults += unchanged(item, job.choices, job.answer)
    return _row(job.row, item, faults)


def written_rows(file: str, rows: Sequence[Row]) -> tuple[list[dict[str, Any]], Mapping[str, int]]:
    """Read people's drafts from a file with the columns of published items and the column author.

    A draft with ``inspired_by`` (the identifier of an item or draft) has the origin inspiration.

    Returns:
        Rows of culturall_draft, and the number of rows left out by reason.

    Raises:
        TableError: no row has the right columns.
        ValueError: a row is not an item.
    """
    fields, dropped = validate(file, rows, WrittenRow)
    drafts = []
    for n, row in enumerate(fields, 1):
        loaded = load_items([row.model_dump()], f"{file}, row {n}")
        item = loaded.items[0]
        origin = "inspiration" if row.inspired_by else "person"
        cells = {
            "draft": digest(["person", row.author, item.item, *item.native]),
            "origin": origin,
            "partner": row.inspired_by or None,
            "source": f"{file}#{n}",
            "source_hash": digest([origin, item.language, *item.native]),
            "source_text": "",
            "language": item.language,
            "region": item.region,
            "topic": item.topic,
            "author": row.author,
            "author_kind": "person",
        }
        english = dict(zip(TEXTS[4:], item.english or (None,) * 4, strict=True))
        drafts.append(_row(cells, item, draft_faults(item)) | english)
    return drafts, dropped


def harder_row(
    easy: Mapping[str, Any], author: str, technique: Technique, texts: Mapping[str, str]
) -> dict[str, Any]:
    """Return a person's harder version of a draft, as a draft with its faults.

    Args:
        easy: row of culturall_draft.
        texts: the texts that differ, among scenario, question, answer, variants and explanation; the others
            stay those of the easy draft.
    """
    fields = ("source", "source_hash", "source_text", "language", "region", "topic")
    changed = {name: easy[name] for name in (*fields, "form", "variants", *ItemTexts._fields)} | dict(texts)
    item = item_of(changed | {"draft": ""})
    cells = {name: easy[name] for name in fields} | {
        "draft": digest(["elevation", easy["draft"], author, technique, *item.native, *item.variants]),
        "origin": "elevation",
        "parent": easy["draft"],
        "technique": technique,
        "author": author,
        "author_kind": "person",
    }
    return _row(cells, item, draft_faults(item))


def item_of(row: Mapping[str, Any]) -> CulturallItem:
    """Return the item in a row of culturall_draft that has texts; an unknown region or topic is ""."""
    native = ItemTexts(row["scenario"], row["question"], row["answer"], row["explanation"] or "")
    english = [row.get(name) for name in TEXTS[4:]]
    return CulturallItem(
        item=row["draft"],
        language=row["language"],
        region=row["region"] or "",
        topic=row["topic"] or "",
        form=row["form"],
        native=native,
        english=ItemTexts(*(text or "" for text in english)) if all(english[:3]) else None,
        variants=tuple((row["variants"] or "").split("|")) if row["variants"] else (),
        source=row["source"],
    )


def _item(job: CulturallJob, written: Written) -> CulturallItem:
    choices = [text.strip() for text in written.options if text.strip()]
    question = prompts.with_options(written.question, choices) if choices else written.question
    answer = (chosen_letter(written.answer, question) or written.answer) if choices else written.answer
    return CulturallItem(
        item="",
        language=job.row["language"],
        region=job.row["region"] or "",
        topic=job.row.get("topic") or "",
        form="choice" if choices else "free",
        native=ItemTexts(written.scenario, question, answer, written.explanation),
    )


def _row(cells: Mapping[str, Any], item: CulturallItem | None, faults: Sequence[ItemFault]) -> dict[str, Any]:
    texts = item.native._asdict() if item else {}
    variants = "|".join(item.variants) if item else ""
    return {
        **cells,
        "form": item.form if item else None,
        **{name: text or None for name, text in texts.items()},
        "variants": variants or None,
        "faults": [fault.reason for fault in faults if not fault.is_doubt],
        "fault_details": [fault.detail for fault in faults if not fault.is_doubt],
    }
