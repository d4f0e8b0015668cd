"""Providers of served models: each kind's server, key variable, and settings that its models take. Pure.

A spec says ``reasoning`` and ``web``. Their effect depends on the model's name, by the providers' documents:
a temperature that the model refuses is not sent, and reasoning or search that it refuses is an error before
anything is sent. An unknown model gets everything in the spec, and the server decides. Read in November 2026:
the providers' reference pages and the types of their clients (openai 3.54, anthropic 2.12, google-genai 3.4).

Servers of the chat API name the fields differently, and the option ``dialect`` says which names one knows.
"auto" leaves the amount of reasoning to the server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

from tasks.engines.protocols import EngineError

Dialect = Literal["openai", "openrouter", "qwen", "vllm"]
LimitField = Literal["max_tokens", "max_completion_tokens"]
Body = dict[str, Any]

SAMPLING = ("temperature", "top_p")
"""Fields of a sampling that reasoning models refuse."""


class Provider(NamedTuple):
    """The default server of a kind.

    Attributes:
        key: the variable that usually holds its key. unsent: fields of a sampling that its API does not take.
    """

    url: str
    key: str
    unsent: tuple[str, ...] = ()


SERVERS: Mapping[str, Provider] = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": Provider("https://api.anthropic.com", "ANTHROPIC_API_KEY", unsent=("seed",)),
    "google": Provider("https://generativelanguage.googleapis.com", "GEMINI_API_KEY"),
}
"""Kinds of engines behind a server."""


def server(base_url: str) -> str:
    """The name of a server, whatever its address looks like: host in lower case, port unless default, path.

    Raises:
        ValueError: no http address, or it holds a user name or password, which would be stored and shown.
    """
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
    except ValueError:  # its text quotes the address
        parts, host, port = urlsplit(""), None, None
    default = {"http": 80, "https": 443}.get(parts.scheme)
    if default is None or not host:
        raise ValueError("base_url is not a valid URL: write it like http://host:8000/v1")
    if parts.username is not None:
        raise ValueError(
            "base_url holds a user name or password: take it out, and put the key into the environment "
            "variable that api_key_env names"
        )
    host = f"[{host}]" if ":" in host else host
    return (host if port in (None, default) else f"{host}:{port}") + parts.path.rstrip("/")


class Family(NamedTuple):
    """Models that take the same settings.

    Attributes:
        efforts: words for the reasoning effort; "none" if it can be off; None: unknown. least: smallest
            number of tokens for reasoning; None: it takes no number.
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
"""Families by kind; the first whose prefix fits a name counts."""

_NO_SEARCH = {"google": r"gemini-1\.", "anthropic": r"claude-(2|instant|3-(opus|sonnet|haiku))"}


class ServedSpec(Protocol):
    """The part of a server's spec that is used here."""

    name: str
    kind: Any
    model: str
    base_url: str | None
    reasoning: Any
    web: bool | None
    options: dict[str, Any]


def family(spec: ServedSpec) -> Family | None:
    """Return the model's family; None if it is unknown, or its server has its own field names (dialect)."""
    if spec.options.get("dialect", "openai") != "openai":
        return None
    name = spec.model.rsplit("/", 1)[-1].lower()
    return next((known for begin, known in _FAMILIES.get(spec.kind, ()) if re.match(begin, name)), None)


def is_at_openai(spec: ServedSpec) -> bool:
    """Whether the requests go to OpenAI itself, and not to a server that is compatible with it."""
    own = urlsplit(SERVERS["openai"].url).hostname
    return spec.kind == "openai" and (not spec.base_url or urlsplit(spec.base_url).hostname == own)


def by_responses(spec: ServedSpec) -> bool:
    """Whether requests go to the Responses API: by ``options.api``, else for web search at OpenAI, whose Chat
    Completions search with search models only."""
    if api := spec.options.get("api"):
        return bool(api == "responses")
    return bool(spec.web) and is_at_openai(spec) and "search" not in spec.model


def takes_temperature(spec: ServedSpec) -> bool:
    """Whether temperature and top_p are sent: by ``options.temperature``, else as the documents say."""
    if isinstance(temperature := spec.options.get("temperature"), bool):
        return temperature
    known, is_reasoning = family(spec), spec.reasoning not in (None, "none", "auto")
    if known is None:
        # Anthropic's models take no temperature with thinking.
        return spec.kind != "anthropic" or not is_reasoning
    return known.temperature == "always" or (known.temperature == "without reasoning" and not is_reasoning)


def unsent(spec: ServedSpec) -> list[str]:
    """Fields of a sampling that are not sent although no option says so; part of the engine's hash."""
    own = list(SERVERS[spec.kind].unsent)
    if by_responses(spec):
        own.append("seed")
    if "temperature" not in spec.options and not takes_temperature(spec):
        own += SAMPLING
    return own


