"""Data sets of the Hugging Face hub, always at a commit: a branch or tag is resolved and its commit recorded.

A source is ``hf:OWNER/NAME@COMMIT``; ``pinned`` makes it of any other way to name a data set.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from tasks.data.errors import TableError
from tasks.data.reading import ENDINGS

CONVERTED = "refs/convert/parquet"
"""Branch on which the hub has every data set that its viewer can show, as Parquet."""

_BARE = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
_NAMED = re.compile(rf"hf:({_BARE.pattern})(?:@([\w./-]+))?")
_COMMIT = re.compile(r"[0-9a-f]{40}")


def is_named(source: str) -> bool:
    """Return whether a source names a data set of the hub: hf:…, or OWNER/NAME where no such file exists."""
    is_bare = bool(_BARE.fullmatch(source)) and not source.lower().endswith(ENDINGS)
    return source.startswith("hf:") or (is_bare and not Path(source).exists())


def pinned(source: str) -> str:
    """Return a data set as ``hf:OWNER/NAME@COMMIT``, with the commit that its branch has now; any other
    source unchanged.

    The branch is ``main`` after hf:, and ``CONVERTED`` for a bare OWNER/NAME. The tables are downloaded; if
    the hub is away, the last commit in the local cache is taken.

    Raises:
        TableError: it is not a name, or there is no such data set or branch.
    """
    if not is_named(source):
        return source
    name, revision = _parts(source)
    commit = revision if _COMMIT.fullmatch(revision) else folder(source).name
    if not _COMMIT.fullmatch(commit):
        raise TableError(f"{revision} has no commit", "write hf:OWNER/NAME@COMMIT", file=source)
    return f"hf:{name}@{commit}"


Pinned = Annotated[str, AfterValidator(pinned)]
"""A parameter that names a file or a data set; a data set is stored with its commit."""


def folder(source: str) -> Path:
    """Return the folder with a data set's tables, downloaded once.

    Raises:
        TableError: it cannot be fetched.
    """
    name, revision = _parts(source)
    patterns = [f"*{ending}" for ending in ENDINGS]
    try:
        import huggingface_hub
    except ImportError as error:
        what = "it is a data set of the Hugging Face hub, whose client is not installed"
        advice = "run pip install '.[local]' in a checkout, or download its files and give their paths"
        raise TableError(what, advice, file=source) from error
    try:
        return Path(
            huggingface_hub.snapshot_download(
                name, repo_type="dataset", revision=revision, allow_patterns=patterns
            )
        )
    except Exception as error:  # any error of the network and the HTTP library
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        what = f"it cannot be fetched from the Hugging Face hub ({reason})"
        advice = "check name, commit and network, or download its files and give their paths"
        raise TableError(what, advice, file=source) from error


def _parts(source: str) -> tuple[str, str]:
    """Return name and revision of a source."""
    if match := _NAMED.fullmatch(source):
        return match[1], match[2] or "main"
    if _BARE.fullmatch(source):
        return source, CONVERTED
    raise TableError("not a data set's name", "write hf:OWNER/NAME@COMMIT", file=source)
