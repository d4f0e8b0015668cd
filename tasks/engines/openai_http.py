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
"""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tasks.engines.openai_settings import Dialect, settings_body
from tasks.engines.protocols import (
    MAX_ALTERNATIVES,
    Conversations,
    EngineError,
    Generation,
    Message,
    Sampling,
    Schema,
    TokenAlternatives,
    Unfinished,
)
from tasks.engines.specs import OPENAI, EngineSpec
from tasks.engines.transport import Failed, Pace, Poster, Secrets, TimedOut, Unreadable

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1", "0.0.0.0")
MAX_COUNT = 2**31
"""More tokens than any answer has: a server that counts more is not believed further."""


class HttpOptions(BaseModel):
    """What ``spec.options`` may hold for kind "openai"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_concurrency: int = Field(
        default=8,
        ge=1,
        description="requests under way at once; parts hold as many prompts, so raise it freely",
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


class _Other(BaseModel):
    token: str
    logprob: float
    bytes: list[Annotated[int, Field(ge=0, le=255)]] | None = None


class _Token(_Other):
    top_logprobs: list[_Other] | None = None


class _Logprobs(BaseModel):
    content: list[_Token] | None = None


class _Written(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Written
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Reply(BaseModel):
    """What is read of an answer of the chat API."""

    choices: list[_Choice]
    usage: Any = None


class OpenAIGenerator:
    """A served chat model behind the ``Generator`` protocol."""

    def __init__(self, spec: EngineSpec) -> None:
        """Read the options and the key; nothing is sent before ``generate``.

        Raises:
            EngineError: an option is wrong, or the key's variable is not set.
        """
        self.spec = spec
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
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            failure = asyncio.run(self._send(requests, sampling.seed, answers))
        else:  # in a notebook
            with ThreadPoolExecutor(1) as pool:
                failure = pool.submit(asyncio.run, self._send(requests, sampling.seed, answers)).result()
        if failure:
            raise Unfinished(str(failure), answers) from None
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
    ) -> EngineError | None:
        """Fill ``answers``; the first failure, after which nothing more is sent."""
        failures: list[EngineError] = []
        turns = asyncio.Semaphore(self.options.max_concurrency)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=self.options.max_concurrency)
        client = httpx.AsyncClient(
            headers=self._headers, verify=self._certificates, limits=limits, timeout=None
        )
        url = f"{self.base_url}/chat/completions"
        poster = Poster(client, url, self._secrets, self.options.timeout, self.options.max_retries)

        async def one(place: int) -> None:
            async with turns:
                if poster.stopped.is_set() or await poster.pause(self._pace.turn()):
                    return
                try:
                    answers[place] = await self._ask(poster, requests[place], seed)
                except EngineError as error:
                    failures.append(error)
                    poster.stopped.set()

        async with client:
            await asyncio.gather(*map(one, range(len(requests))))
        return failures[0] if failures else None

    async def _ask(self, poster: Poster, request: dict[str, Any], seed: int) -> Generation:
        try:
            reply = _Reply.model_validate(await poster.post(request))
            return self._generation(reply, seed)
        except Failed as failure:
            if failure.status == 400 and _code(failure.body) == "content_filter":  # Azure filters this way
                return Generation("", "content_filter", 0, 0, seed)
            raise self._explain(failure) from None
        except ValidationError as error:
            wrong = error.errors()[0]
            where = ".".join(map(str, wrong["loc"]))
            raise self._explain(Unreadable(200, f"{where}: {wrong['msg']}")) from None

    def _generation(self, reply: _Reply, seed: int) -> Generation:
        """The first choice; a server that filters may send none.

        A count of tokens that is none, or below zero, is 0: not said (``budget.Meter`` then counts the most).
        """
        usage = reply.usage if isinstance(reply.usage, dict) else {}
        prompt, written = (_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens"))
        if not reply.choices:
            return Generation("", "content_filter", prompt, written, seed)
        choice = reply.choices[0]
        finish = "refusal" if choice.message.refusal else choice.finish_reason or "unknown"
        said = choice.message.refusal or choice.message.content
        if said is None and finish in ("stop", "unknown"):
            raise Unreadable(200, "choices.0.message.content: null, though it says that the model was done")
        text = self._secrets.hide_in_answer(said or "")
        if text and not written:
            prompt = 0
        given = (choice.logprobs.content if choice.logprobs else None) or ()
        tokens = _alternatives(given) if text == said and finish != "refusal" else ()
        return Generation(text, finish, prompt, written, seed, tokens)

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


def _code(body: Any) -> Any:
    """The code that a refusal names, as OpenAI and Azure write it."""
    error = body.get("error") if isinstance(body, dict) else None
    return error.get("code") if isinstance(error, dict) else None


def _count(value: Any) -> int:
    return min(max(value, 0), MAX_COUNT) if isinstance(value, int) else 0


def _alternatives(content: Sequence[_Token]) -> tuple[TokenAlternatives, ...]:
    """What was written and the server's top tokens at each position, which may leave out the written one."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    tokens = []
    for at in content:
        text = at.token if at.bytes is None else decoder.decode(bytes(at.bytes))
        others = [
            (a.token if a.bytes is None else bytes(a.bytes).decode("utf-8", "replace"), a.logprob)
            for a in at.top_logprobs or ()
            if a.token != at.token
        ]
        tokens.append(TokenAlternatives.of(text, [(text, at.logprob), *others]))
    return tuple(tokens)
