"""Providers of served models: each kind's server, key variable, and the settings of its models. Pure.

A spec sets ``reasoning`` and ``web``. By the providers' documents their effect depends on the model's name: a
temperature that the model refuses is not sent. The server decides on everything else. Sources, read in
November 2026: the providers' reference pages and the types of their clients (openai 3.54, anthropic 2.12,
google-genai 3.4).

Servers of the chat API use different names of fields; the option ``dialect`` selects them. "auto" leaves the
amount of reasoning to the server.
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
"""Fields of a sampling that some reasoning models refuse."""


class Provider(NamedTuple):
    """The default server of a kind.

    Attributes:
        key: environment variable that usually holds its key.
        unsent: fields of a sampling that its API does not have.
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
    """Return a server's normalised name: host in lower case, port unless it is the default, path.

    Raises:
        ValueError: the URL is not http, has blanks, a query or fragment, a host that is not ASCII, or the
            path of requests, after which no path can stand, or holds a user name or password, which would be
            stored and shown.
    """
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
    except ValueError:  # its message would quote the URL
        parts, host, port = urlsplit(""), None, None
    default = {"http": 80, "https": 443}.get(parts.scheme)
    if default is None or not host or re.search(r"[\s\x00-\x20\x7f]", base_url):
        raise ValueError("base_url is not a valid URL: write it like http://host:8000/v1")
    if parts.username is not None:
        raise ValueError(
            "base_url holds a user name or password: take it out, and put the key into the environment "
            "variable that api_key_env names"
        )
    if parts.query or parts.fragment:
        raise ValueError(
            "base_url has a query or a fragment: leave out what begins with ? or #, and set further fields "
            "of requests in options.extra_body"
        )
    if path := re.search(r"/(chat/completions|completions|responses|messages)/?$", parts.path):
        raise ValueError(f"base_url ends in {path[1]}, which requests add themselves: leave that out")
    if not re.fullmatch(r"[a-z0-9._-]+|[0-9a-f:.]+", host):
        raise ValueError(
            "the host of base_url has signs other than a to z, 0 to 9, dots and hyphens, which may look like "
            f"another host's: write it in ASCII{_in_ascii(host)}"
        )
    host = f"[{host}]" if ":" in host else host
    if not re.fullmatch(rf"{re.escape(host)}(?::\d+)?", parts.netloc, re.IGNORECASE):
        raise ValueError("base_url is not a valid URL: write it like http://host:8000/v1")
    return (host if port in (None, default) else f"{host}:{port}") + parts.path.rstrip("/")


def _in_ascii(host: str) -> str:
    """Return ", as " and a host's form in ASCII; "" if it has none."""
    try:
        return f", as {host.encode('idna').decode()}"
    except UnicodeError:
        return ""


OWN_FIELDS = frozenset({
    "candidateCount", "contents", "input", "instructions", "messages", "model", "n", "prompt", "stream",
    "system", "systemInstruction", "system_instruction",
})  # fmt: skip
"""Fields of a request that say which model gets which prompt, in any API, and how many answers it gives."""


def checked_body(fields: dict[str, Any]) -> dict[str, Any]:
    """Return further fields of requests; raises ValueError for one of ``OWN_FIELDS``.

    The warehouse would name another model or prompt than was sent.
    """
    if own := sorted(fields.keys() & OWN_FIELDS):
        raise ValueError(
            f"{own[0]} is what every request sets itself and what is stored as sent: leave it out"
        )
    return fields


class Family(NamedTuple):
    """Models with the same settings.

    Attributes:
        temperature: whether temperature and top_p are accepted.
        thinks: whether the models can think, or always do.
    """

    temperature: Literal["always", "without reasoning", "never"] = "always"
    thinks: Literal["never", "if asked", "always"] = "if asked"


_FAMILIES: Mapping[str, tuple[tuple[str, Family], ...]] = {
    "openai": (
        (r"(gpt|chatgpt)-[\w.-]*search|o\d(-|$)", Family("never")),
        (r"gpt-3|gpt-4|chatgpt-4|gpt-5-chat", Family(thinks="never")),
        (r"gpt-([5-9]|\d\d)", Family("never")),
    ),
    "anthropic": (
        (r"claude-3-7-|claude-[a-z]+-4((-[0-5])?(-|@|$)(?!\d(\D|$))|-6(\D|$))", Family("without reasoning")),
        (r"claude-(fable|mythos)", Family("never", "always")),
        (r"claude-[a-z]+-([4-9]|\d\d)", Family("never")),
        (r"claude-(3|2|instant)", Family(thinks="never")),
    ),
    "google": ((r"gemini-(1\.|2\.(?!5))", Family(thinks="never")),),
}
"""Families by kind; the first one whose pattern matches the start of a name counts.

They say what requests leave out and how many tokens they ask for, which is part of an engine's identity.
Whether a model takes an effort, a number of tokens or web search, its server says.
"""


class ServedSpec(Protocol):
    """The fields of a server's spec that are used here."""

    name: str
    kind: Any
    model: str
    base_url: str | None
    reasoning: Any
    web: bool | None
    options: dict[str, Any]


def family(spec: ServedSpec) -> Family | None:
    """Return the model's family; None if it is unknown, or its server has other field names (dialect)."""
    if spec.options.get("dialect", "openai") != "openai":
        return None
    name = spec.model.rsplit("/", 1)[-1].lower()
    families = _FAMILIES.get(spec.kind, ())
    return next((models for pattern, models in families if re.match(pattern, name)), None)


def is_at_openai(spec: ServedSpec) -> bool:
    """Return whether the requests go to OpenAI itself, and not to a compatible server."""
    host = urlsplit(SERVERS["openai"].url).hostname
    return spec.kind == "openai" and (not spec.base_url or urlsplit(spec.base_url).hostname == host)


