"""What the four benchmarks share: items, and published rows checked against a schema. Pure.

Each benchmark module has ``BENCHMARK`` (its name), ``LABELS``, a ``PublishedRow`` model and

    load(files: Mapping[str, Sequence[Row]], countries: CountryCodes) -> Loaded

where files maps a file's name or a dataset's id to its rows (see ``reading.read_rows``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints, ValidationError

from tasks.evaluations.cure.benchmarks.reading import BenchmarkError, Row
from tasks.identity import digest

Text = Annotated[str, StringConstraints(min_length=1)]
"""A required text: not empty once outer space is gone."""

Lower = BeforeValidator(lambda cell: cell.strip().casefold() if isinstance(cell, str) else cell)
"""For labels whose case varies: ``label: Annotated[Literal["yes", "no"], Lower]``."""

_NOT_A_LETTER = re.compile(r"[\W_]+")
_INSIDE_A_WORD = re.compile(r"[.'’‘ʻʼ`´]")


class PublishedRow(BaseModel):
    """Base of the benchmarks' schemas. Field names are the published columns under ``column``."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", str_strip_whitespace=True, coerce_numbers_to_str=True
    )


P = TypeVar("P", bound=PublishedRow)


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
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Loaded:
    """Items in the files' order; how many rows were left out, by reason."""

    items: tuple[BenchmarkItem, ...]
    dropped: Mapping[str, int]


def validate(source: str, rows: Sequence[Row], model: type[P]) -> tuple[list[P], Counter[str]]:
    """The rows that fit the schema, and how many do not, by reason.

    A reason is ``no_<column>`` (missing or empty) or ``invalid_<column>``, after the first bad cell. Columns
    are compared under ``column``; further ones are ignored.

    Raises:
        BenchmarkError: there are rows, but none fits: the columns are not this benchmark's.
    """
    kept: list[P] = []
    dropped: Counter[str] = Counter()
    for row in rows:
        try:
            kept.append(
                model.model_validate({column(k): cell for k, cell in row.items() if not _is_null(cell)})
            )
        except ValidationError as error:
            dropped[_reason(error)] += 1
    if not kept:
        raise BenchmarkError(_no_row_fits(source, rows, model, dropped))
    return kept, dropped


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
    """One item of each id. Rows that repeat it are counted as ``duplicate``; where their labels differ nobody
    can say which is right, so that none is kept and all are counted as ``contradiction``."""
    by_id: dict[str, list[BenchmarkItem]] = {}
    for item in items:
        by_id.setdefault(item.item, []).append(item)
    agreeing = [same for same in by_id.values() if len({item.label for item in same}) == 1]
    counts = Counter(dropped)
    counts["duplicate"] += sum(len(same) - 1 for same in agreeing)
    counts["contradiction"] += sum(map(len, by_id.values())) - sum(map(len, agreeing))
    return Loaded(tuple(same[0] for same in agreeing), {name: n for name, n in sorted(counts.items()) if n})


def item_id(country: str, *texts: str) -> str:
    """Names an item by its content; the spelling of the country does not matter."""
    return digest([country_key(country), *texts])


def without_empty(**texts: str) -> dict[str, str]:
    """For ``BenchmarkItem.extra``."""
    return {name: text for name, text in texts.items() if text}


def column(name: str) -> str:
    """A column as the schemas spell it: "Rule-of-Thumb" and "rule of thumb" are ``rule_of_thumb``."""
    return _NOT_A_LETTER.sub("_", name.strip().casefold()).strip("_")


def country_key(name: str) -> str:
    """What two spellings of a country have in common: "Saudi_Arabia" is "saudi arabia", "U.S." is "us"."""
    plain = _NOT_A_LETTER.sub(" ", _INSIDE_A_WORD.sub("", name)).strip().casefold()
    return plain.removeprefix("the ")


def _is_null(cell: Any) -> bool:
    """None, or the NaN that data frames write for it."""
    return cell is None or (isinstance(cell, float) and cell != cell)


def _reason(error: ValidationError) -> str:
    first = error.errors()[0]
    where = str(first["loc"][0]) if first["loc"] else "row"
    return f"{'no' if first['type'] in ('missing', 'string_too_short') else 'invalid'}_{where}"


def _no_row_fits(
    source: str, rows: Sequence[Row], model: type[PublishedRow], dropped: Mapping[str, int]
) -> str:
    needed = [name for name, info in model.model_fields.items() if info.is_required()]
    columns = sorted({str(name) for row in rows for name in row})
    reasons = ", ".join(f"{reason} {n}" for reason, n in dropped.items())
    return (
        f"{source}: none of {len(rows)} rows fits ({reasons}): expected the columns {', '.join(needed)}, "
        f"found {', '.join(columns)}. Check that the file is the benchmark's, or rename its columns."
    )
