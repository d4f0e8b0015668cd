"""Tables that fit the screen, CSV of nested values, progress lines in a log."""

from __future__ import annotations

import csv
import io
import json
import logging
import re
from pathlib import Path

import duckdb
import polars as pl
import pytest

from deployments.cli import bars
from deployments.show import display
from deployments.show.display import Format, interval, notes, number, say, show, working, write
from tasks.loop import progress
from tests.waiting import until
from warehouse.storage import fetched

WIDE = pl.DataFrame(
    {
        "model": ["smollm2-135m", "null:shuffled"],
        "gain": [1.25, None],
        "words": ["a " * 60, "[red]b"],
        "more": ["x" * 20] * 2,
        "last": [1, 2],
    }
)
BIDI = "a\u202eb\u2066c\u2069"


def shown(capsys: pytest.CaptureFixture[str], width: int, *, is_wide: bool | None = False) -> tuple[str, str]:
    """Return the table printed on a screen of this width, and the notes on standard error."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        show(WIDE, Format.table, "title [x]", "how to read it", is_wide=is_wide)
    return capsys.readouterr()


def test_long_names_fold_so_that_column_n_fits(capsys: pytest.CaptureFixture[str]) -> None:
    row = {"model": "a-lab/" + "long-name-" * 4, "asked in": "zh, country", "mAP": "0.123", "gain": "x" * 21}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        show(pl.DataFrame([row | {"n": "300", "more": "y" * 9}]), Format.table, is_wide=False)
    heads = capsys.readouterr().out.splitlines()[1]
    assert heads.replace("┃", " ").split() == ["model", "asked", "in", "mAP", "gain", "n"]
    assert len(heads) <= 80


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        (20, ["model"]),
        (60, ["model", "gain", "words"]),
        (80, ["model", "gain", "words", "more"]),
        (100, ["model", "gain", "words", "more", "last"]),
    ],
)
def test_narrow_table_shows_the_columns_that_fit(
    capsys: pytest.CaptureFixture[str], width: int, columns: list[str]
) -> None:
    out, err = shown(capsys, width)
    lines = out.splitlines()
    assert lines[0] == "title [x]"
    assert lines[2].replace("┃", " ").split() == columns
    assert max(map(len, lines)) <= width
    hidden = WIDE.width - len(columns)
    assert (f"{hidden} more column{'s' * (hidden > 1)} with --wide" in err) == (hidden > 0)
    assert "[red]b" in out or "words" not in columns


def test_table_without_wide_option_folds_cells_and_hides_no_column(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, err = shown(capsys, 80, is_wide=None)
    assert max(map(len, out.splitlines())) <= 80
    assert out.splitlines()[2].replace("┃", " ").split() == WIDE.columns
    assert out.count("a") >= 60
    assert not err


def test_wide_table_shows_all_columns_unfolded(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = shown(capsys, 80, is_wide=True)
    assert "a " * 59 in out
    assert "last" in out
    assert not err


@pytest.mark.parametrize("is_wide", [True, False, None])
def test_a_table_without_columns_is_its_title_and_caption(
    is_wide: bool | None, capsys: pytest.CaptureFixture[str]
) -> None:
    display.print_table([], [], "no runs", "run one", is_wide=is_wide)
    assert capsys.readouterr().out.split("\n") == ["no runs", "", "run one", ""]


def test_csv_writes_nested_values_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    frame = pl.DataFrame({"words": [["a", "b"], []], "numbers": [[1, 2], None], "pair": [{"a": 1.5}] * 2})
    show(frame, Format.csv)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["words"] for row in rows] == ["a|b", ""]
    assert [row["numbers"] for row in rows] == ["[1, 2]", ""]
    assert json.loads(rows[0]["pair"]) == {"a": 1.5}


EVIL = "[/INST] [link=x]\x1b]52;c;cm0gLXJm\x07\x1b[2J\x9b31mred\x7f"


def test_terminal_gets_no_markup_and_no_control_characters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pl.DataFrame({EVIL: [EVIL]})
    for is_wide in (True, False, None):
        show(frame, Format.table, EVIL, EVIL, is_wide=is_wide)
    say(EVIL, EVIL, "bold red")
    say(EVIL)
    with working(EVIL):
        pass
    with notes(False):
        logging.getLogger("culturemeter").warning(EVIL)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    show(frame, Format.csv)
    show(frame, Format.json)
    texts = capsys.readouterr()
    for text in (texts.out, texts.err):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
        assert text.count("[/INST] [link=x]]52;c;cm0gLXJm[2J") >= 3


def test_json_and_parquet_keep_text_and_csv_is_cleaned(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    frame = pl.DataFrame({"a": [EVIL + BIDI]})
    show(frame, Format.json)
    text = capsys.readouterr().out
    assert json.loads(text) == frame.to_dicts()
    for form in (Format.csv, Format.spreadsheet, Format.table):
        show(frame, form)
        text += capsys.readouterr().out
    for name in ("a.parquet", "a.json", "a.csv"):
        write(frame, tmp_path / name)
    assert pl.read_parquet(tmp_path / "a.parquet").equals(frame)
    text += (tmp_path / "a.csv").read_text() + (tmp_path / "a.json").read_text()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert "abc" in text, "text between the marks stays"


def test_csv_file_has_no_formula(tmp_path: Path) -> None:
    write(pl.DataFrame({"a": ['=HYPERLINK("http://evil.example")', "b"]}), tmp_path / "f.csv")
    with (tmp_path / "f.csv").open(newline="") as file:
        assert [row["a"] for row in csv.DictReader(file)] == ['\'=HYPERLINK("http://evil.example")', "b"]


def test_spreadsheet_format_has_no_formula(capsys: pytest.CaptureFixture[str]) -> None:
    cells = ["=1+1", "+1", "-1", "@A1", "\t=1", "a=1", "", None, "'x"]
    show(pl.DataFrame({"a": cells, "n": [-1.5] * 9}), Format.spreadsheet)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["a"] for row in rows] == ["'=1+1", "'+1", "'-1", "'@A1", "'\t=1", "a=1", "", "", "'x"]
    assert {row["n"] for row in rows} == {"-1.5"}  # numbers get no apostrophe
    show(pl.DataFrame({"a": cells}), Format.csv)
    assert "=1+1\n" in capsys.readouterr().out


def test_json_writes_infinity_as_text_and_nan_as_null(capsys: pytest.CaptureFixture[str]) -> None:
    values = [float("inf"), float("nan"), 1.0]
    nested = [{"l": [value, {"x": value}]} for value in values]
    show(
        pl.DataFrame({"a": values, "b": [row["l"][:1] for row in nested], "c": [{"x": v} for v in values]}),
        Format.json,
    )
    written = ["inf", None, 1.0]
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == [
        {"a": value, "b": [value], "c": {"x": value}} for value in written
    ]
    show(pl.DataFrame({"b": [values]}), Format.csv)
    assert capsys.readouterr().out == 'b\n"[""inf"", null, 1.0]"\n'


def test_numbers_of_39_digits_are_written_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    most = 2**127 - 1
    with duckdb.connect() as connection:
        frame = fetched(
            connection.execute(f"SELECT {most}::HUGEINT AS a, [{{'h': {most}::HUGEINT}}] AS b, 1.50 AS d")
        )
    show(frame, Format.json)
    assert json.loads(capsys.readouterr().out) == [{"a": most, "b": [{"h": most}], "d": "1.50"}]
    for form in (Format.csv, Format.table):
        show(frame, form, is_wide=True)
        assert capsys.readouterr().out.replace("_", "").count(str(most)) == 2


def test_numbers_and_intervals_are_printed_with_three_digits() -> None:
    assert [number(v) for v in (None, 1.23456, float("inf"), 3)] == ["–", "1.235", "∞", "3"]
    assert interval(0.5, 0.25, 1.0) == "0.500 [0.250, 1.000]"
    assert interval(0.5, None, None, 2) == "0.50"
    assert interval(None, None, None) == "–"


@pytest.mark.parametrize(
    ("verbose", "most", "lines"),
    [
        (False, logging.CRITICAL, ["take care", "it failed"]),
        (False, logging.WARNING, ["take care"]),
        (True, logging.CRITICAL, ["by the way", "take care", "it failed"]),
    ],
)
def test_log_lines_are_printed_once_at_their_level(
    capsys: pytest.CaptureFixture[str], verbose: bool, most: int, lines: list[str]
) -> None:
    log = logging.getLogger("culturemeter")
    with notes(verbose, most):
        log.info("by the way")
        log.warning("take %s", "care")
        log.error("it failed")
    assert capsys.readouterr().err.splitlines() == lines


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines that progress prints, with every duration as "some time"."""
    lines: list[str] = []
    monkeypatch.setattr(bars, "duration", lambda seconds: "some time")
    monkeypatch.setattr(bars, "say", lambda text, style: lines.append(text))
    return lines


