"""Identifies a local model by its content: a folder's files, a repository's commit, a package's pin.

Names and paths do not count: new weights under an old name are another model, and a folder that was moved is
the same one. Files are large, so hashes are remembered by what changes with a file's content (``sign_of``).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
import tomllib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from tempfile import NamedTemporaryFile

from tasks.engines.protocols import EngineError
from tasks.parsing import parse_json

Sign = tuple[int, int, int, int, int]

PREFIX = "embedded:"
"""Prefix of models that come as packages."""
FOLDER, HUB, PACKAGE = "sha256:", "commit:", "package:"
"""Prefixes of contents, by where they come from."""
OFFLINE = "HF_HUB_OFFLINE"
"""Variable by which the hub's client, and so this package, leaves the network alone."""
ONLINE = f"{OFFLINE} is set: fetch it by culturemeter prefetch where there is network"
"""Advice where there is none."""
PACKAGES = Path(__file__).parent / "local" / "embedded.toml"
CONVERSION = 1
"""Raised whenever the conversion of embedded models changes, so that earlier folders are prepared again."""
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
"""Endings of files with weights."""
INDEX = ".index.json"
"""Ending of a file that names the parts of divided weights."""
TEMPLATES = "additional_chat_templates"
"""Folder with further chat templates, which tokenizers read."""
NOT_READ = (
    ".*", "README*", "LICEN[CS]E*", "NOTICE*", "*.md", "*.html", "*.pdf", "*.png", "*.jpg", "*.jpeg", "*.svg",
    "culturemeter.json", "trainer_state.json", "training_args.bin", "optimizer*.pt", "optimizer*.bin",
    "scheduler.pt", "scaler.pt", "rng_state*.pth",
)  # fmt: skip
"""Files at the top of a model's folder that no loader reads: texts, and the state of a trainer."""

SMALL = 2**20
"""Bytes below which a file is read again every time."""
SETTLED_SECONDS = 2.0
"""Age from which the time of a file's last change tells it from a later change of the same size."""
THREADS = 4
HUB_SECONDS = 10.0


def is_offline() -> bool:
    """Return whether the environment says that there is no network, as the hub's client reads it."""
    return os.environ.get(OFFLINE, "").upper() in ("1", "ON", "YES", "TRUE")


def sign_of(path: Path) -> Sign:
    """Return what changes with a file's content: device, inode, times of change (ns) and bytes.

    Raises:
        EngineError: it cannot be read.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise EngineError(f"{path}: cannot be read ({error.strerror}): check the path") from error
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size


def content_hash(path: Path, record: Path | None = None) -> str:
    """Return the SHA-256 of a file.

    Args:
        record: folder with the hashes of large files, for later processes. It may be read-only.

    Raises:
        EngineError: it cannot be read.
    """
    sign = sign_of(path)
    is_settled = sign[-1] >= SMALL and time.time() - max(sign[2:4]) / 1e9 > SETTLED_SECONDS
    try:
        return _remembered(path.resolve(), sign, record) if is_settled else _sha256(path)
    except OSError as error:
        raise EngineError(f"{path}: cannot be read ({error.strerror}): check the path") from error


@lru_cache(maxsize=4096)
def _remembered(path: Path, sign: Sign, record: Path | None) -> str:
    """Return a file's SHA-256 from the record, or compute and record it; another ``sign`` is another file."""
    if record is None:
        return _sha256(path)
    file = record / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.json"
    with suppress(OSError, ValueError, TypeError, KeyError):
        known = json.loads(file.read_text(encoding="utf-8"))
        if tuple(known["sign"]) == sign and re.fullmatch("[0-9a-f]{64}", known["sha256"]):
            return str(known["sha256"])
    computed = _sha256(path)
    with suppress(OSError):  # a record only saves time
        record.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=record, delete=False, encoding="utf-8") as draft:
            json.dump({"path": str(path), "sign": sign, "sha256": computed}, draft)
        os.replace(draft.name, file)
    return computed


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def of_folder(folder: Path, record: Path | None = None) -> str:
    """Return the content of a model's folder: a hash over names and contents of all files that loaders read.

    Weights, adapter, tokenizer, chat templates, configuration and code are among them. See ``content_hash``.
    """
    return FOLDER + of_files(folder, model_files(folder), record)


def of_files(folder: Path, files: Iterable[Path], record: Path | None = None) -> str:
    """Return a hash over the names within a folder, and the contents, of some of its files."""
    by_name = {path.relative_to(folder).as_posix(): path for path in sorted(files)}
    with ThreadPoolExecutor(THREADS) as pool:
        hashes = pool.map(lambda path: content_hash(path, record), by_name.values())
        lines = [f"{name}\0{sha256}\n" for name, sha256 in zip(by_name, hashes, strict=True)]
    return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def is_read(file: Path) -> bool:
    """Return whether a loader may read a file of a model, by its path within the model's folder."""
    return not any(fnmatch(part, form) for part in file.parts for form in NOT_READ)


