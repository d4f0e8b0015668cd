"""Generation by Anthropic's models, through Anthropic's own client (the extra ``anthropic``).

A spec, as a file ``$CULTURESCOPE_HOME/engines/<name>.toml``; the key is in ANTHROPIC_API_KEY::

    kind = "anthropic"
    model = "claude-sonnet-4-5"
    usd_per_million_input_tokens = 3.0
    usd_per_million_output_tokens = 15.0
    options = { max_concurrency = 8, requests_per_minute = 50 }

The API takes no seed, so greedy answers and repetitions may differ from run to run, and it gives no
log-probabilities: judges' verdicts are not graded.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pydantic import BaseModel, Field

from tasks.engines.hosted import HostedGenerator, HostedOptions, needed
from tasks.engines.protocols import Generation, Jobs, Message, Sampling, Schema
from tasks.engines.secrets import Secrets
from tasks.engines.specs import EngineSpec
from tasks.engines.transport import Caller, checked, count, finish_reason

_ENDED = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
_COUNTED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicOptions(HostedOptions):
    """What ``spec.options`` may hold for kind "anthropic"."""

    temperature: bool = Field(
        default=True,
        description="whether the model takes temperature and top_p; false where it refuses them: it then "
        "samples as it does by itself",
    )


class AnthropicGenerator(HostedGenerator):
    """A model behind the Messages API."""

    options_type = AnthropicOptions
    api, speaks = "the Messages API", "Anthropic's Messages API"
    refuses = (
        "whether the model supports structured outputs and temperature (options.temperature = false does "
        "without)"
    )

    def __init__(self, spec: EngineSpec, jobs: Jobs | None = None) -> None:
        """See ``HostedGenerator``; raises EngineError also where the client is not installed."""
        super().__init__(spec, jobs)
        self._package = needed("anthropic", "anthropic", spec)

    def request(
        self, conversation: Sequence[Message], sampling: Sampling, schema: Schema, alternatives: int
    ) -> dict[str, Any]:
        """See ``HostedGenerator.request``: arguments of the client's ``messages.create``."""
        system = "\n\n".join(m["content"] for m in conversation if m["role"] == "system")
        body: dict[str, Any] = {}
        if self.options.temperature:
            body = {"temperature": sampling.temperature}
            body |= {"top_p": sampling.top_p} if sampling.top_p < 1 else {}
        request: dict[str, Any] = {
            "model": self.spec.model,
            "max_tokens": sampling.max_tokens,
            "messages": [dict(m) for m in conversation if m["role"] != "system"],
            "extra_body": body | self.options.extra_body,
        }
        if system:
            request["system"] = system
        if sampling.stop:
            request["stop_sequences"] = list(sampling.stop)
        if schema is not None:
            request["output_config"] = {"format": {"type": "json_schema", "schema": dict(schema)}}
        return request

    @asynccontextmanager
    async def way(self, caller: Caller) -> AsyncIterator[Any]:
        """See ``HostedGenerator.way``: the client."""
        from tasks.engines.through_caller import http_client

        key = self.key or "none"
        async with http_client(caller, key) as http:
            yield self._package.AsyncAnthropic(
                api_key=key,
                default_headers={"Authorization": f"Bearer {key}"},  # above the environment's
                base_url=self.base_url,
                http_client=http,
                max_retries=0,
                timeout=self.options.timeout,
            )

    async def ask(self, way: Any, request: dict[str, Any]) -> Generation:
        """See ``HostedGenerator.ask``."""
        from tasks.engines.through_caller import failed

        try:
            answer = await way.messages.with_raw_response.create(**request)
            body = answer.http_response.json()
        except Exception as error:  # of many kinds, all the client's
            raise failed(error, self.secrets) from None
        return read_message(body, self.secrets)


class _Block(BaseModel):
    type: str
    text: str | None = None


class _Message(BaseModel):
    content: list[_Block]
    stop_reason: str | None = None
    usage: Any = None


def read_message(body: Any, secrets: Secrets) -> Generation:
    """The text blocks of an answer; thinking is left out.

    Raises:
        Unreadable: it is no answer of the Messages API.
    """
    answer = checked(_Message, body)
    usage = answer.usage if isinstance(answer.usage, dict) else {}
    text = "".join(block.text or "" for block in answer.content if block.type == "text")
    finish = _ENDED.get(answer.stop_reason or "", finish_reason(answer.stop_reason))
    sent, written = sum(count(usage.get(name)) for name in _COUNTED), count(usage.get("output_tokens"))
    return Generation(secrets.hide_in_answer(text), finish, sent if written else 0, written)
