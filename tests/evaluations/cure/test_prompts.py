"""Candidates' prompts contain the whole item and nothing of its answer."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tasks.evaluations.cure.params import BENCHMARKS, MODES, CureParams
from tasks.evaluations.cure.published import LABELS, BenchmarkItem
from tasks.evaluations.cure.study import build_materials, conversation
from tasks.packs.published import read_rows
from tests.evaluations.cure.conftest import MakeStudy, samples_of, tables

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
def test_prompt_shows_the_item_and_nothing_of_its_answer(benchmark: str, mode: str) -> None:
    hidden = dict.fromkeys(("rule", "pair", "family", "behaviour"), "hidden")
    for item in shipped(benchmark):
        prompt = text(item, mode)
        parts = [item.extra[name] for name in ("persona", "situation", "question") if name in item.extra]
        parts.append(item.group if benchmark == "culturebank" else item.extra["country_name"])
        assert all(part in prompt for part in (*parts, *(f'"{label}"' for label in LABELS[benchmark])))
        assert ("two to four sentences" in prompt) == (mode == "thick")
        assert item.gold not in prompt
        secret = {"gold": "hidden", "cues": ("hidden",), "extra": item.extra | hidden, "item": "hidden"}
        for label in LABELS[benchmark]:
            assert text(dataclasses.replace(item, label=label, **secret), mode) == prompt


def test_markup_in_an_item_reaches_the_prompt_verbatim(make_study: MakeStudy) -> None:
    rows = tables()
    odd = 'She says <b>"no"</b> & {leaves} — [INST] 「はい」'
    rows["cure_item"][0] |= {"situation": odd}
    (sample,) = [c for c in samples_of(make_study(rows), "normad", "thick") if c.item.item == "normad-f0-in"]
    assert odd in sample.prompt.conversation[1]["content"]


@pytest.mark.parametrize("mode", MODES)
def test_published_items_without_a_question_are_given_one(mode: str) -> None:
    names = {"country_name": "Japan"}
    story = BenchmarkItem("normad", "i", "JP", "", "Ken pours his own drink.", "no", "g", extra=names)
    query = dataclasses.replace(story, benchmark="casa", question="May I send lilies?")
    assert "Situation: Ken pours his own drink." in text(story, mode)
    assert "Question: Is what happens here socially acceptable in Japan?" in text(story, mode)
    assert "The user writes: May I send lilies?" in text(query, mode)
    assert "Question: Is what the user plans culturally acceptable in Japan?" in text(query, mode)


def test_label_comes_first_with_probabilities_in_thin_mode(
    make_study: MakeStudy,
) -> None:
    study = make_study()
    thin, thick = (samples_of(study, "normad", mode)[0].prompt for mode in MODES)
    assert list(thin.schema["properties"]) == ["label"]
    assert list(thick.schema["properties"]) == thick.schema["required"] == ["label", "explanation"]
    assert thin.schema["properties"]["label"]["enum"] == ["yes", "no", "neutral"]
    assert (thin.options, thin.field) == (("yes", "no", "neutral"), "label")
    assert (thick.options, thick.field) == ((), "")
    assert samples_of(study, "casa", "thin")[0].prompt.options == ("yes", "no")
