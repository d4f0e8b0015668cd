"""Seed statements: norms of subgroups, from the shipped file or a user's own. Pure.

SpecNorm took its seeds from the
statements of Fung et al. 2024, annotated with country and demographic metadata; a file with the columns of
``SeedRow`` can hold those or any others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scrapers.countries import CountryCodes
from tasks.evaluations.cure.benchmarks import country_key
from tasks.evaluations.cure.benchmarks.cues import (
    KEY_KINDS,
    KINDS,
    SEPARATOR,
    Cue,
    is_generic,
    normal,
)
from tasks.identity import digest
from tasks.packs.published import PublishedRow, Row, Text, validate


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
