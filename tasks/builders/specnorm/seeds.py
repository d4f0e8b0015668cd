"""Seed statements: norms of subgroups, from the shipped file or a user's own, and a choice of them. Pure.

SpecNorm took its seeds from the statements of Fung et al. 2024, annotated with country and demographic
metadata; a file with the columns of ``SeedRow`` can hold those or any others. The choice covers many
countries, kinds of cue and topics, and no statement twice.
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
from tasks.evaluations.cure.benchmarks import country_key
from tasks.evaluations.cure.benchmarks.cues import KEY_KINDS, KINDS, SEPARATOR, Cue, is_generic, normal
from tasks.identity import digest
from tasks.packs.published import PublishedRow, Row, Text, validate

# Sums of the same square roots must not depend on their order.
_ROUNDING = 1e-9


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
    """Seeds with a cue, those with a key cue first; numbers of dropped rows by reason."""

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
        valid, bad = validate(source, rows, SeedRow)
        dropped += bad
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
    called = {row.country, name, *(key for key, known in countries.names.items() if known == code)}
    cells = ((kind, getattr(row, kind).replace(SEPARATOR, "/")) for kind in KINDS)
    cues = tuple(Cue(kind, value) for kind, value in cells if not is_generic(value, called))
    identity = [code or country_key(name), normal(row.statement), [list(cue) for cue in cues]]
    # Not bare hex digits, which a spreadsheet with the review queue may take for a number.
    return Seed(f"seed-{digest(identity)}", row.statement, code, name, cues, row.topic)


def select(seeds: Sequence[Seed], n: int, seed: int = 0, similar: float = 90.0) -> list[Seed]:
    """A diverse choice of up to ``n`` seeds, in the order in which they were chosen.

    Chooses, one by one, the seed that adds most to

        F(S) = sum over countries, kinds of cue and topics f of sqrt(number of chosen seeds that have f)

    The root makes every further seed of a country worth less than the one before. F is monotone and
    submodular, so that the choice reaches at least 1 - 1/e of the best F (Nemhauser, Wolsey and Fisher
    1978), the two rules of the next paragraph aside. Among equals comes the statement least similar to
    those chosen for its country, then the one whose hash with ``seed`` is smallest: the order of the input
    plays no part.

    Seeds without a key cue are chosen only when none with one is left. A statement whose similarity to a
    chosen one of its country (``fuzz.token_sort_ratio``, 0 to 100) reaches ``similar`` is never chosen, so
    that fewer than ``n`` may come back. A smaller ``n`` gives the beginning of the same list.

    Raises:
        ValueError: n is negative.
    """
    if n < 0:
        raise ValueError(f"the number of seeds to choose cannot be negative, got {n}")
    pool = sorted(seeds, key=lambda s: digest([seed, s.seed]))
    features = _features(pool)
    country = np.array([_country(s) for s in pool])
    texts = [utils.default_process(s.statement) for s in pool]
    is_key = np.array([s.has_key_cue for s in pool])
    is_open = np.ones(len(pool), dtype=bool)
    closest = np.zeros(len(pool))
    counts = np.zeros(features.shape[1])
    chosen: list[Seed] = []
    while len(chosen) < n and is_open.any():
        allowed = is_open & is_key if (is_open & is_key).any() else is_open
        gain = np.where(allowed, features @ (np.sqrt(counts + 1) - np.sqrt(counts)), -np.inf)
        best = np.flatnonzero(gain >= gain.max() - _ROUNDING)
        pick = int(best[np.argmin(closest[best])])
        chosen.append(pool[pick])
        is_open[pick] = False
        counts += features[[pick]].sum(axis=0)
        near = np.flatnonzero(is_open & (country == country[pick]))
        closest[near] = np.maximum(closest[near], _similarity(texts[pick], [texts[i] for i in near]))
        is_open[near[closest[near] >= similar]] = False
    return chosen


def coverage(seeds: Sequence[Seed]) -> float:
    """F of ``select`` for these seeds: 0 for none, larger for more and more diverse ones."""
    return float(np.sqrt(_features(seeds).sum(axis=0)).sum())


def _similarity(text: str, others: Sequence[str]) -> NDArray[np.float32]:
    """One value a text, 0 to 100."""
    scores = process.cdist([text], others, scorer=fuzz.token_sort_ratio)[0]
    return np.asarray(scores, dtype=np.float32)


def _country(seed: Seed) -> str:
    return seed.country or seed.country_name.casefold()


def _features(seeds: Sequence[Seed]) -> csr_array:
    """seeds x features, 1 where a seed has the feature: its country, each kind of its cues, its topic."""
    names: dict[tuple[str, str], int] = {}
    rows, columns = [], []
    for row, seed in enumerate(seeds):
        has = {("country", _country(seed)), *(("kind", cue.kind) for cue in seed.cues)}
        if seed.topic:
            has.add(("topic", seed.topic.casefold()))
        for name in sorted(has):
            rows.append(row)
            columns.append(names.setdefault(name, len(names)))
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(seeds), len(names)))