def check_settings(spec: ServedSpec) -> None:
    """Refuse reasoning or web search that the model cannot take, as far as documents say so, or that the
    dialect has no words for.

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
    if known is not None and reasoning not in (None, "auto"):
        if isinstance(reasoning, int) and known.least is None:
            raise _refusal(
                spec, f"reasoning = {reasoning}", f"it takes no number of tokens, but {_takes(known)}"
            )
        if isinstance(reasoning, int) and reasoning < (known.least or 0):
            raise _refusal(spec, f"reasoning = {reasoning}", f"it takes {_takes(known)}")
        if isinstance(reasoning, str) and known.efforts is not None and reasoning not in known.efforts:
            raise _refusal(spec, f'reasoning = "{reasoning}"', f"it takes {_takes(known)}")
    dialect = spec.options.get("dialect", "openai")
    if spec.kind == "openai" and dialect in _REASONING:
        settings_body(spec, dialect)


def _takes(known: Family) -> str:
    """The settings that a family takes, in words."""
    if known.efforts is None:
        return 'a word such as "high"'
    words = [f'"{effort}"' for effort in known.efforts]
    number = [f"a number of tokens from {known.least}"] if known.least is not None else []
    return f'{", ".join([*words, *number])} or "auto"'


def _refusal(spec: ServedSpec, what: str, why: str) -> EngineError:
    return EngineError(f"engine {spec.name!r}: {spec.model!r} does not take {what}: {why}")


def limit_field(spec: ServedSpec) -> LimitField:
    """The field that tells a server of the chat API how many tokens there may be.

    OpenAI calls ``max_tokens`` deprecated, and its reasoning models refuse it wherever they are served; some
    compatible servers know nothing else.
    """
    known = family(spec)
    is_new = is_at_openai(spec) or (known is not None and known.temperature == "never")
    return "max_completion_tokens" if is_new else "max_tokens"


def _openai(reasoning: str | int) -> Body | None:
    """OpenAI, Google's compatible address and most others: words alone."""
    return None if isinstance(reasoning, int) else {"reasoning_effort": reasoning}


def _openrouter(reasoning: str | int) -> Body | None:
    return {"reasoning": {"max_tokens" if isinstance(reasoning, int) else "effort": reasoning}}


def _qwen(reasoning: str | int) -> Body | None:
    """Model Studio: on, off, or a budget."""
    if isinstance(reasoning, int):
        return {"enable_thinking": True, "thinking_budget": reasoning}
    return {"enable_thinking": reasoning == "high"} if reasoning in ("none", "high") else None


def _vllm(reasoning: str | int) -> Body | None:
    """Chat templates of hybrid models: on or off."""
    known = reasoning in ("none", "high")
    return {"chat_template_kwargs": {"enable_thinking": reasoning == "high"}} if known else None


_REASONING: Mapping[Dialect, Callable[[str | int], Body | None]] = {
    "openai": _openai,
    "openrouter": _openrouter,
    "qwen": _qwen,
    "vllm": _vllm,
}
_WEB: Mapping[Dialect, Body] = {
    "openai": {"web_search_options": {}},
    "openrouter": {"plugins": [{"id": "web"}]},
    "qwen": {"enable_search": True},
}


def settings_body(spec: ServedSpec, dialect: Dialect) -> Body:
    """Return the request's fields for the spec's ``reasoning`` and ``web``.

    There are none if it has neither, or if a model that cannot reason has reasoning "none".

    Raises:
        EngineError: the dialect has no words for them.
    """
    body: Body = {}
    known = family(spec)
    if spec.reasoning not in (None, "auto") and (known is None or known.reasons):
        fields = _REASONING[dialect](spec.reasoning)
        if fields is None:
            raise _unknown(spec, dialect, f"reasoning = {spec.reasoning!r}")
        body |= fields
    if spec.web:
        if dialect not in _WEB:
            raise _unknown(spec, dialect, "web = true")
        body |= _WEB[dialect]
    if not by_responses(spec):
        return body
    body.pop("web_search_options", None)
    effort = body.pop("reasoning_effort", None)
    tools = {"tools": [{"type": "web_search"}]} if spec.web else {}
    return body | tools | ({"reasoning": {"effort": effort}} if effort else {})


def _unknown(spec: ServedSpec, dialect: Dialect, what: str) -> EngineError:
    return EngineError(
        f"engine {spec.name!r}: servers of dialect {dialect!r} have no field for {what}: choose another "
        f"options.dialect ({', '.join(_REASONING)}), or set the server's own fields in options.extra_body"
    )
