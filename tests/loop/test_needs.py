"""Tests of what engines need of a node, by environment and spec, with fake devices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tasks.engines import copies, replicas
from tasks.engines.local import devices, memory
from tasks.engines.local.memory import GIB
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec
from tasks.loop import device_memory
from tasks.loop.placement import Need, Placement
from tasks.loop.requests import Engine

VARIABLES = (
    device_memory.GPUS, device_memory.CORES, device_memory.VARIABLE, replicas.REPLICAS, replicas.RAY,
    memory.VARIABLE, "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS",
)  # fmt: skip


@pytest.fixture(autouse=True)
def node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four GPUs of 80 GiB, 70 for engines, and eight cores; a model's name holds its billions of weights."""
    for name in VARIABLES:
        monkeypatch.setenv(name, "")  # so that a value that the test sets is taken back
        monkeypatch.delenv(name)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setattr(devices, "cores", lambda: 8)
    monkeypatch.setattr(memory, "_name", lambda device: "cpu" if device == "cpu" else "cuda:0")
    monkeypatch.setattr(memory, "_total", lambda device: 80 * GIB)
    monkeypatch.setattr(memory, "_default_budget", lambda device: 70 * GIB)
    monkeypatch.setattr(memory, "_pass_bytes", lambda *_: 2 * GIB)
    monkeypatch.setattr(memory, "_config", lambda *_: {"num_hidden_layers": 70})
    monkeypatch.setattr(memory, "_tensor_sizes", lambda source, _: sizes(source))


def sizes(source: str) -> list[int]:
    """Return those of a model: in layers of a GiB elements if its name begins with m."""
    number = source.strip("abcm")
    layers = int(number or 0) if source[0] == "m" else 1
    return [int(number) * GIB // layers] * layers if number else []


def engine(model: str, kind: Any = "packed_trie", device: str = "auto", **fields: Any) -> Engine:
    spec = EngineSpec(
        name=model, kind=kind, model=model, content=model, dtype="bfloat16", device=device, **fields
    )
    return Engine.of(spec)


def placed(*engines: Engine) -> tuple[Placement, list[Need | None]]:
    found = device_memory.placement(engines, Path())
    assert found is not None
    return found, [found.needs.get(each.hash) for each in engines]


def test_without_options_engines_take_turns() -> None:
    assert device_memory.node() is None
    assert device_memory.placement([engine("a8")], Path()) is None


def test_one_and_four_gpus_in_one_command() -> None:
    """2 GiB elements in 2 bytes and a float32 head, times 1.25, and 2 GiB for a pass; vLLM takes all."""
    device_memory.use(None, gpus=4)
    large = engine("b70", "vllm", tensor_parallel=4)
    found, (small, four, whole) = placed(engine("a2"), large, engine("c"))
    assert found.node.devices == dict.fromkeys("0123", 70 * GIB)
    assert small == Need(1, int(1.25 * (2 * 2 * GIB + 4 * 2 * GIB)) + 2 * GIB)
    assert four == Need(4, 70 * GIB)  # no more than a GPU has
    assert whole == Need(1, 70 * GIB)  # its size is unknown before it is downloaded


def test_engines_of_the_other_kind_of_device_servers_and_embedders_are_not_placed() -> None:
    served = Engine.of(EngineSpec(name="s", kind="openai", model="s"))
    embedder = Engine("e", "embedder", "e", "e")
    device_memory.use(None, gpus=1)
    _, needs = placed(engine("a1", device="cpu"), served, embedder, engine("b1"))
    assert [need is not None for need in needs] == [False, False, False, True]


def test_cores_are_shared_equally_or_by_the_users_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    device_memory.use(None, cores=8)
    models = [engine(name, device="cpu") for name in ("a1", "b1", "c1")]
    _, needs = placed(*models)
    assert [need.devices for need in needs if need] == [2, 2, 2]
    assert needs[0]
    assert (needs[0].each, needs[0].host) == (1, int(1.25 * (2 + 4) * GIB))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    found, needs = placed(*models)
    assert [need.devices for need in needs if need] == [1, 1, 1]
    assert (found.node.host, found.node.beside, found.most) == (70 * GIB, 1, 8)


def test_replicas_bound_the_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    device_memory.use(None, gpus=4)
    assert placed(engine("a1"))[0].most == 4
    monkeypatch.setenv(replicas.REPLICAS, "2")
    assert placed(engine("a1"))[0].most == 2


@pytest.mark.parametrize(
    ("visible", "n_seen", "names"),
    [
        ("2,3", 2, ["2", "3"]),
        ("GPU-8a, GPU-9b", 2, ["GPU-8a", "GPU-9b"]),
        ("0,1,-1,2", 2, ["0", "1"]),  # CUDA ignores what follows an invalid one
        ("MIG-a,MIG-b,MIG-c", 1, ["MIG-a", "MIG-b", "MIG-c"]),  # a process sees the first only
        ("", 0, []),
        ("MIG-a", 0, []),
    ],
)
def test_gpus_have_the_names_that_the_user_gave(
    monkeypatch: pytest.MonkeyPatch, visible: str, n_seen: int, names: list[str]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: n_seen)
    assert devices.visible_gpus() == names
    if names:
        device_memory.use(None, gpus=len(names))
        there = device_memory.node()
        assert there is not None
        assert list(there.devices) == names


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({device_memory.GPUS: "5"}, r"^--gpus 5: there are 4 GPUs that engines may use$"),
        (
            {device_memory.GPUS: "3", "CUDA_VISIBLE_DEVICES": "1,2"},
            r"there are 2 GPUs .*, by CUDA_VISIBLE_DEVICES=1,2",
        ),
        ({device_memory.CORES: "9"}, "this process may use 8 cores"),
        ({device_memory.GPUS: "1", device_memory.CORES: "1"}, "give one of them"),
        ({device_memory.CORES: "1", replicas.RAY: "h:1"}, "leave --ray out"),
        ({device_memory.GPUS: "all"}, "CULTUREMETER_GPUS is 'all': give a number"),
    ],
)
def test_wrong_requests_are_refused(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], message: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(EngineError, match=message):
        device_memory.node()


