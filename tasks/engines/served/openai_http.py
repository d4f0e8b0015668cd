"""Generation by any server with the OpenAI chat API: ``vllm serve``, llama.cpp, hosted models.

A hosted model's spec, as a file ``$CULTUREMETER_HOME/engines/<name>.toml``::

    kind = "openai"
    model = "some-model"
    base_url = "https://llm.example.org/v1"
    api_key_env = "EXAMPLE_API_KEY"
    usd_per_million_input_tokens = 0.15
    usd_per_million_output_tokens = 0.60
    reasoning = "high"
    web = true
    options = { max_concurrency = 8, requests_per_minute = 500, dialect = "openrouter" }

One of two options sets the number of requests at once. ``max_concurrency = 200`` sends each by itself.
``batch = 5000`` sends 5,000 as one job of the Batch API, which takes up to a day at half the price
(``openai_batch``); the spec's prices are then those of batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from tasks.engines.protocols import (
    MAX_ALTERNATIVES,
    EngineError,
    Generation,
    Jobs,
    Lost,
    Message,
    Progress,
    Sampling,
    Schema,
)
from tasks.engines.served.failures import Failed
from tasks.engines.served.hosted import HostedGenerator, HostedOptions
from tasks.engines.served.openai_batch import MAX_REQUESTS, Batches
from tasks.engines.served.openai_reply import read_refusal, read_reply, read_response
from tasks.engines.served.providers import (
    Dialect,
    LimitField,
    by_responses,
    family,
    limit_field,
    settings_body,
    takes_temperature,
)
from tasks.engines.served.transport import Caller
from tasks.engines.specs import EngineSpec

RESPONSES_LIMIT = "max_output_tokens"
"""The Responses API's limit of tokens, reasoning included."""


class HttpOptions(HostedOptions):
    """Fields of ``spec.options`` for kind "openai"."""

    batch: int | None = Field(
        default=None,
        ge=1,
        le=MAX_REQUESTS,
        strict=True,
        description=(
            "instead of max_concurrency: number of requests sent as one job of the Batch API, answered "
            "within a day; also the number of prompts in a part"
        ),
    )
    token_limit_field: LimitField | None = Field(
        default=None,
        description="server's name for the token limit; None: max_completion_tokens at OpenAI and "
        "for its reasoning models, max_tokens elsewhere",
    )
    temperature: bool | None = Field(
        default=None,
        description=(
            "whether temperature and top_p are sent; None: not to models known to refuse them, which "
            "sample by their own defaults"
        ),
    )
    logprobs: bool | None = Field(
        default=None,
        description="whether the server gives log-probabilities; None: yes, except OpenAI's reasoning models",
    )
    api: Literal["chat", "responses"] | None = Field(
        default=None,
        description="Chat Completions API or OpenAI's Responses API; None: Responses for web search at "
        "OpenAI, else Chat Completions",
    )
    dialect: Dialect = Field(
        default="openai", description="provider whose request fields set reasoning and web search"
    )

    @model_validator(mode="after")
    def _has_one_of_both(self) -> Self:
        if self.batch and "max_concurrency" in self.model_fields_set:
            raise ValueError("give max_concurrency or batch, not both")
        return self


