"""SpecNorm: is a behaviour acceptable in a subgroup of a country? (Vo and Koyejo 2025, Benchmark 1)

The columns are those that ``specnorm.review.published`` writes; the authors' file needs its columns renamed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from scrapers.countries import CountryCodes
from tasks.evaluations.cure.benchmarks import common
from tasks.evaluations.cure.benchmarks.common import BenchmarkItem, Loaded
from tasks.evaluations.cure.benchmarks.cues import SEPARATOR, Cue, group_of, parse_cues, specificity
from tasks.packs.published import Lower, PublishedRow, Row, Text

BENCHMARK = "specnorm"
LABELS = ("yes", "no")
"""Acceptable in the subgroup: the norm is kept; not acceptable: it is broken."""


def _cues(cell: Any) -> Any:
    """Cues as a text, or as the list of texts that JSON and Parquet hold."""
    return parse_cues(SEPARATOR.join(map(str, cell)) if isinstance(cell, list | tuple) else str(cell))


class SpecNormRow(PublishedRow):
    """One published row."""

    country: Text
    persona: Text
    situation: Text
    question: Text
    label: Annotated[Literal["yes", "no"], Lower]
    norm: Text
    cues: Annotated[tuple[Cue, ...], BeforeValidator(_cues)]


def load(files: Mapping[str, Sequence[Row]], countries: CountryCodes) -> Loaded:
    """The items of all files, in order.

    ``gold`` is the sub-cultural norm, ``cues`` what places it ("ethnicity: Sámi"), ``group`` the subgroup,
    and ``extra["rule"]`` the specificity, by the number of cues. A row without a cue is dropped
    (``no_cues``), a situation that a country has twice is kept once (``duplicate``).

    Raises:
        BenchmarkError: no row of a file fits.
    """

    def item(row: SpecNormRow) -> BenchmarkItem:
        return BenchmarkItem(
            benchmark=BENCHMARK,
            item=common.item_id(row.country, row.persona, row.situation, row.question),
            country=countries.region(row.country),
            group=group_of(row.cues),
            question=f"{row.situation} {row.question}",
            label=row.label,
            gold=row.norm,
            cues=tuple(map(str, row.cues)),
            extra={
                "country_name": row.country,
                "persona": row.persona,
                "situation": row.situation,
                "question": row.question,
                "rule": specificity(len(row.cues)),
            },
        )

    return common.load_items(files, SpecNormRow, item, lambda row: None if row.cues else "no_cues")
