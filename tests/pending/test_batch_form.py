"""Files of prompts are what vLLM's own program for batches reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deployments.evaluations import evaluation
from flows import pending
from flows.session import prepare
from tasks.pending.folder import MOST_LINES, Folder
from tests.golden.harness import new_home, params_of


@pytest.mark.heavy
def test_vllm_reads_the_lines_as_they_are(
    blank: Path, smollm2_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_batch = pytest.importorskip("vllm.entrypoints.launchers.run_batch")
    home = new_home(blank, "batch-form", "explication", "http://127.0.0.1:9/v1")
    (home / "models").symlink_to(smollm2_folder.parent)
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    sessions = []
    for name in ("explication", "culturall"):
        roles: dict[str, Any] = {"judges": ["smollm2-135m-vllm"], "models": ["smollm2-135m-vllm"]}
        roles |= {"simulator": "smollm2-135m-vllm"} if name == "explication" else {"file": ""}
        sessions.append(prepare(evaluation(name), params_of(name, home, **roles)))
    folder = Folder(tmp_path / "away")
    pending.export(sessions, folder)
    lines = [line for file in (folder.path / "requests").iterdir() for line in file.read_text().splitlines()]
    assert 10 < len(lines) <= MOST_LINES
    for line in lines:
        read = run_batch.BatchRequestInput.model_validate_json(line)
        own = json.loads(line)
        assert type(read.body).__name__ == "ChatCompletionRequest"
        asked = read.body.model_dump(exclude_unset=True, mode="json")
        for name in ("messages", "max_tokens", "temperature", "seed", "top_p", "model"):
            assert asked[name] == own["body"][name]
        assert len(read.custom_id) <= 64
