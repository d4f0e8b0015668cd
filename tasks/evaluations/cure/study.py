"""Builds the study: a fixed choice of items, modes, prompts and hashes. Pure."""

from __future__ import annotations

import tomllib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from scrapers.countries import CountryCodes
from tasks.engines.protocols import Message
from tasks.evaluations.cure.params import BENCHMARKS, MODES, SCORES_VERSION, CureParams, kind_of, metric_of
from tasks.evaluations.cure.published import (
    LABELS,
    LOADERS,
    UNDESCRIBED,
    BenchmarkItem,
    LoadedBenchmark,
    without_symbol,
)
from tasks.evaluations.cure.published.cues import KINDS, specificity
from tasks.evaluations.recipe.prompted import Prompted
from tasks.identity import UnknownName, choose_codes, digest
from tasks.judging.panel import Judges, judges_by_name
from tasks.judging.rubric import Rubric, load_rubric
from tasks.loop.prompts import Prompt
from tasks.loop.requests import Engine
from tasks.loop.rows import Slice
from tasks.loop.spread import share
from tasks.metrics.types import IntArray
from tasks.packs.published import Row
from tasks.packs.wording import Templates, filled, templates

FIELDS = {"thin": ("label",), "thick": ("label", "explanation")}
"""Mode -> the answer's fields, in order.

The label comes first in both modes, so that its position does not differ and a cut-off explanation leaves the
label. The cost: an explanation justifies a label that is already written.
"""

FORMS = {
    "thin": 'Write one JSON object: "label" (your answer).',
    "thick": 'Write one JSON object: "label" (your answer), then "explanation".',
}
"""Mode -> last paragraph of a prompt."""

WORDS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8")
)
"""Benchmark -> its texts in ``prompts.toml``."""

Key = tuple[str, ...]
"""(benchmark, mode, item)"""

Published = Mapping[str, Mapping[str, Sequence[Row]]]
"""Benchmark -> name of a file -> its published rows."""

KNOBS = {"judge_samples", "temperature", "max_tokens", "judge_max_tokens", "seed"}
"""Params whose values enter config_hash unchanged; items, prompts, rubrics and judges enter by content."""

JUDGED = "explanation"
"""The input that a judge marks, in every rubric."""

NOT_CHOSEN, OTHER_COUNTRY, UNKNOWN_COUNTRY = "not_chosen", "other_country", "unknown_country"


@dataclass(frozen=True)
class CureMaterials:
    """The items, independent of the model.

    Attributes:
        items: benchmark -> its items by identifier, benchmarks in the order of ``BENCHMARKS``.
        with_nulls: benchmark -> its items whose null explanations are judged.
        dropped: benchmark -> number of rows left out, by reason. ``not_chosen`` counts items beyond
            ``items_per_benchmark``, ``other_country`` those outside ``countries``. ``unknown_country`` counts
            items that are sent but enter no country's row.
    """

    items: Mapping[str, tuple[BenchmarkItem, ...]]
    with_nulls: Mapping[str, frozenset[str]]
    dropped: Mapping[str, Mapping[str, int]]

    def hash(self) -> str:
        """Return the hash of the content and of the choice of items with judged null explanations."""
        items = {name: [asdict(item) for item in items] for name, items in self.items.items()}
        return digest([items, {name: sorted(chosen) for name, chosen in self.with_nulls.items()}])


