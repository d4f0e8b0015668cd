"""The harness's own evaluation of a fake engine has our numbers: equal prompts, filters and metrics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import RAW, EngineError, Sampling, TextPair
from tasks.engines.specs import EngineSpec
from tests.evaluations.harness.tasks_written import TASKS, numbers_of_both, run_both, write_tasks

ENGINE = FakeEngine(EngineSpec(name="fake", kind="fake", model="fake"))


def peer() -> Any:
    """Return our fake engine as a model of the harness; conversations are rendered as JSON."""
    from lm_eval.api.model import LM

    class Peer(LM):
        tokenizer_name = "fake"

        def loglikelihood(self, requests: Any, **_: Any) -> list[tuple[float, bool]]:
            scores = ENGINE.score_pairs([TextPair(*request.args) for request in requests])
            return list(zip(scores.logprob.tolist(), scores.is_greedy.tolist(), strict=True))

        def generate_until(self, requests: Any, **_: Any) -> list[str]:
            texts = [request.args[0] for request in requests]
            talks = [json.loads(t) if t[0] == "[" else [{"role": RAW, "content": t}] for t in texts]
            return [generation.text for generation in ENGINE.generate(talks, Sampling())]

        def loglikelihood_rolling(self, requests: Any, **_: Any) -> list[float]:
            raise AssertionError

        def apply_chat_template(self, chat_history: Any, add_generation_prompt: bool = True) -> str:
            return json.dumps(chat_history)

        def chat_template(self, chat_template: bool | str = False) -> str:
            return ""

    return Peer()


@pytest.mark.nets(5)
@pytest.mark.parametrize("name", TASKS)
def test_metrics_equal_the_harnesss(name: str, tmp_path: Path) -> None:
    def completions(request: Any) -> Any:
        return request.decode(request.compute(ENGINE, request.units, lambda n: None))

    values, ours = numbers_of_both(*run_both(peer(), name, tmp_path, completions))
    assert ours == pytest.approx(values, rel=1e-6)


def test_the_harness_runs_our_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import lm_eval
    from lm_eval.api.registry import model_registry
    from lm_eval.tasks import TaskManager

    from culturemeter.lm_eval_model import CulturemeterModel

    assert "hf" in model_registry  # its own models are still found
    (tmp_path / "engines").mkdir()
    (tmp_path / "engines" / "tiny.toml").write_text('kind = "fake"\nmodel = "fake"\n')
    monkeypatch.setenv("CULTUREMETER_HOME", str(tmp_path))
    files = [str(file) for file in write_tasks(tmp_path, ["plain", "written"]).values()]
    own, other = (
        lm_eval.simple_evaluate(
            model, model_args="pretrained=tiny" if isinstance(model, str) else None, tasks=files,
            bootstrap_iters=0, task_manager=TaskManager(include_defaults=False),
        )["results"]
        for model in ("culturemeter", peer())
    )  # fmt: skip
    assert own == other
    with pytest.raises(ValueError, match="model_args: unknown argument 'revision'; known: pretrained, dtype"):
        CulturemeterModel("tiny", revision="main")
    model = CulturemeterModel("tiny")
    with pytest.raises(EngineError, match="loglikelihood_rolling is not available here"):
        model.loglikelihood_rolling([])
    with pytest.raises(EngineError, match="leave --apply_chat_template out"):
        model.chat_template(True)
