"""People and judge by group, by hand and against scipy and statsmodels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_kappa  # type: ignore[import-untyped]

from tasks.judging.audit import Rating
from tasks.judging.validation import GroupAgreementRow, JudgeScore, Subject, group_agreement

Key = tuple[str, str, str]
"""Group, item and answer."""

MENU = {"Correct": 1.0, "Maybe": 0.0, "Incorrect": 0.0}
LETTERS = {word[0]: word for word in MENU}


def rows(
    letters: Mapping[Key, str], scores: Mapping[Key, float | None]
) -> dict[tuple[str, str], GroupAgreementRow]:
    """Return the rows by metric and group; letters: one per annotator."""
    ratings = [
        rating(code(key), f"a{i}", MENU[word], word.casefold())
        for key, by_annotator in letters.items()
        for i, word in enumerate(LETTERS[letter] for letter in by_annotator)
    ]
    judged = [JudgeScore(code(key), "mes", value, None) for key, value in scores.items()]
    about = {code(key): Subject(key[0], ("m1", key[1])) for key in scores}
    return {(r.metric, r.group): r for r in group_agreement(ratings, judged, about, {"mes": MENU})}


def rating(item: str, annotator: str, value: float, written: str) -> Rating:
    cells = {
        "item": item,
        "annotator": annotator,
        "dimension": "mes",
        "rating": str(value),
        "written": written,
    }
    return Rating.model_validate(cells)


def code(key: Key) -> str:
    return " ".join(key)


def test_hand_calculation_gives_group_agreement() -> None:
    letters = {
        ("Italy", "Q1", "salt"): "CCC",
        ("Italy", "Q1", "rice"): "CCI",
        ("Italy", "Q2", "soil"): "III",
        ("Italy", "Q2", "saffron"): "MI",  # two raters only: not in kappa, but in the means
        ("Spain", "Q3", "oil"): "CMI",
        ("Spain", "Q3", "wine"): "CCC",
        ("Spain", "Q3", "nobody judged"): "CCC",
    }
    values = (1.0, 0.0, 0.0, 0.0, None, 1.0)
    scores = dict(zip(letters, values, strict=False)) | {("Spain", "Q3", "nobody rated"): 0.0}
    numbers = rows(letters, scores)
    # Italy: agreeing pairs 1, 1/3, 1, mean 7/9. C 5/9, I 4/9: by chance 25/81 + 16/81 = 41/81.
    # kappa = (63/81 - 41/81) / (40/81) = 22/40.
    kappa = numbers["fleiss_kappa", "Italy"]
    assert kappa.value == pytest.approx(0.55, abs=1e-12)
    assert (kappa.n, kappa.n_dropped) == (3, 1)
    assert numbers["fleiss_kappa", "Spain"].value is None
    assert numbers["fleiss_kappa", "Spain"].unscored_reason == "2 answers, 3 are needed"
    # People: Q1 (1 + 2/3)/2 = 5/6, Q2 0; Italy 5/12. Judge: Q1 1/2, Q2 0; Italy 1/4.
    assert numbers["people_mean", "Italy"].value == pytest.approx(5 / 12, abs=1e-12)
    assert numbers["judge_mean", "Italy"].value == pytest.approx(1 / 4, abs=1e-12)
    # Oil has no verdict of the judge, so both sides leave it out.
    assert (numbers["people_mean", "Spain"].value, numbers["judge_mean", "Spain"].value) == (1.0, 1.0)
    assert (numbers["people_mean", "Italy"].n, numbers["people_mean", "Italy"].n_dropped) == (2, 0)
    assert (numbers["judge_mean", "Spain"].n, numbers["judge_mean", "Spain"].n_dropped) == (1, 0)
    # Two groups correlate trivially; three items: people 5/6, 0, 1, judge 1/2, 0, 1.
    for metric in ("pearson_groups", "spearman_groups"):
        assert numbers[metric, "all"].unscored_reason == "2 groups, 3 are needed"
    # Pearson: deviations (4, -11, 7)/18 and (0, -1/2, 1/2): (11 + 7)/36 / sqrt(186/324 * 1/2) = 0.9335
    assert numbers["pearson_items", "all"].value == pytest.approx(0.5 / np.sqrt(186 / 648), abs=1e-12)
    assert numbers["spearman_items", "all"].value == pytest.approx(1.0, abs=1e-12)
    assert numbers["spearman_items", "all"].n == 3
    assert numbers["spearman_items", "all"].unscored_reason is None


def test_group_agreement_equals_scipy_and_statsmodels_in_any_order() -> None:
    rng = np.random.default_rng(3)
    letters = {
        (f"O{d % 5}", f"Q{d}", f"p{p}"): "".join(
            rng.choice(list("CMI"), 3, p=[0.2 + d / 50, 0.2, 0.6 - d / 50])
        )
        for d in range(30)
        for p in range(4)
    }
    scores = {key: float(rng.random() < 0.2 + int(key[1][1:]) / 40) for key in letters}
    numbers = rows(letters, scores)
    turned = rows(dict(reversed(letters.items())), dict(reversed(scores.items())))
    assert turned.keys() == numbers.keys()
    for key, row in turned.items():
        assert row.value == pytest.approx(numbers[key].value, abs=1e-9)
    people = [
        np.mean([[c == "C" for c in g] for key, g in letters.items() if key[1] == f"Q{i}"]) for i in range(30)
    ]
    judge = [np.mean([v for key, v in scores.items() if key[1] == f"Q{i}"]) for i in range(30)]
    assert numbers["pearson_items", "all"].value == pytest.approx(pearsonr(people, judge)[0], abs=1e-9)
    rho = spearmanr(np.round(people, 12), judge)[0]
    assert numbers["spearman_items", "all"].value == pytest.approx(rho, abs=1e-9)
    means = [[np.mean(side[o::5]) for o in range(5)] for side in (people, judge)]
    assert numbers["pearson_groups", "all"].value == pytest.approx(pearsonr(*means)[0], abs=1e-9)
    for o in range(5):
        counts = [[g.count(c) for c in "CMI"] for key, g in letters.items() if key[0] == f"O{o}"]
        assert numbers["fleiss_kappa", f"O{o}"].value == pytest.approx(statsmodels_kappa(counts), abs=1e-9)
        assert numbers["fleiss_kappa", f"O{o}"].n == 24


def test_unscored_group_agreement_has_a_reason() -> None:
    letters = {("Italy", f"Q{i}", "salt"): "C" for i in range(4)}
    numbers = rows(letters, dict.fromkeys(letters, 1.0))
    assert numbers["fleiss_kappa", "Italy"].unscored_reason == "answers have one rater each, two are needed"
    assert numbers["pearson_items", "all"].unscored_reason == "people's or the judge's scores do not vary"
    numbers = rows(dict.fromkeys(letters, "CC"), dict.fromkeys(letters, None))
    assert numbers["fleiss_kappa", "Italy"].unscored_reason == "all ratings are the same verdict"
    assert numbers["judge_mean", "Italy"].unscored_reason == "the judge gave no verdict on what people rated"
    items = numbers["pearson_items", "all"]
    assert (items.unscored_reason, items.n, items.n_dropped) == ("0 items, 3 are needed", 0, 4)
    assert all((row.value is None) == (row.unscored_reason is not None) for row in numbers.values())


def test_a_rating_by_number_is_the_last_verdict_of_its_value() -> None:
    """1 and 0 mean Correct and Incorrect, a word means itself."""
    spelled = [(1.0, "1"), (1.0, "correct"), (0.0, "0"), (0.0, "no"), (0.0, "maybe")]
    ratings = [
        rating(f"x{n}", f"a{number}", value, word)
        for n in range(3)
        for number, (value, word) in enumerate(spelled)
    ]
    about = {f"x{n}": Subject("Italy", ("m1", "Q1")) for n in range(3)}
    kappa, *_ = group_agreement(ratings, [], about, {"mes": MENU})
    assert kappa.value == pytest.approx(statsmodels_kappa([[2, 2, 1]] * 3), abs=1e-12)
