"""Which runs of another home are taken over, and why the others are not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import duckdb
import polars as pl

from warehouse.part_kinds import KINDS
from warehouse.parts import CorruptPart, read_content
from warehouse.removal import ANSWERS
from warehouse.snapshot import content_of
from warehouse.storage import fetched
from warehouse.store import Store

OF_ALL = (*ANSWERS, "content")
"""Kinds of parts that belong to no single run: they are taken over whatever becomes of a run."""
_ANSWERING = (*ANSWERS, "imported_answer")
"""Kinds of parts from which numbers are computed."""
_PROVENANCE = ("part", "run_id", "model")
"""Columns in which equal answers of two homes differ."""

_RUNS = """
SELECT o.run_id, o.evaluation, o.model, o.is_null, o.status, o.config_hash, t.status AS here,
    coalesce(o.params->>'cohort', 'first') AS cohort
FROM other.run_base AS o LEFT JOIN run_base AS t USING (run_id) ORDER BY o.started_at, o.run_id
"""
_COHORTS = """
SELECT config_hash, cohort, list_sort(list(run_id)) AS runs FROM {db}cohort GROUP BY ALL ORDER BY ALL
"""
_OVERLAP = """
SELECT DISTINCT kind, request_hash, unit, o.part, t.part AS here
FROM other.part_unit_base AS o JOIN part_unit_base AS t USING (kind, request_hash, unit)
WHERE o.part <> t.part AND kind IN (SELECT unnest($kinds::VARCHAR[]))
    AND request_hash IN (SELECT request_hash FROM other.run_request WHERE list_contains($runs, run_id))
ORDER BY ALL
"""
_NAMING = "SELECT run_id, request_hash FROM other.run_request WHERE list_contains($runs, run_id)"
_NUMBER_PARTS = """
SELECT request_hash AS run_id, part FROM {db}part_unit_base
WHERE kind = 'metric_row' AND list_contains($runs, request_hash)
"""
_NUMBERS = "FROM {db}metric_value_base WHERE list_contains($runs, run_id)"


class Home(NamedTuple):
    """One of the two homes. db: prefix of its tables on the connection."""

    db: str
    store: Store


@dataclass(frozen=True)
class Decision:
    """Runs to take over.

    Attributes:
        runs: the runs. replaced: those among them that are here, but not finished.
        cohorts: config_hash and cohort of the frozen cohorts to take over, of n_cohorts.
        conflicts: a line for each finished run that is not taken over, or whose numbers here are others.
    """

    runs: tuple[str, ...]
    replaced: tuple[str, ...]
    cohorts: pl.DataFrame
    n_cohorts: int
    conflicts: tuple[str, ...]


def decide(
    connection: duckdb.DuckDBPyConnection,
    target: Home,
    source: Home,
    compares: Callable[[str], bool],
    busy: Collection[str],
    lacking: Collection[tuple[str, str]],
    compared: dict[object, frozenset[str]],
) -> Decision:
    """Return the runs to take over: those that are not here, and finished ones that are not finished here.

    Args:
        compares: evaluation -> whether its numbers are computed over a cohort.
        busy: runs that processes work on here. lacking: (kind, part) of damaged parts of the other home.
        compared: results of comparisons of answers, kept between calls.
    """
    every = fetched(connection.execute(_RUNS))
    is_new = pl.col("here").is_null()
    is_better = (pl.col("here") != "finished") & (pl.col("status") == "finished")
    wanted = every.filter((is_new | is_better).fill_null(True))
    finished = wanted.filter(status="finished")["run_id"].to_list()
    refused = {run: "a process is working on it here" for run in wanted["run_id"] if run in busy}
    refused |= dict.fromkeys(
        _with_lost_numbers(connection, finished, lacking), "its numbers are in a damaged part"
    )
    refused |= dict.fromkeys(
        _with_other_answers(connection, target, source, finished, compared),
        "this home had other answers to its requests first",
    )
    cohorts, own = _cohorts(connection, source), _cohorts(connection, target)
    compared_runs = wanted.filter(
        pl.col("status") == "finished",
        pl.col("evaluation").map_elements(lambda name: compares(name), pl.Boolean),
    )
    here = set(every.filter(pl.col("here").is_not_null())["run_id"])
    travelling: set[tuple[str, str]] = set()
    while True:  # a run that stays may be of a cohort, which then cannot come either
        coming = here | (set(wanted["run_id"]) - refused.keys())
        travelling = {key for key, runs in cohorts.items() if key not in own and coming.issuperset(runs)}
        fixed = travelling | {key for key, runs in cohorts.items() if own.get(key) == runs}
        new = {
            run: f"its numbers compare models with the cohort {cohort}, which has other models here"
            for run, config, cohort in compared_runs.select("run_id", "config_hash", "cohort").rows()
            if run not in refused and (config, cohort) in cohorts.keys() - fixed
        }
        if not new:
            break
        refused |= new
    taken = wanted.filter(~pl.col("run_id").is_in(list(refused)))
    both = every.filter(
        (pl.col("here") == "finished") & (pl.col("status") == "finished") & ~pl.col("is_null")
    )["run_id"].to_list()
    differing = _with_other_numbers(connection, target, source, both)
    return Decision(
        runs=tuple(taken["run_id"]),
        replaced=tuple(taken.filter(pl.col("here").is_not_null())["run_id"]),
        cohorts=pl.DataFrame(
            sorted(travelling), {"config_hash": pl.String, "cohort": pl.String}, orient="row"
        ),
        n_cohorts=len(cohorts),
        conflicts=tuple(_lines(every, refused, differing)),
    )


def _lines(every: pl.DataFrame, refused: Mapping[str, str], differing: Collection[str]) -> list[str]:
    """Return the lines on runs; null models, which the next run computes again, have none."""
    lines = []
    models = every.filter(~pl.col("is_null"))
    for run, evaluation, model in models.select("run_id", "evaluation", "model").rows():
        name = f"run {run} ({evaluation}, {model})"
        if run in refused:
            lines.append(f"{name} is not taken over: {refused[run]}")
        elif run in differing:
            lines.append(f"{name} is here with other numbers, which stay")
    return lines


def _cohorts(connection: duckdb.DuckDBPyConnection, home: Home) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return (config_hash, cohort) -> its runs."""
    rows = connection.execute(_COHORTS.format(db=home.db)).fetchall()
    return {(config, cohort): tuple(runs) for config, cohort, runs in rows}


