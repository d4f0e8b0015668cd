"""``culturescope judge``: what people say of the judge."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from deployments.cli_common import As, Config, errors
from deployments.display import Format, show
from warehouse import Warehouse, WarehouseError

app = typer.Typer(no_args_is_help=True, help="Compare judges with people.")

JUDGED = """
SELECT v.item AS dish, v.judged AS prediction, v.value
FROM verdict AS v JOIN latest_run AS r USING (run_id)
WHERE v.model = $model
    AND r.config_hash = coalesce($config, (
        SELECT r.config_hash FROM verdict JOIN latest_run AS r USING (run_id)
        WHERE verdict.model = $model ORDER BY r.finished_at DESC LIMIT 1
    ))
"""


@app.callback()
def judge() -> None:
    """Compare judges with people."""


@app.command("agreement")
def agreement(
    ratings: Annotated[
        Path, typer.Argument(help="CSV: dish (its url), origin, prediction, annotator, verdict")
    ],
    model: Annotated[str, typer.Option("--model", "-m", help="whose predictions were rated")],
    form: As = Format.table,
    config: Config = None,
) -> None:
    """How far people agree with each other (Fleiss' kappa) and the judge with people (Pearson, Spearman).

    Verdicts are Correct, Maybe or Incorrect. The predictions to rate are in the view `verdict`.

    Examples:

    - `culturescope sql "SELECT item AS dish, origin, item_name, judged AS prediction FROM verdict" -f csv`

    - `culturescope judge agreement ratings.csv --model smollm2-135m`
    """
    import polars as pl

    from tasks.evaluations.fmlama import human_ratings

    with errors():
        judged = Warehouse.open().query(JUDGED, {"model": model, "config": config})
        if judged.is_empty():
            raise WarehouseError(
                f"no judge has marked predictions of {model!r}; start with: culturescope run fmlama "
                f"-m {model} --judge …"
            )
        rows = human_ratings.agreement(human_ratings.read_ratings(ratings), judged)
        show(pl.DataFrame([asdict(row) for row in rows], infer_schema_length=None), form)
