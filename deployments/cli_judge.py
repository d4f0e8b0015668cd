"""``culturescope judge``: what people say of the judge."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from deployments import judged_answers
from deployments.cli_common import As, Config, errors
from deployments.display import Format, err, show
from warehouse import Warehouse, WarehouseError
from warehouse.judge_validation import save_validation

if TYPE_CHECKING:
    import polars as pl

    from tasks.judging.audit import Answer
    from tasks.judging.rated import Judged
    from tasks.judging.ratings import Ratings

app = typer.Typer(no_args_is_help=True, help="Compare judges with people.")


class Table(StrEnum):
    """What ``validate`` finds."""

    agreement = "agreement"
    reliability = "reliability"
    disagreements = "disagreements"


TITLES = {
    Table.agreement: "Agreement of people, and of the judge with them",
    Table.reliability: "Reliability: graded score, and the share of items that most people rate yes",
    Table.disagreements: "Items on which judge and people are far apart",
}

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


@app.command("audit")
def audit(
    sample: Annotated[int, typer.Option(min=1, help="answers to draw")] = 100,
    out: Annotated[Path, typer.Option(help="CSV for the annotators; never overwritten")] = Path("audit.csv"),
    evaluation: Annotated[Literal["cure"], typer.Option(help="whose answers")] = "cure",
    config: Config = None,
    seed: Annotated[int, typer.Option(help="of the draw")] = 0,
) -> None:
    """Draw judged explanations for people to rate, spread over models and benchmarks.

    Give every annotator a copy, or one file to all with a line for each of them. They fill in the columns
    annotator and rating (yes, no, or a number from 0 to 1), without seeing model, judge or score.

    Examples:

    - `culturescope judge audit --sample 100 --out audit.csv`

    - `culturescope judge validate ana.csv ben.csv`
    """
    from tasks.evaluations.cure import human_ratings
    from tasks.judging.audit import annotation_rows, stratified_sample

    with errors():
        warehouse = Warehouse.open()
        chosen = judged_answers.configuration(warehouse, evaluation, config)
        rows = judged_answers.explanations(warehouse, chosen).to_dicts()
        answers = human_ratings.audit_answers(rows, judged_answers.items(warehouse, chosen))
        drawn = stratified_sample(answers, sample, seed)
        _write(out, annotation_rows(drawn))
        strata = _strata(answers, drawn)
        show(strata, Format.table, "Explanations by model and benchmark")
        text = (
            f"{len(drawn)} of {len(answers)} explanations, of {len(strata)} strata (model and benchmark), "
            f"are in {out}. Annotators fill in annotator and rating; next: culturescope judge validate {out} "
            f"--config {chosen}"
        )
        err.print(f"[green]done[/]  {escape(text)}", highlight=False, soft_wrap=True)


@app.command("validate")
def validate(
    ratings: Annotated[
        list[Path], typer.Argument(help="CSV of `judge audit`, filled in; several: one an annotator")
    ],
    form: As = Format.table,
    config: Config = None,
    bootstrap: Annotated[int, typer.Option(min=20, help="resamples of the items for intervals")] = 1000,
    table: Annotated[
        Table | None, typer.Option(help="only this one (default: all; as csv or json: agreement)")
    ] = None,
) -> None:
    """Compare the judges of a configuration with people, and store the numbers in `judge_validation`.

    People among themselves (Krippendorff's alpha), the judge with people (Cohen's kappa, Pearson, Spearman),
    calibration of its graded score, and the items on which they are far apart. A second validation of a judge
    on a dimension replaces the first. Exit code 1 if there were too few items to compare.

    Examples:

    - `culturescope judge validate audit.csv`

    - `culturescope judge validate ana.csv ben.csv --table disagreements --format csv`
    """
    from deployments import judge_tables
    from tasks.evaluations.cure import human_ratings
    from tasks.judging.ratings import read_ratings

    with errors():
        given = read_ratings(ratings)
        warehouse = Warehouse.open()
        chosen = judged_answers.configuration(warehouse, "cure", config)
        verdicts = judged_answers.verdicts(warehouse, chosen)
        said = verdicts.to_dicts()
        scores = human_ratings.judged(said)
        _count_unjudged(given, scores, chosen)
        found = {
            Table.agreement: judge_tables.agreement(given.rows, scores, bootstrap, seed=0),
            Table.reliability: judge_tables.reliability(given.rows, scores),
            Table.disagreements: judge_tables.apart(given.rows, scores, said),
        }
        engines = judged_answers.engine_hashes(warehouse, chosen)
        stored = judge_tables.to_store(found[Table.agreement], verdicts, engines, ratings)
        save_validation(warehouse, stored)
        _show(found, form, table)
        _say_stored(stored)


def _write(out: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """A new CSV file, with the mark by which spreadsheets know UTF-8."""
    from tasks.judging.audit import COLUMNS

    try:
        with out.open("x", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
    except FileExistsError as error:
        raise ValueError(f"{out} exists, perhaps with ratings in it: name another file with --out") from error


def _strata(answers: Sequence[Answer], drawn: Sequence[Answer]) -> pl.DataFrame:
    import polars as pl

    sizes, seats = (Counter((a.model, a.benchmark) for a in some) for some in (answers, drawn))
    rows = [(*pair, sizes[pair], seats[pair]) for pair in sorted(sizes)]
    return pl.DataFrame(rows, schema=["model", "benchmark", "judged", "drawn"], orient="row")


def _count_unjudged(given: Ratings, scores: Mapping[str, Sequence[Judged]], config: str) -> None:
    """Say what of the file has no use. Raises ValueError if nothing has any."""
    judged = {(one.dimension, one.item) for some in scores.values() for one in some}
    rated = {(rating.dimension, rating.item) for rating in given.rows}
    if rated.isdisjoint(judged):
        raise ValueError(
            f"none of the {len(rated)} rated items was judged under configuration {config}: give the "
            f"one that `judge audit` named, with --config, and leave the columns item and dimension alone"
        )
    notes = {
        "rated items that no judge was asked about": len(rated - judged),
        "lines without a rating": given.n_empty,
    }
    for what, n in notes.items():
        if n:
            err.print(f"{what}: {n}", style="yellow", highlight=False)


def _show(found: Mapping[Table, pl.DataFrame], form: Format, table: Table | None) -> None:
    """One table to programs, which read one; all to people."""
    if table is None and form is not Format.table:
        table = Table.agreement
    for name, frame in found.items():
        if table in (None, name):
            show(frame, form, TITLES[name])


def _say_stored(stored: pl.DataFrame) -> None:
    """Which judges are validated now. Exit code 1 if none is."""
    if stored.is_empty():
        err.print("[yellow]nothing stored[/]: no dimension has enough rated items that the judge scored")
        raise typer.Exit(1)
    for judge, dimension in stored.select("judge", "dimension").unique(maintain_order=True).rows():
        text = f"leaderboards now show {judge} as validated on {dimension}"
        err.print(f"[green]stored[/]  {escape(text)}", highlight=False, soft_wrap=True)
