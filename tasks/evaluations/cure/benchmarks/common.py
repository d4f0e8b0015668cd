"""What the four benchmarks share: items, and published rows checked against a schema. Pure.

Each benchmark module has ``BENCHMARK`` (its name), ``LABELS``, a ``PublishedRow`` model and

    load(files: Mapping[str, Sequence[Row]], countries: CountryCodes) -> Loaded

where files maps a file's name or a dataset's id to its rows (see ``published.read_rows``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tasks.evaluations import choosing
from tasks.identity import digest
from tasks.packs.published import P, Row, validate

_NOT_A_LETTER = re.compile(r"[\W_]+")
_INSIDE_A_WORD = re.compile(r"[.'’‘ʻʼ`´]")


@dataclass(frozen=True)
class BenchmarkItem:
    """One item of a benchmark.

    Attributes:
        benchmark: normad, casa, culturebank or specnorm.
        item: unique within the benchmark, the same whatever the order of the rows.
        country: ISO 3166-1 alpha-2; the name of a place that is none of the warehouse's countries ("Hong
            Kong"); None if the published name is neither.
        group: cultural group or axis by which results may be broken down.
        question: what the candidate is asked about (story, query, or situation and question), plain text.
        label: one of the benchmark's ``LABELS``.
        gold: the gold explanation or norm.
        cues: what a specific answer has to name; empty where the benchmark has none.
        not_judged: why the benchmark's rubric does not apply to an explanation of it; "" where it does.
        extra: further texts by name, none of them empty. ``country_name`` is the country as published;
            ``persona``, ``situation``, ``question`` and ``rule`` are used where the benchmark has them.
    """

    benchmark: str
    item: str
    country: str | None
    group: str
    question: str
    label: str
    gold: str
    cues: tuple[str, ...] = ()
    not_judged: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Loaded:
    """Items in the files' order; how many rows were left out, by reason."""

    items: tuple[BenchmarkItem, ...]
    dropped: Mapping[str, int]


def load_items(
    files: Mapping[str, Sequence[Row]],
    model: type[P],
    item: Callable[[P], BenchmarkItem],
    unusable: Callable[[P], str | None] = lambda row: None,
) -> Loaded:
    """The items of all files, in order, see ``distinct``; ``unusable`` gives a reason to leave a row out.

    Raises:
        BenchmarkError: no row of a file fits the schema.
    """
    items: list[BenchmarkItem] = []
    dropped: Counter[str] = Counter()
    for source, rows in files.items():
        kept, bad = validate(source, rows, model)
        dropped += bad
        for row in kept:
            if reason := unusable(row):
                dropped[reason] += 1
            else:
                items.append(item(row))
    return distinct(items, dropped)


def distinct(items: Iterable[BenchmarkItem], dropped: Mapping[str, int]) -> Loaded:
    """One item of each id, and none of those whose labels differ; see ``choosing.distinct``."""
    kept, again = choosing.distinct(items, lambda item: item.item, lambda item: item.label)
    counts = Counter(dropped) + again
    return Loaded(tuple(kept), {name: n for name, n in sorted(counts.items()) if n})


def item_id(country: str, *texts: str) -> str:
    """Names an item by its content; the spelling of the country does not matter."""
    return digest([country_key(country), *texts])


def without_empty(**texts: str) -> dict[str, str]:
    """For ``BenchmarkItem.extra``."""
    return {name: text for name, text in texts.items() if text}


def country_key(name: str) -> str:
    """What two spellings of a country have in common: "Saudi_Arabia" is "saudi arabia", "U.S." is "us"."""
    plain = _NOT_A_LETTER.sub(" ", _INSIDE_A_WORD.sub("", name)).strip().casefold()
    return plain.removeprefix("the ")
