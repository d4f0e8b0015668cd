"""Sessions of an invented evaluation, for tests of the loop without engines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from types import SimpleNamespace
from typing import Any

from flows.session import RunSession
from tasks.engines.protocols import Sampling
from tasks.engines.specs import EngineSpec
from tasks.evaluations.contract import Evaluation, Params, Shared, Tables
from tasks.loop.plan import Answer
from tasks.loop.prompts import Prompt, Prompts
from tasks.loop.requests import Engine

SPEC = EngineSpec(name="m", kind="fake", model="m")


def engine(name: str, spec: EngineSpec | None = SPEC) -> Engine:
    """Return an engine with its own hash; without a spec it is only read from."""
    if spec is SPEC:
        spec = SPEC.model_copy(update={"name": name, "model": name})
    return Engine(name, "fake", name, spec.hash() if spec else f"hash of {name}", spec)


JUDGE = engine("judge")


def prompts(text: str = "?", **fields: Any) -> Prompts:
    """Return a request of one prompt."""
    prompt = Prompt([{"role": "user", "content": text}])
    return Prompts(**{"label": "items", "sampling": Sampling(), "prompts": (prompt,), "batch": 1, **fields})


def session(
    *models: str,
    ask: Callable[[Any, Any], Sequence[Any]] = lambda study, completions: [],
    shared: Shared[Any] | None = None,
    spec: EngineSpec | None = SPEC,
    occasion: str = "",
    **of_evaluation: Any,
) -> RunSession:
    """Return a session of models with one spec, and a judge called "judge"."""
    made: dict[str, Any] = {
        "name": "cure", "params": Params, "tables": {}, "study": lambda *_: None, "ask": ask,
        "read": lambda *_: None, "rows": lambda *_: Tables({}), "shared": shared,
    }  # fmt: skip
    study: Any = SimpleNamespace(
        params=Params(models=list(models), occasion=occasion), config_hash=lambda: "config", materials={}
    )
    candidates = {name: engine(name, spec) for name in models}
    evaluation = Evaluation[Any, Any, Any](**made | of_evaluation)
    return RunSession(evaluation, study, candidates, {"judge": JUDGE})


def unstored(answers: Mapping[str, Collection[Answer]], stored: Set[Answer] = frozenset()) -> set[Answer]:
    """Return what ``steps.unstored`` returns if these answers are stored."""
    return {answer for own in answers.values() for answer in own} - stored
