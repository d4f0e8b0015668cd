"""``culturemeter specnorm`` and ``culturemeter culturall``: build a data set in stages that people review.

The options of each command that drafts are the fields of its params. It shows its plan first.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from deployments.cli import options
from deployments.cli.bars import bars
from deployments.cli.common import As, DryRun, NoServer, Verbose, errors
from deployments.cli.suggest import Suggesting
from deployments.serve.server import configure, connect
from deployments.show import plan
from deployments.show.display import Format, notes, on_stdout, say, show, working
from tasks.builders.culturall.params import CreateParams, ElevateParams, ReleaseParams
from tasks.builders.specnorm.params import TARGET_COUNTRIES, TARGET_ITEMS, TARGET_YES_SHARE, SpecnormParams
from tasks.people.review_file import check_new
from warehouse import Warehouse

if TYPE_CHECKING:
    from flows.session import RunSession

specnorm = typer.Typer(
    cls=Suggesting, no_args_is_help=True, help="Build SpecNorm: norms of subgroups, drafted and reviewed."
)
culturall = typer.Typer(
    cls=Suggesting,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Build CulturALL items from your sources: draft, measure, check, review by people, publish.",
)

AnyParams = SpecnormParams | CreateParams | ElevateParams | ReleaseParams

SPECNORM_COUNTS = """
SELECT d.status, d.country_name AS country, d.specificity, count(*) AS n_drafts,
    avg((coalesce(i.label, d.label) = 'yes')::INTEGER) AS share_yes
FROM specnorm_draft AS d LEFT JOIN specnorm_item AS i USING (draft)
GROUP BY d.status, d.country_name, d.specificity
ORDER BY d.status, d.country_name, list_position(['low', 'medium', 'high'], d.specificity)
"""
SPECNORM_PUBLISHED = """
SELECT count(*), count(DISTINCT country_name), coalesce(avg((label = 'yes')::INTEGER), 0) FROM specnorm_item
"""
VERSIONS = "SELECT number, version, n_items FROM culturall_release ORDER BY number DESC LIMIT 1"
DIFFICULTIES = """
SELECT difficulty FROM culturall_release_item
WHERE version = (SELECT version FROM culturall_release ORDER BY number DESC LIMIT 1)
"""
DECISIONS = """
SELECT status, count(*) AS n FROM culturall_draft_state
WHERE status IN ('accepted', 'revised', 'rejected') GROUP BY status
"""
Planned = Callable[[Any], "tuple[str, RunSession]"]
"""Builds from params the heading of the plan and the first stage, before any request is sent."""


def _command(
    kind: type[AnyParams], planned: Planned, title: str, show_standing: Callable[[], None]
) -> Callable[..., None]:
    """Return a command that shows its plan, builds, and prints the table of drafts under this title."""

    def start(**given: Any) -> None:
        dry_run, no_server, verbose = (given.pop(name) for name in ("dry_run", "no_server", "verbose"))
        with errors():
            warehouse = Warehouse.open()
            configure(warehouse.home, verbose)
            params = options.validated(kind, options.values(kind, given))
            about, session = planned(params)
            with on_stdout(dry_run):
                plan.show(about, plan.Estimate.of(session.plan))
            if dry_run:
                return
            if not no_server:
                with working("starting Prefect"):
                    connect(warehouse.home)
            from flows.build import FLOWS

            flow = FLOWS[kind]
            with bars(), notes(verbose):
                drafts = flow.fn(params) if no_server else flow(params)
            show(drafts, Format.table, title)
            queue = getattr(params, "queue", None)
            if queue and Path(queue).is_file():
                build = "specnorm" if kind is SpecnormParams else "culturall"
                say(f" fill in {queue}; next: culturemeter {build} review {queue}", "done")
            elif queue:
                say("no draft waits for a review, so no queue was written", style="")
            show_standing()

    own = {"dry_run": DryRun, "no_server": NoServer, "verbose": Verbose}
    switches = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for name, annotation in own.items()
    ]
    knobs = sorted(options.parameters(kind, {}), key=options.place)
    for knob in knobs:
        if knob.name == "model":
            declared = get_args(knob.annotation)[1]
            declared.param_decls = (*declared.param_decls, "-m")
    start.__signature__ = inspect.Signature([*switches, *knobs])  # type: ignore[attr-defined]
    return start


def _show_decisions(counts: Mapping[str, int]) -> None:
    import polars as pl

    rows = [{"decision": name, "n_rows": count} for name, count in counts.items()]
    show(pl.DataFrame(rows), Format.table, "Decisions")


def _stop_at_faulty(faulty: Iterable[tuple[str, Iterable[Any]]], outcome: str) -> None:
    """Print the faults of revised rows under the outcome; end with exit code 1 if there are any."""
    lines = [f"{where}: {fault.reason}: {fault.detail}" for where, faults in faulty for fault in faults]
    for line in lines:
        say(line, outcome, "yellow")
    if lines:
        say("correct these rows in the file and run the command again", style="")
        raise typer.Exit(1)


# --- SpecNorm ---------------------------------------------------------------------------------------


def _plan_specnorm(params: SpecnormParams) -> tuple[str, RunSession]:
    from flows.build import planned
    from tasks.builders.specnorm.steps import DRAFT

    session = planned(DRAFT, params)
    study: Any = session.study
    countries = {seed.country_name for seed, _ in study.chosen}
    title = (
        f"build_specnorm\n{len(study.seeds.seeds):,} seeds, {len(study.chosen):,} chosen of "
        f"{len(countries):,} countries"
    )
    return title + _left_out("seed rows", study.seeds.dropped), session


def _left_out(rows: str, dropped: Mapping[str, int]) -> str:
    reasons = ", ".join(f"{reason} {n}" for reason, n in dropped.items())
    return f"\n{rows} left out: {reasons}" if reasons else ""


def _show_published() -> None:
    ((items, countries, yes),) = Warehouse.open().query(SPECNORM_PUBLISHED).rows()
    say(
        f"published: {items:,} of {TARGET_ITEMS:,} items, {countries} of {TARGET_COUNTRIES} countries, "
        f"{yes:.0%} yes (target {TARGET_YES_SHARE:.0%})",
        style="",
    )


specnorm.command(
    "build",
    help="""Choose seeds, have a model draft items from them, check the drafts, queue good ones for review.

