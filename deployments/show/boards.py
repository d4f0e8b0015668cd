"""Read leaderboards: a configuration's rows by place, with the ranks that the data allow, and their
history.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from deployments.show.display import interval
from tasks.report import Row
from warehouse import Warehouse, WarehouseError

if TYPE_CHECKING:
    from flows.ranks import Ranked

_BOARD = """
SELECT board.*, nullif(run.engine->>'dtype', 'auto') AS dtype, run.engine->>'revision' AS revision
FROM {board} AS board LEFT JOIN run ON run.run_id = board.run_id
WHERE board.config_hash = ? ORDER BY place
"""
_HISTORY = """
SELECT * FROM leaderboard_history WHERE evaluation = ? AND config_hash = ?
ORDER BY is_null, model, finished_at DESC, occasion, metric
"""
_OCCASIONS = "SELECT DISTINCT coalesce(occasion, '') AS occasion FROM run WHERE config_hash = ? ORDER BY ALL"
_RANKED = """
SELECT m.metric, m.label, count(*) AS n_models
FROM latest_run AS r
JOIN metric AS m ON m.evaluation = r.evaluation AND m.is_headline AND m.direction IN ('higher', 'lower')
JOIN metric_value AS v ON v.run_id = r.run_id AND v.metric = m.metric AND v.slice_kind = 'overall'
WHERE r.evaluation = ? AND r.config_hash = ? AND NOT r.is_null AND v.value IS NOT NULL
GROUP BY m.metric, m.label, m.rowid ORDER BY m.rowid LIMIT 1
"""
"""The first headline that some model has a value of."""
_JUDGED = """
SELECT any_value(r.evaluation) FROM verdict AS v JOIN latest_run AS r USING (run_id)
WHERE r.config_hash = ? AND NOT r.is_null AND v.value IS NOT NULL
HAVING count(*) > 0 AND bool_and(v.judged_text IS NOT NULL)
"""
RANK = "rank"
"""Column of ranks for people; csv, json and Python have ``rank_low`` and ``rank_high``."""


class Ranks(NamedTuple):
    """The rank sets of a board on its first headline: run -> set. note: what the column says."""

    sets: Mapping[str, Ranked]
    note: str


def ranks(warehouse: Warehouse, evaluation: str, config: str, occasion: str | None = None) -> Ranks | None:
    """Return the ranks that the data allow on the first headline of a board; None for fewer than two models.

    They are computed at every reading, because they depend on who else is on the board (``flows.ranks``).
    """
    headline = warehouse.rows(_RANKED, [evaluation, config], _variables(occasion)).rows
    if not headline or headline[0][2] < 2:
        return None
    from flows.ranks import ranked  # imports numpy and scipy, which a board of one model does not need

    metric, label, _ = headline[0]
    rows = ranked(warehouse, [config], occasion, metric)
    if len(rows) < 2:
        return None
    reason = next((f". {row.reason}" for row in rows if row.reason), "")
    note = f"ranks that the data allow on {label}, over all {len(rows)} models at 95 %{reason}"
    return Ranks({row.run_id: row for row in rows}, note)


CEILING = (
    "People's mean of the same number, scored as a model is; no model, and in no ranking or cohort. Its "
    "interval is over people and over clusters of items."
)
RECTIFIED = (
    "Rectified: the mean that people would give, estimated from all verdicts and from people's ratings of a "
    "drawn sample. A gap above 0 says that the judge scores higher than people. The interval is over the "
    "judge's clusters, and holds whatever the judge gets wrong; where it is missing, the note says why."
)


def _is_rated(warehouse: Warehouse) -> bool:
    """Return whether people have rated judged answers."""
    return bool(warehouse.rows("SELECT 1 FROM study WHERE kind = 'judge-ratings' LIMIT 1").rows)


def rectified_lines(warehouse: Warehouse, config: str) -> list[dict[str, Any]]:
    """Return judges' means beside those rectified by people's ratings, for people; without ratings, what a
    sample of them would give; none without a judge.
    """
    found = warehouse.rows(_JUDGED, [config]).rows
    if not found:
        return []
    from deployments.show import judged, rectified, rectified_tables

    chosen = judged.Chosen(found[0][0], config)
    rated = warehouse.query(rectified.RATED)
    return rectified_tables.lines([*rectified.of_config(warehouse, chosen, rated, with_unrated=True)])


def ceiling_lines(warehouse: Warehouse, config: str) -> list[dict[str, Any]]:
    """Return people's means of a configuration's headlines, for people; none without a scored study."""
    if not warehouse.rows("SELECT 1 FROM human_ceiling WHERE config_hash = ? LIMIT 1", [config]).rows:
        return []
    from deployments.people import ceiling

    return ceiling.lines(warehouse, config)


def sql_variables(warehouse: Warehouse, sql: str) -> dict[str, list[str]]:
    """Return the variables that a query's views need: rank sets of every board if it names ``rank_set``, and
    rectified means if it names ``rectified``.
    """
    own: dict[str, list[str]] = {}
    if re.search(r"\brank_set\b", sql, re.IGNORECASE):
        from flows.ranks import ranked, variables

        own |= variables(ranked(warehouse))
    if re.search(r"\brectified\b", sql, re.IGNORECASE):
        from deployments.show import rectified

        own |= rectified.variables(rectified.rectified(warehouse))
    return own


def leaderboard(
    warehouse: Warehouse, evaluation: str, config: str, occasion: str | None = None
) -> pl.DataFrame:
    """Return the rows of one configuration on an occasion (default: each model's newest), by place, with the
    models' dtype and revision, and the ranks that the data allow them (``ranks``; null for null models).

    Where people rated a drawn sample, each judged headline has four columns more: ``<headline>_rectified``,
    ``_low``, ``_high`` and ``_labels``; not on a named occasion.

    Raises:
        WarehouseError: the configuration has no run on the occasion; lists its occasions.
    """
    known = ranks(warehouse, evaluation, config, occasion)
    board = board_with(warehouse, evaluation, config, known, occasion)
    if occasion or not _is_rated(warehouse):
        return board
    from deployments.show import rectified

    cells: dict[str, dict[str, Any]] = {}
    for row in (each.row for each in rectified.rectified(warehouse, [config])):
        ends = {"": row.value, "_low": row.ci_low, "_high": row.ci_high, "_labels": row.n_labels}
        if not row.source:
            own = cells.setdefault(row.run_id, {})
            own |= {f"{row.metric}{end}": value for end, value in ends.items()}
    names = dict.fromkeys(name for own in cells.values() for name in own)
    runs = board["run_id"].to_list()
    return board.with_columns(
        pl.Series(
            name,
            [cells.get(run, {}).get(name) for run in runs],
            pl.Int64 if name.endswith("_labels") else pl.Float64,
        )
        for name in names
    )


def board_with(
    warehouse: Warehouse, evaluation: str, config: str, known: Ranks | None, occasion: str | None = None
) -> pl.DataFrame:
    """Return ``leaderboard`` with the ranks that are already known."""
    board = warehouse.query(*_board(evaluation, config, occasion))
    if board.is_empty():
        _check_occasion(warehouse, config, occasion)
    behind = [name for name in _BEHIND if name in board.columns]
    sets = {} if known is None else known.sets
    own = [sets.get(run) for run in board["run_id"]]
    board = board.with_columns(
        pl.Series("rank_low", [each and each.low for each in own], pl.Int64),
        pl.Series("rank_high", [each and each.high for each in own], pl.Int64),
    )
    return board.select("model", pl.exclude("model", *behind), *behind)


def board_for_people(
    warehouse: Warehouse,
    evaluation: str,
    config: str,
    occasion: str | None,
    columns: Callable[[Row], dict[str, Any]],
    known: Ranks | None = None,
) -> list[dict[str, Any]]:
    """Return ``for_people`` of ``leaderboard``; raises as ``leaderboard`` does.

    A board of one model loads no polars.

    Args:
        known: ``ranks`` of the board; None: no column of ranks.
    """
    rows = warehouse.rows(*_board(evaluation, config, occasion)).dicts()
    if not rows:
        _check_occasion(warehouse, config, occasion)
    if known is not None:
        for row in rows:
            own = known.sets.get(row["run_id"])
            row |= {"rank_low": own and own.low, "rank_high": own and own.high}
    return _for_people(rows, columns)


def _board(evaluation: str, config: str, occasion: str | None) -> tuple[str, list[str], dict[str, str]]:
    """Return the query of a leaderboard, its parameters and its variables."""
    sql = _BOARD.format(board=f"leaderboard_{evaluation}")
    return sql, [config], _variables(occasion)


def _variables(occasion: str | None) -> dict[str, str]:
    """Return the variables with which views show an occasion; none for each model's newest."""
    return {} if occasion is None else {"occasion": occasion}


def _check_occasion(warehouse: Warehouse, config: str, occasion: str | None) -> None:
    """Raise WarehouseError for an occasion without runs; lists the occasions."""
    if occasion is not None:
        names = ", ".join(
            name or '"" (runs without one)' for (name,) in warehouse.rows(_OCCASIONS, [config]).rows
        )
        raise WarehouseError(f"no finished run on the occasion {occasion!r}; known: {names}")


_BEHIND = ("place", "is_null", "profile", "config_hash", "run_id", "finished_at", "dtype", "revision")
"""Columns that come last in leaderboards, so that the important ones fit the screen."""


def history(warehouse: Warehouse, evaluation: str, config: str) -> pl.DataFrame:
    """Return the headlines of one configuration on every occasion: models by name, newest first."""
    return warehouse.query(_HISTORY, [evaluation, config])


def history_for_people(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per model and occasion with a column per headline, without null models."""
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows.filter(~pl.col("is_null")).to_dicts():
        line = lines.setdefault((row["run_id"], row["model"]), {})
        line |= {"model": row["model"], "occasion": row["occasion"] or "–"}
        line[row["label"]] = interval(row["value"], row["ci_low"], row["ci_high"])
        line["finished"] = row["finished_at"]
    table = pl.DataFrame(list(lines.values()), infer_schema_length=None)
    return table.select(pl.exclude("finished"), *(["finished"] if lines else []))


def for_people(board: pl.DataFrame, columns: Callable[[Row], dict[str, Any]]) -> pl.DataFrame:
    """Return the main columns; models that share a name get dtype and revision added."""
    if board["rank_low"].is_null().all():
        board = board.drop("rank_low", "rank_high")
    return pl.DataFrame(_for_people(board.to_dicts(), columns))


def _for_people(rows: list[dict[str, Any]], columns: Callable[[Row], dict[str, Any]]) -> list[dict[str, Any]]:
    bases = Counter(name.partition("#")[0] for name in {str(row["model"]) for row in rows})
    for row in rows:
        if bases[str(row["model"]).partition("#")[0]] > 1:
            row["model"] = " ".join(filter(None, (row["model"], row["dtype"], row["revision"])))
    return [_with_rank(row, columns(row)) | {n: row[n] or "–" for n in ("dtype", "revision")} for row in rows]


def _with_rank(row: Row, cells: dict[str, Any]) -> dict[str, Any]:
    """Return the cells with the model's possible ranks after its name, if the board has any."""
    if "rank_low" not in row:
        return cells
    low, high = row["rank_low"], row["rank_high"]
    shown = "–" if low is None else str(low) if low == high else f"{low}-{high}"
    return {"model": cells["model"], RANK: shown} | cells


_BEYOND = """
SELECT a.label, string_agg(DISTINCT a.model, ', ' ORDER BY a.model) FILTER (a.is_beyond_null)
FROM against_null AS a JOIN report_metric AS m USING (evaluation, metric)
WHERE run_id IN (SELECT run_id FROM latest_run) AND evaluation = ? AND config_hash = ?
    AND is_beyond_null IS NOT NULL
GROUP BY a.label, m.place ORDER BY m.place
"""


def beyond_null(warehouse: Warehouse, evaluation: str, config: str, occasion: str | None = None) -> str:
    """Return a line with each headline's models beyond their null; "" if that is not known of any model."""
    rows = warehouse.rows(_BEYOND, [evaluation, config], _variables(occasion)).rows
    headlines = [f"{label}: {models or 'none'}" for label, models in rows]
    return f"Models beyond their null. {'; '.join(headlines)}." if headlines else ""
