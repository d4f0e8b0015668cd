"""Projects of other programs: their content, without anything private, and answers read from their output.

The outputs under ``fixtures/`` are what Potato 2.12.1 and Label Studio 1.23.2 wrote when one person of the
study in ``conftest.py`` answered (``test_real_programs.py``), with addresses as they stored them.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest

from deployments.people.results import PROGRAMS, export, take
from deployments.people.store import StudyStore
from tasks.people.answers import exclusions
from tasks.people.elsewhere import exported_for, forms, read_projects, with_known, write_projects
from tasks.people.study import (
    ANSWERS,
    ITEMS,
    PeopleAnswer,
    PeopleStudy,
    StudyError,
    StudyFolder,
    read_folder,
    read_rows,
)
from tests.people.conftest import SECRETS, answered

FIXTURES = Path(__file__).parent / "fixtures"
TOOLS = tuple(PROGRAMS)


def exported(path: Path, tool: str) -> Path:
    """Return the study as projects, with the outputs of the fixtures."""
    out = path / f"{tool}-projects"
    export(path, tool, out)
    shutil.copytree(FIXTURES / tool, out, dirs_exist_ok=True)
    return out


@pytest.mark.parametrize("tool", TOOLS)
def test_exported_files_hold_nothing_private(folder_path: Path, tmp_path: Path, tool: str) -> None:
    out = tmp_path / "projects"
    assert export(folder_path, tool, out) == ["annotator-once-en", "rate-en"]
    texts = [path.read_text() for path in out.rglob("*") if path.is_file()]
    assert len(texts) == 7
    hidden = [*SECRETS, "stratum", "expected"]
    assert not [(word, text[:80]) for text in texts for word in hidden if word in text]
    with pytest.raises(StudyError, match="exists already"):
        export(folder_path, tool, out)


def test_each_person_gets_their_items_in_their_order(
    folder: StudyFolder, folder_path: Path, tmp_path: Path
) -> None:
    export(folder_path, "potato", tmp_path / "potato")
    config = json.loads((tmp_path / "potato" / "rate-en" / "config.yaml").read_text())
    lines = (tmp_path / "potato" / "rate-en" / "items.jsonl").read_text().splitlines()
    items = {row["id"]: row for row in map(json.loads, lines)}
    by_place = {f"{a.annotator}.{a.place}": a for a in folder.assignments if a.item != "about_you"}
    assert items.keys() == by_place.keys()
    for group in config["batch_assignment"]["groups"]:
        assert group["instances"] == [n for n, a in by_place.items() if [a.annotator] == group["annotators"]]
    for name, row in items.items():
        assert row.keys() == {"id", "text", "of_fits", "of_order", "of_recipe", "shown_dish"}
        order = by_place[name].shown["fits"]
        assert row["of_fits"] == [f"{n}. {entry}" for n, entry in enumerate(order, start=1)]
    assert len({tuple(row["of_fits"]) for row in items.values()}) > 1
    kinds = [scheme["annotation_type"] for scheme in config["annotation_schemes"]]
    assert kinds == ["multirate", "multirate", "likert", "text_edit"]


def test_the_labelling_interface_is_well_formed_with_markup_in_texts(
    folder: StudyFolder, tmp_path: Path
) -> None:
    tricky = folder.study.model_dump(mode="json")
    tricky["pages"][0]["fields"][0]["label"] = {"en": '"Fits" & <b>belongs</b>'}
    study = PeopleStudy.model_validate(tricky)
    write_projects(PROGRAMS["labelstudio"], replace(folder, study=study), tmp_path, {"en": "I agree"})
    view = fromstring((tmp_path / "rate-en" / "config.xml").read_text())
    headers = [header.get("value") for header in view.iter("Header")]
    assert '"Fits" & <b>belongs</b>' in headers
    names = {tag.get("name") for tag in view.iter() if tag.tag in ("Text",)}
    assert {tag.get("toName") for tag in view.iter() if tag.get("toName")} <= names


@pytest.mark.parametrize("tool", TOOLS)
def test_answers_are_imported_with_times_and_orders_and_without_addresses(
    folder: StudyFolder, folder_path: Path, tool: str
) -> None:
    out = exported(folder_path, tool)
    answers = read_projects(PROGRAMS[tool], folder, out)
    assert {a.annotator for a in answers} == {"p0"}
    values = {(a.item, a.field): a.value for a in answers}
    assigned = [a for a in folder.assignments if a.annotator == "p0"]
    for each in assigned:
        if each.item == "about_you":
            assert values[each.item, "region"] == "asia"
            assert values[each.item, "note"] == 'Good.\n"Really", <b>good</b> \u200fجيد'
        else:
            assert values[each.item, "fits"] == dict.fromkeys(["rice", "salt", "tofu"], "yes")
            ranks = {entry: str(n) for n, entry in enumerate(each.shown["order"], start=1)}
            assert values[each.item, "order"] == ranks
            assert values[each.item, "liking"] == "4"
            assert values[each.item, "recipe"] == "Boil it. Then serve it."
    for answer in answers:
        assert datetime(2026, 11, 22, tzinfo=UTC) < answer.started <= answer.saved
        if isinstance(answer.value, dict):
            assert answer.shown == next(a for a in assigned if a.item == answer.item).shown[answer.field]
    # The fixtures contain what the programs stored about the person; the answers do not.
    stored = "".join(path.read_text() for path in (FIXTURES / tool).rglob("*.json*"))
    assert any(word in stored for word in ("127.0.0.1", "completed_by"))
    read = "".join(answer.model_dump_json() for answer in answers)
    assert not [word for word in ("127.0.0.1", "httpx", "session", "completed_by") if word in read]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_changed_answer_is_imported_as_another_revision(folder_path: Path, tool: str) -> None:
    out = exported(folder_path, tool)
    n = take(folder_path, out)
    assert (n > 10, take(folder_path, out)) == (True, 0)
    for path in out.rglob("*.json"):
        path.write_text(path.read_text().replace('"4"', '"2"'))
    n_items = sum(a.annotator == "p0" and a.item != "about_you" for a in read_folder(folder_path).assignments)
    assert take(folder_path, out) == n_items
    answers = read_rows(folder_path / ANSWERS, PeopleAnswer)
    assert [a.value for a in answers if a.field == "liking"] == ["4", "2"] * n_items
    assert [a.revision for a in answers if a.field == "liking"] == [1, 2] * n_items


def test_known_revisions_are_kept(folder: StudyFolder) -> None:
    first, again = (answered(folder, "p0", "i0", "liking", value) for value in ("1", "3"))
    (one, two) = with_known([first], [again, answered(folder, "p0", "i0", "liking", "3")][:1])
    assert (one, two.value, two.revision) == (first, "3", 2)
    assert with_known([one, two], [again]) == [one, two]


def test_values_for_another_person_are_ignored(folder: StudyFolder, folder_path: Path) -> None:
    out = exported(folder_path, "potato")
    (path,) = (out / "rate-en").rglob("user_state.json")
    state = json.loads(path.read_text())
    state["instance_id_to_label_to_value"]["p1.1"] = [[{"schema": "liking", "name": "4"}, "4"]]
    path.write_text(json.dumps(state))
    assert {a.annotator for a in read_projects(PROGRAMS["potato"], folder, out)} == {"p0"}


def test_an_unchanged_text_is_an_answer_and_a_missing_choice_is_not(
    folder: StudyFolder, folder_path: Path
) -> None:
    out = exported(folder_path, "labelstudio")
    path = out / "rate-en" / "export.json"
    rows = json.loads(path.read_text())
    for row in rows:
        result = row["annotations"][0]["result"]
        row["annotations"][0]["result"] = [r for r in result if r["from_name"] not in ("recipe", "liking")]
    path.write_text(json.dumps(rows))
    answers = read_projects(PROGRAMS["labelstudio"], folder, out)
    assert {a.value for a in answers if a.field == "recipe"} == {"Boil it."}
    # A question without a choice has no answer.
    assert "liking" not in {a.field for a in answers}
    assert "unfinished" in exclusions(folder, answers)["p0"]


def test_two_answers_to_a_task_are_refused_and_skipped_tasks_ignored(
    folder: StudyFolder, folder_path: Path
) -> None:
    out = exported(folder_path, "labelstudio")
    path = out / "rate-en" / "export.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text())
    n = len(read_projects(PROGRAMS["labelstudio"], folder, out))
    rows[0]["annotations"][0]["was_cancelled"] = True
    path.write_text(json.dumps(rows))
    assert len(read_projects(PROGRAMS["labelstudio"], folder, out)) == n - 4
    rows[0]["annotations"] = [dict(a, was_cancelled=False) for a in rows[0]["annotations"] * 2]
    path.write_text(json.dumps(rows))
    with pytest.raises(StudyError, match="has two answers: delete one"):
        read_projects(PROGRAMS["labelstudio"], folder, out)


@pytest.mark.parametrize("broken", ["", "[]", '{"user_id": "p0"}', '[{"data": {"task": "p9.1"}}]'])
@pytest.mark.parametrize("tool", TOOLS)
def test_a_broken_output_file_is_refused_by_name(
    folder: StudyFolder, folder_path: Path, tool: str, broken: str
) -> None:
    out = exported(folder_path, tool)
    name = {"potato": "user_state.json", "labelstudio": "export.json"}[tool]
    (path,) = (out / "rate-en").rglob(name)
    path.write_text(broken)
    if (tool, broken) == ("labelstudio", "[]"):  # nobody answered
        assert {a.item for a in read_projects(PROGRAMS["labelstudio"], folder, out)} == {"about_you"}
        return
    with pytest.raises(StudyError, match=name):
        read_projects(PROGRAMS[tool], folder, out)


HOSTILE = {
    "deep": lambda text: "[" * 100_000,
    "deep objects": lambda text: '{"a":' * 100_000,
    "digits": lambda text: text.replace(": 1", f": {'9' * 10_000}", 1) if ": 1" in text else "9" * 10_000,
    "no text": lambda text: "\udcff\udcfe",
    "never": lambda text: re.sub(r'"(20\d\d)-', '"0001-', text).replace(
        '"session_start":', '"session_start": 1e400, "x":'
    ),
    "long ago": lambda text: re.sub(r'"lead_time": [\d.]+', '"lead_time": 1e300', text),
    "no number": lambda text: re.sub(r'"lead_time": [\d.]+', '"lead_time": NaN', text),
    "entities": lambda text: '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><x>&f;</x>',
}


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("tool", TOOLS)
def test_a_hostile_output_file_is_one_short_error_or_changes_nothing(
    folder: StudyFolder, folder_path: Path, tool: str, hostile: str
) -> None:
    """Each file that a program writes is replaced in turn."""
    out = exported(folder_path, tool)
    whole = read_projects(PROGRAMS[tool], folder, out)
    for path in sorted((out / "rate-en").rglob("*.json*")):
        text = path.read_text(encoding="utf-8")
        path.write_text(HOSTILE[hostile](text), encoding="utf-8", errors="surrogateescape")
        message, n = "", len(whole)
        try:  # files that are not read, or lack this text, change nothing
            n = len(read_projects(PROGRAMS[tool], folder, out))
        except StudyError as refusal:
            message = str(refusal)
        assert n == len(whole)
        assert len(message) < 1000
        assert "root:" not in message
        path.write_text(text, encoding="utf-8")


def test_imported_values_off_the_menu_are_refused(folder: StudyFolder, folder_path: Path) -> None:
    out = exported(folder_path, "labelstudio")
    path = out / "rate-en" / "export.json"
    path.write_text(path.read_text().replace('"yes"', '"perhaps"'))
    with pytest.raises(StudyError, match="perhaps"):
        read_projects(PROGRAMS["labelstudio"], folder, out)


def test_a_study_changed_or_served_after_its_export_is_refused(
    folder: StudyFolder, folder_path: Path
) -> None:
    out = exported(folder_path, "potato")
    assert exported_for(folder, out) == "potato"
    rows = (folder_path / ITEMS).read_text()
    (folder_path / ITEMS).write_text(rows.replace("dish i0", "dish i9"))
    with pytest.raises(StudyError, match="changed after the export"):
        take(folder_path, out)
    (folder_path / ITEMS).write_text(rows)
    StudyStore(folder_path).close()
    with pytest.raises(StudyError, match="is served here"):
        take(folder_path, out)


def test_interviews_and_equal_labels_are_not_exported(folder: StudyFolder) -> None:
    talk = folder.study.model_dump(mode="json")
    talk["pages"][1]["fields"][0] = {"name": "talk", "kind": "chat", "label": "Talk"}
    with pytest.raises(StudyError, match="talk is an interview"):
        forms(replace(folder, study=PeopleStudy.model_validate(talk)))
    same = folder.study.model_dump(mode="json")
    same["pages"][1]["fields"][0]["options"][1]["label"] = {"en": "Africa"}
    (form, _) = forms(replace(folder, study=PeopleStudy.model_validate(same)))
    with pytest.raises(StudyError, match="have the same label"):
        form.menu(*form.fields[0])
