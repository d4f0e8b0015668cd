"""Requests that leave in a folder, are answered by a program without network and this package, and come back:
the rows are those of a run from here, for both embedded models and every evaluation.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from deployments.evaluations import evaluation
from flows import pending
from flows.session import prepare
from tasks.evaluations.fmlama.judge import SAMPLING
from tasks.pending.folder import Folder
from tests.golden.harness import Rows, files_of, metric_rows, net, new_home, params_of, run, stored

WRITER, SCORER = "{}-chat", "{}"
GEMMA_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<start_of_turn>"
    "{{ 'model' if message.role == 'assistant' else 'user' }}\n{{ message.content | trim }}<end_of_turn>\n"
    "{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
"""The form in which Gemma's instruction-tuned models converse; the embedded one, a base model, has none."""
NO_CULTUREMETER = """
import runpy, sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("culturemeter", "tasks", "flows", "warehouse", "prefect"):
            raise ImportError(f"{name} is not on that machine")
sys.meta_path.insert(0, Nothing())
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a program where nothing of this package can be imported."""
CASES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "spectral": (SCORER, {"countries": ["BR", "JP"], "domains": ["currency", "religions"], "max_items": 8}),
    "whence": (SCORER, {}),
    "harness": (SCORER, {}),
    "fmlama": (
        SCORER,
        {"languages": ["en"], "code_switching": False, "variants": [1], "judges": [WRITER]}
        | {"judged_dishes_per_origin": 1},
    ),
    "worldwise": (WRITER, {"repetitions": 1, "limit": 4, "temperature": 0.0, "max_tokens": 64}),
    "culturall": (WRITER, {"judges": [WRITER], "limit": 4, "conditions": ["native", "question"]}),
    "cure": (WRITER, {"judges": [WRITER], "limit": 4, "judge_samples": 1}),
    "explication": (
        WRITER,
        {"simulator": WRITER, "judges": [WRITER], "personas": ["aisha-kano"], "repetitions": 1}
        | {"max_turns": 3, "temperature": 0.0, "judge_max_tokens": 48},
    ),
}  # fmt: skip
"""Evaluation -> the engine that it measures, and what makes its net smaller. Texts are greedy, because each
engine draws in its own way."""
MOST_TOKENS = 48
"""Tokens of FmLAMA's judges, who may write thousands."""
VALUES = (
    ("item_logprob", "logprob"), ("candidate_score", "logprob"), ("option_score", "logprob"),
    ("pair_score", "logprob"), ("response", "text"), ("response", "option_logprobs"),
)  # fmt: skip
"""Kinds of parts, with their columns of what the engine gave."""
CLOSE, TINY = 1e-4, 1e-5
"""Nats by which log-probabilities may differ, and so numbers made of them; or a share of those of long texts,
whose tokens' differences add up."""


def params(name: str, model: str) -> dict[str, Any]:
    """Return the params of a case with a model in every role."""
    kind, own = CASES[name]
    every = dict(own) | {"models": [kind], "dtype": "float32"}
    return json.loads(json.dumps(every).replace("{}", model))  # type: ignore[no-any-return]


def conversing(model: Path, into: Path) -> Path:
    """Return a copy of a model's folder, with a chat template."""
    shutil.copytree(model, into, copy_function=os.link)
    if not any(into.glob("chat_template*")):
        (into / "chat_template.jinja").write_text(GEMMA_TEMPLATE)
    return into


def home_of(blank: Path, models: Path, writer: Path, name: str) -> Path:
    """Return a home with the embedded models, one that converses by vLLM, and what the cases' nets need."""
    home = new_home(blank, name, "cure", "http://127.0.0.1:9/v1")
    (home / "models").symlink_to(models)
    (home / "engines").mkdir(exist_ok=True)
    (home / "engines" / f"{writer.name}.toml").write_text(
        f'kind = "vllm"\nmodel = "{writer}"\nbatch_tokens = 4096\n[options]\nmax_model_len = 4096\n'
    )
    for other in CASES.keys() - {"cure"}:
        net(other).prepare(home, files_of(home, other))
    return home