@dataclass(frozen=True)
class CureStudy(Prompted):
    """Everything that is sent, independent of the model.

    Attributes:
        chosen: the items.
        rubrics: benchmark -> the rubric of its metric, in one or several phrasings.
        judges: name of a judge in the params -> its engine; empty: nothing is judged.
        templates: prompts and rubrics of packs that replace the shipped ones.
    """

    params: CureParams
    chosen: CureMaterials
    rubrics: Mapping[str, tuple[Rubric, ...]]
    judges: Mapping[str, Engine]
    templates: Templates = field(default_factory=dict)

    @property
    def materials(self) -> dict[str, str]:
        """Return the hash of the content of all items."""
        return {"materials": self.chosen.hash()}

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """Return the benchmarks in the order of every table."""
        return tuple(self.chosen.items)

    @property
    def modes(self) -> tuple[str, ...]:
        """Return the chosen modes, thin before thick."""
        return tuple(mode for mode in MODES if mode in self.params.modes)

    def items(self, benchmark: str) -> tuple[BenchmarkItem, ...]:
        """Return a benchmark's items by identifier, in the order of all arrays."""
        return self.chosen.items[benchmark]

    def names(self, benchmark: str) -> list[str]:
        """Return the identifiers of a benchmark's items."""
        return [item.item for item in self.items(benchmark)]

    @cached_property
    def prompts(self) -> dict[Key, Prompt]:
        """Return every item of every benchmark in every mode -> its prompt."""
        return {
            (benchmark, mode, item.item): prompt_of(item, mode, self.templates)
            for benchmark in self.benchmarks
            for mode in self.modes
            for item in self.items(benchmark)
        }

    @property
    def panel(self) -> Judges[Any]:
        """Return the panel of judges, who read explanations by each benchmark's rubric."""
        return Judges(self.judges, "explanations", self.params.batch)

    @property
    def is_judged(self) -> bool:
        """Return whether there are judges and explanations."""
        return bool(self.judges) and "thick" in self.modes

    def votes(self, benchmark: str) -> int:
        """Return the number of a judge's votes on an explanation: one, unless the rubric has several
        phrasings.
        """
        return self.params.judge_samples if len(self.rubrics[benchmark]) > 1 else 1

    def rubric_id(self, benchmark: str) -> str:
        """Return the metric and the hash of all phrasings of its rubric: "coverage 0123456789abcdef"."""
        rubrics = self.rubrics[benchmark]
        hashes = [rubric.hash() for rubric in rubrics]
        return f"{rubrics[0].name} {hashes[0] if len(hashes) == 1 else digest(hashes)}"

    def config_hash(self) -> str:
        """Return the hash of everything that models must share for their numbers to be comparable."""
        first = [self.prompts[*part, self.names(part[0])[0]] for part in self.parts]
        wording = [[prompt.conversation, prompt.schema] for prompt in first]
        judged = {b: self.rubric_id(b) for b in self.benchmarks} if self.judges else None
        knobs = self.params.hashed(KNOBS)
        judges = sorted(engine.hash for engine in self.judges.values())
        own = [dict(self.templates)] if self.templates else []
        return digest(["cure", SCORES_VERSION, knobs, self.chosen.hash(), wording, judged, judges, *own])

    def by_country(self, benchmark: str) -> dict[str, IntArray]:
        """Return code -> positions of its items, codes in order; items without a country are left out."""
        countries = np.array([item.country or "" for item in self.items(benchmark)])
        return {code: np.flatnonzero(countries == code) for code in sorted(set(countries.tolist()) - {""})}

    def by_slice(self, benchmark: str) -> Iterator[tuple[Slice, IntArray, np.ndarray]]:
        """Yield a benchmark's slices, such as ("country", "IN"), with the positions of their items and the
        clusters of all items. SpecNorm and its variants also have slices ("cue", "age"), of which an item may
        be in several, and ("specificity", "low"), the level of its number of cues.
        """
        of_items = self.clusters(benchmark, is_one_country=True)
        for country, places in self.by_country(benchmark).items():
            yield ("country", country), places, of_items
        if kind_of(benchmark) != "specnorm":
            return
        of_items = self.clusters(benchmark)
        groups: dict[Slice, list[int]] = {("cue", kind): [] for kind in KINDS}
        groups |= {("specificity", specificity(n)): [] for n in range(1, 5)}
        for place, item in enumerate(self.items(benchmark)):
            names = [("cue", kind) for kind in kinds_of(item)]
            for name in [*names, ("specificity", specificity(len(item.cues)))] if item.cues else []:
                groups[name].append(place)
        for name, rows in groups.items():
            if rows:
                yield name, np.array(rows, dtype=np.intp), of_items

    def clusters(self, *benchmarks: str, is_one_country: bool = False) -> np.ndarray:
        """Return [items] the clusters for intervals: an item's pair or story, else its country. Within one
        country, an item without a pair is its own cluster.
        """
        names = []
        for item in (item for benchmark in benchmarks for item in self.items(benchmark)):
            pair, is_alone = pair_of(item), pair_of(item) == item.item
            names.append((country_of(item) if is_alone and not is_one_country else "") or pair)
        return np.array(names)


def build_study(
    params: CureParams, rows: Mapping[str, Sequence[Row]], published: Published, engines: Mapping[str, Engine]
) -> CureStudy:
    """Choose the items and read the rubrics; see ``build_materials`` for rows and published.

    Args:
        engines: the engines of ``params.judges``, by the names given there.

    Raises:
        ValueError: a judge is named twice.
    """
    judges = judges_by_name(params.judges, engines)
    chosen = build_materials(params, rows, published)
    own = templates(rows)
    rubrics = {
        benchmark: _reworded([rubric.in_style(params.judge_style) for rubric in phrasings], own)
        for benchmark, phrasings in load_rubrics(chosen.items).items()
    }
    return CureStudy(params, chosen, rubrics, judges, own)


def _reworded(phrasings: Sequence[Rubric], own: Templates) -> tuple[Rubric, ...]:
    """Return a metric's rubric in all phrasings, or in a pack's single wording if the pack has
    rules for it.
    """
    metric = phrasings[0].name
    texts = own.get(f"{metric}_rules"), own.get(f"{metric}_question"), own.get("judge_form")
    chosen = phrasings[:1] if texts[0] else phrasings
    return tuple(rubric.reworded(*texts) for rubric in chosen)


