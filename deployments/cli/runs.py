"""``culturemeter runs``: list runs, show what one used, and remove one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

import polars as pl
import typer

from deployments.cli.common import As, Wide, check_evaluation, errors
from deployments.cli.suggest import Suggesting
from deployments.show.display import Format, say, show
from tasks.engines.protocols import EngineError
from tasks.engines.specs import find_spec
from warehouse import Warehouse

app = typer.Typer(
    cls=Suggesting,
    help="List runs, show a run with its requests and tokens, or remove a run."
    "\n\nExamples:\n\n- `culturemeter runs -n 5`\n\n- `culturemeter runs show 3f9a`"
    "\n\n- `culturemeter runs rm 3f9a` shows what would be deleted; `--delete` deletes it",
    invoke_without_command=True,
    rich_markup_mode="markdown",
)

# An answer counts for the run that registered it first, not for later runs that found it stored.
_RUNS = """
SELECT left(r.run_id, 8) AS run, r.evaluation, r.profile, r.model, r.status,
    strftime(r.started_at, '%Y-%m-%d %H:%M') AS started, r.finished_at - r.started_at AS took,
    strftime(coalesce(r.finished_at, latest, r.started_at), '%Y-%m-%d %H:%M') AS last_sign,
    coalesce(n_units, 0) AS answers, coalesce(n_new, 0) + coalesce(n_moved, 0) AS numbers, r.occasion,
    r.run_id, r.config_hash
FROM run AS r
LEFT JOIN (
    SELECT run_id, count(*) FILTER (kind <> 'metric_row') AS n_units,
        (sum(n_rows) FILTER (kind = 'metric_row'))::BIGINT AS n_moved, max(written_at) AS latest
    FROM part_unit GROUP BY run_id
) USING (run_id)
LEFT JOIN (SELECT run_id, count(*) AS n_new FROM metric_value_base GROUP BY run_id) USING (run_id)
WHERE (NOT r.is_null OR $nulls) AND ($evaluation = '' OR r.evaluation = $evaluation)
ORDER BY r.started_at DESC, r.run_id LIMIT $limit
"""
_SHOWN = """
SELECT r.run_id, evaluation, profile, model, status, started_at, finished_at,
    coalesce(
        finished_at, (SELECT max(written_at) FROM part_unit WHERE run_id = $run), started_at
    ) AS last_sign,
    config_hash, engine_hash, model_hash, occasion, boundary_rule, code_version, params::VARCHAR AS params,
    engine::VARCHAR AS engine
FROM run AS r WHERE run_id = $run
"""
# Several runs may use a request; the run that registered its answers paid for it.
_USED = """
SELECT q.topic, count(DISTINCT q.request_hash) AS requests, count(u.unit) AS answers,
    sum(t.prompt_tokens)::BIGINT AS prompt_tokens, sum(t.completion_tokens)::BIGINT AS completion_tokens,
    count(u.unit) FILTER (u.run_id = $run) AS registered_here
FROM run_request AS q
LEFT JOIN part_unit AS u USING (request_hash)
LEFT JOIN (
    SELECT request_hash, item AS unit, prompt_tokens, completion_tokens FROM response
) AS t USING (request_hash, unit)
WHERE q.run_id = $run GROUP BY q.topic ORDER BY q.topic
"""

_SPENT = """
SELECT t.model, t.model = r.model AS is_candidate, count(*) AS answers,
    sum(t.prompt_tokens)::BIGINT AS prompt_tokens, sum(t.completion_tokens)::BIGINT AS completion_tokens
