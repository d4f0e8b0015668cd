"""Rows of another home that belong together under a key and are taken over together, if the key is new here.

Tables that are not named here stay with their home: reference data and state, which code sets; attempts to
fetch lists (ingest), which tell what this home did; and drafts of the builds of SpecNorm and CulturALL, which
are worked on in one home and published as files.
"""

from __future__ import annotations

from typing import NamedTuple

import duckdb

from warehouse.recipes import save_recipe
from warehouse.reference import reference_folder
from warehouse.storage import fetched
from warehouse.store import Store


class Group(NamedTuple):
    """Tables whose rows belong together. The first table has a row for every key.

    what: name of the keys in messages. times: columns that say when rows came, in which equal ones differ.
    """

    what: str
    key: tuple[str, ...]
    tables: tuple[str, ...]
    times: tuple[str, ...] = ()


GROUPS = (
    Group("rankings", ("benchmark",), ("user_rank",), ("added_at", "source")),
    Group(
        "validations of judges",
        ("judge", "judge_hash", "rubric", "dimension"),
        ("judge_validation",),
        ("created_at", "source"),
    ),
    Group(
        "studies with people",
        ("study",),
        (
            "study",
            "study_item",
            "human_answer",
            "human_exclusion",
            "human_domain",
            "human_ceiling",
            "conversation_validation",
        ),
        ("pulled_at",),
    ),
    Group(
        "packs",
        ("pack_hash",),
        ("pack", "pack_row"),
        ("added_at", "pack", "title", "version", "author", "licence", "source"),
    ),
    Group("versions of recipes' items", ("evaluation", "item_hash"), ("evaluation_item",)),
    Group("dish sets", ("dish_set",), ("dish_set", "dish"), ("loaded_at",)),
)
"""A study comes whole or not at all: people who withdrew here must not come back with another home's rows."""

_NEW = "SELECT DISTINCT {key} FROM other.{table} ANTI JOIN {table} USING ({key})"
_COUNT = "SELECT count(*) FROM (SELECT DISTINCT {key} FROM other.{table})"
_TAKE = "INSERT INTO {table} BY NAME FROM other.{table} SEMI JOIN new_key USING ({key})"
_HASHES = """
SELECT {key}, count(*) AS n, bit_xor(hash(t)) AS signs
FROM (SELECT {columns} FROM {db}{table}) AS t GROUP BY {key}
"""
_DIFFERING = """
SELECT DISTINCT {key} FROM ((({theirs}) EXCEPT ({ours})) UNION (({ours}) EXCEPT ({theirs}))) AS of_one
SEMI JOIN {head} USING ({key}) SEMI JOIN other.{head} USING ({key}) ORDER BY ALL
"""
_COLUMNS = """
SELECT column_name FROM duckdb_columns()
WHERE database_name = current_database() AND table_name = ? ORDER BY column_index
"""


def take_groups(connection: duckdb.DuckDBPyConnection, group: Group) -> tuple[int, int]:
    """Take over the rows of the keys that are new here; return the number of these keys and of the others."""
    key, head = ", ".join(group.key), group.tables[0]
    connection.execute(f"CREATE TEMP TABLE new_key AS {_NEW.format(key=key, table=head)}")
    try:
        for table in group.tables:
            connection.execute(_TAKE.format(table=table, key=key))
        n = _n(connection, "SELECT count(*) FROM new_key")
    finally:
        connection.execute("DROP TABLE new_key")
    return n, _n(connection, _COUNT.format(key=key, table=head)) - n


