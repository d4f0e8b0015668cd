"""meta_explication over invented scores of seven models: which numbers are correlated, by hand."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy.stats import pearsonr, spearmanr

from tasks.evaluations.explication.meta import correlations, differences
from tasks.metrics.agreement import spearman_interval, spearman_test
from tasks.metrics.comparison import holm
from tasks.metrics.dependent_correlations import difference
from tests.report.stored import put_run, row, store_run
from warehouse import Warehouse, save_ranking

APR = {"a": 2.0, "b": 4.0, "c": 4.0, "d": 6.5, "e": 9.0, "f": 3.0}
"""The paper's number of models; b and c share a rank."""
F1 = {"a": 0.1, "b": 0.3, "c": 0.2, "d": 0.6, "e": 0.5, "g": 0.9}
"""f has no score of knowledge, g no conversation: neither counts."""
KNOWS = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.4, "e": 0.5, "f": 0.95}


@pytest.fixture(scope="module", name="scored")
def _scored(copied_home: Callable[[], Path]) -> Warehouse:
    warehouse = Warehouse.open(copied_home())
    with warehouse.write() as connection:
        put_scored(connection)
    return warehouse


def put_scored(connection: Any) -> None:
    """Store the runs of all three evaluations within a write."""
    for model, value in APR.items():
        rows = [
            row("apr", ("condition", "control"), value),
            row("apr", ("condition", "treatment"), 5.0),
            row("instruction_following", ("condition", "control"), 1 + value / 3),
            row("instruction_following", ("condition", "treatment"), None),
            row("apr", ("overall", "all"), 1.0),
        ]
        put_run(connection, "explication", model, rows, {}, engine=(model, "fake"))
    for model, value in F1.items():
        for config, f1 in (("old", 1 - value), ("new", value)):  # the newest run of an engine counts
            rows = [row("macro_f1", ("overall", "all"), f1)]
            put_run(connection, "spectral", model, rows, {}, config, engine=(model, "fake"))
    for model, value in KNOWS.items():
        rows = [row("exact_match", ("benchmark_mode", "normad:thin"), value)]
        put_run(connection, "cure", model, rows, {}, "cure", engine=(model, "fake"))
    nulls = [row("apr", ("condition", "control"), 1.0)]
    put_run(connection, "explication", "null:fixed", nulls, {}, engine=("null", "fake"))


def test_correlations_use_the_models_that_have_both_numbers(scored: Warehouse) -> None:
    pairs = {
        (r["condition"], r["other_evaluation"], r["other_metric"], r["other_slice"]): r
        for r in scored.query("FROM meta_explication WHERE metric = 'apr'").to_dicts()
    }
    knowledge = pairs["control", "spectral", "macro_f1", "all"]
    own, known = [APR[model] for model in "abcde"], [F1[model] for model in "abcde"]
    assert knowledge["n_models"] == 5
    assert knowledge["pearson"] == pytest.approx(pearsonr(own, known).statistic)
    assert knowledge["spearman"] == pytest.approx(spearmanr(own, known).statistic)
    micro = pairs["control", "cure", "exact_match", "normad:thin"]
    assert micro["n_models"] == 6
    rho = spearmanr(list(APR.values()), [KNOWS[model] for model in APR]).statistic
    assert micro["spearman"] == pytest.approx(rho)
    assert pairs["control", "explication", "instruction_following", "control"]["pearson"] == pytest.approx(1)


def test_constant_and_unscored_numbers_have_no_correlation(scored: Warehouse) -> None:
    meta = scored.query("FROM meta_explication WHERE condition = 'treatment'").to_dicts()
    assert {r["other_evaluation"] for r in meta} == {"spectral", "cure"}  # no pair with instruction following
    assert [(r["pearson"], r["spearman"]) for r in meta] == [(None, None)] * 2
    places = scored.query("SELECT place FROM meta_explication ORDER BY place")["place"]
    assert places.to_list() == [*range(1, 8)]


FACTS = {"a": 0.7, "b": 0.2, "c": 0.9, "d": 0.5, "e": 0.4, "f": 0.3, "g": 0.1}


@pytest.fixture(scope="module", name="ranked")
def _ranked(copied_home: Callable[[], Path]) -> Warehouse:
    """A warehouse of seven models with all metrics; another benchmark ranks five, one under two names."""
    warehouse = Warehouse.open(copied_home())
    with warehouse.write() as connection:
        put_scored(connection)
    with warehouse.write() as connection:
        for model, value in FACTS.items():
            known = {**F1, "f": 0.35}[model]
            rows = [
                row("macro_f1", ("overall", "all"), known),
                row("reference_mass", ("overall", "all"), value),
            ]
            put_run(connection, "spectral", model, rows, {}, "newest", engine=(model, f"lab/{model}"))
    names = ["a", "b", "c", "d", "e", "lab/e", "nobody"]
    ranks = {"benchmark": "blend", "model": names, "place": [3, 1, 5, 2, 4, 6, 7], "source": "blend.csv"}
    save_ranking(warehouse, pl.DataFrame(ranks))
    return warehouse


