"""Loads engines from specs. Engines stay loaded while they fit (``memory``); the least recently used leave
first.

So a candidate, a simulator and a judge that take turns are each loaded once.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import RLock
from typing import Any

from tasks.engines import checkpoint, content, embedders, proofs
from tasks.engines.extras import needed_by
from tasks.engines.local import embedded, hub_models, memory
from tasks.engines.protocols import Ability, Embedder, EngineError, Jobs
from tasks.engines.published import published_answers
from tasks.engines.served.providers import SERVERS, check_settings
from tasks.engines.specs import (
    IMPORTED,
    WITHOUT_WEIGHTS,
    EngineSpec,
    catalogue,
    check_trust,
    hashes_in,
    resolved,
)

CLASSES = {
    "openai": "served.openai_http.OpenAIGenerator",
    "anthropic": "served.anthropic_http.AnthropicGenerator",
    "google": "served.google_http.GoogleGenerator",
    "fake": "fake.FakeEngine",
    "published": "published.PublishedAnswers",
    "vllm": "local.vllm_engine.VllmEngine",
    "packed_trie": "local.packed_trie.PackedTrieScorer",
    "masked": "local.masked.MaskedScorer",
    "seq2seq": "local.seq2seq.Seq2SeqScorer",
}
"""Kind -> module and class; imported on use, because torch and vLLM take seconds."""
NO_LOGPROBS = "a server gives no log-probabilities of given texts"
WHOLE_TEXTS = {
    **dict.fromkeys(SERVERS, NO_LOGPROBS),
    "masked": "an encoder-only model gives no probability of a whole answer",
    "seq2seq": "an encoder-decoder model does not continue a prompt",
}
"""Kinds that are no ``Scorer`` -> why."""


@dataclass(frozen=True)
class _Loaded:
    engine: Any
    claim: memory.Claim


_lock = RLock()
_loaded: dict[str, _Loaded] = {}
"""Engines in memory, the least recently used first."""


def check_ability(spec: EngineSpec, ability: Ability) -> None:
    """Check without loading that an engine has an ability.

    Args:
        ability: "score" texts after a prompt (``Scorer``), score "candidates" in a blank
            (``CandidateScorer``), "generate" (``Generator``), or look up "published" answers.

    Raises:
        EngineError: it lacks the ability (the message names kinds that have it), it needs a permission
            (``check_trust``), or its model does not accept its reasoning or web search (``providers``).
    """
    if spec.kind == IMPORTED:
        if ability != "imported":
            raise EngineError(
                f"model {spec.name!r}: its answers come from a log, so it cannot run: name another kind"
            )
        return
    check_trust(spec)
    kind = spec.kind
    match ability:
        case "imported":
            raise EngineError(
                f"model {spec.name!r}: imported answers are not generated: culturemeter import takes logs"
            )
        case "published":
            published_answers(Path(spec.model))
        case _ if kind == "published":
            raise EngineError(
                f"model {spec.name!r}: {spec.model} has published predictions, which only "
                "fmlama scores; choose a model that can run"
            )
        case "score" if kind in WHOLE_TEXTS:
            raise EngineError(
                f'model {spec.name!r} (kind "{kind}"): {WHOLE_TEXTS[kind]}; use kind "packed_trie" or "vllm" '
                "with the weights of a decoder-only model"
            )
        case "candidates" if spec.is_served:
            raise EngineError(
                f'model {spec.name!r} (kind "{kind}"): {NO_LOGPROBS}; use kind "packed_trie", "masked", '
                '"seq2seq" or "vllm" with the model\'s weights'
            )
        case "generate" if spec.is_served:
            check_settings(spec)
        case "generate" if kind in ("packed_trie", "masked", "seq2seq"):
            with_vllm = f"{spec.name}-vllm"
            advice = (
                'set kind = "vllm" to generate, or "openai" with the base_url of a server that has the model'
            )
            if with_vllm in catalogue():
                advice = f"use {with_vllm}, the same model with vLLM, to generate"
            raise EngineError(f'model {spec.name!r}: kind "{kind}" only scores; {advice}')


def check_key(spec: EngineSpec) -> None:
    """Send one small, free request to the server of a spec; do nothing for an engine on this machine.

    Raises:
        EngineError: the key is not set, or the server refuses it.
    """
    if spec.is_served:
        _class(spec)(spec).check_key()


def load(spec: EngineSpec, cache: Path, ability: Ability | None = None, jobs: Jobs | None = None) -> Any:
    """Return the engine of a spec, loaded now or earlier.

    If memory is short, engines loaded earlier are closed, the least recently used first. So finish calls on
    an engine before loading another, and load it again for the next call instead of holding it. A single
    engine is loaded whatever its size. Engines of servers take no memory here and are not cached.

    Args:
        cache: folder of the embedded models, ``$CULTUREMETER_HOME/models``.
        ability: see ``check_ability``; decides the engine's protocol.
        jobs: notes in which a server's engine records the jobs of this request.

    Raises:
        EngineError: the model or a dependency is missing, or it lacks the ability; the message says what to
            do.
    """
    check_trust(spec)
    if ability is not None:
        check_ability(spec, ability)
    if spec.is_served:
        return _class(spec)(spec, jobs)
    with _lock, needed_by(f"model {spec.name!r}"):
        spec = resolved_for(spec, _key(spec, cache), cache)
        key = _key(spec, cache)
        source = "" if key in _loaded else whole(spec, cache)
        return cached(
            key, partial(memory.of_engine, spec, source), partial(_build_whole, spec, source, cache)
        )


def whole(spec: EngineSpec, cache: Path) -> str:
    """Return the folder of a model with all its files, which are fetched and checked; "" if it has none."""
    source = embedded.resolve(spec, cache)
    if not source:
        return ""
    is_on_hub = not spec.model.startswith(content.PREFIX) and not content.is_folder(spec.model)
    folder = hub_models.fetched(spec) if is_on_hub else Path(source)
    try:
        checkpoint.check(spec.name, folder)
    except EngineError as error:
        if spec.model.startswith(content.PREFIX):
            raise EngineError(f"{error}; delete {folder}, and it is prepared again") from error
        raise
    return str(folder)


def fits(spec: EngineSpec, cache: Path) -> bool:
    """Return whether an engine is loaded or fits beside the loaded ones; always true for a server."""
    if spec.is_served:
        return True
    spec = resolved_for(spec, _key(spec, cache), cache)
    return claim_fits(_key(spec, cache), partial(_claim, spec, cache))


def resolved_for(spec: EngineSpec, key: str, cache: Path) -> EngineSpec:
    """Return ``resolved``, which notices a folder that has changed, unless the engine is loaded."""
    with _lock:
        return spec if key in _loaded else resolved(spec, hashes_in(cache))


def _key(spec: EngineSpec, cache: Path) -> str:
    return f"{cache.resolve()} {spec.model_dump_json()}"


def _claim(spec: EngineSpec, cache: Path) -> memory.Claim:
    return memory.of_engine(spec, embedded.resolve(spec, cache))


def unload() -> None:
    """Close all loaded engines and free their memory."""
    with _lock:
        _close(list(_loaded))


def embedder(source: str, cache: Path) -> Embedder:
    """Return an embedder, loaded now or earlier; embedders and engines share the memory.

    Files and folders are hashed on every call, so changed ones are loaded again. See
    ``embedders.load_embedder`` for source and errors.
    """
    with _lock, needed_by(f"embedder {source!r}"):
        key = f"{cache.resolve()} {source} {embedders.embedder_name(source)}"
        path = source if key in _loaded else embedders.resolve(source, cache)
        build = partial(embedders.load_embedder, source, cache)
        loaded: Embedder = cached(key, partial(memory.of_embedder, path), build)
        return loaded


def embedder_fits(source: str, cache: Path) -> bool:
    """Return whether an embedder is loaded, or can be loaded without unloading another engine."""
    key = f"{cache.resolve()} {source} {embedders.embedder_name(source)}"
    return claim_fits(key, lambda: memory.of_embedder(embedders.resolve(source, cache)))


def claim_fits(key: str, claim: Callable[[], memory.Claim]) -> bool:
    """Return whether the engine under a key is loaded, or its claim fits beside the loaded engines."""
    with _lock:
        return key in _loaded or not _evicted(claim())


def cached(key: str, claim: Callable[[], memory.Claim], build: Callable[[], Any]) -> Any:
    """Return the engine under a key, loaded earlier or built now; others are closed if memory is short."""
    with _lock:
        if key in _loaded:
            _loaded[key] = _loaded.pop(key)
        else:
            _make_room(claim())
            engine = build()
            _loaded[key] = _Loaded(engine, claim())  # a model's size is known once it is downloaded
        return _loaded[key].engine


def _make_room(claim: memory.Claim) -> None:
    """Close engines on the claim's device until it fits, or none is left."""
    _close(_evicted(claim))


