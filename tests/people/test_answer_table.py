"""Answers collected in a table, as revisions of a study's fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.people.answers import exclusions, ratings
from tasks.people.assignment import Person, assign
from tasks.people.elsewhere import answers_in
from tasks.people.study import PeopleItem, Private, StudyError, StudyFolder, read_study

STUDY = """
name = "answered"
kind = "item-answers"
languages = ["en"]
annotators_per_item = 1
title = "Answering"
consent = "Yes?"
guidelines = "Answer."
min_seconds = 4
[[pages]]
name = "form_1"
title = "A question"
[[pages.fields]]
name = "form_1_label"
kind = "choice"
label = "label"
options = [{ value = "yes", label = "yes" }, { value = "no", label = "no" }]
[[pages.fields]]
name = "form_1_explanation"
kind = "text"
label = "explanation"
"""


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    (tmp_path / "study.toml").write_text(STUDY)
    study = read_study(tmp_path / "study.toml")
    items = {code: PeopleItem(item=code, page="form_1", content={"prompt": "?"}) for code in ("i1", "i2")}
    private = {code: Private(item=code) for code in items}
    return StudyFolder(study, items, private, assign(study, list(items.values()), private, [Person("p001")]))


def test_rows_are_answers_that_count_however_long_they_took(folder: StudyFolder, tmp_path: Path) -> None:
    table = tmp_path / "answers.csv"
    table.write_text("person,item,label,explanation\np001,i1,yes,It is.\np001,i2,no,Rude\nx9,i1,no,Never\n")
    answers = answers_in(folder, table)
    assert exclusions(folder, answers) == {}
    found = {(r.annotator, r.item, r.field): r.value for r in ratings(folder, answers)}
    assert found["x9", "i1", "form_1_label"] == "no"
    assert found["p001", "i1", "form_1_explanation"] == "It is."
    assert len(found) == 6


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("p001,i3,yes,x", "line 2: this study has no item 'i3'"),
        (",i1,yes,x", "line 2: no person"),
        ("p001,i1,maybe,x", "line 2: form_1_label"),
        ("p001,i1,,", "line 2: no answer in a column of the item's page: form_1_label, form_1_explanation"),
    ],
)
def test_a_row_that_is_no_answer_is_refused_with_its_line(
    row: str, says: str, folder: StudyFolder, tmp_path: Path
) -> None:
    table = tmp_path / "answers.csv"
    table.write_text(f"person,item,label,explanation\n{row}\n")
    with pytest.raises(StudyError, match=r"answers\.csv: ") as caught:
        answers_in(folder, table)
    assert says in str(caught.value)