def model_files(folder: Path) -> list[Path]:
    """Return the files of a model's folder that loaders may read, in order of their names."""
    found = {path for path in folder.iterdir() if is_read(Path(path.name))}
    found |= set((folder / TEMPLATES).glob("*"))
    for index in [path for path in found if path.name.endswith(INDEX)]:
        found |= {folder / part for part in parts_of(index)}
    return sorted(path for path in found if path.is_file())


def parts_of(index: Path) -> list[str]:
    """Return the names of the files that an index of divided weights names; none if it cannot be read."""
    try:
        names = set(parse_json(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []
    return sorted(name for name in names if isinstance(name, str))


def is_folder(model: str) -> bool:
    """Return whether a model's field names a folder, existing or not, and no repository or package."""
    path = Path(model).expanduser()
    return path.is_absolute() or model.startswith((".", "~")) or path.exists()


def checked_folder(name: str, model: str) -> Path:
    """Return the folder of a model; raises EngineError with its name if no loader would read it."""
    folder = Path(model).expanduser()
    if not (folder / "config.json").is_file():
        raise EngineError(
            f"model {name!r}: there is no config.json in {folder}; give a folder in the Hugging Face "
            "layout (config.json, *.safetensors, tokenizer.json)"
        )
    return folder


def of(name: str, model: str, revision: str | None, record: Path | None = None) -> str:
    """Return the content of a local model.

    Args:
        name: the model's name, for errors.
        model: folder, ``embedded:NAME`` or Hugging Face id.
        revision: commit, tag or branch of a Hugging Face id.
        record: see ``content_hash``.

    Raises:
        EngineError: there is no such model; the message says what to do.
    """
    if model.startswith(PREFIX):
        return of_package(model)
    if is_folder(model):
        return of_folder(checked_folder(name, model), record)
    return HUB + commit_of(model, revision)


def of_package(model: str) -> str:
    """Return the content of an embedded model: the hash of what its package pins, without any other file.

    Raises:
        EngineError: there is no such model; names those that are.
    """
    known = tomllib.loads(PACKAGES.read_text(encoding="utf-8"))["models"]
    name = model.removeprefix(PREFIX)
    if name not in known:
        raise EngineError(f"unknown embedded model {name!r}; known: {', '.join(known)}")
    return PACKAGE + hashlib.sha256(f"{known[name]['sha256']} {CONVERSION}".encode()).hexdigest()


def commit_of(model: str, revision: str | None) -> str:
    """Return the commit of a Hugging Face id: what the hub says now, else what the local cache last saw.

    A full commit is returned as it is.

    Raises:
        EngineError: there is no such model or revision, it is gated, or neither hub nor cache knows it.
    """
    if revision and _is_commit(revision):
        return revision
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    reason = "no commit was named"
    try:
        # The variable is read here, because the library reads it only once.
        url = hf_hub_url(model, "config.json", revision=revision, endpoint=os.environ.get("HF_ENDPOINT"))
        with hub_refusals(model, revision):
            commit = get_hf_file_metadata(url, timeout=HUB_SECONDS).commit_hash
        if commit and _is_commit(commit):
            return commit
    except EngineError:
        raise
    except Exception as error:  # the network and the HTTP library may raise anything
        reason = type(error).__name__
    if cached := _cached_commit(model, revision or "main"):
        return cached
    raise EngineError(
        f"model {model!r} is not in the local Hugging Face cache and huggingface.co cannot be reached "
        f"({reason}), so its commit is unknown; go online, set revision to a full commit, give a local "
        "folder, or use an embedded model (`culturemeter models list`)"
    )


@contextmanager
def hub_refusals(model: str, revision: str | None) -> Iterator[None]:
    """Raise EngineError with advice if the hub refuses a file in the block; not if it is silent."""
    from huggingface_hub import errors

    try:
        yield
    except errors.GatedRepoError as error:
        advice = f"accept its terms at https://huggingface.co/{model} and run `hf auth login`"
        raise EngineError(f"model {model!r} is gated: {advice}") from error
    except errors.RevisionNotFoundError as error:
        raise EngineError(f"model {model!r} has no revision {revision!r}") from error
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        advice = "check the spelling (owner/name); a private one needs `hf auth login`"
        raise EngineError(f"Hugging Face has no model {model!r}: {advice}") from error
    except errors.RemoteEntryNotFoundError as error:
        raise EngineError(f"{model!r} has no config.json: not a transformers model") from error


def _cached_commit(model: str, revision: str) -> str | None:
    """Return the commit of a branch or tag when it was last downloaded; None if it never was."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    folder = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=model, repo_type="model") / "refs"
    if ".." in Path(revision).parts or Path(revision).is_absolute():
        return None
    try:
        commit = (folder / revision).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    return commit if _is_commit(commit) else None


def _is_commit(revision: str | None) -> bool:
    return bool(revision and re.fullmatch("[0-9a-f]{40}", revision))
