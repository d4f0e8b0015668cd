"""Renders conversations in a model's chat template, up to the place where its answer begins.

A model that thinks first writes its thoughts at the end of the usual prompt, so an answer that is
scored there is scored at the wrong place. ``answer_prompt`` finds the right one, from what the template does:

1. Thinking is switched off if the template offers that, by a variable or by a word in the system message.
2. What the template writes before the text of an assistant's message (an empty block of thoughts, the
   header of a channel) is added, if it continues the prompt.
3. A block that is still open is closed only where that is the family's own form (``CLOSINGS``).

Otherwise the model is refused, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator

from tasks.engines.protocols import EngineError, Message

Variables = Mapping[str, Any]
"""Variables of a template, beside its messages (``chat_template_kwargs`` of a spec)."""

_NAME = r"(?:think(?:ing)?|thoughts?|reason(?:ing)?)"
_OPENED = (
    rf"[<\[◁]\|?(?:\w+:|start_|begin_|begin_of_)?{_NAME}\|?[>\]▷]"
    r"|<\|channel>thought|<\|channel\|>analysis"
)
_CLOSED = (
    rf"[<\[◁]\|?(?:/(?:\w+:)?|end_|end_of_){_NAME}\|?[>\]▷]"
    r"|<channel\|>|<\|channel\|>final"
)
OPENED, CLOSED = re.compile(_OPENED, re.IGNORECASE), re.compile(_CLOSED, re.IGNORECASE)
"""Begin and end of a block of thoughts in any family's spelling: <think>, [THINK], <|START_THINKING|>."""
THINKING = re.compile(
    rf"{_OPENED}|{_CLOSED}|reasoning_(?:content|effort)|enable_thinking|thinking_(?:budget|mode)|/no_?think"
    r"|\{[{%][^{}%]*\b(?:thinking|reasoning)\b",
    re.IGNORECASE,
)
"""Contents of a template whose model may think: a block, or a variable for thoughts."""

_OF_THE_TOKENIZER = frozenset({
    "add_generation_prompt", "chat_template", "continue_final_message", "conversation", "documents",
    "max_length", "padding", "return_assistant_tokens_mask", "return_dict", "return_tensors", "tokenize",
    "tokenizer_kwargs", "tools", "truncation",
})  # fmt: skip
"""Arguments of ``apply_chat_template``, which are no variables of a template."""

SWITCHES: Mapping[str, tuple[Any, Any]] = {
    "enable_thinking": (False, True),
    "thinking": (False, True),
    "reasoning": (False, True),
    "thinking_mode": ("off", "on"),
    "thinking_budget": (0, 512),
    "reasoning_effort": ("none", "high"),
}
"""Variable of a template -> its value for no thinking, and one for thinking."""
WORDS = ("/no_think", "/nothink")
"""Words in a system message that switch thinking off, in templates that look for them."""
CLOSINGS: Mapping[str, str] = {"<｜Assistant｜><think>\n": "\n</think>\n\n"}
"""End of a prompt with an open block -> the family's own form of no thoughts. DeepSeek-R1's README describes
this empty block as what the model writes if it does not think."""

QUESTION, ANSWER = "What is eaten there?", "Bread and olives."
"""Texts whose places in a template are looked for."""

MOST_PLACES = 64
_places: dict[str, Place] = {}
"""Places found before, by template and variables."""


class Rendered(str):
    """Text from a chat template: all special tokens are in it, so tokenizers add none."""

    __slots__ = ()


class Thinks(EngineError):  # noqa: N818 - "raise Thinks" says it all
    """The place of an answer without thoughts cannot be known; the message says why."""


@dataclass(frozen=True)
class Place:
    """A way to bring a template to the place where an answer begins.

    Attributes:
        variables: for the template. word: added to the system message. suffix: added to the rendered text.
        end: with which every rendered prompt ends before the suffix.
    """

    variables: Variables = field(default_factory=dict)
    word: str = ""
    suffix: str = ""
    end: str = ""


