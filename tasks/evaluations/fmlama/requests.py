"""Warehouse rows to probing sentences: which dishes, in which languages, under which hashes. Pure.

A *condition* is a language of templates and candidates, a language of the dish's name, and whether the
country is named. A *probe* is a condition with its dishes, candidates and templates. A *request* is one
template over one candidate list asked of one engine; its units are the sentences up to the blank, so an
answer is found again by any later run that asks the same, whatever dish set it came from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.engines.protocols import Cloze
from tasks.evaluations.fmlama.dishes import Dish, choose_dishes
from tasks.evaluations.fmlama.params import SCORES_VERSION, FmlamaParams
from tasks.evaluations.fmlama.templates import Template, choose_templates
from tasks.identity import digest

Row = Mapping[str, Any]


class Condition(NamedTuple):
    """P(main, subject) of section 4.2, with or without the country."""

    main: str
    subject: str
    mentions_country: bool

    @property
    def slug(self) -> str:
        """ "en:zh:no": how metric rows and parts name the condition."""
        return f"{self.main}:{self.subject}:{'yes' if self.mentions_country else 'no'}"


@dataclass(frozen=True)
class Probe:
    """One condition's work.

    Attributes:
        dishes: in the main language, in the order of their urls.
        names: [dishes] what stands for the dish in the sentence, in the subject language.
        candidates: every ingredient of any of the dishes, in code-point order, which settles ties.
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
        """[dishes] the origin group of each."""
        return np.array([dish.group for dish in self.dishes])

    @property
    def n_pairs(self) -> int:
        """(sentence, candidate) pairs over all templates."""
        return len(self.templates) * len(self.dishes) * len(self.candidates)

    def prompts(self, template: Template) -> list[str]:
        """[dishes] the sentences up to the blank."""
        pairs = zip(self.names, self.dishes, strict=True)
        return [template.before(name, _country(dish)) for name, dish in pairs]


@dataclass(frozen=True)
class Study:
    """All that is asked, independent of the model. ``judged_by`` identifies the judge's engine and rubric."""

    params: FmlamaParams
    probes: tuple[Probe, ...]
    judged_by: str | None = None

    def config_hash(self) -> str:
        """Identifies what may be compared across models."""
        knobs = self.params.model_dump(
            include={"pooling", "word_vectors", "baseline_top", "bootstrap", "seed"}
        )
        if self.params.judge:
            knobs |= self.params.model_dump(include={"judge", "judged_dishes_per_origin"})
            knobs["judged_by"] = self.judged_by
        return digest(
            ["fmlama", SCORES_VERSION, knobs]
            + [[p.condition.slug, [t.text for t in p.templates], p.candidates] for p in self.probes]
            + [[n, d.url, d.group, _country(d), d.ingredients] for p in self.probes for n, d in _named(p)]
        )

    @property
    def n_pairs(self) -> int:
        """(sentence, candidate) pairs over all conditions."""
        return sum(probe.n_pairs for probe in self.probes)


@dataclass(frozen=True)
class Unit:
    """A part to be made: some sentences of one request."""

    probe: Probe
    template: Template
    request_hash: str
    prompts: tuple[str, ...]

    @property
    def part(self) -> str:
        """The part's name: the hash of what it answers."""
        return digest([self.request_hash, sorted(self.prompts)], 32)

    @property
    def cloze(self) -> Cloze:
        """What the engine is asked."""
        return self.template.cloze(self.prompts)

    @property
    def n_pairs(self) -> int:
        """(sentence, candidate) pairs."""
        return len(self.prompts) * len(self.probe.candidates)


def build_study(
    params: FmlamaParams,
    dishes: Sequence[Row],
    templates: Sequence[Row],
    groups: Sequence[Row],
    judged_by: str | None = None,
) -> Study:
    """Choose dishes and templates and lay out every condition.

    Args:
        dishes: rows of ``fmlama_dish`` of the dish set. templates: rows of ``template``. groups: rows of
            ``origin_group``. judged_by: see ``Study``.

    Raises:
        UnknownName: an origin of the params is not among the dishes'.
        ValueError: no dish or template is left, or names are missing in a language.
    """
    by_language = choose_dishes(params, dishes, groups)
    chosen = choose_templates(params, templates)
    probes = tuple(_probe(c, by_language, chosen) for c in _conditions(params))
    return Study(params, probes, judged_by)


def request_hash(probe: Probe, template: Template, engine_hash: str, boundary_rule: str) -> str:
    """Identifies the answers of one engine; the sentences up to the blank are its units."""
    asked = [template.text, probe.condition.subject, digest(probe.candidates)]
    return digest(["fmlama", engine_hash, boundary_rule, *asked])


def plan_units(
    probe: Probe, template: Template, request: str, missing: Sequence[str], size: int
) -> Iterator[Unit]:
    """Cut the sentences that still lack an answer into parts."""
    ordered = sorted(missing)
    for start in range(0, len(ordered), size):
        yield Unit(probe, template, request, tuple(ordered[start : start + size]))


def _conditions(params: FmlamaParams) -> Iterator[Condition]:
    """One language throughout, with and without the country; then the pairs, without it, as in the paper."""
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
    """The dishes that have rows in both languages of the condition."""
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
    asked = (t for t in templates if t.language == condition.main)
    wanted = tuple(t for t in asked if t.mentions_country == condition.mentions_country)
    names = tuple(subject[dish.url].name for dish in dishes)
    return Probe(condition, wanted, dishes, names, candidates, relevant)


def _country(dish: Dish) -> str:
    """The origin as it stands in a sentence; in English where the dish's language has no name for it."""
    return dish.origin_name or dish.origin


def _named(probe: Probe) -> Iterator[tuple[str, Dish]]:
    return zip(probe.names, probe.dishes, strict=True)
