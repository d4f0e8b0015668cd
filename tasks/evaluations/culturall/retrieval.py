"""Finds passages in the user's documents for each item, for the condition ``retrieval``. Pure except
``read_documents``. It uses BM25 of bm25s, since DuckDB's full-text index would treat a sentence in Khmer,
Chinese or Japanese as one word.
"""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import bm25s

from tasks.data.folders import files_in
from tasks.data.text import text as text_of

logging.getLogger("bm25s").setLevel(logging.WARNING)  # bm25s sets the level DEBUG when it is imported

ENDINGS = (".txt", ".md")
MOST_CHARACTERS = 600
"""Most characters of a passage; short paragraphs are joined up to it, longer ones cut at it."""


class Passage(NamedTuple):
    """A piece of a document. ``document`` is its path within the folder."""

    document: str
    number: int
    text: str


def read_documents(folder: str | Path) -> list[Passage]:
    """Return the passages of every document in a folder and its subfolders, by path, then in order.

    Raises:
        ValueError: there is no such folder, it holds no .txt or .md file, or one is not UTF-8.
    """
    root = Path(folder)
    files = files_in(root, ENDINGS)
    if not files:
        raise ValueError(
            f"documents: {folder} is not a folder with {' or '.join(ENDINGS)} files: check the path"
        )
    return [passage for file in files for passage in _passages(file, root)]


def passages_for(
    texts: Mapping[str, str], passages: Sequence[Passage], n: int
) -> dict[str, tuple[Passage, ...]]:
    """Return item -> the n best passages for its text, best first; every passage shares a word with it.

    Spaces separate words; in scripts without spaces, pairs of characters are words. Passages of
    equal score stand in the order of ``passages``.
    """
    index = bm25s.BM25(method="lucene")
    index.index([_words(passage.text) for passage in passages], show_progress=False)
    best: dict[str, tuple[Passage, ...]] = {}
    for item, text in texts.items():
        known = [word for word in _words(text) if word in index.vocab_dict]
        scores = index.get_scores(known) if known else [0.0] * len(passages)
        order = sorted(range(len(passages)), key=lambda i: (-scores[i], i))
        best[item] = tuple(passages[i] for i in order[:n] if scores[i] > 0)
    return best


def _passages(file: Path, root: Path) -> Iterator[Passage]:
    name = file.relative_to(root).as_posix()
    for number, piece in enumerate(_pieces(text_of(file)), 1):
        yield Passage(name, number, piece)


def _pieces(text: str) -> Iterator[str]:
    passage = ""
    for paragraph in filter(None, (" ".join(part.split()) for part in text.split("\n\n"))):
        if passage and len(passage) + len(paragraph) >= MOST_CHARACTERS:
            yield passage
            passage = ""
        passage = f"{passage} {paragraph}".strip()
        while len(passage) > MOST_CHARACTERS:
            yield passage[:MOST_CHARACTERS]
            passage = passage[MOST_CHARACTERS:]
    if passage:
        yield passage


def _words(text: str) -> list[str]:
    """Return case-folded words; a run in a script without spaces gives its pairs of characters."""
    letters = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text.casefold())
    return [word for run in letters.split() for word in _pairs(run)]


def _pairs(run: str) -> list[str]:
    has_no_spaces = any("\u1780" <= c <= "\u17ff" or "\u3040" <= c <= "\u9fff" for c in run)
    return ["".join(pair) for pair in pairwise(run)] if has_no_spaces and len(run) > 1 else [run]
