"""Checks the files of a model's folder before anything loads them: each fault is one line with its remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.engines.content import INDEX, WEIGHTS, model_files, parts_of
from tasks.engines.protocols import EngineError
from tasks.parsing import parse_json

ADAPTER = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin")
TOKENIZERS = (
    "tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json", "vocab.txt", "spiece.model",
    "sentencepiece.bpe.model", "spm.model", "tekken.json",
)  # fmt: skip
"""Files of which a tokenizer has at least one; some also end in .tiktoken."""
MERGE = (
    "merge it into its base model (peft: merge_and_unload(), then save_pretrained of model and tokenizer) "
    "and give the merged folder"
)
"""Advice for an adapter."""
POINTER = b"version https://git-lfs"
"""The beginning of the small file that stands in for a large one in a repository without git-lfs."""
TEXTS = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
    "generation_config.json",
)  # fmt: skip
"""Files of JSON that loaders read beside config.json and indices."""
SMALL = 2**20
"""Bytes up to which a file of JSON is read in full; of a larger one only the end is looked at."""
PLAIN = {"F64", "F32", "F16", "BF16"}
"""Types of numbers that weights have if they are not quantised."""
WHOLE = "model.safetensors"
"""Name of weights in one file; with ``INDEX``, of the file that names their parts."""
GGUF = ".gguf"
GGUF_ADVICE = (
    "it is not read here; serve it with llama.cpp (llama-server -m FILE --port 8080) and give "
    "http://localhost:8080/v1#NAME, which writes but does not score, or take the model's safetensors"
)
LENGTH_BYTES = 8
LONGEST_HEADER = 100_000_000
"""Bytes that safetensors allows for a header."""


def check(name: str, folder: Path) -> None:
    """Check a folder with weights.

    Args:
        name: of the model, for errors.

    Raises:
        EngineError: a file is missing, damaged, or cannot be used here.
    """
    is_quantised = "quantization_config" in check_config(name, folder)
    check_adapter(name, folder)
    files = model_files(folder)
    for file in files:
        _check_pointer(name, file)
        if file.parent == folder and file.name in TEXTS:
            _check_json(name, file)
    for index in (file for file in files if file.name.endswith(INDEX)):
        _check_parts(name, index)
    weights = [file for file in files if file.suffix in WEIGHTS]
    if not weights:
        raise EngineError(
            f"model {name!r}: there are no weights ({', '.join(WEIGHTS)}) in {folder}: get the model again"
        )
    _check_names(name, folder, weights)
    for file in weights:
        if file.suffix == ".safetensors":
            _check_tensors(name, file, is_quantised)
    if not any(file.name in TOKENIZERS or file.suffix == ".tiktoken" for file in files):
        raise EngineError(
            f"model {name!r}: there is no tokenizer (tokenizer.json) in {folder}: copy the files of the "
            "model's tokenizer there, or save it with tokenizer.save_pretrained"
        )


def check_config(name: str, folder: Path) -> Mapping[str, Any]:
    """Return config.json; raises EngineError if it cannot be read or describes no model."""
    file = folder / "config.json"
    _check_pointer(name, file)
    try:
        config = parse_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EngineError(
            f"model {name!r}: {file} cannot be read ({error}): get it again, as plain UTF-8"
        ) from error
    if not isinstance(config, dict) or not (config.get("model_type") or config.get("architectures")):
        raise EngineError(
            f"model {name!r}: {file} names neither model_type nor architectures: it describes no model"
        )
    return config


def check_path(path: Path) -> None:
    """Raise EngineError if a path is a part of a model, or a model that cannot be read here."""
    name = path.resolve().name
    if path.suffix == GGUF and path.is_file():
        raise EngineError(f"{path} is a GGUF file: {GGUF_ADVICE}")
    if path.suffix in WEIGHTS and path.is_file():
        raise EngineError(f"{path} is a file of weights: give its folder, {path.parent}")
    if path.is_dir():
        check_adapter(name, path)
        if any(path.glob(f"*{GGUF}")):
            raise EngineError(f"model {name!r}: {path} has weights as GGUF alone: {GGUF_ADVICE}")


def check_inner(path: Path) -> None:
    """Raise EngineError if a folder only holds models' folders, such as a trainer's; names the last one."""
    if path.is_dir() and (inner := sorted(path.glob("*/config.json"), key=_number)):
        raise EngineError(f"{path} has no config.json of a model: give a folder in it, {inner[-1].parent}")


def _number(config: Path) -> tuple[int, str]:
    """Return by what folders of one training are ordered."""
    digits = re.findall(r"\d+", config.parent.name)
    return int(digits[-1]) if digits else -1, config.parent.name


def check_adapter(name: str, folder: Path) -> None:
    """Raise EngineError if a folder has an adapter, which an engine would leave out without a word."""
    if found := [file for file in ADAPTER if (folder / file).is_file()]:
        raise EngineError(
            f"model {name!r}: {folder} has an adapter ({found[0]}), which is not applied here: {MERGE}; "
            "if the weights beside it are already merged, take the adapter's files away"
        )


def _check_names(name: str, folder: Path, weights: list[Path]) -> None:
    """Check that the weights are one set, under names by which loaders find them.

    transformers prefers a whole file to one in parts, and vLLM the parts, so two sets would be two models.
    """
    tensors = [file.name for file in weights if file.suffix == ".safetensors"]
    index = folder / (WHOLE + INDEX)
    parts = parts_of(index) if index.is_file() else []
    if not tensors:
        if all(file.suffix == GGUF for file in weights):
            raise EngineError(f"model {name!r}: {folder} has weights as GGUF alone: {GGUF_ADVICE}")
        return
    if WHOLE not in tensors and not parts:
        fault = f"the weights in {folder} ({tensors[0]}) are not named {WHOLE}, and there is no {index.name}"
        raise EngineError(f"model {name!r}: {fault}: get the missing file, or all files again from one place")
    if WHOLE in tensors and (other := [part for part in parts if part != WHOLE]):
        raise EngineError(
            f"model {name!r}: {folder} has two sets of weights, {WHOLE} and {other[0]} …, of which programs "
            f"read one or the other: keep one, with {index.name} only beside the parts"
        )
    unread = set(tensors) - {WHOLE, *parts}
    if adapters := sorted(file for file in unread if re.search(r"adapter|lora", file, re.IGNORECASE)):
        raise EngineError(
            f"model {name!r}: {folder} has an adapter ({adapters[0]}), which is not applied here: {MERGE}; "
            "if the weights beside it are already merged, take the adapter's files away"
        )


def _check_pointer(name: str, file: Path) -> None:
    """Check that a file is there itself."""
    if file.is_file() and _first(file, len(POINTER)) == POINTER:
        raise _fault(
            name, file, "is only git-lfs's pointer to the file: run `git lfs pull` in its repository, or get "
            "the model again with `hf download`",
        )  # fmt: skip


def _check_parts(name: str, index: Path) -> None:
    """Check that an index names parts, within its folder, and that all of them are there."""
    parts = parts_of(index)
    if not parts:
        raise _fault(name, index, "names no parts of the weights: get the model again")
    for part in parts:
        path = index.parent / part
        if not path.resolve().is_relative_to(index.parent.resolve()) and not path.is_symlink():
            raise _fault(name, index, f"names a part outside the folder ({part}): get the model again")
    if missing := [part for part in parts if not (index.parent / part).is_file()]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise _fault(name, index, f"names {missing[0]}{more}, not in the folder: get the missing files")


def _check_json(name: str, file: Path) -> None:
    """Check that a file of JSON is whole."""
    damaged = "is damaged or no JSON: get it again"
    size = file.stat().st_size
    with file.open("rb") as opened:
        opened.seek(0 if size <= SMALL else size - LENGTH_BYTES)
        text = opened.read()
    if size > SMALL:
        if not text.rstrip().endswith((b"}", b"]")):
            raise _fault(name, file, damaged)
        return
    try:
        parse_json(text)
    except (ValueError, RecursionError) as error:
        raise _fault(name, file, damaged) from error


def _check_tensors(name: str, file: Path, is_quantised: bool) -> None:
    """Check that a safetensors file has all the bytes that its header describes, and numbers of known type.

    Args:
        is_quantised: whether config.json says how to read other types.
    """
    size = file.stat().st_size
    if size == 0:
        raise _fault(name, file, "is empty: get it again")
    start = _first(file, LENGTH_BYTES)
    length = int.from_bytes(start, "little")
    damaged = "is damaged or no safetensors file: get it again"
    if len(start) < LENGTH_BYTES or not 0 < length <= LONGEST_HEADER:
        raise _fault(name, file, damaged)
    if size < LENGTH_BYTES + length:
        raise _fault(name, file, "ends within its header, so it was not copied whole: get it again")
    try:
        header = parse_json(_first(file, LENGTH_BYTES + length)[LENGTH_BYTES:].decode())
        header.pop("__metadata__", None)
        ends = [int(tensor["data_offsets"][1]) for tensor in header.values()]
        coded = [
            (key, tensor["dtype"])
            for key, tensor in header.items()
            if tensor["dtype"] not in PLAIN and key.endswith("weight")
        ]
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise _fault(name, file, damaged) from error
    whole = LENGTH_BYTES + length + max(ends, default=0)
    if size != whole:
        raise _fault(name, file, f"has {size:,}, not {whole:,} bytes: it was not copied whole, get it again")
    if coded and not is_quantised:
        raise _fault(
            name, file, f"has weights of type {coded[0][1]} ({coded[0][0]}), and config.json has no "
            "quantization_config to read them by: get both from one place, or the model in bfloat16",
        )  # fmt: skip


def _first(file: Path, n_bytes: int) -> bytes:
    """Return the first bytes of a file; raises EngineError if it cannot be read."""
    try:
        with file.open("rb") as opened:
            return opened.read(n_bytes)
    except OSError as error:
        raise EngineError(f"{file}: cannot be read ({error.strerror}): check the path") from error


def _fault(name: str, file: Path, fault: str) -> EngineError:
    return EngineError(f"model {name!r}: {file} {fault}")