def by_responses(spec: ServedSpec) -> bool:
    """Return whether requests go to the Responses API: by ``options.api``, else for web search at OpenAI.

    OpenAI's Chat Completions search the web only with search models.
    """
    if api := spec.options.get("api"):
        return bool(api == "responses")
    return bool(spec.web) and is_at_openai(spec) and "search" not in spec.model


def takes_temperature(spec: ServedSpec) -> bool:
    """Return whether temperature and top_p are sent: by ``options.temperature``, else by the documents."""
    if isinstance(temperature := spec.options.get("temperature"), bool):
        return temperature
    models, is_reasoning = family(spec), spec.reasoning not in (None, "none", "auto")
    if models is None:
        # Anthropic's models accept no temperature with thinking.
        return spec.kind != "anthropic" or not is_reasoning
    return models.temperature == "always" or (models.temperature == "without reasoning" and not is_reasoning)


THINKING: Mapping[str, int] = {
    "minimal": 1024, "low": 2048, "medium": 8192, "auto": 8192, "high": 16384, "xhigh": 32768, "max": 32768,
}  # fmt: skip
"""Reasoning effort -> most tokens of thinking, beside those of the answer; "auto": also without an effort."""


def thinking_tokens(spec: ServedSpec) -> int:
    """Return the tokens that a model may think with, beside ``max_tokens`` of its answer; 0 if it does not.

    Servers count thinking in the limit of an answer, and profiles' limits are those of answers. A model of
    unknown family may think, except at Anthropic, whose models do so only if a spec asks for it or their
    family cannot do without.
    """
    models, reasoning = family(spec), spec.reasoning
    if reasoning == "none" or (models is not None and models.thinks == "never"):
        return 0
    if isinstance(reasoning, int):
        return reasoning
    is_off = spec.kind == "anthropic" and (models is None or models.thinks != "always")
    return 0 if reasoning in (None, "auto") and is_off else THINKING[reasoning or "auto"]


def asked_reasoning(spec: ServedSpec) -> str | int | None:
    """Return the reasoning that requests ask for; None if they leave it out.

    A model that never thinks is not asked to leave it, as it would refuse the field.
    """
    models, reasoning = family(spec), spec.reasoning
    is_needless = reasoning == "none" and models is not None and models.thinks == "never"
    return None if reasoning == "auto" or is_needless else reasoning


def unsent(spec: ServedSpec) -> list[str]:
    """Return the fields of a sampling that are not sent, although no option excludes them, for the hash."""
    fields = list(SERVERS[spec.kind].unsent)
    if by_responses(spec):
        fields.append("seed")
    if "temperature" not in spec.options and not takes_temperature(spec):
        fields += SAMPLING
    return fields


def check_settings(spec: ServedSpec) -> None:
    """Check that the API has fields for a spec's reasoning and web search; the server checks their values.

    Raises:
        EngineError: it has not; the message says what to do.
    """
    if by_responses(spec) and spec.options.get("batch"):
        raise EngineError(
            f"engine {spec.name!r}: {spec.model!r} does not take web = true in a batch: OpenAI searches by "
            "its Responses API: set options.max_concurrency"
        )
    dialect = spec.options.get("dialect", "openai")
    if spec.kind == "openai" and dialect in _REASONING:
        settings_body(spec, dialect)


def limit_field(spec: ServedSpec) -> LimitField:
    """Return the field of the chat API with the token limit.

    OpenAI calls ``max_tokens`` deprecated, and its reasoning models refuse it on every server; some
    compatible servers have no other field.
    """
    models = family(spec)
    is_new = is_at_openai(spec) or (models is not None and models.temperature == "never")
    return "max_completion_tokens" if is_new else "max_tokens"


def _openai(reasoning: str | int) -> Body | None:
    """Return the field of OpenAI, Google's compatible address and most others, which accept only words."""
    return None if isinstance(reasoning, int) else {"reasoning_effort": reasoning}


def _openrouter(reasoning: str | int) -> Body | None:
    return {"reasoning": {"max_tokens" if isinstance(reasoning, int) else "effort": reasoning}}


def _qwen(reasoning: str | int) -> Body | None:
    """Return the fields of Model Studio: on, off, or a budget."""
    if isinstance(reasoning, int):
        return {"enable_thinking": True, "thinking_budget": reasoning}
    return {"enable_thinking": reasoning == "high"} if reasoning in ("none", "high") else None


def _vllm(reasoning: str | int) -> Body | None:
    """Return the field for chat templates of hybrid models: on or off."""
    is_switch = reasoning in ("none", "high")
    return {"chat_template_kwargs": {"enable_thinking": reasoning == "high"}} if is_switch else None


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

    Raises:
        EngineError: the dialect has no fields for them.
    """
    body: Body = {}
    if (reasoning := asked_reasoning(spec)) is not None:
        fields = _REASONING[dialect](reasoning)
        if fields is None:
            raise _no_field(spec, dialect, f"reasoning = {reasoning!r}")
        body |= fields
    if spec.web:
        if dialect not in _WEB:
            raise _no_field(spec, dialect, "web = true")
        body |= _WEB[dialect]
    if not by_responses(spec):
        return body
    body.pop("web_search_options", None)
    effort = body.pop("reasoning_effort", None)
    tools = {"tools": [{"type": "web_search"}]} if spec.web else {}
    return body | tools | ({"reasoning": {"effort": effort}} if effort else {})


def _no_field(spec: ServedSpec, dialect: Dialect, setting: str) -> EngineError:
    return EngineError(
        f"engine {spec.name!r}: servers of dialect {dialect!r} have no field for {setting}: choose another "
        f"options.dialect ({', '.join(_REASONING)}), or set the server's own fields in options.extra_body"
    )
