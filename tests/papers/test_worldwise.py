"""WorldWiseAI's cells from a small file of answers, by hand; each option changes its own numbers.

Vectors here have two numbers: the counts of "up" and "down" in the text. Exemplars are "up" and "down": a
text with u and d of them has the ratio (u - d) / (u + d), and the score 2 tanh of that.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.metrics.types import FloatArray
from tasks.papers.reproduction import PrintedCell, RecomputedCell, find_files, model_names
from tasks.papers.worldwise.files import WorldwiseOptions
from tasks.papers.worldwise.reproduction import REPRODUCTION
from tests.papers import reproduced

OF = {"dimension": "individualism", "framework": "hofstede"}
TABLES = {
    "country": [{"country": "US", "name": "United States"}, {"country": "IN", "name": "India"}],
    "culture_profile": [
        {"profile": "seed_bucketed", "country": "US", "score": 2.0} | OF,
        {"profile": "seed_bucketed", "country": "IN", "score": 0.0} | OF,
        {"profile": "hofstede_published", "country": "US", "score": 91.0} | OF,
    ],
    "guiding_value": [{"value": "up", "label": "Up"}, {"value": "down", "label": "Down"}],
}


def embed(source: str, texts: Sequence[str]) -> FloatArray:
    words = [text.casefold().replace(",", " ").split() for text in texts]
    return np.array([[w.count("up"), w.count("down")] for w in words], dtype=np.float64)


def record(culture: str, explanation: str, values: list[str], **more: Any) -> dict[str, Any]:
    about = {"scenario_id": "IND001", "model": "gpt-4", "run_num": 0, "decision": "Option A"}
    about |= {"culture": culture, "explanation": explanation, "raw_response": explanation}
    return about | {"top_values": values, "parse_success": True, "stereotype": 4.0} | more


# Scores by the ratio of up to down in explanation and values:
#   baseline: up up down + Up -> (3 - 1) / 4 = 0.5; US: up + Up -> 1; India: up down down + Down Other -> -0.5
ANSWERS = [
    record("baseline", "up up down", ["Up"]),
    record("US", "up", ["Up"], stereotype=8.0),
    record("India", "never up down down", ["Down", "Other"], cultural_alignment=6.25),
]
HALF = 2 * math.tanh(0.5)  # 0.924
ONE = 2 * math.tanh(1.0)  # 1.523
US, INDIA = 10 - 2.5 * (2 - ONE), 10 - 2.5 * HALF  # 8.808 and 7.690


def folder(path: Path, answers: Any = None, leave_out: Sequence[str] = ()) -> Path:
    files = {
        "results_1.json": json.dumps(ANSWERS if answers is None else answers),
        "scenarios.csv": "scenario,dimension,category,text\nIND001,IDV,Work,never mind the words here\n",
        "exemplars.csv": "dimension,pole,text\nIndividualism,high,up\nindividualism,low,down\n",
        "phrases.txt": "never\n\nalways\n",
    }
    for name, text in files.items():
        if name not in leave_out:
            (path / name).write_text(text)
    return path


def numbers(path: Path, cells: Sequence[PrintedCell], **options: Any) -> list[RecomputedCell]:
    return reproduced.numbers(REPRODUCTION, path, cells, TABLES, embed, **options)


def cell(metric: str, table: str = "4.1", model: str = "", **parts: str) -> PrintedCell:
    return reproduced.printed(table, metric, model, **parts)


MEAN_US, MEAN_INDIA = cell("Alignment", culture="US"), cell("Alignment", culture="India")
CELLS = {
    "us": MEAN_US,
    "india": MEAN_INDIA,
    "sd": cell("Std Dev", dimension="Individualism (IDV)"),
    "mae": cell("Mean Absolute Error (MAE)"),
    "bias": cell("Bias (Signed Mean)", dimension="IDV (Individualism)"),
    "n": cell("Total Comparisons"),
    "distance": cell("Distance", culture="India"),
    "down": cell("1st Value", culture="India", value="Down"),
    "other": cell("2nd Value", culture="India", value="Other"),
    "tvd": cell("TVD (%)", culture="India"),
    "stereotype": cell("Stereotype Score", model="GPT-4o-mini"),
    "overall": cell("Overall Score", model="GPT-4o-mini"),
    "scenario": cell("Mean Alignment", scenario_id="IND001"),
    "category": cell("Mean Alignment", category="Work"),
    "profile": cell("normalized score", country="US", dimension="IDV"),
}


def values(path: Path, **options: Any) -> dict[str, float | None]:
    results = numbers(path, list(CELLS.values()), **options)
    return dict(zip(CELLS, (one.value for one in results), strict=True))


def test_hand_calculation_gives_numbers_of_all_sections(tmp_path: Path) -> None:
    assert values(folder(tmp_path)) == {
        "us": pytest.approx(US),
        "india": pytest.approx(INDIA),
        "sd": pytest.approx(abs(US - INDIA) / math.sqrt(2)),  # standard deviation of two values, ddof 1
        "mae": pytest.approx(((2 - ONE) + HALF) / 2),
        "bias": pytest.approx((ONE - 2 - HALF) / 2),
        "n": 2,
        "distance": pytest.approx(HALF),  # |0.924 - 0|
        "down": 1,
        "other": 1,
        "tvd": 100,  # the baseline names Up alone, India never
        # India's response: 1 phrase in 4 words = 25 per 100: 10 - 500, so 0; the others have none: 10.
        "stereotype": pytest.approx(20 / 3),
        "overall": pytest.approx(((US + INDIA) / 2 + 20 / 3) / 2),
        "scenario": pytest.approx((US + INDIA) / 2),
        "category": pytest.approx((US + INDIA) / 2),
        "profile": 2.0,  # 91 is in the last of seven steps
    }


def test_hand_calculation_gives_nulls_of_all_sections(tmp_path: Path) -> None:
    """Zero: 5 and 10; the mean target, 1: 7.5 twice; no persona, 0.924: 7.31 and 7.69. All means are 7.5, and
    the first counts."""
    us, india, distance, down = numbers(
        folder(tmp_path), [MEAN_US, MEAN_INDIA, CELLS["distance"], CELLS["down"]]
    )
    assert (us.null, us.null_name, us.n) == (5.0, "zero", 1)
    assert india.null == 10.0
    assert distance.null == 0.0  # India's target is 0
    assert (down.null, down.null_name) == (0.0, "no persona")
    words = numbers(folder(tmp_path), [CELLS["stereotype"]])[0]
    assert (words.null, words.null_name) == (0.0, "scenarios' texts")  # 1 phrase in 5 words


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        # India: up down down + three times (Down Other) -> (1 - 5) / 6
        ({"values_times": [3]}, {"india", "sd", "mae", "bias", "distance", "overall", "scenario",
                                 "category"}),
        ({"scores": ["stored"]}, {"us", "india", "sd", "mae", "bias", "distance", "stereotype", "overall",
                                  "scenario", "category", "n"}),
        ({"values": "listed"}, {"other"}),
        ({"targets": "hofstede_bucketed"}, {"india", "sd", "mae", "bias", "n", "distance", "overall",
                                            "scenario", "category"}),
        ({"embedder": "none"}, {"us", "india", "sd", "mae", "bias", "n", "distance", "overall", "scenario",
                                "category"}),
    ],
)  # fmt: skip
def test_each_option_changes_its_own_numbers_only(
    tmp_path: Path, options: dict[str, Any], changed: set[str]
) -> None:
    path = folder(tmp_path)
    before, after = values(path), values(path, **options)
    assert {name for name in CELLS if before[name] != pytest.approx(after[name])} == changed


def test_hand_calculation_gives_options_for_repeated_values_and_stored_scores(tmp_path: Path) -> None:
    (india,) = numbers(folder(tmp_path), [MEAN_INDIA], values_times=[3])
    assert india.value == pytest.approx(10 - 2.5 * 2 * math.tanh(4 / 6))
    stored = values(folder(tmp_path), scores=["stored"])
    assert (stored["india"], stored["us"], stored["bias"]) == (6.25, None, None)
    assert stored["mae"] == pytest.approx(1.5)  # (10 - 6.25) / 2.5
    assert stored["stereotype"] == pytest.approx(16 / 3)  # 4, 8 and 4


def test_hand_calculation_gives_errors_of_answers_and_of_profiles(tmp_path: Path) -> None:
    """Two answers as India: scores 0.924 and -0.924 have errors of 0.924 and a mean of 0."""
    answers = [*ANSWERS, record("India", "up up down down", ["Up", "Up"], model="gemini", run_num=1)]
    answers[2] = record("India", "up down down", ["Down"])  # (1 - 3) / 4
    answers[3] = record("India", "up up down", ["Up"], model="gemini")  # (3 - 1) / 4
    path = folder(tmp_path, answers)
    mae = cell("MAE", culture="India")
    assert numbers(path, [mae])[0].value == pytest.approx(HALF)
    assert numbers(path, [mae], errors=["profiles"])[0].value == pytest.approx(0.0)


def test_hand_calculation_gives_means_over_answers(tmp_path: Path) -> None:
    """Two answers of gpt-4 at 7.69 and one of gemini at 10: 8.46."""
    more = [
        record("India", "up down down", ["Down"], run_num=1),
        record("India", "up down", [], model="gemini"),
    ]
    path = folder(tmp_path, [*ANSWERS[:2], record("India", "up down down", ["Down"]), *more])
    assert numbers(path, [MEAN_INDIA])[0].value == pytest.approx((2 * INDIA + 10) / 3)


def test_unparsed_answers_are_left_out_and_phrases_count_within_words(tmp_path: Path) -> None:
    """A failure is left out; "nevermore" contains "never"."""
    path = folder(tmp_path, [*ANSWERS, record("US", "up", [], parse_success=False, run_num=1)])
    assert numbers(path, [MEAN_US])[0].value == pytest.approx(US)
    folder(path, [record("US", "up", [], raw_response="nevermore " + "x " * 399)])
    of = [CELLS["stereotype"]]
    assert numbers(path, of)[0].value == pytest.approx(5.0)  # 1 in 400 words: 10 - 20 * 0.25


def test_hand_calculation_gives_f_and_cohens_d_of_section_4_8(tmp_path: Path) -> None:
    """Two models of two answers each: F is the sum of squares between over half of that within."""
    more = [
        record("US", " ".join(["up"] * ups + ["down"]), [], model=model, run_num=run)
        for model, runs in (("gpt-4", (3, 4)), ("gemini", (5, 7)))
        for run, ups in enumerate(runs, start=10)
    ]
    path = folder(tmp_path, more)
    of = {"gpt-4": (3, 4), "gemini": (5, 7)}
    points = [[10 - 2.5 * (2 - 2 * math.tanh((u - 1) / (u + 1))) for u in ups] for ups in of.values()]
    means = [sum(side) / 2 for side in points]
    within = sum((x - m) ** 2 for side, m in zip(points, means, strict=True) for x in side)
    between = (means[0] - means[1]) ** 2  # 2 (m1 - m)^2 + 2 (m2 - m)^2
    table = "4.8 Model Comparison (ANOVA)"
    f, p = numbers(path, [cell("F-statistic", table), cell("p-value", table)])
    assert f.value == pytest.approx(between / (within / 2))
    assert p.value is not None
    assert 0 < p.value < 1
    (d,) = numbers(path, [cell("largest Cohen's d", "4.8 Pairwise Model Comparisons")])
    assert d.value == pytest.approx(abs(means[0] - means[1]) / math.sqrt(within / 2))


def test_numbers_without_scores_embed_nothing(tmp_path: Path) -> None:
    def none(source: str, texts: Sequence[str]) -> FloatArray:
        raise AssertionError(source)

    cells = [CELLS[name] for name in ("down", "tvd", "stereotype", "profile")]
    rows = reproduced.numbers(REPRODUCTION, folder(tmp_path), cells, TABLES, none)
    assert all(row.value is not None for row in rows)


def test_missing_files_leave_their_own_cells_without_numbers(tmp_path: Path) -> None:
    found = numbers(folder(tmp_path, leave_out=["exemplars.csv", "phrases.txt"]), list(CELLS.values()))
    reasons = {name: one.reason for name, one in zip(CELLS, found, strict=True) if one.value is None}
    assert reasons.pop("stereotype") == "no file of phrases (*phrase*.txt or *stereotype*.txt)"
    assert set(reasons.values()) == {"no file of exemplars (*exemplar*.csv)"}
    assert {"down", "other", "tvd", "profile"} == CELLS.keys() - reasons.keys() - {"stereotype"}


def test_csv_files_with_lists_as_text_are_read(tmp_path: Path) -> None:
    """The CSV beside the JSON has lists and numbers as texts."""
    header = "scenario_id,model,culture,run_num,explanation,decision,top_values,parse_success"
    row = "IND001,gpt-4,India,0,up down down,Option A,\"['Down', 'Other']\",True"
    path = folder(tmp_path, leave_out=["results_1.json"])
    (path / "results_1.csv").write_text(f"{header}\n{row}")
    assert numbers(path, [MEAN_INDIA])[0].value == pytest.approx(INDIA)


def test_broken_answers_are_refused(tmp_path: Path) -> None:
    (folder(tmp_path) / "results_1.json").write_text('[{"a": 1}]')
    with pytest.raises(ValueError, match="none of 1 rows fits"):
        numbers(tmp_path, [MEAN_US])


def test_notes_name_the_file_read_and_the_rows_left_out(tmp_path: Path) -> None:
    path = folder(tmp_path, [*ANSWERS, {"model": "x"}, ANSWERS[0]])
    (path / "results_0.json").write_text("[]")
    options = WorldwiseOptions()
    _, notes = REPRODUCTION.read(find_files(path, REPRODUCTION.sources), options)
    assert notes == [
        "2 files of answers: results_1.json is read; --answers selects another",
        "results_1.json: 1 rows left out: no_scenario_id",
        "results_1.json: 1 records repeat scenario, model, culture and run of an earlier one: "
        "all are counted",
    ]
    with pytest.raises(ValueError, match=r"--answers: unknown file .*; known: results_0"):
        numbers(path, [MEAN_US], answers="other.json")


def test_models_are_matched_by_name_then_first_word() -> None:
    printed = ["GPT-4o-mini", "Claude 3.5 Haiku", "DeepSeek", "Gemini 2.0 Flash"]
    labels = ["gpt-4", "claude-sonnet", "deepseek", "gemini-a", "gemini-b"]
    assert model_names(labels, printed, {"gemini-b": "G"}) == dict(zip(labels, [*printed, "G"], strict=True))
    assert model_names(["gpt-a", "gpt-b"], printed, {}) == {"gpt-a": "gpt-a", "gpt-b": "gpt-b"}