def checked_variables(variables: dict[str, Any]) -> dict[str, Any]:
    """Return variables of a template; raises ValueError for what the tokenizer would take for its own.

    It would take another template from there, which is no part of the model.
    """
    if own := sorted(variables.keys() & _OF_THE_TOKENIZER):
        raise ValueError(f"{own[0]} is no variable of a chat template: leave it out")
    return variables


SpecVariables = Annotated[dict[str, Any], AfterValidator(checked_variables)]
"""Variables of a template that a model's spec sets."""


def prompt(tokenizer: Any, messages: Sequence[Message], variables: Variables | None = None) -> Rendered:
    """Return a conversation up to where the model writes, which may be thoughts.

    Raises:
        EngineError: the template does not take the conversation.
    """
    return _said(tokenizer, lambda: _render(tokenizer, messages, dict(variables or {})))


def answer_prompt(
    tokenizer: Any, messages: Sequence[Message], variables: Variables | None = None
) -> Rendered:
    """Return a conversation up to where an answer without thoughts begins.

    If the last message is the assistant's, the answer has begun with its text.

    Raises:
        Thinks: there is no such place, or it is not known.
        EngineError: the template does not take the conversation.
    """
    return _said(tokenizer, lambda: _answer_prompt(tokenizer, messages, dict(variables or {})))


def _said(tokenizer: Any, render: Any) -> Rendered:
    """Return the rendered text; raises EngineError in place of anything that a template's code raises."""
    try:
        return Rendered(render())
    except EngineError:
        raise
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise EngineError(
            f"the chat template of {tokenizer.name_or_path!r} does not take a conversation: {reason}"
        ) from error


def _answer_prompt(tokenizer: Any, messages: Sequence[Message], variables: dict[str, Any]) -> str:
    begun = messages[-1]["content"] if messages[-1]["role"] == "assistant" else ""
    if not may_think(tokenizer):
        return _render(tokenizer, messages, variables)
    place = place_of(tokenizer, variables)
    before = list(messages[:-1] if messages[-1]["role"] == "assistant" else messages)
    if place.word:
        is_led = bool(before) and before[0]["role"] == "system"
        told = f"{before[0]['content']}\n{place.word}" if is_led else place.word
        before = [{"role": "system", "content": told}, *before[is_led:]]
    text = _render(tokenizer, before, dict(place.variables))
    if not text.endswith(place.end):
        raise Thinks(
            f"the chat template of {tokenizer.name_or_path!r} ends another way after this prompt than after "
            "others; a word such as /think in it may switch thoughts on, and the answer would be scored "
            "among them: leave the word out"
        )
    return text + place.suffix + begun


def may_think(tokenizer: Any) -> bool:
    """Return whether a template mentions thoughts; else an answer begins right after the usual prompt."""
    return bool(THINKING.search(_source(tokenizer)))


def place_of(tokenizer: Any, variables: Variables) -> Place:
    """Return how a template of a model that may think is brought to the place of an answer.

    Raises:
        Thinks: it is not known; the message says why.
    """
    key = repr([_source(tokenizer), tokenizer.bos_token, tokenizer.eos_token, sorted(variables.items())])
    if key not in _places:
        if len(_places) > MOST_PLACES:
            _places.clear()
        _places[key] = _found_place(tokenizer, variables)
    return _places[key]


def _found_place(tokenizer: Any, variables: Variables) -> Place:
    source = _source(tokenizer)
    if switched_on := [
        name for name in variables if name in SWITCHES and variables[name] != SWITCHES[name][0]
    ]:
        name = switched_on[0]
        fault = f"chat_template_kwargs sets {name}: leave it out, or set it to {SWITCHES[name][0]!r}"
        raise Thinks(f"{_subject(tokenizer)}: {fault}")
    offered = [name for name in SWITCHES if name not in variables and _offers(tokenizer, name, variables)]
    chosen = {**variables, **{name: SWITCHES[name][0] for name in offered}}
    is_off = any(name in chosen for name in SWITCHES)
    for word in ("", *(word for word in WORDS if word in source)):
        text = _try(tokenizer, _asked(word), chosen) or ""
        end = text.rpartition(QUESTION)[2] if QUESTION in text else None
        if end is None:
            continue
        own = _own_form(tokenizer, word, chosen, text)
        for suffix in (own, _closing(end), ""):
            if suffix is None or _is_open(end + suffix):
                continue
            continues = bool(suffix.strip()) and not _is_open(end)
            if CLOSED.search(end + suffix) or continues or is_off:
                return Place(chosen, word, suffix, end)
    raise Thinks(f"{_subject(tokenizer)}: {_why(tokenizer, chosen)}")


