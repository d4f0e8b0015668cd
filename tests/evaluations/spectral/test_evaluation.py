"""The evaluation by the loop, without a Prefect server: which models get which rows, and when they change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

from flows.evaluation import evaluate
from flows.session import prepare
from tasks.engines import load
from tasks.engines.fake import FakeEngine
from tasks.evaluations.spectral.evaluation import EVALUATION, request
from tasks.evaluations.spectral.params import SpectralParams
from tasks.evaluations.spectral.study import SpectralStudy
from tasks.loop.items import ItemLogprobs
from warehouse import Warehouse, run_checks

NUMBERS = "SELECT * EXCLUDE (run_id) FROM metric_value ORDER BY ALL"


@pytest.fixture
def warehouse(warehouse: Warehouse) -> Iterator[Warehouse]:
    """The shipped item lists, and three fake models."""
    for name in ("a", "b", "c"):
        (warehouse.home / "engines" / f"{name}.toml").write_text(f'kind = "fake"\nmodel = "{name}"\n')
    yield warehouse
    load.unload()


def params(*models: str, **more: Any) -> SpectralParams:
    chosen: dict[str, Any] = {
        "countries": ["BR", "DE", "JP", "NG"],
        "domains": ["currency", "religions"],
        "variants": [1],
    }
    return SpectralParams(models=list(models), max_items=12, half_samples=20, **chosen | more)


def numbers(warehouse: Warehouse, *models: str) -> pl.DataFrame:
    return warehouse.query(NUMBERS).filter(pl.col("model").is_in(models))


def test_every_model_and_null_model_gets_rows(warehouse: Warehouse) -> None:
    evaluate(EVALUATION, params("a", "b"))
    models = set(warehouse.query("SELECT model FROM leaderboard_spectral")["model"])
    assert models == {
        "a", "b", "null:shuffled(a)", "null:shuffled(b)", "null:list-frequency", "null:always-LH",
        "null:uniform-by-domain",
    }  # fmt: skip
    similarity = warehouse.query("SELECT model, domain, count(*) AS n FROM country_similarity GROUP BY ALL")
    # Four countries have six pairs.
    assert sorted(similarity.rows()) == [
        (model, domain, 6) for model in ("a", "b") for domain in ("currency", "religions")
    ]
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_stored_log_probabilities_equal_the_engines(warehouse: Warehouse) -> None:
    chosen = params("a", countries_per_part=3)
    evaluate(EVALUATION, chosen)
    session = prepare(EVALUATION, chosen)
    study = session.study
    assert isinstance(study, SpectralStudy)
    asked = request(study, study.questions[0])
    stored = session.completions("a")(asked)
    assert isinstance(stored, ItemLogprobs)
    spec = session.candidates["a"].spec
    assert spec is not None
    engine = FakeEngine(spec)
    framed = engine.frame(list(asked.questions.values()))
    own = engine.score(framed.prefixes, [framed.lead + item for item in asked.items])
    assert np.array_equal(stored.logprobs, own.astype(np.float64))


@pytest.mark.heavy
def test_stored_rows_keep_their_medians_when_another_model_runs(warehouse: Warehouse) -> None:
    """Categories are relative to the medians of the first run's models."""
    evaluate(EVALUATION, params("a", "b"))
    first = numbers(warehouse, "a", "b")
    config = evaluate(EVALUATION, params("a", "b"))
    evaluate(EVALUATION, params("c"))
    assert numbers(warehouse, "a", "b").equals(first)
    cohort = warehouse.query("SELECT model FROM cohort JOIN run USING (run_id) ORDER BY model")
    assert cohort["model"].to_list() == ["a", "b"]
    # Another cohort name means another cohort, and so another configuration.
    other = evaluate(EVALUATION, params("a", "b", "c", cohort="with c"))
    assert other != config
    assert warehouse.query("SELECT DISTINCT cohort FROM cohort").height == 2