def conflicts_of(connection: duckdb.DuckDBPyConnection, group: Group) -> list[str]:
    """Return a line for each key of both homes whose rows differ. Call it before ``take_groups``."""
    key, head = ", ".join(group.key), group.tables[0]
    names: dict[str, None] = {}
    for table in group.tables:
        columns = [name for (name,) in connection.execute(_COLUMNS, [table]).fetchall()]
        kept = ", ".join(f'"{name}"' for name in columns if name not in group.times)
        theirs, ours = (_HASHES.format(key=key, columns=kept, db=db, table=table) for db in ("other.", ""))
        rows = connection.execute(_DIFFERING.format(key=key, theirs=theirs, ours=ours, head=head)).fetchall()
        names |= dict.fromkeys(", ".join(map(str, row)) for row in rows)
    return [f"{group.what}: {name} is here with other content, which stays" for name in names]


def take_lists(connection: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    """Take over the versions of item lists that runs of the other home name; no new one becomes current.

    Returns:
        The number of versions that are new here, and of the others.
    """
    named = "SELECT DISTINCT value FROM (SELECT unnest(map_values(lists)) AS value FROM ({}))"
    lists = named.format(
        "SELECT from_json(item_lists, '\"MAP(VARCHAR, VARCHAR)\"') AS lists FROM other.run_base"
    )
    every = f"SELECT list_hash FROM other.item_list WHERE list_hash IN ({lists})"
    n_all = _n(connection, f"SELECT count(*) FROM ({every})")
    connection.execute(f"CREATE TEMP TABLE new_key AS FROM ({every}) ANTI JOIN item_list USING (list_hash)")
    try:
        connection.execute(
            "INSERT INTO item_list BY NAME SELECT * REPLACE (false AS is_current) FROM other.item_list "
            "SEMI JOIN new_key USING (list_hash)"
        )
        connection.execute(_TAKE.format(table="item", key="list_hash"))
        n = _n(connection, "SELECT count(*) FROM new_key")
    finally:
        connection.execute("DROP TABLE new_key")
    return n, n_all - n


def take_recipes(connection: duckdb.DuckDBPyConnection, store: Store) -> tuple[int, int]:
    """Take over metrics and published numbers of evaluations from recipes that are not registered here.

    Evaluations that are registered here get the metrics that they lack. Returns the numbers of metrics that
    are new here, and of the others.
    """
    n_all = _n(connection, "SELECT count(*) FROM other.recipe_metric")
    new = fetched(
        connection.execute("FROM other.recipe_metric ANTI JOIN recipe_metric USING (evaluation, metric)")
    )
    known = {
        name for (name,) in connection.execute("SELECT DISTINCT evaluation FROM recipe_metric").fetchall()
    }
    for (evaluation,), rows in new.sort("evaluation", "place").group_by("evaluation", maintain_order=True):
        if evaluation in known:
            continue
        published = fetched(
            connection.execute("FROM other.recipe_published WHERE evaluation = ?", [evaluation])
        )
        doubts = {row["metric"]: row["doubts"] for row in rows.to_dicts() if row["doubts"] is not None}
        metrics = rows.drop("evaluation", "place", "doubts").to_dicts()
        save_recipe(
            connection, store, str(evaluation), metrics, doubts, published.drop("evaluation").to_dicts()
        )
    connection.execute(
        "INSERT INTO recipe_metric BY NAME SELECT * REPLACE (place + 1000 AS place) FROM other.recipe_metric "
        "ANTI JOIN recipe_metric USING (evaluation, metric)"
    )
    connection.execute(
        "INSERT INTO metric SELECT * EXCLUDE (place, doubts) FROM recipe_metric "
        "ANTI JOIN metric USING (evaluation, metric) "
        "WHERE NOT list_contains($shipped::VARCHAR[], evaluation) "
        "ORDER BY evaluation, place",
        {"shipped": [file.stem for file in (reference_folder() / "metric").glob("*.csv")]},
    )
    connection.execute(
        "INSERT INTO recipe_published BY NAME FROM other.recipe_published "
        "ANTI JOIN recipe_published USING (evaluation, source, model, slice_kind, slice)"
    )
    return new.height, n_all - new.height


def _n(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    return int(connection.execute(sql).fetchall()[0][0])
