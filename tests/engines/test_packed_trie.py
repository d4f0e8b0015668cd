"""The packed-trie scorer against plain forward passes, on small random models and on the embedded ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    BloomConfig,
    Gemma3TextConfig,
    GemmaConfig,
    GPT2Config,
    LlamaConfig,
    Qwen3Config,
)
from transformers.modeling_layers import GradientCheckpointingLayer

from tasks.engines import prompting
from tasks.engines.local import forest
from tasks.engines.local.attention import block_attention
from tasks.engines.local.packed_trie import PackedTrieScorer
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec

ITEMS = [
    "rice", "rice pudding", "rice and beans", "Rice cooked in coconut milk", "bread", "bread soup", "pho",
    "Coq au vin", "Pão de queijo", "Bibimbap", "dumplings in a clear chicken broth with spring onions", "42",
]  # fmt: skip
QUESTIONS = [
    "The national dish of Peru is",
    "The food in the Democratic Republic of the Congo that people usually eat is",
    "In Fiji, the national food is",
]
TINY = {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "vocab_size": 49152}
ARCHITECTURES = {
    "llama, grouped queries": LlamaConfig(**TINY, num_key_value_heads=2, intermediate_size=96),
    "qwen3": Qwen3Config(**TINY, num_key_value_heads=2, intermediate_size=96, head_dim=16),
    "gemma": GemmaConfig(**TINY, num_key_value_heads=1, intermediate_size=96, head_dim=16),
    "gemma3, window shorter than prefix and items": Gemma3TextConfig(
        **TINY, num_key_value_heads=1, intermediate_size=96, head_dim=16, sliding_window=5,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
    ),
    "gpt2, learned positions": GPT2Config(n_embd=64, n_layer=3, n_head=4, vocab_size=49152, n_positions=256),
}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer_folder(smollm2_folder: Path) -> Path:
    return smollm2_folder


def save_random(config: object, tokenizer_folder: Path, folder: Path) -> Path:
    """Save a randomly initialised model with the embedded model's tokenizer."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config)
    for parameter in model.parameters():  # larger than the default initialisation, so that differences show
        parameter.data.normal_(std=0.2) if parameter.ndim > 1 else None
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(tokenizer_folder).save_pretrained(folder)
    return folder


