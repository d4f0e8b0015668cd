"""``culturescope culturall``: build items from sources to a published version; people decide in between."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli import options
from deployments.cli.bars import bars
from deployments.cli.common import As, DryRun, NoServer, Verbose, errors
from deployments.serve.server import configure, connect
from deployments.show import plan
from deployments.show.display import Format, notes, say, show, working
from tasks.builders.culturall.params import CreateParams, ElevateParams, ReleaseParams
from tasks.loop.plan import Plan
from tasks.people.review_file import check_new
from warehouse import Warehouse

if TYPE_CHECKING:
    from tasks.builders.culturall.review import Reviewed

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Build CulturALL items: drafts from your sources, measured, checked, reviewed by people, published.",
)

AnyParams = CreateParams | ElevateParams | ReleaseParams

VERSIONS = "SELECT number, version, n_items, released_at FROM culturall_release ORDER BY number DESC LIMIT 1"
DECISIONS = """
SELECT status, count(*) AS n FROM culturall_draft_state
WHERE status IN ('accepted', 'revised', 'rejected') GROUP BY status
"""


def _command(kind: type[AnyParams], planned: Callable[[Any], tuple[str, Plan]]) -> Callable[..., None]:
    """A command whose options are the fields of its params."""

    def start(**given: Any) -> None:
        dry_run, no_server, verbose = (given.pop(name) for name in ("dry_run", "no_server", "verbose"))
        with errors():
            warehouse = Warehouse.open()
            configure(warehouse.home, verbose)
            params = options.validated(kind, options.values(kind, given))
            title, work = planned(params)
            plan.show(title, plan.Estimate.of(work))
            if dry_run:
                return
            _work(params, warehouse, no_server, verbose)

    own = {"dry_run": DryRun, "no_server": NoServer, "verbose": Verbose}
    switches = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for name, annotation in own.items()
    ]
    knobs = sorted(options.parameters(kind, {}), key=options.place)
    start.__signature__ = inspect.Signature([*switches, *knobs])  # type: ignore[attr-defined]
    return start


def _work(params: AnyParams, warehouse: Warehouse, no_server: bool, verbose: bool) -> None:
    if not no_server:
        with working("starting Prefect"):
            connect(warehouse.home)
    from flows.build_culturall import FLOWS

    flow = FLOWS[type(params)]
    with bars(), notes(verbose):
        drafts = flow.fn(params) if no_server else flow(params)
    show(drafts, Format.table, "Drafts of this warehouse, by where they stand and what speaks against them")
    waiting = Path(getattr(params, "queue", ""))
    if waiting.is_file():
        say(f" fill in {waiting}; next: culturescope culturall review {waiting}", "done")
    _show_figures(warehouse)


def _plan_create(params: CreateParams) -> tuple[str, Plan]:
    from tasks.builders.culturall import steps

    jobs, people, dropped = steps.sourced(params)
    topics = steps.topics_of(params)
    n_examples = sum(len(topic.examples) for topic in topics)
    title = (
        f"culturall build\n{len(topics)} topics with {n_examples} examples, {len(jobs):,} sources to draft, "
        f"{len(people):,} items by people"
    )
    if dropped:
        title += "\nrows left out: " + ", ".join(f"{reason} {n}" for reason, n in dropped.items())
    if jobs and not params.model:
        raise ValueError("sources need a model that drafts items on them: name it with --model")
    if not params.model:
        return title, Plan(())
    return title, steps.desk("create", params, params.model).left([job.prompt for job in jobs])


def _plan_elevate(params: ElevateParams) -> tuple[str, Plan]:
    from tasks.builders.culturall import steps

    check_new(Path(params.queue))
    jobs = steps.easy(params)
    title = f"culturall elevate\n{len(jobs):,} easy drafts"
    return title, steps.desk("elevate", params, params.model).left([job.prompt for job in jobs])


def _plan_release(params: ReleaseParams) -> tuple[str, Plan]:
    from tasks.builders.culturall.release import steps

    check_new(Path(params.queue))
    if params.out and Path(params.out).exists():
        raise ValueError(f"{params.out} exists and is not overwritten: name another folder with --out")
    title = f"culturall release\n{len(steps.unlabelled()):,} drafts without labels"
    return title, steps.left(params)


app.command(
    "build",
    help="""Draft items on your sources, and measure which models solve them.

