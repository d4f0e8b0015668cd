"""Compares scores of a tiny random model of every architecture in transformers with plain passes.

    .venv/bin/python -m benchmarks.architectures [--only llama …] [--write]

A plain pass runs one text through the model as transformers loads it, without code of an engine. An
architecture is *equal*, *refused* with a reason, *wrong*, or it *crashed*; one that does not become tiny from
its configuration is listed with the reason. ``--write`` writes the page docs/results/architectures.md.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    CONFIG_MAPPING,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    PreTrainedTokenizerFast,
)
from transformers.models.auto import modeling_auto

from tasks.engines.local.masked import MaskedScorer
from tasks.engines.local.packed_trie import PackedTrieScorer
from tasks.engines.local.seq2seq import Seq2SeqScorer
from tasks.engines.protocols import Cloze, EngineError, TextPair
from tasks.engines.specs import Dtype, EngineSpec

PAGE = Path(__file__).parents[1] / "docs" / "results" / "architectures.md"
Kind = Literal["packed_trie", "masked", "seq2seq"]
NAMES: Mapping[Kind, Sequence[str]] = {
    "packed_trie": list(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES),
    "masked": list(modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES),
    "seq2seq": list(modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES),
}
AUTO: Mapping[Kind, Any] = {
    "packed_trie": AutoModelForCausalLM,
    "masked": AutoModelForMaskedLM,
    "seq2seq": AutoModelForSeq2SeqLM,
}
ENGINES: Mapping[Kind, Any] = {
    "packed_trie": PackedTrieScorer,
    "masked": MaskedScorer,
    "seq2seq": Seq2SeqScorer,
}

TOLERANCE = {"float32": 1e-4, "bfloat16": 0.5}
"""Most nats between equal scores; of bfloat16 a bound on rounding, not on errors of an engine."""
MOST_WEIGHTS, N_WORDS = 20_000_000, 120
POSITIONS, WINDOW, CHUNK, WIDTH, HEADS, LAYERS = 192, 16, 32, 32, 4, 4
SIZES: dict[str, Any] = {
    "vocab_size": N_WORDS + 8,
    **dict.fromkeys(
        ("hidden_size", "d_model", "n_embd", "dim", "embedding_size", "emb_dim", "d_embed"), WIDTH),
    **dict.fromkeys(
        ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers",
         "num_decoder_layers", "num_encoder_layers"), LAYERS),
    **dict.fromkeys(
        ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads",
         "decoder_attention_heads"), HEADS),
    "num_key_value_heads": 2, "head_dim": 8, "d_kv": 8, "d_head": 8, "global_head_dim": 8,
    **dict.fromkeys(
        ("intermediate_size", "ffn_dim", "d_ff", "d_inner", "n_inner", "encoder_ffn_dim", "decoder_ffn_dim",
         "ffn_hidden_size", "shared_expert_intermediate_size", "moe_intermediate_size", "hidden_dim",
         "expert_ffn_hidden_size", "intermediate_size_mlp", "moe_shared_expert_intermediate_size"), 48),
    **dict.fromkeys(
        ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length"), POSITIONS),
    **dict.fromkeys(
        ("sliding_window", "attention_window_size", "window_size", "local_attention"), WINDOW),
    "attention_chunk_size": CHUNK,
    **dict.fromkeys(
        ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "moe_k", "moe_topk", "num_experts_per_token"), 2),
    "n_group": 1, "topk_group": 1, "n_shared_experts": 1,
    "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8,
    "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 8, "mamba_num_heads": 8, "mamba_head_dim": 8,
    "mamba_n_groups": 1, "n_groups": 1, "ssm_state_size": 8, "state_size": 8, "mamba_expand": 2,
    "linear_num_key_heads": 2, "linear_num_value_heads": 2,
    "linear_key_head_dim": 8, "linear_value_head_dim": 8,
    "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": N_WORDS + 8, "lru_width": WIDTH,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
    "attn_window_size": WINDOW, "type_vocab_size": 2,
}  # fmt: skip
"""Sizes by the names that configurations use."""
OWN: dict[str, dict[str, Any]] = {
    "gpt_neo": {"attention_types": [[["global", "local"], 2]]},
    "llama4_text": {
        "interleave_moe_layer_step": 1,
        "no_rope_layers": [1, 1, 1, 0],
        "attn_temperature_tuning": False,
    },
    "deepseek_v3": {"first_k_dense_replace": 1},
    "deepseek_v2": {"first_k_dense_replace": 1, "topk_method": "greedy"},
    "mamba2": {"num_heads": 8, "head_dim": 8, "n_groups": 1},
    "rwkv": {"attention_hidden_size": WIDTH, "context_length": POSITIONS},
    "reformer": {"axial_pos_shape": [12, 16], "axial_pos_embds_dim": [8, 24], "is_decoder": True},
    "gemma3n_text": {"num_kv_shared_layers": 0},
    "recurrent_gemma": {"block_types": ["recurrent", "attention"]},
    "phi3": {"original_max_position_embeddings": POSITIONS},
    "modernbert-decoder": {"global_attn_every_n_layers": 2},
    "longformer": {"attention_window": [16] * LAYERS},
    "gptj": {"rotary_dim": 4},
    "codegen": {"rotary_dim": 4},
    "layoutlm": {"max_2d_position_embeddings": POSITIONS},
    "luke": {"entity_vocab_size": 16, "entity_emb_size": 16},
    "funnel": {"block_sizes": [2, 2]},
}
"""Further settings of single architectures."""
ROPE = {"rope_theta": 10000.0}
MORE: Sequence[tuple[str, str, dict[str, Any]]] = [
    ("qwen2, windows", "qwen2", {"use_sliding_window": True, "max_window_layers": 2}),
    ("qwen2_moe, windows", "qwen2_moe", {"use_sliding_window": True, "max_window_layers": 2}),
    ("qwen3_moe, windows", "qwen3_moe", {"use_sliding_window": True, "max_window_layers": 2}),
    ("llama, linear rope", "llama", {"rope_parameters": ROPE | {"rope_type": "linear", "factor": 4.0}}),
    ("llama, dynamic rope", "llama", {"rope_parameters": ROPE | {"rope_type": "dynamic", "factor": 4.0}}),
    ("llama, dynamic rope, longer context", "llama", {
        "rope_parameters": ROPE | {
            "rope_type": "dynamic", "factor": 4.0, "original_max_position_embeddings": 48},
        "max_position_embeddings": 4 * 48,
    }),
    ("llama, yarn", "llama", {
        "rope_parameters": ROPE | {
            "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 48},
    }),
    ("llama, llama3 rope", "llama", {
        "rope_parameters": ROPE | {
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 48},
    }),
    ("phi3, longrope", "phi3", {
        "rope_parameters": ROPE | {
            "rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [1.5, 2.0, 3.0, 4.0],
            "original_max_position_embeddings": 48, "factor": 4.0},
        "original_max_position_embeddings": 48,
    }),
    ("llama4, temperature by place in the pass", "llama4_text", {
        "attn_temperature_tuning": True, "floor_scale": 16}),
    ("ministral3, temperature by position", "ministral3", {
        "rope_parameters": ROPE | {
            "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 32.0,
            "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.5},
    }),
    ("deepseek_v3, yarn", "deepseek_v3", {
        "rope_parameters": ROPE | {
            "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 48, "mscale": 1.0,
            "mscale_all_dim": 1.0},
    }),
    ("mistral, window", "mistral", {"sliding_window": 20}),
    ("smollm3, windows and layers without a rope", "smollm3", {
        "no_rope_layers": [1, 0, 1, 0], "use_sliding_window": True, "sliding_window": 20,
        "max_window_layers": 2,
    }),
    ("gemma3, soft cap", "gemma3_text", {"final_logit_softcapping": 5.0}),
    ("gemma3, both directions", "gemma3_text", {"use_bidirectional_attention": True}),
    ("lfm2, attention only", "lfm2", {"layer_types": ["full_attention"] * LAYERS}),
    ("cohere, logit scale", "cohere", {"logit_scale": 0.3}),
    ("granite, logit divisor", "granite", {"logits_scaling": 8.0}),
    ("gemma, tied", "gemma", {"tie_word_embeddings": True}),
    ("llama, biases", "llama", {"attention_bias": True, "mlp_bias": True}),
    ("falcon, alibi", "falcon", {"alibi": True}),
    ("gpt2, other attention scale", "gpt2", {
        "scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True}),
]  # fmt: skip
"""Name, model type and settings of decoders with other ropes, windows and heads."""

WORDS = [f"w{i}" for i in range(N_WORDS)]
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>", "<mask>", "<extra_id_0>", "<sep>", "<cls>"]


@dataclass
class Row:
    """The outcome for one architecture.

    Attributes:
        nats: largest difference from plain passes, if it was scored.
        note: reason of a refusal, error or failure to become tiny.
    """

    kind: Kind
    name: str
    architecture: str = ""
    outcome: str = "not tiny"
    nats: float = float("nan")
    note: str = ""


def main() -> None:
    """Print a line per architecture, and write the page if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", help="model types, or kinds of engines")
    parser.add_argument("--write", action="store_true", help="write docs/results/architectures.md")
    options = parser.parse_args()
    rows = []
    for row in matrix(options.only):
        rows.append(row)
        print(f"{row.kind:12}{row.name:34}{row.outcome:10}{row.nats:9.1e}  {row.note}", flush=True)
    print(dict(Counter(row.outcome for row in rows)))
    if options.write:
        PAGE.write_text(page(rows), encoding="utf-8")