def test_progress_without_terminal_prints_lines_and_a_last_one(
    printed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bars, "EVERY_S", 0.01)
    assert not display.err.is_terminal
    with bars.bars():
        progress.report("model-a", 250, 1000)
        progress.report("model-a", 250, 1000)
        until(lambda: len(printed) > 2)  # nothing is reported meanwhile
        progress.report("model-a", 500, 1000)
        progress.report("metrics", 1, 1)
    *running, last, metrics = printed
    assert len(running) >= 2
    assert {line.partition(", ")[0] for line in running} <= {"model-a 250/1,000", "model-a 500/1,000"}
    assert all("/s, about " in line and line.endswith(" left") for line in running)
    assert last == "model-a 1,000/1,000 in some time"
    assert metrics == "metrics 1/1 in some time"


def test_progress_with_a_changing_total_ends_at_its_last_total(printed: list[str]) -> None:
    """Judge work grows while it runs; conversations may end before their maximum."""
    with bars.bars():
        progress.report("judge", 2, 2)
        progress.report("judge", 1, 5)
        progress.report("judge", 2, 5)
        progress.report("m: conversations", 6, 20)
        progress.report("m: conversations", 0, 6)
    done = ("judge 2/2", "judge 5/5", "m: conversations 6/6")
    assert printed == [f"{work} in some time" for work in done]


def test_durations_are_printed_in_two_units() -> None:
    assert [bars.duration(s) for s in (0.4, 8, 200, 7500, 3_600_000)] == [
        "0 s", "8 s", "3 min 20 s", "2 h 5 min", "1,000 h 0 min",
    ]  # fmt: skip
