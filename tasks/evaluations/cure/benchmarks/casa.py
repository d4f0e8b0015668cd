"""CASA, stage 1: does a user's query keep to, or break, a norm of the country? (Qiu et al. 2025)

Published as pairs of JSON files, casa_s1_adhere_<subset>.json and casa_s1_violate_<subset>.json. Both hold
the violating ``user_query``; the adhering text is ``refined_user_query`` of the adhere file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Annotated, TypeVar

from pydantic import StringConstraints

from tasks.evaluations.cure.benchmarks.common import (
    BenchmarkError,
    BenchmarkItem,
    Loaded,
    PublishedRow,
    Row,
    Text,
    country_key,
    country_keys,
    keep_first,
    validate,
)

BENCHMARK = "casa"
LABELS = ("yes", "no")
"""Acceptable: the query keeps to the norm; not acceptable: it breaks it."""

_FILE_NAME = re.compile(r"(adhere|violate)_(\w+)")

# Two thirds of the published adhering queries have typographic apostrophes and no violating one has: left as
# they are, the label could be read off them.
_STRAIGHT = str.maketrans("‘’“”", "''\"\"")


class ViolateRow(PublishedRow):
    """One row of a violate file. ``index`` is the country and a number: "Saudi_Arabia_14"."""

    index: Annotated[str, StringConstraints(pattern=r"^\D.*_\d+$")]
    user_query: Text
    violated_norm: Text


class AdhereRow(ViolateRow):
    """One row of an adhere file."""

    refined_user_query: Text


R = TypeVar("R", bound=ViolateRow)
Key = tuple[str, str]
"""Subset and index."""


def load(files: Mapping[str, Sequence[Row]], countries: Mapping[str, str]) -> Loaded:
    """Two items a pair: the adhering query (label yes) and the violating one (label no).

    Files are known by their names and joined on subset and index. ``gold`` is the norm as the violate
    file words it, for both items: where the two differ, the adhere file mostly describes the violation
    ("Disregarding …"). ``extra["pair"]`` joins the two items.

    Rows are dropped as ``duplicate_adhere`` or ``duplicate_violate`` (an index again), ``unmatched_adhere``
    or ``unmatched_violate`` (no counterpart), ``different_query`` (the files disagree on the violating query:
    releases are mixed) and ``unchanged_query`` (the adhering text is the violating one).

    Raises:
        BenchmarkError: a file's name says neither adhere nor violate, a side is missing, or no row of a file
            fits.
    """
    dropped: Counter[str] = Counter()
    adhere = _side("adhere", files, AdhereRow, dropped)
    violate = _side("violate", files, ViolateRow, dropped)
    dropped["unmatched_adhere"] = len(adhere.keys() - violate.keys())
    dropped["unmatched_violate"] = len(violate.keys() - adhere.keys())
    codes = country_keys(countries)
    items: list[BenchmarkItem] = []
    for key in (k for k in violate if k in adhere):
        reason = _unusable(adhere[key], violate[key])
        if reason:
            dropped[reason] += 2
        else:
            items += _pair(key, adhere[key], violate[key], codes)
    return keep_first(items, dropped)


def _side(
    side: str, files: Mapping[str, Sequence[Row]], model: type[R], dropped: Counter[str]
) -> dict[Key, R]:
    """The rows of one side's files; what is left out is added to ``dropped``."""
    by_key: dict[Key, R] = {}
    for subset, source in _named(side, files):
        rows, bad = validate(source, files[source], model)
        dropped.update(bad)
        for row in rows:
            dropped[f"duplicate_{side}"] += (subset, row.index) in by_key
            by_key.setdefault((subset, row.index), row)
    if not by_key:
        raise BenchmarkError(
            f"there is no {side} file among {', '.join(files) or 'the files'}: CASA needs both sides, named "
            f"as published, such as casa_s1_{side}_social_discussion_forum.json"
        )
    return by_key


def _named(side: str, files: Mapping[str, Sequence[Row]]) -> Iterator[Key]:
    """Subset and name of the files of one side."""
    for source in files:
        match = _FILE_NAME.search(PurePath(source).stem)
        if not match:
            raise BenchmarkError(
                f"{source}: the name must hold adhere_<subset> or violate_<subset>, as published, such as "
                f"casa_s1_adhere_social_discussion_forum.json"
            )
        if match[1] == side:
            yield match[2], source


def _unusable(adhere: AdhereRow, violate: ViolateRow) -> str | None:
    if adhere.user_query != violate.user_query:
        return "different_query"
    return "unchanged_query" if adhere.refined_user_query == violate.user_query else None


def _pair(
    key: Key, adhere: AdhereRow, violate: ViolateRow, codes: Mapping[str, str]
) -> Iterator[BenchmarkItem]:
    subset, index = key
    country = index.rsplit("_", 1)[0].replace("_", " ")
    queries = (("adhere", "yes", adhere.refined_user_query), ("violate", "no", violate.user_query))
    for side, label, query in queries:
        yield BenchmarkItem(
            benchmark=BENCHMARK,
            item=f"{subset}/{index}/{side}",
            country=codes.get(country_key(country)),
            group=subset,
            question=query.translate(_STRAIGHT),
            label=label,
            gold=violate.violated_norm,
            extra={"country_name": country, "pair": f"{subset}/{index}", "rule": violate.violated_norm},
        )
