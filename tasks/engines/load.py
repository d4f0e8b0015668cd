"""From a spec to a loaded engine; at most one model is in memory at a time.

Flows work model by model, so the last engine is kept and handed out again until another is asked for.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from threading import RLock
from typing import Protocol

from tasks.engines import embedded
from tasks.engines.protocols import CandidateScorer, EngineError, Generator, Scorer
from tasks.engines.specs import EngineSpec


class Closable(Protocol):
    """What every engine with a model in memory can do besides."""

    def close(self) -> None:
        """Give the model's memory back."""
        ...


Engine = Scorer | CandidateScorer | Generator

WHOLE_TEXTS = {
    "openai": "a server gives no log-probabilities of given texts",
    "masked": "an encoder-only model gives no probability of a whole answer",
    "seq2seq": "an encoder-decoder model does not continue a prompt",
}
"""Kinds that cannot be a ``Scorer``, and why."""

_lock = RLock()
_loaded: tuple[str, Engine] | None = None


def load(spec: EngineSpec, cache: Path) -> Engine:
    """The engine of a spec, loaded now or kept from the last call.

    An engine that was handed out before is closed when another model is loaded, so let calls on it end
    first. Servers (kind "openai") hold no memory here and leave the loaded engine alone.

    Args:
        cache: folder of the embedded models, ``$CULTURESCOPE_HOME/models``.

    Raises:
        EngineError: the model or what it needs is missing; the message says what to do.
    """
    global _loaded
    if spec.kind == "openai":
        return _build(spec, cache)
    key = f"{cache.resolve()} {spec.model_dump_json()}"
    with _lock:
        if _loaded is None or _loaded[0] != key:
            unload()
            _loaded = (key, _build(spec, cache))
        return _loaded[1]


def unload() -> None:
    """Close the loaded engine, if any, and give its memory back."""
    global _loaded
    with _lock:
        if _loaded is None:
            return
        engine, _loaded = _loaded[1], None
        if hasattr(engine, "close"):
            engine.close()
        del engine
        gc.collect()
        torch = sys.modules.get("torch")  # loaded by whoever used it, never for this
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.empty_cache()


def scorer(spec: EngineSpec, cache: Path) -> Scorer:
    """Load an engine that gives log-probabilities.

    Raises:
        EngineError: this kind of engine cannot, or see ``load``.
    """
    if spec.kind in WHOLE_TEXTS:
        raise EngineError(
            f'model {spec.name!r} (kind "{spec.kind}"): {WHOLE_TEXTS[spec.kind]}; use kind "packed_trie" or '
            '"vllm" with the weights of a decoder-only model'
        )
    engine = load(spec, cache)
    assert isinstance(engine, Scorer)
    return engine


def candidate_scorer(spec: EngineSpec, cache: Path) -> CandidateScorer:
    """Load an engine that scores candidates in a blank.

    Raises:
        EngineError: this kind of engine cannot, or see ``load``.
    """
    if spec.kind == "openai":
        raise EngineError(
            f'model {spec.name!r} (kind "openai"): {WHOLE_TEXTS["openai"]}; use kind "packed_trie", '
            '"masked", "seq2seq" or "vllm" with the model\'s weights'
        )
    engine = load(spec, cache)
    assert isinstance(engine, CandidateScorer)
    return engine


def generator(spec: EngineSpec, cache: Path) -> Generator:
    """Load an engine that writes text.

    Raises:
        EngineError: this kind of engine cannot, or see ``load``.
    """
    if spec.kind in ("packed_trie", "masked", "seq2seq"):
        raise EngineError(
            f'model {spec.name!r}: kind "{spec.kind}" only scores; set kind = "vllm" to generate, or '
            '"openai" with the base_url of a server that has the model'
        )
    engine = load(spec, cache)
    assert isinstance(engine, Generator)
    return engine


def _build(spec: EngineSpec, cache: Path) -> Engine:
    """Import only what the kind needs: torch and vLLM take seconds."""
    match spec.kind:
        case "openai":
            from tasks.engines.openai_http import OpenAIGenerator

            return OpenAIGenerator(spec)
        case "fake":
            from tasks.engines.fake import FakeEngine

            return FakeEngine(spec)
        case "vllm":
            from tasks.engines.vllm_engine import VllmEngine

            return VllmEngine(spec, embedded.resolve(spec, cache))
        case "packed_trie":
            from tasks.engines.packed_trie import PackedTrieScorer

            return PackedTrieScorer(spec, embedded.resolve(spec, cache))
        case "masked":
            from tasks.engines.masked import MaskedScorer

            return MaskedScorer(spec, embedded.resolve(spec, cache))
        case "seq2seq":
            from tasks.engines.seq2seq import Seq2SeqScorer

            return Seq2SeqScorer(spec, embedded.resolve(spec, cache))
