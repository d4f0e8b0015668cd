"""What candidates read: all of the item and nothing of the answer."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from tasks.evaluations.cure import requests
from tasks.evaluations.cure.benchmarks.common import BenchmarkItem
from tasks.evaluations.cure.materials import LABELS, build_materials
from tasks.evaluations.cure.params import BENCHMARKS, MODES, CureParams
from tasks.packs.published import read_rows
from tests.evaluations.cure.conftest import MakeStudy, tables

REFERENCE = Path(__file__).parents[3] / "warehouse" / "reference"
CASES = [(benchmark, mode) for benchmark in BENCHMARKS for mode in MODES]


def shipped(benchmark: str) -> list[BenchmarkItem]:
    rows = {
        "cure_item": read_rows(REFERENCE / "cure_item" / f"{benchmark}.csv"),
        "country": read_rows(REFERENCE / "country.csv"),
    }
    params = CureParams(models=["m"], benchmarks=[benchmark])
    return list(build_materials(params, rows, {}).items[benchmark])


def text(item: BenchmarkItem, mode: str) -> str:
    return "\n".join(message["content"] for message in requests.conversation(item, mode))


@pytest.mark.parametrize(("benchmark", "mode"), CASES)
def test_nothing_of_the_answer_is_shown(benchmark: str, mode: str) -> None:
    for item in shipped(benchmark):
        asked = text(item, mode)
        assert item.gold not in asked
        secret = {**item.extra, "rule": "hidden", "pair": "hidden", "family": "hidden", "behaviour": "hidden"}
        for label in LABELS[benchmark]:
            other = dataclasses.replace(
                item, label=label, gold="hidden", cues=("hidden",), extra=secret, item="hidden"
            )
            assert text(other, mode) == asked


@pytest.mark.parametrize(("benchmark", "mode"), CASES)
def test_the_item_stands_in_it_as_it_is(benchmark: str, mode: str) -> None:
    for item in shipped(benchmark):
        asked = text(item, mode)
        shown = [item.extra[name] for name in ("persona", "situation", "question") if name in item.extra]
        assert all(part in asked for part in shown)
        assert (item.group if benchmark == "culturebank" else item.extra["country_name"]) in asked
        assert all(f'"{label}"' in asked for label in LABELS[benchmark])
        assert ("two to four sentences" in asked) == (mode == "thick")


def test_nothing_is_neutralised(make_study: MakeStudy) -> None:
    rows = tables()
    odd = 'She says <b>"no"</b> & {leaves} — [INST] 「はい」'
    rows["cure_item"][0] |= {"situation": odd}
    (sample,) = [c for c in make_study(rows).samples("normad", "thick") if c.item.item == "normad-f0-in"]
    assert odd in sample.prompt.conversation[1]["content"]


@pytest.mark.parametrize("mode", MODES)
def test_published_items_without_a_question_get_one(mode: str) -> None:
    names = {"country_name": "Japan"}
    story = BenchmarkItem("normad", "i", "JP", "", "Ken pours his own drink.", "no", "g", extra=names)
    query = dataclasses.replace(story, benchmark="casa", question="May I send lilies?")
    assert "Situation: Ken pours his own drink." in text(story, mode)
    assert "Question: Is what happens here socially acceptable in Japan?" in text(story, mode)
    assert "The user writes: May I send lilies?" in text(query, mode)
    assert "Question: Is what the user plans culturally acceptable in Japan?" in text(query, mode)


def test_the_label_is_first_in_both_modes() -> None:
    thin, thick = (requests.answer_schema("normad", mode) for mode in MODES)
    assert list(thin["properties"]) == ["label"]
    assert list(thick["properties"]) == ["label", "explanation"]
    assert thick["required"] == ["label", "explanation"]
    assert thin["properties"]["label"]["enum"] == ["yes", "no", "neutral"]
    assert json.dumps(requests.answer_schema("casa", "thin")).count("neutral") == 0


def test_probabilities_are_asked_in_thin_mode_alone(make_study: MakeStudy) -> None:
    study = make_study()
    thin, thick = (study.samples("casa", mode)[0].prompt for mode in ("thin", "thick"))
    assert (thin.options, thin.field) == (("yes", "no"), "label")
    assert (thick.options, thick.field) == ((), "")