def cases(only: Sequence[str] | None = None) -> Iterator[tuple[Kind, str, str, dict[str, Any]]]:
    """Yield kind of engine, name, model type and settings of every architecture."""
    for kind, names in NAMES.items():
        for name in names:
            if not only or name in only or kind in only:
                yield kind, name, name, OWN.get(name, {})
    for name, model_type, settings in MORE:
        if not only or model_type in only or "packed_trie" in only:
            yield "packed_trie", name, model_type, OWN.get(model_type, {}) | settings


def matrix(only: Sequence[str] | None = None) -> Iterator[Row]:
    """Yield the outcome for every architecture."""
    for kind, name, model_type, settings in cases(only):
        with tempfile.TemporaryDirectory() as folder:
            yield outcome(kind, name, model_type, settings, Path(folder))


def outcome(
    kind: Kind, name: str, model_type: str, settings: Mapping[str, Any], folder: Path,
    device: str = "cpu", dtype: Dtype = "float32",
) -> Row:  # fmt: skip
    """Return the outcome for one architecture, whose model is saved in a folder.

    device, dtype: of the engine; it is compared with plain passes on the CPU in float32.
    """
    row = Row(kind, name)
    try:
        save(kind, model_type, settings, folder)
        plain = AUTO[kind].from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        row.architecture = type(plain).__name__
        expected = EXPECTED[kind](plain)
    except Exception as error:
        row.note = f"{type(error).__name__}: {first_line(error)}"
        return row
    try:
        engine = ENGINES[kind](
            EngineSpec(name=name, kind=kind, model="x", dtype=dtype, device=device), str(folder)
        )
        found = FOUND[kind](engine)
    except EngineError as error:
        row.outcome, row.note = "refused", first_line(error)
        return row
    except Exception as error:
        row.outcome, row.note = "crashed", f"{type(error).__name__}: {first_line(error)}"
        return row
    off = {way: float(np.abs(scores - expected[way.split(",")[0]]).max()) for way, scores in found.items()}
    worst = max(off, key=lambda way: np.inf if np.isnan(off[way]) else off[way])
    row.nats = off[worst]
    row.outcome = "equal" if row.nats <= TOLERANCE[dtype] else "wrong"
    row.note = "" if row.outcome == "equal" else worst
    if kind == "packed_trie" and engine.length.tokens < POSITIONS:
        row.note = f"reads {engine.length.tokens} of {POSITIONS} tokens: {engine.length.reason}"
    return row


