"""Numbers that fmlama's page computes itself; ``tests.report.test_contract`` holds what the page shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from deployments.show.report import beside_published, read_data
from tasks.evaluations.fmlama.frames import FmlamaData, in_order
from tasks.evaluations.fmlama.report import REPORT, stars
from tasks.report.parts import together
from tests.evaluations.fmlama.report.example_run import (
    CONDITIONS,
    HOSTILE,
    MODELS,
    PARAMS,
    condition_metrics,
    store,
)
from tests.report.stored import store_run
from warehouse import Warehouse


@pytest.fixture(name="data", scope="module")
def _data(copied_home: Callable[[], Path]) -> FmlamaData:
    warehouse = Warehouse.open(copied_home())
    for model in MODELS:
        store(warehouse, model)
    data: FmlamaData = read_data(warehouse, "fmlama")
    return data


def only(data: FmlamaData, *conditions: str) -> FmlamaData:
    """Return the frames of these conditions."""

    def slug(named: pl.Expr) -> pl.Expr:
        return pl.concat_str("main_language", "subject_language", named, separator=":")

    named = pl.when("country_mentioned").then(pl.lit("yes")).otherwise(pl.lit("no"))
    condition = pl.col("slice").str.extract(r"^(\w+:\w+:\w+)")
    return replace(
        data,
        leaderboard=data.leaderboard.filter(slug(named).is_in(conditions)),
        values=data.values.filter(condition.is_in(conditions)),
        switching=data.switching.filter(slug(pl.lit("no")).is_in(conditions)),
    )


def text(data: FmlamaData, id: str) -> str:
    """Return a section's words and tables, without its figures."""
    (section,) = (each for each in REPORT.page(data).sections if each.id == id)
    return str(together([part for part in section.parts if type(part).__name__ in ("Text", "Table", "Box")]))


@pytest.mark.parametrize(
    ("p", "marks"),
    [(None, ""), (0.1, ""), (0.0999, "*"), (0.05, "*"), (0.0499, "**"), (0.01, "**"), (0.0099, "***")],
)
def test_stars_mark_p_below_a_tenth_a_twentieth_and_a_hundredth(p: float | None, marks: str) -> None:
    assert stars(p) == marks


def test_the_best_baseline_is_chance_where_chance_is_better(data: FmlamaData) -> None:
    assert {group.best_name for group in data.plain} == {"null:common"}
    higher = data.values.with_columns(null_value=pl.lit(0.9))
    assert {g.best_name for g in replace(data, values=higher).groups} == {"chance"}
    assert in_order(["xx", "he", "en", "zh", "en"]) == ["en", "zh", "he", "xx"]


def test_an_interval_that_begins_at_0_is_not_above_0(data: FmlamaData) -> None:
    certain = data.values.with_columns(ci_low=pl.col("ci_low").clip(0.001))
    assert "do not show" not in text(replace(data, values=certain), "reading")
    touching = data.values.with_columns(ci_low=pl.lit(0.0), ci_high=pl.lit(-0.01))
    assert "below 0" in text(replace(data, values=touching), "reading")
    assert "below 0" not in text(data, "reading")


def test_notes_replace_comparisons_that_were_not_run(data: FmlamaData) -> None:
    params = pl.lit(json.dumps(PARAMS | {"aligned": False}))
    unjudged = data.values.filter(~pl.col("metric").str.starts_with("mes"))
    for part, note, without in (
        ("country", "To compare both", only(data, "en:en:no", "zh:zh:no")),
        ("languages", "Do not compare bars", replace(data, runs=data.runs.with_columns(params=params))),
        ("languages", "in English only", only(data, "en:en:no", "en:en:yes")),
        ("switching", "has no code-switching", only(data, *CONDITIONS[:4])),
        ("mes", "has no judge", replace(data, values=unjudged, judged=data.judged.clear())),
        ("mes", "judged its own", replace(data, judged=data.judged.with_columns(judge=pl.lit("knows")))),
    ):
        assert note not in text(data, part)
        assert note in text(without, part)


def test_poolings_that_reverse_a_verdict_are_listed(data: FmlamaData) -> None:
    assert [group.turned for group in data.plain] == [["knows"]] * 4
    assert HOSTILE not in text(data, "poolings")
    before = replace(data, values=data.values.filter(pl.col("slice_kind") != "condition_pooling"))
    assert "poolings" not in [section.id for section in REPORT.page(before).sections]


@pytest.mark.parametrize("pooling", ["mean_logprob", "mean_probability"])
def test_published_number_names_differing_settings(copied_home: Callable[[], Path], pooling: str) -> None:
    """The paper's program takes the mean of log-probabilities; dishes and templates differ in any case."""
    warehouse = Warehouse.open(copied_home())
    rows = list(condition_metrics("knows", "en:en:no"))
    store_run(warehouse, "fmlama", "knows", rows, PARAMS | {"pooling": pooling}, "one")
    beside = beside_published(warehouse, "fmlama", "one").filter(metric="map", slice="en:en:no")
    printed = beside.filter(pl.col("source") != "measured")
    assert set(printed["definition"]) == {"near"}
    differ = printed["settings_differ"][0].split(", ")
    assert {"templates", "dishes"} <= set(differ)
    assert ("pooling" in differ) == (pooling != "mean_logprob")
