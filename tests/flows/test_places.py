"""Models that are placed on devices: side by side, with the rows of one model at a time."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import psutil
import pytest
import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from deployments.show import plan
from flows.rounds import Rounds
from flows.session import RunSession
from tasks.engines.local import devices as hardware
from tasks.engines.local import memory
from tasks.engines.protocols import EngineError
from tasks.loop import steps
from tasks.loop.placement import Copy, Need, Node, Placement
from tasks.loop.plan import Work
from tasks.loop.requests import Engine
from tests.conftest import command, environment, in_process
from tests.flows.test_replicas import NUMBERS, SMALL, STORED
from tests.flows.test_rounds import World, talking, world  # noqa: F401 - a fixture
from tests.waiting import until
from warehouse import Warehouse


def placed(run: RunSession, n_devices: int, **needs: int) -> RunSession:
    """Return a run whose engines are placed on fake GPUs; needs: number of GPUs of some engines."""
    node = Node("GPU", {str(i): 80 for i in range(n_devices)})
    engines = {engine.hash: engine for engine in run.local_engines()}
    run.placement = Placement(
        node, {name: Need(needs.get(each.name, 1), 70) for name, each in engines.items()}
    )
    return run


class Devices:
    """Fake devices: what has a place, and what was placed, in order."""

    def __init__(self, patches: pytest.MonkeyPatch) -> None:
        self.now: dict[str, Copy] = {}
        self.begun: list[str] = []
        patches.setattr(steps, "place", self.place)
        patches.setattr(steps, "displace", self.displace)

    def place(self, engine: Engine, copy: Copy, node: Node) -> None:
        taken = {device for other in self.now.values() for device in other.devices}
        assert not taken & set(copy.devices), "a device is taken"
        self.now[engine.name] = copy
        self.begun.append(engine.name)

    def displace(self, engine: Engine) -> None:
        del self.now[engine.name]


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> Devices:
    return Devices(monkeypatch)


def test_two_placed_models_work_at_once_and_the_third_follows(world: World, devices: Devices) -> None:  # noqa: F811
    """Each of the first two waits until the other has begun; all work only on their devices."""
    begun = {"a": Event(), "b": Event()}

    def complete(work: Work, run: tuple[str, str], *more: Any) -> Any:
        name = work.wanted.engine.name
        assert name in devices.now, "it works without a place"
        if name in begun:
            begun[name].set()
            assert all(each.wait(60) for each in begun.values())
        return known(work, run, *more)

    known = world.complete
    world.patch("complete", complete)
    run = placed(world.session("a", "b", "c"), 2)
    world.evaluate(run)
    assert run.updated == {"a", "b", "c"}
    assert not devices.now
    assert sorted(devices.begun[:2]) == ["a", "b"]
    assert sorted(set(devices.begun)) == ["a", "b", "c", "judge"]


def test_a_model_that_fails_frees_its_place(world: World, devices: Devices) -> None:  # noqa: F811
    world.fails["a"] = EngineError("no memory")
    run = placed(world.session("a", "b"), 1)
    with pytest.raises(EngineError, match=r"^a: no memory$"):
        world.evaluate(run)
    assert run.updated == {"b"}
    assert not devices.now


def test_models_and_their_simulator_keep_their_places_while_they_talk(
    world: World,  # noqa: F811
    devices: Devices,
) -> None:
    run = placed(talking(world, 5, "a", "b", "c"), 2)
    world.evaluate(run)
    assert devices.begun == ["simulator", "a", "b", "c", "judge"]


def test_a_model_and_a_simulator_on_one_device_take_turns(world: World, devices: Devices) -> None:  # noqa: F811
    run = placed(talking(world, 2, "a"), 1)
    world.evaluate(run)
    assert devices.begun == ["a", "simulator", "a", "simulator", "judge"]


def test_large_and_small_models_work_in_one_run(world: World, devices: Devices) -> None:  # noqa: F811
    run = placed(world.session("small", "large"), 4, large=4)
    world.evaluate(run)
    assert devices.begun[:2] == ["large", "small"]
    assert run.updated == {"small", "large"}


def test_an_error_ends_the_run_and_all_copies(world: World, devices: Devices) -> None:  # noqa: F811
    def full(answered: Any) -> Any:
        raise OSError("no space left")

    world.patch("store", full)
    with pytest.raises(OSError, match="no space left"):
        world.evaluate(placed(world.session("a", "b"), 2))
    assert not devices.now


def test_nothing_is_placed_without_a_placement(world: World, devices: Devices) -> None:  # noqa: F811
    run = world.session("a")
    assert not Rounds(run)._places.is_placed(run.candidates["a"].hash)
    world.evaluate(run)
    assert not devices.begun


def run_cli(home: Path, *more: str) -> subprocess.CompletedProcess[str]:
    done = in_process(("run", "spectral", *SMALL, "--no-server", *more), environment(home, None))
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.parametrize("rate", [None, 0.5])
def test_the_plan_shows_devices_memory_and_where_it_was_measured_time(
    home: Path, monkeypatch: pytest.MonkeyPatch, rate: float | None
) -> None:
    """270 log-probabilities of each model at 0.5 a second are nine minutes; the third model waits, and
    then has a copy on each core.
    """
    monkeypatch.setattr(hardware, "cores", lambda: 2)
    monkeypatch.setattr(plan.Estimate, "rate", lambda estimate, line: rate)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    models = ("-m", "fake-a", "-m", "fake-b", "-m", "slow", "--cores", "2")
    shown = run_cli(home, *models, "--dry-run").stdout
    title = "placement on 2 cores" + (", about 13 min 30 s in all" if rate else "")
    assert title in [line.strip() for line in shown.splitlines()]
    of_core = [line for line in shown.splitlines() if "core " in line]
    first, later = ("9 min 0 s", "4 min 30 s") if rate else ("unknown", "unknown")
    assert [re.findall(r"core \d|at once|later|unknown|\d+ min \d+ s", line) for line in of_core] == [
        ["core 0", "at once", first],
        ["core 1", "at once", first],
        ["core 0", "9 min 0 s" if rate else "later", later],
        ["core 1", "9 min 0 s" if rate else "later", later],
    ]


def test_the_plan_shows_each_gpu_of_a_model_that_takes_several(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hardware, "visible_gpus", lambda: ["GPU-a", "GPU-b", "GPU-c"])
    monkeypatch.setattr(memory, "gpu_budget", lambda index, name: 70 * memory.GIB)
    monkeypatch.setattr(memory, "gpus_of", lambda spec, *_: 2 if spec.name == "fake-a" else 1)
    monkeypatch.setattr(memory, "of_engine", lambda *_: memory.Claim("cuda:0", 60 * memory.GIB))
    shown = run_cli(home, "-m", "fake-a", "-m", "fake-b", "--gpus", "3", "--dry-run").stdout
    lines = [re.split(r"  +|│|┃", line) for line in shown.splitlines() if "GPU-" in line]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert [line[:3] for line in cells] == [
        ["fake-a", "GPU-a, GPU-b", "60.0 GiB"],
        ["fake-b", "GPU-c", "60.0 GiB"],
    ]


def assert_equal_rows(home: Path, other: Path) -> None:
    for sql in (STORED, NUMBERS):
        ours = Warehouse.open(home).query(sql)
        assert ours.height
        assert ours.equals(Warehouse.open(other).query(sql))


def tiny(folder: Path, tokenizer: Path, seed: int) -> str:
    """Save a model of random weights and return its folder."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=48, vocab_size=49_152, initializer_range=0.3,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tokenizer).save_pretrained(folder)
    return str(folder)


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.usefixtures("one_thread")
def test_two_tiny_models_on_two_cores_have_the_rows_of_one_at_a_time(
    home: Path, copied_home: Callable[[], Path], smollm2_folder: Path, tmp_path: Path
) -> None:
    folders = [tiny(tmp_path / name, smollm2_folder, seed) for seed, name in enumerate(("one", "two"))]
    models = [word for folder in folders for word in ("-m", folder)]
    planned = run_cli(home, *models, "--cores", "2", "--dry-run")
    assert "placement on 2 cores" in planned.stdout + planned.stderr
    run_cli(home, *models, "--cores", "2")
    other = copied_home()
    run_cli(other, *models, "--no-probe")
    assert_equal_rows(home, other)


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.usefixtures("one_thread", "gemma3_folder", "smollm2_folder")
def test_the_embedded_models_on_two_cores_have_the_rows_of_one_at_a_time(
    home: Path, copied_home: Callable[[], Path], models_cache: Path
) -> None:
    other = copied_home()
    for each in (home, other):
        (each / "models").symlink_to(models_cache)
    models = ("-m", "smollm2-135m", "-m", "gemma3-270m", "--countries", "BR,JP", "--dtype", "float32")
    run_cli(home, *models, "--cores", "2")
    run_cli(other, *models, "--no-probe")
    assert_equal_rows(home, other)


