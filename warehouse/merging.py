"""Takes over the parts, runs, imports, rankings and ratings of another home: the first registration counts.

Parts come first, under the names that their content gives them. Then one transaction takes over all rows and
registers the parts. So a kill loses nothing, and the same merge again goes on; once it is done, it changes
nothing. The other store is only read.

A finished run is taken over only if its numbers are right here too. If this store has other answers to its
requests, or another cohort of that name that its numbers are compared with, its answers are taken over and
its numbers are not: running it here computes them, and sends nothing again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import polars as pl

from warehouse.archive import forget_metrics
from warehouse.claims import at_work
from warehouse.connection import Warehouse
from warehouse.literals import list_parts
from warehouse.local_store import LocalStore
from warehouse.merged_rows import GROUPS, conflicts_of, take_groups, take_lists, take_recipes
from warehouse.merged_runs import OF_ALL, Decision, Home, decide
from warehouse.names import take_names
from warehouse.needed import empty_files
from warehouse.part_kinds import KINDS, create_empty_parts, is_as_written
from warehouse.parts import CorruptPart, read_content, read_orphan, register_parts, units_of
from warehouse.published import damaged, is_damage
from warehouse.snapshot import content_of, register_unregistered, snapshot
from warehouse.storage import WarehouseError, execute_with, fetched
from warehouse.store import Store

_UNITS = """
SELECT kind, part, request_hash, unit FROM other.part_unit_base AS o
ANTI JOIN part_unit_base USING (kind, request_hash, unit)
WHERE kind IN (SELECT unnest($of_all::VARCHAR[]))
    OR (kind = 'metric_row' AND request_hash IN (SELECT unnest($runs::VARCHAR[])))
    OR (kind NOT IN (SELECT unnest($of_all::VARCHAR[])) AND kind <> 'metric_row'
        AND run_id IN (SELECT unnest($runs::VARCHAR[])))
ORDER BY ALL
"""
_FORGET = (
    "DELETE FROM part_unit_base WHERE run_id = $run AND kind NOT IN (SELECT unnest($of_all::VARCHAR[]))",
    "DELETE FROM run_request WHERE run_id = $run AND len($of_all::VARCHAR[]) > 0",
    "DELETE FROM run_base WHERE run_id = $run AND len($of_all::VARCHAR[]) > 0",
)
_TAKE = """
INSERT INTO {table} BY NAME FROM other.{table} WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
"""
_TAKE_COHORTS = "INSERT INTO cohort BY NAME FROM other.cohort SEMI JOIN incoming USING (config_hash, cohort)"
_COUNTS = """
SELECT count(*) FILTER (kind IN (SELECT unnest($of_all::VARCHAR[]))) AS answers,
    (SELECT count(*) FROM other.run_base) AS runs FROM other.part_unit_base
