"""Finished runs with headlines, stored like the loop's, without prompts or answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tasks.identity import digest
from tasks.loop.rows import OVERALL, Metric, mean_row, metric_frame, points_frame, resampled_points, scored
from tasks.metrics.intervals import half_samples
from tasks.metrics.types import FloatArray
from warehouse import Run, Warehouse, finish_run, register_parts, save_metrics, save_run, write_part

ITEMS = tuple(f"item-{i:04d}" for i in range(1000))


@dataclass(frozen=True)
class Stored:
    """One run. scores: headline -> score of each of the first ``ITEMS``, NaN if unscored; halves: headline
    -> (n, values), values being that of all n units and then those of half-samples."""

    model: str
    occasion: str = ""
    evaluation: str = "cure"
    config: str = "config"
    kind: str = "openai"
    engine: str = ""
    scores: Mapping[str, FloatArray] = field(default_factory=dict)
    halves: Mapping[str, tuple[int, FloatArray]] = field(default_factory=dict)

    @property
    def run_id(self) -> str:
        """The id that the loop would give this run."""
        return digest([self.evaluation, self.config, self.engine_hash, self.occasion])

    @property
    def engine_hash(self) -> str:
        """The given hash, or one of the model's name."""
        return self.engine or digest(self.model)

    def metrics(self) -> list[Metric]:
        """Return the run's metric rows."""
        rows = [
            mean_row(metric, OVERALL, values, "unscored", items=ITEMS[: values.size])
            for metric, values in self.scores.items()
        ]
        for metric, (n, values) in self.halves.items():
            samples = half_samples(n, values.size - 1, 0)
            points = resampled_points("half", ITEMS[:n], samples, values[1:])
            rows.append(scored(metric, OVERALL, float(values[0]), (n, 0), None, 0.0, points))
        return rows


def store(warehouse: Warehouse, runs: Sequence[Stored]) -> None:
    """Store the runs in one transaction, finished one after another."""
    parts = []
    for run in runs:
        metrics = run.metrics()
        frame = points_frame(metrics)
        if not frame.is_empty():
            ids = {"request_hash": run.run_id, "run_id": run.run_id, "model": run.model}
            named = frame.with_columns(**{key: np.full(frame.height, value) for key, value in ids.items()})
            parts.append(write_part(warehouse.home, "headline_value", run.run_id, named))
    with warehouse.write() as connection:
        register_parts(connection, parts)
        for run in runs:
            row = Run(
                run_id=run.run_id, evaluation=run.evaluation, model=run.model, is_null=False, profile="demo",
                config_hash=run.config, engine_hash=run.engine_hash, params={}, engine={"kind": run.kind},
                item_lists={}, boundary_rule="none", code_version="0", occasion=run.occasion,
            )  # fmt: skip
            save_run(connection, row)
            save_metrics(connection, run.run_id, metric_frame(run.model, run.metrics()))
            finish_run(connection, run.run_id)
