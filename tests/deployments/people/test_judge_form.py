"""Ratings on a rubric's own menu, and their agreement with the judge."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deployments.people.draw import menu_of
from tasks.judging.audit import RatingsError, read_ratings
from tasks.judging.rubric import Rubric, load_rubric
from tasks.judging.validation import JudgeScore, judge_agreement

EVALUATIONS = Path(__file__).parents[3] / "tasks" / "evaluations"
RUBRICS = [load_rubric(path) for path in sorted(EVALUATIONS.glob("*/rubrics/*.toml"))]
N = 400


def kappa(rubric: Rubric, path: Path, rated: list[str], verdicts: list[str]) -> float | None:
    """Return Cohen's kappa of people's ratings and the judge's verdicts, through an exported file."""
    lines = [f"i{n},ana,{rubric.name},{cell}" for n, cell in enumerate(rated)]
    path.write_text("\n".join(["item,annotator,dimension,rating", *lines]))
    menu = {verdict: choice.value for verdict, choice in rubric.verdicts.items()}
    judged = [JudgeScore(f"i{n}", rubric.name, menu[verdict], None) for n, verdict in enumerate(verdicts)]
    ratings = read_ratings([path], {rubric.name: menu})[0]
    rows = judge_agreement(ratings, judged, {rubric.name: menu})
    return next(row.value for row in rows if row.metric == "kappa")


@pytest.mark.parametrize("rubric", RUBRICS, ids=lambda rubric: rubric.name)
def test_kappa_is_1_for_equal_ratings_and_0_for_guesses(rubric: Rubric, tmp_path: Path) -> None:
    menu = menu_of(rubric)
    assert menu == list(rubric.verdicts)
    generator = np.random.default_rng(0)
    verdicts, guesses = (generator.choice(menu, N).tolist() for _ in range(2))
    assert kappa(rubric, tmp_path / "a.csv", verdicts, verdicts) == pytest.approx(1.0)
    # The standard error of kappa under independence is at most about 1 / sqrt(N) = 0.05.
    assert kappa(rubric, tmp_path / "b.csv", guesses, verdicts) == pytest.approx(0.0, abs=0.15)


def test_five_point_ratings_of_a_yes_no_rubric_take_the_nearer_verdict(tmp_path: Path) -> None:
    (rubric,) = (each for each in RUBRICS if each.name == "coverage")
    verdicts = ["YES", "NO"] * 20
    points = {"YES": ["1.00", "0.75"], "NO": ["0.00", "0.25"]}
    rated = [points[verdict][n // 2 % 2] for n, verdict in enumerate(verdicts)]
    assert kappa(rubric, tmp_path / "a.csv", rated, verdicts) == pytest.approx(1.0)
    # Items rated in the middle are left out.
    rated[:4] = ["0.50"] * 4
    assert kappa(rubric, tmp_path / "b.csv", rated, verdicts) == pytest.approx(1.0)


def test_five_point_ratings_of_another_scale_are_refused(tmp_path: Path) -> None:
    (rubric,) = (each for each in RUBRICS if each.name == "quality")
    with pytest.raises(RatingsError, match=r"line 2, column rating: '1.00' is not one of 1, 2, 3"):
        kappa(rubric, tmp_path / "a.csv", ["1.00"] * 4, ["10"] * 4)