def _evicted(claim: memory.Claim) -> list[str]:
    """Return the engines to close for a claim, the least recently used first."""
    evicted = list[str]()
    for device in claim.devices:
        limit = claim.limit if claim.limit is not None else memory.budget(device)
        on_it = {key: each.claim for key, each in _loaded.items() if device in each.claim.devices}
        sizes = {key: there.bytes for key, there in on_it.items() if key not in evicted}
        while sizes and sum(sizes.values()) + claim.bytes > limit:
            evicted.append(next(iter(sizes)))
            del sizes[evicted[-1]]
    return evicted


def _close(keys: list[str]) -> None:
    if not keys:
        return
    for key in keys:
        engine = _loaded.pop(key).engine
        if hasattr(engine, "close"):
            engine.close()
        del engine
    gc.collect()
    torch = sys.modules.get("torch")  # imported only by engines that use it
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def _build_whole(spec: EngineSpec, source: str, cache: Path) -> Any:
    """Return a new engine; raises EngineError if its files changed while they were read."""
    record = proofs.record_of(spec, cache)
    reach = proofs.read(record) if record is not None else None
    engine = _build(spec, source, reach) if reach else _build(spec, source)
    try:
        resolved(spec, hashes_in(cache))
    except EngineError:
        engine.close()
        raise
    if record is not None:
        engine.on_proof = partial(proofs.write, record, spec)
        if engine.proven != reach:
            engine.on_proof(engine.proven)
    return engine


def _build(spec: EngineSpec, source: str, proven: tuple[int, int] | None = None) -> Any:
    """Return a new engine. proven: how far it has proven its scores before (``proofs``)."""
    if spec.kind in WITHOUT_WEIGHTS:
        return _class(spec)(spec)
    return _class(spec)(spec, source, proven) if proven else _class(spec)(spec, source)


def _class(spec: EngineSpec) -> Any:
    module, _, name = CLASSES[spec.kind].rpartition(".")
    return getattr(import_module(f"tasks.engines.{module}"), name)
