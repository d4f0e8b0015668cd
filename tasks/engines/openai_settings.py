"""How servers of the chat API are told how much to reason and whether to search the web.

A spec of kind "openai" says ``reasoning`` and ``web``; servers name these fields differently, and the option
``dialect`` says which names one knows. "auto" leaves the amount of reasoning to the server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec

Dialect = Literal["openai", "openrouter", "qwen", "vllm"]
Body = dict[str, Any]


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
    """The fields that a request carries for the spec's ``reasoning`` and ``web``; none where it has neither.

    Raises:
        EngineError: the dialect has no words for them.
    """
    body: Body = {}
    if spec.reasoning not in (None, "auto"):
        said = _REASONING[dialect](spec.reasoning)
        if said is None:
            raise _unknown(spec, dialect, f"reasoning = {spec.reasoning!r}")
        body |= said
    if spec.web:
        if dialect not in _WEB:
            raise _unknown(spec, dialect, "web = true")
        body |= _WEB[dialect]
    return body


def _unknown(spec: EngineSpec, dialect: Dialect, what: str) -> EngineError:
    return EngineError(
        f"engine {spec.name!r}: servers of dialect {dialect!r} have no field for {what}: choose another "
        f"options.dialect ({', '.join(_REASONING)}), or set the server's own fields in options.extra_body"
    )
