"""What an answer may be, and studies that are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tasks.people.study import (
    ASSIGNMENTS,
    ITEMS,
    PRIVATE,
    STUDY,
    FormField,
    FormPage,
    PeopleStudy,
    StudyError,
    StudyFolder,
    in_language,
    read_folder,
    read_value,
)

WHOLE = {"rice": "1", "salt": "2", "tofu": "3"}


@pytest.mark.parametrize(
    ("field", "given", "value", "missing"),
    [
        ("order", WHOLE, WHOLE, ""),
        ("order", {"rice": "1", "salt": "1"}, {"rice": "1", "salt": "1"}, "repeated"),
        ("order", {"rice": "1", "salt": ""}, {"rice": "1"}, "incomplete"),
        ("order", {}, {}, "empty"),
        ("fits", {"rice": "yes", "tofu": "no"}, {"rice": "yes", "tofu": "no"}, "incomplete"),
        ("liking", "5", "5", ""),
        ("liking", "", "", "empty"),
        ("recipe", "a\r\nb", "a\nb", ""),
        ("recipe", "", "", ""),
        ("note", " ", " ", ""),
        ("region", "asia", "asia", ""),
    ],
)
def test_a_value_is_read_as_it_is_stored(
    folder: StudyFolder, field: str, given: Any, value: Any, missing: str
) -> None:
    asked = next(f for f in folder.study.fields if f.name == field)
    entry = read_value(asked, folder.items["i0"], given)
    assert (entry.value, entry.missing) == (value, missing)


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("order", {"rice": "4"}),
        ("order", {"beef": "1"}),
        ("order", "rice"),
        ("order", {"rice": "0"}),
        ("fits", {"rice": "Yes"}),
        ("liking", "6"),
        ("liking", "1.0"),
        ("liking", {"": "1"}),
        ("region", "<b>"),
        ("recipe", "x" * 4001),
        ("recipe", "a\0b"),
    ],
)
def test_values_that_our_pages_never_send_are_refused(folder: StudyFolder, field: str, given: Any) -> None:
    asked = next(f for f in folder.study.fields if f.name == field)
    with pytest.raises(ValueError, match=field):
        read_value(asked, folder.items["i0"], given)


def test_a_given_text_may_be_kept_whatever_its_length(folder: StudyFolder) -> None:
    recipe = next(f for f in folder.study.fields if f.name == "recipe")
    long = folder.items["i0"].model_copy(update={"content": {"text": "Boil it.\n" * 1000}})
    kept = read_value(recipe, long, ("Boil it.\n" * 1000).replace("\n", "\r\n"))
    assert kept.value == long.content["text"]
    with pytest.raises(ValueError, match="up to 9000 characters"):
        read_value(recipe, long, "x" * 9001)


def test_hashes_change_with_what_people_see(folder: StudyFolder) -> None:
    other = PeopleStudy.model_validate(folder.study.model_dump() | {"consent": "Otherwise."})
    assert other.hash != folder.study.hash
    assert folder.items["i0"].hash != folder.items["i1"].hash


def test_a_text_is_in_the_language_or_in_the_first_one(study: PeopleStudy) -> None:
    assert in_language(study.title, "ar") == "أطباق"
    assert in_language(study.title, "ko") == "Dishes"
    assert in_language({}, "ko") == ""


def test_a_field_lacks_nothing_that_its_kind_needs() -> None:
    for wrong in ({"kind": "choice"}, {"kind": "marks", "options": [{"value": "a", "label": "A"}] * 2}):
        with pytest.raises(ValidationError, match="field x"):
            FormField.model_validate({"name": "x", "label": "X", **wrong})


def test_a_choice_decides_what_else_is_needed(study: PeopleStudy) -> None:
    """A region in Asia needs a note."""
    (about,) = (page.model_dump() for page in study.pages if page.per == "person")
    about["fields"][1].update(needed_for=["region", ["asia"]])
    page = FormPage.model_validate(about)
    assert [field.name for field in page.wanted({"region": "asia"})] == ["region", "note"]
    assert [field.name for field in page.wanted({"region": "africa"})] == ["region"]
    for wrong in (["region", ["mars"]], ["note", ["asia"]], ["elsewhere", ["asia"]]):
        about["fields"][1].update(needed_for=wrong)
        with pytest.raises(ValidationError, match="is no choice of page about_you"):
            FormPage.model_validate(about)


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (STUDY, 'kind = "likert"', 'kind = "stars"', r"study.toml: pages.0.fields.2.kind: "),
        (STUDY, 'name = "liking"', 'name = "order"', "a field occurs twice"),
        (STUDY, "[[pages]]", "[[pages", "not TOML"),
        (ITEMS, '"page":"rate"', '"page":"away"', "on page away, which does not exist"),
        (ITEMS, '"item":"i1"', '"thing":"i1"', "items.jsonl, line 2: "),
        (PRIVATE, '"author":""', '"author":"p0"', "p0 wrote item"),
        (ASSIGNMENTS, "check", "gone", "assignments.csv, line .*unknown item gone"),
    ],
)
def test_a_broken_folder_says_where(folder_path: Path, file: str, old: str, new: str, said: str) -> None:
    path = folder_path / file
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(StudyError, match=said):
        read_folder(folder_path)
