"""The items that are asked: the shipped samples or published files, of each a fixed choice. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scrapers.countries import CountryCodes
from tasks.evaluations.cure.benchmarks import casa, culturebank, normad, specnorm
from tasks.evaluations.cure.benchmarks.common import BenchmarkItem, Loaded
from tasks.evaluations.cure.params import BENCHMARKS, CureParams, kind_of
from tasks.identity import UnknownName, digest
from tasks.packs.published import Row

Published = Mapping[str, Mapping[str, Sequence[Row]]]
"""Benchmark -> file's name -> its rows as published."""

_MODULES = {"normad": normad, "casa": casa, "culturebank": culturebank, "specnorm": specnorm}
LABELS: Mapping[str, tuple[str, ...]] = {name: module.LABELS for name, module in _MODULES.items()}

NOT_CHOSEN, UNKNOWN_COUNTRY = "not_chosen", "unknown_country"


@dataclass(frozen=True)
class Materials:
    """All that is asked, independent of the model.

    Attributes:
        items: benchmark -> its items by identifier, benchmarks in the order of ``BENCHMARKS``.
        with_nulls: benchmark -> those of its items whose null explanations are judged.
        dropped: benchmark -> how many rows were left out, by reason; ``not_chosen`` are those beyond
            ``items_per_benchmark``. ``unknown_country`` are items that are asked, but in no country's row.
    """

    items: Mapping[str, tuple[BenchmarkItem, ...]]
    with_nulls: Mapping[str, frozenset[str]]
    dropped: Mapping[str, Mapping[str, int]]

    def hash(self) -> str:
        """Identifies the content, and which items are judged with null explanations."""
        items = {name: [asdict(item) for item in items] for name, items in self.items.items()}
        return digest([items, {name: sorted(chosen) for name, chosen in self.with_nulls.items()}])


def build_materials(params: CureParams, rows: Mapping[str, Sequence[Row]], published: Published) -> Materials:
    """Load and choose the items.

    Args:
        rows: by table: cure_item, country (country, name), and country_name (country, name) for further
            names of countries if there is one.
        published: the rows of ``params.files``; the other benchmarks are their shipped samples.

    Raises:
        BenchmarkError: published rows do not fit.
        ValueError: a benchmark has no items.
    """
    items: dict[str, tuple[BenchmarkItem, ...]] = {}
    with_nulls: dict[str, frozenset[str]] = {}
    dropped: dict[str, Mapping[str, int]] = {}
    known = {str(row["benchmark"]) for row in rows["cure_item"]} - set(BENCHMARKS)
    if unknown := sorted(set(params.benchmarks) - {*BENCHMARKS, *known}):
        raise UnknownName("benchmark", unknown[0], [*BENCHMARKS, *sorted(known)])
    for benchmark in (name for name in (*BENCHMARKS, *sorted(known)) if name in params.benchmarks):
        files = published.get(benchmark)
        loaded = _MODULES[benchmark].load(files, _codes(rows)) if files else _sample(benchmark, rows)
        if not loaded.items:
            raise ValueError(
                f"benchmark {benchmark} has no items: its shipped sample, table cure_item, is empty; "
                "name files of it"
            )
        chosen = draw(loaded.items, params.items_per_benchmark, "items")
        judged = [item for item in chosen if not item.not_judged]
        with_nulls[benchmark] = frozenset(item.item for item in draw(judged, params.nulls, "nulls"))
        counts = {
            NOT_CHOSEN: len(loaded.items) - len(chosen),
            UNKNOWN_COUNTRY: sum(item.country is None for item in chosen),
        }
        items[benchmark] = chosen
        dropped[benchmark] = {name: n for name, n in {**loaded.dropped, **counts}.items() if n}
    return Materials(items, with_nulls, dropped)


def draw(items: Sequence[BenchmarkItem], n: int | None, purpose: str) -> tuple[BenchmarkItem, ...]:
    """A random draw of n items in whole pairs and families, by identifier; the last of these is drawn whole,
    so that there may be one or two items more. n None: all.

    Does not depend on the items' order, and a larger n gives the same items and some more.

    Args:
        purpose: two purposes are drawn for independently.
    """
    by_pair: dict[str, list[BenchmarkItem]] = {}
    for item in items:
        by_pair.setdefault(pair_of(item), []).append(item)
    drawn: list[BenchmarkItem] = []
    for pair in sorted(by_pair, key=lambda pair: digest([purpose, by_pair[pair][0].benchmark, pair])):
        if n is not None and len(drawn) >= n:
            break
        drawn += by_pair[pair]
    return tuple(sorted(drawn, key=lambda item: item.item))


def pair_of(item: BenchmarkItem) -> str:
    """The pair or family that an item is one side of; itself where it is of none."""
    return item.extra.get("pair") or item.extra.get("family") or item.item


def country_of(item: BenchmarkItem) -> str:
    """The country's code, or its name as published where it has none."""
    return item.country or item.extra.get("country_name", "")


def family(item: BenchmarkItem) -> frozenset[Hashable]:
    """What two items share if an explanation could be right for both: the country, the cultural group,
    the pair or family, the rule or the gold explanation. They are of one family if they share any of it.

    SpecNorm's rules are classes, and groups of NormAd and CASA topics: neither makes a family.
    """
    texts = {"country": country_of(item), "gold": item.gold}
    texts |= {name: item.extra.get(name, "") for name in ("pair", "family")}
    if kind_of(item.benchmark) in ("normad", "casa"):
        texts["rule"] = item.extra.get("rule", "")
    else:
        texts["group"] = item.group
    return frozenset((name, text) for name, text in texts.items() if text)


def _codes(rows: Mapping[str, Sequence[Row]]) -> CountryCodes:
    """What a country is called; its own name wins over further ones."""
    named = [*rows.get("country_name", ()), *rows["country"]]
    return CountryCodes({str(row["name"]): str(row["country"]) for row in named})


def _sample(benchmark: str, rows: Mapping[str, Sequence[Row]]) -> Loaded:
    names = {str(row["country"]): str(row["name"]) for row in rows["country"]}
    shipped = (row for row in rows["cure_item"] if row["benchmark"] == benchmark)
    return Loaded(tuple(_item(row, names) for row in shipped), {})


def _item(row: Row, names: Mapping[str, str]) -> BenchmarkItem:
    """A row of table cure_item. Its identifier names its family: normad-<family>-<country>, and
    casa-<pair>-<side>."""
    texts: dict[str, Any] = {name: row[name] for name in ("persona", "situation", "question", "rule")}
    texts["country_name"] = names[row["country"]]
    if (kind := kind_of(row["benchmark"])) in ("normad", "casa"):
        texts["pair" if kind == "casa" else "family"] = str(row["item"]).rsplit("-", 1)[0]
    cues = tuple(str(row["cues"]).split("|")) if row["cues"] else ()
    return BenchmarkItem(
        benchmark=str(row["benchmark"]),
        item=str(row["item"]),
        country=str(row["country"]),
        group=str(row["group_name"] or ""),
        question=f"{row['situation']} {row['question']}",
        label=str(row["label"]),
        gold=str(row["gold"]),
        cues=cues,
        not_judged=casa.without_symbol(str(row["situation"]), cues) if kind == "casa" else "",
        extra={name: str(text) for name, text in texts.items() if text},
    )
