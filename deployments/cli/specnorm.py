"""``culturescope specnorm``: have items drafted, publish what people let through, see how far it has come."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from deployments.cli.bars import bars
from deployments.cli.common import As, DryRun, Verbose, errors
from deployments.cli.options import validated
from deployments.serve.server import configure, connect
from deployments.show import plan
from deployments.show.display import Format, err, show
from warehouse import Warehouse

if TYPE_CHECKING:
    from tasks.builders.specnorm.outcomes import Reviewed
    from tasks.builders.specnorm.steps import Build

app = typer.Typer(no_args_is_help=True, help="Build SpecNorm: norms of subgroups, drafted and reviewed.")

COUNTS = """
SELECT d.status, d.country_name AS country, d.specificity, count(*) AS n_drafts,
    avg((coalesce(i.label, d.label) = 'yes')::INTEGER) AS share_yes
FROM specnorm_draft AS d LEFT JOIN specnorm_item AS i USING (draft)
GROUP BY d.status, d.country_name, d.specificity
ORDER BY d.status, d.country_name, list_position(['low', 'medium', 'high'], d.specificity)
"""
PUBLISHED = """
SELECT count(*), count(DISTINCT country_name), coalesce(avg((label = 'yes')::INTEGER), 0) FROM specnorm_item
"""


@app.command("build")
def build(
    model: Annotated[str, typer.Option("--model", "-m", help="who writes: a catalogue name, id or folder")],
    seeds: Annotated[
        list[str] | None,
        typer.Option(help="file of statements with country and demographics; repeat it; default: shipped"),
    ] = None,
    n: Annotated[int | None, typer.Option(help="seeds to choose (default 40)")] = None,
    seed: Annotated[int | None, typer.Option(help="of the choice and the sampling (default 0)")] = None,
    yes_share: Annotated[float | None, typer.Option(help="share of answers yes (default 0.65)")] = None,
    queue: Annotated[Path, typer.Option(help="CSV for the reviewers; never overwritten")] = Path("queue.csv"),
    max_total_tokens: Annotated[int | None, typer.Option(help="stop asking at this many tokens")] = None,
    max_usd: Annotated[float | None, typer.Option(help="stop asking at this price")] = None,
    dry_run: DryRun = False,
    verbose: Verbose = False,
) -> None:
    """Choose seeds, have a model draft items on them, check the drafts, and queue the good ones for people.

    Every draft is a row of the table `specnorm_draft`, also those that the checks reject. A seed that has a
    draft in a queue or published is not drafted again; drafts that still wait are in the new queue too.

    Examples:

    - `culturescope specnorm build -m gpt --n 100 --max-usd 2 --dry-run`

    - `culturescope specnorm build -m ./writer.toml --seeds norms.csv --queue first.csv`
    """
    given = {
        "model": model,
        "seeds": seeds,
        "n": n,
        "seed": seed,
        "yes_share": yes_share,
        "queue": str(queue.resolve()),
        "max_total_tokens": max_total_tokens,
        "max_usd": max_usd,
    }
    with errors():
        warehouse = Warehouse.open()
        configure(warehouse.home, verbose)
        from tasks.builders.specnorm import steps
        from tasks.builders.specnorm.params import SpecnormParams

        params = validated(SpecnormParams, {k: v for k, v in given.items() if v is not None})
        _show_plan(steps.plan(params))
        if dry_run:
            return
        with err.status("starting Prefect"):
            connect(warehouse.home)
        from flows.build_specnorm import build_specnorm

        with bars():
            drafts = build_specnorm(params)
        show(drafts, Format.table, "Drafts of this build (one may have several faults)")
        if queue.exists():
            path = escape(str(queue))
            err.print(
                f"[green]done[/]  fill in {path}; next: culturescope specnorm review {path}", soft_wrap=True
            )
        else:
            err.print("nothing waits for a review: no queue was written")


@app.command("review")
def review(
    queue: Annotated[Path, typer.Argument(help="the queue, with its column decision filled in")],
    out: Annotated[Path | None, typer.Option(help="CSV of all published items, for the evaluation")] = None,
) -> None:
    """Publish the items that reviewers accepted or revised, into the table `specnorm_item`.

    Rows without a decision stay pending; read the file again when there are more. A later decision replaces
    an earlier one. Revised texts are checked like drafts; those with a fault are named and not published.

    Example: `culturescope specnorm review queue.csv --out published.csv`
    """
    import polars as pl

    with errors():
        configure(Warehouse.open().home)
        from tasks.builders.specnorm import steps

        reviewed = steps.review(queue, out)
        rows = [{"decision": name, "n_rows": count} for name, count in reviewed.counts.items()]
        show(pl.DataFrame(rows), Format.table, "Decisions")
        _show_published()
        if out:
            err.print(f"[green]published[/] {escape(str(out))}", soft_wrap=True)
        if reviewed.faulty:
            _show_faulty(reviewed)
            raise typer.Exit(1)


@app.command("status")
def status(form: As = Format.table) -> None:
    """Drafts by status, country and specificity, with the share of yes; and how far off the target is.

    Example: `culturescope specnorm status --format csv`
    """
    with errors():
        show(Warehouse.open().query(COUNTS), form)
        _show_published()


def _show_plan(build: Build) -> None:
    from tasks.builders.specnorm import steps

    countries = {seed.country_name for seed, _ in build.chosen}
    title = (
        f"build_specnorm\n{len(build.seeds.seeds):,} seeds, {len(build.chosen):,} chosen of "
        f"{len(countries):,} countries"
    )
    plan.show(title, plan.Estimate.of(steps.work_left(build)))
    if build.seeds.dropped:
        reasons = ", ".join(f"{reason} {n}" for reason, n in build.seeds.dropped.items())
        err.print(f"seed rows left out: {reasons}", style="dim")


def _show_published() -> None:
    from tasks.builders.specnorm.params import TARGET_COUNTRIES, TARGET_ITEMS, TARGET_YES_SHARE

    ((items, countries, yes),) = Warehouse.open().query(PUBLISHED).rows()
    err.print(
        f"published: {items:,} of {TARGET_ITEMS:,} items, {countries} of {TARGET_COUNTRIES} countries, "
        f"{yes:.0%} yes (target {TARGET_YES_SHARE:.0%})",
        highlight=False,
    )


def _show_faulty(reviewed: Reviewed) -> None:
    for row, reasons in reviewed.faulty:
        for fault in reasons:
            text = escape(f"seed {row.draft.seed}: {fault.reason}: {fault.detail}")
            err.print(f"[yellow]revised, not published[/] {text}", highlight=False, soft_wrap=True)
    err.print("correct these rows in the file and read it again", highlight=False)
