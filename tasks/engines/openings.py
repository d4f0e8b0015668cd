"""Turns conversations into the tokens after which a model writes its answer, here or on another machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tasks.engines import pairs, prompting, templates
from tasks.engines.protocols import RAW, Context, EngineError, Message, Sampling, Schema
from tasks.engines.specs import EngineSpec
from tasks.engines.templates import Rendered


def opened(
    spec: EngineSpec,
    tokenizer: Any,
    conversations: Sequence[Sequence[Message]],
    samplings: Sequence[Sampling],
    schemas: Sequence[Schema],
    alternatives: Sequence[int],
) -> tuple[list[list[int]], list[Sampling]]:
    """Return the tokens before each answer, and its sampling.

    A base model completes a text (``plain_prompt``) up to the end of the line, or of the JSON.

    Raises:
        EngineError: the chat template, or a base model, does not accept a conversation.
    """
    samplings = list(samplings)
    if prompting.is_plain(tokenizer, spec.prompt_style):
        texts: list[str] = [prompting.plain_prompt(conversation) for conversation in conversations]
        both = zip(samplings, schemas, strict=True)
        samplings = [prompting.plain_sampling(s) if form is None else s for s, form in both]
    else:
        each = zip(conversations, schemas, alternatives, strict=True)
        texts = [_rendered(spec, tokenizer, *of_one) for of_one in each]
    return prompting.text_tokens(tokenizer, texts), samplings


def continued(
    spec: EngineSpec,
    tokenizer: Any,
    conversations: Sequence[Sequence[Message]],
    samplings: Sequence[Sampling],
    longest: int,
) -> list[list[int]]:
    """Return the tokens of texts that are continued unchanged (``pairs``), cut on the left to fit.

    Args:
        longest: most tokens that the model holds, the answer included.

    Raises:
        EngineError: an answer alone may be longer.
    """
    tokens = []
    for conversation, sampling in zip(conversations, samplings, strict=True):
        is_raw = conversation[0]["role"] == RAW
        context: Context = conversation[0]["content"] if is_raw else conversation
        left = longest - sampling.max_tokens
        if left < 1:
            raise EngineError(
                f"model {spec.name!r} holds {longest} tokens, and max_tokens is {sampling.max_tokens}: set a "
                "smaller max_tokens"
            )
        tokens.append(pairs.context_tokens(tokenizer, context, spec.chat_template_kwargs)[-left:])
    return tokens


def _rendered(
    spec: EngineSpec, tokenizer: Any, conversation: Sequence[Message], form: Schema, alternatives: int
) -> Rendered:
    """Return a conversation in the chat template, up to the answer if that is parsed or its tokens read.

    A schema allows no thoughts; a model that cannot be kept from them writes its JSON in their place.

    Raises:
        EngineError: the template does not take the conversation, or the model thinks before the tokens.
    """
    variables = spec.chat_template_kwargs
    if form is None and not alternatives:
        return templates.prompt(tokenizer, conversation, variables)
    try:
        return templates.answer_prompt(tokenizer, conversation, variables)
    except templates.Thinks:
        if alternatives:
            raise
        return templates.prompt(tokenizer, conversation, variables)
