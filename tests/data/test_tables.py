"""Every format is written and read back; what does not fit its header is refused with its line."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.data import TableError, rows, table
from tasks.evaluations.recipe.files import spelt
from tasks.packs.published import column
from tests.data.workbooks import write_xlsx

LETTERS = st.characters(exclude_categories=["Cs", "Cc"])
CELLS = st.text(LETTERS | st.sampled_from('",;|\t\n'), max_size=12)
NAMES = st.lists(
    st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=6), min_size=2, max_size=4, unique=True
)
TABLES = NAMES.flatmap(
    lambda names: st.lists(
        st.lists(CELLS, min_size=len(names), max_size=len(names)).filter(
            lambda r: any(map(str.strip, r)) and (len(names) == 1 or [*map(str.strip, r)] != names)
        ),
        min_size=1,
        max_size=4,
    ).map(lambda cells: (names, cells))
)


def as_csv(separator: str, encoding: str, end: str) -> Callable[[Path, list[str], list[list[str]]], None]:
    """Return a writer of CSV."""

    def write(path: Path, names: list[str], cells: list[list[str]]) -> None:
        text = io.StringIO(newline="")
        quoted: Literal[0, 1] = 1 if end == "\r" else 0  # QUOTE_ALL: else csv leaves \n unquoted
        writer = csv.writer(text, delimiter=separator, lineterminator=end, quoting=quoted)
        writer.writerow(names)
        writer.writerows(cells)
        path.write_bytes((text.getvalue() + end).encode(encoding))

    return write


def as_json(path: Path, names: list[str], cells: list[list[str]]) -> None:
    objects = [dict(zip(names, row, strict=True)) for row in cells]
    path.write_text(json.dumps(objects, indent=1 if len(cells) % 2 else None), encoding="utf-8-sig")


def as_lines(path: Path, names: list[str], cells: list[list[str]]) -> None:
    objects = [dict(zip(names, row, strict=True)) for row in cells]
    path.write_text("".join(f"{json.dumps(o, ensure_ascii=False)}\n\n" for o in objects), encoding="utf-8")


def as_parquet(path: Path, names: list[str], cells: list[list[str]]) -> None:
    pl.DataFrame(cells, schema=names, orient="row").write_parquet(path)


FORMATS: dict[str, Callable[[Path, list[str], list[list[str]]], None]] = {
    "comma.CSV": as_csv(",", "utf-8", "\n"),
    "semicolon.csv": as_csv(";", "utf-8-sig", "\r\n"),
    "tab.csv": as_csv("\t", "utf-16", "\r\n"),
    "bar.csv": as_csv("|", "utf-8", "\r"),
    "tab.tsv": as_csv("\t", "utf-8", "\n"),
    "list.json": as_json,
    "lines.json": as_lines,
    "lines.jsonl": as_lines,
    "lines.ndjson": as_lines,
    "frame.parquet": as_parquet,
    "sheet.xlsx": lambda path, names, cells: write_xlsx(path, [names, *cells]),
}


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(made=TABLES)
def test_what_is_written_is_read(name: str, made: tuple[list[str], list[list[str]]], tmp_path: Path) -> None:
    names, cells = made
    if name.endswith("xlsx"):  # XML reads any line end as one, and some letters are not XML's
        cells = [["".join(c for c in cell if c.isprintable()).strip() for cell in row] for row in cells]
        cells = [row for row in cells if any(map(str.strip, row))] or [["x"] * len(names)]
        if names == [str(n) for n in range(len(names))]:  # the columns of a frame without names
            return
    if name == "lines.json" and len(cells) < 2:  # one line is an object of objects
        return
    path = tmp_path / name
    FORMATS[name](path, names, cells)
    is_text = path.suffix.lower() in (".csv", ".tsv", ".xlsx")
    expected = [
        {n: (cell or None) if is_text else cell for n, cell in zip(names, row, strict=True)} for row in cells
    ]
    assert [row.cells for row in table(path)] == expected
    assert [row.cells for row in rows(path)] == expected


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(made=TABLES, more=st.booleans(), at=st.integers(0, 3))
def test_a_row_with_a_cell_more_or_less_is_refused_with_its_line(
    made: tuple[list[str], list[list[str]]], more: bool, at: int, tmp_path: Path
) -> None:
    names, cells = made
    at %= len(cells)
    plain = [["".join(c for c in cell if c != "\n") or "x" for cell in row] for row in cells]
    plain[at] = [*plain[at], "x"] if more else plain[at][:-1]
    plain[at][0] = "x"
    as_csv(",", "utf-8", "\n")(tmp_path / "t.csv", names, plain)
    n = len(names)
    with pytest.raises(TableError, match=f"line {at + 2}: {n + 1 if more else n - 1} cells for {n} columns"):
        table(tmp_path / "t.csv")


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(content=st.binary(max_size=300), name=st.sampled_from(sorted(FORMATS)))
def test_any_bytes_are_rows_or_one_line_that_names_the_file(
    content: bytes, name: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    try:
        table(tmp_path / name)
    except TableError as error:
        assert str(error).startswith(f"{tmp_path / name}")  # noqa: PT017
        assert "\n" not in str(error)  # noqa: PT017


REFUSED = {
    "repeated.csv": ("a,b,a\n1,2,3\n", "line 1: the column 'a' is repeated"),
    "signs.csv": ("answer,answer-\nyes,no\n", "'answer' and 'answer-' differ only in signs"),
    "signs.jsonl": ('{"answer": 1, "Answer": 2}\n', "line 1: the columns 'answer' and 'Answer'"),
    "twice.json": ('[{"a": 1},\n {"a": 1, "a": 2}]', "line 2: the key 'a' is repeated"),
    "twice.jsonl": ('{"a": 1}\n{"b": {"a": 1, "a": 2}}\n', "line 2: the key 'a' is repeated"),
    "keys.json": ('{"a": {"x": 1}, "a": {"x": 2}}', "line 1: the key 'a' is repeated"),
    "quotes.csv": ('a,b\n1,2\n3,"open\n4,5\n', r"line 3: not a CSV file \(unexpected end of data\)"),
    "nameless.csv": ("a,b,\n1,2,\n3,4,5\n", "line 3: column 3 has no name but the cell '5'"),
    "nul.csv": ("a,b\n1,2\n3,\0\n", "line 3: it has a NUL character"),
    "wide.csv": ("a\0,\0b\0\n\0", "line 1: it has NUL bytes, as UTF-16 without its mark has"),
    "joined.csv": ("a,b\n1,2\na, b\n3,4\n", "line 3: it repeats the header, as in files that were joined"),
    "headless.csv": ("\n\n", "it is empty"),
    "rest.json": ('[{"a": 1}]\n[]', "line 2: not JSON: there is '\\['"),
    "early.json": ('[{"a": 1},\n', "line 2: not JSON: Expecting value"),
    "comma.json": ('[{"a": 1}\n{"a": 2}]', "line 2: not JSON: expected ',', found '{'"),
    "text.json": ("hello", "not a list or object of rows"),
    "entry.json": ('[{"a": 1},\n{"a" 2}]', "line 2: not JSON"),
    "keys of texts.json": ('{"a": 1}', "key a: expected an object with columns, found int"),
    "list of texts.json": ('[{"a": 1}, "x"]', "entry 2: expected an object with columns, found str"),
    "none.json": ("[]", "no rows"),
    "line.jsonl": ('{"a": 1}\n\n{"a": }\n', "line 3: not JSON"),
    "list.jsonl": ("[1]\n", "line 1: expected an object with columns, found list"),
    "cells.csv": ("a,b\n1,2\n1,2,3\n", "line 3: 3 cells for 2 columns: put a text"),
    "quote.csv": ('a,b\n1,"2"x\n', "line 2: not a CSV file"),
    "cells.tsv": ("a\tb\n1\n", "line 2: 1 cells for 2 columns"),
    "short.parquet": ("PAR?", "not a readable Parquet file"),
    "short.xlsx": ("PK", "not a readable spreadsheet"),
    "deep.json": ("[" * 100_000, "nested"),
    "deep.jsonl": ('{"a": ' + "[" * 100_000 + "\n", "line 1"),
    "digits.json": (f'[{{"a": {"9" * 10_000}}}]', "not readable JSON"),
    "digits.jsonl": (f'{{"a": {"9" * 10_000}}}\n', "line 1"),
    "cell.csv": (f"a\n{'x' * 200_000}\n", "line 2"),
    "zeros.parquet": ("PAR1" + "\0" * 100 + "PAR1", "not a readable"),
    "zeros.xlsx": ("PK\x03\x04" + "\0" * 100, "not a readable"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_faulty_file_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    content, fault = REFUSED[name]
    (tmp_path / name).write_text(content, encoding="utf-8", newline="")
    with pytest.raises(TableError, match=f"{re.escape(name)}(, |: ).*{fault}") as refusal:
        table(tmp_path / name, spelt)
    assert len(str(refusal.value)) < 500


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for name in ("none.json", "none.parquet"):
        with pytest.raises(TableError, match=f"{name}: cannot be read .*: check the path"):
            table(tmp_path / name)


def test_columns_of_a_script_with_vowel_signs_stay_apart(tmp_path: Path) -> None:
    """The Hindi columns differ in a vowel sign only, which is no letter."""
    (tmp_path / "t.csv").write_text("कि,की\n1,2\n", encoding="utf-8")
    (row,) = table(tmp_path / "t.csv", spelt)
    assert list(row.cells.values()) == ["1", "2"]


def test_repeated_columns_of_a_sheet_are_refused(tmp_path: Path) -> None:
    write_xlsx(tmp_path / "t.xlsx", [["", ""], ["a", "a"], ["1", "2"]])
    with pytest.raises(TableError, match="row 2: the column 'a' is repeated"):
        table(tmp_path / "t.xlsx")


def test_a_sheet_with_numbered_columns_is_named_by_its_first_row(tmp_path: Path) -> None:
    """Data frames are saved so; rows without any cell do not count."""
    path = tmp_path / "frame.xlsx"
    write_xlsx(path, [["0", "1"], ["Topic", "Example"], ["Food", "Tea < coffee"], ["", ""], ["Pets", ""]])
    food, pets = {"Topic": "Food", "Example": "Tea < coffee"}, {"Topic": "Pets", "Example": None}
    assert [row.cells for row in table(path)] == [food, pets]


def test_the_separator_is_found_outside_of_quotes(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('"a, b, c";d\n"1;2";3\n')
    assert table(tmp_path / "t.csv", column)[0].cells == {"a_b_c": "1;2", "d": "3"}


def test_an_index_without_a_name_and_empty_lines_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(",a,b\n0,1,2\n\n,,\n1,3,\n\n\n")
    found = table(tmp_path / "t.csv")
    assert [row.cells for row in found] == [{"a": "1", "b": "2"}, {"a": "3", "b": None}]
    assert [row.place for row in found] == ["line 2", "line 5"]


def test_an_object_of_objects_has_its_keys(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"x": {"a": NaN},\n "y": {"a": [1]}}')
    first, second = table(tmp_path / "t.json")
    assert (first.place, first.cells["key"], second.cells) == ("key x", "x", {"a": [1], "key": "y"})


@pytest.mark.parametrize(("encoding", "line"), [("latin-1", 3), ("cp1252", 3), ("utf-16-le", 1)])
def test_another_encoding_is_refused_with_the_line(encoding: str, line: int, tmp_path: Path) -> None:
    for ending, text in ((".csv", "a,b\n1,2\né,4\n"), (".jsonl", '{"a": 1}\n{"a": 2}\n{"a": "é"}\n')):
        path = tmp_path / f"t{ending}"
        path.write_bytes(text.encode(encoding))
        with pytest.raises(
            TableError, match=f"line {line}: it (is not UTF-8|has NUL bytes).*: save it in UTF-8"
        ):
            table(path)
