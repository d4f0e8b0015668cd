"""A small study with a field of every kind, as a folder."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tasks.people.assignment import Person, assign
from tasks.people.study import (
    ASSIGNMENTS,
    ITEMS,
    PRIVATE,
    STUDY,
    PeopleAnswer,
    PeopleItem,
    PeopleStudy,
    Private,
    StudyFolder,
    read_folder,
    write_assignments,
    write_rows,
)

TOML = """
name = "dishes"
kind = "fmlama-mes"
title = { en = "Dishes", ar = "أطباق" }
consent = "You may stop at any time."
languages = ["en", "ar"]
annotators_per_item = 2
min_seconds = 2
completion_code = "C0DE"

[[pages]]
name = "rate"
title = "A dish"
shows = [{ name = "dish", label = "Dish" }]

[[pages.fields]]
name = "fits"
kind = "marks"
of = "predicted"
label = "Does it belong in the dish?"
is_ordered = true
is_shuffled = true
options = [
  { value = "no", label = "No" },
  { value = "maybe", label = "Maybe" },
  { value = "yes", label = "Yes" },
]

[[pages.fields]]
name = "order"
kind = "ranking"
of = "predicted"
label = "Which is most important?"
is_shuffled = true

[[pages.fields]]
name = "liking"
kind = "likert"
label = "How well do you know it?"

[[pages.fields]]
name = "recipe"
kind = "edit"
of = "text"
label = "Correct this text"
is_required = false

[[pages]]
name = "about_you"
title = "About you"
per = "person"

[[pages.fields]]
name = "region"
kind = "choice"
label = "Where do you live?"
options = [{ value = "africa", label = "Africa" }, { value = "asia", label = "Asia" }]

[[pages.fields]]
name = "note"
kind = "comment"
label = "Anything else?"
is_required = false
"""
SECRETS = ("model-of-secrets", "hidden-condition", "outside-code")
START = datetime(2026, 1, 1, 12)


def item(name: str, language: str = "en", **content: Any) -> PeopleItem:
    text = {"dish": f"dish {name}", "predicted": ["rice", "salt", "tofu"], "text": "Boil it."}
    return PeopleItem(item=name, page="rate", language=language, content=text | content)


ITEM_ROWS = [item(f"i{n}") for n in range(4)] + [item("check", dish="Mark salt with yes")]
HIDDEN = {"model": SECRETS[0], "condition": SECRETS[1], "code": SECRETS[2]}
PRIVATE_ROWS = [
    *(Private(item=f"i{n}", stratum="ab"[n % 2], **HIDDEN) for n in range(4)),
    Private(item="check", expected={"liking": "4"}),
]
PEOPLE = [Person(f"p{n}") for n in range(4)]


@pytest.fixture
def folder_path(tmp_path: Path) -> Path:
    """The folder of the study, with four people and no answers."""
    (tmp_path / STUDY).write_text(TOML, encoding="utf-8")
    write_rows(tmp_path / ITEMS, ITEM_ROWS)
    write_rows(tmp_path / PRIVATE, PRIVATE_ROWS)
    rows = assign(read_folder(tmp_path).study, ITEM_ROWS, {p.item: p for p in PRIVATE_ROWS}, PEOPLE)
    write_assignments(tmp_path / ASSIGNMENTS, rows)
    return tmp_path


@pytest.fixture
def folder(folder_path: Path) -> StudyFolder:
    return read_folder(folder_path)


@pytest.fixture
def study(folder: StudyFolder) -> PeopleStudy:
    return folder.study


def answered(
    folder: StudyFolder,
    annotator: str,
    item: str,
    field: str,
    value: Any,
    revision: int = 1,
    seconds: float = 10,
    status: str = "complete",
) -> PeopleAnswer:
    """Return an answer that took this number of seconds."""
    return PeopleAnswer(
        study_hash=folder.study.hash,
        item=item,
        item_hash=folder.items[item].hash,
        annotator=annotator,
        field=field,
        value=value,
        shown=[],
        started=START,
        saved=START + timedelta(seconds=seconds),
        revision=revision,
        status=status,  # type: ignore[arg-type]
        tool="test",
        version="1",
    )
