"""Word vectors from fastText's text files, ``.vec``.

A text's vector is the mean of its words' vectors. Words are separated by white space and keep hyphens and
punctuation. A word's vector is that of its exact form if the file has it, else of its lower-case form. Words
without a vector are left out of the mean; a text with no such word has no vector. Text without spaces
(Chinese, Japanese, Thai) is one word. Nothing is truncated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tasks.engines.content import FOLDER, content_hash
from tasks.engines.protocols import Embedded, EngineError, Progress

Vector = NDArray[np.float32]


class VecVectors:
    """Implements ``Embedder`` on a ``.vec`` file; every call reads the whole file, so embed all texts in one.

    Only the vectors of the texts' words are in memory.
    """

    def __init__(self, path: Path) -> None:
        """Read the file's hash; raises ``EngineError`` if the file is missing."""
        self.name, self._path = file_name(path), path

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Embedded:
        """Implement ``Embedder``.

        Raises:
            EngineError: a line is malformed or the file ends early; names file and line.
        """
        words = {word for text in texts for word in text.split()}
        table, dimension = read_vec(self._path, words | {word.lower() for word in words})
        # The exact form comes last, so it replaces the lower-case form.
        vectors = {w: table[form] for w in words for form in (w.lower(), w) if form in table}
        return _mean_of_words(texts, vectors, dimension, progress)


def read_vec(path: Path, wanted: Collection[str]) -> tuple[dict[str, Vector], int]:
    """Return the vectors of some words, from a file of lines ``word number ... number``.

    The first line may be a header ``n d``. If a word occurs twice, its first line counts. The number of
    fields is checked on every line, the numbers on lines of wanted words.

    Returns:
        vectors: float32 [d] of each wanted word in the file.
        d: their dimension.

    Raises:
        EngineError: a line has the wrong number of fields or an invalid number, or the file does not have the
            n words of its header. Names file and line.
    """
    keys = {word.encode(): word for word in wanted}
    vectors: dict[str, Vector] = {}
    with path.open("rb") as file:
        first = file.readline().split()
        header = len(first) == 2 and all(field.isdigit() for field in first)
        dimension = int(first[1]) if header else len(first) - 1
        if dimension < 1:
            raise EngineError(f"{path}, line 1: neither a header 'n d' nor a word with its vector")
        if not header:
            file.seek(0)
        n_words = 0
        for n_words, line in enumerate(file, 1):
            word, _, numbers = line.rstrip(b" \r\n").partition(b" ")
            if not numbers or numbers.count(b" ") + 1 != dimension:
                raise EngineError(
                    f"{path}, line {n_words + header}: expected a word and {dimension} numbers, each after "
                    f"one space, got {line[:60]!r}; is the file damaged, or not a fastText .vec file?"
                )
            key = keys.get(word)
            if key is not None and key not in vectors:
                vectors[key] = _numbers(numbers, f"{path}, line {n_words + header}")
    if header and n_words != int(first[0]):
        raise EngineError(
            f"{path} has {n_words} words, its header promises {int(first[0])}: download it again"
        )
    return vectors, dimension


def _numbers(fields: bytes, where: str) -> Vector:
    """Return [d] finite float32 from a line."""
    try:
        vector = np.array([float(field) for field in fields.split(b" ")], dtype=np.float32)
    except ValueError as error:
        raise EngineError(f"{where}: {error}; the file is damaged, download it again") from error
    if not np.isfinite(vector).all():
        raise EngineError(f"{where}: a number is infinite or NaN; the file is damaged, download it again")
    return vector


def _mean_of_words(
    texts: Sequence[str], vectors: Mapping[str, Vector], dimension: int, progress: Progress | None
) -> Embedded:
    """Return each text's mean over the words with a vector; a vector of zeros counts as none."""
    means = np.zeros((len(texts), dimension), dtype=np.float32)
    for row, text in enumerate(texts):
        rows = [vectors[word] for word in text.split() if word in vectors and vectors[word].any()]
        if rows:
            means[row] = np.mean(rows, axis=0, dtype=np.float64)
    if progress:
        progress(len(texts))
    n_words = np.array([len(text.split()) for text in texts], dtype=np.int64)
    return Embedded(means, n_words, np.zeros(len(texts), dtype=np.bool_))


def file_name(path: Path) -> str:
    """Return the content of a file as a name in hashes; raises ``EngineError`` if it is missing."""
    if not path.is_file():
        raise EngineError(f"there is no word-vector file {path}; unpack it if it ends in .gz")
    return FOLDER + content_hash(path)
