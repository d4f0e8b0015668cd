"""The items: the shipped sample, or published ones in its place; which of them are asked. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.evaluations.culturall.matching import LETTERS, options
from tasks.identity import digest

Row = Mapping[str, Any]

TOPICS = (
    "Belief", "Commerce", "Education", "Entertainment", "Finance", "Food", "Government", "Habitat",
    "Health", "Heritage", "Language", "Pets", "Science", "Social", "Travel", "Work",
)  # fmt: skip
"""Of Lin et al. 2026, table 4."""

PUBLISHED = ("language", "region", "topic", "scenario", "question", "answer", "explanation")
"""Columns that published items need; ``eval_sum`` and the English translations may be there too."""

NOT_CHECKED = "not checked by people"


@dataclass(frozen=True)
class Item:
    """One task.

    Attributes:
        form: "choice" (the answer is one of ``matching.LETTERS``) or "free".
        accepted: the gold answer, then its accepted variants.
        english: scenario, question, answer and explanation in English; None where there is no translation.
        solved: how many of the 15 published settings solve it; None where that is not published.
        status: who checked it.
    """

    item: str
    language: str
    region: str
    topic: str
    form: str
    scenario: str
    question: str
    accepted: tuple[str, ...]
    explanation: str
    english: tuple[str, str, str, str] | None = None
    solved: int | None = None
    status: str = NOT_CHECKED

    @property
    def answer(self) -> str:
        """The gold answer."""
        return self.accepted[0]


@dataclass(frozen=True)
class Loaded:
    """Items by identifier, and how many rows were left out, by reason."""

    items: tuple[Item, ...]
    dropped: Mapping[str, int]

    def hash(self) -> str:
        """Identifies the content."""
        return digest([[*vars(item).values()] for item in self.items])


def shipped(rows: Iterable[Row]) -> Loaded:
    """Rows of table ``culturall_item``."""
    return Loaded(tuple(sorted((_shipped(row) for row in rows), key=lambda item: item.item)), {})


def published(rows: Iterable[Row], file: str) -> Loaded:
    """Rows as Lin et al. (2026) publish them; an item's identifier is the hash of its texts.

    Rows are dropped as ``incomplete`` (a text is missing), ``unknown_topic``, ``bad_region`` (no two letters)
    or ``duplicate``. A region is upper case, and UK is GB.

    Raises:
        ValueError: the file lacks a column, or no row is left.
    """
    dropped: Counter[str] = Counter()
    items: dict[str, Item] = {}
    for number, row in enumerate(rows, 1):
        if lacking := [name for name in PUBLISHED if name not in row]:
            raise ValueError(f"{file}, row {number}: there is no column {', '.join(lacking)}")
        item = _published({name: str(value or "").strip() for name, value in row.items()})
        if isinstance(item, str):
            dropped[item] += 1
        elif item.item in items:
            dropped["duplicate"] += 1
        else:
            items[item.item] = item
    if not items:
        raise ValueError(f"{file}: no row is an item ({dict(dropped)})")
    return Loaded(tuple(items[name] for name in sorted(items)), dict(dropped))


def choose(
    loaded: Loaded,
    languages: Sequence[str],
    regions: Sequence[str],
    topics: Sequence[str],
    per_language: int | None,
) -> Loaded:
    """Those of the named languages, regions and topics (empty: all), of each language at most ``per_language``.

    Which ones does not depend on the items' order: of each region and topic the one with the smallest hash,
    then its second; so a larger number gives the same items and some more.

    Raises:
        ValueError: a name that no item has.
    """
    for kind, names in (("language", languages), ("region", regions), ("topic", topics)):
        known = {getattr(item, kind) for item in loaded.items}
        if unknown := sorted(set(names) - known):
            raise ValueError(f"no item is of {kind} {', '.join(unknown)}: there are {', '.join(sorted(known))}")
    wanted = [
        item
        for item in loaded.items
        if (not languages or item.language in languages)
        and (not regions or item.region in regions)
        and (not topics or item.topic in topics)
    ]
    if not wanted:
        raise ValueError("no item is of these languages, regions and topics together")
    ranked: list[tuple[int, int, str, Item]] = []
    regions_seen: Counter[tuple[str, str]] = Counter()
    topics_seen: Counter[tuple[str, str]] = Counter()
    for item in sorted(wanted, key=lambda item: digest([item.item])):
        region, topic = (item.language, item.region), (item.language, item.topic)
        ranked.append((regions_seen[region], topics_seen[topic], digest([item.item]), item))
        regions_seen[region] += 1
        topics_seen[topic] += 1
    taken: Counter[str] = Counter()
    kept = []
    for *_, item in sorted(ranked, key=lambda entry: entry[:3]):
        if per_language is None or taken[item.language] < per_language:
            taken[item.language] += 1
            kept.append(item)
    left_out = {"not_chosen": len(loaded.items) - len(kept)} if len(kept) < len(loaded.items) else {}
    return Loaded(tuple(sorted(kept, key=lambda item: item.item)), {**loaded.dropped, **left_out})


def _shipped(row: Row) -> Item:
    english = tuple(str(row[f"{name}_en"]) for name in ("scenario", "question", "answer", "explanation"))
    variants = [str(row["answer"]), *str(row["variants"] or "").split("|")]
    return Item(
        item=str(row["item"]),
        language=str(row["language"]),
        region=str(row["region"]),
        topic=str(row["topic"]),
        form=str(row["form"]),
        scenario=str(row["scenario"]),
        question=str(row["question"]),
        accepted=tuple(dict.fromkeys(text for text in variants if text)),
        explanation=str(row["explanation"]),
        english=(english[0], english[1], english[2], english[3]),
        status=str(row["status"]),
    )


def _published(row: Mapping[str, str]) -> Item | str:
    """An item, or why the row is none."""
    if not all(row[name] for name in PUBLISHED if name != "explanation"):
        return "incomplete"
    region = {"UK": "GB"}.get(row["region"].upper(), row["region"].upper())
    topic = row["topic"].capitalize()
    if topic not in TOPICS:
        return "unknown_topic"
    if len(region) != 2 or not region.isascii() or not region.isalpha():
        return "bad_region"
    texts = [row[name] for name in ("language", "scenario", "question", "answer")]
    is_choice = row["answer"].strip(" .()").upper() in LETTERS and bool(options(row["question"]))
    translated = [row.get(f"{name}_en", "") for name in ("scenario", "question", "answer", "explanation")]
    return Item(
        item=f"{row['language']}-{digest(texts)}",
        language=row["language"].lower(),
        region=region,
        topic=topic,
        form="choice" if is_choice else "free",
        scenario=row["scenario"],
        question=row["question"],
        accepted=(row["answer"].strip(" .()").upper() if is_choice else row["answer"],),
        explanation=row["explanation"],
        english=(translated[0], translated[1], translated[2], translated[3]) if all(translated[:3]) else None,
        solved=int(float(row["eval_sum"])) if row.get("eval_sum") else None,
        status="published",
    )
