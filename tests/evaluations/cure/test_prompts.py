"""What candidates read: all of the item and nothing of the answer."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tasks.evaluations.cure.benchmarks import LABELS, BenchmarkItem
from tasks.evaluations.cure.params import BENCHMARKS, MODES, CureParams
from tasks.evaluations.cure.study import build_materials, conversation
from tasks.packs.published import read_rows
from tests.evaluations.cure.conftest import MakeStudy, asked, tables

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
    return "\n".join(message["content"] for message in conversation(item, mode))


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
    (sample,) = [c for c in asked(make_study(rows), "normad", "thick") if c.item.item == "normad-f0-in"]
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


def test_the_label_is_first_in_both_modes_and_its_probabilities_are_asked_in_thin_mode(
    make_study: MakeStudy,
) -> None:
    study = make_study()
    thin, thick = (asked(study, "normad", mode)[0].prompt for mode in MODES)
    assert list(thin.schema["properties"]) == ["label"]
    assert list(thick.schema["properties"]) == thick.schema["required"] == ["label", "explanation"]
    assert thin.schema["properties"]["label"]["enum"] == ["yes", "no", "neutral"]
    assert (thin.options, thin.field) == (("yes", "no", "neutral"), "label")
    assert (thick.options, thick.field) == ((), "")
    assert asked(study, "casa", "thin")[0].prompt.options == ("yes", "no")
