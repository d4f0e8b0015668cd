"""Finds candidates-duplicate items by wording, within a language and between English translations. Pure.

With embeddings also by meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from tasks.builders.culturall.checks import ItemFault
from tasks.evaluations.culturall.items import CulturallItem, ItemTexts
from tasks.evaluations.culturall.matching import plain

SAME_WORDING, SAME_MEANING = 85.0, 0.88
"""Default limits of ``near_duplicates``. Among 334 items that test different knowledge, the most similar pair
reaches 65 in wording and 0.76 in meaning (with all-MiniLM-L6-v2)."""

SHARED_WORDS = 0.5
"""Minimum share of the shorter text's words that two texts have in common; others are not compared letter by
letter."""

_BUCKETS = 1024
_CHUNK = 512
_LONG_WORD = 16
"""Characters from which a word counts as text of a script without spaces; its character pairs are its
words."""


def near_duplicates(
    items: Sequence[CulturallItem],
    vectors: NDArray[np.float32] | None = None,
    same_wording: float = SAME_WORDING,
    same_meaning: float = SAME_MEANING,
) -> list[ItemFault | None]:
    """Return a fault for every item that nearly repeats an earlier one without such a fault, else None.

    Originals of one language and all English texts are compared by wording (``fuzz.ratio`` of plain scenario,
    question and answer, 0 to 100), and with vectors the English texts also by meaning.

    Args:
        vectors: [items, d] embeddings of the English texts; a row of zeros has no duplicate.
        same_wording: minimum similarity of wording.
        same_meaning: minimum cosine, above 0.
    """
    wordings = [
        _Wording([_compared(item.native) for item in items], [item.language for item in items], same_wording),
        _Wording([_compared(item.english) for item in items], ["en"] * len(items), same_wording),
    ]
    units = None if vectors is None else _units(vectors)
    is_unique = np.zeros(len(items), dtype=bool)
    twins: list[ItemFault | None] = []
    for start in range(0, len(items), _CHUNK):
        stop = min(start + _CHUNK, len(items))
        candidates = [wording.candidates(start, stop) for wording in wordings]
        meaning = np.full((stop - start, stop), -1.0) if units is None else units[start:stop] @ units[:stop].T
        for row in range(start, stop):
            same_words = [pairs[row - start, :row] for pairs in candidates]
            cosines = meaning[row - start, :row]
            fault = None
            is_close = is_unique[:row] & (same_words[0] | same_words[1] | (cosines >= same_meaning))
            for other in map(int, np.flatnonzero(is_close)):
                detail = next(filter(None, (wording.similarity(row, other) for wording in wordings)), "")
                if not detail and cosines[other] >= same_meaning:
                    detail = f"cosine {cosines[other]:.2f} in English"
                if detail:
                    fault = ItemFault("near_duplicate", f"{detail} as {items[other].item}")
                    break
            is_unique[row] = fault is None
            twins.append(fault)
    return twins


class _Wording:
    """Texts in groups: only texts of the same group are compared, and no empty ones."""

    def __init__(self, texts: Sequence[str], groups: Sequence[str], limit: float) -> None:
        self.texts, self.groups, self.limit = texts, np.array(groups), limit
        self.words = np.zeros((len(texts), _BUCKETS), dtype=np.float32)
        for row, text in enumerate(texts):
            self.words[row, [crc32(word.encode()) % _BUCKETS for word in _words(text)]] = 1
        self.sizes = self.words.sum(axis=1)

    def candidates(self, start: int, stop: int) -> NDArray[np.bool_]:
        """Return [stop - start, stop] booleans: two texts of a group share enough words to be compared."""
        shared = self.words[start:stop] @ self.words[:stop].T
        needed = np.maximum(1, SHARED_WORDS * np.minimum(self.sizes[start:stop, None], self.sizes[:stop]))
        return np.asarray((shared >= needed) & (self.groups[start:stop, None] == self.groups[:stop]))

    def similarity(self, row: int, other: int) -> str:
        """Return the similarity of two texts as a message; "" below the limit."""
        if self.groups[row] != self.groups[other] or not (self.texts[row] and self.texts[other]):
            return ""
        score = fuzz.ratio(self.texts[row], self.texts[other], score_cutoff=self.limit)
        return f"{score:.0f} % the same" if score else ""


def _compared(texts: ItemTexts | None) -> str:
    return plain(" ".join(texts[:3])) if texts else ""


def _words(text: str) -> Iterator[str]:
    for word in text.split():
        yield from map("".join, pairwise(word)) if len(word) >= _LONG_WORD else [word]


def _units(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors scaled to length 1; vectors of zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)
