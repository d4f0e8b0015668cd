"""Answers in 14 languages, labelled by their author and blind by a second reader, against matching.

answers.csv has the answers on which both readers agree. fresh.csv has four batches that one reader wrote and
labelled before matching read them, and the first of them again in another order. was_taken is what matching
said at first contact; between two batches it was mended. The page shows the numbers of matching.csv.
After a change of answers or matching, ``write`` makes it anew.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import polars as pl

from tasks.evaluations.culturall.read import matches
from tasks.evaluations.culturall.report import MATCHING
from tests.evaluations.culturall.test_shipped_items import LANGUAGES, shipped

ANSWERS = Path(__file__).with_name("answers.csv")
FRESH = Path(__file__).with_name("fresh.csv")
MOST_ACCEPTED, MOST_REFUSED = 0.01, 0.03
"""Shares of wrong answers that are accepted, and of right answers that are refused, at most."""


@cache
def labelled() -> tuple[tuple[str, str, str, bool], ...]:
    """Return language, item, answer and label."""
    with ANSWERS.open(encoding="utf-8", newline="") as file:
        return tuple(
            (r["language"], r["item"], r["answer"], r["is_right"] == "1") for r in csv.DictReader(file)
        )


@cache
def fresh() -> pl.DataFrame:
    """Return fresh.csv with ``is_taken``, what matching says now."""
    items = {item.item: item for item in shipped()}
    table = pl.read_csv(FRESH, schema_overrides={"answer": pl.String})
    taken = [int(matches(items[item], answer)) for item, answer in table.select("item", "answer").rows()]
    return table.with_columns(is_taken=pl.Series(taken))


def measured() -> Iterator[dict[str, str | int]]:
    """Yield a row of the page's table for each language."""
    items = {item.item: item for item in shipped()}
    for language in LANGUAGES:
        of = [
            (is_right, matches(items[item], answer))
            for name, item, answer, is_right in labelled()
            if name == language
        ]
        own: dict[str, str | int] = {
            "language": language,
            "n_right": sum(is_right for is_right, _ in of),
            "n_wrong": sum(not is_right for is_right, _ in of),
            "refused": sum(is_right and not is_taken for is_right, is_taken in of),
            "accepted": sum(is_taken and not is_right for is_right, is_taken in of),
        }
        yield own | _first(language)


def _first(language: str) -> dict[str, str | int]:
    own = fresh().filter(language=language)
    right, wrong = own.filter(is_right=1), own.filter(is_right=0)
    return {
        "n_right_first": right.height,
        "refused_first": right.filter(was_taken=0).height,
        "n_wrong_first": wrong.height,
        "accepted_first": wrong.filter(was_taken=1).height,
    }


def write() -> None:
    """Write the table that the page reads."""
    pl.DataFrame(list(measured())).write_csv(MATCHING)


def test_each_language_has_forty_answers_right_and_wrong() -> None:
    for language in LANGUAGES:
        labels = [is_right for name, _, _, is_right in labelled() if name == language]
        assert len(labels) >= 40
        assert 0.4 < sum(labels) / len(labels) < 0.6


def test_matching_agrees_with_both_readers_as_the_page_says() -> None:
    rows = list(measured())
    assert rows == pl.read_csv(MATCHING).to_dicts()
    for row in rows:
        assert int(row["accepted"]) <= MOST_ACCEPTED * int(row["n_wrong"]), row
        assert int(row["refused"]) <= MOST_REFUSED * int(row["n_right"]), row


def test_fresh_answers_are_read_as_labelled_but_for_some_sentences() -> None:
    """At first contact 27, 18, 19 and 8 of 280, 280, 140 and 56 right answers were refused, and 0, 1, 1 and
    1 wrong ones accepted. Most of what is left are sentences with further words after the answer.
    """
    right, wrong = fresh().filter(is_right=1), fresh().filter(is_right=0)
    assert (right.height, wrong.height) == (756, 756)
    first = [right.filter(batch=n, was_taken=0).height for n in (1, 2, 3, 4)]
    assert first == [27, 18, 19, 8]
    assert wrong.filter(is_taken=1).height == 0
    assert right.filter(is_taken=0).height <= 0.04 * right.height
