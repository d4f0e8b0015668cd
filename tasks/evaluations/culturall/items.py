"""Loads items, of the shipped sample or of a file in its place, and chooses which to send. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AliasChoices, BeforeValidator, Field

from tasks.evaluations.choosing import distinct, of_slices
from tasks.evaluations.culturall.matching.choices import gold_letter, options
from tasks.identity import digest
from tasks.packs.published import Lower, PublishedRow, Row, Text, validate

TOPICS = (
    "Belief", "Commerce", "Education", "Entertainment", "Finance", "Food", "Government", "Habitat",
    "Health", "Heritage", "Language", "Pets", "Science", "Social", "Travel", "Work",
)  # fmt: skip
"""Topics of Lin et al. 2026, table 4."""

NOT_CHECKED = "not checked by people"
"""The status of an item that no person has confirmed."""


FROM_PACK = "pack"
"""The source of a pack's items."""


class ItemTexts(NamedTuple):
    """Texts of an item in one language."""

    scenario: str
    question: str
    answer: str
    explanation: str


@dataclass(frozen=True)
class CulturallItem:
    """One task.

    Attributes:
        item: identifier; if a file has no such column, the language and the hash of the texts.
        language: ISO 639-1; region: ISO 3166-1 alpha-2, upper case; topic: one of ``TOPICS``.
        form: "choice" (the answer is one of ``matching.LETTERS``, the options are in the question) or "free".
        english: the English translation; None if the item has none.
        variants: further answers that are accepted; english_variants: those in English.
        solved: number of the 15 published settings that solve it; None if unpublished.
        source: origin of the item; status: who checked it.
    """

    item: str
    language: str
    region: str
    topic: str
    form: str
    native: ItemTexts
    english: ItemTexts | None = None
    variants: tuple[str, ...] = ()
    english_variants: tuple[str, ...] = ()
    solved: int | None = None
    source: str = ""
    status: str = NOT_CHECKED

    @property
    def accepted(self) -> tuple[str, ...]:
        """Return the gold answer, then its variants, each once."""
        return tuple(dict.fromkeys((self.native.answer, *self.variants)))

    @property
    def accepted_in_english(self) -> tuple[str, ...]:
        """Return the gold answer in English, then its variants; () without a translation."""
        return tuple(dict.fromkeys((self.english.answer, *self.english_variants))) if self.english else ()

    def accepted_by(self, condition: str) -> tuple[str, ...]:
        """Return the accepted answers in the language that a condition asks in."""
        return (condition == "english" and self.accepted_in_english) or self.accepted

    def texts(self, condition: str) -> ItemTexts:
        """Return the texts that a condition shows; for English the translation, if there is one."""
        return self.english if condition == "english" and self.english else self.native


def _english(name: str) -> Any:
    """Return the column of a text's translation, by our name or the published file's name."""
    return Field(validation_alias=AliasChoices(f"{name}_en", f"english_{name}"))


class CulturallItemRow(PublishedRow):
    """A row of table ``culturall_item``, or of a file in the form of Lin et al. (2026).

    Their columns are the first seven, eval_sum, and the translations such as english_scenario. A region may
    be lower case, and UK is GB.
    """

    language: Annotated[str, Lower, Field(pattern="^[a-z]{2}$")]
    region: Annotated[str, BeforeValidator(lambda cell: _region(cell)), Field(pattern="^[A-Z]{2}$")]
    topic: Annotated[str, BeforeValidator(lambda cell: str(cell).strip().capitalize())]
    scenario: Text
    question: Text
    answer: Text
    explanation: str = ""
    item: str = ""
    form: Literal["free", "choice", ""] = ""
    variants: Annotated[str, BeforeValidator(lambda cell: _joined(cell))] = ""
    scenario_en: Annotated[str, _english("scenario")] = ""
    question_en: Annotated[str, _english("question")] = ""
    answer_en: Annotated[str, _english("answer")] = ""
    variants_en: Annotated[str, BeforeValidator(lambda cell: _joined(cell)), _english("variants")] = ""
    explanation_en: Annotated[str, _english("explanation")] = ""
    eval_sum: Annotated[float | None, Field(ge=0, le=15)] = None
    source: str = ""
    status: str = "published"


@dataclass(frozen=True)
class LoadedItems:
    """Items by identifier, and the numbers of rows left out, by reason."""

    items: tuple[CulturallItem, ...]
    dropped: Mapping[str, int]

    def hash(self) -> str:
        """Return the hash of the texts that are sent; the reviewers of items do not change it."""
        skipped = ("source", "status")
        return digest([[v for k, v in vars(item).items() if k not in skipped] for item in self.items])


