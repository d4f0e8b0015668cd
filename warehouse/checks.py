"""Integrity checks: each file of checks/ is a query that returns the rows that must not exist."""

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from warehouse.connection import Warehouse

__all__ = ["run_checks"]

_FOLDER = Path(__file__).resolve().parent / "checks"


def run_checks(warehouse: "Warehouse") -> pl.DataFrame:
    """One row a check: check (its file's name), n_violations, and example, the first row as text or null.

    The warehouse is sound if every n_violations is 0. Raises as `Warehouse.query`.
    """
    results: list[tuple[str, int, str | None]] = []
    for file in sorted(_FOLDER.glob("*.sql")):
        violations = warehouse.query(file.read_text(encoding="utf-8"))
        example = str(violations.row(0, named=True)) if violations.height else None
        results.append((file.stem, violations.height, example))
    schema = {"check": pl.String, "n_violations": pl.Int64, "example": pl.String}
    return pl.DataFrame(results, schema=schema, orient="row")