"""

Report = Callable[[int, int], None]
"""Callback for progress, called with the number of parts that were looked at and their total."""


@dataclass(frozen=True)
class Merged:
    """Result of a merge, or of a dry one.

    Attributes:
        taken: what, n_taken (rows that are new here), n_left (rows of the other home that are here already
            or not taken over), for each kind of row that the other home has.
        conflicts: what was not taken over, and why, one line each.
        damaged: kind/part of the damaged or missing parts that were left out, with the reason.
        n_waiting: number of requests whose answers the other home awaits from a server.
    """

    taken: pl.DataFrame
    conflicts: tuple[str, ...]
    damaged: tuple[str, ...]
    n_waiting: int


def merge(
    target: Warehouse,
    source: Store,
    compares: Callable[[str], bool] = lambda evaluation: True,
    *,
    is_dry: bool = False,
    report: Report = lambda n, total: None,
) -> Merged:
    """Take over what `source` has and `target` lacks, and return it.

    Args:
        source: another home or shared store of the same schema; nothing is written to it.
        compares: evaluation -> whether its numbers are computed over a cohort (``Evaluation.compares``).
        is_dry: whether to change nothing.

    Raises:
        WarehouseError: `source` is `target` or lies within it, has another schema, or cannot be read.
    """
    _refuse_itself(target.store, source)
    with TemporaryDirectory(prefix="culturemeter-merge-") as folder:
        there, here = Path(folder, "there"), Path(folder, "here")
        there.mkdir()
        here.mkdir()
        other = snapshot(source, there)
        try:
            merging = _Merging(target, source, compares)
            merging.damaged |= register_unregistered(source, other)
            own = snapshot(target.store, here)
            merging.fetch(_planned(merging, own, other), is_dry, report)
            if merging.damaged:
                _planned(merging, own, other)
            if merging.has_new and not is_dry:
                with target.write() as connection:
                    with _attached(connection, other):
                        units = merging.take(connection)
                    register_parts(connection, merging.registrations(units))
        except duckdb.Error as error:
            if is_damage(error):
                raise damaged(source.place, error) from error
            raise WarehouseError(f"{source.place} cannot be merged: {str(error).splitlines()[0]}") from error
        return merging.result()


class _Merging:
    """One merge. sound: (kind, part) -> the units that it is going to be registered for."""

    def __init__(self, target: Warehouse, source: Store, compares: Callable[[str], bool]) -> None:
        self.target, self.source, self.compares = target, source, compares
        self.sound: dict[tuple[str, str], pl.DataFrame] = {}
        self.damaged: dict[tuple[str, str], str] = {}
        self.compared: dict[object, frozenset[str]] = {}
        self.counts: list[tuple[str, int, int]] = []
        self.conflicts: list[str] = []

    @property
    def has_new(self) -> bool:
        """Whether there is anything to take over."""
        return any(n for _, n, _ in self.counts)

    def take(self, connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
        """Take over all rows but registrations in the caller's transaction; return the units to register.

        connection: its own database is the target's, and `other` is the source's.
        """
        busy = set(at_work(self.target.store))
        homes = Home("", self.target.store), Home("other.", self.source)
        decision: Decision = decide(connection, *homes, self.compares, busy, self.damaged, self.compared)
        runs = [*decision.runs]
        for run in decision.replaced:
            forget_metrics(connection, run)
            for statement in _FORGET:
                connection.execute(statement, {"run": run, "of_all": list(OF_ALL)})
        units = fetched(connection.execute(_UNITS, {"of_all": list(OF_ALL), "runs": runs}))
        broken = pl.DataFrame([*self.damaged], {"kind": pl.String, "part": pl.String}, orient="row")
        units = units.filter(pl.col("kind").is_in(list(KINDS))).join(broken, on=["kind", "part"], how="anti")
        for table in ("run_base", "run_request", "metric_value_base"):
            connection.execute(_TAKE.format(table=table), {"runs": runs})
        if decision.cohorts.height:
            execute_with(connection, decision.cohorts, _TAKE_COHORTS)
        (n_answers, n_runs), *_ = connection.execute(_COUNTS, {"of_all": list(OF_ALL)}).fetchall()
        new_answers = units.filter(pl.col("kind").is_in(OF_ALL)).height
        self.counts = [
            ("runs", len(runs), n_runs - len(runs)),
            ("answers", new_answers, n_answers - new_answers),
            ("other units of runs", units.height - new_answers, 0),
            ("cohorts", decision.cohorts.height, decision.n_cohorts - decision.cohorts.height),
            ("item lists", *take_lists(connection)),
        ]
        self.conflicts = [*decision.conflicts]
        for group in GROUPS:
            self.conflicts += conflicts_of(connection, group)
            self.counts.append((group.what, *take_groups(connection, group)))
        n_taken, n_left, lines = take_names(connection)
        self.conflicts += lines
        self.counts.append(("names of models", n_taken, n_left))
        self.counts.append(("metrics of recipes", *take_recipes(connection, self.target.store)))
        return units

    def fetch(self, wanted: pl.DataFrame, is_dry: bool, report: Report) -> None:
        """Put the sound parts of these units into the target, unless dry; note the damaged ones."""
        parts = wanted.partition_by("kind", "part", as_dict=True, maintain_order=True)
        store = self.target.store
        present = {kind: store.part_sizes(str(kind)).keys() for kind in wanted["kind"].unique()}
        for n, ((kind, part), units) in enumerate(parts.items(), 1):
            try:
                rows = self._rows(str(kind), str(part), part in present[kind], is_dry)
                answered = units_of(str(kind), str(part), rows)
                own = answered.join(units, on=["request_hash", "unit"], how="semi")
                if own.height < units.height:
                    raise CorruptPart("it lacks registered units")
                self.sound[str(kind), str(part)] = own
            except CorruptPart as error:
                self.damaged[str(kind), str(part)] = str(error).splitlines()[0]
            report(n, len(parts))

    def registrations(self, units: pl.DataFrame) -> list[pl.DataFrame]:
        """Return the units of sound parts for `register_parts`.

        Raises WarehouseError if one of them was not planned: the target lost it meanwhile.
        """
        frames = []
        for (kind, part), own in units.group_by("kind", "part", maintain_order=True):
            if (sound := self.sound.get((str(kind), str(part)))) is None:
                raise WarehouseError(f"{self.target.store.place} has changed meanwhile: merge again.")
            frames.append(sound.join(own, on=["request_hash", "unit"], how="semi"))
        return frames

    def _rows(self, kind: str, part: str, is_present: bool, is_dry: bool) -> pl.DataFrame:
        """Return a part's checked rows, once the target has it, unless dry. Raises CorruptPart."""
        if is_present and not is_dry:
            try:
                return read_orphan(self.target.store, kind, part)
            except CorruptPart:
                pass  # it is set aside now; the other home may have it whole
        content = content_of(self.source, kind, part)
        rows = read_content(kind, part, content)
        if not is_dry:
            store = self.target.store
            store.put_part(kind, part, memoryview(content), remember=False)
            if not is_as_written(part, store.part(kind, part, anew=True)):
                store.set_part_aside(kind, part)
                raise WarehouseError(f"part {kind}/{part} arrived at {store.place} damaged: merge again.")
        return rows

    def result(self) -> Merged:
        rows = [row for row in self.counts if row[1] or row[2]]
        schema = {"what": pl.String, "n_taken": pl.Int64, "n_left": pl.Int64}
        return Merged(
            pl.DataFrame(rows, schema=schema, orient="row"),
            tuple(self.conflicts),
            tuple(f"{kind}/{part}: {problem}" for (kind, part), problem in sorted(self.damaged.items())),
            len(self.source.job_requests()),
        )


