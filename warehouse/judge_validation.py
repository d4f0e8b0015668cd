"""What people say of judges: the table `judge_validation`."""

from datetime import UTC, datetime

import polars as pl

from warehouse.connection import Warehouse
from warehouse.home import WarehouseError

__all__ = ["save_validation"]

_SCHEMA = pl.Schema(
    {
        "judge": pl.String(),
        "judge_hash": pl.String(),
        "rubric": pl.String(),
        "dimension": pl.String(),
        "metric": pl.String(),
        "value": pl.Float64(),
        "unscored_reason": pl.String(),
        "ci_low": pl.Float64(),
        "ci_high": pl.Float64(),
        "n": pl.Int32(),
        "source": pl.String(),
    }
)
_CLEAR = """
DELETE FROM judge_validation
WHERE (judge, judge_hash, rubric, dimension) IN (SELECT (judge, judge_hash, rubric, dimension) FROM incoming)
"""
_PUT = "INSERT INTO judge_validation BY NAME SELECT *, $created_at AS created_at FROM incoming"


def save_validation(warehouse: Warehouse, rows: pl.DataFrame) -> None:
    """Make `rows` all that is known of their judges on their dimensions, in one transaction.

    rows: the columns of judge_validation without created_at, which is now. Earlier rows of the same judge,
    engine, rubric and dimension go. Raises WarehouseError, and changes nothing, for other columns or a row
    that has a NaN, a value and a reason, or neither.
    """
    if set(rows.columns) != set(_SCHEMA):
        raise WarehouseError(f"judge validation: columns are {rows.columns}, expected {list(_SCHEMA)}.")
    frame = rows.select(list(_SCHEMA)).cast(_SCHEMA)
    unclear = pl.col("value").is_null() != pl.col("unscored_reason").is_not_null()
    numbers = pl.col("value", "ci_low", "ci_high")
    wrong = frame.filter(unclear | pl.any_horizontal(numbers.is_nan().fill_null(False)))
    if wrong.height:
        raise WarehouseError(
            f"judge validation: {wrong.height} rows, first {wrong.row(0, named=True)}. A row has a value, or "
            f"a null with an unscored_reason; NaN is neither."
        )
    with warehouse.write() as connection:
        connection.register("incoming", frame)
        connection.execute(_CLEAR)
        connection.execute(_PUT, {"created_at": datetime.now(UTC).replace(tzinfo=None)})
        connection.unregister("incoming")
