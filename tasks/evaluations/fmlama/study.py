"""Makes probing sentences from dishes and templates in the chosen languages, and hashes them. Pure.

A *condition* is a language of templates and candidates, a language of the dish's name, and whether the
country is named. A *probe* is a condition with its dishes, candidates and templates. A *request* is one
template over one candidate list, sent to one engine; its units are the sentences up to the blank, so any
later run that sends the same sentence finds its scores, whatever its dish set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.engines.protocols import Cloze
from tasks.evaluations.fmlama.judge import FURTHER_INPUTS, SAMPLING, JudgePrompt, rubric
from tasks.evaluations.fmlama.params import PAPER_GROUPS, SCORES_VERSION, FmlamaParams
from tasks.identity import UnknownName, digest
from tasks.judging.panel import unread
from tasks.judging.rubric import Rubric
from tasks.loop.candidates import CandidateRanking
from tasks.loop.prompts import Completion, Prompts
from tasks.loop.requests import Engine
from tasks.loop.spread import spread
from tasks.packs.published import Row
from tasks.packs.wording import Templates


@dataclass(frozen=True)
class Dish:
    """A dish in one language. ``group`` is its origin, or the paper's group of it."""

    url: str
    name: str
    origin: str
    origin_name: str | None
    group: str
    ingredients: tuple[str, ...]


HOW_TO_LOAD = (
    "the shipped set is English only; load others with `culturemeter ingest --source fmlama --file …` or "
    "`culturemeter ingest --source wikidata --live`"
)

ByLanguage = dict[str, dict[str, Dish]]
"""language -> url -> dish"""


def choose_dishes(
    params: FmlamaParams, rows: Sequence[Mapping[str, Any]], groups: Sequence[Mapping[str, Any]]
) -> ByLanguage:
    """Return the dishes of every language of the params. A row has name and ingredients in one language.
    ``aligned`` keeps only dishes with rows in all the languages; without it each language has its own dishes
    (the paper's two kinds of filtered sub-dataset).

    Raises:
        UnknownName: an origin that no dish has.
        ValueError: a language without dishes, or a dish set that does not exist.
    """
    group_of = {str(g["origin"]): str(g["origin_group"]) for g in groups}
    alone = [row for row in rows if row.get("is_alone") and row["dish_set"] == params.dish_set]
    rows = alone or [row for row in rows if not row.get("is_alone")]  # a pack's named set, or all of no name
    if not rows:
        raise ValueError(f"there is no dish set {params.dish_set!r}: {HOW_TO_LOAD}")
    dishes: ByLanguage = {language: {} for language in params.languages}
    for row in _of_origins(params, rows, group_of):
        if row["language"] in dishes:
            dishes[row["language"]][row["url"]] = _dish(row, group_of)
    if params.aligned:
        common = set.intersection(*(set(d) for d in dishes.values()))
        dishes = {language: {u: d[u] for u in common} for language, d in dishes.items()}
    dishes = {language: _limited(d, params.max_dishes_per_origin) for language, d in dishes.items()}
    if params.limit is not None:
        dishes = {language: _few(d, params.limit) for language, d in dishes.items()}
    empty = [language for language, d in dishes.items() if not d]
    if empty:
        which = " of these origins" if params.origins else ""
        raise ValueError(
            f"the dish set {params.dish_set!r} has no dish{which} for {', '.join(empty)}: {HOW_TO_LOAD}"
        )
    return dishes


def _of_origins(
    params: FmlamaParams, rows: Sequence[Mapping[str, Any]], group_of: Mapping[str, str]
) -> list[Mapping[str, Any]]:
    """Return the rows whose origin or group is chosen."""
    if not params.origins:
        return list(rows)
    known = {str(r["origin"]) for r in rows} | set(group_of.values())
    names: set[str] = set()
    for origin in params.origins:
        if origin != PAPER_GROUPS and origin not in known:
            raise UnknownName("origin", origin, sorted(known))
        names |= set(group_of.values()) if origin == PAPER_GROUPS else {origin}
    return [r for r in rows if r["origin"] in names or group_of.get(r["origin"]) in names]


def _dish(row: Mapping[str, Any], group_of: Mapping[str, str]) -> Dish:
    return Dish(
        url=row["url"],
        name=row["name"],
        origin=row["origin"],
        origin_name=row["origin_name"],
        group=group_of.get(row["origin"], row["origin"]),
        ingredients=tuple(sorted(set(row["ingredients"]))),
    )


