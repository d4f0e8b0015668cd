"""Near-duplicates within a language, across languages and by meaning; the first stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tasks.builders.culturall.duplicates import near_duplicates
from tests.builders.culturall.model_server import items, with_texts


def test_duplicates_within_a_language_and_across_languages() -> None:
    """The first stays: a reworded twin and a translated one go; items of one template do not."""
    shipped = [item for item in items("ja kk") if item.english][:12]
    assert near_duplicates(shipped) == [None] * 12
    reworded = with_texts(replace(shipped[0], item="twin"), explanation="other words")
    reworded = with_texts(reworded, scenario=reworded.native.scenario.replace("。", "！"))
    abroad = replace(items("ru")[0], item="abroad", english=shipped[5].english)
    twins = near_duplicates([*shipped, reworded, abroad])
    assert twins[:12] == [None] * 12
    assert [twin.detail.split()[-1] for twin in twins[12:] if twin] == [shipped[0].item, shipped[5].item]


def test_duplicates_by_meaning() -> None:
    shipped = items("ja")[:4]
    vectors = np.eye(4, dtype=np.float32)
    assert near_duplicates(shipped, vectors) == [None] * 4
    vectors[3] = 7 * vectors[1] + 0.1
    twins = near_duplicates(shipped, vectors)
    assert twins[3] is not None
    assert shipped[1].item in twins[3].detail
    vectors[1] = vectors[2] = 0  # no vector is like no other
    assert near_duplicates(shipped, vectors) == [None] * 4


def test_what_is_like_a_duplicate_alone_stays() -> None:
    """Of three in a row, each like the next, the middle one goes and the last, which is not like the
    first, stays."""
    vectors = np.array([[1, 0], [0.9, 0.436], [0.62, 0.785]], dtype=np.float32)
    twins = near_duplicates(items("ja")[:3], vectors)
    assert [twin is None for twin in twins] == [True, False, True]


def test_thousands_of_a_kind_are_no_burden() -> None:
    """Only what stays is compared, so that a model which writes the same again and again costs nothing."""
    first, *_ = items("ja")
    twins = near_duplicates([replace(first, item=str(n)) for n in range(2000)])
    assert [twin is None for twin in twins] == [True] + [False] * 1999
    assert twins[-1] is not None
    assert twins[-1].detail == "100 % the same as 0"
