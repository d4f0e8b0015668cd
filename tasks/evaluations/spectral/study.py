"""Chooses the countries, questions and items to send from the warehouse, and hashes them. Pure.

A *request* is one question, sent to one engine, over one item list; its units are countries. Its hash covers
everything that determines the answers, so a later run that sends the same finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tasks.evaluations.spectral.naming import Names
from tasks.evaluations.spectral.params import SAMPLING_VERSION, SCORES_VERSION, SpectralParams
from tasks.identity import UnknownName, choose_codes, digest
from tasks.loop.spread import share
from tasks.packs.published import Row

ENGLISH = "en"
"""Language of the paper's questions, and of item lists."""

SAMPLED = ("sampling", "constrained")
"""Values of ``elicit`` by which the model writes."""

MOST_CHOICES = 500
"""Most items of a list that a schema can name: OpenAI takes no more values of an enum, and all models share
a list."""

KNOBS = {"normalisation", "half_samples", "seed"}
"""Params whose values enter config_hash unchanged; countries, questions and items enter by their content."""


@dataclass(frozen=True)
class SpectralQuestion:
    """One stimulus of Table 7 with its prefix of Table 6 and the human label of Table 1.

    human_sd, human_n: standard deviation of people's ranks and number of people; 0 if unknown.
    """

    question: str
    domain: str
    variant: int
    template: str
    prefix: str
    item_list: str
    human_score: float
    human_category: str
    human_sd: float = 0.0
    human_n: int = 0

    def prompt(self, country_name: str) -> str:
        """ "{prefix_prompt} {main_prompt}" (appendix B.2); no space follows an ideographic full stop."""
        space = "" if self.prefix.endswith("\u3002") else " "
        return f"{self.prefix}{space}{self.template.format(country=country_name)}"


