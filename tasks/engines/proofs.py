"""Records how far engines have proven that their scores equal plain passes, so that one does it once.

A proof (``local.self_check``) holds for texts and passes up to a length. It depends on nothing but what names
its record: the model by content and the rest of the engine's identity, the code of this room, the libraries,
and the processor. With any other of these it is made anew. torch is not imported here.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import NamedTemporaryFile

from tasks.engines.local import devices
from tasks.engines.specs import EngineSpec

KINDS = ("packed_trie", "masked", "seq2seq")
"""Kinds of engines that prove their scores."""
LIBRARIES = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "accelerate")
CODE = Path(__file__).parent
VARIABLES = (devices.ISA_LIMIT, "MKL_ENABLE_INSTRUCTIONS", "ATEN_CPU_CAPABILITY")
"""Environment variables that choose the instructions of a product."""


def record_of(spec: EngineSpec, models: Path) -> Path | None:
    """Return the file that exists once an engine is proven; None if its proof is not recorded.

    Engines with code of their own are proven at every load, because their code may come from elsewhere.

    Args:
        spec: with its content (``specs.resolved``).
        models: ``$CULTUREMETER_HOME/models``.
    """
    if spec.kind not in KINDS or spec.content is None or spec.options.get("trust_remote_code"):
        return None
    parts = [spec.hash(), spec.revision, spec.batch_tokens, _device(spec.device), _code(), _versions()]
    parts += [os.environ.get(name) for name in VARIABLES]
    return models / ".proofs" / hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def read(record: Path) -> tuple[int, int] | None:
    """Return the tokens of a text and of a pass up to which an engine is proven; None: it is not."""
    try:
        tokens, width = json.loads(record.read_text(encoding="utf-8"))["reach"]
        return int(tokens), int(width)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write(record: Path, spec: EngineSpec, reach: tuple[int, int]) -> None:
    """Record a proof, if the folder can be written; without it the engine is only proven again."""
    with suppress(OSError):
        record.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=record.parent, delete=False, encoding="utf-8") as draft:
            names = {"model": spec.model, "content": spec.content, "dtype": spec.dtype}
            json.dump(names | {"reach": reach}, draft)
        os.replace(draft.name, record)


def _device(name: str) -> list[str]:
    """Return what tells the processor of a device from others."""
    chosen = devices.device(name)
    if chosen.type == "cuda":
        return [str(chosen), *devices.gpus()]
    return [chosen.type, devices.processor(), devices.flags()]


@cache
def _code() -> str:
    """Return a hash of the sources of this room."""
    sources = sorted(CODE.glob("*.py")) + sorted((CODE / "local").glob("*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()


@cache
def _versions() -> list[str]:
    found = []
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return found
