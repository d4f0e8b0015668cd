"""Registration of evaluations from recipes when they run: catalogue rows, their leaderboard, their items.

Files win: an evaluation that has ``reference/metric/<name>.csv`` or a leaderboard of its own keeps it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from warehouse.literals import list_parts
from warehouse.needed import empty_ones
from warehouse.storage import WarehouseError, columns_of, execute_with
from warehouse.store import Store

Rows = Sequence[Mapping[str, Any]]

_CLEAR = "DELETE FROM recipe_metric WHERE evaluation = ? AND list_contains(?, metric)"
_AGE = "UPDATE recipe_metric SET place = place + 1000 WHERE evaluation = ? AND place < 1000"
_SAVE = "INSERT INTO recipe_metric BY NAME FROM incoming"
_CLEAR_PUBLISHED = "DELETE FROM recipe_published WHERE evaluation = ?"
_SAVE_PUBLISHED = "INSERT INTO recipe_published BY NAME FROM incoming"
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
    metrics: Rows,
    doubts: Mapping[str, str],
    published: Rows = (),
) -> None:
    """Register an evaluation, inside the caller's transaction: what its numbers mean, its leaderboard, and
    what others printed of it.

    Args:
        metrics: rows of the table metric without the evaluation, in order.
        doubts: a difference to a control -> the headline that it casts doubt on.
        published: rows of recipe_published without the evaluation, in place of those that it had.
    """
    rows = [
        {"evaluation": evaluation, "place": place, **row, "doubts": doubts.get(row["metric"])}
        for place, row in enumerate(metrics)
    ]
    frame = pl.DataFrame(rows, schema=columns_of(connection, "recipe_metric"))
    connection.execute(_CLEAR, [evaluation, frame["metric"].to_list()])
    connection.execute(_AGE, [evaluation])  # what earlier definitions called numbers that are stored
    execute_with(connection, frame, _SAVE)
    connection.execute(_CLEAR_PUBLISHED, [evaluation])
    printed = [{"evaluation": evaluation, **row} for row in published]
    schema = columns_of(connection, "recipe_published")
    execute_with(connection, pl.DataFrame(printed, schema=schema), _SAVE_PUBLISHED)
    if not (_FOLDER / "reference" / "metric" / f"{evaluation}.csv").exists():
        connection.execute(_FORGET, [evaluation])
        connection.execute(_REGISTER, [evaluation])
    if not list((_FOLDER / "views" / evaluation).glob(f"*_leaderboard_{evaluation}.sql")):
        # A view is bound to some files when it is made, and those of a shared store may not be here.
        list_parts(connection, empty_ones(store.folder))
        connection.execute(leaderboard_sql(evaluation, metrics))
        connection.execute("RESET VARIABLE parts")


def restore_metrics(connection: duckdb.DuckDBPyConnection) -> None:
    """Put back what recipes registered, after the catalogue was loaded anew from its files."""
    connection.execute(_RESTORE)


def save_items(connection: duckdb.DuckDBPyConnection, evaluation: str, item_hash: str, items: Rows) -> None:
    """Store a version of an evaluation's items; one that is there stays as it is.

    Args:
        items: item, cluster and content, the cells by column.
    """
    content = [
        {**item, "content": json.dumps(item["content"], ensure_ascii=False, sort_keys=True)} for item in items
    ]
    if content:
        values = {"evaluation": evaluation, "item_hash": item_hash}
        execute_with(connection, pl.DataFrame(content), _ITEMS, values)


def leaderboard_sql(evaluation: str, metrics: Rows) -> str:
    """The view ``leaderboard_<evaluation>``: the first headline with its interval and null, then the others.

    Raises:
        WarehouseError: a name that no view or column can have.
    """
    names = [str(row["metric"]) for row in metrics]
    for name in (evaluation, *names):
        if not re.fullmatch(_NAME, name):
            raise WarehouseError(f"{name!r} is no name: use small letters, digits and underscores")
    first, *others = metrics
    beside = [row for row in others if not row["metric"].startswith(("judge_", "unanswered"))]
    template = (_FOLDER / "leaderboard.sql").read_text(encoding="utf-8")
    order = "" if first["direction"] == "lower" else " DESC"
    columns = "".join(
        f"        any_value(v.value) FILTER (v.metric = '{row['metric']}') AS \"{row['metric']}\",\n"
        for row in beside
    )
    comments = "".join(
        f'COMMENT ON COLUMN leaderboard_{evaluation}."{row["metric"]}" '
        f"IS '{_quoted(row['description'])}';\n"
        for row in (first, *beside)
    )
    return (
        template.replace("{evaluation}", evaluation)
        .replace("{headline}", first["metric"])
        .replace("{order}", order)
        .replace("{columns}", columns)
        .replace("{comments}", comments)
    )


def _quoted(text: str) -> str:
    return str(text).replace("'", "''")
