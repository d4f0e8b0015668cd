"""Turns the published rows of CURE's four benchmarks into items. Pure. Every loader takes a mapping from a
file's name or a dataset's id to its rows (``published.read_rows``). It leaves out unusable rows, counts them
by reason, and raises ``TableError`` if no row of a file fits its schema. An item that one country has
twice is kept once (``duplicate``), or not at all if its labels differ (``contradiction``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field, StringConstraints

from scrapers.countries import CountryCodes
from tasks.data import TableError
from tasks.evaluations import choosing
from tasks.evaluations.cure.published.cues import SEPARATOR, Cue, group_of, normal, parse_cues, specificity
from tasks.identity import digest
from tasks.packs.published import Lower, P, PublishedRow, Row, Text, column, validate

Files = Mapping[str, Sequence[Row]]
"""Name of a file, or id of a dataset -> its rows"""

_NOT_A_LETTER = re.compile(r"[\W_]+")
_INSIDE_A_WORD = re.compile(r"[.'’‘ʻʼ`´]")


@dataclass(frozen=True)
class BenchmarkItem:
    """One item of a benchmark.

    Attributes:
        benchmark: normad, casa, culturebank or specnorm.
        item: unique within the benchmark, the same whatever the order of the rows.
        country: ISO 3166-1 alpha-2; or the name of a place without a country in the warehouse ("Hong Kong");
            None if the published name is neither.
        group: cultural group or axis for results by group.
        question: plain text of the story, the query, or the situation with its question.
        label: one of the benchmark's ``LABELS``.
        gold: the gold explanation or norm.
        cues: terms that a specific answer must name; empty if the benchmark has none.
        not_judged: why the benchmark's rubric does not apply to explanations of this item; "" if it applies.
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
    not_judged: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LoadedBenchmark:
    """Items in the files' order, and the numbers of rows left out, by reason."""

    items: tuple[BenchmarkItem, ...]
    dropped: Mapping[str, int]


def load_items(
    files: Files,
    model: type[P],
    item: Callable[[P], BenchmarkItem],
    unusable: Callable[[P], str] = lambda row: "",
) -> LoadedBenchmark:
    """Return the items of all files, in order; ``unusable`` returns a reason to leave a row out."""
    items: list[BenchmarkItem] = []
    dropped: Counter[str] = Counter()
    for source, rows in files.items():
        valid, bad = validate(source, rows, model)
        reasons = [unusable(row) for row in valid]
        dropped += bad + Counter(filter(None, reasons))
        items += [item(row) for row, reason in zip(valid, reasons, strict=True) if not reason]
    return distinct(items, dropped)


def distinct(items: Iterable[BenchmarkItem], dropped: Mapping[str, int]) -> LoadedBenchmark:
    """Return one item per id, without ids whose labels differ; see ``choosing.distinct``."""
    unique, again = choosing.distinct(items, lambda item: item.item, lambda item: item.label)
    counts = Counter(dropped) + again
    return LoadedBenchmark(tuple(unique), {name: n for name, n in sorted(counts.items()) if n})


def item_id(country: str, *texts: str) -> str:
    """Return an item's id, made from its content; the spelling of the country does not matter."""
    return digest([country_key(country), *texts])


def country_key(name: str) -> str:
    """Return a key that spellings of a country share: "Saudi_Arabia" is "saudi arabia", "U.S." is "us"."""
    plain = _NOT_A_LETTER.sub(" ", _INSIDE_A_WORD.sub("", name)).strip().casefold()
    return plain.removeprefix("the ")


def _texts(**texts: str) -> dict[str, str]:
    """Return ``BenchmarkItem.extra`` of these texts."""
    return {name: text for name, text in texts.items() if text}


class NormadRow(PublishedRow):
    """One published row; the column ``id`` is not used, because it differs between releases."""

    country: Text
    story: Text
    explanation: Text
    gold_label: Annotated[Literal["yes", "no", "neutral"], Lower]
    subaxis: str = ""
    background: str = ""
    value: str = ""
    rule_of_thumb: str = ""


def load_normad(files: Files, countries: CountryCodes) -> LoadedBenchmark:
    """Load NormAd: is the behaviour in a story acceptable in its country? (Rao et al. 2025)

    Published as one CSV file and as the dataset akhilayerukola/NormAd (CC BY 4.0): 2,633 stories, 75
    countries. ``gold`` is the published explanation. ``extra["rule"]`` is the rule of thumb; in a neutral row
    it is the rule of another country (the authors' construction), so the explanation is the better measure.
    """

    def item(row: NormadRow) -> BenchmarkItem:
        name = row.country.replace("_", " ")
        return BenchmarkItem(
            benchmark="normad",
            item=item_id(row.country, row.story),
            country=countries.region(row.country),
            group=row.subaxis,
            question=row.story,
            label=row.gold_label,
            gold=row.explanation,
            extra=_texts(
                country_name=name, background=row.background, value=row.value, rule=row.rule_of_thumb
            ),
        )

    return load_items(files, NormadRow, item)


