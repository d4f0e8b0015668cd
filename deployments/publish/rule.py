"""Choose what a site holds: numbers and the tables behind them, on request answers, never people's data.

Nothing is published unless a rule here allows it, so a new table stays private until it is named.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import warehouse
from tasks.parsing import parse_json
from warehouse import KINDS, Warehouse, WarehouseError

NUMBERS = frozenset(
    {"cohort", "country", "metric", "metric_value", "published_metric", "published_result", "run", "source"}
)
"""The tables that are published."""

JOINED = frozenset(
    {
        "domain",
        "answer_loss",
        "dimension",
        "explication_persona",
        "external_rank",
        "guiding_value",
        "human_domain",
        "recipe_metric",
        "user_rank",
    }
)
"""Tables that published views may join: names, people's means, rankings, losses. They are not published."""

LABELS = frozenset({"question", "pack_row"})
"""Tables of prompts and users' content: only views of ``metric_value`` may take names from them."""

PROMPTS = frozenset({"prefix", "prompt", "template"})
"""Columns of these tables that are left out unless answers are published too."""

PEOPLE = re.compile(r"study|human_(?!domain)|annotator|people|review|draft|validation|interview")
"""Names of tables and views with data of individual people, which are never published."""

NO_ANSWERS = frozenset({"content", "embedding"})
"""Kinds of parts that are users' content, or vectors, which are of no use to a reader."""

_RESTS_ON = r"""
SELECT view_name, list_distinct(json_extract_string(json_serialize_sql(
    regexp_replace(sql, '^CREATE VIEW .*? AS ', '')), '$..table_name')) AS tables
FROM duckdb_views() WHERE NOT internal ORDER BY view_name
"""
_TABLES = "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_name"
_CREDENTIAL = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_LEAST = 8


def published(home: Warehouse, include_answers: bool = False) -> list[str]:
    """Return the names of the tables and views to publish, in alphabetical order.

    They are ``NUMBERS``; the leaderboards (``leaderboard…``), which by contract show numbers; and every view
    that reads only ``NUMBERS``, ``JOINED`` and, if it shows numbers, ``LABELS``. The views behind reports
    (``report_…``) are left out, since they only repeat these.

    Args:
        include_answers: also publish models' stored answers, and the views that join them with prompts.
    """
    # These two are views: of a table and archived rows, and of a table and shown names.
    tables = {"metric_value", "run", *home.query(_TABLES)["table_name"]}
    views = {view: set(reads) for view, reads in home.query(_RESTS_ON).iter_rows()}
    answers = set(KINDS) - NO_ANSWERS if include_answers else set()
    prompts = (
        tables & (_reference() | {"dish", "dish_set", "item", "run_request"}) if include_answers else set()
    )
    allowed = NUMBERS | JOINED | answers | prompts

    def rests_on(view: str) -> set[str]:
        """Return the tables and kinds of parts behind a view; other names are its WITH clauses."""
        if view in KINDS or view in tables:
            return {view}
        return set().union(*(rests_on(name) for name in views.get(view, set()) - {view}))

    def is_shown(view: str) -> bool:
        roots = rests_on(view)
        return roots <= (allowed | LABELS if "metric_value" in roots else allowed)

    visible = {
        view
        for view in views.keys() - KINDS.keys()
        if view.startswith("leaderboard") or (not view.startswith("report_") and is_shown(view))
    }
    return sorted(name for name in NUMBERS | answers | visible if not PEOPLE.search(name))


def _reference() -> set[str]:
    """Return the tables of the reference files."""
    (root,) = warehouse.__path__
    return {path.stem for path in (Path(root) / "reference").iterdir()}


def credentials() -> Iterator[tuple[str, str]]:
    """Yield name and value of environment variables that look like keys, passwords or tokens."""
    for name, value in os.environ.items():
        if _CREDENTIAL.search(name) and len(value) >= _LEAST:
            yield name, value


def refuse_secrets(text: str, where: str) -> None:
    """Raise WarehouseError if a text contains the value of such a variable; names variable and place."""
    for name, value in credentials():
        if value in text:
            raise WarehouseError(
                f"the value of the variable {name} is in {where}: nothing was published. Find the run "
                'with: culturemeter sql "SELECT run_id, engine, params FROM run". If it is not a secret, '
                "unset the variable"
            )


def without_folders(text: str) -> str:
    """Return a JSON text with every absolute path cut to its file or folder name, to keep users' folders
    private."""
    return json.dumps(_named(parse_json(text)), ensure_ascii=False)


def _named(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _named(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_named(each) for each in value]
    for kind in (PurePosixPath, PureWindowsPath):
        if isinstance(value, str) and (kind(value).is_absolute() or value.startswith("~")):
            return kind(value).name
    return value
