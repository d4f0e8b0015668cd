"""Boundaries: statuses of a batch's lines, and turns before the fake engine fills a form."""

from __future__ import annotations

import io
import json

import httpx
import pytest

from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import Sampling, Unfinished
from tasks.engines.secrets import Secrets
from tasks.engines.served.openai_reply import BatchResults
from tasks.engines.served.transport import Caller
from tasks.engines.specs import EngineSpec
from tests.engines.served import completion


@pytest.mark.parametrize(("status", "is_answer"), [(199, False), (200, True), (299, True), (300, False)])
def test_batch_line_is_an_answer_for_status_200_to_299(status: int, is_answer: bool) -> None:
    results = BatchResults(Caller(httpx.AsyncClient(), "", Secrets(None), 1, 0), {"q"})
    line = {"custom_id": "q", "response": {"status_code": status, "body": completion("yes")}}
    results.read(io.BytesIO(json.dumps(line).encode()))
    assert (set(results.answers) == {"q"}) == is_answer
    assert bool(results.reasons()) != is_answer


@pytest.mark.parametrize(("spoken", "is_filled"), [(0, False), (1, False), (2, True), (3, True)])
def test_the_fake_engine_fills_a_form_after_two_turns(spoken: int, is_filled: bool) -> None:
    engine = FakeEngine(EngineSpec(name="m", kind="fake", model="m"))
    form = "Recommend a dish.\n#Dish name: <its name>\n#Ingredients: <a list>"
    talk = [{"role": "user", "content": form}]
    for _ in range(spoken):
        talk += [{"role": "assistant", "content": "Why?"}, {"role": "user", "content": "So."}]
    (answer,) = engine.generate([talk], Sampling())
    assert ("#Dish name:" in answer.text and "#Ingredients:" in answer.text) == is_filled


def test_unfinished_call_has_its_reason_as_its_text() -> None:
    assert str(Unfinished("the line is down", {1: "an answer"})) == "the line is down"
