"""Has a model moved since the last occasion? Paired headlines, and bit-equality of local engines' answers.

p-values are Holm-adjusted over all headlines of all models compared, and looks share the level, so unchanged
models cause an event in fewer than 5 of 100 years of weekly looks.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import polars as pl
from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.context import FlowRunContext
from prefect.events import emit_event
from pydantic import BaseModel, ConfigDict, Field

from flows.comparison import Pair, differences, last_two_occasions
from flows.runs import FinishedRun, every_finished
from tasks.engines.served.providers import SERVERS
from tasks.engines.specs import IMPORTED
from tasks.loop.steps import logger, record_process
from tasks.metrics.comparison import LEVEL
from warehouse import KINDS, Warehouse, now, read_answers

EVENT = "culturemeter.drift"
REMOTE = (*SERVERS, IMPORTED)
"""Kinds of engines whose answers may change although nothing here changed."""

VLLM = "vLLM batches prompts as they come, and another order of sums rounds otherwise, in bfloat16 by tenths"
"""Measured: SmolLM2 in bfloat16 on a CPU: 2 of 24 lists differed between two starts, by at most 0.32."""
OTHER_MACHINE = "another processor, number of threads or library version rounds differently"
_REQUESTS = """
SELECT u.kind, q.topic, q.label, u.request_hash, list(u.unit) AS units, r.model
FROM run_request AS q JOIN part_unit AS u USING (request_hash) JOIN run_base AS r ON r.run_id = q.run_id
WHERE q.run_id = $run AND list_contains($kinds, u.kind) GROUP BY ALL
"""
_ANSWERS = {
    "item_logprob": "logprob",
    "candidate_score": "logprob",
    "option_score": "logprob",
    "response": "text",
}
"""Kind of part -> the column with the answer."""


class DriftParams(BaseModel):
    """Runs to compare."""

    model_config = ConfigDict(extra="forbid")

    evaluations: list[str] | None = Field(None, description="evaluations to compare; empty: all")
    days: int | None = Field(
        None, ge=1, description="only models whose last occasion ended within this many days; empty: all"
    )
    profile: str | None = Field(None, description="only runs of this profile; empty: all")
    config: str | None = Field(None, description="only runs whose config_hash begins with this; empty: all")
    looks: int = Field(
        52, ge=1, description="number of looks that keep the level of 5 % together; 52: a year of weeks"
    )


@flow(name="drift", flow_run_name="drift", validate_parameters=True)
def drift(params: DriftParams) -> int:
    """Compare all headlines of the last two occasions: a table, and an event if any moved.

    Returns the number of headlines that moved. It reads stored answers and needs no model.
    """
    record_process()
    table, notes = look(Warehouse.open(), params)
    report(table, notes)
    return int(table["moved"].sum())


def look(warehouse: Warehouse, params: DriftParams) -> tuple[pl.DataFrame, list[str]]:
    """Return all models' differences (newest occasion minus the one before) and notes on local engines.

    Columns: those of ``comparison.differences``, and moved: whether the adjusted p-value is below ``LEVEL``
    over the number of looks.
    """
    since = None if params.days is None else now() - timedelta(params.days)
    pairs = [
        pair
        for pair in last_two_occasions(
            [
                run
                for run in every_finished(warehouse)
                if params.profile in (None, run.profile) and run.config_hash.startswith(params.config or "")
            ]
        )
        if (params.evaluations is None or pair[0].evaluation in params.evaluations)
        and (since is None or pair[0].finished_at >= since)
    ]
    table = differences(warehouse, pairs).with_columns(
        moved=(pl.col("p_holm") < LEVEL / params.looks).fill_null(False)
    )
    local = [pair for pair in pairs if pair[0].kind not in REMOTE]
    return table, [_note(warehouse, pair, table) for pair in local]


def report(table: pl.DataFrame, notes: list[str]) -> None:
    """Attach the table to the flow run and emit ``EVENT`` if a headline moved; without one, do nothing."""
    if FlowRunContext.get() is None:
        return
    moved = table.filter("moved")
    columns = ["evaluation", "label", "first_model", "second_occasion", "first_occasion", "second_value"]
    columns += ["first_value", "difference", "ci_low", "ci_high", "p_holm", "n_common", "moved"]
    head = f"{moved.height} of {table.height} headlines moved between the last two occasions."
    create_table_artifact(
        key="drift",
        table=[{k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}
               for row in (moved if moved.height else table).select(columns).to_dicts()],
        description="\n\n".join([f"{head} p-values are adjusted for all headlines (Holm).", *notes]),
    )  # fmt: skip
    for note in notes:
        logger().info("%s", note)
    if moved.is_empty():
        return
    lines = [sentence(row) for row in moved.to_dicts()]
    logger().warning("%s", "\n".join([head, *lines]))
    resource = {"prefect.resource.id": "culturemeter.drift", "prefect.resource.name": "Culturemeter"}
    emit_event(EVENT, resource, payload={"n_moved": moved.height, "text": "\n".join(lines)})


def sentence(row: dict[str, Any]) -> str:
    """Return a sentence on a headline that moved."""
    return (
        f"{row['first_model']}: {row['label']} ({row['evaluation']}) {row['second_value']:.3f} -> "
        f"{row['first_value']:.3f} from {row['second_occasion'] or 'the first'} to "
        f"{row['first_occasion'] or 'the first'}, p {row['p_holm']:.2g}"
    )


def changed_answers(warehouse: Warehouse, pair: Pair) -> tuple[int, int, float | None]:
    """Return the number of units answered on both occasions, of those not bit-equal, and the largest change.

    The largest change is that of log-probabilities; None if none changed.
    """
    common, changed, largest = 0, 0, None
    first, second = ({(k, t, lab): rest for k, t, lab, *rest in _requests(warehouse, run)} for run in pair)
    for key in sorted(first.keys() & second.keys()):
        kind, column = key[0], _ANSWERS[key[0]]
        key_columns, unit = list(KINDS[kind].key), KINDS[kind].unit
        columns = ["model", *dict.fromkeys([unit, *key_columns]), column]
        one, two = (
            read_answers(warehouse, kind, request, units, columns).filter(pl.col("model") == saved)
            for request, units, saved in (first[key], second[key])
        )
        both = one.join(two, on=key_columns, suffix="_second")
        differing = both.filter(pl.col(column).ne_missing(pl.col(f"{column}_second")))
        common += both[unit].n_unique()
        changed += differing[unit].n_unique()
        if column == "logprob" and differing.height:
            most: Any = (differing[column] - differing[f"{column}_second"]).abs().max()
            largest = max(largest or 0.0, float(most))
    return common, changed, largest


def _requests(warehouse: Warehouse, run: FinishedRun) -> list[Any]:
    """Return kind, topic, label, hash and units of each request of a run, and the name it was saved with."""
    return warehouse.query(_REQUESTS, {"run": run.run_id, "kinds": list(_ANSWERS)}).rows()


def _note(warehouse: Warehouse, pair: Pair, table: pl.DataFrame) -> str:
    """Return a sentence on whether a local engine's answers are bit-equal, and which headlines that moves."""
    run, before = pair
    common, changed, largest = changed_answers(warehouse, pair)
    head = f"{run.model}, {run.evaluation}, {before.occasion or 'first'} and {run.occasion or 'first'}: "
    if not common:
        return f"{head}it has no stored answer in common."
    if not changed:
        return f"{head}all {common:,} answers are bit-equal."
    change = pl.col("first_value") - pl.col("second_value")
    own = table.filter(pl.col("first_run") == run.run_id, change != 0).select("label", change=change)
    moves = [f"{label} by {moved:+.2g}" for label, moved in own.rows()]
    size = "" if largest is None else f", log-probabilities by at most {largest:.2g}"
    why = VLLM if run.kind == "vllm" else OTHER_MACHINE
    return (
        f"{head}{changed:,} of {common:,} answers are not bit-equal{size}: {why}. "
        f"This alone moves {'; '.join(moves) or 'no headline'}."
    )
