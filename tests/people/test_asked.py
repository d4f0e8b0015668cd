"""Prompts as pages for people, and their answers as completions."""

from __future__ import annotations

import json
from typing import Any

from tasks.engines.protocols import Sampling
from tasks.loop.items import OptionScores, Question
from tasks.loop.prompts import Prompt, Prompts
from tasks.people.asked import CHOICE, TEXT, askable, pages, reply
from tasks.people.study import FormPage


def schema(**parts: Any) -> dict[str, Any]:
    return {"type": "object", "properties": parts}


STRING, MENU = {"type": "string"}, {"type": "string", "enum": ["yes", "no"]}
PLAIN = Prompt([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How many?"}])
FORM = Prompt([{"role": "user", "content": "Is it polite?"}], schema(label=MENU, explanation=STRING))
LISTS = Prompt([{"role": "user", "content": "Which?"}], schema(all={"type": "array", "items": STRING}))


def prompts(*own: Prompt, **fields: Any) -> Prompts:
    return Prompts(prompts=own, sampling=Sampling(), **fields)


def test_prompts_and_questions_of_candidates_are_asked_by_label() -> None:
    options = OptionScores(about=["x"], label="choice", questions=[Question("Which?", ("tea", "milk"))])
    asked = askable([prompts(PLAIN, FORM, LISTS, label="native"), prompts(PLAIN, role="judge"), options])
    assert (
        {label: [each.page[:4] for each in own] for label, own in asked.items()}
        == {
            "native": [TEXT[:4], "form"],  # no form has a list of any length
            "choice": [CHOICE[:4]],
        }
    )
    assert asked["native"][0].content == {"prompt": "Be brief.\n\nHow many?"}
    assert asked["choice"][0].content["options"] == ["A. tea", "B. milk"]


def test_pages_are_valid_and_an_answer_is_what_a_model_would_write() -> None:
    asked = askable([prompts(PLAIN, FORM, label="native")])["native"]
    form, plain = sorted((FormPage(**page) for page in pages(asked)), key=lambda page: page.name == TEXT)
    assert [field.kind for field in form.fields] == ["choice", "text"]
    values = dict(zip((field.name for field in form.fields), ("yes", "It is."), strict=True))
    assert json.loads(reply(form.name, values)) == {"label": "yes", "explanation": "It is."}
    assert reply(plain.name, {TEXT: "3"}) == "3"
    assert len({field.name for page in (form, plain) for field in page.fields}) == 3