Every draft is a row of the table `specnorm_draft`, including drafts that the checks reject. A seed whose
draft is queued or published is not drafted again; drafts not yet reviewed are in the new queue too.

Examples:

- `culturemeter specnorm build -m gpt --n 100 --max-usd 2 --dry-run`

- `culturemeter specnorm build -m ./writer.toml --seeds norms.csv --queue first.csv`
""",
)(
    _command(
        SpecnormParams,
        _plan_specnorm,
        "Drafts of this build (a draft may have several faults)",
        _show_published,
    )
)


@specnorm.command("review")
def review_specnorm(
    queue: Annotated[Path, typer.Argument(help="the queue with its column decision filled in")],
    out: Annotated[
        Path | None, typer.Option(help="write all published items to this CSV, for the evaluation")
    ] = None,
) -> None:
    """Publish the items that reviewers accepted or revised, into the table `specnorm_item`.

    Rows without a decision stay pending: run the command again when more are decided. A later decision
    replaces an earlier one. Revised texts are checked like drafts; faulty ones are listed, not published.

    Example: `culturemeter specnorm review queue.csv --out published.csv`
    """
    with errors():
        configure(Warehouse.open().home)
        from tasks.builders.specnorm import steps

        reviewed = steps.review(queue, out)
        _show_decisions(reviewed.counts)
        _show_published()
        if out:
            say(out, "published")
        faulty = ((f"seed {row.draft.seed}", faults) for row, faults in reviewed.faulty)
        _stop_at_faulty(faulty, "revised, not published")


@specnorm.command("status")
def status_specnorm(form: As = Format.table) -> None:
    """Show drafts by status, country and specificity with their share of yes, and progress to the target.

    Example: `culturemeter specnorm status --format csv`
    """
    with errors():
        show(Warehouse.open().query(SPECNORM_COUNTS), form)
        _show_published()


# --- CulturALL --------------------------------------------------------------------------------------


def _plan_create(params: CreateParams) -> tuple[str, RunSession]:
    from flows.build import planned
    from tasks.builders.culturall.steps import CREATE
    from tasks.builders.culturall.studies import listed_topics

    session = planned(CREATE, params)
    study: Any = session.study
    topics = listed_topics(params)
    n_examples = sum(len(topic.examples) for topic in topics)
    if study.jobs and not params.model:
        raise ValueError("name the model that drafts items from the sources with --model")
    title = (
        f"culturall build\n{len(topics)} topics with {n_examples} examples, {len(study.jobs):,} sources to "
        f"draft, {len(study.own):,} items by people"
    )
    return title + _left_out("rows", study.dropped), session


def _plan_elevate(params: ElevateParams) -> tuple[str, RunSession]:
    from flows.build import planned
    from tasks.builders.culturall.steps import ELEVATE

    check_new(Path(params.queue))
    session = planned(ELEVATE, params)
    study: Any = session.study
    return f"culturall elevate\n{len(study.jobs):,} easy drafts", session


def _plan_release(params: ReleaseParams) -> tuple[str, RunSession]:
    from flows.build import planned
    from tasks.builders.culturall.steps import LABEL

    check_new(Path(params.queue))
    if params.out and Path(params.out).exists():
        raise ValueError(f"{params.out} exists and is not overwritten: name another folder with --out")
    session = planned(LABEL, params)
    study: Any = session.study
    return f"culturall release\n{len(study.items):,} drafts without labels", session


def _show_figures() -> None:
    """Show the decisions so far and the last version, beside the figures of Lin et al. (2026)."""
    from tasks.builders.culturall.release import DECIDED, figures

    warehouse = Warehouse.open()
    statuses = dict(warehouse.query(DECISIONS).rows())
    items = warehouse.query(DIFFICULTIES).to_dicts()
    for number, name, n in warehouse.query(VERSIONS).rows():
        say(f"version {number} ({name}): {n:,} items", style="")
    rows = figures(items, statuses)
    for part in (rows[: len(DECIDED)], rows[len(DECIDED) :] if items else []):
        shares = ", ".join(f"{name} {'–' if share is None else f'{share:.1%}'}" for name, _, share, _ in part)
        if part:
            say(f"{shares} (paper {', '.join(f'{paper:.1%}' for *_, paper in part)})", style="dim")


CULTURALL: dict[str, tuple[type[AnyParams], Planned, str]] = {
    "build": (CreateParams, _plan_create, """\
