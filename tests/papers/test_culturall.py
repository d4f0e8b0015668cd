"""CulturALL's accuracies from small files, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tasks.papers.culturall.reproduction import REPRODUCTION
from tests.papers.reproduced import further, numbers, printed

ITEMS = """language,region,topic,scenario,question,answer,explanation,eval_sum
zh,cn,Food,s,q A B C D,B,,12
zh,CN,Work,s,q,tea,,7
en,uk,Food,s,q,salt,,0
en,us,food,s,q,rye,,3
"""


def accuracy(subset: str, number: str = "1") -> Any:
    return printed("Table 2", "Accuracy (%)", "m", id=number, subset=subset)


SUBSETS = ("all", "easy", "medium", "hard")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "annotated_items.csv").write_text(ITEMS)
    # Items 1 and 3 are solved, 2 is not, 4 was not judged.
    (tmp_path / "answers.csv").write_text("setting,item,correct\ngemini,1,true\ngemini,2,0\ngemini,3,1\n")
    return tmp_path


def test_hand_calculation_gives_accuracy_by_difficulty(folder: Path) -> None:
    cells = [accuracy(subset) for subset in SUBSETS]
    results = numbers(REPRODUCTION, folder, cells, settings={"gemini": "1"})
    assert [one.value for one in results] == [50.0, 100.0, 0.0, 50.0]
    assert [one.null for one in results] == [6.25, 25.0, 0.0, 0.0]  # one of four items is a choice
    left_out = numbers(REPRODUCTION, folder, cells, settings={"gemini": "1"}, unjudged=["left-out"])
    assert [one.value for one in left_out] == [pytest.approx(200 / 3), 100.0, 0.0, 100.0]
    assert numbers(REPRODUCTION, folder, cells)[0].reason == "no answer of that setting (--settings NAME=ID)"


def test_hand_calculation_gives_counts_of_items_by_difficulty(folder: Path) -> None:
    for subset, n in zip(SUBSETS, (4, 1, 1, 2), strict=True):
        count, share = (printed("Section 2.5", metric, subset=subset) for metric in ("Items", "Items (%)"))
        assert [one.value for one in numbers(REPRODUCTION, folder, [count, share])] == [n, 25.0 * n]
    (folder / "annotated_items.csv").unlink()
    assert numbers(REPRODUCTION, folder, [printed("Section 2.5", "Items", subset="easy")])[0].value is None


def test_numbers_without_a_published_file_have_a_reason(folder: Path) -> None:
    review = printed("Section 2.4.3", "Samples (%)", review="accept")
    english = printed("Section 4.4", "Accuracy (%)", "m", id="1", prompts="English")
    for one in numbers(REPRODUCTION, folder, [review, english], settings={"gemini": "1"}):
        assert one.reason == "no published file has it"


def test_hand_calculation_gives_accuracy_by_language_topic_region_and_over_settings(folder: Path) -> None:
    results = {key: one.value for key, one in further(REPRODUCTION, folder).items()}
    metric = "Accuracy (%)"
    assert results["By language", "setting gemini", "zh", metric] == 50.0
    assert results["By topic", "setting gemini", "Food", metric] == pytest.approx(200 / 3)
    assert results["By region", "setting gemini", "GB", metric] == 100.0
    # 12, 7, 0 and 3 of 15
    assert results["Table 2", "mean of the settings", "all", metric] == pytest.approx(100 * 22 / 60)
    assert results["Table 2", "mean of the settings", "hard", metric] == pytest.approx(10.0)


def test_fifteen_settings_define_the_difficulty_of_items(tmp_path: Path) -> None:
    """Without items: number 1 is solved by ten settings (easy), number 2 by four (hard)."""
    rows = [f"{s},{item},{int(s <= most)}" for s in range(1, 16) for item, most in ((1, 10), (2, 4))]
    (tmp_path / "answers.csv").write_text("\n".join(["setting,item,correct", *rows]))
    cells = [accuracy(subset, "5") for subset in SUBSETS]
    results = numbers(REPRODUCTION, tmp_path, cells)
    assert [one.value for one in results] == [50.0, 100.0, None, 0.0]
    assert results[0].null is None


def test_subsets_in_separate_files_are_read(tmp_path: Path) -> None:
    header, *rows = ITEMS.splitlines()
    for name, row in zip(("easy", "hard"), rows, strict=False):
        (tmp_path / f"annotated_{name}.csv").write_text(f"{header}\n{row}\n")
    (tmp_path / "answers.csv").write_text("setting,item,correct\n1,1,1\n1,2,0\n")
    results = numbers(REPRODUCTION, tmp_path, [accuracy("easy"), accuracy("hard")])
    assert [one.value for one in results] == [100.0, 0.0]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("setting,item,correct\n1,5,1\n", "unknown item 5; known: 1 to 4"),
        ("setting,item,correct\n1,1,1\n1,1,0\n", "setting 1 has item 1 twice"),
        ("setting,item,correct\n1,0,1\n", "none of 1 rows fits"),
    ],
)
def test_broken_answers_are_refused(folder: Path, text: str, complaint: str) -> None:
    (folder / "answers.csv").write_text(text)
    with pytest.raises(ValueError, match=complaint):
        numbers(REPRODUCTION, folder, [accuracy("all")])
