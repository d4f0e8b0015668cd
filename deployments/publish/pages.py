"""Draw the pages of a site besides overview and reports: leaderboards, history, figures, data and SQL."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import polars as pl
from markupsafe import Markup

from deployments.evaluations import doors, sound
from deployments.publish.data import PublishedTable, SiteAbout
from deployments.show import report
from deployments.show.boards import beyond_null, board_with, for_people, history, ranks
from deployments.show.drawings import drawing_cache
from tasks.report.cache import cached_in
from tasks.report.history import history_once
from tasks.report.page import environment
from tasks.report.policy import with_policy
from tasks.report.svg import Drawn
from warehouse import Warehouse, WarehouseError

BESIDE = {
    "leaderboards": "leaderboards.html",
    "history": "history.html",
    "figures": "figures.html",
    "data": "data.html",
    "SQL": "query.html",
}
"""Pages that every page links to: label -> file."""

_CONFIGURATIONS = """
SELECT evaluation, configuration, profile, n_models, finished_at FROM report_configuration
WHERE n_models > 0 ORDER BY evaluation, place
"""
_HEADLINES = """
SELECT m.metric, m.label, m.description, m.direction, v.* EXCLUDE (metric, evaluation, config_hash)
FROM report_value AS v
JOIN metric AS m USING (evaluation, metric)
WHERE evaluation = ? AND config_hash = ? AND m.is_headline AND v.slice_kind = 'overall'
ORDER BY v.is_null, v.model
"""
_ORDER = "SELECT metric, place FROM report_metric WHERE evaluation = ?"
_SOURCES = "FROM report_source ORDER BY place"
_FROM = re.compile(r"FROM (\w+)")
_NUMBERS = re.compile(r"[–∞%\d\s.,\[\]-]*")
_MINUS = re.compile(r"(?<![^\s\[])-(?=\d)")
_INTERVAL = re.compile(r", (?=[^\[\]]*\])")
_EXAMPLES = Path(__file__).with_name("examples.sql")


_QUERY = (
    "script-src 'self' 'wasm-unsafe-eval'",
    "worker-src blob:",
    "connect-src 'self' blob:",
)
"""Policy of the page with SQL: its own programs, WebAssembly, and the site's files."""

Boards = Mapping[str, Sequence[Mapping[str, Any]]]
"""Evaluation -> its configurations as ``boards`` returns them, the shown one first."""


class Pages:
    """Draws pages from the templates.

    Args:
        about: the site's description.
        reports: evaluation -> file of its report.
    """

    def __init__(self, about: SiteAbout, reports: Mapping[str, str]) -> None:
        self._templates = environment({}, "deployments.publish")
        links = {"overview": "index.html", **reports, **BESIDE}
        self._templates.globals |= {"about": about, "links": links, "doors": doors(), "reports": reports}
        self._templates.globals |= {"sql_link": sql_link, "foot": foot(about)}

    def _page(self, file: str, *policy: str, **context: Any) -> str:
        return with_policy(self._templates.get_template(file).render(file=file, **context), *policy)

    def leaderboards(self, boards: Boards, of: str | None = None) -> str:
        """Return the page with the leaderboards of one evaluation, or the list of evaluations."""
        if of is None:
            return self._page("leaderboards.html", boards=boards)
        return self._page("leaderboard.html", evaluation=of, boards=boards)

    def history(self, warehouse: Warehouse, boards: Boards) -> str:
        """Return the page with every headline of every configuration on every occasion."""
        with cached_in(drawing_cache(warehouse.home)):
            return self._page("history.html", histories=_histories(warehouse, boards))

    def figures(self, figures: Mapping[str, Mapping[str, Drawn]]) -> str:
        """Return the page with all figures, by page and name, and links to them as SVG, PDF and CSV."""
        return self._page("figures.html", figures=figures)

    def data(
        self, tables: Sequence[PublishedTable], sources: pl.DataFrame, citation: str, answers: bool
    ) -> str:
        """Return the page with every table and its columns, reference data, licence and citation."""
        values = {"tables": tables, "sources": sources, "citation": citation, "answers": answers}
        return self._page("data.html", **values)

    def query(self, tables: Sequence[PublishedTable]) -> str:
        """Return the page with SQL."""
        there = {table.name for table in tables}
        examples = {words: sql for words, sql in _examples() if there.issuperset(_FROM.findall(sql))}
        # Safe: names of tables are letters and underscores, so none can close the script element.
        files = Markup(json.dumps({table.name: table.file for table in tables}))
        return self._page("query.html", *_QUERY, tables=tables, files=files, examples=examples)


def foot(about: SiteAbout) -> Markup:
    """Return the foot of every page: publisher and licence."""
    title = "" if about.title == "Culturemeter" else f" {about.title}."
    by = f" Published by {about.creator}." if about.creator else ""
    licence = f": {about.licence}" if about.licence else " is not stated"
    link = Markup('<a href="data.html#cite">How to cite, data and licences</a>')
    return Markup("{}{} Licence of the numbers{}. {}.").format(title, by, licence, link)