def _with_lost_numbers(
    connection: duckdb.DuckDBPyConnection, runs: list[str], lacking: Collection[tuple[str, str]]
) -> set[str]:
    """Return the runs whose numbers are in damaged parts."""
    parts = connection.execute(_NUMBER_PARTS.format(db="other."), {"runs": runs}).fetchall()
    return {run for run, part in parts if ("metric_row", part) in lacking}


def _with_other_answers(
    connection: duckdb.DuckDBPyConnection,
    target: Home,
    source: Home,
    runs: list[str],
    compared: dict[object, frozenset[str]],
) -> set[str]:
    """Return the runs with a request to which the target has other answers than the source."""
    overlap = fetched(connection.execute(_OVERLAP, {"kinds": list(_ANSWERING), "runs": runs}))
    requests: set[str] = set()
    for (kind, part, here), units in overlap.group_by("kind", "part", "here", maintain_order=True):
        key = kind, part, here, tuple(units.select("request_hash", "unit").rows())
        if key not in compared:
            compared[key] = _differing(source, target, str(kind), str(part), str(here), units)
        requests |= compared[key]
    named = connection.execute(_NAMING, {"runs": runs}).fetchall() if requests else []
    return {run for run, request in named if request in requests}


def _differing(
    source: Home, target: Home, kind: str, part: str, here: str, units: pl.DataFrame
) -> frozenset[str]:
    """Return the requests whose answers to `units` differ between two parts, or cannot be read."""
    declared = KINDS[kind]
    keys = ["request_hash", declared.unit]
    columns = [name for name in declared.columns if name not in _PROVENANCE]
    one, two = (rows_of(home.store, kind, name) for home, name in ((source, part), (target, here)))
    every = frozenset(units["request_hash"])
    if one is None or two is None:
        return every
    wanted = units.select("request_hash", pl.col("unit").alias(declared.unit))
    pair = [
        frame.join(wanted, on=keys, how="semi").select(columns).sort("request_hash", *declared.key)
        for frame in (one, two)
    ]
    if pair[0].equals(pair[1]):
        return frozenset()
    by_request = [frame.partition_by("request_hash", as_dict=True) for frame in pair]
    nothing = pair[0].clear()
    return frozenset(
        request
        for request in every
        if not by_request[0].get((request,), nothing).equals(by_request[1].get((request,), nothing))
    )


def rows_of(store: Store, kind: str, part: str) -> pl.DataFrame | None:
    """Return all declared columns of a part's rows, or None if it is missing, damaged or not of the kind."""
    try:
        return read_content(kind, part, content_of(store, kind, part))
    except CorruptPart:
        return None


def _with_other_numbers(
    connection: duckdb.DuckDBPyConnection, target: Home, source: Home, runs: list[str]
) -> set[str]:
    """Return the finished runs of both homes whose numbers differ."""
    parts = [
        dict(connection.execute(_NUMBER_PARTS.format(db=home.db), {"runs": runs}).fetchall())
        for home in (target, source)
    ]
    unequal = [run for run in runs if run not in parts[0] or parts[0][run] != parts[1].get(run)]
    numbers = [
        _numbers(connection, home, unequal, own) for home, own in zip((target, source), parts, strict=True)
    ]
    return {run for run in unequal if run in numbers[1] and numbers[0].get(run) != numbers[1][run]}


def _numbers(
    connection: duckdb.DuckDBPyConnection, home: Home, runs: list[str], parts: Mapping[str, str]
) -> dict[str, list[tuple[object, ...]]]:
    """Return run -> its metric rows, from the file and from parts."""
    frame = fetched(connection.execute(_NUMBERS.format(db=home.db), {"runs": runs}))
    frames = [frame]
    for part in sorted({parts[run] for run in runs if run in parts}):
        rows = rows_of(home.store, "metric_row", part)
        if rows is not None:
            of_part = [run for run in runs if parts.get(run) == part]
            own = rows.filter(pl.col("run_id").is_in(of_part))
            frames.append(own.select(frame.columns).cast(frame.schema))
    every = pl.concat(frames).sort("run_id", "metric", "slice_kind", "slice")
    by_run = every.drop("model").partition_by("run_id", as_dict=True, maintain_order=True)
    return {str(run): rows.rows() for (run,), rows in by_run.items()}
