"""A real model with seeds of its own: transcripts are the same however many conversations are sent at once.

vLLM in process, since the packed engine scores and writes nothing. Each prompt draws from its own generator;
what another batch adds up in another order are last digits, which in float32 decide no token here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tasks.engines.specs import EngineSpec
from tasks.evaluations.explication.study import ConversationKey, ExplicationStudy
from tests.evaluations.explication.conftest import PERSONAS, Loop, engine, study

pytest.importorskip("vllm", reason="the extra [cpu] or [gpu] is not installed")

from tasks.engines.local.vllm_engine import VllmEngine

pytestmark = [pytest.mark.slow, pytest.mark.heavy]

Transcripts = dict[ConversationKey, list[tuple[str, str]]]


@pytest.fixture(scope="module")
def smollm2(smollm2_folder: Path) -> Iterator[VllmEngine]:
    spec = EngineSpec(
        name="smol", kind="vllm", model="embedded:smollm2-135m", dtype="float32",
        options={"max_model_len": 2048, "kv_cache_memory_bytes": 1 << 30, "max_num_seqs": 32},
    )  # fmt: skip
    smollm2 = VllmEngine(spec, str(smollm2_folder))
    yield smollm2
    smollm2.close()


def held(smollm2: VllmEngine, personas: list[str], batch: int) -> Transcripts:
    """What is said, turn by turn, when so many conversations are sent at once."""
    short = {"max_turns": 4, "max_tokens": 32, "simulator_max_tokens": 32, "repetitions": 1}
    talks: ExplicationStudy = study(personas=personas, judges=[], **short)
    scripts: Any = {"m": smollm2, "sim": smollm2}
    Loop(scripts).run(talks, batch=batch)
    stage = talks.progress_of(engine("m")).stage
    return {key: [(turn.speaker, turn.written) for turn in stage.talks[key].turns] for key in talks.real()}


def test_equal_seeds_give_equal_transcripts_whatever_the_batch(smollm2: VllmEngine) -> None:
    first, several = list(PERSONAS)[:2], list(PERSONAS)[:16]
    every = held(smollm2, several, 32)
    assert len(every) == 32
    few = {key: said for key, said in every.items() if key.persona in first}
    assert held(smollm2, first, 1) == few
    assert held(smollm2, first, 3) == few
    assert len({tuple(said) for said in every.values()}) > 8  # it does not say the same to everybody
