"""The rows of the fmlama page's tables: numbers with their counts, intervals and nulls, put side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from tasks.report.fmlama_data import LANGUAGES, FmlamaData

Cells = Mapping[str, Mapping[str, Any]]
"""metric -> its row of ``FmlamaData.values``"""


class Condition(NamedTuple):
    """What is asked: languages of the sentence and of the dish's name, and whether the country is named."""

    main: str
    subject: str
    country: bool

    @property
    def label(self) -> str:
        """Such as "English, country named", "English sentence, Korean dish, country not named"."""
        named = "country named" if self.country else "country not named"
        if self.main == self.subject:
            return f"{language(self.main)}, {named}"
        return f"{language(self.main)} sentence, {language(self.subject)} dish, {named}"


@dataclass(frozen=True)
class Line:
    """One model under one condition. told: its gain over the best baseline is certainly above 0."""

    model: str
    is_null: bool
    cells: Cells

    @property
    def told(self) -> bool:
        gain = self.cells.get("map_gain")
        return gain is not None and gain["ci_low"] is not None and gain["ci_low"] > 0


@dataclass(frozen=True)
class Group:
    """The lines of one condition: models by mAP, then baselines. n_candidates is None if nothing is known."""

    condition: Condition
    lines: list[Line]
    n_candidates: int | None

    @property
    def models(self) -> list[Line]:
        return [line for line in self.lines if not line.is_null]

    @property
    def best_baseline(self) -> Line | None:
        """The null baseline with the highest mAP."""
        nulls = [n for n in self.lines if n.is_null and n.cells["map"]["value"] is not None]
        return max(nulls, key=lambda line: float(line.cells["map"]["value"]), default=None)

    @property
    def best_name(self) -> str:
        """What the gain is measured from: the best baseline, or chance where that does better."""
        best = self.best_baseline
        if best is None:
            return "chance"
        cell = best.cells["map"]
        return best.model if cell["value"] >= (cell["null_value"] or 0.0) else "chance"


def language(code: str) -> str:
    """Its English name."""
    return LANGUAGES.get(code, code)


def in_order(codes: pl.Series) -> list[str]:
    """The different languages in the seed's order."""
    known = list(LANGUAGES)
    return sorted(codes.unique(), key=lambda c: (known.index(c) if c in known else len(known), c))


def groups(data: FmlamaData) -> list[Group]:
    """Every condition, those of one language before those that switch."""
    cells = cells_of(data.values.filter(pl.col("origin").is_null()))
    found: dict[Condition, list[Line]] = {}
    for row in data.leaderboard.iter_rows(named=True):
        condition = Condition(row["main_language"], row["subject_language"], row["country_mentioned"])
        line = Line(row["model"], row["is_null"], cells[(condition, None, row["model"])])
        found.setdefault(condition, []).append(line)
    codes = pl.concat([data.leaderboard["main_language"], data.leaderboard["subject_language"]])
    place = {code: i for i, code in enumerate(in_order(codes))}
    order = sorted(found, key=lambda c: (c.main != c.subject, place[c.main], place[c.subject], c.country))
    return [Group(c, found[c], _n_candidates(found[c])) for c in order]


def cells_of(values: pl.DataFrame) -> dict[tuple[Condition, str | None, str], dict[str, dict[str, Any]]]:
    """(condition, origin, model) -> its cells."""
    found: dict[tuple[Condition, str | None, str], dict[str, dict[str, Any]]] = {}
    for row in values.iter_rows(named=True):
        condition = Condition(row["main_language"], row["subject_language"], row["country_mentioned"])
        found.setdefault((condition, row["origin"], row["model"]), {})[row["metric"]] = row
    return found


def origins(data: FmlamaData, main: str) -> dict[str, int | None]:
    """The origins of one language with their number of dishes, most dishes first."""
    counts = dict(data.dishes.filter(main_language=main).select("origin", "n_dishes").iter_rows())
    named = data.values.filter(main_language=main)["origin"].drop_nulls().unique()
    return {o: counts.get(o) for o in sorted(named, key=lambda o: (-counts.get(o, 0), o))}


def _n_candidates(lines: list[Line]) -> int | None:
    """A model can spell a candidate or not: those are all there are."""
    counts = [line.cells.get("unspellable_candidates") for line in lines]
    return max((c["n_scored"] + c["n_unscored"] for c in counts if c), default=None)
