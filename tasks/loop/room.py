"""Which engines of this machine are in memory together, and how often a run loads each of them.

A candidate and its simulator take turns, so they are best loaded at once. A vLLM engine takes its whole GPU
unless it is bounded. So those that talk get a share each, by the size of their weights and a floor for the KV
cache, where that fits. A share changes how fast answers come, never an answer, and is in no hash.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tasks.engines.local import embedded, memory
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec
from tasks.loop.plan import TALK
from tasks.loop.requests import Engine, Later, Role

VARIABLE = "CULTURESCOPE_GPU_SHARE"
"""Variable with the share of a GPU that each vLLM engine takes, in (0, 1]; else those that talk divide it."""
KV_CACHE_FLOOR = 4 * memory.GIB
"""The least that an engine gets for its KV cache where a GPU is divided."""


def use(share: float | None) -> None:
    """Have each vLLM engine take this share of its GPU, in this process and those that it starts."""
    if share is not None:
        os.environ[VARIABLE] = str(share)


def stated() -> float | None:
    """The share that the variable states.

    Raises:
        EngineError: it is no number in (0, 1].
    """
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise EngineError(f"{VARIABLE} is {text!r}: give the share of a GPU's memory, such as 0.45")
    return share


def divided(
    candidates: Mapping[str, Engine], engines: Mapping[str, Engine], roles: Mapping[str, Role], models: Path
) -> tuple[dict[str, Engine], dict[str, Engine]]:
    """The candidates and the study's other engines, with shares of the GPU where they need some.

    Args:
        roles: of the other engines, by name. models: folder of the embedded models.
    """
    share, simulators = stated(), _simulators(engines, roles)
    shares: dict[str, float] = {}
    if share is not None:
        shares = {e.hash: share for e in [*candidates.values(), *engines.values()] if _takes_all(e)}
    elif simulators and all(map(_takes_all, simulators)):
        writers = [engine for engine in candidates.values() if _takes_all(engine)]
        shares = _shares(writers, simulators, models)
    return (
        {name: _with_share(engine, shares) for name, engine in candidates.items()},
        {name: _with_share(engine, shares) for name, engine in engines.items()},
    )


def loads(
    candidates: Mapping[str, Engine],
    engines: Mapping[str, Engine],
    roles: Mapping[str, Role],
    later: Iterable[Later],
    n_units: int,
    models: Path,
) -> dict[str, int]:
    """Return how often a run loads each engine of this machine at most, by name.

    Once each where they fit together. A simulator that fits beside one candidate at a time is loaded once for
    each of them. One that fits beside none is loaded at every turn, and so are they.

    Args:
        later: what further rounds ask. n_units: that a candidate is sent at once.
    """
    here = {name: engine for name, engine in engines.items() if not (engine.spec and engine.spec.is_served)}
    writers = [engine for engine in candidates.values() if not (engine.spec and engine.spec.is_served)]
    simulators = _simulators(here, roles)
    names = dict.fromkeys(engine.name for engine in [*writers, *here.values()])
    once = dict.fromkeys(names, 1)
    if not (simulators and writers) or fit([*writers, *simulators], models):
        return once
    apart = [writer for writer in writers if not fit([writer, *simulators], models)]
    prompts = sum(each.n for each in later if each.role in TALK)
    turns = max(1, math.ceil(prompts / max(1, n_units) / 2)) if prompts else 1
    alone = {writer.name: 1 + turns for writer in apart}
    for simulator in simulators:
        alone[simulator.name] = len(writers) + len(apart) * turns
    return once | alone


def fit(engines: Sequence[Engine], models: Path) -> bool:
    """Whether engines are in memory together; True where that cannot be known before they are loaded."""
    claims: dict[str, memory.Claim] = {}
    try:
        for engine in engines:
            spec = engine.spec
            if spec and not spec.is_served:
                source = _source(spec, models)
                if not memory.is_known(spec, source):
                    return True
                claims[engine.hash] = memory.of_engine(spec, source)
        sums: dict[str, int] = {}
        for claim in claims.values():
            sums[claim.device] = sums.get(claim.device, 0) + claim.bytes
        return all(total <= memory.budget(device) for device, total in sums.items())
    except (EngineError, ImportError):
        return True


def _simulators(engines: Mapping[str, Engine], roles: Mapping[str, Role]) -> list[Engine]:
    return [engine for name, engine in engines.items() if roles.get(name) == "simulator"]


def _source(spec: EngineSpec, models: Path) -> str:
    """Return the place of the weights, if they are here; a plan downloads nothing."""
    name = spec.model.removeprefix(embedded.PREFIX)
    return spec.model if name == spec.model else str(models / name)


def _takes_all(engine: Engine) -> bool:
    """Whether it is a vLLM engine that would take its whole GPU."""
    spec = engine.spec
    if spec is None or spec.kind != "vllm" or memory.BOUNDS & spec.options.keys():
        return False
    try:
        return memory.on_gpu(spec)
    except (EngineError, ImportError):  # whoever loads it says what is wrong
        return False


def _shares(writers: Sequence[Engine], simulators: Sequence[Engine], models: Path) -> dict[str, float]:
    """Engine hash -> share of the GPU, of candidates one at a time beside all simulators; none if they do not
    fit, or if nothing is known of their size."""
    needs = {}
    for engine in [*writers, *simulators]:
        assert engine.spec is not None
        need = memory.without_kv_cache(engine.spec, _source(engine.spec, models))
        if need is None:
            return {}
        needs[engine.hash] = need + KV_CACHE_FLOOR
    talk = {engine.hash for engine in simulators}
    own = needs.keys() - talk
    if not own:  # one model in both roles is loaded once
        return {}
    total = memory.gpu_bytes()
    largest = max(needs[name] for name in own)
    room = memory.GPU_SHARE * total - largest - sum(needs[name] for name in talk)
    if room < 0:
        return {}
    extra = room / (1 + len(talk))
    shares = {name: (needs[name] + extra) / total for name in talk}
    return shares | dict.fromkeys(own, (largest + extra) / total)


def _with_share(engine: Engine, shares: Mapping[str, float]) -> Engine:
    spec = engine.spec
    if spec is None or engine.hash not in shares or memory.BOUNDS & spec.options.keys():
        return engine
    share = math.floor(1000 * shares[engine.hash]) / 1000
    return replace(
        engine, spec=spec.model_copy(update={"options": spec.options | {"gpu_memory_utilization": share}})
    )
