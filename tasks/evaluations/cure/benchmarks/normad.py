"""NormAd: is what happens in a story acceptable in its country? (Rao et al. 2025)

Published as one CSV file and as the dataset akhilayerukola/NormAd (CC BY 4.0): 2,633 stories, 75 countries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from scrapers.countries import CountryCodes
from tasks.evaluations.cure.benchmarks import common
from tasks.evaluations.cure.benchmarks.common import BenchmarkItem, Loaded
from tasks.packs.published import Lower, PublishedRow, Row, Text

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


def load(files: Mapping[str, Sequence[Row]], countries: CountryCodes) -> Loaded:
    """The stories of all files, in order.

    ``gold`` is the published explanation. ``extra["rule"]`` is the rule of thumb; of a neutral row it is the
    rule of another country (the authors' construction), which is why the explanation is the better measure.
    A story that the same country has twice is kept once (``duplicate``), or not at all where its labels
    differ (``contradiction``).

    Raises:
        BenchmarkError: no row of a file fits.
    """

    def item(row: NormadRow) -> BenchmarkItem:
        return BenchmarkItem(
            benchmark=BENCHMARK,
            item=common.item_id(row.country, row.story),
            country=countries.region(row.country),
            group=row.subaxis,
            question=row.story,
            label=row.gold_label,
            gold=row.explanation,
            extra=common.without_empty(
                country_name=row.country.replace("_", " "),
                background=row.background,
                value=row.value,
                rule=row.rule_of_thumb,
            ),
        )

    return common.load_items(files, NormadRow, item)
