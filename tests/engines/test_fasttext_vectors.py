"""Word vectors of fastText's text files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from tasks.engines.embedders import embedder_name, load_embedder
from tasks.engines.local.fasttext_vectors import VecVectors, read_vec
from tasks.engines.protocols import EngineError

# The trailing spaces are fastText's own; the word of the last line is a no-break space, as in its files.
LINES = ["soy 1 0 2 ", "sauce 3 4 0 ", "Turkey 9 9 9 ", "turkey 0 0 1 ", "all-purpose 5 5 5 ", "豆腐 7 0 0 ",
         "void 0 0 0 ", "soy 8 8 8 ", "\xa0 1 1 1 "]  # fmt: skip


def write_vec(path: Path, lines: list[str], header: str | None = None) -> Path:
    path.write_text(
        "".join(f"{line}\n" for line in [*([header] if header else []), *lines]), encoding="utf-8"
    )
    return path


@pytest.fixture
def vec(tmp_path: Path) -> Path:
    return write_vec(tmp_path / "tiny.vec", LINES, "9 3")


def test_text_vector_is_the_mean_of_its_word_vectors(vec: Path) -> None:
    texts = ["soy sauce", "Soy", "Turkey", "TURKEY", "all-purpose flour", "豆腐"]
    texts += ["", "flour", "void", "soy void"]
    done = VecVectors(vec).embed(texts)
    assert done.vectors.dtype == np.float32
    assert done.vectors.tolist() == [
        [2, 2, 1],  # (1 + 3) / 2, (0 + 4) / 2, (2 + 0) / 2: the second line of "soy" does not count
        [1, 0, 2],  # no "Soy", so "soy"
        [9, 9, 9],  # the exact form
        [0, 0, 1],  # no "TURKEY", so "turkey"
        [5, 5, 5],  # hyphens are kept, "flour" is left out
        [7, 0, 0],
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 0],
        [1, 0, 2],  # a zero vector counts as no vector, so it does not halve the mean
    ]
    assert (done.truncated.sum(), (~done.vectors.any(axis=1)).sum()) == (0, 3)
    assert done.n_tokens.tolist() == [2, 1, 1, 1, 2, 1, 0, 1, 1, 2]


def test_vec_file_without_header_is_read_the_same(vec: Path, tmp_path: Path) -> None:
    bare = VecVectors(write_vec(tmp_path / "bare.vec", LINES))
    texts = ["soy sauce", "豆腐", "Turkey"]
    assert np.array_equal(bare.embed(texts).vectors, VecVectors(vec).embed(texts).vectors)


def test_read_vec_gives_the_written_numbers(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    words = [f"wörd{i}" for i in range(200)]
    numbers = random.normal(size=(200, 20))
    lines = [" ".join([w, *map(str, row)]) for w, row in zip(words, numbers, strict=True)]
    path = write_vec(tmp_path / "random.vec", lines, "200 20")
    ours, dimension = read_vec(path, [*words[::3], "absent"])
    assert dimension == 20
    assert list(ours) == words[::3]
    assert np.array_equal(np.stack([*ours.values()]), numbers[::3].astype(np.float32))


def test_name_of_a_vec_file_is_its_hash(vec: Path, tmp_path: Path) -> None:
    assert VecVectors(vec).name == f"sha256:{hashlib.sha256(vec.read_bytes()).hexdigest()}"
    assert embedder_name(str(vec)) == VecVectors(vec).name
    other = write_vec(tmp_path / "other.vec", LINES)
    assert VecVectors(other).name.split(":")[1] != VecVectors(vec).name.split(":")[1]


@pytest.mark.parametrize(
    ("lines", "header", "message"),
    [
        (["soy 1 0 2", "sauce 3 4"], "2 3", r"bad\.vec, line 3: expected a word and 3 numbers.*b'sauce 3 4"),
        (["soy 1 0 2", "sauce 3 4"], None, r"bad\.vec, line 2: expected a word and 3 numbers"),
        (["soy 1 0 2", "new york 3 4 5"], None, r"line 2: .*b'new york 3 4 5"),
        (["soy 1 0 2", ""], None, r"line 2: expected"),
        (["soy 1 x 2"], "1 3", r"line 2: could not convert string to float: b'x'; the file is damaged"),
        (["soy 1 nan 2"], "1 3", r"line 2: a number is infinite or NaN"),
        (["sauce 1 2 3"], "2 3", r"bad\.vec has 1 words, its header promises 2: download it again"),
        (["soy"], None, r"line 1: neither a header 'n d' nor a word"),
        ([], None, "line 1: neither a header"),
    ],
)
def test_malformed_vec_file_is_refused_with_its_line(
    tmp_path: Path, lines: list[str], header: str | None, message: str
) -> None:
    with pytest.raises(EngineError, match=message):
        VecVectors(write_vec(tmp_path / "bad.vec", lines, header)).embed(["soy"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.vec", r"there is no word-vector file .*missing\.vec; unpack it"),
        ("a.bin", "give the .vec file"),
    ],
)
def test_missing_and_binary_files_are_refused(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(EngineError, match=message):
        load_embedder(str(tmp_path / name), tmp_path)


def test_order_does_not_matter(vec: Path) -> None:
    texts = ["soy sauce", "Turkey", "cheesecake", ""]
    forwards, backwards = VecVectors(vec).embed(texts), VecVectors(vec).embed(texts[::-1])
    assert np.array_equal(forwards.vectors, backwards.vectors[::-1])


def test_progress_counts_texts_and_no_texts_give_no_vectors(vec: Path) -> None:
    counted: list[int] = []
    VecVectors(vec).embed(["soy", "soy"], counted.append)
    assert sum(counted) == 2
    assert VecVectors(vec).embed([]).vectors.shape == (0, 3)
