"""Registers evaluations from recipes when they run: their catalogue rows, leaderboard and items.

Files take precedence: an evaluation with ``reference/metric/<name>.csv`` or its own leaderboard keeps those.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import duckdb
import polars as pl

from warehouse.literals import list_parts
from warehouse.needed import empty_files
from warehouse.storage import Records, WarehouseError, execute_with, insert
from warehouse.store import Store
from warehouse.view_files import views

_CLEAR = "DELETE FROM recipe_metric WHERE evaluation = ? AND list_contains(?, metric)"
_AGE = "UPDATE recipe_metric SET place = place + 1000 WHERE evaluation = ? AND place < 1000"
_CLEAR_PUBLISHED = "DELETE FROM recipe_published WHERE evaluation = ?"
_FORGET = "DELETE FROM metric WHERE evaluation = ?"
_REGISTER = """
INSERT INTO metric
SELECT * EXCLUDE (place, doubts) FROM recipe_metric WHERE evaluation = ? ORDER BY place
"""
_RESTORE = """
INSERT INTO metric
SELECT * EXCLUDE (place, doubts) FROM recipe_metric ANTI JOIN metric USING (evaluation)
ORDER BY evaluation, place
"""
_ITEMS = """
INSERT OR IGNORE INTO evaluation_item
SELECT $evaluation, $item_hash, item, cluster, content::JSON FROM incoming
"""
_FOLDER = Path(__file__).resolve().parent
_NAME = "[a-z][a-z0-9_]*"


def save_recipe(
    connection: duckdb.DuckDBPyConnection,
    store: Store,
    evaluation: str,
    metrics: Records,
    doubts: Mapping[str, str],
    published: Records = (),
) -> None:
    """Register an evaluation's metrics, leaderboard and published numbers, inside the caller's transaction.

    Args:
        metrics: rows of the table metric without the evaluation, in order.
        doubts: difference to a control -> the headline that it casts doubt on.
        published: rows of recipe_published without the evaluation; they replace the earlier ones.
    """
    rows = [
        {"evaluation": evaluation, "place": place, **row, "doubts": doubts.get(row["metric"])}
        for place, row in enumerate(metrics)
    ]
    connection.execute(_CLEAR, [evaluation, [row["metric"] for row in metrics]])
    connection.execute(_AGE, [evaluation])  # metrics of earlier definitions stay, after the present ones
    insert(connection, "recipe_metric", rows)
    connection.execute(_CLEAR_PUBLISHED, [evaluation])
    insert(connection, "recipe_published", [{"evaluation": evaluation, **row} for row in published])
    if not (_FOLDER / "reference" / "metric" / f"{evaluation}.csv").exists():
        connection.execute(_FORGET, [evaluation])
        connection.execute(_REGISTER, [evaluation])
    if f"leaderboard_{evaluation}" not in views():
        # CREATE VIEW reads a file of each kind; those of a shared store may not be on this machine.
        list_parts(connection, empty_files(store.folder))
        connection.execute(leaderboard_sql(evaluation, metrics))
        connection.execute("RESET VARIABLE parts")


def restore_metrics(connection: duckdb.DuckDBPyConnection) -> None:
    """Add the metrics that recipes registered to the catalogue, after it was reloaded from its files."""
    connection.execute(_RESTORE)


def save_items(
    connection: duckdb.DuckDBPyConnection, evaluation: str, item_hash: str, items: Records
) -> None:
    """Store a version of an evaluation's items, unless it is stored already.

    Args:
        items: item, cluster and content (column -> cell).
    """
    content = [
        {**item, "content": json.dumps(item["content"], ensure_ascii=False, sort_keys=True)} for item in items
    ]
    if content:
        values = {"evaluation": evaluation, "item_hash": item_hash}
        execute_with(connection, pl.DataFrame(content), _ITEMS, values)


def leaderboard_sql(evaluation: str, metrics: Records) -> str:
    """Return the SQL of the view ``leaderboard_<evaluation>``.

    Its columns: the first metric with its interval and null, then the other metrics.

    Raises:
        WarehouseError: a view or column cannot have such a name.
    """
    names = [str(row["metric"]) for row in metrics]
    for name in (evaluation, *names):
        if not re.fullmatch(_NAME, name):
            raise WarehouseError(
                f"{name!r} is not a valid name: use lower-case letters, digits and underscores"
            )
    headline, *others = metrics
    columns_after = [row for row in others if not row["metric"].startswith(("judge_", "unanswered"))]
    template = (_FOLDER / "leaderboard.sql").read_text(encoding="utf-8")
    order = "" if headline["direction"] == "lower" else " DESC"
    columns = "".join(
        f"        any_value(v.value) FILTER (v.metric = '{row['metric']}') AS \"{row['metric']}\",\n"
        for row in columns_after
    )
    comments = "".join(
        f'COMMENT ON COLUMN leaderboard_{evaluation}."{row["metric"]}" '
        f"IS '{_quoted(row['description'])}';\n"
        for row in (headline, *columns_after)
    )
    return (
        template.replace("{evaluation}", evaluation)
        .replace("{headline}", headline["metric"])
        .replace("{order}", order)
        .replace("{columns}", columns)
        .replace("{comments}", comments)
    )


def _quoted(text: str) -> str:
    return str(text).replace("'", "''")