def _limited(dishes: Mapping[str, Dish], per_origin: int | None) -> dict[str, Dish]:
    """Return the dishes of each group with the smallest hashes of their URLs, the same in every run and
    language.
    """
    if per_origin is None:
        return dict(dishes)
    by_group: dict[str, list[str]] = {}
    for url in sorted(dishes, key=lambda url: digest(url)):
        by_group.setdefault(dishes[url].group, []).append(url)
    return {url: dishes[url] for urls in by_group.values() for url in urls[:per_origin]}


def _few(dishes: Mapping[str, Dish], n: int) -> dict[str, Dish]:
    """Return at most n dishes, spread over groups, the same in every run and language."""
    return {d.url: d for d in spread(list(dishes.values()), n, lambda d: d.url, lambda d: d.group)}


DISH, COUNTRY, BLANK = "[X]", "[C]", "[Y]"


@dataclass(frozen=True)
class Template:
    """One wording. ``text`` has [X] and perhaps [C] before [Y]."""

    template: str
    language: str
    variant: int
    mentions_country: bool
    text: str

    @property
    def lead(self) -> str:
        """Return the space between sentence and blank, if the language writes one."""
        return " " if self.text.split(BLANK)[0].endswith(" ") else ""

    @property
    def after(self) -> str:
        """Return the text after the blank."""
        return self.text.split(BLANK)[1]

    @property
    def tail(self) -> str:
        """Return the template's own text between its last slot and the blank."""
        return re.split(r"\[[XC]\]", self._before)[-1]

    def before(self, name: str, country: str) -> str:
        """Return the sentence up to the blank.

        All slots are filled at once, so a name may look like a slot.
        """
        values = {DISH: name, COUNTRY: country}
        return re.sub(r"\[[XC]\]", lambda slot: values[slot[0]], self._before)

    def cloze(self, prompts: Sequence[str]) -> Cloze:
        """Return an engine's request for sentences, with their text before and after the blank."""
        return Cloze(tuple(prompts), self.lead, self.after, self.tail)

    def cut_cloze(self, prompts: Sequence[str]) -> Cloze:
        """Return the request of an engine whose decoder stops the sentence at the blank."""
        return replace(self.cloze(prompts), is_cut=True)

    def own_cloze(self, prompts: Sequence[str]) -> Cloze:
        """Return such a request whose later tokens are scored after the decoder's own text."""
        return replace(self.cut_cloze(prompts), is_own=True)

    @property
    def _before(self) -> str:
        return self.text.split(BLANK)[0].removesuffix(" ")


def choose_templates(params: FmlamaParams, rows: Sequence[Mapping[str, Any]]) -> list[Template]:
    """Return the checked templates of the chosen languages and wordings.

    Raises:
        ValueError: a template lacks a slot or has one after the blank, or a language has none.
    """
    fields = Template.__dataclass_fields__
    templates = [Template(**{name: row[name] for name in fields}) for row in rows]
    chosen = [t for t in templates if t.language in params.languages and t.variant in params.variants]
    for template in chosen:
        check_template(template)
    without = sorted(set(params.languages) - {t.language for t in chosen})
    if without:
        known = ", ".join(sorted({t.language for t in templates}))
        raise ValueError(
            f"there is no template in {', '.join(without)}; name wordings 1 to 5 in `variants`, and of the "
            f"languages {known}"
        )
    return sorted(chosen, key=lambda t: (t.language, t.mentions_country, t.variant))


def check_template(template: Template) -> None:
    """Raise ValueError if a template lacks a slot, or has one after the blank."""
    before, *after = template.text.split(BLANK)
    slots = [DISH] + [COUNTRY] * template.mentions_country
    if len(after) != 1 or sorted(re.findall(r"\[[XC]\]", before)) != sorted(slots) or "[" in after[0]:
        raise ValueError(
            f"template {template.template}: {template.text!r} must have {' and '.join(slots)} once each, and "
            f"then {BLANK}"
        )


KNOBS = {"pooling", "word_vectors", "baseline_top", "seed"}
KNOBS_OF_JUDGES = {"judged_dishes_per_origin"}
"""Params whose values enter config_hash unchanged, always or with judges; probes and dishes enter by content.
"""


class Condition(NamedTuple):
    """P(main, subject) of section 4.2, with or without the country."""

    main: str
    subject: str
    mentions_country: bool

    @property
    def slug(self) -> str:
        """Return the condition's name in metric rows and parts, such as "en:zh:no"."""
        return f"{self.main}:{self.subject}:{'yes' if self.mentions_country else 'no'}"