def first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def save(kind: Kind, model_type: str, settings: Mapping[str, Any], folder: Path) -> None:
    """Save a tiny random model of an architecture, and a tokenizer of words."""
    config = sized(CONFIG_MAPPING[model_type], settings, is_decoder=kind == "packed_trie")
    with torch.device("meta"):
        n_weights = sum(p.numel() for p in AUTO[kind].from_config(config).parameters())
    if n_weights > MOST_WEIGHTS:
        raise ValueError(f"it has {n_weights} weights")
    torch.manual_seed(0)
    model = AUTO[kind].from_config(config).eval()
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1 and "A_log" not in name:
            parameter.data.normal_(std=0.15)
        elif name.endswith("bias"):
            parameter.data.normal_(std=0.05)
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)


def sized(kind: Any, settings: Mapping[str, Any], is_decoder: bool) -> Any:
    """Return a configuration of a class with small sizes, in its parts too."""
    usual = kind()
    names = dir(usual)
    sizes = {key: value for key, value in SIZES.items() if key in names} | dict(settings)
    if "kv_lora_rank" in names and "num_key_value_heads" not in settings:
        sizes["num_key_value_heads"] = HEADS
    if kind.model_type == "funnel":
        del sizes["num_hidden_layers"]
    if is_decoder and {"is_decoder", "is_encoder_decoder"} <= set(names):
        sizes |= {"is_decoder": True}
    for part in getattr(kind, "sub_configs", {}):
        if (own := getattr(usual, part, None)) is not None:
            sizes[part] = sized(type(own), OWN.get(own.model_type, {}), is_decoder)
    fixed = {
        name for name in sizes if isinstance(prop := getattr(kind, name, None), property) and not prop.fset
    }
    config = kind(**{name: value for name, value in sizes.items() if name not in fixed})
    if config.is_encoder_decoder and getattr(config, "decoder_start_token_id", None) is None:
        config.decoder_start_token_id = 1
    return config


def tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer whose tokens are words, with a start token."""
    vocabulary = {word: i for i, word in enumerate([*SPECIAL, *WORDS])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    names = {"pad": "<pad>", "bos": "<s>", "eos": "</s>", "unk": "<unk>", "mask": "<mask>"}
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=backend,
        additional_special_tokens=["<extra_id_0>"],
        **{f"{name}_token": token for name, token in names.items()},
    )


def drawn(n: int, seed: int) -> str:
    return " ".join(np.random.default_rng(seed).choice(WORDS, n))


PROMPTS = [drawn(6, 1), f"{drawn(6, 1)} {drawn(90, 2)}", drawn(3, 3)]
FITTING = [PROMPTS[0], f"{drawn(6, 1)} {drawn(26, 2)}", PROMPTS[2]]
"""Prompts for models whose length is short."""
ITEMS = [f" {text}" for text in (
    "w1", "w1 w2", "w1 w2 w3", "w1 w2 w4 w5 w6", "w7 w8", "w9", "w7 w8 w8 w8", "w3 w1 w2 w3 w4 w5 w6 w7 w8",
)]  # fmt: skip
FURTHER = [f" {drawn(4, seed)}" for seed in range(100, 200)]  # a pass wider than every model's context
TOO_LONG = drawn(POSITIONS + 60, 4)


@torch.inference_mode()
def plain_score(model: Any, prompt: Sequence[int], item: Sequence[int]) -> float:
    """Return the sum of log-probabilities of the item's tokens, from one plain pass."""
    logits = model(input_ids=torch.tensor([[*prompt, *item[:-1]]]), use_cache=False).logits[0].float()
    steps = torch.log_softmax(logits[len(prompt) - 1 :], dim=-1)
    return float(sum(steps[i, token] for i, token in enumerate(item)))