Every draft is a row of the table `culturall_draft`, also those that the checks reject. A source that has a
usable draft is not drafted again; drafts that a solver has not answered are measured.

Examples:

- `culturescope culturall build --model gpt --pages excerpts/ --language kk --solvers a,b,c --judges gpt
--dry-run`

- `culturescope culturall build --model gpt --topics topics.xlsx --examples 10 --datasets questions.csv`

- `culturescope culturall build --written mine.csv --solvers a,b,c`
""",
)(_command(CreateParams, _plan_create))

app.command(
    "elevate",
    help="""Have drafts that most solvers answer made harder, and queue the proposals for people.

A proposal takes its parent's place once `culturescope culturall review` has read that somebody accepts it.

Example: `culturescope culturall elevate --model gpt --solvers a,b,c --judges gpt --queue harder.csv`
""",
)(_command(ElevateParams, _plan_elevate))

app.command(
    "release",
    help="""Label, translate and check drafts, queue them for people, and publish what people let through.

Run it again after each review: it publishes a new version if anything has changed.

Examples:

- `culturescope culturall release --model gpt --queue review.csv --max-usd 5`

- `culturescope culturall release --queue more.csv --out version-1`, then
`culturescope run culturall --file version-1/items.jsonl`
""",
)(_command(ReleaseParams, _plan_release))


@app.command("review")
def review(
    queue: Annotated[Path, typer.Argument(help="a queue of elevate or release, its decisions filled in")],
) -> None:
    """Read what people decided: accept, revise or reject; another than the author decides.

    Rows without a decision stay pending; read the file again when there are more. A later decision replaces
    an earlier one. Revised texts are checked like drafts; those with a fault are named and not taken.

    Example: `culturescope culturall review review.csv`
    """
    import polars as pl

    with errors():
        warehouse = Warehouse.open()
        configure(warehouse.home)
        from tasks.builders.culturall.release import steps

        reviewed, n_pending = steps.read_review(queue)
        counts = dict.fromkeys(("accept", "revise", "reject"), 0)
        for row in reviewed.decisions:
            counts[row["decision"]] += 1
        rows = [{"decision": name, "n_rows": n} for name, n in {**counts, "pending": n_pending}.items()]
        show(pl.DataFrame(rows), Format.table, "Decisions")
        _show_figures(warehouse)
        if reviewed.faulty:
            _show_faulty(reviewed)
            raise typer.Exit(1)


@app.command("status")
def status(form: As = Format.table) -> None:
    """Drafts by where they stand and what speaks against them; the last version beside the paper's figures.

    Example: `culturescope culturall status --format csv`
    """
    with errors():
        warehouse = Warehouse.open()
        show(warehouse.query("FROM culturall_build"), form)
        _show_figures(warehouse)


def _show_figures(warehouse: Warehouse) -> None:
    """Decisions so far, and the last version, beside Lin et al. (2026)."""
    from tasks.builders.culturall.release.version import DECIDED, figures

    statuses = dict(warehouse.query(DECISIONS).rows())
    items = warehouse.query(
        "SELECT difficulty FROM culturall_release_item WHERE version = "
        "(SELECT version FROM culturall_release ORDER BY number DESC LIMIT 1)"
    ).to_dicts()
    last = warehouse.query(VERSIONS).rows()
    if last:
        number, name, n, _ = last[0]
        say(f"version {number} ({name}): {n:,} items", style="")
    rows = figures(items, statuses)
    for part in (rows[: len(DECIDED)], rows[len(DECIDED) :] if items else []):
        shares = ", ".join(f"{name} {'–' if share is None else f'{share:.1%}'}" for name, _, share, _ in part)
        if part:
            say(f"{shares} (paper {', '.join(f'{paper:.1%}' for *_, paper in part)})", style="dim")


def _show_faulty(reviewed: Reviewed) -> None:
    for row, faults in reviewed.faulty:
        for fault in faults:
            say(f"{row.where}: {fault.reason}: {fault.detail}", "revised, not taken", "yellow")
    say("correct these rows in the file and read it again", style="")