@dataclass(frozen=True)
class Probe:
    """One condition with its dishes, candidates and templates.

    Attributes:
        dishes: in the main language, in the order of their urls.
        names: [dishes] the dish's name in the sentence, in the subject language.
        candidates: all ingredients of the dishes, in code-point order, which settles ties.
        relevant: [dishes, candidates] the reference ingredients.
    """

    condition: Condition
    templates: tuple[Template, ...]
    dishes: tuple[Dish, ...]
    names: tuple[str, ...]
    candidates: tuple[str, ...]
    relevant: NDArray[np.bool_]

    @property
    def origins(self) -> NDArray[np.str_]:
        """Return [dishes] the origin group of each dish."""
        return np.array([dish.group for dish in self.dishes])

    @property
    def n_relevant(self) -> NDArray[np.intp]:
        """Return [dishes] l, the number of reference ingredients."""
        counts: NDArray[np.intp] = np.count_nonzero(self.relevant, axis=1)
        return counts

    @property
    def dish_of_top(self) -> NDArray[np.intp]:
        """Return [predictions] the row of each prediction's dish; dish by dish, each with its top l."""
        return np.repeat(np.arange(len(self.dishes)), self.n_relevant)

    @property
    def n_pairs(self) -> int:
        """Return the number of (sentence, candidate) pairs over all templates."""
        return len(self.templates) * len(self.dishes) * len(self.candidates)

    def prompts(self, template: Template) -> list[str]:
        """Return [dishes] the sentences up to the blank."""
        pairs = zip(self.names, self.dishes, strict=True)
        return [template.before(name, _country(dish)) for name, dish in pairs]


@dataclass(frozen=True)
class FmlamaStudy:
    """Everything that is sent, independent of the model.

    Attributes:
        judges: name of a judge in the params -> its engine; judges mark the top predictions.
        templates: texts of packs that replace the rubric's own.
        vectors: hashes of the embedders, by content.
    """

    params: FmlamaParams
    probes: tuple[Probe, ...]
    judges: Mapping[str, Engine] = field(default_factory=dict)
    templates: Templates = field(default_factory=dict)
    vectors: tuple[str, ...] = ()

    @cached_property
    def rubric(self) -> Rubric:
        """Return the rubric of MES, in the chosen judge style, with the texts of packs."""
        own = [self.templates.get(name) for name in ("mes_rules", "mes_question", "judge_form")]
        return rubric().in_style(self.params.judge_style).reworded(*own, further=FURTHER_INPUTS)

    def config_hash(self) -> str:
        """Return the hash of everything that models must share for their numbers to be comparable."""
        knobs = self.params.hashed(KNOBS | (KNOBS_OF_JUDGES if self.judges else set()))
        if self.vectors:  # a path is no content
            knobs["word_vectors"] = list(self.vectors)
        knobs |= {"cut_at_blank": True} if self.params.cut_at_blank else {}
        knobs |= {"later_tokens": "own"} if self.params.later_tokens == "own" else {}
        knobs |= {"direct_matches": "given"} if self.judges and self.params.direct_matches == "given" else {}
        hashes = sorted(judge.hash for judge in self.judges.values())
        if len(hashes) == 1:  # keeps the hash of runs from before several judges were possible
            knobs |= {"judge": self.params.judges[0], "judged_by": digest([*hashes, self.rubric.hash()])}
        elif hashes:
            knobs["judged_by"] = digest([hashes, self.rubric.hash()])
        return digest(
            ["fmlama", SCORES_VERSION, knobs]
            + [[p.condition.slug, [t.text for t in p.templates], p.candidates] for p in self.probes]
            + [[n, d.url, d.group, _country(d), d.ingredients] for p in self.probes for n, d in _named(p)]
        )

    @property
    def materials(self) -> dict[str, str]:
        """Return condition -> hash of its candidates."""
        return {probe.condition.slug: digest(probe.candidates) for probe in self.probes}

    @property
    def n_pairs(self) -> int:
        """Return the number of (sentence, candidate) pairs over all conditions."""
        return sum(probe.n_pairs for probe in self.probes)

    @cached_property
    def judged(self) -> NDArray[np.intp]:
        """Return the rows of the first probe's dishes that judges see: each origin's dishes with the smallest
        hashes of their URLs, so the same for every model.
        """
        dishes, limit = self.probes[0].dishes, self.params.judged_dishes_per_origin
        of_origin: dict[str, list[int]] = {}
        for row in sorted(range(len(dishes)), key=lambda row: digest(dishes[row].url)):
            of_origin.setdefault(dishes[row].group, []).append(row)
        return np.array(sorted(row for rows in of_origin.values() for row in rows[:limit]), dtype=np.intp)

    @property
    def judged_probe(self) -> Probe:
        """Return the first condition under its first wording, with only the dishes that judges see."""
        probe, rows = self.probes[0], self.judged
        return replace(
            probe,
            templates=probe.templates[:1],
            dishes=tuple(probe.dishes[row] for row in rows),
            names=tuple(probe.names[row] for row in rows),
            relevant=probe.relevant[rows],
        )


