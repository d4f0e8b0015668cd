"""One name of a model stands for the engine that scores it and for the engine that writes with it."""

from __future__ import annotations

import pytest

from deployments.evaluations import evaluation, params
from flows.session import prepare
from tasks.engines.specs import EngineSpec, writer

WRITTEN = ("cure", "culturall", "explication", "worldwise")
SCORED = ("fmlama", "spectral")
MODEL = "smollm2-135m"


@pytest.mark.slow
@pytest.mark.usefixtures("warehouse")
@pytest.mark.parametrize(
    ("name", "kind"), [*((each, "vllm") for each in WRITTEN), *((each, "packed_trie") for each in SCORED)]
)
def test_a_model_is_scored_by_the_trie_and_writes_with_vllm(name: str, kind: str) -> None:
    judged = {"judges": [MODEL]} if name in ("cure", "culturall") else {}
    session = prepare(evaluation(name), params(name)(models=[MODEL], **judged))
    assert [engine.kind for engine in session.candidates.values()] == [kind]
    assert all(engine.kind == "vllm" for engine in session.engines.values() if engine.kind != "embedder")
    assert not session.failures


def test_settings_of_the_scorer_stay_with_the_scorer() -> None:
    for fields in ({"compile": True}, {"options": {"memory_gib": 2}}, {"kind": "masked"}, {"kind": "fake"}):
        spec = EngineSpec(name="m", model="m", **fields)
        assert writer(spec) == spec
