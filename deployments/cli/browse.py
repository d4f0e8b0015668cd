"""``culturemeter export inspect`` and ``culturemeter browse``: prompts, answers and verdicts."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.common import Occasion, as_shown, check_evaluation, errors, of_evaluations
from deployments.cli.which import Config, Profile, evaluations, of_hash
from deployments.serve.server import HOST, configure, end_with_parent, is_free
from deployments.show.display import out, say, working
from warehouse import Warehouse, WarehouseError

if TYPE_CHECKING:
    from flows.runs import FinishedRun

PORT = 7575
FOLDER = "inspect"
"""Under the home folder."""

_METRICS = """
SELECT metric, label, slice_kind, slice, value, unscored_reason, n_scored, n_unscored, ci_low, ci_high,
    null_value, is_headline
FROM metric_value JOIN run USING (run_id) JOIN metric USING (evaluation, metric)
WHERE run_id = ? ORDER BY NOT is_headline, metric.rowid, slice_kind, slice
"""

Of = Annotated[str | None, of_evaluations("all")]
Model = Annotated[
    str | None, typer.Option("--model", "-m", help="model as named on the leaderboard; default: all")
]
Out = Annotated[Path | None, typer.Option(help="folder to write to; default: inspect/ in CULTUREMETER_HOME")]


def export_inspect(
    evaluation: Of = None,
    profile: Profile = None,
    config: Config = None,
    model: Model = None,
    occasion: Occasion = None,
    out: Out = None,
) -> None:
    """Write prompts, completions, verdicts, scores and conversations as logs of Inspect, one file per run.

    Inspect's viewer, Python interface and tools read them. Existing logs are not written again.

    Examples:

    - `culturemeter export inspect`

    - `culturemeter export inspect cure --model gemma3-270m --out logs`
    """
    with errors("run again to continue; finished logs are kept"):
        folder = out or Warehouse.existing().home / FOLDER
        failures = [*_written(folder, evaluation, (profile, config), model, occasion)]
        if failures:
            raise WarehouseError("\n".join(failures))


def browse(
    evaluation: Of = None,
    profile: Profile = None,
    config: Config = None,
    model: Model = None,
    occasion: Occasion = None,
    out: Out = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="port of the viewer")] = PORT,
) -> None:
    """Read prompts, answers, verdicts and conversations in the browser, with the viewer of Inspect.

    First writes missing logs (as `culturemeter export inspect` does), then serves them on 127.0.0.1 until
    Ctrl-C. Anyone with an account on this machine can read them there.

    Examples:

    - `culturemeter browse`

    - `culturemeter browse explication --model gemma3-270m --port 8000`
    """
    with errors("run again to continue; finished logs are kept"):
        folder = out or Warehouse.existing().home / FOLDER
        if not is_free(port):
            raise ValueError(f"port {port} on {HOST} is taken: choose another with --port")
        for failure in _written(folder, evaluation, (profile, config), model, occasion, is_quiet=True):
            say(failure, "left out:", "yellow")
        logs = folder / evaluation if evaluation else folder
        if not any(logs.rglob("*.eval")):
            raise WarehouseError("nothing to show: no log could be written")
        _view(logs, port)


def _written(
    folder: Path,
    name: str | None,
    which: tuple[str | None, str | None],
    model: str | None,
    occasion: str | None,
    is_quiet: bool = False,
) -> Iterator[str]:
    """Write missing logs and print their paths; yield the reason for each log that could not be written.

    Raises:
        EngineError: inspect-ai is not installed. WarehouseError: no run fits.
    """
    warehouse, n_same = Warehouse.existing(), 0
    if name not in evaluations(warehouse):  # stored runs of an evaluation that is gone are shown
        check_evaluation(name)
    configure(warehouse.home)  # before Prefect is imported
    from deployments.show.inspect_logs import needed_version, write_log
    from flows.stored import samples

    needed_version()
    for run in runs_of(warehouse, name, which, model, occasion):
        metrics = warehouse.query(_METRICS, [run.run_id])
        try:
            with working(f"{run.evaluation}, {run.model}: writing"):
                path = write_log(folder / run.evaluation, run, metrics, samples(run))
        except WarehouseError as error:
            yield str(error)
            continue
        n_same += path is None
        if path is not None and not is_quiet:
            out(path, "log")
    if n_same and not is_quiet:
        say(f"{n_same} logs existed already", style="")


def runs_of(
    warehouse: Warehouse,
    name: str | None,
    which: tuple[str | None, str | None],
    model: str | None,
    occasion: str | None,
) -> list[FinishedRun]:
    """Return the runs of the shown configuration, of one evaluation or of every evaluation with runs."""
    from deployments.show.configurations import shown_configuration
    from flows.stored import finished_runs

    profile, config = which
    model = model and as_shown(warehouse, model)
    if name is None and config:
        name = of_hash(warehouse, config)[0]
    if name is not None:
        has_runs = name in evaluations(warehouse)
        key = shown_configuration(warehouse, name, profile, config) if has_runs else config
        return finished_runs(name, key, model, occasion)
    runs: list[FinishedRun] = []
    for each in evaluations(warehouse):
        with suppress(WarehouseError):  # another evaluation may have fitting runs
            key = shown_configuration(warehouse, each, profile)
            runs += finished_runs(each, key, model, occasion)
    if runs:
        return runs
    if profile:
        raise WarehouseError(f"no finished run has the profile {profile!r}: `culturemeter runs` lists them")
    return finished_runs(None, None, model, occasion)


def _view(folder: Path, port: int) -> None:
    """Show the logs of a folder until Ctrl-C.

    The viewer runs with a data folder of its own: sharing the user's would end a viewer that already runs.
    Raises WarehouseError if it does not start.
    """
    with TemporaryDirectory() as own:
        command = [sys.executable, "-m", "inspect_ai", "view", "start", "--log-dir", str(folder.resolve())]
        options = ["--recursive", "--host", HOST, "--port", str(port), "--no-trust-content"]
        environment = {**os.environ, "XDG_DATA_HOME": own}
        process = subprocess.Popen(
            [*command, *options], stdout=subprocess.DEVNULL, cwd=own, env=environment,
            preexec_fn=end_with_parent,
        )  # fmt: skip
        try:
            _wait_for(process, port)
            say(f"http://{HOST}:{port}", "answers", "green")
            say("Ctrl-C stops", style="dim")
            if code := process.wait():
                raise WarehouseError(f"the viewer ended with code {code}")
        except KeyboardInterrupt:
            say("stopped", style="")
        finally:
            process.terminate()
            process.wait(timeout=15)


def _wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait for the viewer; raise WarehouseError if it ends, or does not answer within a minute."""
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return
        time.sleep(0.1)
    raise WarehouseError("the viewer (inspect view) does not start; its output is above")
