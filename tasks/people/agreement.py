"""Agreement of people per field and language, with intervals over what varies. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.metrics.agreement import kendall_w, kendall_w_interval
from tasks.metrics.intervals import (
    SHARE,
    UNBOUNDED,
    jackknife,
    jackknife_groups,
    jackknife_interval,
    mean_interval,
)
from tasks.metrics.krippendorff_alpha import Level, krippendorff_alpha
from tasks.metrics.types import FloatArray, Interval
from tasks.people.answers import Rating
from tasks.people.study import FREE, FormField, Study

ALL = "all"
"""The language of rows over all languages."""


@dataclass(frozen=True)
class AgreementRow:
    """One number on one field, or the reason why there is none.

    Attributes:
        metric: krippendorff_alpha_<level>, or of a ranking kendall_w.
        null_value: what raters who answer at random have: 0, and 1 / m for W of m raters.
        n_units: items, or for alpha entries of items, that two people answered; n_unscored: other ones.
        n_people: who answered.
    """

    field: str
    language: str
    metric: str
    value: float | None
    unscored_reason: str | None
    ci_low: float | None
    ci_high: float | None
    null_value: float | None
    n_units: int
    n_unscored: int
    n_people: int


def agreement_rows(study: Study, ratings: Iterable[Rating]) -> list[AgreementRow]:
    """Krippendorff's alpha of every field with a menu, ordinal where it rises and nominal else; of a ranking
    alpha of the ranks and Kendall's W, as the mean over ranked items.

    Per language and, where there are several, over all of them. An interval leaves out item after item with
    all its entries; where everyone has the same one item, person after person. Free texts have no agreement.
    """
    fields = {field.name: field for field in study.fields if field.kind not in (*FREE, "chat")}
    groups: dict[tuple[str, str], list[Rating]] = defaultdict(list)
    for rating in ratings:
        if rating.field in fields:
            groups[rating.field, rating.language].append(rating)
            groups[rating.field, ALL].append(rating)
    languages = defaultdict(set)
    for name, language in groups:
        languages[name].add(language)
    rows = []
    for (name, language), own in sorted(groups.items()):
        if language == ALL and len(languages[name]) == 2:  # the one language says the same
            continue
        rows.append(_alpha_row(fields[name], language, own))
        if fields[name].kind == "ranking":
            rows.append(_concordance_row(name, language, own))
    return rows


def level_of(field: FormField) -> Level:
    """What a disagreement on a field costs: ordinal where values rise."""
    return "ordinal" if field.is_ordered or field.kind in ("ranking", "likert", "confidence") else "nominal"


def _alpha_row(field: FormField, language: str, ratings: Sequence[Rating]) -> AgreementRow:
    """Of the units (item, entry)."""
    level = level_of(field)
    places = {option.value: float(n) for n, option in enumerate(field.options)}
    units = sorted({(r.item, r.entry) for r in ratings})
    table, people = _table(ratings, units, places if field.kind not in ("likert", "ranking") else {})
    pairable = np.flatnonzero(np.count_nonzero(~np.isnan(table), axis=1) >= 2)
    counts = (int(pairable.size), len(units) - int(pairable.size), len(people))
    value, interval = None, None
    reason: str | None = "nobody answered what another one did"
    if pairable.size == 1:
        reason = "people answered one thing together: there is nothing to tell apart"
    elif pairable.size:
        value = krippendorff_alpha(table, level)
        reason = "the answers do not vary" if value is None else None
    if value is not None:
        items = np.array([units[u][0] for u in pairable])
        if len(set(items)) > 1:
            kept = table[pairable]
            interval = jackknife(lambda rows: krippendorff_alpha(kept[rows], level), items, UNBOUNDED)
        else:  # everyone has the same things, which were not drawn: people were
            groups = jackknife_groups(len(people), seed=0)
            interval = jackknife_interval(value, (krippendorff_alpha(table[:, g], level) for g in groups))
    return _row(field.name, language, f"krippendorff_alpha_{level}", value, reason, interval, 0.0, counts)


def _concordance_row(name: str, language: str, ratings: Sequence[Rating]) -> AgreementRow:
    """Kendall's W by those who ranked all of an item: of one item, or the mean of several."""
    tables = []
    for item in sorted({r.item for r in ratings}):
        own = [r for r in ratings if r.item == item]
        entries = sorted({r.entry for r in own})
        table, _ = _table(own, [(item, entry) for entry in entries], {})
        tables.append(table[:, ~np.isnan(table).any(axis=0)].T)
    known = [(table, w) for table in tables if (w := kendall_w(table) if table.size else None) is not None]
    counts = (len(known), len(tables) - len(known), len({r.annotator for r in ratings}))
    if not known:
        reason = "no item that two people ranked, with three entries"
        return _row(name, language, "kendall_w", None, reason, None, None, counts)
    values = [w for _, w in known]
    ends = kendall_w_interval(known[0][0]) if len(tables) == 1 else mean_interval(values, bounds=SHARE)
    null = float(np.mean([1 / len(table) for table, _ in known]))
    return _row(name, language, "kendall_w", float(np.mean(values)), None, ends, null, counts)


def _table(
    ratings: Sequence[Rating], units: Sequence[tuple[str, str]], places: Mapping[str, float]
) -> tuple[FloatArray, list[str]]:
    """Units x people: places of options, or the numbers that were given; NaN where there is none."""
    people = sorted({r.annotator for r in ratings})
    row, column = {u: n for n, u in enumerate(units)}, {p: n for n, p in enumerate(people)}
    table = np.full((len(units), len(people)), np.nan)
    for r in ratings:
        table[row[r.item, r.entry], column[r.annotator]] = places[r.value] if places else float(r.value)
    return table, people


def _row(
    field: str,
    language: str,
    metric: str,
    value: float | None,
    reason: str | None,
    interval: Interval,
    null: float | None,
    counts: tuple[int, int, int],
) -> AgreementRow:
    low, high = interval or (None, None)
    return AgreementRow(field, language, metric, value, reason, low, high, null, *counts)
