"""Generation by any server with Google's Gemini API.

A spec, as a file ``$CULTUREMETER_HOME/engines/<name>.toml``; the key is in GEMINI_API_KEY::

    kind = "google"
    model = "gemini-2.5-flash"
    usd_per_million_input_tokens = 0.30
    usd_per_million_output_tokens = 2.50
    options = { max_concurrency = 8, logprobs = true }

``reasoning`` is a number of tokens up to Gemini 2.5, and a word from Gemini 3 on (``providers``); ``web =
true`` lets the model search. Thinking counts as output, also for the token limit, which is therefore raised
(``providers.thinking_tokens``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from tasks.engines.protocols import (
    MAX_ALTERNATIVES,
    EngineError,
    Generation,
    Jobs,
    Message,
    Sampling,
    Schema,
    TokenAlternatives,
)
from tasks.engines.secrets import Secrets
from tasks.engines.served.endings import finish_reason
from tasks.engines.served.failures import Failed, Unfit
from tasks.engines.served.hosted import HostedGenerator, HostedOptions
from tasks.engines.served.providers import asked_reasoning
from tasks.engines.served.transport import LogProbability, checked, count, sound
from tasks.engines.specs import EngineSpec

_ROLES = {"assistant": "model"}
_NO_JSON_BESIDE_SEARCH = r"gemini-[12]\."


class GoogleOptions(HostedOptions):
    """Fields of ``spec.options`` for kind "google"."""

    logprobs: bool = Field(
        default=False, description="whether the model gives log-probabilities; many refuse the request"
    )
    api_version: str = Field(default="v1beta", description="API version in the address")


class GoogleGenerator(HostedGenerator):
    """A model behind the Gemini API."""

    options_type = GoogleOptions
    api, speaks = "the Gemini API", "Google's Gemini API"
    refuses = (
        "whether the model supports seed, JSON schemas, the amount of reasoning and log-probabilities "
        "(options.logprobs)"
    )

    def __init__(self, spec: EngineSpec, jobs: Jobs | None = None) -> None:
        """Read the options and the key; see ``HostedGenerator``."""
        super().__init__(spec, jobs)
        name = spec.model if spec.model.startswith(("models/", "tunedModels/")) else f"models/{spec.model}"
        self.path = f"/{self.options.api_version}/{quote(name)}:generateContent"
        self.key_path = f"/{self.options.api_version}/models"
        self._tools: list[dict[str, Any]] = [{"googleSearch": {}}] if spec.web else []
        self._thinking = _thinking(spec)

    def request(
        self, conversation: Sequence[Message], sampling: Sampling, schema: Schema, alternatives: int
    ) -> dict[str, Any]:
        """Implement ``HostedGenerator.request``; raises EngineError if web search excludes JSON."""
        if schema is not None and self.spec.web and re.match(_NO_JSON_BESIDE_SEARCH, self.spec.model):
            raise EngineError(
                f"engine {self.spec.name!r}: {self.spec.model!r} gives no JSON where it searches the web: "
                "leave web out, take Gemini 3 or newer, or choose answers in text if an option allows them"
            )
        config: dict[str, Any] = {
            "temperature": sampling.temperature,
            "topP": sampling.top_p,
            "seed": sampling.seed % 2**31,
            "maxOutputTokens": self.limit(sampling),
            **self._thinking,
        }
        if sampling.stop:
            config["stopSequences"] = list(sampling.stop)
        if schema is not None:
            config |= {"responseMimeType": "application/json", "responseJsonSchema": dict(schema)}
        if alternatives and self.options.logprobs:
            config |= {"responseLogprobs": True, "logprobs": min(alternatives, MAX_ALTERNATIVES)}
        request: dict[str, Any] = {
            "contents": [
                {"role": _ROLES.get(m["role"], m["role"]), "parts": [{"text": m["content"]}]}
                for m in conversation
                if m["role"] != "system"
            ],
            "generationConfig": config,
        }
        if system := "\n\n".join(m["content"] for m in conversation if m["role"] == "system"):
            request["systemInstruction"] = {"role": "user", "parts": [{"text": system}]}
        request |= {"tools": self._tools} if self._tools else {}
        return _merged(request, self.options.extra_body)

    def limit_of(self, request: dict[str, Any]) -> int:
        """Implement ``HostedGenerator.limit_of``."""
        return int(request["generationConfig"]["maxOutputTokens"])

    def limited(self, request: dict[str, Any], limit: int) -> dict[str, Any]:
        """Implement ``HostedGenerator.limited``."""
        return {**request, "generationConfig": {**request["generationConfig"], "maxOutputTokens": limit}}

    def headers(self) -> dict[str, str]:
        """Implement ``HostedGenerator.headers``."""
        return {"x-goog-api-key": self.key or "none"}

    def read(self, body: Any) -> Generation:
        """Implement ``HostedGenerator.read``."""
        return read_content(body, self.secrets)

    def is_about_the_key(self, failure: Failed) -> bool:
        """Implement ``HostedGenerator.is_about_the_key``; here an unknown key is a bad request."""
        is_unknown = failure.status == 400 and "api key" in failure.words.lower()
        return is_unknown or super().is_about_the_key(failure)


def _thinking(spec: EngineSpec) -> dict[str, Any]:
    """Return the fields of ``generationConfig`` for the spec's ``reasoning``."""
    match asked_reasoning(spec):
        case None:
            return {}
        case int() as tokens:
            return {"thinkingConfig": {"thinking_budget": tokens}}
        case "none":
            return {"thinkingConfig": {"thinking_budget": 0}}
        case effort:
            return {"thinkingConfig": {"thinking_level": effort.upper()}}