@dataclass(frozen=True)
class ItemList:
    """The items of a domain's distribution, in a fixed order, the countries and the other names of each."""

    name: str
    items: tuple[str, ...]
    countries: tuple[frozenset[str], ...]
    aliases: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def names(self) -> Names:
        """The items by what answers call them."""
        return Names(self.items, self.aliases)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Item -> its place."""
        return {item: place for place, item in enumerate(self.items)}

    @property
    def hash(self) -> str:
        """Identifies the content of the list."""
        return digest(self.items)


@dataclass(frozen=True)
class SpectralStudy:
    """Everything that is sent, independent of the model. Countries map ISO codes to names in prompts.

    Attributes:
        language: of all texts. others: language -> the same study in it, with the same countries and items,
            and the domains that have names there.
        is_other: whether it is one of another study's ``others``.
        spoken: country -> its main language.
    """

    params: SpectralParams
    countries: dict[str, str]
    questions: tuple[SpectralQuestion, ...]
    lists: dict[str, ItemList]
    reference_hash: str
    language: str = ENGLISH
    others: Mapping[str, SpectralStudy] = field(default_factory=dict)
    is_other: bool = False
    spoken: Mapping[str, str] = field(default_factory=dict)

    def config_hash(self) -> str:
        """Return the hash of everything that models must share for their numbers to be comparable."""
        knobs = self.params.hashed(KNOBS)
        return digest(
            ["spectral", SCORES_VERSION, knobs, list(self.countries), self.reference_hash]
            + [[q.question, q.prefix, q.template, self.lists[q.item_list].hash] for q in self.questions]
            + [[q.human_category, q.human_score] for q in self.questions]
            + [[sorted(codes) for codes in items.countries] for items in self.lists.values()]
            + self._way()
            + ([["language", self.language]] if self.language != ENGLISH else [])
            + [["language", code, other.config_hash()] for code, other in self.others.items()]
            + ([sorted(self.spoken.items())] if self.others else [])
        )

    def _way(self) -> list[Any]:
        """Return what decides which item a written answer counts as; nothing for log-probabilities."""
        if not self.is_sampled:
            return []
        p = self.params
        more = [] if p.tries == type(p).model_fields["tries"].default else [{"tries": p.tries}]
        free = [] if self.is_constrained else [p.max_tokens, *(each.aliases for each in self.lists.values())]
        return [[p.elicit, SAMPLING_VERSION, p.draws, p.temperature, *free, *more]]

    @property
    def is_sampled(self) -> bool:
        """Whether distributions are estimated from answers that the model writes."""
        return self.params.elicit in SAMPLED

    @property
    def is_constrained(self) -> bool:
        """Whether a schema lets these answers name nothing but one item of the list."""
        return self.params.elicit == "constrained"

    @property
    def in_languages(self) -> dict[str, SpectralStudy]:
        """Return language -> the study in it, its own first."""
        return {self.language: self, **self.others}

    def name_of(self, text: str) -> str:
        """Return the name of a domain or question in SQL: of one of ``others`` with its language."""
        return f"{self.language}/{text}" if self.is_other else text

    def about(self, question: SpectralQuestion) -> list[str]:
        """Return everything that determines the answers to a question except the engine and the boundary
        rule.
        """
        item_hash = self.lists[question.item_list].hash
        wording = [question.prefix, question.template, item_hash, question.domain, question.question]
        own = [] if self.language == ENGLISH else [self.language]
        return ["spectral", *wording, self.reference_hash, *own]

    @property
    def materials(self) -> dict[str, str]:
        """Return item list -> hash of its content; of ``others`` with the language before the name."""
        return {
            study.name_of(name): items.hash
            for study in self.in_languages.values()
            for name, items in study.lists.items()
        }


def build_study(
    params: SpectralParams,
    countries: Sequence[Row],
    questions: Sequence[Row],
    items: Sequence[Row],
    human: Sequence[Row] = (),
    shared: Callable[[str, Sequence[Row]], Sequence[Row]] = lambda name, rows: rows,
) -> SpectralStudy:
    """Choose countries, questions and items from the warehouse's reference rows.

    Args:
        countries: rows of ``country``. questions: rows of ``question`` joined with ``domain``.
        items: rows of ``current_item``. human: rows of ``human_domain``: one snapshot of the study in
            ``params.human``. The returned params name this snapshot. shared: name of a list, its rows ->
        those that the run's languages share.

    Raises:
        UnknownName: a country or domain of the params is not among the rows.
        ValueError: fewer than two countries, no question, or a list without items; or the people of
            ``params.human`` did not rank a chosen domain.
    """
    names = {str(r["country"]): str(r["name"]) for r in sorted(countries, key=lambda r: r["country"])}
    chosen = choose_codes("country", params.countries, names)
    if len(chosen) < 2:
        raise ValueError(
            f"a study needs at least two countries to compare; chosen: {', '.join(chosen) or 'none'}. "
            "Name more in `countries`, or leave it empty for all."
        )
    domains = _choose_domains(params.domains, sorted({str(q["domain"]) for q in questions}))
    fields = SpectralQuestion.__dataclass_fields__
    expected = _expected(params.human, human, domains) if params.human else {}
    in_domains = [
        SpectralQuestion(
            **{name: q[name] for name in fields if q.get(name) is not None} | expected.get(q["domain"], {})
        )
        for q in sorted(questions, key=lambda q: (q["domain"], q["variant"]))
        if q["domain"] in domains and q["variant"] in params.variants
    ]
    if not in_domains:
        raise ValueError("no question selected: name at least one of the phrasings 1, 2 and 3 in `variants`")
    if params.limit and params.elicit == "sampling":
        raise ValueError(
            "limit shortens item lists, and written answers are matched with whole ones: name fewer "
            "countries, domains, variants or draws"
        )
    list_names = sorted({q.item_list for q in in_domains})
    at_most = share(params.limit, len(list_names), params.max_items, least=2)
    lists = {
        name: _item_list(name, shared(name, [r for r in items if r["item_list"] == name]), at_most)
        for name in list_names
    }
    longest = max(lists.values(), key=lambda items: len(items.items))
    if params.elicit == "constrained" and len(longest.items) > MOST_CHOICES:
        raise ValueError(
            f"a constrained answer is one of at most {MOST_CHOICES} items, and the list {longest.name!r} has "
            f"{len(longest.items):,}: set max_items to {MOST_CHOICES} or less, here and for log-probabilities"
        )
    if params.human:
        snapshot = f"{human[0]['study']}:{human[0]['snapshot']}"
        params = params.model_copy(update={"human": snapshot})
    return SpectralStudy(
        params, {c: names[c] for c in chosen}, tuple(in_domains), lists, digest(sorted(names.items()))
    )


def _item_list(name: str, rows: Sequence[Row], max_items: int | None) -> ItemList:
    """Return the list in code-point order; ``max_items`` keeps the items with the smallest hashes. So the
    choice is the same in every run, and items added to the list later displace few others.
    """
    by_item = {str(r["item"]): (frozenset(r["countries"]), tuple(r.get("aliases") or ())) for r in rows}
    if not by_item:
        raise ValueError(
            f"the item list {name!r} has no items: load its reference data into the warehouse first"
        )
    drawn = sorted(by_item, key=lambda item: digest(item))[:max_items]
    items = tuple(sorted(drawn))
    countries, aliases = zip(*(by_item[item] for item in items), strict=True)
    return ItemList(name, items, countries, aliases)


def _expected(study: str, rows: Sequence[Row], domains: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return domain -> the answers that the people of a study expect."""
    if not rows:
        raise ValueError(f"no ranking of a study {study!r} is stored: culturemeter people pull brings it in")
    known = {r["domain"]: r for r in rows if r["human_category"] is not None}
    absent = [domain for domain in domains if domain not in known]
    if absent:
        raise ValueError(
            f"people of study {study!r} have no category for {', '.join(absent)}: nobody said whether it has "
        )
    columns = ("human_score", "human_category")
    return {
        name: {key: known[name][key] for key in columns}
        | {"human_sd": known[name].get("human_sd") or 0.0, "human_n": known[name].get("n_people") or 0}
        for name in domains
    }


def _choose_domains(wanted: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    for name in wanted or ():
        if name not in known:
            raise UnknownName("domain", name, known)
    return list(wanted or known)
