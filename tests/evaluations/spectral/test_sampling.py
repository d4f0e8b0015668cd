"""Distributions from written answers: what an answer names, what is sent again, what is compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.evaluations.contract import Completions
from tasks.evaluations.spectral import evaluation
from tasks.evaluations.spectral.naming import Names
from tasks.evaluations.spectral.params import SpectralParams
from tasks.evaluations.spectral.read import from_list, score_model
from tasks.evaluations.spectral.rows import question_rows
from tasks.evaluations.spectral.sampling import (
    answers_of,
    counted,
    drawn,
    drawn_prompts,
    item_of,
    order_agreement,
)
from tasks.evaluations.spectral.study import ItemList, SpectralStudy
from tasks.loop.prompts import Completion, Prompts
from tests.evaluations.row_checks import one
from warehouse import Warehouse

MakeStudy = Callable[..., SpectralStudy]
Answer = Callable[[str, int], str | None]

ITEMS = (
    "Euro",
    "Crêpe",
    "Mac and cheese",
    "cheese",
    "1",
    "12",
    "Indian rupee",
    "Pakistani rupee",
    "15 Khordad",
)
ALIASES = ((), ("Pancake", "rupee"), (), ("Fromage",), (), (), ("rupee",), (), ())

NAMED = {
    "Euro": 0, "euro.": 0, "**Euro**": 0, "- Euro": 0, "1. Euro": 0, "“Euro”": 0, "The euro": 0,
    "EURO (€)": 0, "Euro, dollar, yen": 0, "Euro\nDollar": 0, "\n\nEuro": 0,
    "The currency used in France is the Euro.": 0, "crepe": 1, "Crêpes": 1, "Pancake": 1,
    "pancake and cheese": 1, "Mac and cheese": 2, "mac & cheese": 2, "cheese": 3, "Cheese and bread": 3,
    "fromage": 3, "1": 4, "12": 5, "12, 14, 16": 5, "1-100": None, "112": None, "12 Main Street": None,
    "Indian rupees": 6, "rupee": None, "Indian Rupee / Pakistani rupee": 6, "15 Khordad": 8, "": None,
    "   ": None, "Pizza": None, "I cannot answer that.": None,
    "There are many kinds of food that people in this country like to eat, among them cheese": None,
}  # fmt: skip
"""Answer -> the place of the item that it names."""

CUT = {"Indian rup": None, "Mac and": None, "Euro, dol": 0, "cheese": None, "Euro\nIndian ru": 0}


@pytest.mark.parametrize(("text", "place"), NAMED.items())
def test_an_answer_names_its_first_item(text: str, place: int | None) -> None:
    assert Names(ITEMS, ALIASES).first_in(text) == place


@pytest.mark.parametrize(("text", "place"), CUT.items())
def test_half_a_name_is_none(text: str, place: int | None) -> None:
    assert Names(ITEMS, ALIASES).first_in(text, is_cut=True) == place


def test_every_shipped_item_names_itself(warehouse: Warehouse) -> None:
    rows = warehouse.query(
        "SELECT item_list, list(item ORDER BY position) AS items FROM current_item GROUP BY 1"
    )
    for name, items in rows.rows():
        names = Names(items)
        wrong = [item for place, item in enumerate(items) if names.first_in(item) != place]
        assert len(wrong) <= 0.002 * len(items), (name, wrong)  # names that differ in accents alone
        assert sum(names.first_in(f"{item}.") is None for item in items) == 0


def completions(study: SpectralStudy, answer: Answer) -> Completions:
    """Return a model's stored answers. answer: (country's name, number) -> text; None: none is stored."""

    def read(request: Prompts) -> Mapping[str, Completion]:
        of_code = {q.prompt(name): name for q in study.questions for name in study.countries.values()}
        texts = {p.id: answer(of_code[p.conversation[0]["content"]], int(p.sample)) for p in request.prompts}
        return {key: Completion(text, "stop", 1, 1) for key, text in texts.items() if text is not None}

    class Stored(Completions):
        def __call__(self, request: Any) -> Any:
            return read(request)

    return Stored(None, {}, lambda *of: pytest.fail("nothing is read"))


def sampled(make_study: MakeStudy, **params: Any) -> SpectralStudy:
    return make_study(**{"domains": ["coins"], "elicit": "sampling", "draws": 5} | params)


def sent(study: SpectralStudy, answer: Answer) -> dict[str, int]:
    request = drawn_prompts(study, study.questions[0], completions(study, answer))
    return {
        name: sum(name in p.conversation[0]["content"] for p in request.prompts)
        for name in study.countries.values()
    }


def test_answers_that_name_nothing_are_sent_again_up_to_as_many_times_as_were_set(
    make_study: MakeStudy,
) -> None:
    study = sampled(make_study)

    def answer(country: str, number: int) -> str | None:
        if country == "Japan":
            return "yen, I think"  # the list has none
        if country == "Italy" and number < 3:
            return "???"
        return None if country == "France" and number == 4 else "euro"

    assert sent(study, lambda *of: None) == dict.fromkeys(study.countries.values(), 5)
    assert sent(study, answer) == {
        "France": 5, "the Gambia": 5, "Italy": 7, "Japan": 15, "the United States": 5,
    }  # fmt: skip
    draws = drawn(study, study.questions[0], completions(study, answer))
    assert np.isfinite(draws.shares.max(axis=1)).tolist() == [True, True, True, False, True]
    assert draws.on_list.tolist() == [1.0, 1.0, 4 / 7, 0.0, 1.0]
    more = sampled(make_study, tries=5)
    assert sent(more, answer) == {
        "France": 5, "the Gambia": 5, "Italy": 7, "Japan": 25, "the United States": 5,
    }  # fmt: skip


@given(st.integers(0, 2**32), st.integers(5, 30))
def test_a_country_counts_as_many_draws_as_every_other(seed: int, n_draws: int) -> None:
    assert 0.8 * n_draws <= counted(n_draws) < 0.8 * n_draws + 1


def test_shares_are_of_the_first_answers_that_name_an_item(make_study: MakeStudy) -> None:
    study = sampled(make_study)
    texts = ["?", "euro", "dalasi", "euro", "?", "US dollar", "dalasi", "dalasi"]
    draws = drawn(study, study.questions[0], completions(study, lambda country, number: texts[number % 8]))
    assert study.lists["coins"].items == ("US dollar", "dalasi", "euro")
    assert np.exp(draws.shares[0]).tolist() == [0.25, 0.25, 0.5]


def test_too_many_lost_countries_leave_a_question_unscored(make_study: MakeStudy) -> None:
    study = sampled(make_study)
    stored = completions(study, lambda country, number: "?" if country == "Japan" else "euro")
    (reason,) = evaluation.read(study, stored, None).own.unscored.values()
    assert reason == "1 of 5 countries have too few answers that name an item"


def test_the_null_is_of_equal_countries_with_as_many_draws(make_study: MakeStudy) -> None:
    """A look-up in a list whose items are all everybody's: exact, ER would be 1; of draws it is its null."""
    study = sampled(make_study, domains=["faiths"], draws=10)
    everybody = replace(study.lists["faiths"], countries=(frozenset(study.countries),) * 3)
    study = replace(study, lists={"faiths": everybody})
    score = score_model(study, lambda q: from_list(study, q))
    rows = list(question_rows(study, score, {}))
    row = one(rows, "effective_rank", "faiths-1")
    assert row.value > 1.2
    assert abs(row.value - row.null_value) < 0.7
    exact = score_model(
        replace(study, params=study.params.model_copy(update={"elicit": None})),
        lambda q: replace(from_list(study, q), n_draws=0),
    )
    assert exact.questions["faiths-1"].er_null == 1.0


