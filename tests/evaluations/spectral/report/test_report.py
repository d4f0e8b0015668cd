"""Numbers that spectral's page computes itself; ``tests.report.test_contract`` holds what the page shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from deployments.show.report import read_data
from tasks.evaluations.spectral.report import REPORT, SpectralData, own_items, shuffled_copies
from tasks.report.clusters import Matrix, cluster, matrix_of, neighbours
from tasks.report.spectra import Spectrum, sr_ranks
from tests.evaluations.spectral.report.example_run import CODES, LANGUAGES, PARAMS, store
from tests.report.pages import parsed, section
from tests.report.stored import row, store_run
from warehouse import Warehouse


@pytest.fixture(name="data", scope="module")
def _data(copied_home: Callable[[], Path]) -> SpectralData:
    warehouse = Warehouse.open(copied_home())
    for model, config in (("model-a", "older"), ("model-a", "newer"), ("null:list-frequency", "newer")):
        store(warehouse, model, config)
    data: SpectralData = read_data(warehouse, "spectral")
    return data


def test_every_frame_is_filled_from_the_newest_configuration(data: SpectralData) -> None:
    assert data.config_hash == "newer"
    assert data.leaderboard["model"].to_list() == ["model-a", "null:list-frequency"]
    assert data.run_countries["country"].to_list() == CODES
    assert data.competence == {("model-a", "currency"): dict.fromkeys(CODES, 0.9)}
    assert data.configurations["configuration"].to_list() == ["newer", "older"]
    (row,) = data.unscored.to_dicts()
    assert row["metric"] == "effective_rank, er_high, spectral_gap_ratio, sr_high"


def test_the_page_of_several_languages_says_what_was_not_checked_and_what_is_left_out(
    copied_home: Callable[[], Path],
) -> None:
    warehouse = Warehouse.open(copied_home())
    store(warehouse, "model-a", LANGUAGES)
    text = section(parsed(REPORT, read_data(warehouse, "spectral")), "languages")
    assert "translated back, and not checked by speakers" in text
    assert "Left out in Spanish: Religions, Holidays." in text
    assert "A model that translates the question first" in text
    store(warehouse, "model-a", "newer")
    assert parsed(REPORT, read_data(warehouse, "spectral")).select_one("#languages") is None


def test_a_run_in_another_language_alone_says_that_nobody_checked_it(copied_home: Callable[[], Path]) -> None:
    warehouse = Warehouse.open(copied_home())
    store(warehouse, "model-a", "es", languages=["es"])
    data: SpectralData = read_data(warehouse, "spectral")
    assert "are in es, translated for this project and not checked" in section(
        parsed(REPORT, data), "languages"
    )
    assert data.doubts.filter(metric="macro_f1")["reason"].str.contains("speakers").sum() == 1


@pytest.mark.parametrize(
    ("n_domains", "shown"),
    [
        (2, "model-a – – –"),
        (5, "+0.90 no interval −1.00 no interval"),
        (9, "+0.98 +0.87 to +1.00 −1.00 no interval"),
    ],
)
def test_the_page_of_sampled_numbers_shows_how_far_their_order_agrees_with_log_probabilities(
    copied_home: Callable[[], Path], n_domains: int, shown: str
) -> None:
    """One model has the same items and countries both ways. Its gap ratios have the opposite order, and its
    last two effective ranks change places.
    """
    warehouse = Warehouse.open(copied_home())
    names = warehouse.query("SELECT question FROM question WHERE variant = 1 ORDER BY 1")["question"]
    ways: dict[str, dict[str, Any]] = {
        "logprobs": {},
        "drawn": {"elicit": "constrained", "draws": 5, "temperature": 1.0},
    }
    for config, params in ways.items():
        order = [float(place) for place in range(2, 2 + n_domains)]
        ranks = [*order[:-2], *order[:-3:-1]] if params else order
        ratios = order[::-1] if params else order
        rows = [
            row(metric, ("question", name), value)
            for metric, values in (("effective_rank", ranks), ("spectral_gap_ratio", ratios))
            for name, value in zip(names, values, strict=False)
        ]
        rows.append(row("macro_f1", ("overall", "all"), 0.5))
        store_run(warehouse, "spectral", "model-a", rows, PARAMS | params, config)
    text = section(parsed(REPORT, read_data(warehouse, "spectral", "drawn")), "sampled")
    assert shown in text
    assert "A schema let an answer be nothing but one item" in text


def leaderboard(*rows: tuple[Any, ...]) -> pl.DataFrame:
    """Return a leaderboard of the columns that verdicts look at."""
    columns = ["model", "is_null", "macro_f1", "ci_low", "ci_high", "null_macro_f1"]
    types = dict.fromkeys(columns, pl.Float64) | {"model": pl.String, "is_null": pl.Boolean}
    return pl.DataFrame(rows, schema=types, orient="row")


FAR = ("m", "macro_f1", "null:uniform-by-domain reaches 0.60 in 2.5 % of its draws, the model 0.50")
RANDOM = ("m", "rank_spearman", "a random order of 9 domains reaches 0.70 in 2.5 % of cases")


@pytest.mark.parametrize(
    ("low", "doubt", "look_up", "guessing"),
    [
        (0.4, [], 0.3, []),
        (0.4, [RANDOM], 0.3, []),  # a doubt about another metric
        (0.2, [], 0.3, ["its 95 % interval is 0.20 to 0.60; guessing scores 0.20 on average"]),
        (0.4, [FAR], 0.3, [FAR[2]]),
        (0.4, [("another", *FAR[1:])], 0.3, []),
        (0.4, [], 0.5, []),  # a tie with the look-up counts
        (None, [], 0.3, ["its macro-F1 has no interval"]),
    ],
)
def test_verdict_weighs_interval_doubt_and_look_up(
    data: SpectralData,
    low: float | None,
    doubt: list[tuple[str, str, str]],
    look_up: float,
    guessing: list[str],
) -> None:
    nulls = [
        ("null:list-frequency", True, look_up, 0.2, 0.6, 0.2),
        ("null:shuffled(m)", True, 0.5, 0.4, 0.6, 0.2),
    ]
    board = leaderboard(("m", False, 0.5, low, 0.6, 0.2), *nulls)
    doubts = pl.DataFrame(doubt, schema=dict.fromkeys(("model", "metric", "reason"), pl.String), orient="row")
    verdict = replace(data, leaderboard=board, doubts=doubts).verdicts["m"]
    assert verdict.guessing == guessing
    assert bool(verdict.look_up) == (look_up >= 0.5)


def test_a_score_below_guessing_and_no_score_are_badged(data: SpectralData) -> None:
    def badges(*row: float | None) -> list[tuple[str, str]]:
        of = replace(data, leaderboard=leaderboard(("m", False, *row, 0.2)), doubts=data.doubts.clear())
        return list(of.verdicts["m"].badges)

    assert badges(0.1, 0.01, 0.15) == [("warn", "scores less than guessing")]
    assert badges(0.1, 0.01, 0.9) == badges(None, None, None) == [("warn", "not shown to beat guessing")]
    assert badges(0.5, 0.4, 0.6) == [("good", "better than guessing")]


def test_models_that_score_as_their_shuffled_copies_are_listed() -> None:
    values = {"a": 0.5, "b": 0.5, "c": None, "null:shuffled(a)": 0.5, "null:shuffled(b)": 0.4}
    rows = [(m, m.startswith("null"), value, None, None, 0.2) for m, value in values.items()]
    assert shuffled_copies(leaderboard(*rows)) == ["a"]


def test_other_choices_that_reverse_two_models_are_counted(data: SpectralData) -> None:
    def number(model: str, metric: str, where: tuple[str, str], value: float) -> dict[str, Any]:
        return {
            "model": model,
            "is_null": False,
            "metric": metric,
            "slice_kind": where[0],
            "slice": where[1],
            "value": value,
        }

    rows = [number(m, "macro_f1", ("overall", "all"), value) for m, value in (("a", 0.6), ("b", 0.4))]
    rows += [number("a", "macro_f1_under", ("choice", c), v) for c, v in (("sum", 0.6), ("per_byte", 0.1))]
    rows += [number("b", "macro_f1_under", ("choice", c), 0.4) for c in ("sum", "per_byte")]
    board = leaderboard(("a", False, 0.6, None, None, None), ("b", False, 0.4, None, None, None))
    of = replace(data, leaderboard=board, values=pl.DataFrame(rows))
    assert list(of.choices) == ["sum", "per_byte"]
    assert of.reversals == {"per_byte": 1}


def test_own_items_are_of_a_domain_with_an_interval(data: SpectralData) -> None:
    known = own_items(data)
    assert known is not None
    assert (known["slice"], known["value"], known["null_value"]) == ("currency", 0.3, 0.1)
    one = data.values.filter(metric="reference_mass", slice_kind="domain").with_columns(
        slice=pl.lit("foods"), value=pl.lit(0.2), ci_low=pl.lit(0.1), ci_high=pl.lit(0.3)
    )
    values = pl.concat([data.values, one.cast(dict(data.values.schema))])
    supported = own_items(replace(data, values=values))
    assert supported is not None
    assert supported["slice"] == "foods"
    shown = one.with_columns(
        slice=pl.lit("religions"), value=pl.lit(0.15), ci_low=pl.lit(0.14), null_value=pl.lit(0.13)
    )
    values = pl.concat([values, shown.cast(dict(values.schema))])
    beyond = own_items(replace(data, values=values))
    assert beyond is not None
    assert beyond["slice"] == "religions"  # less beyond its null than foods, which may be so by chance
    assert own_items(replace(data, values=data.values.filter(pl.col("metric") != "reference_mass"))) is None


def test_infinite_ratio_is_hatched_ranks_first_and_ties_share_a_rank(data: SpectralData) -> None:
    infinite = data.by_question.with_columns(spectral_gap_ratio=pl.lit(float("inf")))
    drawn = str(Spectrum(infinite, "spectral_gap_ratio").draw("sr", "ratios"))
    assert "∞" in drawn
    assert "<pattern" in drawn
    frame = pl.DataFrame(
        {"model": ["m"] * 5, "variant": [1] * 5, "spectral_gap_ratio": [2.0, float("inf"), 2.0, None, 1.5]}
    )
    assert sr_ranks(frame)["sr_rank"].to_list() == [2.5, 1.0, 2.5, 4.0]


def test_tree_puts_similar_countries_side_by_side() -> None:
    near, far = 0.9, 0.1
    values = np.array([[1, far, near, far], [far, 1, far, near], [near, far, 1, far], [far, near, far, 1]])
    tree = cluster(Matrix(list("ABCD"), values))
    assert {frozenset(tree.order[:2]), frozenset(tree.order[2:])} == {frozenset({0, 2}), frozenset({1, 3})}
    assert np.nanmax(tree.x) == pytest.approx(1 - far)  # average linkage of the two groups


def test_matrix_of_all_pairs_is_symmetric_and_missing_pairs_are_counted() -> None:
    pairs = pl.DataFrame(
        {"country_a": ["A", "A", "B"], "country_b": ["B", "C", "C"], "similarity": [0.1, 0.2, 0.3]}
    )
    matrix = matrix_of(pairs)
    assert isinstance(matrix, Matrix)
    assert matrix.values.tolist() == [[1, 0.1, 0.2], [0.1, 1, 0.3], [0.2, 0.3, 1]]
    assert neighbours(matrix, 1) == [("A", [("C", 0.2)]), ("B", [("C", 0.3)]), ("C", [("B", 0.3)])]
    assert matrix_of(pairs.head(2)) == "2 of 3 pairs of countries are stored"
    assert matrix_of(pairs.clear()) == "0 of 0 pairs of countries are stored"