def load_rubrics(benchmarks: Iterable[str]) -> dict[str, tuple[Rubric, ...]]:
    """Return benchmark -> the rubric of its metric (Vo and Koyejo 2025, appendix B):

    ``<metric>.toml``, and further phrasings ``<metric>_<number>.toml``.
    """
    folder = Path(__file__).with_name("rubrics")
    return {b: tuple(map(load_rubric, sorted(folder.glob(f"{metric_of(b)}*.toml")))) for b in benchmarks}


def build_materials(
    params: CureParams, rows: Mapping[str, Sequence[Row]], published: Published
) -> CureMaterials:
    """Load and choose the items.

    Args:
        rows: by table: cure_item, country (country, name), and country_name (country, name) for further
            names of countries if there is one.
        published: the rows of ``params.files``; all other benchmarks use their shipped samples.

    Raises:
        TableError: published rows do not fit.
        UnknownName: a benchmark or country that does not exist.
        ValueError: a benchmark has no items, or none of these countries.
    """
    items: dict[str, tuple[BenchmarkItem, ...]] = {}
    with_nulls: dict[str, frozenset[str]] = {}
    dropped: dict[str, Mapping[str, int]] = {}
    known = {str(row["benchmark"]) for row in rows["cure_item"]} - set(BENCHMARKS)
    if unknown := sorted(set(params.benchmarks) - {*BENCHMARKS, *known}):
        raise UnknownName("benchmark", unknown[0], [*BENCHMARKS, *sorted(known)])
    # A country's own name wins over another country's further name.
    named = [*rows.get("country_name", ()), *rows["country"]]
    codes = CountryCodes({str(row["name"]): str(row["country"]) for row in named})
    names = {str(row["country"]): str(row["name"]) for row in rows["country"]}
    countries = set(choose_codes("country", params.countries, names)) if params.countries else None
    at_most = share(params.limit, len(params.benchmarks), params.items_per_benchmark)
    for benchmark in (name for name in (*BENCHMARKS, *sorted(known)) if name in params.benchmarks):
        files = published.get(benchmark)
        loaded = LOADERS[benchmark](files, codes) if files else _sample(benchmark, rows)
        if not loaded.items:
            raise ValueError(
                f"benchmark {benchmark} has no items: its shipped sample, table cure_item, is empty; "
                "name its files in `files`"
            )
        within = [item for item in loaded.items if countries is None or item.country in countries]
        if not within:
            raise ValueError(f"benchmark {benchmark} has no item of {', '.join(params.countries or ())}")
        chosen = draw(within, at_most, "items")
        judged = [item for item in chosen if not item.not_judged]
        with_nulls[benchmark] = frozenset(item.item for item in draw(judged, params.nulls, "nulls"))
        counts = {
            OTHER_COUNTRY: len(loaded.items) - len(within),
            NOT_CHOSEN: len(within) - len(chosen),
            UNKNOWN_COUNTRY: sum(item.country is None for item in chosen),
        }
        items[benchmark] = chosen
        dropped[benchmark] = {name: n for name, n in {**loaded.dropped, **counts}.items() if n}
    return CureMaterials(items, with_nulls, dropped)


def draw(items: Sequence[BenchmarkItem], n: int | None, purpose: str) -> tuple[BenchmarkItem, ...]:
    """Return a random draw of n items by identifier, or all items if n is None. Pairs and families are drawn
    whole, so the draw may have one or two items more. The draw does not depend on the items' order, and a
    larger n keeps the same items and adds some.

    Args:
        purpose: draws for different purposes are independent.
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


def _sample(benchmark: str, rows: Mapping[str, Sequence[Row]]) -> LoadedBenchmark:
    """Return the shipped items.

    Identifiers name the family: normad-<family>-<country>, casa-<pair>-<side>.
    """
    names = {row["country"]: row["name"] for row in rows["country"]}
    kind, items = kind_of(benchmark), []
    for row in (row for row in rows["cure_item"] if row["benchmark"] == benchmark):
        texts: dict[str, Any] = {name: row[name] for name in ("persona", "situation", "question", "rule")}
        texts["country_name"] = names[row["country"]]
        if kind in ("normad", "casa"):
            texts["pair" if kind == "casa" else "family"] = str(row["item"]).rsplit("-", 1)[0]
        cues = tuple(str(row["cues"]).split("|")) if row["cues"] else ()
        items.append(
            BenchmarkItem(
                benchmark=benchmark,
                item=str(row["item"]),
                country=str(row["country"]),
                group=str(row["group_name"] or ""),
                question=f"{row['situation']} {row['question']}",
                label=str(row["label"]),
                gold=str(row["gold"]),
                cues=cues,
                not_judged=_not_judged(row, kind, cues),
                extra={name: str(text) for name, text in texts.items() if text},
            )
        )
    return LoadedBenchmark(tuple(items), {})


def _not_judged(row: Row, kind: str, cues: Sequence[str]) -> str:
    if row.get("judged") == "no":
        return UNDESCRIBED
    return without_symbol(str(row["situation"]), cues) if kind == "casa" else ""


def pair_of(item: BenchmarkItem) -> str:
    """Return the pair or family that an item belongs to, or the item itself if it has none."""
    return item.extra.get("pair") or item.extra.get("family") or item.item


def country_of(item: BenchmarkItem) -> str:
    """Return the country's code, or its published name if it has no code."""
    return item.country or item.extra.get("country_name", "")


