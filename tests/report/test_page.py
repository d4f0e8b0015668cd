"""The frame of every page, and the least code that an evaluation needs for one."""

from __future__ import annotations

from datetime import date, datetime

import polars as pl
import pytest
from bs4 import BeautifulSoup

from tasks.report import Frames, gain_sign, in_order_of
from tasks.report.cells import col, name, td
from tasks.report.page import Report
from tasks.report.parts import Figure, Fold, Page, Section, prose, say, together
from tasks.report.tables import MODEL, Numbers, is_null, table
from tests.report.pages import HOSTILE, check_page, parsed, section, text_of
from tests.report.stored import around, row

PARAMS = '{"bootstrap": 99}'
FINISHED = datetime(2026, 1, 2, 3, 4)


def invented(data: Frames) -> Page:
    """The least that an evaluation declares."""
    of = Numbers(data)
    return Page(
        title="short", heading="Does it work?", lead=prose("Yes.", "lead"), picture=None, facts={},
        resampled="items", differing="items", made_from="the view leaderboard_invented.",
        board=[table("Accuracy", [MODEL, of("accuracy", "Accuracy ↑", null=True)], data.leaderboard["model"],
                     id="board", kind="leaderboard")],
        sections=[Section("more", "And?", [Figure("bars", "Bars", None), Fold("Why", prose("So."))])],
        made=prose("By counting."),
    )  # fmt: skip


REPORT = Report("report-invented.html", Frames, invented)


def frame(columns: str, *rows: tuple[object, ...]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=columns.split(), orient="row")


def example() -> Frames:
    cells = row("accuracy", ("overall", "all"), 0.5, **around(0.5, 0.1, null_value=0.25))
    return Frames(
        config_hash="ff00",
        leaderboard=frame("model is_null", (HOSTILE, False)),
        values=pl.DataFrame([{"model": HOSTILE, "is_null": False, **cells}]),
        metrics=frame(
            "metric label unit direction description null_baseline unscored_when source",
            ("accuracy", "Accuracy", "share", "higher", "Share of right answers.", "chance", "never", "ours"),
        ),
        runs=frame(
            "run_id model is_null profile code_version engine params boundary_rule started_at finished_at "
            "evaluation",
            ("r1", HOSTILE, False, "demo", "0.1", '{"kind": "fake"}', PARAMS, "rule", *[FINISHED] * 2, "e"),
        ),
        unscored=frame(
            "model metric slice_kind slice unscored_reason n_unscored",
            (HOSTILE, "accuracy", "language", ", ".join(f"l{i}" for i in range(12)), "refused", 7),
        ),
        countries=frame("country name region", ("PH", "Philippines", "Asia")),
        sources=frame(
            "file source version licence retrieved build notes",
            ("country.csv", "UN", "1", "CC0-1.0", date(2026, 1, 1), "by hand", None),
        ),
        configurations=frame(
            "configuration profile n_models finished_at",
            *(("ff00", "demo", 1, FINISHED), ("aa11", "full", 2, FINISHED)),
        ),
    )


def test_every_page_has_facts_unscored_and_provenance() -> None:
    page = parsed(REPORT, example())
    check_page(page)
    assert text_of(page.title) == "Culturemeter: short (demo, ff00)"
    assert text_of(page.select_one("#board tbody tr")) == f"{HOSTILE} 0.50 0.40 to 0.60 null 0.25"
    assert "95 %, over items" in text_of(page.select_one(".facts"))
    assert "culturemeter browse e --config ff00" in text_of(page.select_one(".facts"))
    assert text_of(page.select_one("p#figure-bars")).startswith("Bars: ")
    assert "By counting." in section(page, "made")
    assert "l7 and 4 more refused 7" in section(page, "unscored")
    provenance = section(page, "provenance")
    for words in ("CC0-1.0", "Share of right answers.", '"kind": "fake"', "aa11"):
        assert words in provenance
    assert "leaderboard_invented" in text_of(page.footer)


def test_equal_frames_give_equal_bytes() -> None:
    assert REPORT.render(example()) == REPORT.render(example())


def test_a_page_without_a_required_word_is_an_error() -> None:
    with pytest.raises(TypeError, match="differing"):
        Page(title="t", heading="h", lead=[], picture=None, facts={}, resampled="r", board=[], made_from="m")  # type: ignore[call-arg]


def test_marks_are_read_in_our_words_only() -> None:
    said = say(
        "**{n}** of `{code}`, see [it](#here) *now*: {link}", n="**2** <b>", code="*x*", link=say("**a**")
    )
    assert said == (
        '<strong>**2** &lt;b&gt;</strong> of <code>*x*</code>, see <a href="#here">it</a> <em>now</em>: '
        "<strong>a</strong>"
    )
    assert [part.tag for part in prose("### Nulls\nOne.\n\nTwo.{gone}\n{gone}", gone="")] == ["h3", "p", "p"]  # type: ignore[union-attr]


def test_rows_of_a_block_share_a_heading_and_a_body() -> None:
    keys = [("x", "a"), ("x", "null:b"), ("y", "c")]
    shown = table("Blocks", [(MODEL[0], lambda key: name(key[1])), (col("n"), lambda key: td(1))], keys,
                  line=lambda key: is_null(key[1]), block_of=lambda key: key[0])  # fmt: skip
    drawn_table = BeautifulSoup(together([shown]), "lxml")
    rows = [(" ".join(row.get("class", [])), text_of(row)) for row in drawn_table.select("tbody tr")]
    assert rows == [("block", "x"), ("", "a 1"), ("null", "null:b 1"), ("block", "y"), ("", "c 1")]
    assert drawn_table.select_one("tr.block th")["colspan"] == "2"  # type: ignore[index]
    assert len(drawn_table.select("tbody")) == 2


def test_values_are_found_by_model_metric_and_slice() -> None:
    data = example()
    assert data.value(HOSTILE, "accuracy") == 0.5
    assert data.find(HOSTILE, "accuracy", "language", "en") is None
    assert data.value("other", "accuracy") is None
    assert data.params == {"bootstrap": 99}
    assert data.country_names == {"PH": "Philippines"}


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.01, 0.2, 1), (0.0, 0.2, 0), (-0.1, 0.0, 0), (-0.2, -0.01, -1), (None, None, 0)],
)
def test_gain_sign_is_nonzero_only_beyond_the_interval(
    low: float | None, high: float | None, expected: int
) -> None:
    assert gain_sign({"ci_low": low, "ci_high": high}) == expected
    assert gain_sign(None) == 0


def test_rows_follow_the_order_of_models() -> None:
    rows = frame("model n", ("a", 1), ("x", 2), ("b", 3), ("a", 4))
    assert in_order_of(rows, ["b", "a"])["n"].to_list() == [3, 1, 4, 2]


def test_a_hostile_name_is_shown_as_text() -> None:
    assert HOSTILE in BeautifulSoup(REPORT.render(example()), "lxml").get_text()
