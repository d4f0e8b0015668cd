"""``culturemeter run``: one command per evaluation, with options made from its params."""

from __future__ import annotations

import inspect
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from deployments.cli import options
from deployments.cli.bars import bars
from deployments.cli.common import MODEL, NO_SERVER, WITHOUT_SERVER, errors
from deployments.cli.suggest import Suggesting
from deployments.evaluations import (
    DEFAULT_PROFILE,
    doors,
    evaluation,
    flow,
    params,
    profile,
    profiles,
    shipped_profiles,
    sound,
)
from deployments.serve.server import configure, connect
from deployments.show.display import notes, on_stdout, say, working
from tasks.engines.protocols import EngineError
from tasks.engines.served.keys import checked_pair, remember, remembered
from tasks.engines.served.providers import thinking_tokens
from tasks.engines.specs import EngineSpec, allow, may_send_key
from warehouse import Warehouse, WarehouseError

if TYPE_CHECKING:
    from deployments.cli.choices import AllParams
    from deployments.show import plan
    from flows.session import RunSession
    from tasks.evaluations.contract import Params

ALL = "all"
"""The command that runs every evaluation."""


def _option(*names: str, text: str, panel: str = options.RUN, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


_PROFILE = "a named set of options; command-line options override it"
_HELP_ALL = """Run several evaluations of several models on one occasion.

An evaluation that fails does not stop the others.

Examples:

- `culturemeter run all --profile smoke --dry-run`

- `culturemeter run all --profile sports/smoke`

- `culturemeter run all -m ./gpt.toml --evaluations cure,worldwise --occasion {week} --max-usd 5`"""
_AGAIN = "generate everything anew, on an occasion named after the time; earlier answers are kept"
_SETTINGS = "with --dry-run: list every setting beside the paper's, as profile paper does"
PAPER = "paper"
_SHOWN = "SELECT run_id, model FROM run WHERE run_id IN (SELECT unnest(?::VARCHAR[])) ORDER BY model"
_PROBE = """measure for up to five seconds how fast a model scores here, if that was never measured
(default: yes before a run, no on a dry run)"""
_CODE = "allow engine specs to run Python code of the model's repository: read the code first"
_KEY = """let a spec send the key in this variable to this host, as in MY_API_KEY@llm.example.org;
remembered in the home"""
_REPLICAS = "copies of each model to run at once, one per GPU or sharing this machine's cores"
_GPUS = """place engines on this many GPUs, side by side by their memory: as many models at once as fit, and
copies of those with most work where GPUs are free (at most --replicas of each)"""
_CORES = "the same on this many cores of the processor; each engine gets an equal share of them"
_SHARE = """share of a GPU's memory for each vLLM engine; default: all, or what both need if a model and
a simulator take turns"""
_RAY = "run the copies on the Ray cluster at this address: host:6379, or ray://host:10001 from outside"
_TRUST = "allow a pack's own score in Python to run on the answers: read the file first"
_PICKLE = "allow pickled weights (.bin, .pt), which can run any code when they are loaded"


@dataclass(frozen=True)
class Switches:
    """Options that every evaluation has in addition to its params."""

    model: Annotated[
        list[str] | None, _option("--model", "-m", metavar="NAME", text=MODEL, panel=options.ENGINES)
    ] = None
    profile: Annotated[str, _option(metavar="NAME", text=_PROFILE, panel=options.HOW_MUCH)] = DEFAULT_PROFILE
    dry_run: Annotated[bool, _option("--dry-run", text="show the plan and stop")] = False
    settings: Annotated[bool, _option("--settings", text=_SETTINGS)] = False
    again: Annotated[bool, _option("--again", text=_AGAIN)] = False
    probe: Annotated[bool | None, _option("--probe/--no-probe", text=_PROBE, show_default=False)] = None
    no_server: Annotated[bool, _option("--no-server", text=NO_SERVER)] = False
    trust: Annotated[bool, _option("--trust", text=_TRUST)] = False
    trust_remote_code: Annotated[bool, _option("--trust-remote-code", text=_CODE, panel=options.ENGINES)] = (
        False
    )
    trust_pickle: Annotated[bool, _option("--trust-pickle", text=_PICKLE, panel=options.ENGINES)] = False
    trust_key: Annotated[
        list[str] | None, _option("--trust-key", metavar="VARIABLE@HOST", text=_KEY, panel=options.ENGINES)
    ] = None
    replicas: Annotated[
        int | None, _option("--replicas", metavar="N", min=1, text=_REPLICAS, panel=options.ENGINES)
    ] = None
    gpus: Annotated[int | None, _option("--gpus", metavar="N", min=1, text=_GPUS, panel=options.ENGINES)] = (
        None
    )
    cores: Annotated[
        int | None, _option("--cores", metavar="N", min=1, text=_CORES, panel=options.ENGINES)
    ] = None
    gpu_share: Annotated[
        float | None,
        _option("--gpu-share", metavar="SHARE", min=0.05, max=1.0, text=_SHARE, panel=options.ENGINES),
    ] = None
    ray: Annotated[str | None, _option("--ray", metavar="ADDRESS", text=_RAY, panel=options.ENGINES)] = None
    verbose: Annotated[bool, _option("--verbose", "-v", text="show the log")] = False


Begin = Callable[[str, Switches, Mapping[str, Any]], None]
"""Function of an evaluation, or ALL, its switches, and option texts by param (None: not given)."""


class Commands(Suggesting):
    """A command for each evaluation, imported when it is called."""

    switches: type[Switches] = Switches
    """Options of each command in addition to its evaluation's params."""

    def begin(self, context: Any) -> Begin:
        """Return what a command does in a context of typer's."""
        return lambda name, switches, texts: (
            start_all(switches, texts) if name == ALL else start(name, switches, texts)
        )

    def list_commands(self, ctx: Any) -> list[str]:
        return [*sound(), ALL]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in (*doors(), ALL):
            return None
        with errors():  # of a pack with faults
            text = _HELP_ALL if cmd_name == ALL else _help(cmd_name)
        single = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        single.command(cmd_name, help=text)(command(cmd_name, self.begin(ctx), self.switches))
        return typer.main.get_command(single)


app = typer.Typer(
    cls=Commands, no_args_is_help=True, help="Run an evaluation; stored answers are used again."
)


@app.callback()
def run() -> None:
    """Run an evaluation; stored answers are used again."""


def command(name: str, begin: Begin, kind: type[Switches] = Switches) -> Callable[..., None]:
    """Return the function of ``culturemeter run <name>``; its signature holds the options."""
    hints = get_type_hints(kind, include_extras=True)  # of each class in the words of its own module
    found = inspect.signature(kind).parameters
    own = {key: each.replace(annotation=hints[key]) for key, each in found.items()}
    if name == ALL:
        from deployments.cli.choices import AllParams

        knobs = options.parameters(AllParams, {}, leave_out=("models", *own))
    else:
        knobs = options.parameters(params(name), shipped_profiles(name), leave_out=("models", *own))

    def start_it(**texts: Any) -> None:
        switches = kind(**{key: texts.pop(key) for key in own})
        resume, now = "run again to resume", f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        if switches.again:
            resume += f", with --occasion {now} in place of --again"
        with errors(resume):
            if switches.again and texts["occasion"]:
                raise ValueError("--again names the occasion itself: leave --occasion out")
            begin(name, switches, texts | {"occasion": now} if switches.again else texts)

    every = [*(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own.values()), *knobs]
    start_it.__signature__ = inspect.Signature(sorted(every, key=options.place))  # type: ignore[attr-defined]
    return start_it


def chosen_params(name: str, switches: Switches, texts: Mapping[str, Any]) -> Params:
    """Return an evaluation's params: of the profile, and the options over it. Raises ValueError."""
    from deployments.cli.choices import labelled

    kind = evaluation(name).params
    models = options.split(switches.model or doors()[name].models)
    own = options.values(kind, texts)
    values = {"models": models} | labelled(profile(name, switches.profile, models), own)
    checked: Params = options.validated(kind, values | own)
    return checked


def chosen_of_all(switches: Switches, texts: Mapping[str, Any]) -> AllParams:
    """Return the choices for all evaluations, with the occasion filled in. Raises ValueError."""
    from deployments.cli.choices import AllParams
    from flows import session as sessions

    values = {"models": options.split(switches.model or []), "profile": switches.profile}
    chosen = options.validated(AllParams, values | options.values(AllParams, texts))
    filled: AllParams = chosen.model_copy(update={"occasion": sessions.occasion(chosen.occasion)})
    return filled


def start(name: str, switches: Switches, texts: Mapping[str, Any]) -> None:
    """Show the plan, and run it unless nothing is left to do; see ``Begin``."""
    warehouse = opened(switches)
    with on_stdout(switches.dry_run):
        session, _ = planned(name, chosen_params(name, switches, texts), switches)
        if switches.dry_run:
            from deployments.show import settings

            is_whole = switches.settings or session.params.profile == PAPER
            kinds = {engine.kind for engine in session.candidates.values()}
            settings.show(name, session.params, session.packs, kinds, is_whole=is_whole)
    if session.is_done():
        say("nothing to do", style="")
    elif switches.dry_run and session.failures:
        raise ValueError("\n".join(session.failures))
    elif not switches.dry_run:
        try:
            _work_off(name, session, warehouse, switches)
        finally:
            _show_results(name, session, warehouse)
        own = f"{name} --config {session.config}"
        say(f" next: culturemeter leaderboard {own} · culturemeter report {own}", "done")


def _show_results(name: str, session: RunSession, warehouse: Warehouse) -> None:
    """Show the headlines of the run's models, and what they have lost; models without rows are left out."""
    from deployments.show import boards
    from deployments.show.display import show_rows
    from deployments.show.losses import losses, sent, without_number
    from warehouse.querying import ResultSet

    own_runs = {session.ids[model]: model for model in session.lost_of if model in session.ids}
    shown = dict(warehouse.query(_SHOWN, [[*own_runs]]).rows())
    models = set(shown.values())
    if not models:
        return
    board = boards.board_for_people(warehouse, name, session.config, None, doors()[name].columns)
    if own := [row for row in board if row.get("model") in models]:
        show_rows(ResultSet.from_dicts(own), f"{name}, config {session.config}", is_wide=False)
    for run, model in shown.items():
        if model != own_runs[run]:
            say(f"{own_runs[run]} is shown as {model}", "note:", "yellow")
    for line in sent(warehouse, name, session.config):
        say(line, "sent:")
    for line in losses(warehouse, name, session.config, models, above=0.0):
        say(line, "lost:", "yellow")
    for line in without_number(warehouse, own_runs):
        say(line, "note:", "yellow")


def start_all(switches: Switches, texts: Mapping[str, Any]) -> None:
    """Show the plan of every evaluation and their sum, then run them one after another.

    An evaluation that fails, even while planning, does not stop the others; failures are listed at the end.
    """
    from deployments.cli.choices import one_of_all, packs_of_all
    from deployments.show import plan

    warehouse = opened(switches)
    chosen = chosen_of_all(switches, texts)
    packs = packs_of_all(chosen)
    estimates, failures, is_done = [], [], True
    for name, taken in packs.items():
        try:
            with on_stdout(switches.dry_run):
                session, estimate = planned(name, one_of_all(name, chosen, taken), switches)
        except (EngineError, WarehouseError, ValueError) as error:
            failures.append(f"{name}: {error}")
            continue
        estimates.append(estimate)
        failures += [f"{name}: {failure}" for failure in session.failures]
        is_done &= session.is_done()
    without = [name for name, some in packs.items() if not some]
    with on_stdout(switches.dry_run):
        for pack in chosen.packs:
            say(f"pack {pack}: {', '.join(name for name, some in packs.items() if pack in some)}", style="")
        if chosen.packs and without:
            say(f"without a pack: {', '.join(without)}", style="")
        plan.show_sum(estimates)
    if switches.dry_run or not estimates:
        if failures:
            raise ValueError("\n".join(failures))
    elif is_done and not failures:
        say("nothing to do", style="")
    else:
        _work_all_off(chosen, warehouse, switches)
        say(" next: culturemeter report --all", "done")


def opened(switches: Switches) -> Warehouse:
    """Return the warehouse after applying the options to this process."""
    from tasks.engines.replicas import use
    from tasks.loop import device_memory

    warehouse = Warehouse.open()
    configure(warehouse.home, switches.verbose)
    if not switches.verbose:  # hide libraries' warnings about coming changes
        warnings.simplefilter("ignore", FutureWarning)
        os.environ.setdefault("PYTHONWARNINGS", "ignore::FutureWarning")
    allow(remote_code=switches.trust_remote_code, pickle=switches.trust_pickle, pack_code=switches.trust)
    trust(warehouse.home, switches.trust_key or ())
    use(switches.replicas, switches.ray)
    device_memory.use(switches.gpu_share, switches.gpus, switches.cores)
    return warehouse


def planned(name: str, knobs: Params, switches: Switches) -> tuple[RunSession, plan.Estimate]:
    """Plan an evaluation and show what it would do."""
    from deployments.cli.choices import without_own_judge
    from deployments.packs.folders import of_packs_unasked
    from deployments.show import plan
    from flows import runs
    from flows import session as sessions
    from tasks.engines.presence import doubt, embedder_doubt
    from tasks.evaluations.contract import comparable
    from tasks.loop import probe
    from tasks.report.sentences import cohort_sentence

    own = evaluation(name)
    with notes(switches.verbose, logging.WARNING):
        session = sessions.prepare(own, knobs)
    for line in without_own_judge(name, knobs):
        say(line, "note:", "yellow")
    if refused := own.refused(session.study):
        if not switches.dry_run:
            raise ValueError(refused)
        say(refused, "note:", "yellow")
    for engine in session.engines.values():
        if engine.kind == "embedder" and (lacking := embedder_doubt(engine.name)):
            say(lacking, "note:", "yellow")
    if switches.dry_run:
        specs = {each.hash: each.spec for each in (*session.candidates.values(), *session.engines.values())}
        for spec in filter(None, specs.values()):
            if open_question := doubt(spec):
                say(open_question, "note:", "yellow")
    every = (*session.candidates.values(), *session.engines.values())
    confirm(Warehouse.open().home, (engine.spec for engine in every), switches.dry_run)
    for engine in every:
        if engine.spec and engine.spec.is_served and (tokens := thinking_tokens(engine.spec)):
            say(
                f"{engine.name}: up to {tokens:,} tokens per answer for thinking, beside those of the answer "
                '(reasoning = "none" in its spec does without)',
                "note:",
                "yellow",
            )
    estimate = plan.Estimate.of_session(session)
    title = f"{name}, profile {knobs.label}, config {comparable(session.study)}"
    if session.params.occasion:
        title += f", occasion {session.params.occasion}"
    if size := own.size(session.study):
        title += f"\n{size}"
    plan.show(title, estimate)
    if effect := doors()[name].cohort:
        cohort = session.params.cohort
        models, is_frozen = runs.cohort_members(session.config, cohort, session.candidates)
        say(cohort_sentence(cohort, models, effect, is_frozen), "note:", "yellow")
    if unasked := of_packs_unasked(name, knobs, session.study):
        say(unasked, "note:", "yellow")
    if session.failures and not switches.dry_run:
        say("given up: " + "\n".join(session.failures), style="yellow")
    if switches.probe or (switches.probe is None and not switches.dry_run):
        estimate = plan.probed(estimate, probe.speed)
    return session, estimate


def _work_off(name: str, session: RunSession, warehouse: Warehouse, switches: Switches) -> None:
    """Run the flow, or its loop without Prefect."""
    from deployments.serve.lines import logged
    from flows.evaluation import evaluate
    from flows.session import handed_over

    if not switches.no_server:
        with working("starting Prefect"):
            connect(warehouse.home, otherwise=WITHOUT_SERVER)
    # Failures are printed once, in full, at the end.
    with handed_over(session), notes(switches.verbose, logging.WARNING), bars():
        if switches.no_server:
            evaluate(session.evaluation, session.params)
        else:
            with logged():
                flow(name)(session.params)


def _work_all_off(chosen: AllParams, warehouse: Warehouse, switches: Switches) -> None:
    """Run all chosen evaluations, as subflows of one flow or without Prefect."""
    if not switches.no_server:
        with working("starting Prefect"):
            connect(warehouse.home, otherwise=WITHOUT_SERVER)
    from deployments.serve.lines import logged
    from deployments.serve.served import evaluate_all, run_all

    with notes(switches.verbose, logging.WARNING), bars():
        if switches.no_server:
            run_all(chosen)
        else:
            with logged():
                evaluate_all(chosen)


def _help(name: str) -> str:
    examples = "\n\n".join(f"- `culturemeter run {name} {text}`" for text in doors()[name].examples)
    door, labels = doors()[name], ", ".join(profiles(name))
    usual = f"Models: {', '.join(door.models)}, unless you name others. Profiles: {labels}."
    return f"{door.title}\n\n{usual}\n\nExamples:\n\n{examples}"


def trust(home: Path, pairs: Iterable[str]) -> None:
    """Allow the pairs of ``--trust-key`` and those of this home; the home remembers them."""
    new = [checked_pair(pair) for pair in pairs]
    remember(home, new)
    allow(key_pairs=[*remembered(home), *new])


def confirm(home: Path, specs: Iterable[EngineSpec | None], is_dry: bool) -> None:
    """Ask on a terminal about each new pair of a key's variable and a host, and remember what is allowed.

    Without a terminal, and on a dry run, nothing is asked: the engine refuses what was not allowed before it
    sends anything.
    """
    served = [spec for spec in specs if spec is not None and spec.is_served]
    for pair in dict.fromkeys(spec.key_pair for spec in served if not may_send_key(spec)):
        variable, _, host = pair.partition("@")
        can_answer = not is_dry and sys.stdin.isatty() and sys.stderr.isatty()
        if can_answer and typer.confirm(f"Send the key in {variable} to {host}, now and later?", err=True):
            trust(home, [pair])
        else:
            say(f"the key in {variable} goes to {host} only with --trust-key {pair}", "note:", "yellow")