def kinds_of(item: BenchmarkItem) -> set[str]:
    """Return the kinds of an item's cues, such as {"age", "ethnicity"}; a pack's cue may lack a kind."""
    return {cue.partition(":")[0].strip().replace(" ", "_") for cue in item.cues} & set(KINDS)


def family(item: BenchmarkItem) -> frozenset[Hashable]:
    """Return an item's keys: country, cultural group, pair or family, rule, and gold explanation. Two items
    that share a key are one family, since an explanation could be right for both. SpecNorm's rules are
    classes, and groups of NormAd and CASA are topics, so these are no keys.
    """
    texts = {"country": country_of(item), "gold": item.gold}
    texts |= {name: item.extra.get(name, "") for name in ("pair", "family")}
    if kind_of(item.benchmark) in ("normad", "casa"):
        texts["rule"] = item.extra.get("rule", "")
    else:
        texts["group"] = item.group
    return frozenset((name, text) for name, text in texts.items() if text)


def prompt_of(item: BenchmarkItem, mode: str, own: Templates | None = None) -> Prompt:
    """Return a candidate's prompt. Thin mode requests the labels' probabilities at the position of the label;
    thick mode reads text. JSON schemas stay within the limits of strict mode and xgrammar. own: templates of
    packs.
    """
    labels = LABELS[kind_of(item.benchmark)]
    fields = {"label": {"type": "string", "enum": list(labels)}, "explanation": {"type": "string"}}
    schema = {
        "type": "object",
        "properties": {name: fields[name] for name in FIELDS[mode]},
        "required": list(FIELDS[mode]),
        "additionalProperties": False,
    }
    is_thin = mode == "thin"
    template = (own or {}).get(f"{kind_of(item.benchmark)}_{mode}")
    sent = conversation(item, mode) if template is None else reworded(item, mode, template)
    return Prompt(sent, schema, labels if is_thin else (), "label" if is_thin else "")


def reworded(item: BenchmarkItem, mode: str, template: str) -> list[Message]:
    """Return the filled prompt of a pack, followed by the form of the answer."""
    fields = _shown(item) | {"options": ", ".join(LABELS[kind_of(item.benchmark)])}
    return [{"role": "user", "content": f"{filled(template, fields)}\n\n{FORMS[mode]}"}]


def conversation(item: BenchmarkItem, mode: str) -> list[Message]:
    """Return the conversation: the role as system message, then the item, the options and the form of the
    answer. It has the parts of the prompts of Vo and Koyejo (2025, appendix A): a role that knows the country
    or group, the persona, the situation, the question and the options; in thick mode also what the
    benchmark's explanation must name. Gold, rule, cues and label are not shown.
    """
    kind, shown = kind_of(item.benchmark), _shown(item)
    words, scene = WORDS[kind], "The user writes" if kind == "casa" else "Situation"
    fields = {"Person": shown["persona"], scene: shown["situation"], "Question": shown["question"]}
    asks = [f"Answer with {words['options']}."]
    if mode == "thick":
        asks.append(f"Then explain it in two to four sentences. {words['explain'].format(**shown)}")
    parts = [*(f"{name}: {text}" for name, text in fields.items() if text), " ".join(asks), FORMS[mode]]
    return [
        {"role": "system", "content": words["role"].format(**shown)},
        {"role": "user", "content": "\n\n".join(parts)},
    ]


def _shown(item: BenchmarkItem) -> dict[str, str]:
    """Return what prompts show of an item, by name; "" for what it lacks."""
    texts, where = item.extra, {"country": item.extra.get("country_name", item.group), "group": item.group}
    question = texts.get("question") or WORDS[kind_of(item.benchmark)]["question"].format(**where)
    return where | {"persona": texts.get("persona", ""), "situation": situation(item), "question": question}


def situation(item: BenchmarkItem) -> str:
    """Return the scene of an item, "" without one; published stories and queries are the whole question."""
    return item.extra.get("situation") or ("" if "question" in item.extra else item.question)
