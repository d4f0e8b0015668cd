"""The shipped CultureBank sample: complete, balanced and its own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from rapidfuzz import fuzz, process

from tasks.packs.published import read_rows

REFERENCE = Path(__file__).resolve().parents[3] / "warehouse" / "reference"
HEADER = "benchmark,item,country,group_name,persona,situation,question,label,gold,cues,rule"
ROWS = read_rows(REFERENCE / "cure_item" / "culturebank.csv")


def test_the_header_is_that_of_all_samples() -> None:
    assert (REFERENCE / "cure_item" / "culturebank.csv").read_text(encoding="utf-8").split("\n")[0] == HEADER


def test_size_and_countries() -> None:
    known = {row["country"] for row in read_rows(REFERENCE / "country.csv")}
    assert len(ROWS) >= 60
    assert len({row["country"] for row in ROWS}) >= 20
    assert {row["country"] for row in ROWS} <= known
    assert len({row["item"] for row in ROWS}) == len(ROWS)


def test_labels_are_balanced() -> None:
    counts = Counter(row["label"] for row in ROWS)
    assert set(counts) == {"yes", "no"}
    assert 0.45 <= counts["yes"] / len(ROWS) <= 0.55


@pytest.mark.parametrize("row", ROWS, ids=[str(row["item"]) for row in ROWS])
def test_every_row_is_complete(row: dict[str, str | None]) -> None:
    assert row["benchmark"] == "culturebank"
    for name in ("group_name", "persona", "situation", "question", "gold"):
        text = row[name]
        assert text
        assert text == " ".join(text.split())
    assert row["cues"] is None
    assert row["rule"] is None
    assert str(row["question"]).endswith("?")
    assert str(row["gold"]).endswith(".")
    # The norm must not be told with the question.
    assert fuzz.token_set_ratio(f"{row['situation']} {row['question']}", str(row["gold"])) < 75


def test_no_two_questions_are_the_same() -> None:
    texts = [f"{row['situation']} {row['question']}" for row in ROWS]
    similarity = process.cdist(texts, texts, scorer=fuzz.ratio)
    assert sorted(similarity.max(axis=1)) == [100.0] * len(texts)
    assert (similarity >= 80).sum() == len(texts)
