"""Seed statements: norms of subgroups, from the shipped file or a user's own, and their cues. Pure.

A cue is what places a norm within a country, such as "ethnicity: Sámi". SpecNorm took its seeds from the
statements of Fung et al. 2024, annotated with country and demographic metadata; a file with the columns of
``SeedRow`` can hold those or any others.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from scrapers.countries import CountryCodes
from tasks.evaluations.cure.benchmarks.common import country_key
from tasks.identity import digest
from tasks.published import PublishedRow, Row, Text, validate

KINDS = ("region", "ethnicity", "religion", "age", "gender", "occupation", "marital_status")
KEY_KINDS = frozenset(KINDS[:3])
"""The kinds of which SpecNorm wants at least one (Vo and Koyejo 2025, Benchmark 1)."""

SEPARATOR = "|"

Specificity = Literal["low", "medium", "high"]

_GROUP_ORDER = ("ethnicity", "religion", "region", *KINDS[3:])

_GENERIC = frozenset(
    {
        "everybody",
        "everyone",
        "general",
        "human",
        "humans",
        "local",
        "locals",
        "n/a",
        "na",
        "nan",
        "national",
        "none",
        "not specified",
        "null",
        "other",
        "others",
        "people",
        "person",
        "persons",
        "unknown",
        "unspecified",
        "various",
    }
)
_GENERIC_START = re.compile(r"(all|any|every|both)\b")


class Cue(NamedTuple):
    """One cue. ``kind`` is one of ``KINDS``."""

    kind: str
    value: str

    def __str__(self) -> str:
        return f"{self.kind.replace('_', ' ')}: {self.value}"


def is_generic(value: str, country_names: Iterable[str]) -> bool:
    """Whether a value says nothing about a subgroup: empty, "all ages", "people", or the country itself."""
    plain = normal(value)
    names = {normal(name).removeprefix("the ") for name in country_names}
    return (
        not plain
        or plain in _GENERIC
        or bool(_GENERIC_START.match(plain))
        or plain.removeprefix("the ") in names
    )


def join_cues(cues: Iterable[Cue]) -> str:
    """As in the files: "region: Bali|religion: Hindu"."""
    return SEPARATOR.join(map(str, cues))


def parse_cues(text: str) -> tuple[Cue, ...]:
    """The reverse of ``join_cues``.

    Raises:
        ValueError: a part is not a kind and a value.
    """
    cues = []
    for part in filter(None, (p.strip() for p in text.split(SEPARATOR))):
        kind, _, value = (p.strip() for p in part.partition(":"))
        kind = kind.casefold().replace(" ", "_")
        if kind not in KINDS or not value:
            kinds = ", ".join(KINDS)
            raise ValueError(
                f"{part!r} is not a cue: write <kind>: <value>, several separated by {SEPARATOR!r}; "
                f"kinds are {kinds}"
            )
        cues.append(Cue(kind, value))
    return tuple(cues)


def group_of(cues: Iterable[Cue]) -> str:
    """The subgroup that results are broken down by: the value of the first kind of ``_GROUP_ORDER``."""
    values = {cue.kind: cue.value for cue in cues}
    return next((values[kind] for kind in _GROUP_ORDER if kind in values), "")


def specificity(n_cues: int) -> Specificity:
    """How specific an item is (Vo and Koyejo 2025): low has one cue, medium two or three, high four or more.

    Raises:
        ValueError: no cue: such a statement is no seed of SpecNorm.
    """
    if n_cues < 1:
        raise ValueError(f"specificity is defined from one cue on, got {n_cues}")
    return "low" if n_cues == 1 else "medium" if n_cues < 4 else "high"


def is_named(cue: Cue, text: str) -> bool:
    """Whether the cue's words stand in the text, in order, up to case, accents and a plural ending.

    Whole words only: "man" is not named by "woman", nor "married" by "unmarried".
    """
    words = re.escape(normal(cue.value))
    return re.search(rf"(?<!\w){words}(s|es|'s)?(?!\w)", normal(text)) is not None


def normal(text: str) -> str:
    """Case folded, without accents, with single spaces and straight apostrophes."""
    letters = unicodedata.normalize("NFKD", text.casefold().replace("’", "'"))
    return " ".join("".join(c for c in letters if not unicodedata.combining(c)).split())


class SeedRow(PublishedRow):
    """One row. ``country`` is a name or a code; ``country_name``, if there, is the name that prompts use."""

    statement: Text
    country: Text
    country_name: str = ""
    region: str = ""
    ethnicity: str = ""
    religion: str = ""
    age: str = ""
    gender: str = ""
    occupation: str = ""
    marital_status: str = ""
    topic: str = ""


@dataclass(frozen=True)
class Seed:
    """A statement to build an item on.

    Attributes:
        seed: identifies country, statement and cues.
        country: ISO 3166-1 alpha-2, or None if the name is not a country that we know.
        cues: at least one, in the order of ``KINDS``.
    """

    seed: str
    statement: str
    country: str | None
    country_name: str
    cues: tuple[Cue, ...]
    topic: str

    @property
    def has_key_cue(self) -> bool:
        """Whether a region, an ethnicity or a religion is among the cues."""
        return any(cue.kind in KEY_KINDS for cue in self.cues)


@dataclass(frozen=True)
class Seeds:
    """Seeds with a cue, those with a key cue first; how many rows were left out, by reason."""

    seeds: tuple[Seed, ...]
    dropped: Mapping[str, int]


def load_seeds(files: Mapping[str, Sequence[Row]], countries: CountryCodes) -> Seeds:
    """The rows of all files (rows by the file's name, see ``published.read_rows``) that name a subgroup.

    Rows are dropped as ``no_cue`` (all metadata are empty or generic) and ``duplicate`` (the same statement,
    country and cues again), and where they do not fit the schema.

    Raises:
        BenchmarkError: no row of a file fits.
    """
    dropped: Counter[str] = Counter()
    by_name: dict[str, Seed] = {}
    for source, rows in files.items():
        kept, bad = validate(source, rows, SeedRow)
        dropped += bad
        for seed in (_seed(row, countries) for row in kept):
            reason = "no_cue" if not seed.cues else "duplicate" if seed.seed in by_name else None
            if reason:
                dropped[reason] += 1
            else:
                by_name[seed.seed] = seed
    ordered = sorted(by_name.values(), key=lambda s: not s.has_key_cue)
    return Seeds(tuple(ordered), dict(sorted(dropped.items())))


def _seed(row: SeedRow, countries: CountryCodes) -> Seed:
    name = row.country_name or row.country
    is_code = row.country in countries.names.values()
    code = row.country if is_code else countries.code(row.country)
    called = {row.country, name, *(key for key, known in countries.names.items() if known == code)}
    cells = ((kind, getattr(row, kind).replace(SEPARATOR, "/")) for kind in KINDS)
    cues = tuple(Cue(kind, value) for kind, value in cells if not is_generic(value, called))
    identity = [code or country_key(name), normal(row.statement), [list(cue) for cue in cues]]
    # Not bare hex digits, which a spreadsheet with the review queue may take for a number.
    return Seed(f"seed-{digest(identity)}", row.statement, code, name, cues, row.topic)