def test_models_of_servers_are_sampled_from_whole_lists() -> None:
    def is_served(model: str) -> bool:
        return model == "gpt"

    def settled(*models: str, **more: Any) -> SpectralParams:
        return evaluation.settled(params.model_copy(update={"models": [*models], **more}), is_served)

    params = SpectralParams(models=["gpt"], max_items=16)
    assert settled("gpt") == params.model_copy(update={"elicit": "sampling", "max_items": None})
    for models in (["own"], ["gpt", "own"]):
        assert settled(*models) == params.model_copy(update={"models": models})
    assert settled("gpt", elicit="constrained") == params.model_copy(update={"elicit": "constrained"})
    assert settled("gpt", elicit="logprobs") == params.model_copy(update={"elicit": "logprobs"})


def test_a_limit_of_items_is_refused(make_study: MakeStudy) -> None:
    with pytest.raises(ValueError, match="limit shortens item lists"):
        sampled(make_study, limit=4)


def test_a_constrained_answer_is_one_item_of_the_list(make_study: MakeStudy) -> None:
    study = sampled(make_study, elicit="constrained", max_tokens=4)
    items = study.lists["coins"].items
    request = drawn_prompts(study, study.questions[0], completions(study, lambda *of: None))
    assert all(p.schema["properties"]["answer"]["enum"] == list(items) for p in request.prompts if p.schema)
    assert request.sampling.max_tokens >= max(len(f'{{"answer": "{item}"}}') for item in items)
    answers = {
        "France": '{"answer":"euro"}', "the Gambia": '```json\n{"answer": "dalasi"}\n```', "Italy": "euro",
        "Japan": '{"answer":"Euro"}', "the United States": '{"answer":',
    }  # fmt: skip
    stored = completions(study, lambda country, number: answers[country])
    assert [len(row) for row in answers_of(study, study.questions[0], stored).values()] == [5, 5, 15, 15, 15]
    draws = drawn(study, study.questions[0], stored)
    assert np.isfinite(draws.shares.max(axis=1)).tolist() == [True, True, False, False, False]
    assert [items[place] for place in draws.shares[:2].argmax(axis=1)] == ["euro", "dalasi"]


