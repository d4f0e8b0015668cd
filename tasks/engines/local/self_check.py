"""Proves before an engine's first scores that they equal plain forward passes, else refuses it.

A plain pass runs one text by itself through the model's own code (eager attention, its own masks, its own
logits) and defines the scores. Compared are:

- in float32, whatever the precision is: a short and a long prompt in one call, by both kinds of passes. The
  first layers that hold all kinds of layers run, because layers of one kind differ only in weights. So a
  large model needs memory only for a few layers in float32. Settings of lengths (windows, chunks) are
  shortened meanwhile, so that the long prompt exceeds them all;
- in the model's precision, and with all layers: a short list after one short prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from tasks.engines.local import blanks, other_kinds, tree_attention
from tasks.engines.local.output_head import NotANumber, numbers
from tasks.engines.local.trie import build_trie
from tasks.engines.protocols import EngineError

Scorer = Any
"""A ``PackedTrieScorer``, ``MaskedScorer`` or ``Seq2SeqScorer``; their modules import this one."""

TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 1.0, torch.float16: 0.25}
"""Most nats between a plain pass and ours. In half precision another order of operations rounds differently;
what float32 shows exactly is only looked over there."""
RELATIVE = 1e-5
"""Further nats per nat of the score."""

SETTING = re.compile(r"window|chunk|local_attention|floor_scale|block_size", re.IGNORECASE)
"""Names of settings that are lengths within a text."""
SHORTENED = 40
"""Length of windows and chunks in the check."""
LONGEST = 1200
"""Most tokens of a prompt in the check, for windows that stay as they are."""
SHORT_PROMPT = 9
N_SHARED = 3
"""Tokens that both prompts begin with."""
ITEMS = ((0, 1, 2, 3), (0, 1, 4), (0, 5), (6,))
"""Items of the checked list as places among drawn tokens: a trie with several depths."""
CHECKED = ((0, 0), (1, 0), (1, 2), (0, 0))
"""Prompt and item of each plain pass. The short prompt comes again after the long one, because nothing of a
text may stay for the next."""
IDENTITY = re.compile(r"idx|index|\bid\b|name")
"""Names of attributes in which layers of one kind differ."""


def prove(scorer: Scorer, is_proven: bool = False) -> None:
    """Compare packed scores with plain passes, in float32 and in the model's own precision.

    Args:
        is_proven: whether this engine was compared before (``proofs``); only its head is measured then.

    Raises:
        EngineError: they differ, or the architecture cannot run packed; says which kind serves it.
        NotANumber: plain passes give no numbers.
    """
    tokens = _drawn(scorer)
    with exact(scorer.model):
        with plain_attention(scorer.model):
            _measure(scorer, input_ids=tokens[None, :1])
        if not is_proven:
            _compare_lengths(scorer, tokens)
    if not is_proven:
        prove_whole(scorer)


def prove_whole(scorer: Scorer) -> None:
    """Compare a short list after one prompt with a plain pass through the whole model."""
    tokens = _drawn(scorer)
    _compare(scorer, [tokens[:SHORT_PROMPT]], tokens, CHECKED[:1])


def prove_masked(scorer: Scorer, is_proven: bool = False) -> None:
    """Compare candidates in a short and a long sentence of one call with plain passes.

    Args:
        is_proven: see ``prove``.

    Raises:
        EngineError: they differ, or the architecture does not run this way.
    """
    tokens, mask = _drawn(scorer).tolist(), scorer.tokenizer.mask_token_id
    longest = min(scorer.limit - 5, 2 * SHORTENED + 30)
    sentences = blanks.Sentences([tokens[:2], tokens[2 : 2 + max(longest, 3)]], tokens[-3:])
    table = np.array([tokens[-5:-3], tokens[-7:-5]])

    def plain(subject: int, item: list[int]) -> float:
        wanted = len(sentences.left[subject]) + np.arange(len(item))
        text = torch.tensor([sentences.filled(subject, [mask] * len(item))], device=scorer.device)
        return _sum(scorer._head.plain(wanted, input_ids=text, attention_mask=torch.ones_like(text)), item)

    def compare() -> None:
        with torch.inference_mode():
            expected = _tried(
                scorer, lambda: np.array([[plain(i, item) for item in table.tolist()] for i in range(2)])
            )
        numbers(scorer.spec.name, expected)
        found = _packed(scorer, lambda: scorer.score_blanks(sentences, np.arange(2), table).sum(axis=1))
        _assert_equal(scorer, found, expected)

    with exact(scorer.model), shortened(scorer.model):
        _measure(scorer, input_ids=np.array([tokens[:8]]))
        if not is_proven:
            compare()
    if not is_proven:
        compare()


def prove_seq2seq(scorer: Scorer, is_proven: bool = False) -> None:
    """Compare candidates after the sentinel in a short and a long sentence with plain passes.

    Args:
        is_proven: see ``prove``.

    Raises:
        EngineError: they differ, or the architecture does not run this way.
    """
    tokens, opening = _drawn(scorer).tolist(), scorer.opening
    longest = min(scorer.limit - 1, 2 * SHORTENED + 30)
    sentences = [[*tokens[:2], scorer.sentinel], [*tokens[2 : 2 + max(longest, 3)], scorer.sentinel]]
    items = [[tokens[-40:][place] for place in item] for item in ITEMS]
    trie = build_trie(items)

    def plain(sentence: list[int], item: list[int]) -> float:
        texts = {
            "input_ids": torch.tensor([sentence], device=scorer.device),
            "decoder_input_ids": torch.cat([opening, torch.tensor([item], device=scorer.device)], dim=1),
        }
        wanted = opening.shape[1] - 1 + np.arange(len(item))
        return _sum(scorer._head.plain(wanted, **texts, use_cache=False), item)

    def edges(sentence: list[int]) -> NDArray[np.float32]:
        scores: NDArray[np.float32] = scorer.score_edges(sentence, trie, scorer.paths(trie, len(sentence)))
        return scores

    def compare() -> None:
        with torch.inference_mode():
            expected = _tried(
                scorer,
                lambda: np.array([[plain(sentence, item) for item in items] for sentence in sentences]),
            )
        numbers(scorer.spec.name, expected)
        from_trie = _packed(scorer, lambda: np.stack([edges(sentence) for sentence in sentences]))
        _assert_equal(scorer, trie.sum_over_items(from_trie), expected)

    with exact(scorer.model), shortened(scorer.model):
        inputs = {"input_ids": np.array([sentences[0]]), "decoder_input_ids": opening.cpu().numpy()}
        _measure(scorer, **inputs)
        if not is_proven:
            compare()
    if not is_proven:
        compare()


T = TypeVar("T")


def _tried(scorer: Scorer, run: Callable[[], T]) -> T:
    """Return what ``run`` returns; any error refuses the architecture."""
    try:
        return run()
    except torch.OutOfMemoryError as error:
        raise EngineError(
            f"model {scorer.spec.name!r}: too little memory to check its scores: {_first_line(error)}"
        ) from error
    except NotANumber:
        raise
    except EngineError as error:
        raise EngineError(f"{error}; {advice(scorer)}") from error
    except Exception as error:  # another architecture may raise anything
        raise EngineError(
            f"the architecture {type(scorer.model).__name__} cannot be scored in this way "
            f"({_first_line(error)}); {advice(scorer)}"
        ) from error


def _packed(scorer: Scorer, run: Callable[[], T]) -> T:
    """Return ``_tried`` of scores; those that are no numbers, unlike plain passes', refuse the model too."""
    try:
        return _tried(scorer, run)
    except NotANumber as error:
        raise EngineError(
            f"scores of the architecture {type(scorer.model).__name__} are no numbers, unlike plain passes'; "
            f"{advice(scorer)}"
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _measure(scorer: Scorer, **inputs: NDArray[np.int64]) -> None:
    texts = {name: torch.from_numpy(ids).to(scorer.device) for name, ids in inputs.items()}
    _tried(scorer, lambda: scorer._head.measure(**texts))


def _compare_lengths(scorer: Scorer, tokens: NDArray[np.int64]) -> None:
    """Compare prompts of very different lengths, with short windows, and with those that stay long."""
    most = scorer.length.tokens - 4
    with shortened(scorer.model):
        _compare(scorer, _prompts(tokens, min(most, 2 * SHORTENED + 30)), tokens)
    stay = [value for _, _, value in _settings(scorer.model) if value > SHORTENED]
    if fixed := [n for n in stay if n not in _readable(scorer.model)]:
        _compare(scorer, _prompts(tokens, min(most, LONGEST, max(fixed) + 40)), tokens)


def _prompts(tokens: NDArray[np.int64], n: int) -> list[NDArray[np.int64]]:
    """Return a short and a long prompt that begin with the same tokens and go on differently."""
    n = max(n, N_SHARED + 2)
    short = np.concatenate([tokens[:N_SHARED], tokens[-SHORT_PROMPT:]])[: max(n - 1, N_SHARED + 1)]
    return [short, tokens[:n]]


def _compare(
    scorer: Scorer,
    prompts: list[NDArray[np.int64]],
    tokens: NDArray[np.int64],
    checked: Sequence[tuple[int, int]] = CHECKED,
) -> None:
    """Compare scores of a list after two prompts with plain passes."""
    drawn = tokens[-40:]
    items = [[int(drawn[place]) for place in item] for item in ITEMS]
    encoded = [prompt.tolist() for prompt in prompts]

    def packed() -> NDArray[np.float32]:
        scores: NDArray[np.float32] = scorer.score_trie(encoded, build_trie(items)).logprob[None]
        if len(encoded) == 1:
            return scores
        texts = [prompt + item for prompt in encoded for item in items]
        n_scored = np.array([len(item) for _ in encoded for item in items])
        whole = scorer.score_sequences(texts, n_scored)[0].reshape(scores.shape)
        return np.concatenate([scores, whole])

    with plain_attention(scorer.model):
        plain = _tried(
            scorer,
            lambda: np.array([_plain(scorer, encoded[prompt], items[item]) for prompt, item in checked]),
        )
    numbers(scorer.spec.name, plain)
    scores = _packed(scorer, packed)
    if not abs(plain[-1] - plain[0]) <= TOLERANCE[scorer.model.dtype]:
        raise EngineError(
            f"scores of the architecture {type(scorer.model).__name__} depend on texts scored before, so "
            f"they cannot be repeated; {advice(scorer)}"
        )
    _assert_equal(scorer, np.stack([table[tuple(np.transpose(checked))] for table in scores]), plain)


def _assert_equal(scorer: Scorer, found: NDArray[np.floating[Any]], plain: NDArray[np.float64]) -> None:
    """Raise EngineError unless scores equal those of plain passes, up to rounding."""
    off = np.abs(found - plain)
    if not (off <= TOLERANCE[scorer.model.dtype] + RELATIVE * np.abs(plain)).all():
        raise EngineError(
            f"scores of the architecture {type(scorer.model).__name__} differ from plain passes by "
            f"{off.max():.2g} nats; {advice(scorer)}"
        )


@torch.inference_mode()
def _plain(scorer: Scorer, prompt: list[int], item: list[int]) -> float:
    """Return the score of an item after a prompt by a plain pass, which defines it."""
    text = torch.tensor([[*prompt, *item]], device=scorer.device)
    wanted = len(prompt) - 1 + np.arange(len(item))
    logprobs = scorer._head.plain(wanted, input_ids=text, use_cache=False)
    return _sum(logprobs, item)


def _sum(logprobs: torch.Tensor, item: list[int]) -> float:
    """Return the sum of the item's log-probabilities, a token in each row."""
    return float(logprobs[torch.arange(len(item)), torch.tensor(item)].double().sum())


def _drawn(scorer: Scorer) -> NDArray[np.int64]:
    """Return random tokens of the model, the same at every load, without special ones."""
    tokenizer, rows = scorer.tokenizer, scorer.n_tokens
    special = {*tokenizer.all_special_ids, *getattr(tokenizer, "added_tokens_decoder", ())}
    plain = np.array([i for i in range(min(rows, len(tokenizer))) if i not in special])
    return np.random.default_rng(0).choice(plain, LONGEST)


@contextmanager
def plain_attention(model: Any) -> Iterator[None]:
    """Run the model's own attention within this block."""
    packed = model.config._attn_implementation == tree_attention.NAME
    if packed:
        model.set_attn_implementation("eager")
    try:
        yield
    finally:
        if packed:
            model.set_attn_implementation(tree_attention.NAME)


@contextmanager
def exact(model: Any) -> Iterator[None]:
    """Run the model's first layers in float32 within this block; a quantised model in its own precision."""
    with ExitStack() as stack:
        stack.enter_context(first_layers(model))
        if getattr(model, "hf_quantizer", None) is None:  # otherwise its products have one precision
            stack.enter_context(in_float32(model))
        yield


@contextmanager
def in_float32(model: Any) -> Iterator[None]:
    """Hold the weights of the model's present layers in float32 within this block."""
    tensors = [t for t in (*model.parameters(), *model.buffers()) if t.is_floating_point()]
    kept = [(tensor, tensor.data) for tensor in tensors if tensor.dtype != torch.float32]
    try:
        for tensor, data in kept:
            tensor.data = data.float()
        yield
    finally:
        for tensor, data in kept:
            tensor.data = data


@contextmanager
def first_layers(model: Any) -> Iterator[None]:
    """Leave only the first layers within this block, as many as hold every kind of layer."""
    lists = [
        (parent, name, child)
        for parent in model.modules()
        if not isinstance(parent, torch.nn.ModuleList)
        for name, child in parent.named_children()
        if isinstance(child, torch.nn.ModuleList)
        and len(child) == getattr(model.config.get_text_config(), "num_hidden_layers", 0)
    ]
    kept = []
    try:
        for parent, name, layers in lists:
            kinds = [_kind(layer) for layer in layers]
            n = max(kinds.index(kind) for kind in set(kinds)) + 1
            kept.append((parent, name, layers))
            setattr(parent, name, layers[:n])
        yield
    finally:
        for parent, name, layers in kept:
            setattr(parent, name, layers)


def _kind(layer: torch.nn.Module) -> str:
    """Return what a layer computes, without its weights' values: modules, shapes and settings."""
    parts = []
    for name, module in layer.named_modules():
        settings = {
            key: value
            for key, value in sorted(vars(module).items())
            if isinstance(value, bool | int | float | str | None) and not IDENTITY.search(key)
        }
        shapes = [(key, tuple(weight.shape)) for key, weight in module.named_parameters(recurse=False)]
        parts.append((name, type(module).__name__, settings, shapes))
    return repr(parts)


Setting = tuple[Any, str, int]


def _settings(model: Any) -> list[Setting]:
    """Return the lengths among the settings of the model's configurations and modules."""
    configs = {id(c): c for m in model.modules() if (c := getattr(m, "config", None)) is not None}
    owners = [*configs.values(), *model.modules()]
    return [
        (owner, name, value)
        for owner in owners
        for name, value in vars(owner).items()
        if isinstance(value, int) and not isinstance(value, bool) and SETTING.search(name) and value > 1
    ]


def _readable(model: Any) -> set[int]:
    """Return the lengths that transformers reads from the configuration for every mask."""
    config = model.config.get_text_config()
    return {getattr(config, name, None) or 0 for name in ("sliding_window", "attention_chunk_size")}


@contextmanager
def shortened(model: Any) -> Iterator[None]:
    """Shorten windows and chunks within this block."""
    settings = [setting for setting in _settings(model) if setting[2] > SHORTENED]
    for owner, name, _ in settings:
        setattr(owner, name, SHORTENED)
    try:
        yield
    finally:
        for owner, name, value in settings:
            setattr(owner, name, value)


def advice(scorer: Scorer) -> str:
    """Return what to do with a model that this kind of engine cannot score."""
    if scorer.spec.kind != "packed_trie":
        return "take another model"
    return other_kinds.served_by(type(scorer.model).__name__, scorer.spec.name)
