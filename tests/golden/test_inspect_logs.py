"""Logs of Inspect of a finished run, read with Inspect's reader: scores and texts equal the stored ones."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from deployments.cli.app import app
from deployments.evaluations import evaluation as door
from flows.stored import finished_runs, rebuilt, samples_of
from tests.golden.conftest import Homes
from tests.golden.harness import EVALUATIONS, net
from tests.ports import free_port
from warehouse import Warehouse

inspect_log = pytest.importorskip("inspect_ai.log")

Samples = Mapping[str, Any]


def exported(home: Path, evaluation: str, *options: str) -> list[str]:
    """Run the command and return the files that it names."""
    env = {"CULTUREMETER_HOME": str(home)}
    result = CliRunner().invoke(app, ["export", "inspect", evaluation, *options], env=env)
    assert result.exit_code == 0, result.output
    return result.stdout.split()


def scores(samples: Samples, name: str) -> dict[str, float | str | None]:
    """Return sample -> its score of that name; None if unscored."""
    own = {key: sample.scores[name].value for key, sample in samples.items() if name in (sample.scores or {})}
    return {key: None if isinstance(v, float) and math.isnan(v) else v for key, v in own.items()}


def rows(home: Path, query: str, run_id: str) -> dict[str, Any]:
    """Return first column -> second, of the rows of a run."""
    return dict(Warehouse.open(home).query(query, [run_id]).rows())


def same(logged: Mapping[str, Any], stored: Mapping[str, Any]) -> None:
    assert logged
    assert logged.keys() == stored.keys()
    for key, value in stored.items():
        assert logged[key] == (pytest.approx(value) if isinstance(value, float) else value), key


CULTURALL = (
    "SELECT condition || ':' || item, correct::DOUBLE FROM culturall_answer WHERE run_id = ? "
    "AND coalesce(unscored_reason, '') <> 'the item has no English translation'"
)
CURE = "SELECT concat_ws(':', benchmark, mode, item), {} FROM cure_answer WHERE run_id = ? {}"
WORLDWISE = (
    "SELECT concat_ws(':', culture, scenario, repetition + 1), {} FROM worldwise_answer WHERE run_id = ?"
)
EXPLICATION = (
    "SELECT concat_ws(':', 'real', task, persona, condition, repetition), {} FROM explication_conversation "
    "WHERE run_id = ?"
)
TABLES: Mapping[str, Mapping[str, str]] = {
    "culturall": {"correct": CULTURALL},
    "cure": {
        "label": CURE.format("correct::DOUBLE", ""),
        "explanation": CURE.format("score", "AND mode = 'thick'"),
    },
    "worldwise": {"alignment": WORLDWISE.format("alignment"), "position": WORLDWISE.format("score")},
    "explication": {"apr": EXPLICATION.format("apr"), "interaction": EXPLICATION.format("interaction")},
}
"""Evaluation -> score -> the same in SQL."""


def of_domains(samples: Samples) -> dict[str, float]:
    """Return domain -> the mean over countries of the samples' means over questions."""
    mass = scores(samples, "reference_mass")
    by_country: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for key, value in mass.items():
        if value is not None:
            about = samples[key].metadata
            by_country[about["domain"]][about["country"]].append(float(value))
    return {domain: fmean(map(fmean, own.values())) for domain, own in by_country.items()}


def of_wordings(samples: Samples) -> dict[str, float]:
    """Return wording -> the mean average precision of its dishes."""
    by_wording: dict[str, list[float]] = defaultdict(list)
    for key, value in scores(samples, "average_precision").items():
        about = samples[key].metadata
        by_wording[f"{about['condition']}:{about['template']}"].append(float(value or 0))
    return {wording: fmean(values) for wording, values in by_wording.items()}


QUICK = ("culturall", "cure", "spectral")
"""Two that write, of which another test uses the first, and one that scores: the others take long."""

