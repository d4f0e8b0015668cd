"""Tokens of a context and its continuation, made as lm-evaluation-harness makes them, so that numbers agree.

The rules are those of version 0.4 (``TemplateLM._encode_pair``, ``HFLM.tok_encode``): spaces at the end of a
context move to the continuation; the continuation's tokens are those of the whole text that follow as many as
the context has by itself; the tokenizer adds its own start token unless the text begins with it; an empty
context is the start token, or the end token where there is none; what the model cannot hold is cut on the
left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tasks.engines.protocols import Context, EngineError, Message, TextPair

PAIR_RULE = "lm-eval-0.4"
"""Stored with every run whose pairs were tokenised so."""

DEFAULT_LENGTH = 2048
"""Context length if neither the model nor its tokenizer gives one."""
LONGEST_LENGTH = 10**9
"""A tokenizer without a limit gives a larger number."""


class PairTokens(NamedTuple):
    """The tokens of one pair, cut to what the model holds.

    Attributes:
        tokens: of context and continuation.
        n_scored: how many of them, at the end, are the continuation's.
        n_cut: tokens of the context that were left out.
    """

    tokens: list[int]
    n_scored: int
    n_cut: int


def rendered_context(tokenizer: Any, context: Context) -> str:
    """Return the text of a context: itself, or a conversation in the model's chat template.

    A last message of the assistant is left open, to be continued; else the template opens one. A template
    that takes no system message is tried without it.

    Raises:
        EngineError: the tokenizer has no chat template, or it does not take the conversation.
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
        try:
            return _in_template(tokenizer, context)
        except Exception:  # the template's code may raise anything
            if len(without_system) == len(context):
                raise
            return _in_template(tokenizer, without_system)
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise EngineError(
            f"the chat template of {tokenizer.name_or_path!r} does not take a conversation: {reason}"
        ) from error


def _in_template(tokenizer: Any, messages: Sequence[Message]) -> str:
    is_open = messages[-1]["role"] == "assistant"
    text = tokenizer.apply_chat_template(
        [dict(message) for message in messages],
        tokenize=False,
        add_generation_prompt=not is_open,
        continue_final_message=is_open,
    )
    return str(text)


def start_token(tokenizer: Any) -> int:
    """Return the token that represents an empty context."""
    bos, eos = tokenizer.bos_token_id, tokenizer.eos_token_id
    if bos is None and eos is None:
        raise EngineError(f"the tokenizer of {tokenizer.name_or_path!r} has no start token and no end token")
    return int(eos if bos is None else bos)


def text_tokens(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Tokens of each text, with what the tokenizer adds, unless the text begins with the start token."""
    start = tokenizer.decode(start_token(tokenizer))
    tokens: list[list[int]] = [[] for _ in texts]
    for is_started in (False, True):
        places = [place for place, text in enumerate(texts) if text.startswith(start) == is_started]
        own = _tokens(tokenizer, [texts[place] for place in places], adds_special=not is_started)
        for place, ids in zip(places, own, strict=True):
            tokens[place] = ids
    return tokens


def pair_tokens(tokenizer: Any, pairs: Sequence[TextPair], max_length: int) -> list[PairTokens]:
    """Tokens of each pair.

    Args:
        max_length: tokens that the model holds.

    Raises:
        EngineError: a continuation has no token, or more than the model holds; names it.
    """
    contexts = {id(pair.context): pair.context for pair in pairs}
    by_object = {key: rendered_context(tokenizer, context) for key, context in contexts.items()}
    texts = [(by_object[id(pair.context)], pair.continuation) for pair in pairs]
    stripped = [context.rstrip() for context, _ in texts]
    bare = list(dict.fromkeys(stripped))
    of_context = dict(zip(bare, text_tokens(tokenizer, bare), strict=True))
    joint = text_tokens(tokenizer, [context + rest for context, rest in texts])
    alone = _tokens(tokenizer, [rest for context, rest in texts if not context], adds_special=False)
    after_nothing = iter(alone)
    token_pairs = []
    for (context, rest), own, whole in zip(texts, stripped, joint, strict=True):
        if context:
            head = of_context[own]
            tail = whole[len(head) :]
            head = head or [start_token(tokenizer)]
        else:
            tail, head = next(after_nothing), [start_token(tokenizer)]
            if tail[:1] == head:
                tail = tail[1:]
        if not 0 < len(tail) <= max_length:
            what = "no token of its own" if not tail else f"{len(tail)} tokens, more than {max_length}"
            raise EngineError(f"the continuation {rest[:60]!r} has {what}: leave it out")
        tokens = (head + tail)[-(max_length + 1) :]
        token_pairs.append(PairTokens(tokens, len(tail), len(head) + len(tail) - len(tokens)))
    return token_pairs


def context_tokens(tokenizer: Any, context: Context) -> list[int]:
    """Tokens of a context that is to be continued."""
    return text_tokens(tokenizer, [rendered_context(tokenizer, context)])[0]


def longest(config: Any, tokenizer: Any) -> int:
    """Return the context length by the model's configuration, its tokenizer, or DEFAULT_LENGTH."""
    own = getattr(config, "text_config", None) or config
    for name in ("n_positions", "max_position_embeddings", "n_ctx"):
        if (length := getattr(own, name, None)) is not None:
            return int(length)
    length = getattr(tokenizer, "model_max_length", None)
    return int(length) if length is not None and length < LONGEST_LENGTH else DEFAULT_LENGTH


def _tokens(tokenizer: Any, texts: Sequence[str], adds_special: bool) -> list[list[int]]:
    if not texts:
        return []
    more: dict[str, Any] = {} if adds_special else {"add_special_tokens": False}
    ids: list[list[int]] = tokenizer(
        list(texts), return_attention_mask=False, return_token_type_ids=False, **more
    ).input_ids
    return ids
