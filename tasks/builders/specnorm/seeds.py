"""Seed statements: norms of subgroups, from the shipped file or a user's own, and a selection of them. Pure.

SpecNorm's seeds are the statements of Fung et al. 2024, annotated with country and demographic metadata; a
file with the columns of ``SeedRow`` may contain those or others. The selection covers many countries, kinds
of cue and topics, and no statement twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process, utils
from scipy.sparse import csr_array

from scrapers.countries import CountryCodes
from tasks.evaluations.cure.published import country_key
from tasks.evaluations.cure.published.cues import KEY_KINDS, KINDS, SEPARATOR, Cue, is_generic, normal
from tasks.identity import digest
from tasks.packs.published import PublishedRow, Row, Text, validate

# Tolerance for equal gains: sums of the same square roots may differ by their order.
_ROUNDING = 1e-9


class SeedRow(PublishedRow):
    """A row of a seed file.

    ``country`` is a name or a code. Prompts use ``country_name``, or ``country`` if it is empty.
    """

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
        seed: identifier, a hash of country, statement and cues.
        country: ISO 3166-1 alpha-2 code, or None for an unknown country.
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
        """Whether the cues include a region, an ethnicity or a religion."""
        return any(cue.kind in KEY_KINDS for cue in self.cues)


@dataclass(frozen=True)
class Seeds:
    """Seeds with at least one cue, those with a key cue first, and the number of dropped rows by reason."""

    seeds: tuple[Seed, ...]
    dropped: Mapping[str, int]


def load_seeds(files: Mapping[str, Sequence[Row]], countries: CountryCodes) -> Seeds:
    """Return the rows that name a subgroup as seeds.

    Rows without the required columns are dropped, and also those counted as ``no_cue`` (all metadata are
    empty or generic) and ``duplicate`` (the same statement, country and cues as another row).

    Args:
        files: rows by the file's name (see ``published.read_rows``).

    Raises:
        TableError: no row of a file has the required columns.
    """
    dropped: Counter[str] = Counter()
    by_name: dict[str, Seed] = {}
    for source, rows in files.items():
        valid, bad_rows = validate(source, rows, SeedRow)
        dropped += bad_rows
        for seed in (_seed(row, countries) for row in valid):
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
    country_names = {
        row.country,
        name,
        *(key for key, name_code in countries.names.items() if name_code == code),
    }
    cells = ((kind, getattr(row, kind).replace(SEPARATOR, "/")) for kind in KINDS)
    cues = tuple(Cue(kind, value) for kind, value in cells if not is_generic(value, country_names))
    identity = [code or country_key(name), normal(row.statement), [list(cue) for cue in cues]]
    # With a prefix, because a spreadsheet may read hex digits alone as a number.
    return Seed(f"seed-{digest(identity)}", row.statement, code, name, cues, row.topic)


def select(seeds: Sequence[Seed], n: int, seed: int = 0, similar: float = 90.0) -> list[Seed]:
    """Return a diverse selection of up to ``n`` seeds, in the order in which they were chosen.

    Each step chooses the seed that adds most to

        F(S) = sum over countries, kinds of cue and topics f of sqrt(number of chosen seeds that have f)

    Because of the root, each further seed of a country adds less than the one before. F is monotone and
    submodular, so that without the two rules of the next paragraph the selection reaches at least 1 - 1/e of
    the largest F (Nemhauser, Wolsey and Fisher 1978). Among seeds that add equally much, the statement least
    similar to those chosen for its country is chosen, then the one with the smallest hash with ``seed``. The
    order of the input does not matter.

    Seeds without a key cue are chosen only when none with one is left. A statement whose similarity to a
    chosen one of its country (``fuzz.token_sort_ratio``, 0 to 100) is ``similar`` or more is never chosen, so
    that fewer than ``n`` seeds may be returned. A smaller ``n`` returns the beginning of the same list.

    Raises:
        ValueError: n is negative.
    """
    if n < 0:
        raise ValueError(f"n cannot be negative, got {n}")
    pool = sorted(seeds, key=lambda s: digest([seed, s.seed]))
    features = _features(pool)
    country = np.array([_country(s) for s in pool])
    texts = [utils.default_process(s.statement) for s in pool]
    is_key = np.array([s.has_key_cue for s in pool])
    is_open = np.ones(len(pool), dtype=bool)
    similarity = np.zeros(len(pool))
    counts = np.zeros(features.shape[1])
    chosen: list[Seed] = []
    while len(chosen) < n and is_open.any():
        allowed = is_open & is_key if (is_open & is_key).any() else is_open
        gain = np.where(allowed, features @ (np.sqrt(counts + 1) - np.sqrt(counts)), -np.inf)
        best = np.flatnonzero(gain >= gain.max() - _ROUNDING)
        pick = int(best[np.argmin(similarity[best])])
        chosen.append(pool[pick])
        is_open[pick] = False
        counts += features[[pick]].sum(axis=0)
        same_country = np.flatnonzero(is_open & (country == country[pick]))
        similarity[same_country] = np.maximum(
            similarity[same_country], _similarity(texts[pick], [texts[i] for i in same_country])
        )
        is_open[same_country[similarity[same_country] >= similar]] = False
    return chosen


def _similarity(text: str, others: Sequence[str]) -> NDArray[np.float32]:
    """Return the similarity of a text to each of the others, 0 to 100."""
    scores = process.cdist([text], others, scorer=fuzz.token_sort_ratio)[0]
    return np.asarray(scores, dtype=np.float32)


def _country(seed: Seed) -> str:
    return seed.country or seed.country_name.casefold()


def _features(seeds: Sequence[Seed]) -> csr_array:
    """Return [seeds, features], 1 where a seed has the feature: a country, a kind of cue or a topic."""
    names: dict[tuple[str, str], int] = {}
    rows, columns = [], []
    for row, seed in enumerate(seeds):
        seed_features = {("country", _country(seed)), *(("kind", cue.kind) for cue in seed.cues)}
        if seed.topic:
            seed_features.add(("topic", seed.topic.casefold()))
        for name in sorted(seed_features):
            rows.append(row)
            columns.append(names.setdefault(name, len(names)))
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(seeds), len(names)))
