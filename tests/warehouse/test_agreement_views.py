"""Models by headlines, agreement of evaluations with each other and with rankings, and too few models."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats

from tasks.metrics.agreement import spearman_interval
from tests.report.stored import row, store_headline
from tests.warehouse.rows import make_run
from warehouse import Warehouse, finish_run, save_metrics, save_ranking, save_run

SPECTRAL = [0.1, 0.2, 0.2, 0.5, 0.7, 0.6, 0.8, 0.9, 0.95, 1.0, 0.3]
CV = [0.9, 0.8, 0.5, 0.6, 0.4, 0.3, 0.2, 0.25, 0.1, 0.05, 0.7]  # lower is better


def agreement(warehouse: Warehouse, other: str) -> dict[str, Any]:
    rows = warehouse.query("FROM evaluation_agreement WHERE ? IN (other_evaluation, other_metric)", [other])
    return rows.row(0, named=True)


def test_two_evaluations_have_the_rank_correlation_of_their_headlines(warehouse: Warehouse) -> None:
    store_headline(warehouse, "spectral", [*SPECTRAL], "macro_f1", 0.05)
    store_headline(warehouse, "fmlama", [*CV[:-1], None], "map_cv", 0.5)
    scores = warehouse.query("FROM model_scores ORDER BY evaluation, engine_hash").to_dicts()
    assert len(scores) == 22
    first = next(r for r in scores if (r["evaluation"], r["model"]) == ("spectral", "m3"))
    assert (first["value"], first["null_value"], first["is_beyond_null"]) == (0.5, 0.15, True)
    assert {r["model"] for r in scores if r["is_beyond_null"]} >= {"m3", "m9"}
    assert not any(r["is_beyond_null"] for r in scores if (r["evaluation"], r["model"]) == ("spectral", "m0"))

    pair = agreement(warehouse, "spectral")
    expected = scipy.stats.spearmanr(SPECTRAL[:10], np.negative(CV[:10])).statistic
    assert (pair["evaluation"], pair["metric"], pair["n_models"]) == ("fmlama", "map_cv", 10)
    assert pair["rho"] == pytest.approx(expected)
    assert (pair["ci_low"], pair["ci_high"]) == pytest.approx(spearman_interval(expected, 10), abs=1e-3)
    assert not pair["is_untied"]
    apart = sum(a - b > 0.1 + 1e-12 for a in SPECTRAL for b in SPECTRAL)
    assert (pair["n_apart"], pair["other_n_apart"]) == (0, apart), "map_cv does not separate the models"


@pytest.mark.heavy
def test_fewer_than_three_models_or_constant_scores_have_no_correlation(warehouse: Warehouse) -> None:
    store_headline(warehouse, "spectral", [0.1, 0.2, 0.3, 0.4], "macro_f1", 0.05)
    store_headline(warehouse, "worldwise", [4.0, 5.0], "alignment", 0.5)
    store_headline(warehouse, "culturall", [0.5, 0.5, 0.5], "accuracy", 0.5)
    none = agreement(warehouse, "worldwise")
    reasons = warehouse.query("FROM evaluation_agreement ORDER BY evaluation, other_evaluation")
    assert reasons["unscored_reason"].to_list() == [
        "one of them does not vary",
        "fewer than three models have both",
        "fewer than three models have both",
    ]
    assert none["rho"] is none["least_rho"] is none["ci_low"] is None


@pytest.mark.heavy
@pytest.mark.parametrize("n", [5, 6, 7, 8])
def test_least_rho_is_the_5_percent_quantile_over_all_orders(warehouse: Warehouse, n: int) -> None:
    orders = np.array(list(permutations(range(n))))
    rho = np.round(1 - 6 * ((orders - np.arange(n)) ** 2).sum(axis=1) / (n * (n * n - 1)), 9)
    least = min(r for r in np.unique(np.abs(rho)) if np.mean(np.abs(rho) >= r) <= 0.05)
    store_headline(warehouse, "spectral", [x / 10 for x in range(n)], "macro_f1", 0.05)
    store_headline(warehouse, "culturall", [x / 10 for x in range(n)], "accuracy", 0.05)
    pair = agreement(warehouse, "spectral")
    assert (pair["least_rho"], pair["rho"], pair["is_untied"]) == (pytest.approx(least), 1.0, True)
    assert (pair["ci_low"], pair["ci_high"]) == pytest.approx(spearman_interval(1.0, n), abs=0.01)


def test_external_rankings_are_joined_by_model_name_or_id(warehouse: Warehouse) -> None:
    store_headline(warehouse, "spectral", [0.1, 0.2, 0.3, 0.4, 0.5], "macro_f1", 0.06)
    quoted = warehouse.query(
        "SELECT benchmark, count(*) FROM external_ranking GROUP BY ALL ORDER BY 1"
    ).rows()
    assert quoted == [("BLEnD", 2), ("CAMeL-2", 2), ("CULEMO", 3), ("CultureBench", 4), ("IndoCulture", 4)]
    names = ["M0", "lab/model-1", "m2", "m3", "m4", "another"]
    rows = pl.DataFrame(
        {"benchmark": "mine", "model": names, "place": [5, 4, 3, 2, 1, 6], "source": "mine.csv"}
    )
    turned = rows.with_columns(benchmark=pl.lit("turned"), place=7 - pl.col("place"))
    save_ranking(warehouse, pl.concat([rows, turned]))
    pairs = {row["other_metric"]: row for row in warehouse.query("FROM evaluation_agreement").to_dicts()}
    pair = pairs["mine"]
    assert (pair["evaluation"], pair["n_models"], pair["rho"]) == ("spectral", 5, 1.0)
    assert (pair["n_apart"], pair["other_n_apart"]) == (6, None)
    assert pairs["turned"]["rho"] == -1.0
    missing = warehouse.query(
        "SELECT model FROM external_ranking WHERE benchmark = 'mine' AND our_model IS NULL"
    )
    assert missing["model"].to_list() == ["another"]


def test_a_model_of_two_engines_is_one_model_across_evaluations(warehouse: Warehouse) -> None:
    """One engine ran spectral, another culturall; if both ran an evaluation, the float32 run is shown."""
    names = "abcdef"
    kinds = (("spectral", "macro_f1", "packed_trie"), ("culturall", "accuracy", "vllm"))
    for evaluation, metric, kind in kinds:
        for n, name in enumerate(names):
            store_model(warehouse, evaluation, metric, name, n / 10, kind, "bfloat16")
    store_model(warehouse, "spectral", "macro_f1", "a", 0.9, "packed_trie", "float32")
    pair = agreement(warehouse, "spectral")
    assert pair["n_models"] == len(names)
    assert pair["rho"] == pytest.approx(scipy.stats.spearmanr([9, 1, 2, 3, 4, 5], range(6)).statistic)
    rows = warehouse.query("FROM model_run WHERE evaluation = 'spectral' ORDER BY model").to_dicts()
    assert [(row["model"], row["dtype"], row["n_engines"]) for row in rows] == [
        ("a", "float32", 2), *((name, "bfloat16", 1) for name in names[1:]),
    ]  # fmt: skip


def store_model(
    warehouse: Warehouse, evaluation: str, metric: str, name: str, value: float, kind: str,
    dtype: str
) -> None:  # fmt: skip
    """Store a finished run of one model by an engine, with one headline."""
    run_id = f"{evaluation}-{name}-{kind}-{dtype}"
    engine = {"kind": kind, "model": f"lab/{name}", "dtype": dtype}
    own = {"evaluation": evaluation, "engine_hash": run_id, "model_hash": f"weights of {name}"}
    run = replace(make_run(run_id, name, evaluation), **own, engine=engine)
    rows = pl.DataFrame([row(metric, ("overall", "all"), value)]).with_columns(model=pl.lit(name))
    with warehouse.write() as connection:
        save_run(connection, run)
        save_metrics(connection, run_id, rows)
        finish_run(connection, run_id)


def test_a_pair_of_evaluations_without_a_common_model_has_a_reason(warehouse: Warehouse) -> None:
    store_headline(warehouse, "spectral", [0.1, 0.2, 0.3], "macro_f1", 0.05)
    store_headline(warehouse, "explication", [None, None], "apr", 0.5)
    pair = agreement(warehouse, "spectral")
    columns = ("evaluation", "n_models", "ranks", "is_untied")
    assert [pair[column] for column in columns] == ["explication", 0, [], False]
    assert pair["rho"] is pair["least_rho"] is pair["ci_low"] is None
    assert pair["unscored_reason"] == "no model that was run on both has both numbers"
