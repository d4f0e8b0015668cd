"""Every door that takes a name for people refuses what looks like a null model or hides its characters."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from deployments.cli.results import read_ranking
from flows.session import occasion
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec, load_spec
from tasks.evaluations.contract import Params
from tasks.evaluations.harness import sources
from tasks.evaluations.recipe.definition import PrintedNumber, Recipe
from tasks.identity import checked_name, checked_title
from tasks.packs.check import PackAbout
from tasks.packs.folder import checked_name as checked_pack
from tasks.people.study import FormPage, PeopleStudy, Title
from tests.test_names import BAD, GOOD

FOR_NAMES_ONLY = {"ligature", "full width", "final space"}
"""Kinds that a title may have: they hide nothing, and whole scripts have full-width signs."""


def _file(folder: Path, rows: list[dict[str, str]]) -> Path:
    with (folder / "blend.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return folder / "blend.csv"


def _task(folder: Path, name: str) -> None:
    config = {"task": name, "dataset_path": "json", "output_type": "generate_until", "doc_to_text": "?"}
    config |= {"doc_to_target": "a", "test_split": "test"}
    (folder / "task.yaml").write_text(json.dumps(config))
    manager: Any = SimpleNamespace(_entry=lambda _: None, all_tasks=[], task_index={})
    list(sources.entries(manager, str(folder / "task.yaml")))


def _predictions(folder: Path, name: str) -> None:
    model = folder / name
    model.mkdir()
    (model / "config.json").write_text("{}")
    load_spec(str(model))


NAMES: dict[str, Callable[[Path, str], object]] = {
    "a spec's model": lambda folder, name: EngineSpec(name=name, kind="fake", model="m"),
    "a model's folder": _predictions,
    "an occasion": lambda folder, name: occasion(name),
    "a cohort": lambda folder, name: Params(models=["m"], cohort=name),
    "a profile": lambda folder, name: Params(models=["m"], profile=name),
    "a pack": lambda folder, name: checked_pack(name),
    "a task of the harness": _task,
    "a ranking's model": lambda folder, name: read_ranking(_file(folder, [{"model": name, "place": "1"}])),
    "a ranking's benchmark": lambda folder, name: read_ranking(
        _file(folder, [{"model": "m", "benchmark": name, "place": "1"}])
    ),
    "a printed number's model": lambda folder, name: PrintedNumber(source="s", model=name, value=0),
}
TITLES: dict[str, Callable[[str], object]] = {
    "a pack": lambda title: PackAbout(title=title),
    "a title of people's studies": TypeAdapter(Title).validate_python,
}
STRIPPED = {"a ranking's model", "a ranking's benchmark", "a printed number's model"}
"""Doors whose reader takes spaces around a cell away."""


NOT_OF_FILES = {"a spec's model", "an occasion", "a cohort", "a profile", "a pack"}
HIDDEN = re.compile(r"[\x00-\x09\x0b-\x1f\u200b\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Signs that no error shows as they are; an error of pydantic has several lines."""


@pytest.mark.parametrize("door", NAMES)
def test_every_door_refuses_bad_names(door: str, tmp_path: Path) -> None:
    taken = []
    for kind, name in BAD.items():
        if "\ud800" in name and door not in (
            "a spec's model",
            "an occasion",
            "a cohort",
            "a profile",
            "a pack",
        ):
            continue  # no file or path can contain it
        if door in STRIPPED and not name.strip().startswith("n") and name != name.strip():
            continue
        if door == "a model's folder" and len(name) > 200:
            name = name[:240]  # as long as a file system permits
        try:
            NAMES[door](tmp_path, name)
        except (ValueError, EngineError) as refusal:
            shown = str(refusal)
            assert not HIDDEN.search(shown), f"{kind} is shown as it is"
            assert len(shown) < 500
        else:
            taken.append(kind)
    assert taken == []


@pytest.mark.parametrize("door", sorted(NAMES.keys() - {"a pack"}))
def test_every_door_takes_other_names(door: str, tmp_path: Path) -> None:
    for name in ("gpt-5_high", "Qwen3 0.6B", "模型", "दुःख"):
        NAMES[door](tmp_path, name)


@pytest.mark.parametrize("door", TITLES)
@pytest.mark.parametrize("kind", sorted(BAD.keys() - FOR_NAMES_ONLY))
def test_titles_hide_nothing(door: str, kind: str) -> None:
    with pytest.raises(ValueError, match="title"):
        TITLES[door](BAD[kind])


@pytest.mark.parametrize("title", [*GOOD, "一道菜？", "می\u200cخواهم", "क्\u200dष", "Half … of ½"])
def test_titles_may_have_what_a_language_needs(title: str) -> None:
    assert checked_title(title, "the title") == title


def test_every_title_of_a_study_is_checked() -> None:
    for form in (PeopleStudy, FormPage):
        assert form.__annotations__["title"] == "Title"
    assert Recipe.__annotations__["title"] == "Title"


@given(st.text(max_size=40), st.sampled_from("\u200b\u202e\u2066\x1b\x07\n\ufeff\u00ad\U000e0041\u3164"))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_no_name_with_a_hidden_character_passes(text: str, sign: str) -> None:
    for check in (checked_name, checked_title):
        with pytest.raises(ValueError, match="the name"):
            check(f"a{text}{sign}{text}b", "the name")


@given(st.text(st.characters(categories=("Mn", "Zs", "Cf")), max_size=3))
@settings(deadline=None)
def test_no_name_that_begins_like_a_null_model_passes(between: str) -> None:
    for check in (checked_name, checked_title):
        with pytest.raises(ValueError, match="the name"):
            check(f"nu{between}ll{between}:x", "the name")
