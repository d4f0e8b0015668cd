"""CultureBank: is a behaviour normal in a cultural group? (Shi et al. 2024)

Published as culturebank_reddit.csv and culturebank_tiktok.csv, dataset SALT-NLP/CultureBank (MIT licence):
22,990 descriptors of behaviour, each with a persona and a question that were written for evaluation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from tasks.evaluations.cure.benchmarks.common import (
    BenchmarkItem,
    Loaded,
    PublishedRow,
    Row,
    Text,
    country_key,
    country_keys,
    keep_first,
    validate,
)
from tasks.identity import digest

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


def load(files: Mapping[str, Sequence[Row]], countries: Mapping[str, str]) -> Loaded:
    """The behaviours of all files, in order.

    The published question is open ("What should I expect ...?") and there is no label. As in the authors'
    own direct evaluation, what is asked is whether most people of the group hold the behaviour to be normal,
    and ``agreement``, the share of the comments that do (0: taboo, 1: norm), gives the label: yes above one
    half, no below. A row at one half is dropped (``split_agreement``). Most rows are near 1, so a model that
    always says yes does well: read F1 macro, and the majority label beside it.

    ``gold`` is the published description. Groups are published as adjectives ("Japanese", "Californian"):
    ``countries`` has to hold those as well, else the item has no country.

    Raises:
        BenchmarkError: no row of a file fits.
    """
    codes = country_keys(countries)
    items: list[BenchmarkItem] = []
    dropped: Counter[str] = Counter()
    for source, rows in files.items():
        kept, bad = validate(source, rows, CultureBankRow)
        clear = [row for row in kept if row.agreement != 0.5]
        items += [_item(row, codes) for row in clear]
        dropped += bad + Counter(split_agreement=len(kept) - len(clear))
    return keep_first(items, dropped)


def _item(row: CultureBankRow, codes: Mapping[str, str]) -> BenchmarkItem:
    question = (
        f"{row.eval_question} The behaviour in question is this one: {_behaviour(row)}. "
        f"Do most people of this cultural group ({row.cultural_group}) hold it to be normal?"
    )
    texts = {
        "country_name": row.cultural_group,
        "persona": row.eval_persona,
        "situation": row.eval_scenario or row.context,
        "question": question,
        "behaviour": _behaviour(row),
        "topic": row.topic,
    }
    return BenchmarkItem(
        benchmark=BENCHMARK,
        item=digest([country_key(row.cultural_group), row.eval_persona, row.eval_question, _behaviour(row)]),
        country=codes.get(country_key(row.cultural_group)),
        group=row.cultural_group,
        question=f"{texts['situation']} {question}".strip(),
        label="yes" if row.agreement > 0.5 else "no",
        gold=row.eval_whole_desc,
        extra={name: text for name, text in texts.items() if text},
    )


def _behaviour(row: CultureBankRow) -> str:
    """Who does what: "tourists: tip the waiter"."""
    return f"{row.actor or 'people'}: {row.actor_behavior.rstrip('.')}"
