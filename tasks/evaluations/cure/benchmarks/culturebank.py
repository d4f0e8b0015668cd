"""CultureBank: is a behaviour normal in a cultural group? (Shi et al. 2024)

Published as culturebank_reddit.csv and culturebank_tiktok.csv, dataset SALT-NLP/CultureBank (MIT licence):
22,990 descriptors of behaviour, each with a persona and a question that were written for evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from scrapers.countries import CountryCodes
from tasks.evaluations.cure.benchmarks import common
from tasks.evaluations.cure.benchmarks.common import BenchmarkItem, Loaded
from tasks.packs.published import PublishedRow, Row, Text

BENCHMARK = "culturebank"
LABELS = ("yes", "no")
"""Most of those who wrote about the behaviour call it normal in the group; most call it a taboo."""


class CultureBankRow(PublishedRow):
    """One published row. ``cluster_id`` is not used, because both files count from 0."""

    cultural_group: Text
    actor: str = "people"
    actor_behavior: Text
    agreement: Annotated[float, Field(ge=0, le=1)]
    eval_whole_desc: Text
    eval_persona: Text
    eval_question: Text
    eval_scenario: str = ""
    context: str = ""
    topic: str = ""


def load(files: Mapping[str, Sequence[Row]], countries: CountryCodes) -> Loaded:
    """The behaviours of all files, in order.

    The published question is open ("What should I expect ...?") and there is no label. As in the authors'
    own direct evaluation, what is asked is whether most people of the group hold the behaviour to be normal,
    and ``agreement``, the share of the comments that do (0: taboo, 1: norm), gives the label: yes above one
    half, no below. A row at one half is dropped (``split_agreement``). Most rows are near 1, so a model that
    always says yes does well: read F1 macro, and the majority label beside it.

    ``gold`` is the published description. Groups are published as adjectives ("Japanese"); one that is wider
    or narrower than a country ("Asian", "Californian") has none.

    Raises:
        BenchmarkError: no row of a file fits.
    """

    def item(row: CultureBankRow) -> BenchmarkItem:
        group, behaviour = row.cultural_group, f"{row.actor or 'people'}: {row.actor_behavior.rstrip('.')}"
        question = (
            f"{row.eval_question} The behaviour in question is this one: {behaviour}. "
            f"Do most people of this cultural group ({group}) hold it to be normal?"
        )
        situation = row.eval_scenario or row.context
        return BenchmarkItem(
            benchmark=BENCHMARK,
            item=common.item_id(group, row.eval_persona, row.eval_question, behaviour),
            country=countries.region(group),
            group=group,
            question=f"{situation} {question}".strip(),
            label="yes" if row.agreement > 0.5 else "no",
            gold=row.eval_whole_desc,
            extra=common.without_empty(
                country_name=group,
                persona=row.eval_persona,
                situation=situation,
                question=question,
                behaviour=behaviour,
                topic=row.topic,
            ),
        )

    return common.load_items(files, CultureBankRow, item, _split)


def _split(row: CultureBankRow) -> str | None:
    return "split_agreement" if row.agreement == 0.5 else None
