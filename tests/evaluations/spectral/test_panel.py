"""Macro-F1 under other choices, the share of the top item, and the uncertainty of people's categories."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tasks.evaluations.spectral import people
from tasks.evaluations.spectral import rows as rows_of_categories
from tasks.evaluations.spectral.panel import ALONE, CHOICES, NOT_THERE, Spectra, Spectrum, panel_rows, spectra
from tasks.evaluations.spectral.people import UNKNOWN, UNORDERED, drawn_categories
from tasks.evaluations.spectral.read import ModelScore, QuestionAnswers, score_model, score_with_copy
from tasks.evaluations.spectral.rows import model_rows, robustness_rows, splits
from tasks.evaluations.spectral.study import ItemList, SpectralQuestion, SpectralStudy
from tasks.metrics import spectral
from tests.evaluations.row_checks import one

MakeStudy = Callable[..., SpectralStudy]
MakeScore = Callable[..., ModelScore]

NONE: frozenset[str] = frozenset()


def question(domain: str, category: str, score: float = 1.0, sd: float = 0.0, n: int = 0) -> SpectralQuestion:
    return SpectralQuestion(f"{domain}-1", domain, 1, "{country}", "", "l", score, category, sd, n)


def items(*names: str) -> ItemList:
    return ItemList("l", names, (NONE,) * len(names))


def spectrum_of(h: object) -> tuple[float, float]:
    values = spectral.eigenvalues(np.array(h, dtype=np.float64))
    return spectral.effective_rank(values), spectral.spectral_gap_ratio(values)


def test_hand_calculation_gives_the_spectra_of_each_choice() -> None:
    """Two countries; "ab" has one token of two bytes, "né" three tokens of three bytes."""
    logprobs = np.array([[math.log(0.8), math.log(0.2)], [math.log(0.4), math.log(0.6)]])
    own = spectra(logprobs, np.array([1, 3]), items("ab", "né"))
    assert own["sum"] == pytest.approx(spectrum_of([[0.8, 0.2], [0.4, 0.6]]))
    per_token = [[0.8, 0.2 ** (1 / 3)], [0.4, 0.6 ** (1 / 3)]]
    assert own["per_token"] == pytest.approx(spectrum_of(per_token))
    per_byte = [[0.8**0.5, 0.2 ** (1 / 3)], [0.4**0.5, 0.6 ** (1 / 3)]]
    assert own["per_byte"] == pytest.approx(spectrum_of(per_byte))
    # The means over countries are 0.6 and 0.4.
    assert own["pmi"] == pytest.approx(spectrum_of([[0.8 / 0.6, 0.2 / 0.4], [0.4 / 0.6, 0.6 / 0.4]]))
    assert "half_list" not in own, "half of two items is not a list"


def test_half_the_list_is_what_max_items_keeps(make_study: MakeStudy) -> None:
    rng = np.random.default_rng(0)
    whole, half = make_study(domains=["numbers"]), make_study(domains=["numbers"], max_items=3)
    of_whole, of_half = whole.lists["numbers"], half.lists["numbers"]
    logprobs = rng.normal(size=(5, 6))
    kept = [of_whole.items.index(item) for item in of_half.items]
    ones = np.ones(6, dtype=np.int64)
    assert (
        spectra(logprobs, ones, of_whole)["half_list"] == spectra(logprobs[:, kept], ones[:3], of_half)["sum"]
    )


def test_an_item_that_leads_everywhere_hides_countries_unless_it_is_corrected() -> None:
    """Countries differ in rare items; one item has nearly all probability everywhere."""
    rare = np.where(np.eye(6, dtype=bool), 0.0, -4.0)
    logprobs = np.hstack([np.full((6, 1), 12.0), rare])
    own = spectra(logprobs, np.ones(7, dtype=np.int64), items(*"abcdefg"))
    assert own["sum"].er < 1.001
    assert own["sum"].sr > 1e6
    assert own["pmi"].er > 5


def test_items_without_any_probability_are_no_fault_of_the_correction() -> None:
    logprobs = np.array([[0.0, -1.0, -np.inf], [-1.0, 0.0, -np.inf]])
    assert math.isfinite(spectra(logprobs, np.ones(3, dtype=np.int64), items("a", "b", "c"))["pmi"].er)


def spread(*pairs: tuple[float, float]) -> dict[str, Spectra]:
    """Return the spectra of questions q0, q1, ... equal under every choice."""
    return {f"q{n}": dict.fromkeys(CHOICES, Spectrum(er, sr)) for n, (er, sr) in enumerate(pairs)}


def test_hand_calculation_gives_macro_f1_without_each_model() -> None:
    questions = {"q0": question("a", "LH"), "q1": question("b", "HL")}
    own, high = spread((1.0, 9.0), (4.0, 2.0)), spread((8.0, 1.1), (9.0, 1.0))
    cohort = {"own": own, "high": high}
    rows = {row.slice: row for row in panel_rows(questions, own, cohort, "sum", 0.2)}
    assert set(rows) == {*CHOICES, "without own", "without high"}
    # Medians of all four: ER 4, SR 1.1. Both questions of own are low and high: LH twice.
    assert rows["sum"].value == pytest.approx((2 / 3 + 0) / 2)
    # Medians of own alone: ER 1, SR 2: LH and HL, both right.
    assert rows["without high"].value == 1.0
    # Medians of high alone: ER 8, SR 1.0: LH twice again.
    assert rows["without own"].value == pytest.approx(1 / 3)
    assert (rows["sum"].null_value, rows["sum"].n_scored) == (0.2, 2)


def test_a_choice_without_a_score_or_a_median_has_a_reason() -> None:
    questions = {"q0": question("a", "LH"), "q1": question("b", "HL")}
    own = spread((1.0, 9.0), (4.0, 2.0))
    without_half = {q: {c: s for c, s in each.items() if c != "half_list"} for q, each in own.items()}
    rows = {row.slice: row for row in panel_rows(questions, without_half, {"m": without_half}, "sum", 0.2)}
    assert rows["half_list"].unscored_reason == NOT_THERE
    assert rows["without m"].unscored_reason == ALONE
    assert (rows["without m"].n_scored, rows["without m"].n_unscored) == (0, 2)


@pytest.mark.parametrize("normalisation", ["sum", "per_token", "per_byte"])
def test_the_headlines_own_choice_gives_the_headline(make_study: MakeStudy, normalisation: str) -> None:
    study = make_study(normalisation=normalisation, variants=[1, 2, 3])
    rng = np.random.default_rng(5)
    models = {}
    for name in ("a", "b"):
        tables = {
            q.question: QuestionAnswers(
                rng.normal(-8, 3, (5, len(study.lists[q.item_list].items))),
                rng.integers(1, 4, len(study.lists[q.item_list].items)),
            )
            for q in study.questions
        }
        models[name] = score_with_copy(study, lambda q, own=tables: own[q.question])[0]
    split = splits(models, models)
    cohort = {name: score.panel for name, score in models.items()}
    for name, score in models.items():
        headline = one(model_rows(study, score, split[name]), "macro_f1")
        panel = {row.slice: row.value for row in robustness_rows(study, score, cohort)}
        assert panel[normalisation] == headline.value
    assert not score_model(study, lambda q: tables[q.question]).panel


def test_hand_calculation_gives_the_share_of_the_top_item(make_study: MakeStudy) -> None:
    """The item that leads on average counts in every country, also where another one leads."""
    study = make_study(domains=["coins"])
    h = np.array([[0.7, 0.2, 0.1]] * 4 + [[0.1, 0.1, 0.8]])
    score = score_model(study, lambda q: QuestionAnswers(np.log(h), np.ones(3, dtype=np.int64)))
    row = one(model_rows(study, score, splits({"a": score}, {"a": score})["a"]), "top_item_share", "coins-1")
    assert (row.value, row.null_value, row.n_scored) == (pytest.approx((4 * 0.7 + 0.1) / 5), 1 / 3, 5)
    assert row.ci_low is not None
    assert row.ci_low < 0.58 < row.ci_high


PEOPLE = [
    question("a", "LH", 3.0, 2.0, 80), question("b", "HH", 4.0, 2.0, 80),
    question("c", "LL", 4.6, 2.0, 80), question("d", "HL", 8.0, 2.0, 80),
]  # fmt: skip


def test_categories_near_the_threshold_change_their_second_letter() -> None:
    drawn = drawn_categories(PEOPLE, 0)
    assert not isinstance(drawn, str)
    shares = {name: np.mean([own[place][1] != q.human_category[1] for own in drawn])
              for place, (name, q) in enumerate((q.domain, q) for q in PEOPLE)}  # fmt: skip
    # The threshold is 4.3, and standard errors are 2 / sqrt(80) = 0.224: 0.3 / 0.224 = 1.34 of them.
    assert shares["b"] == pytest.approx(0.090, abs=0.03)
    assert shares["c"] == pytest.approx(0.090, abs=0.03)
    assert (shares["a"], shares["d"]) == (0, 0)
    assert {own[0][0] + own[3][0] for own in drawn} == {"LH"}, "first letters stay"


def test_no_draws_without_a_spread_or_an_order_of_people() -> None:
    assert drawn_categories([question("a", "LH", 3.0), PEOPLE[1]], 0) == UNKNOWN
    assert drawn_categories([replace(PEOPLE[0], human_score=5.0), PEOPLE[2]], 0) == UNORDERED
    one_kind = drawn_categories(PEOPLE[:2], 0)
    assert set(one_kind) == {("LH", "HH")}, "no threshold, so no letter changes"


def test_the_interval_with_people_is_wider_by_their_error(
    make_study: MakeStudy, make_score: MakeScore
) -> None:
    study = make_study()
    known = replace(study, questions=tuple(replace(q, human_sd=2.0, human_n=4) for q in study.questions))
    numbers = {"numbers-1": (1.0, 9.0), "faiths-1": (2.0, 5.0), "foods-1": (3.0, 1.5), "coins-1": (4.0, 2.0)}
    score = make_score(known, numbers)
    rows = model_rows(known, score, splits({"a": score}, {"a": score})["a"])
    alone, both = one(rows, "macro_f1"), one(rows, "macro_f1_with_people")
    assert both.value == alone.value
    assert (alone.ci_low, both.ci_low) == (None, None), "five countries are too few for either"
    unknown = model_rows(study, score, splits({"a": score}, {"a": score})["a"])
    assert one(unknown, "macro_f1_with_people").unscored_reason == UNKNOWN


def test_half_samples_that_agree_leave_the_error_of_a_jump(
    make_study: MakeStudy, make_score: MakeScore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (rows_of_categories, people):
        monkeypatch.setattr(module, "MIN_COUNTRIES", 2)
    study = make_study()
    known = replace(study, questions=tuple(replace(q, human_sd=2.0, human_n=4) for q in study.questions))
    numbers = {"numbers-1": (1.0, 9.0), "faiths-1": (2.0, 5.0), "foods-1": (3.0, 1.5), "coins-1": (4.0, 2.0)}
    score = make_score(known, numbers)
    rows = model_rows(known, score, splits({"a": score}, {"a": score})["a"])
    alone, both = one(rows, "macro_f1"), one(rows, "macro_f1_with_people")
    ends = (both.ci_low, alone.ci_low, alone.value, alone.ci_high, both.ci_high)
    assert None not in ends
    assert list(ends) == sorted(ends)  # type: ignore[type-var]
    assert alone.ci_low != alone.value
