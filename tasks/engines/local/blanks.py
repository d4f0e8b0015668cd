"""Sentences with a blank and the candidates for it, as token ids.

The blank is cut out between tokens, as in the pretraining of masked and span-corruption models, and not
spliced into the text: around a mask in the text, each family of tokenizers adds or drops the mark of a word's
start in its own way. A candidate, and the text after the blank, gets the tokens that it has in running text:

- before the blank: the tokens of ``before``;
- a candidate: the tokens of ``tail + lead + candidate`` that follow those of ``tail``. If the tokenizer
  merges across that border, ``ANCHOR`` replaces ``tail``; if it merges there too, the tokens of
  ``lead + candidate`` alone;
- after the blank: likewise after ``ANCHOR``, so that it does not depend on the candidate.

The space ``lead`` belongs to the candidate, as it does to its first token in running text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.engines.protocols import CandidateScores, Cloze, EngineError

ANCHOR = "x"
"""A word before the blank's border that tokenizers do not merge with other scripts or punctuation."""

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Sentences:
    """The sentences of a cloze, cut at the blank, with the model's special tokens at both ends.

    Attributes:
        left: token ids before the blank, one list per subject.
        right: token ids after it, the same for all.
    """

    left: list[list[int]]
    right: list[int]

    def filled(self, subject: int, blank: Sequence[int]) -> list[int]:
        """Return one sentence with these tokens in its blank."""
        return [*self.left[subject], *blank, *self.right]


def sentences(tokenizer: Any, cloze: Cloze) -> Sentences:
    """Return the sentences of a cloze as tokens."""
    opening, closing = _special_tokens(tokenizer)
    left = [opening + _ids(tokenizer, text) for text in cloze.before]
    (after,) = _in_place(tokenizer, [cloze.after], [ANCHOR])
    return Sentences(left, after + closing)


def check_length(cloze: Cloze, cut: Sentences, blank: int, limit: float) -> None:
    """Refuse sentences that are longer than the model can read.

    Args:
        blank: most tokens in the blank.
        limit: most tokens that the model reads.

    Raises:
        EngineError: a sentence is too long; names the first one, and so its subject.
    """
    too_long = [i for i, left in enumerate(cut.left) if len(left) + blank + len(cut.right) > limit]
    if too_long:
        first = too_long[0]
        raise EngineError(
            f"the sentence {cloze.before[first]!r} has {len(cut.filled(first, [0] * blank))} tokens with "
            f"{blank} in its blank, the model reads {limit:.0f} at most ({len(too_long)} such sentences of "
            f"{len(cut.left)}); shorten or leave out the subject"
        )


def candidate_tokens(
    tokenizer: Any, cloze: Cloze, candidates: Sequence[str]
) -> tuple[list[list[int]], NDArray[np.bool_], CandidateScores]:
    """Return the tokens of each candidate in the blank.

    Returns:
        tokens: of each candidate.
        spelled: [n] whether the vocabulary can spell it: none of its tokens is the unknown token.
        scores: NaN everywhere, to be filled in.

    Raises:
        EngineError: a candidate has no token; names it.
    """
    contexts = [cloze.tail, ANCHOR] if cloze.tail else [ANCHOR]
    tokens = _in_place(tokenizer, [cloze.lead + candidate for candidate in candidates], contexts)
    for candidate, ids in zip(candidates, tokens, strict=True):
        if not ids:
            raise EngineError(
                f"the candidate {candidate!r} has no token in this model's vocabulary; remove it"
            )
    spelled = np.array([tokenizer.unk_token_id not in ids for ids in tokens], dtype=bool)
    empty = np.full((len(cloze.before), len(tokens)), np.nan, dtype=np.float32)
    lengths = np.array([len(ids) for ids in tokens], dtype=np.int64)
    return tokens, spelled, CandidateScores(empty, empty.copy(), lengths)


def padded(sequences: Sequence[Sequence[int]], pad: int) -> tuple[IntArray, IntArray]:
    """Return [n, longest] token ids padded on the right, and a mask that is 1 for tokens."""
    lengths = np.array([len(s) for s in sequences])
    mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
    ids = np.full(mask.shape, pad, dtype=np.int64)
    ids[mask == 1] = np.concatenate([np.asarray(s, dtype=np.int64) for s in sequences])
    return ids, mask


def _in_place(tokenizer: Any, texts: Sequence[str], contexts: Sequence[str]) -> list[list[int]]:
    """Return the tokens of each text after the first context with which it does not merge, else alone."""
    tokens: list[list[int]] = [[] for _ in texts]
    for context in contexts:
        head = _ids(tokenizer, context)
        for i, text in enumerate(texts):
            if not tokens[i]:
                joint = _ids(tokenizer, context + text)
                tokens[i] = joint[len(head) :] if joint[: len(head)] == head else []
    return [ids or _ids(tokenizer, text) for ids, text in zip(tokens, texts, strict=True)]


def _ids(tokenizer: Any, text: str) -> list[int]:
    ids: list[int] = tokenizer(text, add_special_tokens=False).input_ids
    return ids


def _special_tokens(tokenizer: Any) -> tuple[list[int], list[int]]:
    """Return the tokens that the tokenizer adds before and after a sentence."""
    bare, whole = _ids(tokenizer, ANCHOR), list(tokenizer(ANCHOR).input_ids)
    start = next(i for i in range(len(whole)) if whole[i : i + len(bare)] == bare)
    return whole[:start], whole[start + len(bare) :]
