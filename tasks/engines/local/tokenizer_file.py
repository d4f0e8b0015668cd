"""Reads a model's tokenizer as its file tokenizer.json describes it.

transformers builds many tokenizers anew from the vocabulary in that file, with the normalisation and
splitting of the class that tokenizer_config.json or the model's type names. If that is another family's
class, tokens differ from those of the training without any error: a text loses its spaces, or all its tokens.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer, PreTrainedTokenizerFast

from tasks.engines.protocols import EngineError
from tasks.parsing import parse_json

FILE = "tokenizer.json"
PROBES = (
    "In 1998, about 12345 people ate rice (and soy) there.",
    "the food of peru is w1 w2",
    "it's  two\tspaces,\n\nthen CamelCase and x+=1;",
    "日本の寿司、米饭 и борщ, كبسة, पनीर टिक्का 🍜",
)
"""Texts in which families of tokenizers differ: digits, spaces, letters of several scripts."""


def read(name: str, folder: str, own_code: Mapping[str, Any], replaces: bool = True) -> Any:
    """Return the tokenizer of a model's folder: that of transformers, or of the file if their tokens differ.

    Args:
        name: of the model, for errors and warnings.
        own_code: arguments of ``from_pretrained``.
        replaces: whether the engine takes the file's tokenizer; vLLM reads that of transformers.

    Raises:
        EngineError: transformers' tokens differ from those of the file, and its tokenizer cannot be replaced.
    """
    tokenizer = AutoTokenizer.from_pretrained(folder, **own_code)
    _without_dropout(name, tokenizer, replaces)
    file = Path(folder) / FILE
    if own_code.get("trust_remote_code") or not file.is_file() or is_as_filed(tokenizer, file):
        return tokenizer
    if not replaces:
        raise EngineError(
            f"model {name!r}: vLLM reads the tokenizer class {type(tokenizer).__name__}, whose tokens differ "
            f'from those of {file}: take kind = "packed_trie", which reads the file'
        )
    filed = PreTrainedTokenizerFast.from_pretrained(folder, **own_code)
    _without_dropout(name, filed, replaces)
    if not is_as_filed(filed, file):
        raise EngineError(
            f"model {name!r}: transformers reads other tokens than {file} describes: get the tokenizer's "
            "files again, all from one place"
        )
    logging.getLogger("culturemeter").warning(
        "%s: its files name the tokenizer class %s, whose tokens differ from those of its %s; the file's are "
        "used", name, type(tokenizer).__name__, FILE,
    )  # fmt: skip
    return filed


def _without_dropout(name: str, tokenizer: Any, replaces: bool) -> None:
    """Switch off the chance by which some tokenizers leave out merges in training.

    Raises:
        EngineError: another program reads the tokenizer.
    """
    model: Any = getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None)
    if getattr(model, "dropout", None):
        if not replaces:
            raise EngineError(
                f"model {name!r}: its tokenizer gives a text other tokens each time (dropout in {FILE}), and "
                "vLLM would read them so: write null there"
            )
        model.dropout = None


def is_as_filed(tokenizer: Any, file: Path) -> bool:
    """Return whether a tokenizer gives ``PROBES`` the tokens of a file."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or type(tokenizer) is PreTrainedTokenizerFast:
        return True  # it reads other files, or this one as it is
    try:
        filed = parse_json(file.read_bytes())
        if _is_built_alike(backend, filed):
            return True
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    from tokenizers import Tokenizer

    own = Tokenizer.from_file(str(file))
    if getattr(own.model, "dropout", None):
        own.model.dropout = None
    own.no_truncation()
    own.no_padding()
    expected = [own.encode(text, add_special_tokens=False).ids for text in PROBES]
    found = tokenizer([*PROBES], add_special_tokens=False).input_ids
    return bool(found == expected)


def _is_built_alike(backend: Any, filed: Mapping[str, Any]) -> bool:
    """Return whether a tokenizer has the parts of a file, which spares reading the vocabulary again."""
    model = filed["model"]
    flags = {key: value for key, value in model.items() if key not in ("vocab", "merges", "type", "dropout")}
    return (
        type(backend.model).__name__ == model["type"]
        and all(getattr(backend.model, key) == value for key, value in flags.items())
        and _parts(backend.normalizer) == filed["normalizer"]
        and _parts(backend.pre_tokenizer) == filed["pre_tokenizer"]
        and len(model["vocab"]) == backend.get_vocab_size(with_added_tokens=False)
    )


def _parts(part: Any) -> Any:
    return None if part is None else parse_json(part.__getstate__())
