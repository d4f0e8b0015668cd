"""``culturescope judge``: what people say of the judge."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from deployments import judged_answers
from deployments.cli_common import As, Config, errors
from deployments.display import Format, err, show
from warehouse import Warehouse
from warehouse.judge_validation import save_validation

if TYPE_CHECKING:
    import polars as pl

    from tasks.judging.audit import Answer
    from tasks.judging.rated import Judged
    from tasks.judging.ratings import Ratings
    from tasks.judging.rubric import Rubric

app = typer.Typer(no_args_is_help=True, help="Compare judges with people.")


class Table(StrEnum):
    """What ``validate`` finds."""

    agreement = "agreement"
    reliability = "reliability"
    disagreements = "disagreements"
    groups = "groups"


TITLES = {
    Table.agreement: "Agreement of people, and of the judge with them",
    Table.reliability: "Reliability: graded score, and the share of items that most people rate yes",
    Table.disagreements: "Items on which judge and people are far apart",
    Table.groups: "People and judge by group, and over groups and items",
}

Evaluation = Annotated[
    str | None, typer.Option(help="whose answers (default: the newest that a judge has scored)")
]


@app.callback()
def judge() -> None:
    """Compare judges with people."""


@app.command("audit")
def audit(
    sample: Annotated[int, typer.Option(min=1, help="answers to draw")] = 100,
    out: Annotated[Path, typer.Option(help="CSV for the annotators; never overwritten")] = Path("audit.csv"),
    evaluation: Evaluation = None,
    config: Config = None,
    seed: Annotated[int, typer.Option(help="of the draw")] = 0,
) -> None:
    """Draw judged answers for people to rate, spread over models, dimensions and groups.

    Give every annotator a copy, or one file to all with a line for each of them. They fill in the columns
    annotator and rating (a verdict, yes, no, or a number from 0 to 1), without seeing model, judge or score.

    Examples:

    - `culturescope judge audit --sample 100 --out audit.csv`

    - `culturescope judge audit --evaluation fmlama`

    - `culturescope judge validate ana.csv ben.csv`
    """
    from tasks.judging.audit import annotation_rows, stratified_sample

    with errors():
        warehouse = Warehouse.open()
        chosen = judged_answers.choose(warehouse, evaluation, config)
        verdicts, answers = judged_answers.verdicts(warehouse, chosen)
        scored = [answers[code] for code in verdicts.drop_nulls("value")["code"].unique()]
        drawn = stratified_sample(scored, sample, seed)
        _write(out, annotation_rows(drawn, _criteria(scored, judged_answers.rubrics(chosen.evaluation))))
        strata = _strata(scored, drawn)
        show(strata, Format.table, f"Answers of {chosen.evaluation} by model and dimension")
        text = (
            f"{len(drawn)} of {len(scored)} answers, of {len(strata)} strata (model and dimension), are in "
            f"{out}. Annotators fill in annotator and rating; next: culturescope judge validate {out} "
            f"--evaluation {chosen.evaluation} --config {chosen.config}"
        )
        err.print(f"[green]done[/]  {escape(text)}", highlight=False, soft_wrap=True)


@app.command("validate")
def validate(
    ratings: Annotated[
        list[Path], typer.Argument(help="CSV of `judge audit`, filled in; several: one an annotator")
    ],
    form: As = Format.table,
    evaluation: Evaluation = None,
    config: Config = None,
    bootstrap: Annotated[int, typer.Option(min=20, help="resamples of the items for intervals")] = 1000,
    table: Annotated[
        Table | None, typer.Option(help="only this one (default: all but groups; as csv or json: agreement)")
    ] = None,
) -> None:
    """Compare the judges of a configuration with people, and store the numbers in `judge_validation`.

    People among themselves (Krippendorff's alpha), the judge with people (Cohen's kappa, Pearson, Spearman),
    calibration of its graded score, and the items on which they are far apart; by group, with `--table
    groups`, Fleiss' kappa and the means of both. A second validation of a judge on a dimension replaces the
    first. Exit code 1 if there were too few items to compare.

    Examples:

    - `culturescope judge validate audit.csv`

    - `culturescope judge validate ana.csv ben.csv --table disagreements --format csv`
    """
    from deployments import judge_tables
    from tasks.judging.rated import scores_by_judge
    from tasks.judging.ratings import read_ratings
    from tasks.judging.rubric import normal

    with errors():
        warehouse = Warehouse.open()
        chosen = judged_answers.choose(warehouse, evaluation, config)
        menus = {
            normal(name): {verdict: choice.value for verdict, choice in rubric.verdicts.items()}
            for name, rubric in judged_answers.rubrics(chosen.evaluation).items()
        }
        given = read_ratings(ratings, menus)
        verdicts, answers = judged_answers.verdicts(warehouse, chosen)
        scores = scores_by_judge(verdicts.iter_rows(named=True))
        _count_unjudged(given, scores, chosen.config)
        tables = {
            Table.agreement: judge_tables.agreement(given.rows, scores, bootstrap, seed=0),
            Table.reliability: judge_tables.reliability(given.rows, scores),
            Table.disagreements: judge_tables.apart(given.rows, scores, answers),
            Table.groups: judge_tables.groups(given.rows, scores, answers, menus),
        }
        stored = judge_tables.to_store(tables[Table.agreement], verdicts, ratings)
        save_validation(warehouse, stored)
        _show(tables, form, table)
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


def _criteria(answers: Sequence[Answer], rubrics: Mapping[str, Rubric]) -> dict[str, str]:
    """Dimension -> what people are told to rate; of a rubric that has no file any more its name."""
    from tasks.judging.audit import criteria

    names = sorted({answer.dimension for answer in answers})
    return {name: criteria(rubrics[name]) if name in rubrics else name for name in names}


def _strata(answers: Sequence[Answer], drawn: Sequence[Answer]) -> pl.DataFrame:
    import polars as pl

    sizes, seats = (Counter((a.model, a.dimension) for a in some) for some in (answers, drawn))
    rows = [(*pair, sizes[pair], seats[pair]) for pair in sorted(sizes)]
    return pl.DataFrame(rows, schema=["model", "dimension", "judged", "drawn"], orient="row")


def _count_unjudged(given: Ratings, scores: Mapping[str, Sequence[Judged]], config: str) -> None:
    """Say what of the file has no use. Raises ValueError if nothing has any."""
    judged = {(one.dimension, one.item) for some in scores.values() for one in some}
    rated = {(rating.dimension, rating.item) for rating in given.rows}
    if rated.isdisjoint(judged):
        raise ValueError(
            f"none of the {len(rated)} rated items was judged under configuration {config}: give what "
            f"`judge audit` named, with --evaluation and --config, and leave the columns item and "
            f"dimension as they were"
        )
    notes = {
        "rated items that no judge was asked about": len(rated - judged),
        "lines without a rating": given.n_empty,
    }
    for what, n in notes.items():
        if n:
            err.print(f"{what}: {n}", style="yellow", highlight=False)


def _show(tables: Mapping[Table, pl.DataFrame], form: Format, table: Table | None) -> None:
    """One table to programs, which read one; to people all but the groups, of which there are many."""
    if table is None and form is not Format.table:
        table = Table.agreement
    for name, frame in tables.items():
        if name is (table or name) and (table or name is not Table.groups):
            show(frame, form, TITLES[name], is_wide=True)


def _say_stored(stored: pl.DataFrame) -> None:
    """Which judges are validated now. Exit code 1 if none is."""
    if stored.is_empty():
        err.print("[yellow]nothing stored[/]: no dimension has enough rated items that the judge scored")
        raise typer.Exit(1)
    for judge, dimension in stored.select("judge", "dimension").unique(maintain_order=True).rows():
        text = f"leaderboards now show {judge} as validated on {dimension}"
        err.print(f"[green]stored[/]  {escape(text)}", highlight=False, soft_wrap=True)