def test_paired_values_are_listed_and_external_rankings_are_correlated(ranked: Warehouse) -> None:
    by_pair = {
        (r["other_evaluation"], r["other_metric"]): r
        for r in ranked.query(
            "FROM meta_explication WHERE metric = 'apr' AND condition = 'control'"
        ).to_dicts()
    }
    facts, blend = by_pair["spectral", "reference_mass"], by_pair["external", "blend"]
    pairs = dict(zip(facts["own_values"], facts["other_values"], strict=True))
    assert sorted(facts["own_values"]) == sorted(APR.values())
    assert pairs[APR["a"]] == FACTS["a"]
    assert pairs[APR["e"]] == FACTS["e"]
    assert len(set(facts["model_hashes"])) == len(facts["model_hashes"]) == 6
    assert blend["n_models"] == 5, "a model of two names is one, at its best place"
    rho = spearmanr([APR[m] for m in "abcde"], [-3, -1, -5, -2, -4]).statistic
    assert blend["spearman"] == pytest.approx(rho)


def test_correlations_of_the_headline_have_a_holm_adjusted_p(ranked: Warehouse) -> None:
    rows = correlations(ranked.query("FROM meta_explication ORDER BY place").to_dicts())
    for each in rows:
        test = spearman_test(each["own_values"], each["other_values"])
        assert each["p_value"] == (test and test[1])
        if test:
            assert (each["ci_low"], each["ci_high"]) == (
                spearman_interval(test[0], each["n_models"]) or (None, None)
            )
            assert each["spearman"] == pytest.approx(test[0])
        assert (each["ci_low"] is None) == (each["unscored_reason"] is not None)
        is_asked = (each["metric"], each["condition"]) == ("apr", "control")
        assert (each["p_holm"] is not None) == (is_asked and each["other_evaluation"] != "explication")
        assert (each["holm_reason"] is None) == (each["p_holm"] is not None or not test)
    family = [each for each in rows if each["p_holm"] is not None]
    assert [each["p_holm"] for each in family] == pytest.approx(holm([each["p_value"] for each in family]))
    assert any(each["needed"] is not None for each in rows)


def test_differences_of_correlations_use_models_with_all_three_numbers(ranked: Warehouse) -> None:
    rows = ranked.query("FROM meta_explication ORDER BY place").to_dicts()
    by_pair = {(r["condition"], r["metric"], r["other_metric"]): r for r in differences(rows)}
    assert {key[1] for key in by_pair} == {"apr"}, "INT was not stored, and other numbers are no grades"
    assert {key[2] for key in by_pair} == {"reference_mass", "blend"}
    own = by_pair["control", "apr", "reference_mass"]
    known = {**F1, "f": 0.35}
    expected = difference([APR[m] for m in APR], [known[m] for m in APR], [FACTS[m] for m in APR])
    assert expected is not None
    assert own["n_models"] == 6
    assert (own["first"], own["second"], own["difference"]) == pytest.approx(expected[:3])
    assert (own["ci_low"], own["ci_high"]) == pytest.approx(expected.interval)
    assert (own["p_value"], own["needed"]) == (pytest.approx(expected.p_value), expected.needed)
    five = by_pair["control", "apr", "blend"]
    assert (five["n_models"], five["p_value"], five["p_holm"]) == (5, None, None)
    assert five["ci_low"] is not None
    assert "test needs 6" in five["unscored_reason"]
    same = by_pair["treatment", "apr", "blend"]
    assert (same["difference"], same["unscored_reason"]) == (None, "one of them does not vary")


def test_a_model_that_is_run_later_changes_no_stored_number(ranked: Warehouse, tmp_path: Path) -> None:
    ranked = Warehouse.open(Path(shutil.copytree(ranked.home, tmp_path / "home")))
    before = ranked.query("SELECT * FROM metric_value ORDER BY ALL")
    later = [row("apr", ("condition", "control"), 7.0)]
    store_run(ranked, "explication", "g", later, {}, engine=("g", "lab/g"))
    after = ranked.query("SELECT * FROM metric_value WHERE model <> 'g' OR metric <> 'apr' ORDER BY ALL")
    assert after.equals(before)
    grown = ranked.query("SELECT n_models FROM meta_explication WHERE other_metric = 'reference_mass'")
    assert grown["n_models"].max() == 7
