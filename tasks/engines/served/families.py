"""What providers' documents say that a model takes, by the model's name. Pure.

A model that is not known here is sent all that a spec says, and the server judges. A temperature that is
known to be refused is not sent; reasoning or a search that is known to be refused is refused here, before
anything is sent. Read in November 2026: the providers' reference pages and the types of their clients (openai
3.54, anthropic 2.12, google-genai 3.4).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

from tasks.engines.protocols import EngineError
from tasks.engines.served.providers import SERVERS

SAMPLING = ("temperature", "top_p")
"""What models that reason do not take."""


class Family(NamedTuple):
    """Models that take the same.

    Attributes:
        efforts: words for how much to reason; "none" where it can do without; None: not known which.
        least: the smallest number of tokens that it takes for reasoning; None: it takes no number.
        temperature: whether it takes temperature and top_p.
        reasons: whether it can reason at all.
    """

    efforts: tuple[str, ...] | None
    least: int | None = None
    temperature: Literal["always", "without reasoning", "never"] = "always"
    reasons: bool = True


_NEVER = Family(("none",), reasons=False)

_FAMILIES: Mapping[str, tuple[tuple[str, Family], ...]] = {
    "openai": (
        (r"(gpt|chatgpt)-[\w.-]*search", Family(None, temperature="never")),
        (r"(gpt-3|gpt-4|chatgpt-4|gpt-5-chat)", _NEVER),
        (r"gpt-5[\d.]*-chat", Family(None, temperature="never")),
        (r"o\d(-|$)", Family(("low", "medium", "high"), temperature="never")),
        (r"gpt-5-pro", Family(("high",), temperature="never")),
        (r"gpt-5(-|$)", Family(("minimal", "low", "medium", "high"), temperature="never")),
        (r"gpt-5\.1(-mini|-\d{4}|$)", Family(("none", "low", "medium", "high"), temperature="never")),
        (r"gpt-([5-9]|\d\d)", Family(None, temperature="never")),
    ),
    "anthropic": (
        (r"claude-3-7-|claude-[a-z]+-4(-[0-5])?(-|@|$)(?!\d(\D|$))",
         Family(("none",), 1024, "without reasoning")),
        (r"claude-[a-z]+-4-6(\D|$)",
         Family(("none", "low", "medium", "high", "max"), 1024, "without reasoning")),
        (r"claude-(fable|mythos)", Family(("low", "medium", "high", "xhigh", "max"), temperature="never")),
        (r"claude-[a-z]+-([4-9]|\d\d)",
         Family(("none", "low", "medium", "high", "xhigh", "max"), temperature="never")),
        (r"claude-(3|2|instant)", _NEVER),
    ),
    "google": (
        (r"gemini-2\.5-pro", Family((), 128)),
        (r"gemini-2\.5-flash-lite", Family(("none",), 512)),
        (r"gemini-2\.5", Family(("none",), 1)),
        (r"gemini-[12]\.", _NEVER),
        (r"gemini-3-pro", Family(("low", "high"))),
        (r"gemini-([3-9]|\d\d)", Family(("minimal", "low", "medium", "high", "xhigh"))),
    ),
}  # fmt: skip
"""By kind, the first that fits the beginning of a name counts."""

_NO_SEARCH = {"google": r"gemini-1\.", "anthropic": r"claude-(2|instant|3-(opus|sonnet|haiku))"}


class Asked(Protocol):
    """What is read of a spec."""

    name: str
    kind: Any
    model: str
    base_url: str | None
    reasoning: Any
    web: bool | None
    options: dict[str, Any]


def family(spec: Asked) -> Family | None:
    """What is known of the model; None: nothing, or its server has words of its own (dialect)."""
    if spec.options.get("dialect", "openai") != "openai":
        return None
    name = spec.model.rsplit("/", 1)[-1].lower()
    return next((known for begin, known in _FAMILIES.get(spec.kind, ()) if re.match(begin, name)), None)


def is_at_openai(spec: Asked) -> bool:
    """Whether the requests go to OpenAI itself, and not to a server that is compatible with it."""
    own = urlsplit(SERVERS["openai"].url).hostname
    return spec.kind == "openai" and (not spec.base_url or urlsplit(spec.base_url).hostname == own)


def by_responses(spec: Asked) -> bool:
    """Whether requests go to the Responses API: by ``options.api``, else for web search at OpenAI, whose Chat
    Completions search with search models only."""
    if given := spec.options.get("api"):
        return bool(given == "responses")
    return bool(spec.web) and is_at_openai(spec) and "search" not in spec.model


def takes_temperature(spec: Asked) -> bool:
    """Whether temperature and top_p are sent: by ``options.temperature``, else as the documents say."""
    if isinstance(given := spec.options.get("temperature"), bool):
        return given
    known, is_reasoning = family(spec), spec.reasoning not in (None, "none", "auto")
    if known is None:
        # Anthropic takes none beside thinking, whatever the model.
        return spec.kind != "anthropic" or not is_reasoning
    return known.temperature == "always" or (known.temperature == "without reasoning" and not is_reasoning)


def unsent(spec: Asked) -> list[str]:
    """What of a sampling is not sent although no option says so; it is part of the engine's hash."""
    own = list(SERVERS[spec.kind].unsent)
    if by_responses(spec):
        own.append("seed")
    if "temperature" not in spec.options and not takes_temperature(spec):
        own += SAMPLING
    return own


def check_settings(spec: Asked) -> None:
    """Refuse reasoning or web search that the model cannot take, as far as documents say so.

    Raises:
        EngineError: says what it takes.
    """
    known, reasoning = family(spec), spec.reasoning
    if spec.web and re.match(_NO_SEARCH.get(spec.kind, "$."), spec.model.rsplit("/", 1)[-1]):
        raise _refusal(spec, "web = true", "this model searches no web: leave web out, or take a newer one")
    if by_responses(spec) and spec.options.get("batch"):
        raise _refusal(
            spec, "web = true in a batch", "OpenAI searches by its Responses API: set options.max_concurrency"
        )
    if spec.web and reasoning == "minimal" and by_responses(spec):
        raise _refusal(spec, 'reasoning = "minimal" with web = true', 'to search it takes "low" or more')
    if known is None or reasoning in (None, "auto"):
        return
    if isinstance(reasoning, int):
        if known.least is None:
            raise _refusal(
                spec, f"reasoning = {reasoning}", f"it takes no number of tokens, but {_takes(known)}"
            )
        if reasoning < known.least:
            raise _refusal(spec, f"reasoning = {reasoning}", f"it takes {_takes(known)}")
    elif known.efforts is not None and reasoning not in known.efforts:
        raise _refusal(spec, f'reasoning = "{reasoning}"', f"it takes {_takes(known)}")


def _takes(known: Family) -> str:
    """What a family takes, in words."""
    if known.efforts is None:
        return 'a word such as "high"'
    words = [f'"{effort}"' for effort in known.efforts]
    number = [f"a number of tokens from {known.least}"] if known.least is not None else []
    return f'{", ".join([*words, *number])} or "auto"'


def _refusal(spec: Asked, what: str, why: str) -> EngineError:
    return EngineError(f"engine {spec.name!r}: {spec.model!r} does not take {what}: {why}")