def _offers(tokenizer: Any, name: str, variables: Variables) -> bool:
    """Return whether a template has a variable, and writes another prompt if it is off than if it is on."""
    source, (off, on) = _source(tokenizer), SWITCHES[name]
    if not re.search(rf"\b{name}\b", source):
        return False
    if isinstance(off, str) and not re.search(rf"""["']{off}["']""", source):
        return False  # such as an effort that is low at least
    with_off, with_on = (_try(tokenizer, _asked(""), {**variables, name: value}) for value in (off, on))
    return with_off is not None and with_off != with_on


def _own_form(tokenizer: Any, word: str, variables: Variables, text: str) -> str | None:
    """Return what the template writes between this prompt and the text of an assistant's message; None if it
    writes another prompt before it.

    A prompt may have an empty block of thoughts that is left out before a message, and then the message may
    begin with a mark (Command A Reasoning's <|START_RESPONSE|>) that comes after the block too.
    """
    answered = [*_asked(word), {"role": "assistant", "content": ANSWER}]
    whole = _try(tokenizer, answered, variables, add_generation_prompt=False)
    before = whole.rpartition(ANSWER)[0] if whole else ""
    if before.startswith(text):
        return before.removeprefix(text)
    for opening in OPENED.finditer(text):
        start = text[: opening.start()]
        mark = before.removeprefix(start)
        if (
            before.startswith(start)
            and not _is_open(text)
            and not (OPENED.search(mark) or CLOSED.search(mark))
        ):
            return mark
    return None


def _closing(end: str) -> str | None:
    return next((closing for opening, closing in CLOSINGS.items() if end.endswith(opening)), None)


def _is_open(end: str) -> bool:
    """Return whether a text ends within a block of thoughts."""
    opened, closed = (max((m.end() for m in form.finditer(end)), default=-1) for form in (OPENED, CLOSED))
    return opened > closed


def _subject(tokenizer: Any) -> str:
    return (
        f"the model {tokenizer.name_or_path!r} may think before it answers, and an answer can only be scored "
        "where one begins"
    )


def _why(tokenizer: Any, variables: Variables) -> str:
    if _is_open(_try(tokenizer, _asked(""), variables) or ""):
        return (
            "its prompt ends inside an open block of thoughts, and the template has neither a switch nor a "
            'form without thoughts: take a model that answers at once, or set prompt_style = "base"'
        )
    return (
        "its template mentions thoughts, but has no switch for them: take a model that answers at once, or "
        'set prompt_style = "base"; if this one never thinks, say so with chat_template_kwargs = '
        "{ enable_thinking = false }"
    )


def _asked(word: str) -> list[Message]:
    led: list[Message] = [{"role": "system", "content": word}] if word else []
    return [*led, {"role": "user", "content": QUESTION}]


def _try(tokenizer: Any, messages: Sequence[Message], variables: Variables, **settings: Any) -> str | None:
    try:
        return _render(tokenizer, messages, dict(variables), **settings)
    except Exception:  # the template's code may raise anything
        return None


def _render(tokenizer: Any, messages: Sequence[Message], variables: dict[str, Any], **settings: Any) -> str:
    """Return the template's own text; an assistant's last message is left open without ``settings``."""
    is_open = messages[-1]["role"] == "assistant" and not settings
    defaults = {"continue_final_message": True} if is_open else {"add_generation_prompt": True}
    text = tokenizer.apply_chat_template(
        [dict(message) for message in messages], tokenize=False, **{**variables, **defaults, **settings}
    )
    return str(text)


def _source(tokenizer: Any) -> str:
    """Return the source of the template that conversations without tools get."""
    source = tokenizer.chat_template
    return str(source.get("default", "") if isinstance(source, dict) else source or "")
