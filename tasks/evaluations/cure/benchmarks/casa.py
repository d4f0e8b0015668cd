"""CASA, stage 1: does a user's query keep to, or break, a norm of the country? (Qiu et al. 2025)

Published as pairs of JSON files, casa_s1_adhere_<subset>.json and casa_s1_violate_<subset>.json. Both hold
the violating ``user_query``; the adhering text is ``refined_user_query``, which only an adhere file has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Annotated, TypeVar

from pydantic import StringConstraints

from scrapers.countries import CountryCodes
from tasks.evaluations.cure.benchmarks import common
from tasks.evaluations.cure.benchmarks.common import BenchmarkItem, Loaded
from tasks.evaluations.cure.benchmarks.cues import normal
from tasks.packs.published import BenchmarkError, PublishedRow, Row, Text, column, validate

BENCHMARK = "casa"
LABELS = ("yes", "no")
"""Acceptable: the query keeps to the norm; not acceptable: it breaks it."""

UNDESCRIBED = "what the symbols of an adhering query mean is not published"
NO_SYMBOL = "the query does not hold the symbol"

_ASIDE = re.compile(r"\([^)]*\)")

# Two thirds of the published adhering queries have typographic apostrophes and no violating one has: left as
# they are, the label could be read off them.
_STRAIGHT = str.maketrans("‘’“”", "''\"\"")


class ViolateRow(PublishedRow):
    """One row of a violate file. ``index`` is the country and a number: "Saudi_Arabia_14"."""

    index: Annotated[str, StringConstraints(pattern=r"^\D.*_\d+$")]
    user_query: Text
    violated_norm: Text


class AdhereRow(ViolateRow):
    """One row of an adhere file. ``symbol``, which the released ones lack: what the query's symbol means."""

    refined_user_query: Text
    symbol: str = ""


R = TypeVar("R", bound=ViolateRow)
Side = dict[tuple[str, str], tuple[str, R]]
"""By index and violating query, which name a pair whatever its subset: the file and the row."""


def load(files: Mapping[str, Sequence[Row]], countries: CountryCodes) -> Loaded:
    """Two items a pair: the adhering query (label yes) and the violating one (label no).

    A file is known by its columns, whatever its name; ``group`` is what its name says of the subset. Rows of
    the two sides are joined on index and violating query. ``gold`` is the norm as the violate file words it,
    for both items: where the two differ, the adhere file mostly describes the violation ("Disregarding …").
    ``extra["pair"]`` joins the two items.

    Vo and Koyejo (2025) judge what an explanation makes of a symbol "in the user's query", by descriptions of
    the symbols that they realigned with each query's stance. These are not released. The violated norm says
    what the violating query touches; the adhering one mostly asks about something else (another present,
    another place), of which nothing is said, so that its explanation is not judged (``UNDESCRIBED``) unless
    its row has a ``symbol``. Words alone do not tell the ones from the others: of 310 adhering queries of the
    forum 82 hold all that norm and violating query share, which is as often "gift" as "clocks".

    Rows are dropped as ``duplicate_adhere`` or ``duplicate_violate`` (a pair again), ``different_query`` (the
    other side has the index with another violating query: releases are mixed), ``unmatched_adhere`` or
    ``unmatched_violate`` (no counterpart) and ``unchanged_query`` (the adhering text is the violating one).

    Raises:
        BenchmarkError: a side is missing, or no row of a file fits.
    """
    dropped: Counter[str] = Counter()
    adhering = {source for source, rows in files.items() if _has_refined(rows)}
    adhere = _side("adhere", {s: rows for s, rows in files.items() if s in adhering}, AdhereRow, dropped)
    violate = _side("violate", {s: r for s, r in files.items() if s not in adhering}, ViolateRow, dropped)
    for name, side, other in (("adhere", adhere, violate), ("violate", violate, adhere)):
        known = {index for index, _ in other}
        for index, _ in side.keys() - other.keys():
            dropped["different_query" if index in known else f"unmatched_{name}"] += 1
    items: list[BenchmarkItem] = []
    for key in (key for key in violate if key in adhere):
        source, broken = violate[key]
        _, kept = adhere[key]
        if kept.refined_user_query == broken.user_query:
            dropped["unchanged_query"] += 2
        else:
            items += _pair(_subset(source), kept, broken, countries)
    return common.distinct(items, dropped)


def _has_refined(rows: Sequence[Row]) -> bool:
    return any(column(str(name)) == "refined_user_query" for row in rows for name in row)


def _side(side: str, files: Mapping[str, Sequence[Row]], model: type[R], dropped: Counter[str]) -> Side[R]:
    """The rows of one side's files; what is left out is added to ``dropped``."""
    by_key: Side[R] = {}
    for source, content in files.items():
        rows, bad = validate(source, content, model)
        dropped.update(bad)
        for row in rows:
            dropped[f"duplicate_{side}"] += (row.index, row.user_query) in by_key
            by_key.setdefault((row.index, row.user_query), (source, row))
    if not by_key:
        raise BenchmarkError(
            f"none of the files is of the {side} side: CASA needs both sides, one with the column "
            "refined_user_query (casa_s1_adhere_…) and one without (casa_s1_violate_…)"
        )
    return by_key


def _subset(source: str) -> str:
    """What a file's name says of its subset: "forum" of casa_s1_violate_forum.json."""
    return PurePath(source).stem.removeprefix("casa_s1_").removeprefix("violate_")


def _pair(
    subset: str, adhere: AdhereRow, violate: ViolateRow, countries: CountryCodes
) -> list[BenchmarkItem]:
    country = violate.index.rsplit("_", 1)[0].replace("_", " ")
    pair = f"{violate.index}/{common.item_id(country, violate.user_query)}"
    norm, described = violate.violated_norm, adhere.symbol.strip()
    sides = (
        ("adhere", "yes", adhere.refined_user_query, described or norm, "" if described else UNDESCRIBED),
        ("violate", "no", violate.user_query, norm, ""),
    )
    return [
        BenchmarkItem(
            benchmark=BENCHMARK,
            item=f"{pair}/{side}",
            country=countries.region(country),
            group=subset,
            question=query.translate(_STRAIGHT),
            label=label,
            gold=gold,
            not_judged=not_judged,
            extra={"country_name": country, "pair": pair, "rule": gold},
        )
        for side, label, query, gold, not_judged in sides
    ]


def without_symbol(query: str, symbols: Sequence[str]) -> str:
    """``NO_SYMBOL`` where symbols are named and the query holds none of them, else "".

    It holds a symbol by its words, in any order, up to case, accents and a plural ending; what stands in
    parentheses need not be there: "open hand (moutza)".
    """
    words = set(re.findall(r"\w+", normal(query)))
    forms = words | {word.removesuffix(end) for word in words for end in ("s", "es", "ed", "ing")}
    named = [re.findall(r"\w+", normal(_ASIDE.sub(" ", symbol))) for symbol in symbols]
    return NO_SYMBOL if named and not any(set(symbol) <= forms for symbol in named) else ""