def test_a_model_that_needs_more_gpus_than_there_are_is_refused_before_anything_runs() -> None:
    device_memory.use(None, gpus=4)
    with pytest.raises(EngineError, match="'b70' needs 8 GPUs, and --gpus gives 4: raise --gpus, or lower"):
        placed(engine("b70", "vllm", tensor_parallel=8))
    with pytest.raises(EngineError, match="device 'cuda:1' is one GPU: for --gpus set \"cuda\""):
        placed(engine("a1", device="cuda:1"))


def test_a_scorer_that_is_too_large_for_a_gpu_gets_as_many_as_hold_its_layers() -> None:
    """Weights in 2 bytes and a head in 4, times 1.25, and 2 GiB for a pass. Each of n GPUs has an nth of the
    layers and one more.
    """
    device_memory.use(None, gpus=4)
    _, needs = placed(engine("m8"), engine("m70"), engine("m60", gpus=4), engine("m30", gpus=1))
    assert needs == [
        Need(1, int(1.25 * (8 * 2 + 4) * GIB) + 2 * GIB),
        Need(3, int(1.25 * ((70 * GIB // 3 + GIB) * 2 + 4 * GIB)) + 2 * GIB),
        Need(4, int(1.25 * ((60 * GIB // 4 + GIB) * 2 + 4 * GIB)) + 2 * GIB),
        Need(1, 70 * GIB),  # as its spec says: by the estimate 82 GiB, and no more than a GPU has
    ]


@pytest.mark.parametrize(
    ("visible", "fields", "message"),
    [
        ("0,1", {}, r"weights take 160.0 GiB, more than 2 GPUs of --gpus \(140.0 GiB\) can hold: give more"),
        ("0,1", {"gpus": 1}, r"weights take 160.0 GiB, more than 1 GPU of --gpus \(70.0 GiB\)"),
        ("0,1", {"gpus": 3}, "needs 3 GPUs, and --gpus gives 2: raise --gpus, or lower gpus in its spec"),
        ("MIG-a,MIG-b", {}, r"weights take 160.0 GiB, more than 1 MIG device of --gpus"),
        ("MIG-a,MIG-b", {"gpus": 2}, "asks for 2 GPUs, and a process sees one MIG device: take whole GPUs"),
    ],
)
def test_a_model_that_fits_nowhere_is_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, visible: str, fields: dict[str, Any], message: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    device_memory.use(None, gpus=2)
    with pytest.raises(EngineError, match=f"^model 'm80'[: ].*{message}"):
        placed(engine("m80", **fields))


def test_gpus_of_a_ray_cluster_are_counted_not_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(replicas.RAY, "head:6379")
    monkeypatch.setattr(device_memory, "connected", lambda address: {"GPU": 6.0})
    device_memory.use(None, gpus=6)
    found, needs = placed(engine("a1"), engine("b1", gpus=0.5), engine("c70", "vllm", tensor_parallel=4))
    assert (found.node.unit, len(found.node.devices)) == ("Ray GPU", 6)
    assert needs == [Need(1, GIB), Need(1, GIB // 2), Need(4, GIB)]


class Copied:
    """A copy that records how it was made."""

    made: list[tuple[Any, ...]]

    def __init__(self, *how: Any) -> None:
        self.made.append(how)
        self.is_killed = False

    def kill(self) -> None:
        self.is_killed = True


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    Copied.made = []
    monkeypatch.setattr(replicas, "Process", Copied)
    monkeypatch.setattr(replicas, "Actor", Copied)
    return Copied.made


def test_a_placed_engine_is_loaded_from_its_devices_and_nowhere_once_it_has_left(
    made: list[tuple[Any, ...]],
) -> None:
    spec = EngineSpec(name="m", kind="fake", model="m")
    replicas.place(spec, Path("cache"), ["GPU-a", "GPU-b"], "GPU", 4)
    replicas.place(spec, Path("cache"), ["3"], "GPU", 4)
    own = {replicas.REPLICAS: "", replicas.RAY: ""}
    assert [how[2] for how in made] == [
        own | {"CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b", "OMP_NUM_THREADS": "4"},
        own | {"CUDA_VISIBLE_DEVICES": "3", "OMP_NUM_THREADS": "2"},
    ]
    pool = replicas.load_engine(spec, Path("cache"), "score")
    assert pool is replicas.placed(spec)
    assert len(pool.copies) == 2
    replicas.displace(spec)
    assert all(copy.is_killed for copy in pool.copies)
    with pytest.raises(EngineError, match="'m' has no place any more"):
        replicas.load_engine(spec, Path("cache"), "score")
    replicas.forget_displaced()
    assert not isinstance(replicas.load_engine(spec, Path("cache"), "score"), replicas.Replicas)


def test_on_cores_a_copy_gets_threads_and_on_a_cluster_gpus(
    made: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert replicas.environment_on(["core 1", "core 2"], "core", 8)["OMP_NUM_THREADS"] == "2"
    assert "CUDA_VISIBLE_DEVICES" not in replicas.environment_on(["core 1"], "core", 8)
    monkeypatch.setenv(replicas.RAY, "head:6379")
    monkeypatch.setattr(replicas, "connected", lambda address: {"GPU": 4.0})
    monkeypatch.setattr(replicas, "wait_for_room", lambda gpus: None)
    spec = EngineSpec(name="m", kind="fake", model="m")
    replicas.place(spec, Path("cache"), ["0", "1"], "Ray GPU", 4)
    assert made == [(spec, Path("cache"), 2)]
    replicas.displace(spec)
    replicas.forget_displaced()


def test_a_killed_copy_raises_an_error_that_is_not_tried_again(tmp_path: Path) -> None:
    copy = copies.Process(EngineSpec(name="m", kind="fake", model="m"), tmp_path, {})
    copy.kill()
    with pytest.raises(EngineError, match="the copy of 'm' was stopped") as raised:
        copy.call("frame", (["?"],))
    assert not isinstance(raised.value, copies.ReplicaLost)
    copy.revive()  # by a thread that was restarting it
    assert copy.process.wait() != 0
