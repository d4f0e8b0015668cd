"""Turns questions into a model's prompts, and splits tokens between prompt and continuation.

Only this module defines the boundary rule; ``BOUNDARY_RULE`` is stored with every run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tasks.engines.protocols import (
    CandidateScores,
    Cloze,
    EngineError,
    Framed,
    Message,
    Progress,
    Sampling,
)
from tasks.engines.templates import Rendered, Variables, answer_prompt

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from tasks.engines.specs import EngineSpec

BOUNDARY_RULE = "remainder-v1"
"""A continuation's tokens are those of prefix + continuation after the tokens of the prefix. If the tokenizer
would merge across the boundary, prefix and continuation are tokenised separately."""

BLANK_RULE = "blank-v1"
"""Boundary rule of models that read both sides of a blank (kinds "masked" and "seq2seq"): see ``blanks``."""

COMPLETION_CUE = "\nAnswer:"
CUE_ENDS = (":", "\uff1a")
"""Last characters of prompts with their own cue, in any language."""


class ContinuationScorer(ABC):
    """Base class of ``Scorer`` and ``CandidateScorer`` of decoder-only models, which score continuations."""

    spec: EngineSpec
    tokenizer: Any

    @abstractmethod
    def _score(
        self, prefixes: Sequence[str], tail: str, continuations: Sequence[str], progress: Progress | None
    ) -> CandidateScores:
        """Return the scores of all pairs; continuations are tokenised after ``tail``."""

    def frame(self, questions: Sequence[str]) -> Framed:
        """Implement ``Scorer.frame``."""
        return frame(self.tokenizer, questions, self.spec.prompt_style, self.spec.chat_template_kwargs)

    def count_tokens(self, prefix: str, continuations: Sequence[str]) -> NDArray[np.int64]:
        """Implement ``Scorer.count_tokens``."""
        tokens = continuation_tokens(self.tokenizer, prefix, continuations)
        return np.array([len(t) for t in tokens], dtype=np.int64)

    def score(
        self, prefixes: Sequence[str], continuations: Sequence[str], progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """Implement ``Scorer.score``."""
        return self._score(prefixes, prefixes[0], continuations, progress).logprob

    def score_each(
        self,
        prefixes: Sequence[str],
        continuations: Sequence[Sequence[str]],
        progress: Progress | None = None,
    ) -> list[NDArray[np.float32]]:
        """Implement ``Scorer.score_each``; one prefix after another."""
        pairs = zip(prefixes, continuations, strict=True)
        return [self.score([prefix], texts, progress)[0] for prefix, texts in pairs]

    def score_candidates(
        self, cloze: Cloze, candidates: Sequence[str], progress: Progress | None = None
    ) -> CandidateScores:
        """Implement ``CandidateScorer.score_candidates``; the tokens of ``fill`` are scored."""
        return self._score(cloze.before, cloze.tail, fill(cloze, candidates), progress)


def frame(
    tokenizer: PreTrainedTokenizerBase,
    questions: Sequence[str],
    style: str = "auto",
    variables: Variables | None = None,
) -> Framed:
    """Return questions as a model's prompts.

    Args:
        style: "chat" renders the chat template up to where an answer begins; "base" appends the completion
            cue; "auto" uses chat if the tokenizer has a template.
        variables: of the chat template.

    Raises:
        EngineError: style "chat" and the tokenizer has no chat template, or the model thinks first.
    """
    if is_plain(tokenizer, style):
        return Framed([q + COMPLETION_CUE for q in questions], " ", "base")
    prompts = [answer_prompt(tokenizer, [{"role": "user", "content": q}], variables) for q in questions]
    return Framed([*prompts], "", "chat")


def is_plain(tokenizer: Any, style: str) -> bool:
    """Return whether prompts have no chat template: style "base", or "auto" without a template.

    Raises:
        EngineError: style "chat" and the tokenizer has no chat template.
    """
    has_template = bool(getattr(tokenizer, "chat_template", None))
    if style == "chat" and not has_template:
        raise EngineError(
            f"the tokenizer of {tokenizer.name_or_path!r} has no chat template: set prompt_style = \"base\" "
            "in the engine spec (or \"auto\"), or take a model whose tokenizer has one"
        )  # fmt: skip
    return style == "base" or not has_template


def plain_prompt(conversation: Sequence[Message]) -> str:
    """Return the text for a base model to complete: the question and the cue, unless it ends with one.

    Raises:
        EngineError: the conversation has several turns.
    """
    if sum(message["role"] != "system" for message in conversation) != 1:
        raise EngineError(
            "a base model completes one prompt and cannot hold a conversation of several turns: take an "
            'instruction-tuned model, with prompt_style "auto" or "chat"'
        )
    text = "\n\n".join(message["content"].strip() for message in conversation)
    return text if text.endswith(CUE_ENDS) else text + COMPLETION_CUE


def plain_sampling(sampling: Sampling) -> Sampling:
    """Return the sampling for a base model, whose answer stops at the end of the line."""
    return replace(sampling, stop=(*sampling.stop, "\n"))


def fill(cloze: Cloze, candidates: Sequence[str]) -> list[str]:
    """Return the text after ``cloze.before`` for each candidate: the candidate and the rest of the sentence.

    A decoder-only model does not see the text after the blank, so candidate and rest are scored together;
    otherwise the rest would not affect the ranking. If the blank ends the sentence, the candidate is scored
    alone.
    """
    after = "" if cloze.is_cut else cloze.after
    return [cloze.lead + candidate + after for candidate in candidates]


def candidate_rule(kind: str) -> str:
    """Return the boundary rule of a kind of engine for candidates in a blank."""
    return BLANK_RULE if kind in ("masked", "seq2seq") else BOUNDARY_RULE


def prefix_tokens(tokenizer: PreTrainedTokenizerBase, prefix: str) -> list[int]:
    """Return the tokens of a prefix; see ``text_tokens``."""
    return text_tokens(tokenizer, [prefix])[0]


def text_tokens(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Return the tokens of each text: the start tokens that the tokenizer puts before it, and its own.

    A text that has its start token, also after white space, gets no second one, and one from a chat template
    (``Rendered``) gets none. A token that the tokenizer puts after a text is left out, because a continuation
    follows.
    """
    start = start_tokens(tokenizer)
    marks = tuple(filter(None, {tokenizer.bos_token, tokenizer.decode(start[:1]) if start else None}))
    rows = plain_tokens(tokenizer, texts)
    has_start = [isinstance(text, Rendered) or text.lstrip().startswith(marks) for text in texts]
    return [row if done else [*start, *row] for done, row in zip(has_start, rows, strict=True)]


