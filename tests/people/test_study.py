"""Values of answers, and studies that are refused."""

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
    ("field", "sent", "value", "missing"),
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
def test_values_are_read_with_their_missing_parts(
    folder: StudyFolder, field: str, sent: Any, value: Any, missing: str
) -> None:
    form_field = next(f for f in folder.study.fields if f.name == field)
    entry = read_value(form_field, folder.items["i0"], sent)
    assert (entry.value, entry.missing) == (value, missing)


@pytest.mark.parametrize(
    ("field", "sent"),
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
def test_values_that_no_page_sends_are_refused(folder: StudyFolder, field: str, sent: Any) -> None:
    form_field = next(f for f in folder.study.fields if f.name == field)
    with pytest.raises(ValueError, match=field):
        read_value(form_field, folder.items["i0"], sent)


def test_an_unchanged_text_may_be_longer_than_the_limit(folder: StudyFolder) -> None:
    recipe = next(f for f in folder.study.fields if f.name == "recipe")
    long = folder.items["i0"].model_copy(update={"content": {"text": "Boil it.\n" * 1000}})
    entry = read_value(recipe, long, ("Boil it.\n" * 1000).replace("\n", "\r\n"))
    assert entry.value == long.content["text"]
    with pytest.raises(ValueError, match="up to 9000 characters"):
        read_value(recipe, long, "x" * 9001)


def test_hashes_of_a_study_follow_what_people_see(folder: StudyFolder) -> None:
    other = PeopleStudy.model_validate(folder.study.model_dump() | {"consent": "Otherwise."})
    assert other.hash != folder.study.hash
    assert folder.items["i0"].hash != folder.items["i1"].hash


def test_a_text_falls_back_to_the_first_language(study: PeopleStudy) -> None:
    assert in_language(study.title, "ar") == "أطباق"
    assert in_language(study.title, "ko") == "Dishes"
    assert in_language({}, "ko") == ""


def test_a_field_without_options_for_its_kind_is_refused() -> None:
    for wrong in ({"kind": "choice"}, {"kind": "marks", "options": [{"value": "a", "label": "A"}] * 2}):
        with pytest.raises(ValidationError, match="field x"):
            FormField.model_validate({"name": "x", "label": "X", **wrong})


def test_a_choice_can_make_another_field_required(study: PeopleStudy) -> None:
    """A region in Asia needs a note."""
    (about,) = (page.model_dump() for page in study.pages if page.per == "person")
    about["fields"][1].update(needed_for=["region", ["asia"]])
    page = FormPage.model_validate(about)
    assert [field.name for field in page.wanted({"region": "asia"})] == ["region", "note"]
    assert [field.name for field in page.wanted({"region": "africa"})] == ["region"]
    for wrong in (["region", ["mars"]], ["note", ["asia"]], ["elsewhere", ["asia"]]):
        about["fields"][1].update(needed_for=wrong)
        with pytest.raises(ValidationError, match="page about_you has no choice"):
            FormPage.model_validate(about)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
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
def test_a_broken_study_folder_is_refused_with_file_and_line(
    folder_path: Path, file: str, old: str, new: str, message: str
) -> None:
    path = folder_path / file
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(StudyError, match=message):
        read_folder(folder_path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_of_a_study_are_read(folder_path: Path, encoding: str) -> None:
    before = read_folder(folder_path)
    for file in (STUDY, ITEMS, PRIVATE, ASSIGNMENTS):
        (folder_path / file).write_text((folder_path / file).read_text("utf-8"), encoding=encoding)
    assert read_folder(folder_path) == before


def test_an_assignment_with_a_cell_more_is_refused(folder_path: Path) -> None:
    path = folder_path / ASSIGNMENTS
    header, first, rest = path.read_text().split("\n", 2)
    path.write_text(f"{header}\n{first.strip()},x\n{rest}")
    with pytest.raises(StudyError, match=r"assignments\.csv, line 2: .* cells for .* columns"):
        read_folder(folder_path)
