"""A folder of requests that are answered elsewhere: its manifest, its files, and the answers in it.

    manifest.json     what the folder belongs to: runs, engines, files
    requests/         a file of JSON lines for each engine and kind of request
    run.py            answers them on any machine with transformers, vLLM or a server
    answers/          files of JSON lines that came back, from any number of runners

Whoever answers may be anybody, so nothing in the folder is followed out of it, and no line is believed before
it is checked.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from pydantic import BaseModel, ValidationError

from tasks.engines import content
from tasks.engines.protocols import EngineError
from tasks.engines.specs import Dtype
from tasks.identity import digest
from tasks.parsing import complaints, parse_json

FORMAT = 2
MANIFEST, RUNNER = "manifest.json", "run.py"
REQUESTS, ANSWERS, REFUSED = "requests", "answers", "refused.jsonl"
WEIGHTS = ("config.json", "generation_config.json", "*.safetensors")
"""Files of a model that determine its numbers once texts are tokens; run.py hashes the same."""
LONGEST_LINE = 16 * 2**20
"""Most bytes of a line of answers: 700,000 log-probabilities, or 4,096 tokens with 20 alternatives each. Read
into memory, a line takes up to twenty times as much."""
MOST_LINES = 50_000
"""Most prompts of a file, by OpenAI's limit for a batch."""


class _Run(BaseModel):
    evaluation: str
    params: dict[str, Any]
    configuration: str
    engines: dict[str, str]
    dtypes: dict[str, Dtype]


class _Engine(BaseModel):
    name: str
    model: str
    served_as: str
    dtype: str | None
    weights: str | None
    revision: str | None


class _Manifest(BaseModel):
    folder: str
    runs: list[_Run]
    engines: dict[str, _Engine]


class Folder:
    """The folder, existing or not. Raises EngineError if a part of it leads elsewhere."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for name in ("", REQUESTS, ANSWERS, MANIFEST, RUNNER, REFUSED):
            own = path / name if name else path
            if name and own.is_symlink():
                raise EngineError(f"{own} is a link, which may lead anywhere: put the real one in its place")
            if own.exists() and own.is_dir() != (name in ("", REQUESTS, ANSWERS)):
                raise EngineError(f"{own} is in the way: name another folder")

    def manifest(self) -> dict[str, Any]:
        """Return the manifest. Raises EngineError if there is none, or it is damaged or of another format."""
        file = self.path / MANIFEST
        try:
            manifest = parse_json(file.read_bytes())
        except FileNotFoundError as error:
            raise EngineError(
                f"there is no {file}: culturemeter pending export {self.path} EVALUATION makes it"
            ) from error
        except (OSError, ValueError) as error:
            raise EngineError(f"{file} cannot be read ({error}): export again") from error
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise EngineError(f"{file} is of another format than {FORMAT}: export again with this version")
        try:
            _Manifest.model_validate(manifest)
        except ValidationError as error:
            raise EngineError(f"{file} is damaged ({next(complaints(error))}): export again") from error
        return manifest

    @contextmanager
    def whole(self, name: str) -> Iterator[IO[str]]:
        """Yield a new file, which replaces the one of this name at the end and is dropped after an error."""
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            with draft.open("w", encoding="utf-8") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise

    def keep(self, names: set[str]) -> None:
        """Delete the files of requests of an earlier export, but for those of these names."""
        for file in (self.path / REQUESTS).glob("*.jsonl"):
            if file.name not in names:
                file.unlink()

    def answers(self) -> Iterator[tuple[str, IO[bytes] | None, str]]:
        """Yield name, opened file and "" for each file of answers, or None and why it is not read."""
        for file in sorted((self.path / ANSWERS).glob("*")):
            name = f"{ANSWERS}/{''.join(c if c.isprintable() else '?' for c in file.name)}"
            try:
                handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            except OSError:
                why = "a link, which is not followed" if file.is_symlink() else "cannot be read"
                yield name, None, why
                continue
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                os.close(handle)
                yield name, None, "no file"
                continue
            with open(handle, "rb") as opened:
                yield name, opened, ""


def lines_of(file: IO[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """Yield number and bytes of each line that is not blank; None for a line longer than LONGEST_LINE."""
    number, is_whole = 1, True
    while text := file.readline(LONGEST_LINE):
        is_start, is_whole = is_whole, text.endswith(b"\n") or len(text) < LONGEST_LINE
        if is_start and text.strip():
            yield number, text if is_whole else None
        number += text.endswith(b"\n")


def custom_id(request_hash: str, unit: str) -> str:
    """Return the name of an answer in the files, in at most 64 characters, as OpenAI limits it."""
    return f"{request_hash}-{digest(unit)}"


def file_name(engine: str, engine_hash: str, ability: str, number: int) -> str:
    """Return the name of a file of requests. number: from 1 on, of files with the same requests."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", engine).strip(".-")[:60] or "engine"
    return f"{plain}-{engine_hash[:8]}.{ability}{f'.{number}' if number > 1 else ''}.jsonl"


def line_of(name: str, fields: Mapping[str, Any]) -> str:
    """Return a line of a file of requests."""
    return json.dumps({"custom_id": name, **fields}, ensure_ascii=False, separators=(",", ":")) + "\n"


def weights_in(folder: Path, record: Path | None = None) -> str | None:
    """Return a hash over the files of a model's folder that determine its numbers; None without weights."""
    files = {path for form in WEIGHTS for path in folder.glob(form) if path.is_file()}
    if not any(path.suffix == ".safetensors" for path in files):
        return None
    return content.of_files(folder, files, record)


def fault_of(stated: Any, engine: Mapping[str, Any]) -> str:
    """Return why an engine that a runner states is not the one asked for; "" if it is.

    engine: as the manifest has it.
    """
    if not isinstance(stated, dict):
        return "it does not say which engine gave it"
    if stated.get("dtype") != engine["dtype"]:
        return f"it was computed in {_shown(stated.get('dtype'))}, and {engine['dtype']} is asked for"
    for name in ("weights", "revision"):
        if engine[name] is not None and stated.get(name) == engine[name]:
            return ""
    return f"it is of another model than {engine['name']}: its weights differ"


def name_fault(named: str, engine: Mapping[str, Any], also: Collection[str] = ()) -> str:
    """Return why a model that a server names is not the one asked for; "" if it is.

    A server of a provider may name a dated version of a model, or leave its owner out.

    Args:
        also: further names of providers' models, which the user states.
    """
    if engine["served_as"]:
        if named == engine["served_as"]:
            return ""
        return f"a server must know the model as {engine['served_as']}, and it named {_shown(named)}"
    own, other = (name.rpartition("/")[2].casefold() for name in (engine["model"], named))
    if not named or named in also or own.startswith(other) or other.startswith(own):
        return ""
    advice = "if that is its name there: --also-named"
    return f"it is of another model than {engine['model']}: the server named {_shown(named)} ({advice})"


def _shown(value: Any) -> str:
    """Return a stranger's value, cut and without terminal controls."""
    return ascii(str(value)[:60]) if value not in (None, "") else "nothing"