Draft items from your sources, and measure which models solve them.

Every draft is a row of the table `culturall_draft`, including drafts that the checks reject. A source with
a usable draft is not drafted again; a draft that a solver has not answered yet is put to that solver.

Examples:

- `culturemeter culturall build --model gpt --pages excerpts/ --language kk --solvers a,b,c --judges gpt
--dry-run`

- `culturemeter culturall build --model gpt --topics topics.xlsx --examples 10 --datasets questions.csv`

- `culturemeter culturall build --written mine.csv --solvers a,b,c`
"""),
    "elevate": (ElevateParams, _plan_elevate, """\
Have a model make easy drafts harder, and queue its proposals for review.

A draft is easy if most solvers solve it.

A proposal replaces its draft once a reviewer has accepted it (`culturemeter culturall review`).

Example: `culturemeter culturall elevate --model gpt --solvers a,b,c --judges gpt --queue harder.csv`
"""),
    "release": (ReleaseParams, _plan_release, """\
Label, translate and check drafts, and publish those that reviewers accept.

Run it again after each review: it publishes a new version if anything has changed.

Examples:

- `culturemeter culturall release --model gpt --queue review.csv --max-usd 5`

- `culturemeter culturall release --queue more.csv --out version-1`, then
`culturemeter run culturall --file version-1/items.jsonl`
"""),
}  # fmt: skip
for _name, (_kind, _planned, _help) in CULTURALL.items():
    _title = "Drafts of this warehouse by status and fault"
    culturall.command(_name, help=_help)(_command(_kind, _planned, _title, _show_figures))


@culturall.command("review")
def review_culturall(
    queue: Annotated[Path, typer.Argument(help="queue of elevate or release with its decisions filled in")],
) -> None:
    """Read reviewers' decisions: accept, revise or reject. Nobody reviews a draft of their own.

    Rows without a decision stay pending: run the command again when more are decided. A later decision
    replaces an earlier one. Revised texts are checked like drafts; faulty ones are listed, not stored.

    Example: `culturemeter culturall review review.csv`
    """
    with errors():
        configure(Warehouse.open().home)
        from tasks.builders.culturall import steps

        reviewed, n_pending = steps.read_review(queue)
        decisions = [row["decision"] for row in reviewed.decisions]
        counts = {name: decisions.count(name) for name in ("accept", "revise", "reject")}
        _show_decisions(counts | {"pending": n_pending})
        _show_figures()
        faulty = ((row.where, faults) for row, faults in reviewed.faulty)
        _stop_at_faulty(faulty, "revised, not taken")


@culturall.command("status")
def status_culturall(form: As = Format.table) -> None:
    """Show drafts by status and fault, and the last version beside the paper's figures.

    Example: `culturemeter culturall status --format csv`
    """
    with errors():
        show(Warehouse.open().query("FROM culturall_build"), form)
        _show_figures()
