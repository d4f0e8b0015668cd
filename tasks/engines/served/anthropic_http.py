"""Generation by any server with Anthropic's Messages API.

A spec, as a file ``$CULTUREMETER_HOME/engines/<name>.toml``; the key is in ANTHROPIC_API_KEY::

    kind = "anthropic"
    model = "claude-haiku-4-5"
    usd_per_million_input_tokens = 1.0
    usd_per_million_output_tokens = 5.0
    options = { max_concurrency = 8, requests_per_minute = 50 }

``reasoning`` is a number of tokens, or a word for models with adaptive thinking (``providers``); ``web =
true`` lets the model search. The API has no seed, so greedy answers and repetitions may differ between runs.
It gives no log-probabilities, so judges' verdicts are not graded. Requests use API version 2023-06-01,
because the next one (2026-10-21), which the provider's client uses, accepts no temperature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field

from tasks.engines.protocols import Generation, Jobs, Message, Sampling, Schema
from tasks.engines.secrets import Secrets
from tasks.engines.served.endings import finish_reason
from tasks.engines.served.hosted import HostedGenerator, HostedOptions
from tasks.engines.served.providers import asked_reasoning, takes_temperature
from tasks.engines.served.transport import Caller, checked, count
from tasks.engines.specs import EngineSpec

API_VERSION = "2023-06-01"
_THINKING = ("thinking", "redacted_thinking")
WEB_SEARCH = {"type": "web_search_20250305", "name": "web_search"}
"""The provider's search tool in a version without a code sandbox, which newer ones need."""
MAX_PAUSES = 5
"""Most continuations of one answer with web searches."""
_COUNTED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicOptions(HostedOptions):
    """Fields of ``spec.options`` for kind "anthropic"."""

    temperature: bool | None = Field(
        default=None,
        description=(
            "whether temperature and top_p are sent; None: not with thinking, nor to models known to "
            "refuse them, which sample by their own defaults"
        ),
    )


class AnthropicGenerator(HostedGenerator):
    """A model behind the Messages API."""

    options_type = AnthropicOptions
    api, speaks = "the Messages API", "Anthropic's Messages API"
    refuses = (
        "whether the model supports structured outputs, the amount of reasoning, web search and temperature "
        "(options.temperature = false does without)"
    )

    path = "/v1/messages"
    key_path = "/v1/models"

    def __init__(self, spec: EngineSpec, jobs: Jobs | None = None) -> None:
        """Read the options and the key; see ``HostedGenerator``."""
        super().__init__(spec, jobs)
        self._temperature, self._settings, self._effort = takes_temperature(spec), *_settings(spec)

    def request(
        self, conversation: Sequence[Message], sampling: Sampling, schema: Schema, alternatives: int
    ) -> dict[str, Any]:
        """Implement ``HostedGenerator.request``."""
        system = "\n\n".join(m["content"] for m in conversation if m["role"] == "system")
        request: dict[str, Any] = {
            "model": self.spec.model,
            "max_tokens": self.limit(sampling),
            "messages": [dict(m) for m in conversation if m["role"] != "system"],
        }
        if self._temperature:
            request["temperature"] = sampling.temperature
            request |= {"top_p": sampling.top_p} if sampling.top_p < 1 else {}
        output: dict[str, Any] = dict(self._effort)
        if system:
            request["system"] = system
        if sampling.stop:
            request["stop_sequences"] = list(sampling.stop)
        if schema is not None:
            output["format"] = {"type": "json_schema", "schema": dict(schema)}
        request |= {"output_config": output} if output else {}
        return {**request, **self._settings, **self.options.extra_body}

    def headers(self) -> dict[str, str]:
        """Implement ``HostedGenerator.headers``."""
        return {"x-api-key": self.key or "none", "anthropic-version": API_VERSION}

    def read(self, body: Any) -> Generation:
        """Implement ``HostedGenerator.read``."""
        return read_message(body, self.secrets)

    async def send(self, caller: Caller, request: dict[str, Any]) -> Generation:
        """Implement ``HostedGenerator.send``. A turn that the API pauses during searches is continued."""
        paused: list[dict[str, Any]] = []

        def read(body: dict[str, Any]) -> dict[str, Any] | Generation:
            is_paused = checked(_Message, body).stop_reason == "pause_turn"
            if self.spec.web and is_paused and len(paused) < MAX_PAUSES:
                return body
            return read_message(body, self.secrets, paused)

        while isinstance(part := await caller.call("POST", self.path, read, json=request), dict):
            paused.append(part)
            turn = {"role": "assistant", "content": part["content"]}
            request = {**request, "messages": [*request["messages"], turn]}
        return part


def _settings(spec: EngineSpec) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a request's fields for the spec's ``reasoning`` and ``web``, and its ``output_config``."""
    fields: dict[str, Any] = {"tools": [WEB_SEARCH]} if spec.web else {}
    match asked_reasoning(spec):
        case None:
            return fields, {}
        case int() as tokens:
            return fields | {"thinking": {"type": "enabled", "budget_tokens": tokens}}, {}
        case "none":
            return fields | {"thinking": {"type": "disabled"}}, {}
        case effort:
            return fields | {"thinking": {"type": "adaptive"}}, {"effort": effort}


class _Block(BaseModel):
    type: str
    text: str | None = None


class _Message(BaseModel):
    content: list[_Block] | str | None
    stop_reason: Any = None
    usage: Any = None


def read_message(body: Any, secrets: Secrets, paused: Sequence[Any] = ()) -> Generation:
    """Return the text after an answer's last search; thinking is left out, but its tokens count.

    Args:
        paused: earlier parts of the answer.

    Raises:
        Unreadable: a part is not an answer of the Messages API. Unfit: the model did not finish.
    """
    answers = [checked(_Message, part) for part in (*paused, body)]
    text, n_prompt, n_completion = "", 0, 0
    for answer in answers:
        usage = answer.usage if isinstance(answer.usage, dict) else {}
        n_prompt += sum(count(usage.get(name)) for name in _COUNTED)
        n_completion += count(usage.get("output_tokens"))
        if isinstance(answer.content, str):  # as proxies write it
            text += answer.content
            continue
        for block in answer.content or ():
            if block.type == "text":
                text += block.text or ""
            elif block.type not in _THINKING:
                text = ""  # the text before a search only announces it
    finish = finish_reason(answers[-1].stop_reason)
    n_prompt = n_prompt if n_completion else 0
    return Generation(secrets.hide_in_answer(text), finish, n_prompt, n_completion)
