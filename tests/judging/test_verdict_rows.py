"""Verdicts as a table: what is unknown is null, and the columns are those that parts declare."""

from __future__ import annotations

import polars as pl

from tasks.judging.verdicts import SCHEMA, VerdictRow, verdict_frame
from warehouse import KINDS

ROW = VerdictRow("judge-a", "0a1b", "coverage 0123", "dish-1", "a text", "IN", "real:0")


def test_a_verdict_is_a_row_with_all_its_cells() -> None:
    read = ROW._replace(verdict="yes", reason="names the norm", value=1.0, graded=0.75, disagreement=0.5)

    assert verdict_frame([read]).row(0, named=True) == read._asdict()


def test_what_is_unknown_is_null_and_typed_all_the_same() -> None:
    """Also with the first known number after many rows: nothing is inferred from the beginning."""
    rows = [ROW._replace(item=str(n)) for n in range(200)] + [ROW._replace(value=0.5)]

    frame = verdict_frame(rows)

    assert frame.schema == SCHEMA
    assert frame["value"].null_count() == 200
    assert frame["value"][-1] == 0.5


def test_no_rows_are_a_table_with_columns() -> None:
    assert verdict_frame([]).schema == SCHEMA


def test_the_columns_are_those_that_a_part_of_verdicts_declares() -> None:
    provenance = {"part", "request_hash", "run_id", "model"}

    assert set(SCHEMA) == set(KINDS["verdict"].columns) - provenance
    assert all(isinstance(KINDS["verdict"].columns[name], type(kind)) for name, kind in SCHEMA.items())
    assert isinstance(SCHEMA["value"], pl.Float64)
