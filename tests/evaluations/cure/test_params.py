"""Refused parameters, and the parameters in config_hash."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from pydantic import ValidationError

from tasks.evaluations.cure.params import CureParams
from tasks.evaluations.cure.study import build_study
from tests.evaluations.cure.conftest import MakeStudy, judge, tables

ANOTHER_GOLD = tables()
ANOTHER_GOLD["cure_item"][0] |= {"gold": "Another norm."}


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
def test_invalid_params_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CureParams(**({"models": ["m"]} | wrong))


@pytest.mark.parametrize(
    ("params", "changes"),
    [
        ({"temperature": 0.5}, True),
        ({"max_tokens": 300}, True),
        ({"judge_samples": 2}, True),
        ({"seed": 1}, True),
        ({"modes": ["thick"]}, True),
        ({"benchmarks": ["normad"]}, True),
        ({"items_per_benchmark": 2}, True),
        ({"judges": ()}, True),
        ({"judges": (judge("k"),)}, True),
        ({"rows": ANOTHER_GOLD}, True),
        ({"models": ["n", "o"]}, False),
        ({"batch": 1}, False),
        ({"occasion": "2026-w48"}, False),
        ({"dtype": "float32"}, False),
        ({"cohort": "mine"}, False),
        ({"profile": "demo"}, False),
        ({"max_usd": 3.0}, False),
        ({"max_total_tokens": 9}, False),
        ({"benchmarks": ["specnorm", "culturebank", "casa", "normad"]}, False),
        ({"modes": ["thick", "thin"]}, False),
        ({"judges": (dataclasses.replace(judge(), name="the same engine"),)}, False),
    ],
)
def test_config_hash_changes_with_whatever_changes_a_number(
    make_study: MakeStudy, params: dict[str, Any], changes: bool
) -> None:
    assert (make_study(**params).config_hash() != make_study().config_hash()) == changes


def test_judge_named_twice_is_refused(make_study: MakeStudy) -> None:
    twice = {"j": judge(), "./j.toml": judge()}
    with pytest.raises(ValueError, match="j is named twice"):
        build_study(CureParams(models=["m"], judges=list(twice)), tables(), {}, twice)
    with pytest.raises(ValueError, match="j is named twice"):
        build_study(CureParams(models=["m"], judges=["j", "j"]), tables(), {}, {"j": judge()})
