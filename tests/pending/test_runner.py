"""Tests that run.py computes from the tokens of a folder what the engine here computes from texts."""

from __future__ import annotations

import argparse
import ast
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.engines import content
from tasks.engines.local.packed_trie import PackedTrieScorer
from tasks.engines.protocols import Cloze, TextPair
from tasks.engines.specs import EngineSpec
from tasks.pending.answers import Scores
from tasks.pending.away import Asked, Away
from tasks.pending.folder import weights_in
from tasks.pending.runner import main, source
from tasks.pending.runner.local import Transformers
from tests.engines.test_packed_trie import ARCHITECTURES, ITEMS, QUESTIONS, save_random

pytestmark = pytest.mark.slow
OWN = Cloze(
    before=("The food of Peru has", "Rice has"), lead=" ", after="", tail=" has", is_cut=True, is_own=True
)
OPTIONS = [[" a", " b"], [" rice"], [" x y", " x"]]
CALLS: dict[str, Callable[[Any], Any]] = {
    "lists": lambda engine: engine.score(QUESTIONS, [f" {item}" for item in ITEMS]),
    "options": lambda engine: np.concatenate(engine.score_each(QUESTIONS, OPTIONS)),
    "pairs": lambda engine: engine.score_pairs([TextPair(q, f" {i}") for q in QUESTIONS for i in ITEMS[:4]]),
    "candidates": lambda engine: engine.score_candidates(
        Cloze(before=OWN.before, lead=" ", after=" in it.", tail=" has"), ITEMS
    ),
    "own text": lambda engine: engine.score_candidates(OWN, ITEMS),
}  # fmt: skip


def numbers(value: Any) -> list[np.ndarray]:
    parts = [value] if isinstance(value, np.ndarray) else vars(value).values()
    return [np.asarray(part, dtype=np.float64) for part in parts]


def travelled(away: Away, runner: Transformers, call: Callable[[Any], Any]) -> Any:
    """Return a call's value, by way of the lines of a folder and of answers."""
    away.answers = None
    with pytest.raises(Asked) as asked:
        call(away)
    answers = []
    for form in json.loads(json.dumps(asked.value.forms)):
        line = json.loads(json.dumps(runner.scored({"groups": [form]})))
        answers.append(Scores(**{name: np.array(values) for name, values in line.items()}))
    away.answers = answers
    return call(away)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_scores_equal_the_engines(architecture: str, smollm2_folder: Path, tmp_path: Path) -> None:
    folder = save_random(ARCHITECTURES[architecture], smollm2_folder, tmp_path)
    spec = EngineSpec(name="tiny", model=str(folder), dtype="float32", device="cpu")
    options = argparse.Namespace(device="cpu", positions=300, trust_remote_code=False)
    runner = Transformers(options, {"dtype": "float32"}, folder, {})
    away, engine = Away(spec, "tiny@0", tmp_path), PackedTrieScorer(spec, str(folder))
    for name, call in CALLS.items():
        for own, other in zip(numbers(travelled(away, runner, call)), numbers(call(engine)), strict=True):
            np.testing.assert_allclose(own, other, atol=1e-4, err_msg=name)
    assert runner.keeps or "window" in architecture


SCHEMA = {"type": "object", "properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"]}
WRITTEN: list[dict[str, Any]] = [
    {"max_tokens": 7, "temperature": 0.0},
    {"max_tokens": 5, "temperature": 1.0, "seed": 4, "top_p": 0.9},
    {"max_tokens": 30, "temperature": 0.0, "response_format": {"json_schema": {"schema": SCHEMA}},
     "logprobs": True, "top_logprobs": 9},
    {"max_tokens": 2, "temperature": 0.0, "logprobs": True, "top_logprobs": 3},
    {"max_tokens": 9, "temperature": 0.0, "stop": ["e", "a"]},
]  # fmt: skip


@pytest.mark.parametrize(
    "architecture", ["gemma3, window shorter than prefix and items", "gpt2, learned positions"]
)
def test_texts_written_together_are_those_written_alone(
    architecture: str, smollm2_folder: Path, tmp_path: Path
) -> None:
    folder = save_random(ARCHITECTURES[architecture], smollm2_folder, tmp_path)
    options = argparse.Namespace(device="cpu", positions=3000, trust_remote_code=False)
    runner = Transformers(options, {"dtype": "float32"}, folder, {})
    lines = [
        {"body": {"seed": 0, "top_p": 1.0, "prompt": list(range(5, 9 + 20 * n))} | body}
        for n, body in enumerate(WRITTEN)
    ]
    together = choices(runner, lines)
    assert runner.pads
    alone = [choices(runner, [line])[0] for line in lines]
    assert [own["message"] for own in together] == [own["message"] for own in alone]
    assert set(json.loads(together[2]["message"]["content"])) == {"a"}
    shares = [
        sum(math.exp(each["logprob"]) for each in token["top_logprobs"])
        for token in together[2]["logprobs"]["content"]
    ]
    np.testing.assert_allclose(shares, 1, atol=1e-4)  # what the schema rules out has no share
    top = together[3]["logprobs"]["content"]
    assert len(top) == 2
    assert len(top[0]["top_logprobs"]) in (3, 4)
    runner.context = 6
    assert choices(runner, lines[1:2])[0]["finish_reason"] == "length"
    runner.context = 3000
    forward = runner.model.forward
    runner.model.forward = lambda *a, attention_mask=None, **more: forward(*a, **more)
    assert choices(runner, lines)[0] == alone[0]
    assert not runner.pads


def choices(runner: Transformers, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [body["choices"][0] for body in runner.texts(lines) if body]


def test_a_cache_that_gives_other_numbers_is_noticed(smollm2_folder: Path, tmp_path: Path) -> None:
    folder = save_random(ARCHITECTURES["llama, grouped queries"], smollm2_folder, tmp_path)
    options = argparse.Namespace(device="cpu", positions=300, trust_remote_code=False)
    runner = Transformers(options, {"dtype": "float32"}, folder, {})
    group: dict[str, Any] = {"prefix": [5, 6, 7], "continuations": [[1, 2, 3], [1, 2, 4], [9]]}
    plain = runner.read(group["prefix"], group["continuations"], keeps=False)
    forward = runner.model.forward

    def wrong(*arguments: Any, **more: Any) -> Any:
        if more.get("past_key_values") is not None:
            more["position_ids"] = more["position_ids"] + 1
        return forward(*arguments, **more)

    runner.model.forward = wrong
    assert runner.scores(group) == plain
    assert not runner.keeps


def test_the_program_and_the_export_name_weights_alike(tmp_path: Path) -> None:
    for name in ("config.json", "model-1.safetensors", "model-2.safetensors", "README.md", "tokenizer.json"):
        (tmp_path / name).write_text(name)
    (tmp_path / "inner.safetensors").mkdir()
    own = main.identity(tmp_path, {"revision": None})
    assert own == {"weights": weights_in(tmp_path)}
    (tmp_path / "README.md").write_text("other")
    assert own == {"weights": weights_in(tmp_path)}
    (tmp_path / "config.json").write_text("other")
    assert own != {"weights": weights_in(tmp_path)}
    assert content.of_files(tmp_path, []) != own["weights"]


def test_the_program_is_one_file_without_this_package() -> None:
    tree = ast.parse(source())
    names = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    names += [alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names]
    assert not {name.split(".")[0] for name in names if name} & {"tasks", "flows", "warehouse", "deployments"}
    assert source().startswith("#!/usr/bin/env python3\n")
    compile(source(), "run.py", "exec")
