"""Positions of right options: one rule for every evaluation with options on whether they are mixed. Pure.

A model that always prefers the commonest position gains where they are not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from tasks.loop.rows import Metric, Slice, scored
from tasks.metrics.types import BoolArray

UNMIXED = "unmixed_positions"
LABEL = "Not mixed"
ABOUT = "Share of right options at the commonest position, where they are not mixed; null: chance."

MIXED = 0.15
"""Greatest excess over chance of the share of right options at one position that counts as mixed."""

LEVEL = 0.001
"""Probability, at most, of the right options of a mixed set to count as not mixed in one slice."""

LETTERS = tuple(
    unicodedata.normalize("NFKC", names)
    for names in (
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "АБВГДЕЖЗ", "АВСДЕ", "ΑΒΓΔΕΖΗΘ", "أبتثجحخد", "أبجدهوزح", "ابجدهوزح",
        "אבגדהוזח", "কখগঘঙ", "कखगघङ", "กขคงจฉ", "가나다라마바", "ㄱㄴㄷㄹㅁㅂ", "アイウエオ", "あいうえお",
        "甲乙丙丁戊",
    )
)  # fmt: skip
"""Letters that name options, of each alphabet from its first one on."""

NUMBERS = ("123456789", "0123456789", "一二三四五六七八")
_WRITTEN = re.compile(r"\W*(?:(?:option|answer|choice)\W+)?([^\W\d_])\W*", re.IGNORECASE)
_AROUND = re.compile(r"[\W_]+")


class Order(NamedTuple):
    """An item's options as a model sees them: the positions of the right ones, and how many there are."""

    right: Collection[int]
    n: int


NO_ORDER = Order((), 0)
"""The order of an item whose options, if any, have none that a model sees."""


def unmixed_rows(slices: Iterable[tuple[Slice, BoolArray]], orders: Sequence[Order]) -> Iterator[Metric]:
    """Yield the row ``UNMIXED`` of each slice where right options are not mixed: the share at one position.

    Not mixed: the share exceeds chance by more than ``MIXED``, and by accident at most with ``LEVEL``. Items
    without an order are left out.
    """
    has = np.array(
        [own.n > 1 and any(0 <= place < own.n for place in own.right) for own in orders], dtype=np.bool_
    )
    at = np.zeros((len(orders), max((own.n for own in orders), default=0)), dtype=np.bool_)
    for row, own in zip(at, orders, strict=True):
        row[[place for place in own.right if 0 <= place < own.n]] = True
    chance = at.sum(axis=1) / np.maximum(1, [own.n for own in orders])
    for where, chosen in slices:
        here = chosen & has
        if not (n := int(here.sum())):
            continue
        commonest, expected = int(at[here].sum(axis=0).max()), float(chance[here].mean())
        # Of as many positions as there are, the commonest is tested.
        by_accident = binom.sf(commonest - 1, n, expected) / expected
        if commonest / n > expected + MIXED and by_accident < LEVEL:
            yield scored(UNMIXED, where, commonest / n, (n, 0), null=expected)


def has_order(options: Sequence[Sequence[str]]) -> bool:
    """Return whether the options of a set's items have an order that could be mixed.

    Options that are the same in every item, such as true and false, have none, unless they are letters or
    numbers that name options of the prompt.
    """
    return len(set(map(tuple, options))) > 1 or all(map(are_labels, options))


def are_labels(options: Sequence[str]) -> bool:
    """Return whether texts are A, B, C or other letters or numbers that name options."""
    own = [_AROUND.sub("", unicodedata.normalize("NFKC", option)).upper() for option in options]
    is_short = len(own) > 1 and all(len(option) == 1 for option in own)
    return is_short and any(names.startswith("".join(own)) for names in (*LETTERS, *NUMBERS))


def lettered(targets: Sequence[str]) -> list[Order]:
    """Return the orders behind right answers that are letters of options, such as "B" or "(b)".

    How many options there are is not said: as many as up to the last letter that is right somewhere, at
    least two. All are ``NO_ORDER`` if an answer is another text. Numbers are texts: they may be what is
    asked for.
    """
    found = [_WRITTEN.fullmatch(unicodedata.normalize("NFKC", target)) for target in targets]
    named = [each[1].upper() if each else "" for each in found]
    known = [names for names in LETTERS if named and all(each in names and each for each in named)]
    places = min(([names.index(each) for each in named] for names in known), key=max, default=None)
    if places is None:
        return [NO_ORDER] * len(targets)
    return [Order((place,), max(2, max(places) + 1)) for place in places]
