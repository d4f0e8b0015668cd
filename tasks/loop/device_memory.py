"""Needs of engines on a node's devices; which fit into memory together, and how often a run loads each.

With ``--gpus`` or ``--cores`` each engine works in a process of its own (``placement``). Without them the
engines of this machine take turns in one process: a candidate and its simulator should both be loaded at
once. A vLLM engine takes its whole GPU unless it is bounded. So candidates and simulators get shares of the
GPU if they fit, by the size of their weights and a minimum for the KV cache. A share changes the speed, never
an answer, and is in no hash.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tasks.engines import replicas
from tasks.engines.copies import connected
from tasks.engines.extras import check as check_installed
from tasks.engines.local import devices, embedded, memory, spread
from tasks.engines.protocols import EngineError
from tasks.engines.specs import IMPORTED, EngineSpec, has_weights
from tasks.loop.placement import Need, Node, Placement, fits
from tasks.loop.plan import TALK
from tasks.loop.requests import Engine, Later, Role

VARIABLE = "CULTUREMETER_GPU_SHARE"
"""Environment variable: the share of its GPU for each vLLM engine, in (0, 1]; unset: ``divided`` decides."""
KV_CACHE_FLOOR = 4 * memory.GIB
"""Least bytes for an engine's KV cache if a GPU is divided."""


GPUS, CORES = "CULTUREMETER_GPUS", "CULTUREMETER_CORES"
"""Environment variables: how many GPUs, or cores, engines are placed on; unset: they take turns."""


def use(share: float | None, gpus: int | None = None, cores: int | None = None) -> None:
    """Set the share of its GPU for each vLLM engine, and what engines are placed on, in this process and its
    children.
    """
    given = ((VARIABLE, share), (GPUS, gpus), (CORES, cores))
    os.environ |= {name: str(value) for name, value in given if value is not None}


