"""A model whose layers are spread over several devices: the same scores, memory, and what is refused.

transformers' own map of the layers and accelerate's own moves of states run here, over fake devices.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import dispatch_model
from safetensors.numpy import save_file
from transformers import AutoModelForCausalLM
from transformers.integrations.accelerate import _get_device_map

from benchmarks import architectures
from tasks.engines.local import memory, spread
from tasks.engines.local.packed_trie import PackedTrieScorer
from tasks.engines.protocols import Cloze, EngineError, TextPair
from tasks.engines.specs import EngineSpec
from tests.engines.fake_devices import Devices

LAYERS = 4
WINDOWS = {
    "sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"] * (LAYERS // 2),
    "tie_word_embeddings": False,
}  # fmt: skip
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {}),
    "llama, the head is the embedding": ("llama", {"tie_word_embeddings": True}),
    "gemma3, windows": ("gemma3_text", WINDOWS),
    "gpt2": ("gpt2", {"n_layer": LAYERS}),
    "qwen3": ("qwen3", {}),
}
QUICK = "gemma3, windows"
PROMPTS, ITEMS = architectures.PROMPTS, architectures.ITEMS
GPUS = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there are no two GPUs that torch can use"),
]


def spec(**fields: Any) -> EngineSpec:
    usual = {"name": "m", "model": "x", "dtype": "float32", "device": "cpu", "batch_tokens": 64}
    return EngineSpec.model_validate(usual | fields)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """A function that returns the folder of a tiny model."""
    made: dict[str, Path] = {}

    def save(name: str) -> str:
        if name not in made:
            made[name] = tmp_path_factory.mktemp("model")
            kind, settings = MODELS[name]
            architectures.save("packed_trie", kind, {"num_hidden_layers": LAYERS} | settings, made[name])
        return str(made[name])

    return save


def over(monkeypatch: pytest.MonkeyPatch, n: int, room: int = 2**40) -> list[dict[str, Any]]:
    """Spread models over n fake devices with this memory; return the maps of layers that were made."""
    whole: Any = AutoModelForCausalLM.from_pretrained
    maps = list[dict[str, Any]]()

    def load(folder: str, **arguments: Any) -> Any:
        asked, most = arguments.pop("device_map"), arguments.pop("max_memory")
        model, info = whole(folder, **arguments)
        found = _get_device_map(model, asked, most, None)
        maps.append({name: f"cpu:{at}" if isinstance(at, int) else at for name, at in found.items()})
        if "disk" not in found.values():
            dispatch_model(model.eval(), maps[-1])
        model.hf_device_map = found
        return model, info

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", load)
    monkeypatch.setattr(memory, "own_gpus", lambda *_: n)
    monkeypatch.setattr(memory, "budget", lambda device: room)
    return maps


def scores(scorer: PackedTrieScorer) -> list[Any]:
    """Return the scores of every kind of call."""
    cloze = Cloze(tuple(PROMPTS), "", "", "")
    own = scorer.score_candidates(Cloze(tuple(PROMPTS), "", "", "", is_own=True), ITEMS)
    pairs = scorer.score_pairs([TextPair(prompt, item) for prompt in PROMPTS for item in ITEMS])
    return [
        scorer.score(PROMPTS, ITEMS), np.stack(scorer.score_each(PROMPTS, [ITEMS] * len(PROMPTS))),
        pairs.logprob, pairs.is_greedy, scorer.score_candidates(cloze, ITEMS).logprob, own.logprob,
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n"),
    [
        pytest.param(name, n, marks=[pytest.mark.heavy] * ((name, n) != (QUICK, 2)))
        for name in MODELS
        for n in (2, 3)
    ],
)
def test_scores_over_devices_equal_those_of_one(
    folder: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, name: str, n: int
) -> None:
    """Loading also compares them with plain passes over these devices (``self_check``)."""
    expected = scores(PackedTrieScorer(spec(), folder(name)))
    with monkeypatch.context() as patched, Devices():
        maps = over(patched, n)
        scorer = PackedTrieScorer(spec(), folder(name))
        found = scores(scorer)
        where = {str(weight.device) for weight in scorer.model.parameters()}
    assert where == {f"cpu:{i}" for i in range(n)} == set(maps[0].values())
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5)


def test_fake_devices_do_not_mix() -> None:
    with Devices():
        first, second, host = torch.ones(2, device="cpu:0"), torch.ones(2).to("cpu:1"), torch.ones(2)
        for left, right in ((first, second), (first, host), (host, second)):
            with pytest.raises(RuntimeError, match="same device"):
                left + right
        assert (first.to("cpu:1") + second).device == torch.device("cpu:1")
        assert (first * 2)[torch.tensor([1])].cpu().tolist() == [2]


def test_a_model_that_does_not_fit_on_all_gpus_is_refused(
    folder: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    maps = over(monkeypatch, 2, room=20_000)
    wanted = r"^model 'm': its weights take 0.0 GiB, more than the GPUs here can hold: give more GPUs"
    with pytest.raises(EngineError, match=wanted):
        PackedTrieScorer(spec(), folder("llama"))
    assert "disk" in maps[0].values()


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four GPUs: one of 50,000 bytes, three of 30,000."""
    monkeypatch.setattr(memory, "_name", lambda device: "cpu" if device == "cpu" else "cuda:0")
    monkeypatch.setattr(memory, "_pass_bytes", lambda *_: 1000)
    monkeypatch.setattr(memory, "budget", lambda device: {"cuda:0": 50_000}.get(device, 30_000))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)