class CultureBankRow(PublishedRow):
    """One published row. ``cluster_id`` is not used, because both files count from 0."""

    cultural_group: Text
    actor: str = "people"
    actor_behavior: Text
    agreement: Annotated[float, Field(ge=0, le=1)]
    eval_whole_desc: Text
    eval_persona: Text
    eval_question: Text
    eval_scenario: str = ""
    context: str = ""
    topic: str = ""


def load_culturebank(files: Files, countries: CountryCodes) -> LoadedBenchmark:
    """Load CultureBank: is a behaviour normal in a cultural group? (Shi et al. 2024)

    Published as culturebank_reddit.csv and culturebank_tiktok.csv, dataset SALT-NLP/CultureBank (MIT
    licence): 22,990 descriptors of behaviour, each with a persona and a question that were written for
    evaluation. The question is open ("What should I expect ...?") and there is no label. Items follow the
    authors' own direct evaluation: do most people of the group hold the behaviour to be normal?
    ``agreement``, the share of comments that do (0: taboo, 1: norm), gives the label: yes above one half, no
    below. A row at one half is dropped (``split_agreement``). Most rows are near 1, so a model that always
    says yes does well; F1 macro and the majority label show this.

    ``gold`` is the published description. Groups are published as adjectives ("Japanese"); a group wider or
    narrower than a country ("Asian", "Californian") has no country.
    """

    def item(row: CultureBankRow) -> BenchmarkItem:
        group, behaviour = row.cultural_group, f"{row.actor or 'people'}: {row.actor_behavior.rstrip('.')}"
        question = (
            f"{row.eval_question} The behaviour in question is this one: {behaviour}. "
            f"Do most people of this cultural group ({group}) hold it to be normal?"
        )
        situation = row.eval_scenario or row.context
        texts = {"persona": row.eval_persona, "situation": situation, "question": question}
        return BenchmarkItem(
            benchmark="culturebank",
            item=item_id(group, row.eval_persona, row.eval_question, behaviour),
            country=countries.region(group),
            group=group,
            question=f"{situation} {question}".strip(),
            label="yes" if row.agreement > 0.5 else "no",
            gold=row.eval_whole_desc,
            extra=_texts(country_name=group, **texts, behaviour=behaviour, topic=row.topic),
        )

    return load_items(
        files, CultureBankRow, item, lambda row: "split_agreement" if row.agreement == 0.5 else ""
    )


def _cues(cell: Any) -> Any:
    """Return cues as one text, also from the list of texts that JSON and Parquet hold."""
    return parse_cues(SEPARATOR.join(map(str, cell)) if isinstance(cell, list | tuple) else str(cell))


class SpecNormRow(PublishedRow):
    """One row, with the columns that ``specnorm.review.published`` writes; the authors' columns must be
    renamed.
    """

    country: Text
    persona: Text
    situation: Text
    question: Text
    label: Annotated[Literal["yes", "no"], Lower]
    norm: Text
    cues: Annotated[tuple[Cue, ...], BeforeValidator(_cues)]


def load_specnorm(files: Files, countries: CountryCodes) -> LoadedBenchmark:
    """Load SpecNorm: is a behaviour acceptable in a subgroup of a country? (Vo and Koyejo 2025, Benchmark 1)

    ``gold`` is the sub-cultural norm, ``cues`` locate it ("ethnicity: Sámi"), ``group`` is the subgroup, and
    ``extra["rule"]`` the specificity, by the number of cues. A row without cues is dropped (``no_cues``).
    """

    def item(row: SpecNormRow) -> BenchmarkItem:
        texts = {"persona": row.persona, "situation": row.situation, "question": row.question}
        return BenchmarkItem(
            benchmark="specnorm",
            item=item_id(row.country, *texts.values()),
            country=countries.region(row.country),
            group=group_of(row.cues),
            question=f"{row.situation} {row.question}",
            label=row.label,
            gold=row.norm,
            cues=tuple(map(str, row.cues)),
            extra={"country_name": row.country, **texts, "rule": specificity(len(row.cues))},
        )

    return load_items(files, SpecNormRow, item, lambda row: "" if row.cues else "no_cues")


UNDESCRIBED = "what the symbols of an adhering query mean is not published"
NO_SYMBOL = "the query does not hold the symbol"

_ASIDE = re.compile(r"\([^)]*\)")

# Two thirds of the published adhering queries have typographic apostrophes, and no violating one has.
# Unchanged, they would reveal the label.
_STRAIGHT = str.maketrans("‘’“”", "''\"\"")


class ViolateRow(PublishedRow):
    """One row of CASA's violate files. ``index`` is the country and a number: "Saudi_Arabia_14"."""

    index: Annotated[str, StringConstraints(pattern=r"^\D.*_\d+$")]
    user_query: Text
    violated_norm: Text


class AdhereRow(ViolateRow):
    """One row of CASA's adhere files.

    ``symbol``, the meaning of the query's symbol, is absent from released files.
    """

    refined_user_query: Text
    symbol: str = ""


