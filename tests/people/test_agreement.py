"""Agreement of people by hand and against simulated people with a known truth."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.metrics.agreement import kendall_w, kendall_w_interval, krippendorff_alpha, rank_agreement
from tasks.metrics.classification import macro_f1
from tasks.metrics.spectral import er_sr_category
from tasks.people.agreement import (
    NOT_ANNOTATED,
    FieldAgreementRow,
    agreement_rows,
    ceiling,
    domain_scores,
    profiles,
    rankings,
)
from tasks.people.answers import PersonRating
from tasks.people.simulation import (
    People,
    plan_rankings,
    plan_ratings,
    simulated_rankings,
    simulated_ratings,
    smallest,
)
from tasks.people.study import PeopleStudy

# Mean ranks and categories of the nine domains in table 1 of the paper.
TABLE_1 = {
    "house_numbers": (3.18, "LH"), "convenient_foods": (2.90, "HH"), "common_foods": (3.92, "HH"),
    "healthy_foods": (3.98, "HH"), "religions": (4.70, "LL"), "holidays": (5.64, "LL"),
    "languages": (5.89, "LL"), "national_dish": (6.59, "HL"), "currency": (8.20, "HL"),
}  # fmt: skip


def test_hand_calculation_gives_kendall_w() -> None:
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


def test_kendall_w_of_random_raters_is_1_over_n_with_coverage() -> None:
    generator = np.random.default_rng(0)
    tables = [np.argsort(generator.random((10, 9)), axis=1) for _ in range(100)]
    assert np.mean([kendall_w(t) for t in tables]) == pytest.approx(1 / 10, abs=0.015)
    ends = [kendall_w_interval(t) for t in tables]
    assert np.mean([e is not None and e[0] <= 0.1 <= e[1] for e in ends]) > 0.9
    assert kendall_w_interval(tables[0][:4]) is None
    assert kendall_w_interval(tables[0]) == kendall_w_interval(tables[0][::-1])


def rated(
    field: str, table: np.ndarray, words: tuple[str, ...] = (), language: str = "en"
) -> list[PersonRating]:
    """Return ratings from a table of items x people."""
    return [
        PersonRating(f"p{p}", f"i{n}", language, field, "", words[int(v) - 1] if words else str(int(v)))
        for (n, p), v in np.ndenumerate(table)
    ]


def test_agreement_is_alpha_per_language(study: PeopleStudy) -> None:
    table = simulated_ratings(30, 3, People(careless=0), seed=0)
    arabic = simulated_ratings(30, 3, People(noise=0, careless=0), seed=1)
    both = rated("liking", table) + [
        PersonRating(f"a{r.annotator}", f"a{r.item}", "ar", "liking", "", r.value)
        for r in rated("liking", arabic)
    ]
    rows = {row.language: row for row in agreement_rows(study, both)}
    assert rows["en"].value == krippendorff_alpha(table, "ordinal")
    assert rows["ar"].value == 1
    assert rows.keys() == {"en", "ar", "all"}
    assert rows["en"].ci_low is not None
    assert rows["en"].ci_low < rows["en"].value < rows["en"].ci_high  # type: ignore[operator]
    assert (rows["all"].n_units, rows["all"].n_people, rows["all"].null_value) == (60, 6, 0)
    assert [row.language for row in agreement_rows(study, rated("liking", table))] == ["en"]


def test_unscored_agreement_has_a_reason(study: PeopleStudy) -> None:
    one = rated("liking", np.ones((6, 1)))
    (row,) = agreement_rows(study, one)
    assert row.unscored_reason == "no two people answered the same unit"
    assert (row.value, row.n_units, row.n_unscored) == (None, 0, 6)
    (row,) = agreement_rows(study, rated("liking", np.ones((6, 3))))
    assert row.unscored_reason == "the answers do not vary"
    (row,) = agreement_rows(study, rated("region", np.array([[1, 1], [2, 1]] * 4), ("africa", "asia")))
    assert row.metric == "krippendorff_alpha_nominal"


def ranked(table: np.ndarray, names: list[str], field: str = "order") -> list[PersonRating]:
    """Return rankings from a table of people x domains."""
    return [
        PersonRating(f"p{p}", "ranking", "en", field, names[n], str(int(v)))
        for (p, n), v in np.ndenumerate(table)
    ]


def test_a_ranking_has_kendall_w_and_alpha(study: PeopleStudy) -> None:
    table = simulated_rankings(np.arange(9) / 3, 20, People(), seed=0)
    rows = agreement_rows(study, ranked(table, list("abcdefghi")))
    by_metric: dict[str, FieldAgreementRow] = {row.metric: row for row in rows}
    assert by_metric["kendall_w"].value == kendall_w(table)
    assert by_metric["kendall_w"].null_value == 1 / 20
    assert by_metric["kendall_w"].ci_low is not None
    (interval,) = {(r.ci_low, r.ci_high) for r in rows if r.metric == "krippendorff_alpha_ordinal"}
    few = [rating for rating in ranked(table, list("abcdefghi")) if rating.annotator in {"p0", "p1", "p2"}]
    assert {row.ci_low for row in agreement_rows(study, few)} == {None}  # three people are too few
    assert None not in interval
    # Without ties, alpha of ranks is nearly the mean pairwise correlation.
    w = kendall_w(table) or 0
    assert by_metric["krippendorff_alpha_ordinal"].value == pytest.approx((20 * w - 1) / 19, abs=0.02)


def pluralism_of(categories: dict[str, str], people: int = 3) -> dict[str, dict[str, str]]:
    """Return the answers of people who all agree with the categories on pluralism."""
    one = {name: "high" if category[0] == "H" else "low" for name, category in categories.items()}
    return {f"p{n}": one for n in range(people)}


CATEGORIES = {name: category for name, (_, category) in TABLE_1.items()}


def test_several_rankings_have_their_mean_kendall_w(study: PeopleStudy) -> None:
    tables = [simulated_rankings(np.arange(5) / 2, 4, People(), seed=seed) for seed in range(8)]
    ratings = [
        PersonRating(r.annotator, f"i{n}", "en", "order", r.entry, r.value)
        for n, table in enumerate(tables)
        for r in ranked(table, list("abcde"))
    ]
    (row,) = (row for row in agreement_rows(study, ratings) if row.metric == "kendall_w")
    assert row.value == pytest.approx(np.mean([kendall_w(table) or 0 for table in tables]))
    assert (row.n_units, row.n_unscored, row.n_people, row.null_value) == (8, 0, 4, 0.25)
    assert row.ci_low is not None


def test_one_unit_with_many_answers_has_no_agreement(study: PeopleStudy) -> None:
    regions = [
        PersonRating(f"p{n}", "about_you", "en", "region", "", ("asia", "africa")[n % 2]) for n in range(9)
    ]
    (row,) = agreement_rows(study, regions)
    assert row.unscored_reason == "only one unit has two answers: nothing to compare it with"


def test_domain_scores_and_categories_equal_table_1() -> None:
    names = list(TABLE_1)
    table = np.array([[TABLE_1[name][0] for name in names]] * 6)
    table[0] += 0.5  # so that the scores vary
    ranks = {f"p{n}": dict(zip(names, row.tolist(), strict=True)) for n, row in enumerate(table)}
    scores = {row.domain: row for row in domain_scores(ranks, pluralism_of(CATEGORIES))}
    assert {name: row.category for name, row in scores.items()} == CATEGORIES
    assert scores["currency"].score == pytest.approx(8.2 + 0.5 / 6)
    assert scores["currency"].sd == pytest.approx(0.5 / np.sqrt(6))
    assert next(iter(scores)) == "convenient_foods"
    tied = domain_scores(ranks, {"p0": {"currency": "high"}, "p1": {"currency": "low"}})
    reasons = {row.domain: row.unscored_reason for row in tied}
    assert reasons.pop("currency") == "people are tied on its pluralism"
    assert set(reasons.values()) == {"nobody annotated its pluralism"}


def surveyed(people: People, seed: int = 1, n: int = 80) -> dict[str, dict[str, float]]:
    """Return rankings of people whose true ranking is table 1."""
    names = list(TABLE_1)
    table = simulated_rankings([TABLE_1[name][0] for name in names], n, people, seed=seed)
    return rankings(ranked(table, names), "order")


@pytest.mark.heavy
def test_the_ceiling_follows_the_agreement_of_people() -> None:
    everyone = pluralism_of(CATEGORIES, 80)
    sure = {row.metric: row for row in ceiling(surveyed(People(noise=0.1, careless=0)), everyone)}
    for metric in ("split_half_reliability", "rank_spearman"):
        assert sure[metric].value == pytest.approx(1, abs=0.01)
    assert (sure["macro_f1"].value or 0) > 0.95
    guessing = [
        row.value
        for seed in range(20)
        for row in ceiling(surveyed(People(careless=1), seed), {}, n_splits=20)
        if row.metric == "rank_spearman"
    ]
    assert np.mean(guessing) == pytest.approx(0, abs=0.25)  # 20 draws of a correlation of nine points
    without = {row.metric: row for row in ceiling(surveyed(People()), {}, n_splits=20)}
    assert without["macro_f1"].unscored_reason == NOT_ANNOTATED
    few = ceiling(surveyed(People(), n=3), everyone)
    assert {row.unscored_reason for row in few} == {"3 people ranked: two halves need four"}
    assert {row.interval for row in ceiling(surveyed(People(), n=7), everyone)} == {None}


def test_the_macro_f1_ceiling_needs_agreement_on_pluralism() -> None:
    # Half of the people call half of the domains high: halves disagree on effective rank, not on the order.
    sure = surveyed(People(noise=0.1, careless=0))
    generator = np.random.default_rng(0)
    guessed = {p: {name: generator.choice(["high", "low"]) for name in own} for p, own in sure.items()}
    rows = {row.metric: row.value or 0 for row in ceiling(sure, guessed)}
    assert rows["rank_spearman"] > 0.98
    assert rows["macro_f1"] < 0.75


def test_the_ceiling_is_the_mean_over_split_halves() -> None:
    ranks = surveyed(People(noise=2), n=4)
    people, names = sorted(ranks), sorted(TABLE_1)
    table = np.array([[ranks[p][name] for name in names] for p in people])
    pluralism = {p: {n: "high" if ranks[p][n] > 4 else "low" for n in names} for p in people}
    # Three ways to halve four people; as many splits as needed for their mean.
    own: dict[str, list[float]] = {"rank_spearman": [], "rank_kendall": [], "macro_f1": []}
    for first in ([0, 1], [0, 2], [0, 3], [2, 3], [1, 3], [1, 2]):
        halves = [first, [n for n in range(4) if n not in first]]
        scores = [table[half].mean(axis=0) for half in halves]
        agreed = rank_agreement(-scores[0], scores[1])
        assert agreed is not None
        own["rank_spearman"].append(agreed[0])
        own["rank_kendall"].append(agreed[1])
        votes = [
            np.mean([[pluralism[people[n]][d] == "high" for d in names] for n in h], axis=0) for h in halves
        ]
        clear = [n for n in range(9) if votes[0][n] != 0.5 != votes[1][n]]
        if clear:
            labels = [
                [er_sr_category(bool(v[n] > 0.5), bool(s[n] < np.median(s))) for n in clear]
                for v, s in zip(votes, scores, strict=True)
            ]
            own["macro_f1"].append(macro_f1(labels[1], labels[0]))
    rows = {row.metric: row.value for row in ceiling(ranks, pluralism, n_splits=20_000)}
    for metric, values in own.items():
        assert rows[metric] == pytest.approx(np.mean(values), abs=0.01)


@pytest.mark.heavy
def test_intervals_over_people_have_their_coverage(study: PeopleStudy) -> None:
    truth, people = np.linspace(-1.5, 1.5, 9), People(noise=1.5, careless=0.1)
    alpha = krippendorff_alpha(simulated_rankings(truth, 4_000, people, 99).T, "ordinal") or 0
    names, held, halves = list("abcdefghi"), [], []
    expected = np.mean([_spearman_of_halves(truth, people, seed) for seed in range(1_000, 1_150)])
    for seed in range(60):
        ratings = ranked(simulated_rankings(truth, 12, people, seed), names)
        (row,) = (r for r in agreement_rows(study, ratings) if r.metric.startswith("krippendorff"))
        held.append((row.ci_low or 0) <= alpha <= (row.ci_high or 0))
        spearman = ceiling(rankings(ratings, "order"), {}, n_splits=40)[1]
        assert spearman.interval is not None
        halves.append(spearman.interval[0] <= expected <= spearman.interval[1])
    assert np.mean(held) >= 0.88
    assert np.mean(halves) >= 0.88


def _spearman_of_halves(truth: np.ndarray, people: People, seed: int) -> float:
    """Return Spearman's rho between two halves of one study of twelve people."""
    table = simulated_rankings(truth, 12, people, seed)
    agreed = rank_agreement(-table[:6].mean(axis=0), table[6:].mean(axis=0))
    assert agreed is not None
    return agreed[0]


def test_profiles_are_group_means_with_counts() -> None:
    ranks = {"a": {"x": 1.0}, "b": {"x": 3.0}, "c": {"x": 2.0}}
    assert profiles(ranks, {"a": "asia", "b": "asia"}) == {"asia": {"x": (2.0, 2)}}


def test_the_smallest_planned_study_reaches_the_width_with_coverage() -> None:
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


@pytest.mark.heavy
def test_a_plan_of_ratings_holds_in_new_studies() -> None:
    people, wanted = People(careless=0.15), 0.25
    rows = plan_ratings(people, raters=(3,), items=(50, 100, 200), studies=20)
    chosen = smallest(rows, "krippendorff_alpha_ordinal", wanted)
    assert chosen is not None
    fresh = plan_ratings(people, raters=(chosen.people,), items=(chosen.items,), studies=100, seed=50_000)
    (row,) = (row for row in fresh if row.metric == "krippendorff_alpha_ordinal")
    assert (row.width or 1) < wanted * 1.1
    assert (row.coverage or 0) > 0.9
    # Careless people lower agreement, and a larger number of people does not compensate.
    careful = plan_ratings(People(careless=0), raters=(3,), items=(50,), studies=5)
    assert careful[0].truth > row.truth + 0.1
