"""NormAd: is what happens in a story acceptable in its country? (Rao et al. 2025)

Published as one CSV file and as the dataset akhilayerukola/NormAd (CC BY 4.0): 2,633 stories, 75 countries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from tasks.evaluations.cure.benchmarks.common import (
    BenchmarkItem,
    Loaded,
    Lower,
    PublishedRow,
    Row,
    Text,
    country_key,
    country_keys,
    keep_first,
    validate,
)
from tasks.identity import digest

BENCHMARK = "normad"
LABELS = ("yes", "no", "neutral")
"""Acceptable, not acceptable, and: no norm of the country speaks for or against it."""


class NormadRow(PublishedRow):
    """One published row; the column ``id`` is not used, because it differs between releases."""

    country: Text
    story: Text
    explanation: Text
    gold_label: Annotated[Literal["yes", "no", "neutral"], Lower]
    subaxis: str = ""
    background: str = ""
    value: str = ""
    rule_of_thumb: str = ""


def load(files: Mapping[str, Sequence[Row]], countries: Mapping[str, str]) -> Loaded:
    """The stories of all files, in order.

    ``gold`` is the published explanation. ``extra["rule"]`` is the rule of thumb; of a neutral row it is the
    rule of another country (the authors' construction), which is why the explanation is the better measure.
    A story that the same country has twice is kept once (``duplicate``).

    Raises:
        BenchmarkError: no row of a file fits.
    """
    codes = country_keys(countries)
    items: list[BenchmarkItem] = []
    dropped: Counter[str] = Counter()
    for source, rows in files.items():
        kept, bad = validate(source, rows, NormadRow)
        items += [_item(row, codes) for row in kept]
        dropped += bad
    return keep_first(items, dropped)


def _item(row: NormadRow, codes: Mapping[str, str]) -> BenchmarkItem:
    key = country_key(row.country)
    texts = {
        "country_name": row.country.replace("_", " "),
        "background": row.background,
        "value": row.value,
        "rule": row.rule_of_thumb,
    }
    return BenchmarkItem(
        benchmark=BENCHMARK,
        item=digest([key, row.story]),
        country=codes.get(key),
        group=row.subaxis,
        question=row.story,
        label=row.gold_label,
        gold=row.explanation,
        extra={name: text for name, text in texts.items() if text},
    )
