"""Estimates each country's distribution over an item list from answers that a model writes. Pure.

For models whose log-probabilities nobody can read. A country's answers are independent draws; the item that
a draw names counts once. Effective rank and gap ratio of such counts depend on the number of draws: of 170
countries with one and the same broad distribution, five draws each give an effective rank of 31. No
correction removes that where few draws agree (docs/intervals.md). So all countries, questions and models are
compared at one number of draws, as species counts are at one sample size (Hurlbert 1971, "The nonconcept of
species diversity"), and the null of both numbers is what equal countries give at that number.

Free text names an item or none. A constrained answer is a JSON object under a schema with all items, so it
names one; a token that no item continues is forbidden, and those that are left share its probability. An item
whose beginning is likelier than its end gains by that, against its share among log-probabilities.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tasks.engines.protocols import Sampling
from tasks.evaluations.contract import Completions
from tasks.evaluations.spectral.study import ItemList, SpectralQuestion, SpectralStudy
from tasks.loop.objects import objects
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.metrics.intervals import CORRELATION, jackknife_interval
from tasks.metrics.language_agreement import spearman
from tasks.metrics.types import FloatArray, Interval

MIN_DOMAINS = 6
"""Least number of domains for which ``order_agreement`` has an interval (docs/intervals.md)."""

FIELD = "answer"
"""Field of a constrained answer."""


def counted(draws: int) -> int:
    """Return the number of draws of each country that count: 80 % of those asked for, rounded up."""
    return math.ceil(0.8 * draws)


def drawn_prompts(study: SpectralStudy, question: SpectralQuestion, completions: Completions) -> Prompts:
    """Return the request for a question's answers that can be sent now, all countries' in one."""
    return _sent(study, question, completions)[0]


def _sent(
    study: SpectralStudy, question: SpectralQuestion, completions: Completions
) -> tuple[Prompts, Mapping[str, Completion]]:
    """Return ``drawn_prompts``, and the completions that are there.

    A country whose answers all came and named too few items gets that many more, up to ``tries`` times
    ``draws``.
    """
    request = _request(study, question, dict.fromkeys(study.countries, study.params.draws))
    while True:
        stored = completions(request)
        n_sent = {
            code: _n_wanted(study, question, prompts, stored)
            for code, prompts in _by_country(study, request).items()
        }
        larger = _request(study, question, n_sent)
        if len(larger.prompts) == len(request.prompts):
            return request, stored
        request = larger


class Draws(NamedTuple):
    """Items that a model's written answers name.

    Attributes:
        shares: [n, t] log shares of the items among each country's counted draws; -inf: never drawn. A
            country with too few draws that name an item is lost: its whole row is -inf.
        on_list: [n] share of the answers that name an item; NaN for a country without an answer.
    """

    shares: FloatArray
    on_list: FloatArray


def drawn(study: SpectralStudy, question: SpectralQuestion, completions: Completions) -> Draws:
    """Return what the answers to a question name."""
    items, n = study.lists[question.item_list], counted(study.params.draws)
    counts = np.zeros((len(study.countries), len(items.items)))
    on_list = np.full(len(counts), np.nan)
    for row, answers in enumerate(answers_of(study, question, completions).values()):
        there = [place for answer, place in answers if answer is not None]
        named = [place for place in there if place is not None]
        if there:
            on_list[row] = len(named) / len(there)
        if len(named) >= n:
            np.add.at(counts[row], named[:n], 1.0)
    with np.errstate(divide="ignore"):
        return Draws(np.log(counts / n), on_list)


def answers_of(
    study: SpectralStudy, question: SpectralQuestion, completions: Completions
) -> Mapping[str, list[tuple[Completion | None, int | None]]]:
    """Return country -> its answers with the place of the item that each names; None: no answer, no item."""
    items, (request, stored) = study.lists[question.item_list], _sent(study, question, completions)
    return {
        code: [
            (answer := stored.get(prompt.id), item_of(items, answer, study.is_constrained))
            for prompt in prompts
        ]
        for code, prompts in _by_country(study, request).items()
    }


def equal_countries(shares: FloatArray, n: int, seed: int) -> Iterator[FloatArray]:
    """Yield 20 times the log shares of countries that all draw from one distribution: the mean of the rows.

    shares: of ``Draws``, by n draws; lost countries have no row in the results.
    """
    table = np.exp(shares[np.isfinite(shares.max(axis=1))])
    rng = np.random.Generator(np.random.PCG64(seed))
    for _ in range(20):
        with np.errstate(divide="ignore"):
            yield np.log(rng.multinomial(n, table.mean(axis=0), size=len(table)) / n)


def drawn_from(distributions: FloatArray, n: int, seed: int) -> FloatArray:
    """Return [n, t] log shares of n draws of each row, as in ``Draws``."""
    rng = np.random.Generator(np.random.PCG64(seed))
    with np.errstate(divide="ignore"):
        return np.log(np.array([rng.multinomial(n, row) for row in distributions]) / n)


def order_agreement(
    sampled: ArrayLike, exact: ArrayLike, domains: Sequence[str]
) -> tuple[float, Interval] | None:
    """Return Spearman's rho of a number of n questions by two ways, and its 95 % interval over domains.

    Questions of one domain share a list, so the jackknife leaves out whole domains. There is no interval
    below ``MIN_DOMAINS`` domains, and no rho if a side does not vary.
    """
    x, y, of = np.asarray(sampled, np.float64), np.asarray(exact, np.float64), np.asarray(domains)
    rho = spearman(x, y) if len(x) > 2 else None
    if rho is None:
        return None
    left_out = [spearman(x[of != each], y[of != each]) for each in sorted(set(domains))]
    known = len(left_out) >= MIN_DOMAINS and None not in left_out
    return rho, jackknife_interval(rho, left_out, CORRELATION, MIN_DOMAINS) if known else None


def item_of(items: ItemList, completion: Completion | None, is_constrained: bool = False) -> int | None:
    """Return the place of the item that a completion names; None if there is none.

    is_constrained: it is the only field of a JSON object, as the list spells it.
    """
    if completion is None:
        return None
    if is_constrained:
        return items.places.get(_field(completion.text))
    return items.names.first_in(completion.text, completion.finish_reason == "length")


def _request(study: SpectralStudy, question: SpectralQuestion, n_sent: Mapping[str, int]) -> Prompts:
    """Return the request for the first answers of every country, as many as ``n_sent`` says."""
    params, items = study.params, study.lists[question.item_list].items
    schema = constrained_to(items) if study.is_constrained else None
    # No item is cut off: a token has at least one character.
    longest = max(len(json.dumps({FIELD: item})) for item in items)
    return Prompts(
        topic=question.domain,
        label=question.question,
        batch=params.batch,
        prompts=[
            Prompt([{"role": "user", "content": question.prompt(name)}], schema, sample=str(number))
            for code, name in study.countries.items()
            for number in range(n_sent[code])
        ],
        sampling=Sampling(
            temperature=params.temperature,
            max_tokens=longest if schema else params.max_tokens,
            seed=params.seed,
        ),
    )


def constrained_to(items: Sequence[str]) -> Mapping[str, Any]:
    """Return the schema of an object whose only field is one of the items."""
    item = {"type": "string", "enum": list(items)}
    return {"type": "object", "properties": {FIELD: item}, "required": [FIELD], "additionalProperties": False}


def _field(text: str) -> str:
    """Return the item that a JSON object in a text holds; "" if there is none."""
    found = [dict(each.pairs).get(FIELD) for each in objects(text)]
    return str(found[-1]) if found else ""


def _by_country(study: SpectralStudy, request: Prompts) -> Mapping[str, list[Prompt]]:
    """Return country -> its prompts, which stand one after another."""
    groups: dict[str, list[Prompt]] = {}
    codes = iter(study.countries)
    for prompt in request.prompts:
        if prompt.sample == "0":
            code = next(codes)
        groups.setdefault(code, []).append(prompt)
    return groups


def _n_wanted(
    study: SpectralStudy,
    question: SpectralQuestion,
    prompts: Sequence[Prompt],
    stored: Mapping[str, Completion],
) -> int:
    """Return the number of answers to send for a country, given those that came."""
    draws, n = study.params.draws, len(prompts)
    if any(prompt.id not in stored for prompt in prompts):
        return n
    items = study.lists[question.item_list]
    found = [item_of(items, stored[prompt.id], study.is_constrained) for prompt in prompts]
    named = sum(place is not None for place in found)
    return min(n + max(0, counted(draws) - named), study.params.tries * draws)
