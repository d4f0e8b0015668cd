"""Generation by any server that speaks the OpenAI chat API: ``vllm serve``, llama.cpp, hosted models.

A hosted model's spec, as a file ``$CULTURESCOPE_HOME/engines/<name>.toml``::

    kind = "openai"
    model = "some-model"
    base_url = "https://llm.example.org/v1"
    api_key_env = "EXAMPLE_KEY"
    usd_per_million_input_tokens = 0.15
    usd_per_million_output_tokens = 0.60
    reasoning = "high"
    web = true
    options = { max_concurrency = 8, requests_per_minute = 500, dialect = "openrouter" }

How many requests are under way at once is one option: ``max_concurrency = 200`` sends each by itself,
``batch = 5000`` sends so many as one job of the Batch API, which takes up to a day and half the price
(``openai_batch``; the prices above are then those of batches).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from tasks.engines.hosted import HostedGenerator, HostedOptions
from tasks.engines.openai_batch import MAX_REQUESTS, Batches
from tasks.engines.openai_reply import read_refusal, read_reply
from tasks.engines.openai_settings import Dialect, settings_body
from tasks.engines.protocols import (
    MAX_ALTERNATIVES,
    EngineError,
    Generation,
    Jobs,
    Message,
    Sampling,
    Schema,
)
from tasks.engines.specs import EngineSpec
from tasks.engines.transport import Caller, Failed


class HttpOptions(HostedOptions):
    """What ``spec.options`` may hold for kind "openai"."""

    batch: int | None = Field(
        default=None,
        ge=1,
        le=MAX_REQUESTS,
        strict=True,
        description="in place of max_concurrency: requests sent as one job of the Batch API, answered within "
        "a day; parts hold as many prompts",
    )
    token_limit_field: Literal["max_tokens", "max_completion_tokens"] = Field(
        default="max_tokens", description="OpenAI's reasoning models want max_completion_tokens"
    )
    logprobs: bool = Field(
        default=True, description="whether the server gives log-probabilities; false where it refuses them"
    )
    dialect: Dialect = Field(
        default="openai", description="whose fields say how much to reason and whether to search the web"
    )

    @model_validator(mode="after")
    def _is_one_way(self) -> Self:
        if self.batch and "max_concurrency" in self.model_fields_set:
            raise ValueError("give max_concurrency or batch, not both")
        return self


class OpenAIGenerator(HostedGenerator):
    """A model behind the chat API. With option ``batch`` its jobs say what it has sent, apart for each thing
    that is asked, so that the same request of another occasion is sent again."""

    options_type = HttpOptions
    api, speaks = "the chat API", "OpenAI's chat API"
    refuses = (
        "whether the server supports seed, json_schema and logprobs (options.logprobs = false does without)"
    )

    def __init__(self, spec: EngineSpec, jobs: Jobs | None = None) -> None:
        """See ``HostedGenerator``; raises EngineError also for settings that the dialect has no words for."""
        super().__init__(spec, jobs)
        self._settings = settings_body(spec, self.options.dialect)

    def request(
        self, conversation: Sequence[Message], sampling: Sampling, schema: Schema, alternatives: int
    ) -> dict[str, Any]:
        """See ``HostedGenerator.request``."""
        top = min(alternatives, MAX_ALTERNATIVES) if self.options.logprobs else 0
        request: dict[str, Any] = {
            "model": self.spec.model,
            "messages": [dict(m) for m in conversation],
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
            self.options.token_limit_field: sampling.max_tokens,
        }
        if sampling.stop:
            request["stop"] = list(sampling.stop)
        if top:
            request |= {"logprobs": True, "top_logprobs": top}
        if schema is not None:
            answer = {"name": "answer", "schema": dict(schema), "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": answer}
        return {**request, **self._settings, **self.options.extra_body}

    async def ask(self, way: Caller, request: dict[str, Any]) -> Generation:
        """See ``HostedGenerator.ask``."""
        return read_reply(await way.ask("POST", "/chat/completions", json=request), self.secrets)

    def headers(self) -> dict[str, str]:
        """See ``HostedGenerator.headers``."""
        return {"Authorization": f"Bearer {self.key or 'none'}"}

    def filtered(self, failure: Failed) -> Generation | None:
        """See ``HostedGenerator.filtered``: Azure's way."""
        return read_refusal(failure)

    async def send_all(
        self, caller: Caller, requests: Sequence[dict[str, Any]], answers: dict[int, Generation]
    ) -> list[EngineError]:
        """See ``HostedGenerator.send_all``; with option ``batch`` as jobs."""
        if self.options.batch is None:
            return await super().send_all(caller, requests, answers)
        name, at, n = self.spec.name, self.base_url, self.options.batch
        if self.jobs is None:
            raise EngineError(f"engine {name!r}: options.batch needs a place to write down its jobs")
        batches = Batches(caller, self.jobs, name, at, n, self.explain, self.report)
        await batches.send(requests, answers)
        return batches.failures

    @property
    def where(self) -> str:
        """See ``HostedGenerator.where``."""
        return f"compare {self.base_url}/models, and see that base_url ends in /v1"
