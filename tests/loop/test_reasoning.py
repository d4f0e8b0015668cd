"""Reasoning before an answer is stored, and neither read, judged nor shown."""

from __future__ import annotations

import json
import math

import pytest

from tasks.engines.protocols import Generation, Sampling, TokenAlternatives
from tasks.loop.prompts import Prompt, Prompts
from tasks.loop.replies import CUT_OFF, EMPTY, no_text
from tasks.loop.written import option_logprobs, without_reasoning

ANSWER = '{"label": "yes"}'


@pytest.mark.parametrize(
    "text",
    [
        "<think>no, or\nyes?</think>{}",
        "<think>\n\n</think>\n\n{}",
        "\n<THINKING>no</THINKING> {}",
        "<reasoning>a <think> b</reasoning>{}",
        "<think>a</think>\n<think>b</think>{}",
        "<think>a <think>b</think> c</think>{}",
        "the template opened it, so no\n</think>\n{}",
        "[THINK]no[/THINK]{}",
        "◁think▷no◁/think▷{}",
        "<|begin_of_thought|>no<|end_of_thought|>{}",
        "<|channel|>analysis<|message|>no<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
        "<|channel|>analysis<|message|>no<|end|><|channel|>final <|constrain|>json<|message|>{}",
        "analysisWe are asked for no.assistantfinal{}",
    ],
)
def test_reasoning_before_an_answer_is_removed(text: str) -> None:
    assert without_reasoning(text.replace("{}", ANSWER)) == ANSWER
    assert without_reasoning(text.replace("{}", "Yes, it is.")) == "Yes, it is."


@pytest.mark.parametrize(
    "text",
    [
        "",
        " Yes. ",
        ANSWER,
        '{"explanation": "a </think> b"}',
        "Yes. <think> is a tag.",
        "Analysis of the norm: yes.",
        "analysis of the norm",
        "Thinking of it, yes",
    ],
)
def test_a_text_without_reasoning_is_not_changed(text: str) -> None:
    assert without_reasoning(text) == text


@pytest.mark.parametrize(
    "text", ["<think>no", "<think>", "<|channel|>analysis<|message|>no", "analysisWe need"]
)
def test_unended_reasoning_has_no_answer(text: str) -> None:
    assert without_reasoning(text) == ""


def test_long_hostile_texts_are_read_in_linear_time() -> None:
    assert without_reasoning("<think>" * 100_000) == ""
    assert without_reasoning("<think></think>" * 100_000 + "a") == "a"
    assert without_reasoning("</think>" * 100_000 + "a") == "a"


class Thinks:
    """A model that reasons and is cut off before it answers the second prompt."""

    def generate(self, conversations: object, *more: object) -> list[Generation]:
        return [
            Generation(f"<think>no</think>{ANSWER}", "stop", 1, 9),
            Generation("<think>no", "length", 1, 9),
            Generation("<think>no</think>", "stop", 1, 9),
        ]


def test_reasoning_is_stored_and_not_read() -> None:
    prompts = [Prompt([{"role": "user", "content": text}]) for text in "abc"]
    request = Prompts(prompts=prompts, sampling=Sampling())
    frame = request.compute(Thinks(), request.units, lambda _: None)
    assert all(text.startswith("<think>no") for text in frame["text"])
    answered, cut, empty = (request.decode(frame)[prompt.id] for prompt in prompts)
    assert answered.text == ANSWER
    assert (no_text(answered), no_text(cut), no_text(empty)) == (None, CUT_OFF, EMPTY)


@pytest.mark.parametrize(("written", "field"), [("yes", ""), (ANSWER, "label")])
def test_log_probabilities_of_options_are_those_of_the_answer(written: str, field: str) -> None:
    text = f"<think>{json.dumps({'label': 'no'})} no</think>{written}"
    before, after = text[: (at := text.rindex("yes"))], text[at + 3 :]
    tokens = [
        TokenAlternatives(before, {before: 0.0}),
        TokenAlternatives("yes", {"yes": math.log(0.75), "no": math.log(0.25)}),
        TokenAlternatives(after, {after: 0.0}),
    ]
    expected = {"yes": math.log(0.75), "no": math.log(0.25)}
    assert option_logprobs(tokens, text, ("yes", "no"), field) == expected