def words(text: str) -> list[int]:
    return [len(SPECIAL) + WORDS.index(word) for word in text.split()]


def expected_of_decoder(model: Any) -> dict[str, np.ndarray]:
    """Return plain scores of all items after each prompt."""
    table = {
        name: np.array([[plain_score(model, [1, *words(p)], words(i)) for i in ITEMS] for p in prompts])
        for name, prompts in (("long", PROMPTS), ("short", FITTING))
    }
    cut = {}
    for length in (POSITIONS, 48):
        whole = [1, *words(TOO_LONG)]
        rows = [(whole + words(item))[-(length + 1) :] for item in ITEMS]
        pairs = [(row[: -len(words(item))], words(item)) for row, item in zip(rows, ITEMS, strict=True)]
        try:
            cut[f"cut to {length}"] = np.array([plain_score(model, *pair) for pair in pairs])
        except Exception:
            cut[f"cut to {length}"] = np.full(len(ITEMS), np.nan)
    if not np.isfinite(table["long"]).all():
        raise ValueError("its plain passes are not finite")
    return table | cut


def found_of_decoder(engine: PackedTrieScorer) -> dict[str, np.ndarray]:
    """Return scores by all methods, in both orders, in one pass and in many, of cut and whole texts."""
    found = {}
    fits = engine.length.tokens >= 110
    name, prompts = ("long", PROMPTS) if fits else ("short", FITTING)
    for size in (4096, 64):
        engine.spec = engine.spec.model_copy(update={"batch_tokens": size})
        for order in (1, -1):
            turned = prompts[::order]
            found[f"{name}, score {size} {order}"] = engine.score(turned, ITEMS[::order])[::order, ::order]
            wide = engine.score(turned, [*ITEMS[::order], *FURTHER])[:, : len(ITEMS)]
            found[f"{name}, wide score {size} {order}"] = wide[::order, ::order]
            each = engine.score_each(turned, [ITEMS[::order]] * len(prompts))
            found[f"{name}, score_each {size} {order}"] = np.stack(each)[::order, ::order]
            pairs = [TextPair(prompt, item) for prompt in prompts for item in ITEMS][::order]
            scores = engine.score_pairs(pairs).logprob[::order]
            found[f"{name}, score_pairs {size} {order}"] = scores.reshape(len(prompts), -1)
        if engine.length.tokens in (POSITIONS, 48):
            cut = engine.score_pairs([TextPair(TOO_LONG, item) for item in ITEMS])
            assert (cut.n_cut > 0).all()
            found[f"cut to {engine.length.tokens}, score_pairs {size}"] = cut.logprob
    return found


CLOZE = Cloze(
    before=(drawn(5, 5), f"{drawn(70, 6)} {drawn(5, 5)}", drawn(2, 7)),
    lead=" ",
    after=f" {drawn(4, 8)}",
    tail="",
)
CANDIDATES = ["w1", "w1 w2", "w3 w1", "w5 w6 w7", "w1 w2 w9"]


@torch.inference_mode()
def expected_of_masked(model: Any) -> dict[str, np.ndarray]:
    """Return the sums of log-probabilities of candidates, with a mask for each token."""
    table = np.empty((len(CLOZE.before), len(CANDIDATES)))
    for i, before in enumerate(CLOZE.before):
        for j, candidate in enumerate(CANDIDATES):
            item, start = words(candidate), [1, *words(before)]
            ids = [*start, *[4] * len(item), *words(CLOZE.after)]
            logits = model(input_ids=torch.tensor([ids]), attention_mask=torch.ones(1, len(ids))).logits[0]
            steps = torch.log_softmax(logits.float()[len(start) :], dim=-1)
            table[i, j] = sum(float(steps[n, token]) for n, token in enumerate(item))
    if not np.isfinite(table).all():
        raise ValueError("its plain passes are not finite")
    return {"whole": table}


