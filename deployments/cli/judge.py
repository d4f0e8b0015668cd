"""``culturemeter judge``: compare judges with people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.common import As, Wide, errors
from deployments.cli.suggest import Suggesting
from deployments.cli.which import Config
from deployments.show.display import Format, interval, new_file, say, show
from warehouse import Warehouse, save_validation

if TYPE_CHECKING:
    import polars as pl

    from tasks.judging.audit import JudgedAnswer, Rating
    from tasks.judging.validation import JudgeScore

app = typer.Typer(cls=Suggesting, no_args_is_help=True, help="Compare judges with people.")


class ValidationTable(StrEnum):
    """Tables that ``validate`` can show."""

    agreement = "agreement"
    reliability = "reliability"
    disagreements = "disagreements"
    groups = "groups"


TITLES = {
    ValidationTable.agreement: "Agreement among people, and of the judge with people",
    ValidationTable.reliability: "Reliability: graded score, and the share of items most people rate yes",
    ValidationTable.disagreements: "Items on which judge and people differ most",
    ValidationTable.groups: "People and judge by group, over all groups, and over items",
}

Evaluation = Annotated[
    str | None,
    typer.Option(help="evaluation with judged answers (default: the one that a judge scored last)"),
]


@app.command("audit")
def audit(
    sample: Annotated[int, typer.Option(min=1, help="number of answers to draw")] = 100,
    out: Annotated[Path, typer.Option(help="CSV for the annotators; never overwritten")] = Path("audit.csv"),
    evaluation: Evaluation = None,
    config: Config = None,
    seed: Annotated[int, typer.Option(help="seed of the draw")] = 0,
) -> None:
    """Draw judged answers for people to rate, spread evenly over models, dimensions and groups.

    Give every annotator a copy, or share one file with a line per annotator. They fill in the columns
    annotator and rating (a verdict, yes, no, or a number from 0 to 1) and see no model, judge or score.

    Examples:

    - `culturemeter judge audit --sample 100 --out audit.csv`

    - `culturemeter judge audit --evaluation fmlama`

    - `culturemeter judge validate ana.csv ben.csv`
    """
    import polars as pl

    from deployments.show import judged
    from tasks.judging.audit import AUDIT_COLUMNS, annotation_rows, criteria, stratified_sample

    with errors():
        warehouse = Warehouse.existing()
        chosen = judged.choose(warehouse, evaluation, config)
        verdicts, answers = judged.verdicts(warehouse, chosen)
        scored = [answers[code] for code in verdicts.drop_nulls("value")["code"].unique()]
        drawn = stratified_sample(scored, sample, seed)
        rubrics = judged.rubrics(chosen.evaluation, verdicts)
        # Of a rubric whose file is gone, only the name is known.
        wanted = {a.dimension: criteria(r) if (r := rubrics.get(a.dimension)) else a.dimension for a in drawn}
        rows = pl.DataFrame(annotation_rows(drawn, wanted), schema=AUDIT_COLUMNS)
        new_file(out, rows.write_csv(include_bom=True).encode())  # spreadsheets recognise UTF-8 by the mark
        strata = _strata(scored, drawn)
        show(strata, Format.table, f"Answers of {chosen.evaluation} by model and dimension")
        say(
            f"{len(drawn)} of {len(scored)} answers from {len(strata)} strata (model and dimension) are in "
            f"{out}. Annotators fill in annotator and rating; next: culturemeter judge validate {out} "
            f"--evaluation {chosen.evaluation} --config {chosen.config}",
            head="done ",
        )


@app.command("validate")
def validate(
    ratings: Annotated[
        list[Path], typer.Argument(help="filled-in CSV of `judge audit`; several files: one per annotator")
    ],
    form: As = Format.table,
    evaluation: Evaluation = None,
    config: Config = None,
    table: Annotated[
        ValidationTable | None,
        typer.Option(
            help="table to show; default: all tables but groups, or with --format csv or json only agreement"
        ),
    ] = None,
    wide: Wide = False,
) -> None:
    """Compare a configuration's judges with people, and store the numbers in `judge_validation`.

    Shows agreement among people (Krippendorff's alpha) and of the judge with people (Cohen's kappa, Pearson,
    Spearman), the calibration of its graded score, and the items on which they differ most. `--table groups`
    adds, by group, Fleiss' kappa and the means of people and judge. A second validation of a judge on a
    dimension replaces the first. Exits with 1 if there are too few items to compare.

    Examples:

    - `culturemeter judge validate audit.csv`

    - `culturemeter judge validate ana.csv ben.csv --table disagreements --format csv`
    """
    from deployments.show import judged
    from tasks.judging.audit import read_ratings
    from tasks.judging.validation import scores_by_judge

    with errors():
        warehouse = Warehouse.existing()
        chosen = judged.choose(warehouse, evaluation, config)
        verdicts, answers = judged.verdicts(warehouse, chosen)
        menus = judged.menus(chosen.evaluation, verdicts)
        rated, n_empty = read_ratings(ratings, menus)
        scores = scores_by_judge(verdicts.iter_rows(named=True))
        _count_unjudged(rated, n_empty, scores, chosen.config)
        tables = judged.tables(rated, scores, answers, menus)
        stored = judged.to_store(tables[ValidationTable.agreement], verdicts, ratings)
        save_validation(warehouse, stored)
        if form is Format.table:
            _print(tables, table, wide)
        else:
            show(tables[table or ValidationTable.agreement], form)
        _say_stored(stored)


def _strata(answers: Sequence[JudgedAnswer], drawn: Sequence[JudgedAnswer]) -> pl.DataFrame:
    import polars as pl

    sizes, seats = (Counter((a.model, a.dimension) for a in some) for some in (answers, drawn))
    rows = [(*pair, sizes[pair], seats[pair]) for pair in sorted(sizes)]
    return pl.DataFrame(rows, schema=["model", "dimension", "judged", "drawn"], orient="row")


def _count_unjudged(
    ratings: Sequence[Rating], n_empty: int, scores: Mapping[str, Sequence[JudgeScore]], config: str
) -> None:
    """Print how many rated items cannot be used. Raises ValueError if none can."""
    judged = {(score.dimension, score.item) for some in scores.values() for score in some}
    rated = {(rating.dimension, rating.item) for rating in ratings}
    if rated.isdisjoint(judged):
        raise ValueError(
            f"none of the {len(rated)} rated items was judged under configuration {config}: give the "
            f"--evaluation and --config that `judge audit` printed, and leave the columns item and "
            f"dimension unchanged"
        )
    if n_unjudged := len(rated - judged):
        say(f"rated items that no judge has scored: {n_unjudged}", style="yellow")
    if n_empty:
        say(f"lines without a rating: {n_empty}", style="yellow")


def _print(tables: Mapping[str, pl.DataFrame], only: ValidationTable | None, is_wide: bool) -> None:
    """Print a table for each judge: by default all but groups, which is long."""
    import polars as pl

    for name, title in TITLES.items():
        if name is not (only or name) or (name is ValidationTable.groups and not only):
            continue
        for (judge,), frame in tables[name].group_by("judge", maintain_order=True):
            rows = [_for_people(row) for row in frame.drop("judge").to_dicts()]
            show(pl.DataFrame(rows), Format.table, f"{title} ({judge})", is_wide=is_wide)


def _for_people(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the value and its interval in one cell, or the reason why there is none."""
    if "ci_low" not in row:
        return row
    of, low, high = "value" if "value" in row else "observed", row.pop("ci_low"), row.pop("ci_high")
    cell = row.pop("unscored_reason", None) or interval(row[of], low, high)
    return {f"{k} [95 %]" if k == of else k: cell if k == of else v for k, v in row.items()}


def _say_stored(stored: pl.DataFrame) -> None:
    """Print which judges are now validated; exit with code 1 if none is."""
    if stored.is_empty():
        say("no dimension has enough rated items that the judge scored", "nothing stored:", "yellow")
        raise typer.Exit(1)
    for judge, dimension in stored.select("judge", "dimension").unique(maintain_order=True).rows():
        say(f"leaderboards now show {judge} as validated on {dimension}", "stored ")