class OpenAIGenerator(HostedGenerator):
    """A model behind the chat API.

    With option ``batch``, notes on jobs are kept separately per occasion, so that a re-evaluation sends its
    requests again.
    """

    options_type = HttpOptions
    api, speaks = "the chat API", "OpenAI's chat API"
    refuses = (
        "whether the server supports seed, json_schema, temperature and logprobs (options.temperature = "
        "false or options.logprobs = false does without)"
    )

    def __init__(self, spec: EngineSpec, jobs: Jobs | None = None) -> None:
        """Read the options and the key (``HostedGenerator``).

        Also raises EngineError for settings without a field in the dialect.
        """
        super().__init__(spec, jobs)
        self._settings = settings_body(spec, self.options.dialect)
        self._by_responses, self._temperature = by_responses(spec), takes_temperature(spec)
        self._chat_limit = self.options.token_limit_field or limit_field(spec)
        self.limit_field = RESPONSES_LIMIT if self._by_responses else self._chat_limit
        self.path = "/responses" if self._by_responses else "/chat/completions"
        # OpenRouter lists its models without a key.
        self.key_path = "/key" if self.options.dialect == "openrouter" else "/models"
        self._logprobs = self.options.logprobs
        if self._logprobs is None:
            self._logprobs = not ((models := family(spec)) and models.temperature == "never")

    def request(
        self, conversation: Sequence[Message], sampling: Sampling, schema: Schema, alternatives: int
    ) -> dict[str, Any]:
        """Implement ``HostedGenerator.request``."""
        top = min(alternatives, MAX_ALTERNATIVES) if self._logprobs else 0
        request: dict[str, Any] = {
            "model": self.spec.model,
            "messages": [dict(m) for m in conversation],
            "seed": sampling.seed,
            self._chat_limit: self.limit(sampling),
        }
        if self._temperature:
            request |= {"temperature": sampling.temperature, "top_p": sampling.top_p}
        if sampling.stop:
            request["stop"] = list(sampling.stop)
        if top:
            request |= {"logprobs": True, "top_logprobs": top}
        if schema is not None:
            request["response_format"] = response_format(schema)
        if self._by_responses:
            request = responses_request(request, self._chat_limit)
        return {**request, **self._settings, **self.options.extra_body}

    def read(self, body: Any) -> Generation:
        """Implement ``HostedGenerator.read``."""
        return (read_response if self._by_responses else read_reply)(body, self.secrets)

    def headers(self) -> dict[str, str]:
        """Implement ``HostedGenerator.headers``."""
        return {"Authorization": f"Bearer {self.key or 'none'}"}

    def filtered(self, failure: Failed) -> Generation | None:
        """Implement ``HostedGenerator.filtered``; Azure reports filtering as a failure."""
        return read_refusal(failure)

    async def send_all(
        self,
        caller: Caller,
        requests: Sequence[dict[str, Any]],
        caps: Sequence[int],
        answers: dict[int, Generation],
        lost: dict[int, Lost],
        progress: Progress,
    ) -> list[EngineError]:
        """Implement ``HostedGenerator.send_all``; with option ``batch``, requests are sent as jobs."""
        if self.options.batch is None:
            return await super().send_all(caller, requests, caps, answers, lost, progress)
        name, at, n = self.spec.name, self.base_url, self.options.batch
        if self.jobs is None:
            raise EngineError(f"engine {name!r}: options.batch needs a place for notes on its jobs")
        batches = Batches(caller, self.jobs, name, at, n, self.explain, progress)
        await batches.send(requests, answers, lost)
        return batches.failures

    @property
    def model_advice(self) -> str:
        """Implement ``HostedGenerator.model_advice``."""
        return f"compare {self.base_url}/models, and see that base_url ends in /v1"


def response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the field of a request that binds an answer to a JSON schema."""
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": dict(schema), "strict": True},
    }


def responses_request(chat: dict[str, Any], chat_limit: str) -> dict[str, Any]:
    """Return a chat request in the form of OpenAI's Responses API, which has no seed; the server stores
    nothing.

    Raises:
        EngineError: the request has stop texts, which that API does not support.
    """
    if "stop" in chat:
        raise EngineError(
            'the Responses API takes no stop texts: set options.api = "chat", or leave them out'
        )
    request: dict[str, Any] = {name: chat[name] for name in ("model", "temperature", "top_p") if name in chat}
    request |= {"input": chat["messages"], RESPONSES_LIMIT: chat[chat_limit], "store": False}
    if "response_format" in chat:
        request["text"] = {"format": {"type": "json_schema", **chat["response_format"]["json_schema"]}}
    return request
