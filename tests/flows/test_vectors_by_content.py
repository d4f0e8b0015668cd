"""Vectors belong to a configuration by content: other vectors under an old path are another configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deployments.evaluations import evaluation, params
from flows.session import build


def config(name: str, **knobs: Any) -> str:
    return build(evaluation(name), params(name)(models=["fake-a"], **knobs))[0].config_hash()


@pytest.mark.usefixtures("warehouse")
@pytest.mark.parametrize(("name", "knob"), [("worldwise", "embedder"), ("fmlama", "word_vectors")])
def test_other_vectors_under_an_old_path_are_another_configuration(
    name: str, knob: str, tmp_path: Path
) -> None:
    more = {"fmlama": {"languages": ["en"], "code_switching": False}}.get(name, {})
    file, moved = tmp_path / "a.vec", tmp_path / "b.vec"
    file.write_text("soy 1 0\n")
    before = config(name, **{knob: str(file)}, **more)
    file.rename(moved)
    assert config(name, **{knob: str(moved)}, **more) == before
    file.write_text("soy 0 1\n")
    assert config(name, **{knob: str(file)}, **more) != before
