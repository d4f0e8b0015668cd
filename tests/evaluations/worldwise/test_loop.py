"""The loop on a real warehouse with fake models: no prompt or text is sent twice.

Failures common to all evaluations are in ``tests/golden``, runs on a Prefect server in ``tests/flows``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flows.evaluation import evaluate
from tasks.engines import load
from tasks.engines.fake import FakeEngine
from tasks.engines.local.fasttext_vectors import VecVectors
from tasks.engines.protocols import EngineError, Generation, Samplings, each
from tasks.evaluations.worldwise.evaluation import EVALUATION
from tasks.evaluations.worldwise.params import WorldwiseParams
from warehouse import Warehouse, run_checks

TEXTS = """
SELECT text FROM exemplar UNION ALL SELECT concat_ws(' ', text, option_a, option_b) FROM scenario
UNION ALL SELECT label || ', ' || label || '. Neither.' FROM guiding_value
"""
BY_HAND = """
SELECT model, avg(alignment) AS alignment, avg(abs(score - target)) AS hofstede_mae,
    stddev_samp(alignment) AS alignment_sd
FROM worldwise_answer WHERE target IS NOT NULL AND score IS NOT NULL GROUP BY model ORDER BY model
"""
LEADERS = """
SELECT model, alignment, hofstede_mae, alignment_sd FROM leaderboard_worldwise
WHERE config_hash = ? AND NOT is_null ORDER BY model
"""
N_SAMPLES = 36


Sent = tuple[list[tuple[str, int]], list[str]]
"""Prompts with their seeds, and embedded texts."""


@contextmanager
def recording(home: Path) -> Iterator[Sent]:
    """Work in this home, and record prompts and embedded texts."""
    sent: Sent = ([], [])
    generate, look_up = FakeEngine.generate, VecVectors.embed

    def generated(self: FakeEngine, talks: Any, samplings: Samplings, *more: Any) -> list[Generation]:
        own = [sampling.seed for sampling in each(samplings, len(talks))]
        texts = (json.dumps([dict(m) for m in talk]) for talk in talks)
        sent[0].extend(zip(texts, own, strict=True))
        return generate(self, talks, samplings, *more)

    def looked_up(self: VecVectors, texts: Sequence[str], *more: Any) -> Any:
        sent[1].extend(texts)
        return look_up(self, texts, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTUREMETER_HOME", str(home))
        patch.setattr(FakeEngine, "generate", generated)
        patch.setattr(VecVectors, "embed", looked_up)
        load.unload()
        yield sent
        load.unload()


Finished = tuple[Path, str, Sent]


@pytest.fixture(scope="module")
def finished(copied_home: Callable[[], Path]) -> Finished:
    """A home with a run of fake-a, its config_hash and its prompts."""
    home = copied_home()
    (home / "engines").mkdir()
    (home / "engines" / "fake-a.toml").write_text('kind = "fake"\nmodel = "fake-a"\n')
    words = sorted({word for text in Warehouse.open(home).query(TEXTS)["text"] for word in text.split()})
    vectors = [f"{word} {1 + n % 7} {n % 5} {n % 3}" for n, word in enumerate(words)]
    (home / "words.vec").write_text("\n".join([f"{len(words)} 3", *vectors]) + "\n")
    with recording(home) as sent:
        config = run(str(home / "words.vec"))
    return home, config, sent


def run(embedder: str) -> str:
    """Run two cultures and the baseline, a scenario per dimension and two repetitions: 36 answers."""
    chosen: dict[str, Any] = {"cultures": ["IN", "JP"], "scenarios_per_dimension": 1, "repetitions": 2}
    chosen |= {"half_samples": 20, "max_tokens": 320, "embedder": embedder}
    return evaluate(EVALUATION, WorldwiseParams(models=["fake-a"], **chosen))


def test_each_sample_is_generated_once_and_stored_as_a_row(finished: Finished) -> None:
    home, config, (prompts, embedded) = finished
    assert len(prompts) == len(set(prompts)) == N_SAMPLES
    assert len(embedded) == len(set(embedded)) > 0
    warehouse = Warehouse.open(home)
    rows = warehouse.query("SELECT DISTINCT culture, scenario, repetition FROM worldwise_answer")
    assert rows.height == warehouse.query("SELECT * FROM worldwise_answer").height == N_SAMPLES
    assert set(rows["culture"]) == {"baseline", "IN", "JP"}
    texts = warehouse.query(
        "SELECT a.explanation, r.text FROM worldwise_answer AS a "
        "JOIN response AS r ON r.item = a.item AND r.model = a.model "
        "WHERE a.config_hash = ?",
        [config],
    )
    assert texts.height == N_SAMPLES
    assert all(json.loads(text)["explanation"] == explanation for explanation, text in texts.rows())
    assert warehouse.query("SELECT DISTINCT status FROM run")["status"].to_list() == ["finished"]
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_leaderboard_equals_sql_over_single_answers(finished: Finished) -> None:
    home, config, _ = finished
    warehouse = Warehouse.open(home)
    by_hand = warehouse.query(BY_HAND).row(0, named=True)
    shown = warehouse.query(LEADERS, [config]).row(0, named=True)
    assert shown == pytest.approx(by_hand)


def test_unknown_embedder_is_refused_before_any_prompt(finished: Finished) -> None:
    with recording(finished[0]) as sent:
        with pytest.raises(EngineError, match="unknown embedder 'MiniLM'"):
            run("MiniLM")
        assert sent == ([], [])