def test_every_shipped_item_is_read_from_its_constrained_answer(warehouse: Warehouse) -> None:
    """Also if a server writes letters as escapes; no item is longer than the limit of the answer."""
    rows = warehouse.query("SELECT item_list, list(item) AS items FROM current_item GROUP BY 1").rows()
    for name, items in rows:
        of = ItemList(name, tuple(items), (frozenset(),) * len(items))
        for is_ascii in (True, False):
            texts = [json.dumps({"answer": item}, ensure_ascii=is_ascii) for item in items]
            assert [item_of(of, Completion(text, "stop", 1, 1), True) for text in texts] == [
                *range(len(items))
            ]


def test_configurations_of_different_ways_differ_and_hash_what_they_read(make_study: MakeStudy) -> None:
    def hashed(**params: Any) -> str:
        return make_study(domains=["coins"], draws=5, **params).config_hash()

    ways = {hashed(elicit=way) for way in ("logprobs", "sampling", "constrained")}
    assert len(ways) == 3
    assert hashed(elicit="constrained") == hashed(elicit="constrained", max_tokens=99)
    for knob in ({"temperature": 0.5}, {"max_items": 2}, {"tries": 4}):
        assert hashed(elicit="constrained") != hashed(elicit="constrained", **knob)


def test_a_list_that_no_schema_holds_is_refused(make_study: MakeStudy, monkeypatch: Any) -> None:
    monkeypatch.setattr("tasks.evaluations.spectral.study.MOST_CHOICES", 2)
    with pytest.raises(ValueError, match="the list 'coins' has 3: set max_items to 2 or less"):
        sampled(make_study, elicit="constrained")
    assert len(sampled(make_study, elicit="constrained", max_items=2).lists["coins"].items) == 2


RHO = ([1.0, 2, 3, 4, 5, 7, 6], [10.0, 20, 40, 30, 50, 60, 70])


def test_the_interval_of_an_order_is_over_domains() -> None:
    """Wordings that say the same as their domain narrow no interval, and few domains have none."""
    apart = order_agreement(*RHO, list("abcdefg"))
    thrice = order_agreement(*(np.repeat(side, 3) for side in RHO), [d for d in "abcdefg" for _ in range(3)])
    assert apart is not None
    assert thrice is not None
    assert apart[0] == pytest.approx(1 - 6 * 4 / (7 * 48)) == pytest.approx(thrice[0])
    assert apart[1] == pytest.approx(thrice[1])
    assert apart[1] is not None
    assert apart[1][0] < apart[0] < apart[1][1]
    fewer = order_agreement(*(side[:5] for side in RHO), list("abcde"))
    assert fewer is not None
    assert fewer[1] is None
    assert (
        order_agreement([1, 1, 1], [1, 2, 3], list("abc"))
        is order_agreement([1, 2], [1, 2], list("ab"))
        is None
    )
