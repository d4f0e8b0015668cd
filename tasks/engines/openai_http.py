"""Generation by any server that speaks the OpenAI chat API: ``vllm serve``, llama.cpp, hosted models.

Keys come from the environment alone. They are neither stored nor logged, and the default variable
OPENAI_API_KEY is sent to OpenAI only: to send it elsewhere, a spec has to name it.

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

import asyncio
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tasks.engines.openai_batch import MAX_REQUESTS, Batches
from tasks.engines.openai_reply import read_refusal, read_reply
from tasks.engines.openai_settings import Dialect, settings_body
from tasks.engines.protocols import (
    MAX_ALTERNATIVES,
    Conversations,
    EngineError,
    Generation,
    Message,
    Progress,
    Sampling,
    Schema,
    Unfinished,
)
from tasks.engines.specs import OPENAI, EngineSpec
from tasks.engines.transport import Caller, Failed, Pace, Secrets, TimedOut, Unreadable

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1", "0.0.0.0")


class HttpOptions(BaseModel):
    """What ``spec.options`` may hold for kind "openai"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_concurrency: int = Field(
        default=8,
        ge=1,
        description="requests under way at once; parts hold as many prompts, so raise it freely",
    )
    batch: int | None = Field(
        default=None,
        ge=1,
        le=MAX_REQUESTS,
        strict=True,
        description="in place of max_concurrency: requests sent as one job of the Batch API, answered within "
        "a day; parts hold as many prompts",
    )
    requests_per_minute: float | None = Field(
        default=None, gt=0, description="requests begun a minute, evenly; retries come on top; None: no limit"
    )
    timeout: float = Field(
        default=120.0, gt=0, description="seconds that one try of one request may take, whole answer included"
    )
    max_retries: int = Field(
        default=5, ge=0, description="further tries after 408, 409, 429, 5xx, time-outs and lost connections"
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
    extra_body: dict[str, Any] = Field(default_factory=dict, description="further fields of every request")

    @model_validator(mode="after")
    def _is_one_way(self) -> Self:
        if self.batch and "max_concurrency" in self.model_fields_set:
            raise ValueError("give max_concurrency or batch, not both")
        return self


class OpenAIGenerator:
    """A served chat model behind the ``Generator`` and ``Reporting`` protocols."""

    def __init__(self, spec: EngineSpec, jobs: Path | None = None) -> None:
        """Read the options and the key; nothing is sent before ``generate``.

        Args:
            jobs: folder where option ``batch`` writes down what it has sent, a folder for each thing that is
                asked, so that the same request of another occasion is sent again.

        Raises:
            EngineError: an option is wrong, or the key's variable is not set.
        """
        self.spec, self._jobs = spec, jobs
        self.report: Progress = lambda _: None
        self.base_url = (spec.base_url or OPENAI).rstrip("/")
        self.options = spec.read_options(HttpOptions)
        self._settings = settings_body(spec, self.options.dialect)
        self._pace = Pace(self.options.requests_per_minute)
        key = _key(spec, self.base_url)
        self._headers = {"Authorization": f"Bearer {key or 'none'}"}
        self._secrets = Secrets(key)
        self._certificates = httpx.create_ssl_context()  # takes long, so once

    def generate(
        self, conversations: Conversations, sampling: Sampling, schema: Schema = None, alternatives: int = 0
    ) -> list[Generation]:
        """See ``Generator.generate``. The schema is sent as strict, so objects must list their properties as
        required and forbid others. Refusals come back with finish reason "refusal" or "content_filter".
        A server that gives no alternatives without refusing the request gives answers without ``tokens``.

        Raises:
            Unfinished: the server cannot be reached, rejects a request or gives no answer of the chat API;
                requests not yet sent are dropped, those under way are let to their end.
        """
        top = min(alternatives, MAX_ALTERNATIVES) if self.options.logprobs else 0
        requests = [self._request(conversation, sampling, schema, top) for conversation in conversations]
        answers: dict[int, Generation] = {}
        send = self._send(requests, sampling.seed, answers)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            failures = asyncio.run(send)
        else:  # in a notebook
            with ThreadPoolExecutor(1) as pool:
                failures = pool.submit(asyncio.run, send).result()
        if failures:
            raise Unfinished(str(failures[0]), answers) from None
        return [answers[i] for i in range(len(requests))]

    def _request(
        self, conversation: Sequence[Message], sampling: Sampling, schema: Mapping[str, Any] | None, top: int
    ) -> dict[str, Any]:
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
        return request | self._settings | self.options.extra_body

    async def _send(
        self, requests: Sequence[dict[str, Any]], seed: int, answers: dict[int, Generation]
    ) -> list[EngineError]:
        """Fill ``answers``; what failed, after which nothing more is sent."""
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=self.options.max_concurrency)
        client = httpx.AsyncClient(
            headers=self._headers, verify=self._certificates, limits=limits, timeout=None
        )
        options = self.options
        caller = Caller(client, self.base_url, self._secrets, options.timeout, options.max_retries)
        async with client:
            if options.batch is None:
                return await self._send_each(caller, requests, seed, answers)
            if self._jobs is None:
                raise EngineError(
                    f"engine {self.spec.name!r}: options.batch needs a folder for its job files"
                )
            name, at = self.spec.name, self.base_url
            batches = Batches(caller, self._jobs, name, at, options.batch, seed, self._explain, self.report)
            await batches.send(requests, answers)
            return batches.failures

    async def _send_each(
        self, caller: Caller, requests: Sequence[dict[str, Any]], seed: int, answers: dict[int, Generation]
    ) -> list[EngineError]:
        failures: list[EngineError] = []
        turns = asyncio.Semaphore(self.options.max_concurrency)

        async def one(place: int) -> None:
            async with turns:
                if caller.stopped.is_set() or await caller.pause(self._pace.turn()):
                    return
                try:
                    reply = await caller.ask("POST", "/chat/completions", json=requests[place])
                    answers[place] = read_reply(reply, seed, self._secrets)
                except Failed as failure:
                    if not (filtered := read_refusal(failure, seed)):
                        failures.append(self._explain(failure))
                        caller.stopped.set()
                        return
                    answers[place] = filtered
                self.report(1)

        await asyncio.gather(*map(one, range(len(requests))))
        return failures

    def _explain(self, failure: Failed) -> EngineError:
        """What went wrong, where, and what to do; a server's words on a bad key are left out."""
        at, model, words = self.base_url, self.spec.model, f"{failure.status}: {failure.words}"
        tried = f"after {failure.tries} {'try' if failure.tries == 1 else 'tries'}"
        match failure.status:
            case _ if isinstance(failure, TimedOut):
                text = (
                    f"{at} gave no answer within {self.options.timeout:g} s {tried}: raise options.timeout "
                    "or lower options.max_concurrency"
                )
            case _ if isinstance(failure, Unreadable):
                text = (
                    f"{at} gave no answer of the chat API ({failure.words}): check base_url, and that the "
                    "server speaks OpenAI's chat API"
                )
            case None:
                advice = "is the server running and base_url right?"
                text = f"{at} cannot be reached {tried} ({failure.words}): {advice}"
            case 401 | 403:
                text = f"{at} refused the key ({failure.status}): check the variable {self.spec.api_key_env}"
            case 404:
                text = (
                    f"{at} has no model {model!r}, or no chat API there ({words}): compare "
                    f"{at}/models, and see that base_url ends in /v1"
                )
            case 429:
                text = (
                    f"{at} is over its limit {tried} ({words}): set options.requests_per_minute to what the "
                    "account may send, lower options.max_concurrency, check the account's quota, or run "
                    "again later; stored answers are not asked again"
                )
            case status if status < 400:
                text = f"{at} gave no answer of the chat API ({words})"
            case status if status < 500 and status not in (408, 409):
                text = (
                    f"{at} rejected a request for {model!r} ({words}): check the prompt's length, "
                    "max_tokens, and whether the server supports seed, json_schema and logprobs "
                    "(options.logprobs = false does without)"
                )
            case _:
                text = f"{at} failed {tried} ({words}): see the server's log"
        return EngineError(f"engine {self.spec.name!r}: {text}")


def _key(spec: EngineSpec, base_url: str) -> str | None:
    """The key from the environment; None for a server on this machine that wants none.

    Raises:
        EngineError: the server is elsewhere and its key is not set, or not named.
    """
    host = urlsplit(base_url).hostname or ""
    named = "api_key_env" in spec.model_fields_set or base_url == OPENAI
    if named and os.environ.get(spec.api_key_env):
        return os.environ[spec.api_key_env]
    if host in LOCAL_HOSTS:
        return None
    if not named:
        raise EngineError(
            f"engine {spec.name!r}: name the environment variable that holds the key for {host} "
            '(api_key_env = "..."); OPENAI_API_KEY goes to other servers only if the spec says so'
        )
    raise EngineError(
        f"engine {spec.name!r}: {spec.api_key_env} is not set: export that variable with the key for {host}"
    )
