"""Finished runs in the warehouse: of a configuration, of a frozen cohort, of all models."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tasks.loop.requests import Engine
from tasks.report.sentences import FAILED
from warehouse import Warehouse
from warehouse.claims import at_work

_RUN = """
SELECT run_id, evaluation, config_hash, model, engine_hash, coalesce(occasion, '') AS occasion, profile,
    params, engine, item_lists->>'content' AS content, boundary_rule, code_version, started_at, finished_at
FROM run WHERE NOT is_null"""
# Rows are computed under the names that runs were saved with, so a rename changes none, even during a run.
_SAVED = _RUN.replace("FROM run ", "FROM run_base ")
_FROZEN = f"""{_SAVED} AND config_hash = $config
    AND run_id IN (SELECT run_id FROM cohort WHERE config_hash = $config AND cohort = $cohort)
ORDER BY model"""
FINISHED = f"{_RUN} AND status = 'finished'"
_EVERY = """SELECT of_run.* FROM ({runs} AND status = 'finished') AS of_run
LEFT JOIN report_configuration AS c
ON c.evaluation = of_run.evaluation AND c.configuration = of_run.config_hash
ORDER BY c.place NULLS LAST, of_run.finished_at DESC, of_run.run_id"""
_NEWEST = f"""{_SAVED} AND status = 'finished' AND config_hash = $config
QUALIFY row_number() OVER (PARTITION BY engine_hash ORDER BY finished_at DESC, run_id) = 1"""
_IS_FINISHED = "SELECT 1 FROM run WHERE run_id = ? AND status = 'finished'"
_N_LOST = """SELECT coalesce(sum(n_lost), 0) FROM answer_loss
WHERE request_hash = ? AND role = 'candidate' AND reason LIKE ?"""
_NAMESAKES = """SELECT DISTINCT unnest([b.model, r.model]) AS model, engine_hash
FROM run_base AS b JOIN run AS r USING (run_id, engine_hash) WHERE b.config_hash = ? AND NOT b.is_null"""


@dataclass(frozen=True)
class FinishedRun:
    """A finished run, a row of the table ``run``; ``engine`` is ``EngineSpec.described``.

    content: hash of the stored content of its evaluation; None if it is in the code, or in packs.
    """

    run_id: str
    evaluation: str
    config_hash: str
    model: str
    engine_hash: str
    occasion: str
    profile: str
    params: Mapping[str, Any]
    engine: Mapping[str, Any]
    content: str | None
    boundary_rule: str
    code_version: str
    started_at: datetime
    finished_at: datetime

    @property
    def kind(self) -> str:
        """Kind of the engine."""
        return str(self.engine.get("kind", ""))

    @property
    def candidate(self) -> Engine:
        """The engine that was evaluated, without a spec: enough to read its answers."""
        model = str(self.engine.get("model", ""))
        return Engine(self.model, self.kind, model, self.engine_hash, occasion=self.occasion)

    def is_named(self, name: str) -> bool:
        """Return whether the run's model has this name; ``name#hash`` names one of several engines."""
        base, _, engine = name.partition("#")
        return self.model == name or (
            bool(engine) and self.model.partition("#")[0] == base and self.engine_hash.startswith(engine)
        )


def selected(
    sql: str, values: Mapping[str, Any] | None = None, warehouse: Warehouse | None = None
) -> list[FinishedRun]:
    """Return the runs of a SELECT with the columns of ``FINISHED``."""
    rows = (warehouse or Warehouse.open()).query(sql, values or {}).to_dicts()
    return [
        FinishedRun(**row | {name: json.loads(row[name]) for name in ("params", "engine")}) for row in rows
    ]


def every_finished(warehouse: Warehouse | None = None, *, as_saved: bool = False) -> list[FinishedRun]:
    """Return all finished runs but those of null models: in the leaderboards' order, then newest first.

    as_saved: whether under the names that the runs were saved with, in place of those that are shown.
    """
    return selected(_EVERY.format(runs=_SAVED if as_saved else _RUN), warehouse=warehouse)


def newest(config_hash: str) -> list[FinishedRun]:
    """Return the newest finished run of each engine under a configuration, named as it was saved."""
    return selected(_NEWEST, {"config": config_hash})


def frozen(config_hash: str, cohort: str) -> list[FinishedRun]:
    """Return the runs of a frozen cohort, named and sorted as saved; none if the cohort is not frozen."""
    return selected(_FROZEN, {"config": config_hash, "cohort": cohort})


def cohort_members(config_hash: str, cohort: str, candidates: Collection[str]) -> tuple[list[str], bool]:
    """Return the models of a cohort by name, and whether it is frozen.

    If it is not, a run of the candidates freezes it, with the models that finished before.
    """
    if members := frozen(config_hash, cohort):
        return [run.model for run in members], True
    return sorted({*candidates, *(run.model for run in newest(config_hash))}), False


def is_finished(run: str) -> bool:
    """Return whether the run's metrics are stored."""
    return not Warehouse.open().query(_IS_FINISHED, [run]).is_empty()


def status_of(warehouse: Warehouse, runs: Mapping[str, str]) -> dict[str, str]:
    """Return each run's status. Args: runs: id -> status in the warehouse.

    A run that says running, and that no process works on, is interrupted: by Ctrl-C, a kill or a machine
    that went down.
    """
    alive = set(at_work(warehouse.store)) if "running" in runs.values() else set()
    return {
        run: "interrupted" if status == "running" and run not in alive else status
        for run, status in runs.items()
    }


def n_lost(run: str) -> int:
    """Return the number of answers of a finished run's model that its server could not give."""
    return int(Warehouse.open().query(_N_LOST, [run, f"{FAILED}%"]).item())


def namesakes(config_hash: str) -> dict[str, set[str]]:
    """Return the engine hashes under each model's name in a configuration."""
    names: dict[str, set[str]] = {}
    for model, engine_hash in Warehouse.open().query(_NAMESAKES, [config_hash]).rows():
        names.setdefault(model, set()).add(engine_hash)
    return names
