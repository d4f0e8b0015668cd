"""A real model has equal transcripts at every batch size.

vLLM in process, as the packed engine only scores. Each prompt draws from its own generator; batches change
the last digits of sums, which in float32 decide no token here.
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


def transcripts(smollm2: VllmEngine, personas: list[str], batch: int) -> Transcripts:
    """Return speakers and texts, turn by turn, of conversations sent in batches of this size."""
    short = {"max_turns": 4, "max_tokens": 32, "simulator_max_tokens": 32, "repetitions": 1}
    talks: ExplicationStudy = study(personas=personas, judges=[], **short)
    scripts: Any = {"m": smollm2, "sim": smollm2}
    Loop(scripts).run(talks, batch=batch)
    stage = talks.progress_of(engine("m")).stage
    return {key: [(turn.speaker, turn.written) for turn in stage.talks[key].turns] for key in talks.real()}


def test_equal_seeds_give_equal_transcripts_at_every_batch_size(smollm2: VllmEngine) -> None:
    first, several = list(PERSONAS)[:2], list(PERSONAS)[:16]
    every = transcripts(smollm2, several, 32)
    assert len(every) == 32
    few = {key: turns for key, turns in every.items() if key.persona in first}
    assert transcripts(smollm2, first, 1) == few
    assert transcripts(smollm2, first, 3) == few
    assert len({tuple(turns) for turns in every.values()}) > 8
