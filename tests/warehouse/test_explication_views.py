"""meta_explication over made-up scores of seven models: which numbers are held against which, by hand."""

from __future__ import annotations

import pytest
from scipy.stats import pearsonr, spearmanr

from tests.report.stored import row, store_run
from warehouse import Warehouse

APR = {"a": 2.0, "b": 4.0, "c": 4.0, "d": 6.5, "e": 9.0, "f": 3.0}
"""The paper's number of models; b and c share a rank."""
F1 = {"a": 0.1, "b": 0.3, "c": 0.2, "d": 0.6, "e": 0.5, "g": 0.9}
"""f was not asked for what it knows, g holds no conversation: neither counts."""
KNOWS = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.4, "e": 0.5, "f": 0.95}


@pytest.fixture(name="scored")
def _scored(warehouse: Warehouse) -> Warehouse:
    for model, value in APR.items():
        rows = [
            row("apr", ("condition", "control"), value),
            row("apr", ("condition", "treatment"), 5.0),
            row("instruction_following", ("condition", "control"), 1 + value / 3),
            row("instruction_following", ("condition", "treatment"), None),
            row("apr", ("overall", "all"), 1.0),
        ]
        store_run(warehouse, "explication", model, rows, {}, engine=(model, "fake"))
    for model, value in F1.items():
        for config, said in (("old", 1 - value), ("new", value)):  # the newest run stands for an engine
            rows = [row("macro_f1", ("overall", "all"), said)]
            store_run(warehouse, "spectral", model, rows, {}, config, engine=(model, "fake"))
    for model, value in KNOWS.items():
        rows = [row("exact_match", ("benchmark_mode", "normad:thin"), value)]
        store_run(warehouse, "cure", model, rows, {}, "cure", engine=(model, "fake"))
    nulls = [row("apr", ("condition", "control"), 1.0)]
    store_run(warehouse, "explication", "null:fixed", nulls, {}, engine=("null", "fake"))
    return warehouse


def test_correlations_are_over_the_models_that_have_both(scored: Warehouse) -> None:
    pairs = {
        (r["condition"], r["other_evaluation"], r["other_metric"], r["other_slice"]): r
        for r in scored.query("FROM meta_explication WHERE metric = 'apr'").to_dicts()
    }
    knowledge = pairs["control", "spectral", "macro_f1", "all"]
    said, known = [APR[model] for model in "abcde"], [F1[model] for model in "abcde"]
    assert knowledge["n_models"] == 5
    assert knowledge["pearson"] == pytest.approx(pearsonr(said, known).statistic)
    assert knowledge["spearman"] == pytest.approx(spearmanr(said, known).statistic)
    micro = pairs["control", "cure", "exact_match", "normad:thin"]
    assert micro["n_models"] == 6
    rho = spearmanr(list(APR.values()), [KNOWS[model] for model in APR]).statistic
    assert micro["spearman"] == pytest.approx(rho)
    assert pairs["control", "explication", "instruction_following", "control"]["pearson"] == pytest.approx(1)


def test_what_does_not_vary_or_is_unscored_has_no_correlation(scored: Warehouse) -> None:
    meta = scored.query("FROM meta_explication WHERE condition = 'treatment'").to_dicts()
    assert {r["other_evaluation"] for r in meta} == {"spectral", "cure"}  # no instruction following there
    assert [(r["pearson"], r["spearman"]) for r in meta] == [(None, None)] * 2
    places = scored.query("SELECT place FROM meta_explication ORDER BY place")["place"]
    assert places.to_list() == [*range(1, 8)]