def start_tokens(tokenizer: Any) -> list[int]:
    """Return the special tokens that a tokenizer puts before a text."""
    for probe in ("a", "the", "1"):
        (bare,), whole = plain_tokens(tokenizer, [probe]), list(tokenizer(probe).input_ids)
        places = [i for i in range(len(whole)) if bare and whole[i : i + len(bare)] == bare]
        if places:
            return whole[: places[0]]
    return []


def continuation_tokens(
    tokenizer: PreTrainedTokenizerBase, prefix: str, continuations: Sequence[str]
) -> list[list[int]]:
    """Return the tokens of each continuation after ``prefix``, by the boundary rule.

    All prefixes of a request have the same end, so the result for one holds for all.

    Raises:
        EngineError: a continuation has no token, and so no probability; names it.
    """
    tail = prefix[-32:]
    head, *joint = plain_tokens(tokenizer, [tail, *(tail + text for text in continuations)])
    tokens = [ids[len(head) :] for ids in joint]
    merged = [i for i, ids in enumerate(joint) if ids[: len(head)] != head]
    for i, ids in zip(merged, plain_tokens(tokenizer, [continuations[i] for i in merged]), strict=True):
        tokens[i] = ids
    for text, ids in zip(continuations, tokens, strict=True):
        if not ids:
            raise EngineError(f"the item {text!r} has no token in this model's vocabulary; remove it")
    return tokens


def plain_tokens(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Return the tokens of each text without any that the tokenizer adds.

    Masks are left out, because they would double the time.
    """
    if not texts:
        return []
    try:
        ids: list[list[int]] = tokenizer(
            [*map(str, texts)],
            add_special_tokens=False,
            return_attention_mask=False,
            return_token_type_ids=False,
        ).input_ids
    except Exception as error:  # tokenizers raises no narrower kind
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise EngineError(
            f"the tokenizer of {tokenizer.name_or_path!r} cannot read a text ({reason}): get its files "
            "again, or take another model"
        ) from error
    return ids