def _examples() -> Iterator[tuple[str, str]]:
    """Yield each example: its first line, which states the question, and its query."""
    for example in _EXAMPLES.read_text(encoding="utf-8").split("\n\n"):
        words, _, sql = example.partition("\n")
        yield words.removeprefix("-- "), sql.strip()


def sql_link(sql: str) -> str:
    """Return the URL of the page with SQL, with this query filled in."""
    return f"{BESIDE['SQL']}#{urlencode({'sql': sql})}"


def sources(warehouse: Warehouse) -> pl.DataFrame:
    """Return the reference files with their licences."""
    return warehouse.query(_SOURCES)


def boards(warehouse: Warehouse) -> Boards:
    """Return evaluation -> its configurations with models, each with its leaderboard, the shown one first.

    Raises:
        WarehouseError: no run has finished; says which command to run.
    """
    by_evaluation: dict[str, list[dict[str, Any]]] = {}
    for row in warehouse.query(_CONFIGURATIONS).iter_rows(named=True):
        if row["evaluation"] not in sound():
            continue
        name, config = row["evaluation"], row["configuration"]
        door = doors()[name]
        known = ranks(warehouse, name, config)
        board = board_with(warehouse, name, config, known)
        table = for_people(board, door.columns)
        headlines = _matrix(warehouse.query(_HEADLINES, [name, config]), ["model"], _order(warehouse, name))
        order = {model: at for at, model in enumerate(board["model"])}
        headlines["lines"].sort(key=lambda line, order=order: order.get(line["model"], len(order)))
        by_evaluation.setdefault(name, []).append(
            row
            | _cells(table, board["is_null"])
            | {"headlines": headlines, "beyond": beyond_null(warehouse, name, config)}
            | {"ranks": known and f"Rank: {known.note}."}
            | {"published": _published(warehouse, name, config)}
        )
    if not by_evaluation:
        raise WarehouseError(
            "no finished run to publish; start some with: culturemeter run all --profile smoke"
        )
    return by_evaluation


def _cells(table: pl.DataFrame, is_null: Iterable[bool]) -> dict[str, Any]:
    """Return the cells of a leaderboard for the template.

    Returns:
        names: names of the columns; is_text: whether each column holds words; head: index of the model's
        column; rows: for each row, whether it is a null model's, whether its cells before the head differ
        from those of the row above, and its cells.
    """
    names = table.columns
    head = names.index("model") if "model" in names else 0
    rows: list[tuple[bool, bool, list[str]]] = []
    for null, row in zip(is_null, table.iter_rows(), strict=True):
        cells = [cell if at == head else _typeset(str(cell)) for at, cell in enumerate(row)]
        rows.append((null, bool(rows) and cells[:head] != rows[-1][2][:head], cells))
    is_text = [not all(_NUMBERS.fullmatch(str(cell)) for cell in table[name]) for name in names]
    return {"names": names, "is_text": is_text, "head": head, "rows": rows}


def _typeset(cell: str) -> str:
    """Return the cell with true minus signs and no line break within an interval."""
    return _INTERVAL.sub(",\N{NO-BREAK SPACE}", _MINUS.sub("−", cell))


def _order(warehouse: Warehouse, evaluation: str) -> Mapping[str, int]:
    """Return each metric's place in the catalogue."""
    return dict(warehouse.query(_ORDER, [evaluation]).rows())


def _published(warehouse: Warehouse, evaluation: str, config: str) -> pl.DataFrame | None:
    """Return measured numbers beside those of papers; None if there are none to compare."""
    try:
        return report.published_for_people(report.beside_published(warehouse, evaluation, config))
    except WarehouseError:
        return None


def _histories(warehouse: Warehouse, boards: Boards) -> list[dict[str, Any]]:
    """Return each configuration's headlines by model and occasion, with a figure if occasions are several."""
    histories = []
    for name, configurations in boards.items():
        order = _order(warehouse, name)
        for at, board in enumerate(configurations):
            rows = history(warehouse, name, board["configuration"])
            labels = sorted(rows.select("metric", "label").unique().rows(), key=lambda pair: order[pair[0]])
            figure = history_once(rows, labels, f"history-{name}" + (f"-{at + 1}" if at else ""))
            keys = ["model", "run_id", "occasion", "finished_at"]
            histories.append(
                {"evaluation": name, "board": board, "figure": figure, "numbers": _matrix(rows, keys, order)}
            )
    return histories


def _matrix(rows: pl.DataFrame, keys: Sequence[str], order: Mapping[str, int]) -> dict[str, Any]:
    """Turn long rows into a table: a line per key, a column per headline, both in order."""
    if "unscored_reason" not in rows.columns:
        rows = rows.with_columns(unscored_reason=pl.lit(None, pl.String))
    columns = {row["metric"]: row for row in sorted(rows.to_dicts(), key=lambda row: order[row["metric"]])}
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows.iter_rows(named=True):
        line = lines.setdefault(
            tuple(row[key] for key in keys), {key: row[key] for key in keys} | {"cells": {}}
        )
        line["is_null"] = row["is_null"]
        line["cells"][row["metric"]] = row
    return {"columns": columns, "lines": list(lines.values())}