def configured_share() -> float | None:
    """Return the share in the environment variable; None if it is unset.

    Raises:
        EngineError: it is not a number in (0, 1].
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


def node() -> Node | None:
    """Return the devices that engines are placed on; None if they take turns.

    GPUs are the first ones of CUDA_VISIBLE_DEVICES, by the names that it gives, or those of the Ray cluster.

    Raises:
        EngineError: a variable is not a number, both are set, or there are fewer devices.
    """
    n_gpus, n_cores = (_number(name) for name in (GPUS, CORES))
    if n_gpus and n_cores:
        raise EngineError("--gpus and --cores place engines in two ways: give one of them")
    if n_cores:
        if os.environ.get(replicas.RAY):
            raise EngineError("--cores places engines on this machine: leave --ray out")
        if n_cores > devices.cores():
            raise EngineError(
                f"--cores {n_cores}: this process may use {devices.cores()} cores: ask for fewer"
            )
        host = memory.budget("cpu")
        return Node("core", {f"core {i}": 1 for i in range(n_cores)}, host, beside=1)
    if not n_gpus:
        return None
    if address := os.environ.get(replicas.RAY):
        found = [f"{i}" for i in range(int(connected(address).get("GPU", 0)))]
        unit, sizes = "Ray GPU", [memory.GIB] * len(found)
    else:
        check_installed("torch", "--gpus")
        unit, found = "GPU", devices.visible_gpus()
        sizes = [memory.gpu_budget(i, name) for i, name in enumerate(found[:n_gpus])]
    if n_gpus > len(found):
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        names = f", by CUDA_VISIBLE_DEVICES={visible}" if visible is not None and unit == "GPU" else ""
        raise EngineError(f"--gpus {n_gpus}: there are {len(found)} {unit}s that engines may use{names}")
    return Node(unit, dict(zip(found, sizes, strict=False)))


def placement(engines: Iterable[Engine], models: Path) -> Placement | None:
    """Return the node and what each engine needs there; None if engines take turns.

    Not placed are servers, embedders, published answers, and a model of the other kind of device; those of
    this machine still take turns in one process. On cores each engine gets OMP_NUM_THREADS cores, or as many
    as let all engines work at once. A model that is too large for a GPU gets as many as hold its layers
    (``local.spread``). An engine of unknown size gets whole GPUs.

    Raises:
        EngineError: see ``node``; an engine needs more devices or memory than there are, or names a single
            GPU.
    """
    if (there := node()) is None:
        return None
    own = {engine.hash: engine.spec for engine in engines if engine.spec and _is_placed(engine.spec, there)}
    threads = os.environ.get("OMP_NUM_THREADS") or ""
    cores = int(threads) if threads.isdecimal() else len(there.devices) // max(1, len(own))
    cores = min(max(1, cores), len(there.devices))
    needs = {name: _need(spec, there, models, cores) for name, spec in own.items()}
    for name, need in needs.items():
        if not fits(there, need):
            which = "tensor_parallel" if own[name].kind == "vllm" and not own[name].gpus else "gpus"
            raise EngineError(
                f"model {own[name].name!r} needs {need.devices} {there.unit}s, and --gpus gives "
                f"{len(there.devices)}: raise --gpus, or lower {which} in its spec"
            )
    copies = os.environ.get(replicas.REPLICAS)
    return Placement(there, needs, replicas.wanted() if copies else len(there.devices))


def _is_placed(spec: EngineSpec, there: Node) -> bool:
    if spec.is_served or spec.kind in ("published", IMPORTED):
        return False
    if there.unit == "Ray GPU" or not has_weights(spec):
        return True
    try:
        return memory.on_gpu(spec) == (there.unit == "GPU")
    except (EngineError, ImportError):  # loading it raises the error
        return False


def _need(spec: EngineSpec, there: Node, models: Path, cores: int) -> Need:
    if there.unit == "Ray GPU":
        n = max(1, math.ceil(spec.gpus or spec.tensor_parallel))
        return Need(n, int(min(1, spec.gpus or 1) * memory.GIB))
    source, largest = _source(spec, models), sorted(there.devices.values(), reverse=True)
    if there.unit == "core":
        return Need(cores, 1, min(memory.of_engine(spec, source).bytes, there.host))
    if ":" in spec.device:
        raise EngineError(f'model {spec.name!r}: device {spec.device!r} is one GPU: for --gpus set "cuda"')
    is_mig = any(name.startswith(devices.MIG) for name in there.devices)
    n = memory.gpus_of(spec, source, largest[:1] if is_mig else largest)
    if is_mig and n > 1:
        raise EngineError(
            f"model {spec.name!r} asks for {n} GPUs, and a process sees one MIG device: take whole GPUs, or "
            "leave gpus and tensor_parallel out of its spec"
        )
    held = largest[:n]
    if spec.kind != "packed_trie":
        return Need(n, min(memory.of_engine(spec, source).bytes, held[-1]))
    if n <= len(held) and (weights := memory.weight_bytes(spec, source)) > sum(held):
        unit = "MIG device" if is_mig else there.unit
        where = f"{n} {unit}{'s' if n > 1 else ''} of --gpus ({sum(held) / memory.GIB:,.1f} GiB)"
        raise EngineError(spread.too_large(spec.name, weights, where))
    return Need(n, min(memory.bytes_on_each(spec, source, n) or held[-1], held[-1]))


def _number(name: str) -> int:
    """Return the number in an environment variable; 0 if it is unset."""
    text = os.environ.get(name) or "0"
    if not text.isdecimal():
        raise EngineError(f"{name} is {text!r}: give a number, such as 2")
    return int(text)


def divided(
    candidates: Mapping[str, Engine], engines: Mapping[str, Engine], roles: Mapping[str, Role], models: Path
) -> tuple[dict[str, Engine], dict[str, Engine]]:
    """Return the candidates and the study's other engines, with shares of the GPU if they must share it.

    Args:
        roles: role of each other engine. models: folder of the embedded models.
    """
    share, simulators = configured_share(), _simulators(engines, roles)
    shares: dict[str, float] = {}
    if share is not None:
        shares = {e.hash: share for e in [*candidates.values(), *engines.values()] if _takes_all(e)}
    elif simulators and all(map(_takes_all, simulators)):
        bounded = [engine for engine in candidates.values() if _takes_all(engine)]
        shares = _shares(bounded, simulators, models)
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
    """Return the most times that a run loads each engine of this machine, by name.

    Engines that all fit together are loaded once. A simulator that fits beside one candidate at a time is
    loaded once per candidate. If it fits beside none, both are loaded at every turn.

    Args:
        later: requests of later rounds. n_units: number of units that a candidate gets at once.
    """
    local = {name: engine for name, engine in engines.items() if not (engine.spec and engine.spec.is_served)}
    writers = [engine for engine in candidates.values() if not (engine.spec and engine.spec.is_served)]
    simulators = _simulators(local, roles)
    names = dict.fromkeys(engine.name for engine in [*writers, *local.values()])
    once = dict.fromkeys(names, 1)
    if not (simulators and writers) or fit([*writers, *simulators], models):
        return once
    alternating = [writer for writer in writers if not fit([writer, *simulators], models)]
    prompts = sum(each.n for each in later if each.role in TALK)
    turns = max(1, math.ceil(prompts / max(1, n_units) / 2)) if prompts else 1
    repeated = {writer.name: 1 + turns for writer in alternating}
    for simulator in simulators:
        repeated[simulator.name] = len(writers) + len(alternating) * turns
    return once | repeated


def fit(engines: Sequence[Engine], models: Path) -> bool:
    """Return whether engines fit into memory together; True if that is unknown before they are loaded."""
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
            for device in claim.devices:
                sums[device] = sums.get(device, 0) + claim.bytes
        return all(total <= memory.budget(device) for device, total in sums.items())
    except (EngineError, ImportError):
        return True


def _simulators(engines: Mapping[str, Engine], roles: Mapping[str, Role]) -> list[Engine]:
    return [engine for name, engine in engines.items() if roles.get(name) == "simulator"]


def _source(spec: EngineSpec, models: Path) -> str:
    """Return the folder or id of the weights; a plan downloads nothing."""
    name = spec.model.removeprefix(embedded.PREFIX)
    return spec.model if name == spec.model else str(models / name)


def _takes_all(engine: Engine) -> bool:
    """Return whether an engine is a vLLM engine that would take its whole GPU."""
    spec = engine.spec
    if spec is None or spec.kind != "vllm" or memory.BOUNDS & spec.options.keys():
        return False
    try:
        return memory.on_gpu(spec)
    except (EngineError, ImportError):  # loading it raises the error
        return False


def _shares(writers: Sequence[Engine], simulators: Sequence[Engine], models: Path) -> dict[str, float]:
    """Return shares of the GPU by engine hash: one candidate at a time beside all simulators.

    Empty if they do not fit, or if their sizes are unknown.
    """
    needs = {}
    for engine in [*writers, *simulators]:
        assert engine.spec is not None
        need = memory.without_kv_cache(engine.spec, _source(engine.spec, models))
        if need is None:
            return {}
        needs[engine.hash] = need + KV_CACHE_FLOOR
    simulator_hashes = {engine.hash for engine in simulators}
    candidate_hashes = needs.keys() - simulator_hashes
    if not candidate_hashes:  # one model in both roles is loaded once
        return {}
    total = memory.gpu_bytes()
    largest = max(needs[name] for name in candidate_hashes)
    rest = memory.GPU_SHARE * total - largest - sum(needs[name] for name in simulator_hashes)
    if rest < 0:
        return {}
    extra = rest / (1 + len(simulator_hashes))
    shares = {name: (needs[name] + extra) / total for name in simulator_hashes}
    return shares | dict.fromkeys(candidate_hashes, (largest + extra) / total)


def _with_share(engine: Engine, shares: Mapping[str, float]) -> Engine:
    spec = engine.spec
    if spec is None or engine.hash not in shares or memory.BOUNDS & spec.options.keys():
        return engine
    share = math.floor(1000 * shares[engine.hash]) / 1000
    return replace(
        engine, spec=spec.model_copy(update={"options": spec.options | {"gpu_memory_utilization": share}})
    )
