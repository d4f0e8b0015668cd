"""From a spec to a loaded engine. As many stay in memory as fit (``memory``); the least recently used go.

So a candidate, a simulator and a judge that talk by turns are each loaded once.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any, Literal

from tasks.engines import embedded, embedders, memory
from tasks.engines.protocols import CandidateScorer, Embedder, EngineError, Generator, Scorer
from tasks.engines.specs import EngineSpec, resolved

Engine = Scorer | CandidateScorer | Generator

Ability = Literal["score", "candidates", "generate"]

NO_LOGPROBS = "a server gives no log-probabilities of given texts"
WHOLE_TEXTS = {
    "openai": NO_LOGPROBS,
    "masked": "an encoder-only model gives no probability of a whole answer",
    "seq2seq": "an encoder-decoder model does not continue a prompt",
}
"""Kinds that cannot be a ``Scorer``, and why."""


@dataclass(frozen=True)
class _Loaded:
    engine: Any
    claim: memory.Claim


_lock = RLock()
_loaded: dict[str, _Loaded] = {}
"""What is in memory, the least recently used first."""


def check_ability(spec: EngineSpec, ability: Ability) -> None:
    """Say whether an engine can do what is wanted of it; nothing is loaded.

    Args:
        ability: "score" texts after a prompt (``scorer``), score "candidates" in a blank
            (``candidate_scorer``), or "generate" (``generator``).

    Raises:
        EngineError: it cannot; says which kinds can.
    """
    kind = spec.kind
    match ability:
        case "score" if kind in WHOLE_TEXTS:
            raise EngineError(
                f'model {spec.name!r} (kind "{kind}"): {WHOLE_TEXTS[kind]}; use kind "packed_trie" or "vllm" '
                "with the weights of a decoder-only model"
            )
        case "candidates" if kind == "openai":
            raise EngineError(
                f'model {spec.name!r} (kind "openai"): {NO_LOGPROBS}; use kind "packed_trie", "masked", '
                '"seq2seq" or "vllm" with the model\'s weights'
            )
        case "generate" if kind in ("packed_trie", "masked", "seq2seq"):
            raise EngineError(
                f'model {spec.name!r}: kind "{kind}" only scores; set kind = "vllm" to generate, or "openai" '
                "with the base_url of a server that has the model"
            )


def load(spec: EngineSpec, cache: Path) -> Engine:
    """The engine of a spec, loaded now or kept from an earlier call.

    Where memory is short, engines that were handed out before are closed, the least recently used first: let
    calls on them end, and ask for an engine again at every turn rather than hold it. A single engine is
    loaded however large it is. Servers (kind "openai") hold no memory here and are not kept.

    Args:
        cache: folder of the embedded models, ``$CULTURESCOPE_HOME/models``.

    Raises:
        EngineError: the model or what it needs is missing; the message says what to do.
    """
    if spec.kind == "openai":
        return _build(spec, "")
    spec = resolved(spec)
    with _lock:
        key = f"{cache.resolve()} {spec.model_dump_json()}"
        source = "" if key in _loaded or spec.kind == "fake" else embedded.resolve(spec, cache)
        engine: Engine = _kept(key, lambda: memory.of_engine(spec, source), lambda: _build(spec, source))
        return engine


def unload() -> None:
    """Close all loaded engines and give their memory back."""
    with _lock:
        _close(list(_loaded))


def scorer(spec: EngineSpec, cache: Path) -> Scorer:
    """Load an engine that gives log-probabilities.

    Raises:
        EngineError: see ``check_ability`` and ``load``.
    """
    check_ability(spec, "score")
    engine = load(spec, cache)
    assert isinstance(engine, Scorer)
    return engine


def candidate_scorer(spec: EngineSpec, cache: Path) -> CandidateScorer:
    """Load an engine that scores candidates in a blank.

    Raises:
        EngineError: see ``check_ability`` and ``load``.
    """
    check_ability(spec, "candidates")
    engine = load(spec, cache)
    assert isinstance(engine, CandidateScorer)
    return engine


def generator(spec: EngineSpec, cache: Path) -> Generator:
    """Load an engine that writes text.

    Raises:
        EngineError: see ``check_ability`` and ``load``.
    """
    check_ability(spec, "generate")
    engine = load(spec, cache)
    assert isinstance(engine, Generator)
    return engine


def embedder(
    source: str, cache: Path, revision: str | None = None, stage: Callable[[str], None] | None = None
) -> Embedder:
    """An embedder, loaded now or kept from an earlier call; shares the memory with the engines.

    Files and folders are read for their hash on every call, so that changed ones are loaded anew.

    Raises:
        EngineError: see ``embedders.load_embedder``, whose arguments these are.
    """
    with _lock:
        name = embedders.embedder_name(source, revision)
        key = f"{cache.resolve()} {source} {name}"
        where = source if key in _loaded else embedders.resolve(source, cache, stage)
        loaded: Embedder = _kept(
            key,
            lambda: memory.of_embedder(where, revision),
            lambda: embedders.load_embedder(source, cache, revision, stage),
        )
        return loaded


def _kept(key: str, claim: Callable[[], memory.Claim], build: Callable[[], Any]) -> Any:
    """What is loaded under a key, as the most recently used."""
    if key in _loaded:
        _loaded[key] = _loaded.pop(key)
    else:
        _make_room(claim())
        engine = build()
        _loaded[key] = _Loaded(engine, claim())  # a model's size is known once it is downloaded
    return _loaded[key].engine


def _make_room(claim: memory.Claim) -> None:
    """Close engines on the claim's device until it fits, or none is left."""
    limit = memory.budget(claim.device)
    there = {key: one.claim.bytes for key, one in _loaded.items() if one.claim.device == claim.device}
    leaving = []
    while there and sum(there.values()) + claim.bytes > limit:
        leaving.append(next(iter(there)))
        del there[leaving[-1]]
    _close(leaving)


def _close(keys: list[str]) -> None:
    if not keys:
        return
    for key in keys:
        engine = _loaded.pop(key).engine
        if hasattr(engine, "close"):
            engine.close()
        del engine
    gc.collect()
    torch = sys.modules.get("torch")  # loaded by whoever used it, never for this
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def _build(spec: EngineSpec, source: str) -> Engine:
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

            return VllmEngine(spec, source)
        case "packed_trie":
            from tasks.engines.packed_trie import PackedTrieScorer

            return PackedTrieScorer(spec, source)
        case "masked":
            from tasks.engines.masked import MaskedScorer

            return MaskedScorer(spec, source)
        case "seq2seq":
            from tasks.engines.seq2seq import Seq2SeqScorer

            return Seq2SeqScorer(spec, source)