def _merged(request: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request with further fields; fields of nested objects are merged."""
    return {**request} | {
        name: _merged(request[name], value)
        if isinstance(value, Mapping) and isinstance(request.get(name), Mapping)
        else value
        for name, value in extra.items()
    }


class _Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)


class _Part(_Camel):
    text: str | None = None
    thought: bool | None = None


class _Content(_Camel):
    parts: list[_Part] | None = None


class _Token(_Camel):
    token: str
    log_probability: LogProbability


class _Top(_Camel):
    candidates: list[_Token] = []


class _Logprobs(_Camel):
    chosen_candidates: list[_Token] = []
    top_candidates: list[_Top] = []


class _Candidate(_Camel):
    content: _Content | None = None
    finish_reason: Any = None
    finish_message: Any = None
    logprobs_result: Any = None


class _Blocked(_Camel):
    block_reason: Any = None


class _Reply(_Camel):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Blocked | None = None
    usage_metadata: Any = None


class _WithCandidates(_Reply):
    """A reply in which ``candidates`` is required, to reject one without any content."""

    candidates: list[_Candidate] | None


def read_content(body: Any, secrets: Secrets) -> Generation:
    """Return the first candidate as a generation; thoughts are left out, but their tokens count.

    A blocked prompt has no candidate.

    Raises:
        Unreadable: it is not an answer of the Gemini API. Unfit: the model did not finish.
    """
    reply = checked(_Reply, body)
    if not (reply.candidates or reply.prompt_feedback):
        reply = checked(_WithCandidates, body)
    usage = reply.usage_metadata if isinstance(reply.usage_metadata, dict) else {}
    n_prompt = count(usage.get("promptTokenCount"))
    n_completion = sum(count(usage.get(name)) for name in ("candidatesTokenCount", "thoughtsTokenCount"))
    if not reply.candidates:
        if not (reply.prompt_feedback and reply.prompt_feedback.block_reason):
            raise Unfit("candidates: empty, although the prompt was not blocked", is_transient=True)
        return Generation("", "content_filter", n_prompt, n_completion)
    first = reply.candidates[0]
    detail = first.finish_message if isinstance(first.finish_message, str) else ""
    finish = finish_reason(first.finish_reason, detail)
    parts = (first.content.parts if first.content else None) or ()
    content = "".join(part.text or "" for part in parts if not part.thought)
    text = secrets.hide_in_answer(content)
    tokens = _alternatives(sound(_Logprobs, first.logprobs_result) or _Logprobs()) if text == content else ()
    n_prompt = n_prompt if n_completion else 0
    n_thought = count(usage.get("thoughtsTokenCount")) if usage else None
    return Generation(text, finish, n_prompt, n_completion, tokens=tokens, thinking_tokens=n_thought)


def _alternatives(logprobs: _Logprobs) -> tuple[TokenAlternatives, ...]:
    """Return each generated token with the most probable ones at its position."""
    positions = zip_longest(logprobs.chosen_candidates, logprobs.top_candidates, fillvalue=None)
    tokens = []
    for token, top in positions:
        if not isinstance(token, _Token):
            break
        candidates = top.candidates if isinstance(top, _Top) else []
        others = [(each.token, each.log_probability) for each in candidates if each.token != token.token]
        tokens.append(TokenAlternatives.of(token.token, [(token.token, token.log_probability), *others]))
    return tuple(tokens)
