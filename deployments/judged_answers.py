"""Judged explanations out of the warehouse: for people to rate, and to compare with their ratings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from deployments.cli_common import validated
from warehouse import Warehouse, WarehouseError

if TYPE_CHECKING:
    from tasks.evaluations.cure.benchmarks.common import BenchmarkItem

NEWEST = """
SELECT r.config_hash FROM cure_answer AS a JOIN latest_run AS r USING (run_id)
WHERE a.score IS NOT NULL AND r.evaluation = $evaluation AND r.config_hash = coalesce($config, r.config_hash)
ORDER BY r.finished_at DESC LIMIT 1
"""
EXPLANATIONS = """
SELECT a.model, a.benchmark, a.item, a.explanation
FROM cure_answer AS a JOIN latest_run AS r USING (run_id)
WHERE r.config_hash = $config AND a.score IS NOT NULL
"""
# A verdict is about the benchmark whose metric its rubric is named after; "real:0" is the first sample of the
# model's own explanation.
VERDICTS = """
SELECT a.model, a.benchmark, a.item, a.explanation, b.dimension, v.judge, v.rubric, v.verdict, v.value,
    v.graded
FROM cure_answer AS a
JOIN latest_run AS r USING (run_id)
JOIN (SELECT unnest($benchmarks) AS benchmark, unnest($dimensions) AS dimension) AS b USING (benchmark)
JOIN verdict AS v ON v.run_id = a.run_id AND v.item = a.item AND split_part(v.rubric, ' ', 1) = b.dimension
WHERE r.config_hash = $config AND a.explanation IS NOT NULL AND split_part(v.judged, ':', 1) = 'real'
"""
ENGINES = """
SELECT DISTINCT v.judge, v.judge_hash FROM verdict AS v JOIN run AS r USING (run_id) WHERE r.config_hash = ?
"""
RUN = """
SELECT params, item_lists->>'materials' AS materials FROM run
WHERE config_hash = ? AND status = 'finished' AND NOT is_null ORDER BY finished_at DESC LIMIT 1
"""
REFERENCE = {
    "cure_item": "SELECT * FROM cure_item ORDER BY benchmark, item",
    "country": "SELECT country, name FROM country ORDER BY country",
}


def configuration(warehouse: Warehouse, evaluation: str, config: str | None) -> str:
    """The configuration given, or the newest one, if it has judged explanations.

    Raises:
        WarehouseError: it has none; says what to start.
    """
    found = warehouse.query(NEWEST, {"evaluation": evaluation, "config": config})
    if found.is_empty():
        under = f" under configuration {config}" if config else ""
        raise WarehouseError(
            f"no judge has scored explanations{under}; start with: culturescope run {evaluation} -m MODEL "
            f"--judge …"
        )
    return str(found.item())


def explanations(warehouse: Warehouse, config: str) -> pl.DataFrame:
    """Columns model, benchmark, item, explanation: every explanation that has a score."""
    return warehouse.query(EXPLANATIONS, {"config": config})


def verdicts(warehouse: Warehouse, config: str) -> pl.DataFrame:
    """Columns of ``explanations`` and dimension, judge, rubric, verdict, value, graded: one row a verdict."""
    from tasks.evaluations.cure.rubrics import METRICS

    names = {"benchmarks": list(METRICS), "dimensions": list(METRICS.values())}
    return warehouse.query(VERDICTS, {"config": config, **names})


def items(warehouse: Warehouse, config: str) -> Mapping[str, Sequence[BenchmarkItem]]:
    """Benchmark -> the items that were asked about; users' files are read again.

    Raises:
        BenchmarkError: a user's file is gone.
        WarehouseError: the items are not the same any more.
    """
    from tasks.evaluations.cure.benchmarks.common import read_rows
    from tasks.evaluations.cure.materials import build_materials
    from tasks.evaluations.cure.params import CureParams

    stored, materials = _run(warehouse, config)
    params = validated(CureParams, stored | {"models": ["any"]})
    rows = {table: warehouse.query(sql).to_dicts() for table, sql in REFERENCE.items()}
    published = {name: {path: read_rows(path) for path in paths} for name, paths in params.files.items()}
    found = build_materials(params, rows, published)
    if found.hash() != materials:
        files = ", ".join(path for paths in params.files.values() for path in paths) or "the shipped sample"
        raise WarehouseError(
            f"the items of configuration {config} have changed since it was run ({files}): people would be "
            f"shown other norms than the judge. Restore the files, or run cure again and audit that"
        )
    return found.items


def engine_hashes(warehouse: Warehouse, config: str) -> dict[str, str]:
    """Judge -> the hash of its engine; within a configuration a name stands for one engine."""
    return dict(warehouse.query(ENGINES, [config]).rows())


def _run(warehouse: Warehouse, config: str) -> tuple[dict[str, Any], str]:
    """The params of the newest run of a configuration, and the hash of its items."""
    params, materials = warehouse.query(RUN, [config]).row(0)
    return json.loads(params), materials