class Running:
    """A run of two slow models on two cores, in a process."""

    def __init__(self, home: Path) -> None:
        (home / "engines" / "other.toml").write_text('kind = "fake"\nmodel = "b"\noptions = {delay = 0.2}\n')
        self.home = home
        self.run = subprocess.Popen(
            command("run", "spectral", "-m", "slow", "-m", "other", *SMALL, "--cores", "2", "--no-server",
                    "--verbose"),
            env=environment(home, None), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        until(lambda: self.n_parts() >= 4 and len(self.copies()) == 2, every=0.02)

    def copies(self) -> list[int]:
        try:
            children = psutil.Process(self.run.pid).children(recursive=True)
            return [child.pid for child in children if "tasks.engines.copies" in child.cmdline()]
        except psutil.NoSuchProcess:
            return []

    def n_parts(self) -> int:
        return len(list((self.home / "parts" / "item_logprob").glob("[!_]*.parquet")))

    def equals(self, other: Path) -> None:
        engines = other / "engines"
        engines.mkdir()
        for name in ("slow", "other"):
            (engines / f"{name}.toml").write_text((self.home / "engines" / f"{name}.toml").read_text())
        run_cli(other, "-m", "slow", "-m", "other")
        assert_equal_rows(self.home, other)
        doubled = "SELECT count(*) - count(DISTINCT (request_hash, unit)) FROM part_unit"
        assert Warehouse.open(self.home).query(doubled).item() == 0


@pytest.mark.heavy
def test_a_killed_copy_is_begun_again_and_leaves_the_other_and_the_home_right(
    home: Path, copied_home: Callable[[], Path]
) -> None:
    running = Running(home)
    os.kill(running.copies()[0], signal.SIGKILL)
    output, _ = running.run.communicate()
    assert running.run.returncode == 0, output
    assert output.count("died (exit code -9); its part is retried") == 1
    running.equals(copied_home())


@pytest.mark.heavy
def test_ctrl_c_ends_all_copies_and_the_next_run_continues(
    home: Path, copied_home: Callable[[], Path]
) -> None:
    running = Running(home)
    pids = running.copies()
    running.run.send_signal(signal.SIGINT)
    output, _ = running.run.communicate()
    assert running.run.returncode != 0
    assert "retried" not in output
    assert "Traceback" not in output
    assert not any(psutil.pid_exists(pid) for pid in pids)
    n_parts = running.n_parts()
    assert n_parts < 90
    run_cli(home, "-m", "slow", "-m", "other", "--cores", "2")
    running.equals(copied_home())
