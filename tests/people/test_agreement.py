"""Agreement of people, held against hand arithmetic and against simulated people with a known truth."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.metrics.agreement import kendall_w, kendall_w_interval
from tasks.metrics.krippendorff_alpha import krippendorff_alpha
from tasks.people.agreement import AgreementRow, agreement_rows
from tasks.people.answers import Rating
from tasks.people.rankings import ceiling, domain_scores, profiles, rankings
from tasks.people.simulation import (
    People,
    plan_rankings,
    plan_ratings,
    simulated_rankings,
    simulated_ratings,
    smallest,
)
from tasks.people.study import Study

# Mean ranks and categories of the nine domains in table 1 of the paper.
TABLE_1 = {
    "house_numbers": (3.18, "LH"), "convenient_foods": (2.90, "HH"), "common_foods": (3.92, "HH"),
    "healthy_foods": (3.98, "HH"), "religions": (4.70, "LL"), "holidays": (5.64, "LL"),
    "languages": (5.89, "LL"), "national_dish": (6.59, "HL"), "currency": (8.20, "HL"),
}  # fmt: skip


def test_kendall_w_by_hand() -> None:
    # Siegel 1956, table 9.4: six applicants ranked by three executives, W = 0.16.
    executives = [[1, 6, 3, 2, 5, 4], [1, 5, 6, 4, 2, 3], [6, 3, 2, 5, 4, 1]]
    assert kendall_w(executives) == pytest.approx(0.162, abs=5e-4)
    assert kendall_w([[1, 2, 3]] * 4) == 1
    assert kendall_w([[1, 2, 3], [3, 2, 1]]) == 0
    # Ties: all agree that two things share a rank.
    assert kendall_w([[1.5, 1.5, 3]] * 3) == pytest.approx(1)
    assert kendall_w([[1, 1, 1], [1, 2, 3]]) is None
    assert kendall_w([[1, 2, 3]]) is None
    with pytest.raises(ValueError, match="finite"):
        kendall_w([[1, np.nan, 3], [1, 2, 3]])


def test_kendall_w_of_random_raters_is_its_null_and_the_interval_holds_it() -> None:
    generator = np.random.default_rng(0)
    tables = [np.argsort(generator.random((10, 9)), axis=1) for _ in range(100)]
    assert np.mean([kendall_w(t) for t in tables]) == pytest.approx(1 / 10, abs=0.015)
    ends = [kendall_w_interval(t) for t in tables]
    assert np.mean([e is not None and e[0] <= 0.1 <= e[1] for e in ends]) > 0.9
    assert kendall_w_interval(tables[0][:4]) is None
    assert kendall_w_interval(tables[0]) == kendall_w_interval(tables[0][::-1])


def rated(field: str, table: np.ndarray, words: tuple[str, ...] = (), language: str = "en") -> list[Rating]:
    """Items x people."""
    return [
        Rating(f"p{p}", f"i{n}", language, field, "", words[int(v) - 1] if words else str(int(v)))
        for (n, p), v in np.ndenumerate(table)
    ]


def test_agreement_is_alpha_of_the_same_table_per_language(study: Study) -> None:
    table = simulated_ratings(30, 3, People(careless=0), seed=0)
    arabic = simulated_ratings(30, 3, People(noise=0, careless=0), seed=1)
    both = rated("liking", table) + [
        Rating(f"a{r.annotator}", f"a{r.item}", "ar", "liking", "", r.value) for r in rated("liking", arabic)
    ]
    rows = {row.language: row for row in agreement_rows(study, both)}
    assert rows["en"].value == krippendorff_alpha(table, "ordinal")
    assert rows["ar"].value == 1
    assert rows.keys() == {"en", "ar", "all"}
    assert rows["en"].ci_low is not None
    assert rows["en"].ci_low < rows["en"].value < rows["en"].ci_high  # type: ignore[operator]
    assert (rows["all"].n_units, rows["all"].n_people, rows["all"].null_value) == (60, 6, 0)
    assert [row.language for row in agreement_rows(study, rated("liking", table))] == ["en"]


def test_what_has_no_agreement_says_why(study: Study) -> None:
    one = rated("liking", np.ones((6, 1)))
    (row,) = agreement_rows(study, one)
    assert row.unscored_reason == "nobody answered what another one did"
    assert (row.value, row.n_units, row.n_unscored) == (None, 0, 6)
    (row,) = agreement_rows(study, rated("liking", np.ones((6, 3))))
    assert row.unscored_reason == "the answers do not vary"
    (row,) = agreement_rows(study, rated("region", np.array([[1, 1], [2, 1]] * 4), ("africa", "asia")))
    assert row.metric == "krippendorff_alpha_nominal"


def ranked(table: np.ndarray, names: list[str], field: str = "order") -> list[Rating]:
    """People x domains."""
    return [
        Rating(f"p{p}", "ranking", "en", field, names[n], str(int(v))) for (p, n), v in np.ndenumerate(table)
    ]


def test_a_ranking_has_w_and_alpha(study: Study) -> None:
    table = simulated_rankings(np.arange(9) / 3, 20, People(), seed=0)
    rows = agreement_rows(study, ranked(table, list("abcdefghi")))
    by_metric: dict[str, AgreementRow] = {row.metric: row for row in rows}
    assert by_metric["kendall_w"].value == kendall_w(table)
    assert by_metric["kendall_w"].null_value == 1 / 20
    # Without ties, alpha of ranks is nearly the mean pairwise correlation.
    w = kendall_w(table) or 0
    assert by_metric["krippendorff_alpha_ordinal"].value == pytest.approx((20 * w - 1) / 19, abs=0.02)


def test_scores_and_categories_as_in_table_1() -> None:
    names = list(TABLE_1)
    table = np.array([[TABLE_1[name][0] for name in names]] * 6)
    table[0] += 0.5  # so that a spread is there
    said = {name: ["high" if c[0] == "H" else "low"] * 3 for name, (_, c) in TABLE_1.items()}
    ranks = {f"p{n}": dict(zip(names, row.tolist(), strict=True)) for n, row in enumerate(table)}
    scores = {row.domain: row for row in domain_scores(ranks, said)}
    assert {name: row.category for name, row in scores.items()} == {n: c for n, (_, c) in TABLE_1.items()}
    assert scores["currency"].score == pytest.approx(8.2 + 0.5 / 6)
    assert scores["currency"].sd == pytest.approx(0.5 / np.sqrt(6))
    assert next(iter(scores)) == "convenient_foods"
    tied = domain_scores(ranks, {"currency": ["high", "low"]})
    assert {row.unscored_reason for row in tied if row.domain == "currency"} == {
        "people are tied on its pluralism"
    }
    assert {row.unscored_reason for row in tied if row.domain != "currency"} == {
        "nobody annotated its pluralism"
    }


def test_one_half_predicts_the_other_as_well_as_people_agree() -> None:
    names = list(TABLE_1)
    er = {name: c[0] == "H" for name, (_, c) in TABLE_1.items()}

    def of(people: People, seed: int = 1) -> dict[str, dict[str, float]]:
        table = simulated_rankings([TABLE_1[n][0] for n in names], 80, people, seed=seed)
        return rankings(ranked(table, names), "order")

    sure = ceiling(of(People(noise=0.1, careless=0)), er)
    assert sure.reliability == pytest.approx(1, abs=0.01)
    assert sure.spearman == pytest.approx(1, abs=0.01)
    assert sure.macro_f1 is not None
    assert sure.macro_f1 > 0.95
    guessing = [ceiling(of(People(careless=1), seed), er, n_splits=20).spearman for seed in range(20)]
    assert np.mean(guessing) == pytest.approx(0, abs=0.25)  # 20 draws of a correlation of nine points
    assert ceiling(dict(list(of(People()).items())[:3]), er).n_splits == 0
    assert ceiling(of(People()), {}).macro_f1 is None
    ranks = {"a": {"x": 1.0}, "b": {"x": 3.0}, "c": {"x": 2.0}}
    assert profiles(ranks, {"a": "asia", "b": "asia"}) == {"asia": {"x": (2.0, 2)}}


def test_a_plan_finds_the_smallest_study_and_its_intervals_hold() -> None:
    rows = plan_rankings(9, People(), sizes=(10, 40, 160), studies=60)
    widths = [row.width for row in rows if row.metric == "mean_rank"]
    assert widths == sorted(widths, key=lambda w: -(w or 0))
    assert all((row.coverage or 0) > 0.88 for row in rows)
    chosen = smallest(rows, "mean_rank", 1.5)
    assert chosen is not None
    assert chosen.people == 40
    assert smallest(rows, "mean_rank", 0.01) is None
    with pytest.raises(ValueError, match="kendall_w"):
        smallest(rows, "other", 1)


def test_a_plan_of_ratings_narrows_with_items() -> None:
    rows = plan_ratings(People(), raters=(3,), items=(25, 100), studies=20)
    few, many = (row for row in rows if row.metric == "krippendorff_alpha_ordinal")
    assert few.width is not None
    assert many.width is not None
    assert many.width == pytest.approx(few.width / 2, rel=0.25)
    assert (few.coverage or 0) > 0.8