FROM response AS t JOIN run AS r USING (run_id)
WHERE t.run_id = $run GROUP BY ALL ORDER BY is_candidate DESC, t.model
"""


@app.callback()
def runs(
    context: typer.Context,
    evaluation: Annotated[str, typer.Option(help="only runs of this evaluation")] = "",
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="number of runs to list, the newest first")
    ] = 20,
    nulls: Annotated[bool, typer.Option("--nulls", help="show null models too")] = False,
    form: As = Format.table,
    wide: Wide = False,
) -> None:
    """List runs, the newest first: start, duration, number of answers added, and status."""
    if context.invoked_subcommand:
        return
    with errors():
        check_evaluation(evaluation or None)
        values = {"evaluation": evaluation, "limit": limit, "nulls": nulls}
        warehouse = Warehouse.existing()
        runs = _with_status(warehouse, warehouse.query(_RUNS, values))
        if form is Format.table:
            runs = runs.drop("run_id", "config_hash").with_columns(
                pl.col("took").map_elements(_words, pl.String)
            )
        show(
            runs,
            form,
            "Runs",
            is_wide=wide,
            notes={
                "status": "cancelled: in the UI; interrupted: by Ctrl-C or a kill; run it again to resume",
                "last_sign": "when it ended or last stored an answer (UTC)",
                "answers": "answers that the run added; answers stored before are not counted",
            },
        )
        if form is Format.table and (warehouse.home / "submitted").is_dir():
            from deployments.cluster.slurm import submitted

            show(pl.DataFrame(submitted(warehouse.home)), form, "Jobs of Slurm", is_wide=wide)


@app.command("show")
def show_run(
    run: Annotated[str, typer.Argument(help="id of the run, or its beginning")], form: As = Format.table
) -> None:
    """Show a run: configuration, engine, requests, answers and tokens used by topic, and dollars spent."""
    from warehouse.removal import find_run

    with errors():
        warehouse = Warehouse.existing()
        with warehouse.read() as connection:
            values = {"run": find_run(connection, run)[0]}
        row, used = _with_status(warehouse, warehouse.query(_SHOWN, values)), warehouse.query(_USED, values)
        spent = _spent(warehouse, values["run"], row.row(0, named=True))
        if form is not Format.table:
            both = {"used": [used.to_struct().to_list()], "spent": [spent.to_struct().to_list()]}
            show(row.hstack(pl.DataFrame(both)), form)
            return
        show(row.transpose(include_header=True, header_name="", column_names=["run"]), form)
        show(
            used,
            form,
            "Used",
            "registered_here: answers added by this run; the others were stored before",
        )
        if spent.height:
            about = "by answers that this run added; –: free, or its price is not known"
            known = spent["usd"].drop_nulls()
            of = f" for {known.len()} of {spent.height} models" if 0 < known.len() < spent.height else ""
            total = f"${known.sum():,.4f}{of}" if known.len() else "no known price"
            show(spent, form, f"Spent: {total}", about)


def _spent(warehouse: Warehouse, run: str, row: Mapping[str, Any]) -> pl.DataFrame:
    """Return the tokens and dollars of the answers that a run added, by model.

    The candidate has the prices of the run; judges and simulators, whose specs a run does not hold, have
    those of today.
    """
    used, params = warehouse.query(_SPENT, {"run": run}), json.loads(row["params"])
    named = [*(params.get("judges") or ()), params.get("simulator"), params.get("judge")]
    specs: dict[str, Mapping[str, Any]] = {}
    for name in filter(None, named):
        with suppress(EngineError):
            spec = find_spec(name, warehouse.home / "engines")
            specs[spec.name] = spec.model_dump()
    dollars = [
        _dollars(json.loads(row["engine"]) if each["is_candidate"] else specs.get(each["model"], {}), each)
        for each in used.to_dicts()
    ]
    return used.drop("is_candidate").with_columns(pl.Series("usd", dollars, pl.Float64))


def _dollars(spec: Mapping[str, Any], used: Mapping[str, int]) -> float | None:
    prices = [spec.get(f"usd_per_million_{kind}_tokens") for kind in ("input", "output")]
    if None in prices:
        return None
    sent, written = (float(price or 0) for price in prices)
    return (sent * used["prompt_tokens"] + written * used["completion_tokens"]) / 1e6


@app.command("rm")
def rm(
    run: Annotated[str, typer.Argument(help="id of the run, or its beginning")],
    answers: Annotated[
        bool, typer.Option("--answers", help="also delete answers that no other run uses")
    ] = False,
    with_cohort: Annotated[
        bool,
        typer.Option("--with-cohort", help="also remove runs whose numbers are computed over its cohort"),
    ] = False,
    delete: Annotated[bool, typer.Option("--delete", help="delete what is listed")] = False,
) -> None:
    """Show what would be deleted with a run; `--delete` deletes it. What other runs need is kept."""
    from deployments.evaluations import evaluation, sound
    from flows.runs import status_of
    from warehouse.removal import find_run, removable, remove

    with errors():
        warehouse = Warehouse.existing()
        with warehouse.read() as connection:
            run_id, name, _, status = find_run(connection, run)
        compares = name not in sound() or evaluation(name).compares  # of a pack that is gone: nobody knows
        act, status = remove if delete else removable, status_of(warehouse, {run_id: status})[run_id]
        going = act(warehouse, run, answers, compares=compares, with_cohort=with_cohort)
        say(f"run {going.run_id}: {going.evaluation}, {going.model}, {status}", style="")
        if going.others:
            say(f"and {len(going.others)} runs of its cohort: {', '.join(going.others)}", style="")
        kinds = going.units.group_by("kind").agg(n=pl.len()).sort("kind")
        parts = [f"{n:,} unit{'s' * (n != 1)} of {kind}" for kind, n in kinds.rows()]
        what = ", ".join([f"{going.n_metrics:,} numbers", *parts])
        if going.obstacle:
            say(f"{what}; but {going.obstacle}", "stays", "yellow")
        elif delete:
            say(f"{what}; `culturemeter prune --delete` frees the space", "deleted")
        else:
            say(f"{what}: --delete deletes them", "would go")


def _with_status(warehouse: Warehouse, rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of runs with what is true of each now."""
    from flows.runs import status_of

    known = status_of(warehouse, dict(zip(rows["run_id"], rows["status"], strict=True)))
    return rows.with_columns(pl.Series("status", [known[run] for run in rows["run_id"]], pl.String))


def _words(took: object) -> str:
    """Return a duration without fractions of a second; "" if there is none."""
    return str(took).partition(".")[0]
