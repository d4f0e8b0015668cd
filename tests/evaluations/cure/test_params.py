"""The knobs: what is refused, and what is in config_hash."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from pydantic import ValidationError

from tasks.evaluations.cure.params import CureParams
from tasks.evaluations.cure.study import build_study
from tests.evaluations.cure.conftest import MakeStudy, judge, tables


@pytest.mark.parametrize(
    "wrong",
    [
        {"models": []},
        {"benchmarks": []},
        {"benchmarks": ["dailydilemmas"]},
        {"modes": ["thinner"]},
        {"judge_samples": 0},
        {"files": {"mmlu": "a.csv"}},
        {"judge": "m"},
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CureParams(**({"models": ["m"]} | wrong))


@pytest.mark.parametrize(
    "changed",
    [
        {"temperature": 0.5},
        {"max_tokens": 300},
        {"judge_samples": 2},
        {"seed": 1},
        {"modes": ["thick"]},
        {"benchmarks": ["normad"]},
        {"items_per_benchmark": 2},
        {"judges": ()},
        {"judges": (judge("k"),)},
    ],
)
def test_what_changes_a_number_changes_config_hash(make_study: MakeStudy, changed: dict[str, Any]) -> None:
    assert make_study(**changed).config_hash() != make_study().config_hash()


@pytest.mark.parametrize(
    "changed",
    [
        {"models": ["n", "o"]},
        {"batch": 1},
        {"occasion": "2026-w48"},
        {"dtype": "float32"},
        {"cohort": "mine"},
        {"profile": "demo"},
        {"max_usd": 3.0},
        {"max_total_tokens": 9},
        {"benchmarks": ["specnorm", "culturebank", "casa", "normad"]},
        {"modes": ["thick", "thin"]},
        {"judges": (dataclasses.replace(judge(), name="the same engine"),)},
    ],
)
def test_what_changes_none_does_not(make_study: MakeStudy, changed: dict[str, Any]) -> None:
    assert make_study(**changed).config_hash() == make_study().config_hash()


def test_an_item_and_its_gold_are_in_config_hash(make_study: MakeStudy) -> None:
    rows = tables()
    rows["cure_item"][0] |= {"gold": "Another norm."}
    assert make_study(rows).config_hash() != make_study().config_hash()


def test_a_judge_is_named_once(make_study: MakeStudy) -> None:
    twice = {"j": judge(), "./j.toml": judge()}
    with pytest.raises(ValueError, match="j is named twice"):
        build_study(CureParams(models=["m"], judges=list(twice)), tables(), {}, twice)
    with pytest.raises(ValueError, match="j is named twice"):
        build_study(CureParams(models=["m"], judges=["j", "j"]), tables(), {}, {"j": judge()})
