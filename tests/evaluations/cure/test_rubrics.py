"""The rubric files: verdicts, reasons and examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.evaluations.cure.params import BENCHMARKS, METRICS
from tasks.evaluations.cure.study import load_rubrics
from tasks.judging.rubric import Rubric
from tasks.packs.published import read_rows

REFERENCE = Path(__file__).parents[3] / "warehouse" / "reference"
LOADED = load_rubrics(BENCHMARKS)
RUBRICS = [rubric for rubrics in LOADED.values() for rubric in rubrics]
each_rubric = pytest.mark.parametrize("rubric", RUBRICS, ids=lambda rubric: rubric.name)


def test_each_benchmark_has_the_rubric_of_its_metric() -> None:
    assert {benchmark: rubrics[0].name for benchmark, rubrics in LOADED.items()} == METRICS
    assert [len(rubrics) for rubrics in LOADED.values()] == [1, 1, 1, 3]


@each_rubric
def test_rubric_explains_both_verdicts_and_shows_them_in_examples(rubric: Rubric) -> None:
    assert {name: choice.value for name, choice in rubric.verdicts.items()} == {"YES": 1.0, "NO": 0.0}
    assert "explanation" in rubric.inputs
    system = " ".join(rubric.system.split())
    assert all(f'"{reason}"' in system for choice in rubric.verdicts.values() for reason in choice.reasons)
    assert 2 <= len(rubric.examples) <= 3
    assert all(list(example.answer) == ["explanation"] for example in rubric.examples)
    assert {example.answer["explanation"].verdict for example in rubric.examples} == {"YES", "NO"}


@each_rubric
def test_examples_name_no_country_of_the_items(rubric: Rubric) -> None:
    names = {row["country"]: row["name"] for row in read_rows(REFERENCE / "country.csv")}
    sampled = {
        names[row["country"]].removeprefix("the ")
        for benchmark in BENCHMARKS
        for row in read_rows(REFERENCE / "cure_item" / f"{benchmark}.csv")
    }
    shown = " ".join(str(text) for example in rubric.examples for text in example.inputs.values())
    assert len(sampled) > 60
    assert not [name for name in sampled if name in shown]


def test_phrasings_of_specificity_differ_only_in_wording() -> None:
    phrasings = LOADED["specnorm"]
    assert len({p.system for p in phrasings}) == len({p.hash() for p in phrasings}) == 3
    assert len({p.name for p in phrasings}) == 3
    first = phrasings[0].verdicts
    assert all(p.verdicts == first and p.inputs == phrasings[0].inputs for p in phrasings)
