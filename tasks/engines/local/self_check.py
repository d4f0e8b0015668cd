"""Proves that an engine's scores equal plain forward passes, for texts and passes of a length, or refuses it.

A plain pass runs one text by itself through the model's own code (its own attention, masks and logits) and
defines the scores. Nothing is read from names of settings: what a model does only in long texts (windows,
chunks, ropes) is found because no text is scored that is longer than those that were compared
(``Proven.reach``). Compared are:

- in float32, whatever the precision is: a short and a long prompt in one call, and a long continuation, by
  both kinds of passes. The first layers that hold all kinds of layers run, because layers of one kind differ
  only in weights. So a large model needs memory only for a few layers in float32;
- in the model's precision, and with all layers: a short list after a short prompt, a token after a long one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from tasks.engines.local import blanks, device_faults, other_kinds, tree_attention
from tasks.engines.local.first_layers import exact
from tasks.engines.local.output_head import NotANumber, numbers
from tasks.engines.local.trie import build_trie
from tasks.engines.protocols import EngineError

Scorer = Any
"""A ``PackedTrieScorer``, ``MaskedScorer`` or ``Seq2SeqScorer``; their modules import this one."""

TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 1.0, torch.float16: 0.25}
"""Most nats between a plain pass and ours, for items of at most ``FEW`` tokens. In half precision another
order of operations rounds differently; what float32 shows exactly is only looked over there."""
FEW = 4
RELATIVE = 1e-5
"""Further nats per nat of the score."""

EAGER = 2048
"""Most tokens of a plain pass by eager attention, whose tables grow with their square; longer texts take
PyTorch's fused attention, with the model's own masks."""
SHORT_PROMPT = 9
N_SHARED = 3
"""Tokens that both prompts begin with."""
LAST = 40
"""Drawn tokens of which items are made."""
ITEMS = ((0, 1, 2, 3), (0, 1, 4), (0, 5), (6,))
"""Items of the checked list as places among drawn tokens: a trie with several depths."""
CHECKED = ((0, 0), (1, 0), (1, 2), (0, 0))
"""Prompt and item of each plain pass. The short prompt comes again after the long one, because nothing of a
text may stay for the next."""


class Reach(NamedTuple):
    """Lengths up to which scores were compared with plain passes.

    Attributes:
        tokens: of a text that a model reads (the last one is only scored).
        width: tokens of a packed pass, which holds parts of several texts; 0 where texts are not packed.
    """

    tokens: int = 0
    width: int = 0

    def covers(self, tokens: int, width: int) -> bool:
        """Return whether a text and a pass of these lengths were compared."""
        return tokens <= self.tokens and width <= self.width

    def beyond(self, tokens: int, width: int, most: int) -> Reach:
        """Return the reach to compare next so that these are in it, and some more.

        Args:
            most: tokens of the longest text that the model reads.
        """
        tokens = max(self.tokens, min(_rounded(tokens), max(most, tokens)))
        return Reach(tokens, max(self.width, _rounded(max(width, tokens)) if width else 0))


def _rounded(n: int) -> int:
    """Return the least number from n on among quarters between powers of two: 512, 640, 768, 896, 1024."""
    step = max((1 << n.bit_length()) // 8, 1)
    return -(-n // step) * step


UNLIMITED = Reach(2**62, 2**62)
"""While scores are compared."""
FIRST = 128
"""Tokens of a text, and of a pass, for which scores are compared when a model is loaded."""


def measure_decoder(scorer: Scorer) -> None:
    """Measure what lies after the head (``OutputHead.measure``); raises EngineError if it cannot be read."""
    with exact(scorer.model), plain_attention(scorer.model):
        _measure(scorer, input_ids=_drawn(scorer, LAST)[None, :1])


def measure_encoder(scorer: Scorer) -> None:
    """Do so for an encoder."""
    with exact(scorer.model):
        _measure(scorer, input_ids=_drawn(scorer, LAST)[None, :8])


def measure_seq2seq(scorer: Scorer) -> None:
    """Do so for an encoder-decoder."""
    with exact(scorer.model):
        sentence = np.append(_drawn(scorer, LAST)[:2], scorer.sentinel)[None]
        _measure(scorer, input_ids=sentence, decoder_input_ids=scorer.opening.cpu().numpy())


def compare_decoder(scorer: Scorer, reach: Reach, is_longer: bool = True) -> None:
    """Compare packed scores with plain passes, in float32 and in the model's own precision.

    Args:
        is_longer: whether texts are; otherwise only passes are wider than before.

    Raises:
        EngineError: they differ, or the architecture cannot run packed; says which kind serves it.
        NotANumber: plain passes give no numbers.
    """
    n = max(reach.tokens, N_SHARED + 1 + FEW)
    tokens = _drawn(scorer, n + 1 + LAST)
    prompts = _prompts(tokens, n + 1 - FEW)
    items = _items(tokens)
    with exact(scorer.model):
        _compare_wide(scorer, prompts[0], items, _filler(tokens, reach.width - len(prompts[0])))
        if not is_longer:
            return
        _compare(scorer, prompts, items, CHECKED)
        _compare_wide(scorer, tokens[: n // 2], [tokens[n // 2 : n + 1].tolist()], [])
    compare_whole(scorer)
    _compare(scorer, prompts[1:], items[-1:], [(0, 0)], by_sequence=False)


def compare_whole(scorer: Scorer) -> None:
    """Compare a short list after one prompt with a plain pass through the whole model."""
    tokens = _drawn(scorer, SHORT_PROMPT + LAST)
    _compare(scorer, [tokens[:SHORT_PROMPT]], _items(tokens), CHECKED[:1])


def compare_encoder(scorer: Scorer, reach: Reach) -> None:
    """Compare candidates in a short and a long sentence of one call with plain passes.

    Raises:
        EngineError: they differ, or the architecture does not run this way.
    """
    tokens, mask = _drawn(scorer, reach.tokens + LAST).tolist(), scorer.tokenizer.mask_token_id
    sentences = blanks.Sentences([tokens[:2], tokens[2 : 2 + max(reach.tokens - 5, 3)]], tokens[-3:])
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
        _assert_equal(scorer, found, expected, reach.tokens)

    with exact(scorer.model):
        compare()
    compare()


def compare_seq2seq(scorer: Scorer, reach: Reach) -> None:
    """Compare candidates after the sentinel in a short and a long sentence with plain passes.

    Raises:
        EngineError: they differ, or the architecture does not run this way.
    """
    tokens, opening = _drawn(scorer, reach.tokens + LAST).tolist(), scorer.opening
    long = tokens[2 : 2 + max(reach.tokens - 1, 3)]
    sentences = [[*tokens[:2], scorer.sentinel], [*long, scorer.sentinel]]
    items = [*_items(np.array(tokens)), long[: reach.tokens // 2]]
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
        lengths = np.array([len(item) for item in items])
        _assert_equal(scorer, trie.sum_over_items(from_trie), expected, reach.tokens, lengths)

    with exact(scorer.model):
        compare()
    compare()


T = TypeVar("T")


def _tried(scorer: Scorer, run: Callable[[], T]) -> T:
    """Return what ``run`` returns; any error refuses the architecture."""
    try:
        return run()
    except (NotANumber, device_faults.DeviceLost):
        raise
    except EngineError as error:
        raise EngineError(f"{error}; {advice(scorer)}") from error
    except Exception as error:  # another architecture may raise anything
        if device_faults.is_lost(error):
            raise device_faults.lost(scorer.spec.name, error) from error
        if device_faults.is_out_of_memory(error):
            raise EngineError(
                f"model {scorer.spec.name!r}: too little memory to check its scores in texts as long as "
                f"these: {_first_line(error)}"
            ) from error
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


def _prompts(tokens: NDArray[np.int64], n: int) -> list[NDArray[np.int64]]:
    """Return a short and a long prompt that begin with the same tokens and go on differently."""
    short = np.concatenate([tokens[:N_SHARED], tokens[-SHORT_PROMPT:]])[: max(n - 1, N_SHARED + 1)]
    return [short, tokens[:n]]


def _items(tokens: NDArray[np.int64]) -> list[list[int]]:
    drawn = tokens[-LAST:].tolist()
    return [[drawn[place] for place in item] for item in ITEMS]


def _filler(tokens: NDArray[np.int64], n: int) -> list[list[int]]:
    """Return items whose trie has about n nodes."""
    drawn = np.random.default_rng(1).choice(tokens, (max(n, 0) // (FEW - 1) + 1, FEW))
    items: list[list[int]] = drawn.tolist()
    return items


def _compare(
    scorer: Scorer,
    prompts: list[NDArray[np.int64]],
    items: list[list[int]],
    checked: Sequence[tuple[int, int]],
    by_sequence: bool = True,
) -> None:
    """Compare scores of items after prompts with plain passes.

    Args:
        checked: prompt and item of each plain pass.
        by_sequence: whether to compare passes over whole texts too.
    """
    encoded = [prompt.tolist() for prompt in prompts]
    longest = max(map(len, encoded)) + max(map(len, items)) - 1

    def packed() -> NDArray[np.float32]:
        scores: NDArray[np.float32] = scorer.score_trie(encoded, build_trie(items)).logprob[None]
        if not by_sequence:
            return scores
        texts = [prompt + item for prompt in encoded for item in items]
        n_scored = np.array([len(item) for _ in encoded for item in items])
        whole = scorer.score_sequences(texts, n_scored)[0].reshape(scores.shape)
        return np.concatenate([scores, whole])

    with plain_attention(scorer.model, longest):
        plain = _tried(
            scorer,
            lambda: np.array([_plain(scorer, encoded[prompt], items[item]) for prompt, item in checked]),
        )
    numbers(scorer.spec.name, plain)
    scores = _packed(scorer, packed)
    if not abs(plain[-1] - plain[0]) <= TOLERANCE[scorer.model.dtype] and checked[-1] == checked[0]:
        raise EngineError(
            f"scores of the architecture {type(scorer.model).__name__} depend on texts scored before, so "
            f"they cannot be repeated; {advice(scorer)}"
        )
    found = np.stack([table[tuple(np.transpose(checked))] for table in scores])
    _assert_equal(scorer, found, plain, longest)


def _compare_wide(
    scorer: Scorer, prompt: NDArray[np.int64], items: list[list[int]], filler: list[list[int]]
) -> None:
    """Compare the last tokens of the first item, in one wide pass of each kind, with a plain pass.

    Only these tokens are read from the head, whose products would take longer than all layers.

    Args:
        items: may be long.
        filler: further items, which make a pass wide.
    """
    start, item = prompt.tolist(), items[0]
    n = min(FEW, len(item))
    trie = build_trie([*items, *filler])
    whole = build_trie([start + each for each in [*items, *filler]])

    def read(hidden: torch.Tensor) -> NDArray[np.float32]:
        logprobs: NDArray[np.float32] = scorer._head.logprobs(hidden, np.arange(n), np.array(item[-n:]))
        return logprobs

    def packed() -> NDArray[np.float32]:
        parents = trie.edge_parent[trie.item_edges[len(item) - n : len(item)]]
        in_trie = scorer._run([start], trie, np.arange(trie.n_internal), {})[0]
        length = len(start) + len(item)
        wanted = whole.edge_parent[whole.item_edges[length - n : length]]
        in_texts = scorer._grow(whole, np.sort(wanted), 1, None)
        return np.stack([read(in_trie[1 + parents]).sum(), read(in_texts).sum()])

    longest = len(start) + len(item) - 1
    with plain_attention(scorer.model, longest):
        plain = _tried(scorer, lambda: np.array(_plain(scorer, start + item[:-n], item[-n:])))
    numbers(scorer.spec.name, plain)
    with torch.inference_mode():
        _assert_equal(scorer, _packed(scorer, packed), plain, longest)


def _assert_equal(
    scorer: Scorer,
    found: NDArray[np.floating[Any]],
    plain: NDArray[np.float64],
    longest: int,
    n_tokens: NDArray[np.int64] | int = FEW,
) -> None:
    """Raise EngineError unless scores equal those of plain passes, up to rounding.

    Args:
        longest: tokens of the longest text.
        n_tokens: of each item, whose errors of rounding are independent.
    """
    off = np.abs(found - plain)
    most = TOLERANCE[scorer.model.dtype] * np.sqrt(np.maximum(1, np.divide(n_tokens, FEW)))
    if not (off <= most + RELATIVE * np.abs(plain)).all():
        raise EngineError(
            f"scores of the architecture {type(scorer.model).__name__} differ from plain passes by "
            f"{off.max():.2g} nats in texts of up to {longest} tokens; {advice(scorer)}"
        )


@torch.inference_mode()
def _plain(scorer: Scorer, prompt: list[int], item: list[int]) -> float:
    """Return the score of an item after a prompt by a plain pass, which defines it."""
    text = torch.tensor([[*prompt, *item[:-1]]], device=scorer.device)
    wanted = len(prompt) - 1 + np.arange(len(item))
    logprobs = scorer._head.plain(wanted, input_ids=text, use_cache=False)
    return _sum(logprobs, item)


def _sum(logprobs: torch.Tensor, item: list[int]) -> float:
    """Return the sum of the item's log-probabilities, a token in each row."""
    return float(logprobs[torch.arange(len(item)), torch.tensor(item)].double().sum())


def _drawn(scorer: Scorer, n: int) -> NDArray[np.int64]:
    """Return n random tokens of the model, the same at every load, without special ones."""
    tokenizer, rows = scorer.tokenizer, scorer.n_tokens
    special = {*tokenizer.all_special_ids, *getattr(tokenizer, "added_tokens_decoder", ())}
    plain = np.array([i for i in range(min(rows, len(tokenizer))) if i not in special])
    return np.random.default_rng(0).choice(plain, n)


@contextmanager
def plain_attention(model: Any, n: int = 1) -> Iterator[None]:
    """Run the model's own attention within this block. n: tokens of the longest text there."""
    packed = model.config._attn_implementation == tree_attention.NAME
    if packed:
        model.set_attn_implementation("sdpa" if n > EAGER and model._supports_sdpa else "eager")
    try:
        yield
    finally:
        if packed:
            model.set_attn_implementation(tree_attention.NAME)


def advice(scorer: Scorer) -> str:
    """Return what to do with a model that this kind of engine cannot score."""
    if scorer.spec.kind != "packed_trie":
        return "take another model"
    return other_kinds.served_by(type(scorer.model).__name__, scorer.spec.name)