def answered(folder: Path, *options: str) -> None:
    """Run the folder's program without network, as a machine without this package would."""
    command = ["unshare", "--user", "--map-root-user", "--net", sys.executable, "-I", "-c", NO_CULTUREMETER]
    done = subprocess.run(
        [
            *command,
            str(folder / "run.py"),
            "--program",
            "transformers",
            "--device",
            "cpu",
            "--positions",
            "16384",
            *options,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=1800,
        env={"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "are left" not in done.stderr


def differing(rows: Rows, others: Rows) -> list[str]:
    """Return the rows that differ by more than log-probabilities may."""
    if not rows or len(rows) != len(others):
        return [f"{len(rows)} and {len(others)} rows"]
    return [
        f"{row} {other}"
        for row, other in zip(rows, others, strict=True)
        if any(not same(row[name], other[name]) for name in row)
    ]


def same(own: str, other: str) -> bool:
    """Return whether two cells are equal, or numbers that are close."""
    try:
        return own == other or math.isclose(float(own), float(other), rel_tol=CLOSE, abs_tol=CLOSE)
    except ValueError:
        return False


def answers(home: Path) -> dict[tuple[Any, ...], Any]:
    """Return what the engines gave for each request of all cases: a text, or log-probabilities."""
    found = dict[tuple[Any, ...], Any]()
    for kind, value in VALUES:
        key = next(net(name).keys[kind] for name in CASES if kind in net(name).keys)
        for *where, given in stored(home, kind, [*key, value]).iter_rows():
            if value == "option_logprobs":
                found |= {(kind, *where, option): log for option, log in json.loads(given or "{}").items()}
            else:
                found[(kind, *where)] = given
    return found


def is_near(own: Any, other: Any) -> bool:
    """Return whether two answers are the same text, or log-probabilities that are close."""
    return own == other or (isinstance(own, float) and math.isclose(own, other, rel_tol=TINY, abs_tol=CLOSE))


def apart(here: Path, away: Path) -> list[str]:
    """Return how the answers in a home differ from those in another."""
    own, other = answers(here), answers(away)
    lines = [f"{key} is only in one" for key in own.keys() ^ other.keys()]
    return lines + [
        f"{key}: {own[key]!r} {other[key]!r}"
        for key in own.keys() & other.keys()
        if not is_near(own[key], other[key])
    ]


@pytest.mark.heavy
@pytest.mark.parametrize("model", ["smollm2-135m", "gemma3-270m"])
def test_the_circle_ends_with_the_rows_of_a_run(
    model: str,
    blank: Path,
    models_cache: Path,
    smollm2_folder: Path,
    gemma3_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shorter = replace(SAMPLING, max_tokens=MOST_TOKENS)
    monkeypatch.setattr("tasks.evaluations.fmlama.study.SAMPLING", shorter)
    writer = conversing(models_cache / model, tmp_path / f"{model}-chat")
    here, away = (
        home_of(blank, models_cache, writer, f"circle-{place}-{model}") for place in ("here", "away")
    )
    for name in CASES:
        run(name, here, **params(name, model))
    monkeypatch.setenv("CULTUREMETER_HOME", str(away))
    every = {name: params_of(name, away, **params(name, model)) for name in CASES}
    folder = Folder(tmp_path / "away")
    pending.export([prepare(evaluation(name), own) for name, own in every.items()], folder)
    finished: set[str] = set()
    for n_round in count():
        for share in ("1/2", "2/2") if n_round == 0 else ("1/1",):
            answered(folder.path, "--shard", share)
        taken = pending.take_in(folder, evaluation)
        assert taken.stored
        assert (taken.refused, taken.failures) == ({}, [])
        finished |= taken.finished.keys()
        if not taken.left:
            break
        assert not pending.export(pending.again(folder, evaluation), folder).kept
    assert finished == CASES.keys()
    assert apart(here, away) == []
    rows = {name: (metric_rows(here, name), metric_rows(away, name)) for name in CASES}
    assert {name: lines for name, both in rows.items() if (lines := differing(*both))} == {}