CHANGED = "UPDATE run_base SET params = json_merge_patch(params, '{\"seed\": 9}') WHERE model = 'fake-a'"
SPECTRAL = """
SELECT slice, value FROM metric_value
WHERE run_id = ? AND metric = 'reference_mass' AND slice_kind = 'domain' AND value IS NOT NULL
"""
FMLAMA = SPECTRAL.replace("reference_mass", "map").replace("'domain'", "'condition_template'")
MEANS: Mapping[str, tuple[Callable[[Samples], dict[str, float]], str]] = {
    "spectral": (of_domains, SPECTRAL),
    "fmlama": (of_wordings, FMLAMA),
}
"""Evaluation whose table has means alone -> the means of the samples' scores, and the same in SQL."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "evaluation", [e if e in QUICK else pytest.param(e, marks=pytest.mark.heavy) for e in EVALUATIONS]
)
def test_a_log_has_the_texts_and_scores_of_its_run(finished: Homes, evaluation: str) -> None:
    home = finished(evaluation)
    paths = exported(home, evaluation)
    assert len(paths) == len(net(evaluation).models)
    for path in paths:
        log = inspect_log.read_eval_log(path)
        run = log.eval.metadata["run_id"]
        assert log.status == "success"
        assert log.eval.task == evaluation
        samples = {sample.metadata.get("sample", sample.id): sample for sample in log.samples}
        assert len(samples) == len(log.samples) == log.results.total_samples > 0
        for name, query in TABLES.get(evaluation, {}).items():
            same(scores(samples, name), rows(home, query, run))
        if evaluation in MEANS:
            means, query = MEANS[evaluation]
            same(means(samples), rows(home, query, run))
        _metrics_are_the_stored_ones(home, log)
        _texts_are_the_stored_ones(home, log)
    assert exported(home, evaluation) == [], "existing logs are not written again"


@pytest.mark.slow
def test_options_select_the_exported_runs(finished: Homes) -> None:
    home = finished("spectral")
    (config,) = Warehouse.open(home).query("SELECT DISTINCT config_hash FROM run")["config_hash"]
    model, *others = net("spectral").models
    assert others
    out = ("--out", str(home / "logs"), "--config", config, "--occasion", "")
    (path,) = exported(home, "spectral", "--model", model, *out)
    assert Path(path).parent == home / "logs" / "spectral"
    assert inspect_log.read_eval_log(path, header_only=True).eval.model == model
    assert not (home / "inspect").exists()


@pytest.mark.slow
def test_a_run_whose_requests_have_changed_since_is_shown_as_it_was(finished: Homes) -> None:
    home = finished("spectral")
    with Warehouse.open(home).write() as connection:
        connection.execute(CHANGED)
    assert len(exported(home, "spectral")) == len(net("spectral").models)


@pytest.mark.slow
def test_an_evaluation_without_samples_exports_prompts_and_completions(
    finished: Homes, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = finished("culturall")
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    evaluation = replace(door("culturall"), samples=None)
    run = finished_runs("culturall")[0]
    shown = {sample.output for sample in samples_of(evaluation, *rebuilt(evaluation, run))}
    stored = Warehouse.open(home).query("SELECT DISTINCT text FROM response WHERE run_id = ?", [run.run_id])
    assert shown & set(stored["text"]) == shown


@pytest.mark.slow
@pytest.mark.heavy
def test_browse_serves_the_logs_until_it_is_interrupted(finished: Homes) -> None:
    home, port = finished("spectral"), free_port()
    command = [sys.executable, "-m", "deployments.cli.app", "browse", "spectral", "--port", str(port)]
    env = {**os.environ, "CULTUREMETER_HOME": str(home), "PYTHONPATH": str(Path.cwd())}
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        assert process.stderr.readline().split() == ["answers", f"http://127.0.0.1:{port}"]
        page = httpx.get(f"http://127.0.0.1:{port}/", timeout=60)
        listed = httpx.get(f"http://127.0.0.1:{port}/api/log-files", timeout=60).json()["files"]
        assert "<title>Inspect View" in page.text
        assert len(listed) == len(net("spectral").models)
        again = subprocess.run(command, env=env, capture_output=True, text=True)
        assert (again.returncode, f"port {port} on 127.0.0.1 is taken" in again.stderr) == (1, True)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
        assert "stopped" in process.stderr.read()
    finally:
        process.kill()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{port}/", timeout=10)


def _metrics_are_the_stored_ones(home: Path, log: Any) -> None:
    run = log.eval.metadata["run_id"]
    stored = Warehouse.open(home).query("SELECT * FROM metric_value WHERE run_id = ?", [run]).to_dicts()
    logged = {(r["metric"], r["slice_kind"], r["slice"]): r for r in log.results.metadata["metric_rows"]}
    assert len(logged) == len(stored)
    for row in stored:
        own = logged[row["metric"], row["slice_kind"], row["slice"]]
        assert {name: row[name] for name in own} == own
    overall = {r["metric"]: r for r in stored if r["slice_kind"] == "overall" and r["value"] is not None}
    shown = {s.name: s.metrics["value"].value for s in log.results.scores if "value" in s.metrics}
    assert shown == {name: row["value"] for name, row in overall.items()}


def _texts_are_the_stored_ones(home: Path, log: Any) -> None:
    """Check that the log has the candidate's and the judges' texts, to the last character."""
    logged = {
        message.text
        for sample in log.samples
        for message in [
            *sample.messages,
            *(m for score in (sample.scores or {}).values() for m in _grading(score)),
        ]
        if message.role == "assistant"
    }
    assert logged
    query = "SELECT DISTINCT text FROM response WHERE run_id = ?"
    written = set(Warehouse.open(home).query(query, [log.eval.metadata["run_id"]])["text"])
    # Other evaluations cut off text that poses as another voice.
    if log.eval.task in ("cure", "culturall", "worldwise"):
        assert written <= logged | {""}


def _grading(score: Any) -> list[Any]:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser

    kinds: Mapping[str, Callable[..., Any]] = {"assistant": ChatMessageAssistant, "user": ChatMessageUser}
    messages = (score.metadata or {}).get("grading", [])
    return [kinds[m["role"]](content=m["content"]) for m in messages if m["role"] in kinds]
