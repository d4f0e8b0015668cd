"""What a model is, whatever runs it: the hash on which everything across evaluations joins.

A model is its weights and its prompt style. The engine, its precision and its options change digits of an
answer, not whose answer it is: two engines of one model are one model. Weights are told apart by what is
known of them without loading any:

- a local folder: the content of its weight files, those of an adapter among them, whatever they are named
- an embedded model: its name, whose content the package pins
- a Hugging Face id: the id and the revision that the spec names
- a served model: its id, the server (``served_as``, else host, port and path), and how much it reasons and
  whether it searches the web, where the spec says so: nothing else is known of what answers there
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path

from tasks.engines.served.providers import SERVERS, server
from tasks.engines.specs import EngineSpec

_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")


def model_hash(spec: EngineSpec) -> str:
    """16 hex digits that name the model of a spec; schema/042_model_hash.sql makes the same of stored specs.

    Reads every byte of a local folder's weights, once per process. A folder that is not there, or holds no
    weights, is named by its path.
    """
    if spec.is_served:
        at = spec.served_as or server(spec.base_url or SERVERS[spec.kind].url)
        told = ["" if spec.reasoning is None else str(spec.reasoning), _said(spec.web)]
        return _hash([f"{at}/{spec.model}", spec.revision or "", "", *told])
    return _hash([_content(Path(spec.model)) or spec.model, spec.revision or "", spec.prompt_style, "", ""])


def _hash(parts: Iterable[str]) -> str:
    return sha256("\n".join(parts).encode()).hexdigest()[:16]


def _said(web: bool | None) -> str:
    return "" if web is None else str(web).lower()


def _content(folder: Path) -> str | None:
    """SHA-256 of the weight files' contents, in the order of these; None: there are none."""
    if not folder.is_dir():
        return None
    files = [path for path in sorted(folder.iterdir()) if path.suffix in _WEIGHTS and path.is_file()]
    with ThreadPoolExecutor(4) as pool:
        hashes = sorted(pool.map(_hash_of, files, [_sign(path) for path in files]))
    return f"sha256:{sha256(''.join(hashes).encode()).hexdigest()}" if hashes else None


def _sign(path: Path) -> tuple[int, int, int]:
    stat = path.stat()
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


@lru_cache(maxsize=4096)
def _hash_of(path: Path, sign: tuple[int, int, int]) -> str:
    """Of one file; ``sign`` has it hashed anew once it has changed."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