def save(folder: Path, n_layers: int) -> str:
    """Save a matrix of 1,000 numbers for each layer, and a head of 2,000."""
    tensors = {f"layer{i}": np.zeros((10, 100), np.float16) for i in range(n_layers)}
    save_file(tensors | {"head": np.zeros((20, 100), np.float16)}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"num_hidden_layers": n_layers}))
    return str(folder)


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize(
    ("n_layers", "fields", "n", "each"),
    [
        # 4 bytes, times 1.25, and 1,000 for a pass: (5 + 2) * 1000 * 5 + 2000 * 5 + 1000
        (5, {}, 1, 46_000),
        # one is too small: (10 + 2) * 1000 * 5 + 11000 = 71,000; of two, (6 + 2) * 1000 * 5 + 11000 = 51,000;
        # three, each with 4 + 2 thousands, have 41,000; four, with 3 + 2, 36,000: too much, so all are taken
        (10, {}, 4, 36_000),
        # in 2 bytes: 12 * 1000 * 2.5 + 11000
        (10, {"dtype": "bfloat16"}, 1, 41_000),
        # (18 + 2) * 2500 + 11000 = 61,000; of two, 41,000; of three, 32,700; of four, (5 + 2) * 2500 + 11000
        (18, {"dtype": "bfloat16"}, 4, 28_500),
        (5, {"gpus": 2}, 2, 38_500),
        (10, {"gpus": 1}, 1, 71_000),
        (10, {"device": "cuda:0"}, 1, 71_000),
        (10, {"device": "cpu"}, 1, 70_000),
    ],
)
def test_as_many_gpus_as_hold_the_layers(
    tmp_path: Path, n_layers: int, fields: dict[str, Any], n: int, each: int
) -> None:
    source, own = save(tmp_path, n_layers), spec(**{"device": "auto"} | fields)
    claim = memory.of_engine(own, source)
    assert (claim.gpus, claim.bytes) == (n, each)
    assert len(claim.devices) == n
    asked = spread.arguments(own, source)
    whole = {0: 50_000} | dict.fromkeys(range(1, n), 30_000)
    assert asked == ({"device_map": "balanced", "max_memory": whole} if n > 1 else {})


class TestGpus:
    """Two GPUs give the scores of the processor."""

    pytestmark = GPUS

    @pytest.mark.parametrize("name", MODELS)
    def test_scores_over_gpus_equal_the_processors(self, folder: Callable[[str], str], name: str) -> None:
        expected = scores(PackedTrieScorer(spec(), folder(name)))
        scorer = PackedTrieScorer(spec(device="cuda", gpus=2), folder(name))
        assert len({weight.device for weight in scorer.model.parameters()}) == 2
        for one, other in zip(expected, scores(scorer), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-4)
