"""Values bound as literals give the same results as values bound by DuckDB's client."""

from __future__ import annotations

from datetime import date
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse.literals import execute, literal

PLAIN = st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.text())


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:")


@settings(max_examples=40, deadline=None)
@given(value=st.one_of(PLAIN, st.lists(st.text(), min_size=1, max_size=3)))
def test_a_literal_gives_the_value_and_type_of_a_bound_parameter(
    connection: duckdb.DuckDBPyConnection, value: Any
) -> None:
    sql = "SELECT $value AS value, typeof($value) AS type"
    execute(connection, sql, {"value": value})
    ours = connection.fetchall()
    assert ours == connection.execute(sql, {"value": value}).fetchall()


@pytest.mark.parametrize("value", [-(2**63) + 1, -127, 0, 2**63 - 1])
def test_an_integer_of_64_bits_is_its_own_literal(value: int) -> None:
    assert literal(value) == str(value)


@pytest.mark.parametrize("value", [1.5, date(2026, 1, 1), b"x", {"a": 1}, [], "a\0b", 2**70])
def test_values_without_a_plain_literal_are_bound(connection: duckdb.DuckDBPyConnection, value: Any) -> None:
    assert literal(value) is None
    execute(connection, "SELECT ?", [value])
    assert connection.fetchall() == connection.execute("SELECT ?", [value]).fetchall()


def test_keywords_of_sql_may_name_parameters(connection: duckdb.DuckDBPyConnection) -> None:
    execute(connection, "SELECT $limit, $table", {"limit": 1, "table": "it's"})
    assert connection.fetchall() == [(1, "it's")]


def test_an_error_shows_no_internal_statement(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.Error) as error:
        execute(connection, "SELECT nothing FROM nowhere WHERE a = ?", ["x"])
    assert "PREPARE" not in str(error.value)