def build_study(
    params: FmlamaParams,
    dishes: Sequence[Row],
    templates: Sequence[Row],
    groups: Sequence[Row],
    judges: Mapping[str, Engine] | None = None,
    own: Templates | None = None,
    vectors: Sequence[str] = (),
) -> FmlamaStudy:
    """Choose dishes and templates and lay out every condition.

    Args:
        dishes: rows of ``fmlama_dish`` of the dish set. templates: rows of ``template``. groups: rows of
            ``origin_group``. judges, own, vectors: see ``FmlamaStudy``.

    Raises:
        UnknownName: an origin of the params is not among the dishes'.
        ValueError: no dish or template is left, or names are missing in a language.
    """
    by_language = choose_dishes(params, dishes, groups)
    chosen = choose_templates(params, templates)
    probes = tuple(_probe(c, by_language, chosen) for c in _conditions(params))
    return FmlamaStudy(params, probes, judges or {}, own or {}, tuple(vectors))


def ranking(study: FmlamaStudy, probe: Probe, template: Template) -> CandidateRanking:
    """Return the request of one wording: a probe's dishes with all its candidates.

    Other dishes with the same candidates are units of the same request.
    """
    is_own = study.params.later_tokens == "own"
    is_cut = study.params.cut_at_blank or is_own  # the model's own text begins at the blank
    decoder = template.own_cloze if is_own else template.cut_cloze
    return CandidateRanking(
        topic=probe.condition.slug,
        label=template.template,
        batch=study.params.dishes_per_part,
        cloze=decoder if is_cut else template.cloze,
        prompts=probe.prompts(template),
        candidates=probe.candidates,
        about=["fmlama", template.text, probe.condition.subject, digest(probe.candidates)]
        + ["cut at the blank"] * is_cut
        + ["after its own text"] * is_own,
    )


def judging(study: FmlamaStudy, prompts: Sequence[JudgePrompt]) -> list[Prompts]:
    """Return the request to each judge, if there is something to judge."""
    asked = [each.prompt for each in prompts if each.asked]
    by_id = {each.prompt.id: each for each in prompts}

    def unread_of(prompt: str, completion: Completion) -> str | None:
        return unread(completion, by_id[prompt].asked, study.rubric, by_id[prompt].prompt)

    return [
        Prompts(
            role="judge",
            engine=judge,
            topic=study.probes[0].condition.slug,
            label="mes",
            batch=study.params.batch,
            prompts=asked,
            sampling=SAMPLING,
            unread=unread_of,
        )
        for judge in (study.judges if asked else ())
    ]


def _conditions(params: FmlamaParams) -> Iterator[Condition]:
    """Yield conditions of one language with and without the country, then pairs without it, as in
    the paper.
    """
    languages = list(dict.fromkeys(params.languages))
    for language in languages:
        for mentions in (False, True):
            if params.mention_country in ("both", "yes" if mentions else "no"):
                yield Condition(language, language, mentions)
    if params.code_switching:
        for main in languages:
            yield from (Condition(main, other, False) for other in languages if other != main)


def _probe(
    condition: Condition, by_language: Mapping[str, Mapping[str, Dish]], templates: Sequence[Template]
) -> Probe:
    """Return the probe of the dishes that have rows in both languages of the condition."""
    main, subject = by_language[condition.main], by_language[condition.subject]
    dishes = tuple(main[url] for url in sorted(main.keys() & subject.keys()))
    if not dishes:
        raise ValueError(
            f"no dish has labels in both {condition.main!r} and {condition.subject!r}; leave one of the "
            "languages out, or take a dish set that has them"
        )
    candidates = tuple(sorted({ingredient for dish in dishes for ingredient in dish.ingredients}))
    column = {candidate: i for i, candidate in enumerate(candidates)}
    relevant = np.zeros((len(dishes), len(candidates)), dtype=np.bool_)
    for row, dish in enumerate(dishes):
        relevant[row, [column[ingredient] for ingredient in dish.ingredients]] = True
    in_main = (t for t in templates if t.language == condition.main)
    wanted = tuple(t for t in in_main if t.mentions_country == condition.mentions_country)
    names = tuple(subject[dish.url].name for dish in dishes)
    return Probe(condition, wanted, dishes, names, candidates, relevant)


def _country(dish: Dish) -> str:
    """Return the origin's name in a sentence; in English if the dish's language has no name for it."""
    return dish.origin_name or dish.origin


def _named(probe: Probe) -> Iterator[tuple[str, Dish]]:
    return zip(probe.names, probe.dishes, strict=True)