def load_items(rows: Sequence[Row], source: str) -> LoadedItems:
    """Return the items of a table or file; source: its name.

    Rows are left out as ``no_<column>`` or ``invalid_<column>`` (``published.validate``), ``unknown_topic``,
    ``no_options`` (multiple choice without A to D in the question, or with another answer), ``duplicate``
    (scenario and question again) or ``contradiction`` (again, with another answer: none of them is kept).

    Raises:
        TableError: no row fits the schema. ValueError: rows fit, but none is an item.
    """
    valid, dropped = validate(source, rows, CulturallItemRow)
    read = [_item(row) for row in valid]
    dropped.update(item for item in read if isinstance(item, str))
    unique, again = distinct(
        (item for item in read if isinstance(item, CulturallItem)),
        lambda item: (item.language, *item.native[:2]),
        lambda item: item.native.answer,
    )
    reasons = {reason: n for reason, n in sorted((dropped + again).items()) if n}
    items = {item.item: item for item in unique}
    if not items:
        raise ValueError(f"{source}: no row is an item ({reasons})")
    if len(items) < len(unique):
        raise ValueError(f"{source}: items of different texts have the same identifier in column item")
    return LoadedItems(tuple(items[name] for name in sorted(items)), reasons)


def choose(
    loaded: LoadedItems,
    languages: Sequence[str],
    regions: Sequence[str],
    topics: Sequence[str],
    per_language: int | None,
) -> LoadedItems:
    """Return items of the named languages, regions and topics (empty: all), at most ``per_language`` per
    language. The choice does not depend on the items' order: it takes the item with the smallest hash from
    each region and topic, then the second, and so on. So a larger number keeps the same items and adds some.

    Raises:
        ValueError: a name that no item has.
    """
    slices = {"language": languages, "region": regions, "topic": topics}
    wanted = of_slices(loaded.items, slices, getattr)
    chosen = wanted if per_language is None else _spread(wanted, per_language)
    left_out = {"not_chosen": len(loaded.items) - len(chosen)} if len(chosen) < len(loaded.items) else {}
    return LoadedItems(chosen, {**loaded.dropped, **left_out})


def _spread(items: Sequence[CulturallItem], per_language: int) -> tuple[CulturallItem, ...]:
    """Return a number of items of each language, by identifier."""
    regions: Counter[tuple[str, str]] = Counter()
    topics: Counter[tuple[str, str]] = Counter()
    ranked: dict[str, list[tuple[int, int, str, CulturallItem]]] = {}
    for name, item in sorted((digest([item.item]), item) for item in items):
        region, topic = (item.language, item.region), (item.language, item.topic)
        ranked.setdefault(item.language, []).append((regions[region], topics[topic], name, item))
        regions[region] += 1
        topics[topic] += 1
    chosen = (
        entry[-1]
        for entries in ranked.values()
        for entry in sorted(entries, key=lambda e: e[:3])[:per_language]
    )
    return tuple(sorted(chosen, key=lambda item: item.item))


def _item(row: CulturallItemRow) -> CulturallItem | str:
    """Return an item, or the reason why the row is not one."""
    if row.topic not in TOPICS:
        return "unknown_topic"
    letter = gold_letter(row.answer) if options(row.question) else None
    form = row.form or ("choice" if letter else "free")
    if form == "choice" and not letter:
        return "no_options"
    answers = (letter, letter) if form == "choice" and letter else (row.answer, row.answer_en)
    native = ItemTexts(row.scenario, row.question, answers[0], row.explanation)
    english = ItemTexts(row.scenario_en, row.question_en, answers[1], row.explanation_en)
    return CulturallItem(
        item=row.item or f"{row.language}-{digest([row.language, *native])}",
        language=row.language,
        region=row.region,
        topic=row.topic,
        form=form,
        native=native,
        english=english if all(english[:3]) else None,
        variants=_split(row.variants),
        english_variants=_split(row.variants_en),
        solved=None if row.eval_sum is None else int(row.eval_sum),
        source=row.source,
        status=row.status,
    )


def _split(variants: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, variants.split("|"))))


def _region(cell: object) -> object:
    code = str(cell).strip().upper()
    return "GB" if code == "UK" else code


def _joined(cell: object) -> object:
    """Join the variants, which JSON may hold as a list."""
    return "|".join(map(str, cell)) if isinstance(cell, list) else cell
