"""Answers in 14 languages, labelled before matching read them, against matching.

blind.csv has short answers and sentences that were written and labelled before matching read them, in two
batches, the second with synonyms; outside.csv has short answers by a reader who wrote no part of matching.
``first`` is what matching said at that first contact. The page shows both (matching.csv, made anew by
``write``). The other tables were at hand when matching was made: answers.csv, on
which two readers agree, fresh.csv, half of it whole sentences, and chats.csv, in the manner of chat models.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tasks.evaluations.culturall.read import matches
from tasks.evaluations.culturall.report import MATCHING
from tests.evaluations.culturall.test_shipped_items import LANGUAGES, shipped

HERE = Path(__file__).parent
FIRST_CONTACT = ("blind", "outside")
TABLES = (*FIRST_CONTACT, "answers", "fresh", "chats")
MOST_ACCEPTED, MOST_REFUSED = 0.01, 0.03
"""Shares of wrong answers that are accepted, and of right answers that are refused, at most, per language."""
MOST_UNREAD = {"blind": 0.12, "answers": 0.13, "outside": 0.14}
"""Shares of short answers that are not read, at most: denials and alternatives among them."""
OUTCOMES = {True: "right", False: "wrong", None: "not read"}


def table(name: str) -> pl.DataFrame:
    """Return a table of answers, with what matching says now."""
    items = {item.item: item for item in shipped()}
    rows = pl.read_csv(HERE / f"{name}.csv", schema_overrides={"answer": pl.String})
    said = [OUTCOMES[matches(items[item], answer)] for item, answer in rows.select("item", "answer").rows()]
    return rows.with_columns(now=pl.Series(said, dtype=pl.String))


def measured() -> Iterator[dict[str, str | int]]:
    """Yield a row of the page's table for each language: counts at first contact."""
    rows = pl.concat(
        pl.read_csv(HERE / f"{name}.csv", schema_overrides={"answer": pl.String}) for name in FIRST_CONTACT
    )
    for language in LANGUAGES:
        own = rows.filter(language=language)
        right, wrong = own.filter(is_right=1), own.filter(is_right=0)
        short, prose = own.filter(form="short"), own.filter(form="prose")
        yield {
            "language": language,
            "n_right": right.height,
            "refused": right.filter(first="wrong").height,
            "n_wrong": wrong.height,
            "accepted": wrong.filter(first="right").height,
            "n_short": short.height,
            "short_unread": short.filter(first="not read").height,
            "n_prose": prose.height,
            "prose_unread": prose.filter(first="not read").height,
        }


def write() -> None:
    """Write the table that the page reads."""
    pl.DataFrame(list(measured())).write_csv(MATCHING)


def test_the_page_has_the_counts_of_first_contact() -> None:
    rows = list(measured())
    assert rows == pl.read_csv(MATCHING).to_dicts()
    assert all(int(row["n_right"]) + int(row["n_wrong"]) >= 40 for row in rows)
    assert sum(int(row["accepted"]) for row in rows) == 0
    assert sum(int(row["refused"]) for row in rows) == 6, "4 synonyms that no item listed, 2 units"


@pytest.mark.parametrize("name", TABLES)
def test_matching_errs_no_more_than_the_bars_in_any_language(name: str) -> None:
    rows = table(name)
    for language in LANGUAGES:
        own = rows.filter(language=language)
        right, wrong = own.filter(is_right=1), own.filter(is_right=0)
        assert min(right.height, wrong.height) >= (9 if name == "outside" else 15)
        assert wrong.filter(now="right").height <= MOST_ACCEPTED * wrong.height, language
        assert right.filter(now="wrong").height <= MOST_REFUSED * right.height, language
    short = rows.filter(form="short") if "form" in rows.columns else rows
    assert short.filter(now="not read").height <= MOST_UNREAD.get(name, 0.5) * short.height


def test_sentences_that_hedge_or_explain_are_not_read() -> None:
    assert set(table("blind").filter(form="prose")["now"]) == {"not read"}