@torch.inference_mode()
def expected_of_seq2seq(model: Any) -> dict[str, np.ndarray]:
    """Return the sums of log-probabilities of candidates after the sentinel in the decoder."""
    table = np.empty((len(CLOZE.before), len(CANDIDATES)))
    for i, before in enumerate(CLOZE.before):
        for j, candidate in enumerate(CANDIDATES):
            item, ids = words(candidate), [1, *words(before), 5, *words(CLOZE.after)]
            opening = [model.config.decoder_start_token_id, 5]
            logits = model(
                input_ids=torch.tensor([ids]),
                decoder_input_ids=torch.tensor([[*opening, *item]]),
                use_cache=False,
            ).logits[0]
            steps = torch.log_softmax(logits.float()[1:], dim=-1)
            table[i, j] = sum(float(steps[n, token]) for n, token in enumerate(item))
    if not np.isfinite(table).all():
        raise ValueError("its plain passes are not finite")
    return {"whole": table}


def found_of_candidates(engine: Any) -> dict[str, np.ndarray]:
    """Return scores of candidates in one pass and in many, in both orders."""
    found = {}
    for size in (4096, 64):
        engine.spec = engine.spec.model_copy(update={"batch_tokens": size})
        for order in (1, -1):
            scores = engine.score_candidates(CLOZE, CANDIDATES[::order]).logprob
            found[f"whole, {size} {order}"] = scores[:, ::order]
    return found


EXPECTED: Mapping[Kind, Callable[[Any], dict[str, np.ndarray]]] = {
    "packed_trie": expected_of_decoder,
    "masked": expected_of_masked,
    "seq2seq": expected_of_seq2seq,
}
FOUND: Mapping[Kind, Callable[[Any], dict[str, np.ndarray]]] = {
    "packed_trie": found_of_decoder,
    "masked": found_of_candidates,
    "seq2seq": found_of_candidates,
}


TITLES: Mapping[Kind, str] = {
    "packed_trie": "Decoders (`packed_trie`)",
    "masked": "Encoders (`masked`)",
    "seq2seq": "Encoder-decoders (`seq2seq`)",
}
INTRODUCTION = """# Architectures

Scores of a tiny random model of every architecture in transformers {version}, compared with plain passes:
one text at a time, through the model as transformers loads it. Decoders are scored by `score`, `score_each`
and `score_pairs`, in both orders, in one pass and in many, in passes wider than the model's context, whole
and cut to the model's length.

- *equal*: the largest difference is at most 1e-4 nats, in float32;
- *refused*: the engine does not load it and says why. For decoders the advice follows the list of the
  installed vLLM;
- *not tiny*: the class does not become tiny from its configuration, or needs images or sound; such a model is
  checked when it is loaded, like every other.

No row is *wrong* or *crashed*. `.venv/bin/python -m benchmarks.architectures --write` makes this page.
"""


def page(rows: Sequence[Row]) -> str:
    """Return the page; raises ValueError if a row is wrong or crashed."""
    if bad := [row.name for row in rows if row.outcome in ("wrong", "crashed")]:
        raise ValueError(f"wrong or crashed: {', '.join(bad)}")
    lines = [INTRODUCTION.format(version=transformers.__version__)]
    for kind, title in TITLES.items():
        own = [row for row in rows if row.kind == kind]
        counts = Counter(row.outcome for row in own)
        lines.append(f"## {title}\n")
        lines.append(", ".join(f"{n} {outcome}" for outcome, n in counts.most_common()) + ".\n")
        lines += ["| architecture | outcome | nats | note |", "| --- | --- | --- | --- |"]
        for row in own:
            nats = f"{row.nats:.0e}" if row.outcome == "equal" else ""
            lines.append(f"| {row.name} | {row.outcome} | {nats} | {row.note.replace('|', ' ')} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