def brute_force(folder: Path, prefixes: list[str], continuations: list[str]) -> np.ndarray:
    """Return sums of token log-probabilities from one plain forward pass per prefix, without engine code."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    out = np.empty((len(prefixes), len(continuations)))
    for i, prefix in enumerate(prefixes):
        start = prompting.prefix_tokens(tokenizer, prefix)
        rests = prompting.continuation_tokens(tokenizer, prefix, continuations)
        longest = max(map(len, rests))  # padding on the right is not seen by earlier positions
        with torch.no_grad():
            padded = [start + rest + [0] * (longest - len(rest)) for rest in rests]
            logits = model(torch.tensor(padded)).logits
        logprobs = torch.log_softmax(logits[:, len(start) - 1 :].float(), dim=-1)
        pairs = zip(logprobs, rests, strict=True)
        out[i] = [sum(float(own[k, t]) for k, t in enumerate(rest)) for own, rest in pairs]
    return out


@pytest.mark.slow
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_scores_equal_brute_force_for_every_kind_of_attention(
    name: str, tokenizer_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save_random(ARCHITECTURES[name], tokenizer_folder, tmp_path)
    scorer = PackedTrieScorer(EngineSpec(name="tiny", model="x", dtype="float32"), str(folder))
    framed = scorer.frame(QUESTIONS)
    continuations = [framed.lead + item for item in ITEMS]
    expected = brute_force(folder, framed.prefixes, continuations)
    np.testing.assert_allclose(scorer.score(framed.prefixes, continuations), expected, atol=1e-3)

    # Different options per prefix: in one pass, and in several passes with a trunk in another order.
    own = [slice(0, 5), slice(3, None), slice(2, 3)]
    monkeypatch.setattr(forest, "TRUNK", 8)
    for batch_tokens, order in ((4096, [0, 1, 2]), (64, [2, 0, 1])):
        scorer.spec = scorer.spec.model_copy(update={"batch_tokens": batch_tokens})
        told: list[int] = []
        prefixes, options = [framed.prefixes[i] for i in order], [continuations[own[i]] for i in order]
        scores = scorer.score_each(prefixes, options, told.append)
        for i, found in zip(order, scores, strict=True):
            np.testing.assert_allclose(found, expected[i, own[i]], atol=1e-3)
        assert sum(told) == sum(map(len, options))


SHARING = {
    "an instruction": [
        "Name the food of a country, no more. In Peru it is",
        "Name the food of a country, no more. Fiji",
    ],
    "nothing": ["Peru eats", "In Fiji people eat"],
    "one begins the other": ["In Peru people eat", "In Peru people eat for breakfast", "In Peru people"],
    "everything": ["In Peru people eat", "In Peru people eat"],
    "a single prefix": ["In Peru people eat"],
}


@pytest.fixture(scope="module")
def windowed(tokenizer_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = ARCHITECTURES["gemma3, window shorter than prefix and items"]
    return save_random(config, tokenizer_folder, tmp_path_factory.mktemp("windowed"))


@pytest.fixture(scope="module")
def windowed_scorer(windowed: Path) -> PackedTrieScorer:
    return PackedTrieScorer(EngineSpec(name="tiny", model="x", dtype="float32"), str(windowed))


@pytest.mark.slow
@pytest.mark.parametrize("shared", SHARING)
@pytest.mark.parametrize("items", [ITEMS, ["rice", "bread", "tea"]], ids=["trie", "single tokens"])
def test_scores_equal_brute_force_for_all_shared_prefixes(
    shared: str,
    items: list[str],
    windowed: Path,
    windowed_scorer: PackedTrieScorer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    continuations = [" " + item for item in items]
    expected = brute_force(windowed, SHARING[shared], continuations)
    for batch_tokens in (4096, 64):
        spec = windowed_scorer.spec.model_copy(update={"batch_tokens": batch_tokens})
        monkeypatch.setattr(windowed_scorer, "spec", spec)
        scores = windowed_scorer.score(SHARING[shared], continuations)
        np.testing.assert_allclose(scores, expected, atol=1e-3)


@pytest.mark.slow
def test_shared_prefix_tokens_are_run_once(
    windowed_scorer: PackedTrieScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = windowed_scorer
    run, hidden = [], scorer._hidden

    def counted(ids: np.ndarray, *more: object) -> torch.Tensor:
        run.append(ids.shape)
        return hidden(ids, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(scorer, "_hidden", counted)
    prefixes = SHARING["an instruction"]
    own = [len(scorer.tokenizer(p).input_ids) for p in prefixes]
    n_shared = len(scorer.tokenizer("Name the food of a country, no more.").input_ids)
    scorer.score(prefixes, [" rice", " rice pudding"])  # one inner node: rice
    assert run == [(1, n_shared), (2, max(own) - n_shared + 1)]


@pytest.mark.heavy
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_compiled_layers_equal_brute_force(name: str, tokenizer_folder: Path, tmp_path: Path) -> None:
    folder = save_random(ARCHITECTURES[name], tokenizer_folder, tmp_path)
    scorer = PackedTrieScorer(EngineSpec(name="tiny", model="x", dtype="float32", compile=True), str(folder))
    for prefixes in SHARING.values():
        continuations = [" " + item for item in ITEMS]
        expected = brute_force(folder, prefixes, continuations)
        np.testing.assert_allclose(scorer.score(prefixes, continuations), expected, atol=1e-3)


@pytest.mark.slow
@pytest.mark.heavy
def test_error_on_a_missing_compiler_says_what_to_do(windowed: Path) -> None:
    spec = EngineSpec(name="tiny", model="x", dtype="float32", compile=True)
    torch._dynamo.reset()  # type: ignore[no-untyped-call]  # what other tests compiled
    missing = {"cpp.cxx": (None, "/nonexistent/g++"), "fx_graph_cache": False}
    with (
        torch._inductor.config.patch(missing),
        pytest.raises(EngineError, match=r"cannot compile it here: .*install a C\+\+ compiler, or leave"),
    ):
        PackedTrieScorer(spec, str(windowed))


def test_layers_are_compiled_for_any_length_and_an_architecture_without_them_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Layer(GradientCheckpointingLayer):
        def compile(self, **options: bool) -> None:
            compiled.append(options)

    compiled, sizes = list[dict[str, bool]](), list[int]()
    monkeypatch.setattr(PackedTrieScorer, "score", lambda self, prefixes, *_: sizes.append(len(prefixes)))
    scorer = PackedTrieScorer.__new__(PackedTrieScorer)
    scorer.spec = EngineSpec(name="tiny", model="x", compile=True)
    scorer.model = torch.nn.Sequential(Layer(), torch.nn.Linear(1, 1), Layer())
    scorer._compile()
    assert (compiled, sizes) == ([{"dynamic": True}] * 2, [1, 2])
    scorer.model = torch.nn.Linear(1, 1)
    with pytest.raises(EngineError, match="'tiny': its architecture names no layers to compile"):
        scorer._compile()


def test_a_model_is_compiled_only_if_its_spec_asks_for_it(
    windowed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = list[bool]()
    monkeypatch.setattr(PackedTrieScorer, "_compile", lambda self: compiled.append(self.spec.compile))
    for is_asked in (False, True):
        spec = EngineSpec(name="tiny", model="x", dtype="float32", compile=is_asked)
        PackedTrieScorer(spec, str(windowed))
    assert compiled == [True]


@pytest.mark.parametrize("scaling", [None, 0.3])
def test_attention_of_blocks_equals_torchs(scaling: float | None) -> None:
    n, kv_heads, q, g, k, d = 2, 3, 4, 2, 5, 8
    drawn = torch.Generator().manual_seed(0)
    query = torch.randn(n, kv_heads, q, g, d, generator=drawn)
    key, value = (torch.randn(n, kv_heads, k, d, generator=drawn) for _ in range(2))
    mask = torch.zeros(n, 1, q, 1, k).masked_fill(
        torch.rand(n, 1, q, 1, k, generator=drawn) < 0.3, -torch.inf
    )
    mask[..., 0] = 0
    out = block_attention(query, key, value, mask, scaling)
    heads = query.transpose(2, 3).reshape(n, kv_heads * g, q, d)
    expected = scaled_dot_product_attention(
        heads, key, value, attn_mask=mask.squeeze(3), scale=scaling, enable_gqa=True
    )
    torch.testing.assert_close(out, expected.view(n, kv_heads, g, q, d).transpose(2, 3))


@pytest.mark.heavy
@pytest.mark.parametrize("model", ["smollm2_folder", "gemma3_folder"])
def test_real_models_equal_brute_force_in_every_batch_and_order(
    model: str, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(model)
    spec = EngineSpec(name=model, model="x", dtype="float32")
    scorer = PackedTrieScorer(spec, str(folder))
    framed = scorer.frame(QUESTIONS)
    continuations = [framed.lead + item for item in ITEMS]
    scores = scorer.score(framed.prefixes, continuations)
    np.testing.assert_allclose(scores, brute_force(folder, framed.prefixes, continuations), atol=1e-3)

    scorer.spec = spec.model_copy(update={"batch_tokens": 64})  # one prefix at a time, the trie in chunks
    order = np.random.default_rng(0).permutation(len(ITEMS))
    again = scorer.score(framed.prefixes[::-1], [continuations[i] for i in order])
    np.testing.assert_allclose(again[::-1], scores[:, order], atol=1e-3)


@pytest.mark.heavy
def test_half_precision_stays_near_float32(smollm2_folder: Path) -> None:
    scores = {}
    for dtype in ("float32", "bfloat16"):
        scorer = PackedTrieScorer(EngineSpec(name="m", model="x", dtype=dtype), str(smollm2_folder))  # type: ignore[arg-type]
        framed = scorer.frame(QUESTIONS)
        scores[dtype] = scorer.score(framed.prefixes, [framed.lead + item for item in ITEMS])
    assert np.abs(scores["float32"] - scores["bfloat16"]).mean() < 0.2


@pytest.mark.slow
def test_architecture_without_replaceable_attention_is_refused(
    tokenizer_folder: Path, tmp_path: Path
) -> None:
    config = BloomConfig(hidden_size=64, n_layer=2, n_head=4, vocab_size=49152)
    folder = save_random(config, tokenizer_folder, tmp_path)
    with pytest.raises(EngineError, match='kind = "vllm"'):
        PackedTrieScorer(EngineSpec(name="bloom", model="x", dtype="float32"), str(folder))


def test_missing_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot be loaded"):
        PackedTrieScorer(EngineSpec(name="gone", model="x"), str(tmp_path / "nowhere"))
