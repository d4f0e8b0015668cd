"""How servers of the chat API are told how much to reason and whether to search the web.

A spec of kind "openai" says ``reasoning`` and ``web``; servers name these fields differently, and the option
``dialect`` says which names one knows. "auto" leaves the amount of reasoning to the server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from tasks.engines.protocols import EngineError
from tasks.engines.served.families import by_responses, family, is_at_openai
from tasks.engines.specs import EngineSpec

Dialect = Literal["openai", "openrouter", "qwen", "vllm"]
LimitField = Literal["max_tokens", "max_completion_tokens"]
Body = dict[str, Any]


def limit_field(spec: EngineSpec) -> LimitField:
    """How a server of the chat API is told how many tokens there may be.

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


def settings_body(spec: EngineSpec, dialect: Dialect) -> Body:
    """The fields that a request carries for the spec's ``reasoning`` and ``web``: none where it has neither,
    nor for a model that cannot reason and is told not to.

    Raises:
        EngineError: the dialect has no words for them.
    """
    body: Body = {}
    known = family(spec)
    if spec.reasoning not in (None, "auto") and (known is None or known.reasons):
        said = _REASONING[dialect](spec.reasoning)
        if said is None:
            raise _unknown(spec, dialect, f"reasoning = {spec.reasoning!r}")
        body |= said
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


def check_dialect(spec: EngineSpec) -> None:
    """Refuse a spec whose dialect has no words for its reasoning or web search, as ``settings_body`` does."""
    dialect = spec.options.get("dialect", "openai")
    if spec.kind == "openai" and dialect in _REASONING:
        settings_body(spec, dialect)


def _unknown(spec: EngineSpec, dialect: Dialect, what: str) -> EngineError:
    return EngineError(
        f"engine {spec.name!r}: servers of dialect {dialect!r} have no field for {what}: choose another "
        f"options.dialect ({', '.join(_REASONING)}), or set the server's own fields in options.extra_body"
    )
