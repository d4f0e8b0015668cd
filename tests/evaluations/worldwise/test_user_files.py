"""A user's own CSV files: typed rows, and errors that name file, line and column."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.evaluations.worldwise.user_files import parse_rows, read_rows
from tests.evaluations.worldwise.conftest import MakeStudy, tables

REFERENCE = Path(__file__).parents[3] / "warehouse/reference"
SCENARIOS = "scenario,framework,dimension,category,text,option_a,option_b"
PROFILES = "profile,country,dimension,score,framework"
EXEMPLARS = "framework,dimension,pole,number,text"


def test_cells_become_typed_values() -> None:
    (row,) = parse_rows(
        f'{SCENARIOS},is_multi\nIND001,h,IDV,work,"a, b",x,y,TRUE\n'.encode(), "s.csv", "scenario"
    )
    assert row["is_multi"] is True
    assert row["text"] == "a, b"
    (row,) = parse_rows(f"{SCENARIOS}\nIND001,h,IDV,work,a,x,y\n".encode(), "s.csv", "scenario")
    assert row["is_multi"] is False
    (row,) = parse_rows(f"\ufeff{PROFILES}\r\nmine,JP,IDV,-1.5,h\r\n".encode(), "p.csv", "culture_profile")
    assert row == {"profile": "mine", "country": "JP", "dimension": "IDV", "score": -1.5, "framework": "h"}
    (row,) = parse_rows(f"{EXEMPLARS}\nh,IDV,high,2,I first\n\n".encode(), "e.csv", "exemplar")
    assert row["number"] == 2


@pytest.mark.parametrize(
    ("table", "text", "message"),
    [
        ("scenario", "scenario,text\na,b\n", "s.csv, line 1: columns are scenario, text; they must be"),
        ("scenario", f"{SCENARIOS},regoin\n", "line 1: columns are .*regoin; .*perhaps region"),
        ("scenario", f"{SCENARIOS},text\n", "each once"),
        ("scenario", f"{SCENARIOS}\n", "has a header and no rows"),
        ("scenario", "", "line 1: columns are ;"),
        ("scenario", f"{SCENARIOS}\nMünchen", r"s.csv, line 2: it is not UTF-8"),
        ("scenario", f"{SCENARIOS}\na,h,d,c,t,x\n", "line 2: 6 cells under 7 columns"),
        ("scenario", f"{SCENARIOS}\na,h,d,c,t,x, \n", "line 2, column option_b: the cell is empty"),
        ("scenario", f"{SCENARIOS}\na,h,d,c,t,x,y\n\na,h,d,c,t,x,y\n", "line 4, column scenario: .*line 2"),
        ("scenario", f"{SCENARIOS},is_multi\na,h,d,c,t,x,y,maybe\n", "is_multi: 'maybe' is not true"),
        ("scenario", f'{SCENARIOS}\na,h,d,c,"t"t,x,y\n', "line 2: not a CSV file"),
        ("culture_profile", f"{PROFILES}\nm,JP,d,high,h\n", "line 2, column score: 'high' is not a number"),
        ("culture_profile", f"{PROFILES}\nm,JP,d,nan,h\n", "column score: 'nan' is not a number"),
        ("exemplar", f"{EXEMPLARS}\nh,d,middle,1,t\n", "column pole: 'middle' is not high or low"),
        ("exemplar", f"{EXEMPLARS}\nh,d,high,0,t\n", "column number: '0' is not a whole number from 1"),
        ("guiding_value", "value,label\na,A\na,B\n", "line 3, column value: the same as on line 2"),
    ],
)  # fmt: skip
def test_errors_name_file_line_and_column(table: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        parse_rows(text.encode("latin-1"), "s.csv", table)
    with pytest.raises(ValueError, match=r"none.csv cannot be read \(No such file"):
        read_rows(tmp_path / "none.csv", table)


@given(st.binary(max_size=200) | st.text(max_size=50).map(lambda t: f"value,label\n{t}".encode()))
def test_any_bytes_are_rows_or_an_error_that_names_the_file(content: bytes) -> None:
    for table in ("scenario", "exemplar", "culture_profile", "guiding_value"):
        try:
            parse_rows(content, "s.csv", table)
        except ValueError as error:
            assert str(error).startswith("s.csv")  # noqa: PT017


@pytest.mark.parametrize("table", ["scenario", "exemplar", "culture_profile", "guiding_value"])
def test_shipped_files_are_valid_user_files(table: str) -> None:
    path = REFERENCE / f"{table}.csv"
    with path.open(encoding="utf-8", newline="") as text:
        assert len(read_rows(path, table)) == len(list(csv.DictReader(text)))


def test_study_uses_only_the_users_files(make_study: MakeStudy) -> None:
    """The names of WorldWiseAI 2024."""
    files = {
        "scenario": f"{SCENARIOS}\nIND001,hofstede,IDV,Family & Relationships,t,x,y\n",
        "exemplar": f"{EXEMPLARS}\nhofstede,IDV,high,1,I\nhofstede,IDV,low,1,we\n",
        "culture_profile": f"{PROFILES}\nbucketed,US,IDV,2.0,hofstede\nbucketed,MX,IDV,-1.5,hofstede\n",
        "guiding_value": "value,label\na,Family Harmony\nb,Future Planning\nc,Work-Life Balance\n",
    }
    parsed = {table: parse_rows(text.encode(), f"{table}.csv", table) for table, text in files.items()}
    study = make_study(tables() | parsed, targets="bucketed")
    assert [c.culture for c in study.content.cultures] == ["baseline", "MX", "US"]
    assert study.content.targets[1:].tolist() == [[-1.5], [2.0]]
    assert study.samples[0].key == ("baseline", "IND001", 0)
