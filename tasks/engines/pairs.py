"""Tokenises contexts and continuations as lm-evaluation-harness does, so that numbers agree.

The rules are those of version 0.4 (``TemplateLM._encode_pair``, ``HFLM.tok_encode``):

- Spaces at the end of a context move to the continuation.
- The continuation's tokens are those of the whole text after as many tokens as the context has by itself.
- The tokenizer's own start tokens come first, unless the text has them (``prompting.text_tokens``).
- An empty context is the start token, or the end token if there is no start token.
- A text that is too long for the model is cut on the left.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from tasks.engines.prompting import plain_tokens, text_tokens
from tasks.engines.protocols import Context, EngineError, TextPair
from tasks.engines.templates import Thinks, Variables, answer_prompt

PAIR_RULE = "lm-eval-0.4"
"""Boundary rule, stored with every run whose pairs were tokenised by it."""

DEFAULT_LENGTH = 2048
"""Context length if neither the model nor its tokenizer gives one."""
LONGEST_LENGTH = 10**9
"""Tokenizers without a limit report a larger number."""


class PairTokens(NamedTuple):
    """The tokens of one pair, cut to the model's context length.

    Attributes:
        tokens: of context and continuation.
        n_scored: number of the continuation's tokens, at the end.
        n_cut: number of the context's tokens that were cut off.
    """

    tokens: list[int]
    n_scored: int
    n_cut: int


def rendered_context(tokenizer: Any, context: Context, variables: Variables | None = None) -> str:
    """Return the text of a context: the raw text, or a conversation up to where an answer begins
    (``templates.answer_prompt``).

    If the last message is the assistant's, it is left open; otherwise the template opens one. A template that
    rejects a system message is tried without it. A warning says once if a template rejects or ignores one.

    Args:
        variables: of the template.

    Raises:
        EngineError: the tokenizer has no chat template, it rejects the conversation, or the model thinks.
    """
    if isinstance(context, str):
        return context
    if not getattr(tokenizer, "chat_template", None):
        raise EngineError(
            f"the tokenizer of {tokenizer.name_or_path!r} has no chat template: leave --chat out, or take an "
            "instruction-tuned model"
        )
    without_system = [message for message in context if message["role"] != "system"]
    try:
        text = answer_prompt(tokenizer, context, variables)
    except Thinks:
        raise
    except EngineError:
        if len(without_system) == len(context):
            raise
        text = answer_prompt(tokenizer, without_system, variables)
    if any(m["content"].strip() not in text for m in context if m["role"] == "system"):
        _say_without_system(str(tokenizer.name_or_path))
    return text


@cache
def _say_without_system(model: str) -> None:
    """Warn, once for each model, that its prompts have no system prompt."""
    logging.getLogger("culturemeter").warning(
        "the chat template of %r has no place for a system prompt: its prompts are without --system and the "
        "task's description",
        model,
    )


def start_token(tokenizer: Any) -> int:
    """Return the token that stands for an empty context."""
    bos, eos = tokenizer.bos_token_id, tokenizer.eos_token_id
    if bos is None and eos is None:
        raise EngineError(f"the tokenizer of {tokenizer.name_or_path!r} has no start token and no end token")
    return int(eos if bos is None else bos)


def pair_tokens(
    tokenizer: Any, pairs: Sequence[TextPair], max_length: int, variables: Variables | None = None
) -> list[PairTokens]:
    """Return the tokens of each pair.

    Args:
        max_length: context length of the model, in tokens.
        variables: of the chat template, for contexts that are conversations.

    Raises:
        EngineError: a continuation has no token, or more than ``max_length``; names it.
    """
    contexts = {id(pair.context): pair.context for pair in pairs}
    by_object = {key: rendered_context(tokenizer, context, variables) for key, context in contexts.items()}
    texts = [(by_object[id(pair.context)], pair.continuation) for pair in pairs]
    stripped = [type(context)(context.rstrip()) for context, _ in texts]
    unique = list({(type(context), context): context for context in stripped}.values())
    context_heads = {
        (type(context), context): head
        for context, head in zip(unique, text_tokens(tokenizer, unique), strict=True)
    }
    joint = text_tokens(tokenizer, [type(context)(context + rest) for context, rest in texts])
    alone = iter(plain_tokens(tokenizer, [rest for context, rest in texts if not context]))
    token_pairs = []
    for (context, rest), bare, whole in zip(texts, stripped, joint, strict=True):
        if context:
            head = context_heads[type(bare), bare]
            tail = whole[len(head) :]
            head = head or [start_token(tokenizer)]
        else:
            tail, head = next(alone), [start_token(tokenizer)]
            if tail[:1] == head:
                tail = tail[1:]
        if not 0 < len(tail) <= max_length:
            fault = "no token of its own" if not tail else f"{len(tail)} tokens, more than {max_length}"
            raise EngineError(f"the continuation {rest[:60]!r} has {fault}: leave it out")
        tokens = (head + tail)[-(max_length + 1) :]
        token_pairs.append(PairTokens(tokens, len(tail), len(head) + len(tail) - len(tokens)))
    return token_pairs


def context_tokens(tokenizer: Any, context: Context, variables: Variables | None = None) -> list[int]:
    """Return the tokens of a context for generation. variables: of the chat template."""
    return text_tokens(tokenizer, [rendered_context(tokenizer, context, variables)])[0]


def longest(config: Any, tokenizer: Any) -> int:
    """Return the context length of the model's configuration, else of its tokenizer, else DEFAULT_LENGTH."""
    text_config = getattr(config, "text_config", None) or config
    for name in ("n_positions", "max_position_embeddings", "n_ctx"):
        if (length := getattr(text_config, name, None)) is not None:
            return int(length)
    length = getattr(tokenizer, "model_max_length", None)
    return int(length) if length is not None and length < LONGEST_LENGTH else DEFAULT_LENGTH