R = TypeVar("R", bound=ViolateRow)
Side = dict[tuple[str, str], tuple[str, R]]
"""(index, violating query) -> the file and the row; the key names a pair in any subset."""


def load_casa(files: Files, countries: CountryCodes) -> LoadedBenchmark:
    """Load CASA, stage 1: does a user's query keep to, or break, a norm of the country? (Qiu et al. 2025)

    Published as pairs of JSON files, casa_s1_adhere_<subset>.json and casa_s1_violate_<subset>.json. Both
    hold the violating ``user_query``; the adhering text is ``refined_user_query``, which only an adhere file
    has. A pair is two items: the adhering query (label yes) and the violating one (label no). A file's
    columns tell its side, not its name; ``group`` is the subset in its name. Rows of the two sides
    are joined on index and violating query. ``gold`` is the norm as the violate file words it, for both
    items: if the two differ, the adhere file mostly describes the violation ("Disregarding …").

    Vo and Koyejo (2025) judge how an explanation interprets a symbol "in the user's query". They use
    descriptions of the symbols, realigned with each query's stance, which are not released. The violated norm
    describes the symbol of the violating query. The adhering query mostly asks about something else (another
    present, another place), which no text describes. So its explanation is not judged (``UNDESCRIBED``)
    unless its row has a ``symbol``. Word overlap cannot find the exceptions: of the forum's 310 adhering
    queries, 82 hold all words that norm and violating query share, which are as often "gift" as "clocks".

    Rows are dropped as ``duplicate_adhere`` or ``duplicate_violate`` (a pair again), ``different_query`` (the
    other side has another violating query under this index: releases are mixed), ``unmatched_adhere`` or
    ``unmatched_violate`` (no counterpart) and ``unchanged_query`` (the adhering text has the violating one's
    words).
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
        (source, broken), (_, upheld) = violate[key], adhere[key]
        if _words(upheld.refined_user_query) == _words(broken.user_query):
            dropped["unchanged_query"] += 2
        else:
            subset = PurePath(source).stem.removeprefix("casa_s1_").removeprefix("violate_")
            items += _pair(subset, upheld, broken, countries)
    return distinct(items, dropped)


def _words(query: str) -> list[str]:
    """Return what two queries are compared by: a new mark, accent or capital makes no other query."""
    return re.findall(r"\w+", normal(query.translate(_STRAIGHT)))


def _has_refined(rows: Sequence[Row]) -> bool:
    return any(column(str(name)) == "refined_user_query" for row in rows for name in row)


def _side(side: str, files: Files, model: type[R], dropped: Counter[str]) -> Side[R]:
    """Return the rows of one side's files; reasons for rows left out are counted in ``dropped``."""
    by_key: Side[R] = {}
    for source, content in files.items():
        rows, bad = validate(source, content, model)
        dropped.update(bad)
        for row in rows:
            dropped[f"duplicate_{side}"] += (row.index, row.user_query) in by_key
            by_key.setdefault((row.index, row.user_query), (source, row))
    if not by_key:
        raise TableError(
            f"no file is of the {side} side: CASA needs both sides, one with the column "
            "refined_user_query (casa_s1_adhere_…) and one without (casa_s1_violate_…)"
        )
    return by_key


def _pair(
    subset: str, adhere: AdhereRow, violate: ViolateRow, countries: CountryCodes
) -> list[BenchmarkItem]:
    country = violate.index.rsplit("_", 1)[0].replace("_", " ")
    pair = f"{violate.index}/{item_id(country, violate.user_query)}"
    norm, described = violate.violated_norm, adhere.symbol.strip()
    sides = (
        ("adhere", "yes", adhere.refined_user_query, described or norm, "" if described else UNDESCRIBED),
        ("violate", "no", violate.user_query, norm, ""),
    )
    return [
        BenchmarkItem(
            benchmark="casa",
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
    """Return ``NO_SYMBOL`` if symbols are named and the query holds none of them, else "". A query holds a
    symbol if it has all its words, in any order, up to case, accents and a plural ending. Words in
    parentheses are optional: "open hand (moutza)".
    """
    words = set(re.findall(r"\w+", normal(query)))
    forms = words | {word.removesuffix(end) for word in words for end in ("s", "es", "ed", "ing")}
    named = [re.findall(r"\w+", normal(_ASIDE.sub(" ", symbol))) for symbol in symbols]
    return NO_SYMBOL if named and not any(set(symbol) <= forms for symbol in named) else ""


LOADERS: Mapping[str, Callable[[Files, CountryCodes], LoadedBenchmark]] = {
    "normad": load_normad,
    "casa": load_casa,
    "culturebank": load_culturebank,
    "specnorm": load_specnorm,
}
LABELS: Mapping[str, tuple[str, ...]] = {
    "normad": ("yes", "no", "neutral"),
    "casa": ("yes", "no"),
    "culturebank": ("yes", "no"),
    "specnorm": ("yes", "no"),
}
"""yes: acceptable; no: not acceptable; neutral: no norm of the country is for or against it.

In CASA, yes is a query that keeps to the norm; in CultureBank, a behaviour that most comments call normal.
"""