def _planned(merging: _Merging, own: Path, other: Path) -> pl.DataFrame:
    """Return what ``take`` returns on a copy of the target's file, which stays as it is."""
    with _both(own, other) as connection:
        connection.begin()
        units = merging.take(connection)
        connection.rollback()
    return units


@contextmanager
def _both(file: Path, other: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to a copy of the target's file, with the source's as `other`."""
    create_empty_parts(file.parent)
    with duckdb.connect(str(file), config={"threads": 1}) as connection, _attached(connection, other):
        list_parts(connection, empty_files(file.parent))
        yield connection


@contextmanager
def _attached(connection: duckdb.DuckDBPyConnection, other: Path) -> Iterator[None]:
    place = str(other).replace("'", "''")
    connection.execute(f"ATTACH '{place}' AS other (READ_ONLY)")
    yield
    connection.execute("DETACH other")  # the end of a write looks at all databases of its connection


def _refuse_itself(target: Store, source: Store) -> None:
    """Raise WarehouseError if the two stores are one, or one home lies within the other."""
    is_same = target.place == source.place
    if isinstance(source, LocalStore) and isinstance(target, LocalStore):
        own, their = target.home.resolve(), source.home.resolve()
        is_same = own == their or own in their.parents or their in own.parents
        is_same |= own.exists() and their.exists() and os.path.samefile(own, their)
    if is_same:
        raise WarehouseError(
            f"{source.place} is this warehouse itself, or one lies within the other: name another home."
        )
