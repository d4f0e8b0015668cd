"""The engine behind a server, whatever its API: concurrency, pace, keys, long prompts, failures in words.

Kinds differ in what they send and how they read the answer. All send through ``Caller`` instead of the
providers' clients, which take keys, headers and addresses from the environment and retry by themselves.

Keys come only from the environment and are neither stored nor logged. The key in a provider's usual variable
goes only to that provider, unless a spec names the variable.
"""

from __future__ import annotations

import asyncio
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ConfigDict, Field

from tasks.engines.protocols import (
    RAW,
    Alternatives,
    Conversations,
    EngineError,
    Generation,
    Jobs,
    Message,
    Progress,
    Sampling,
    Samplings,
    Schema,
    Schemas,
    Unfinished,
    each,
    each_number,
    each_schema,
)
from tasks.engines.secrets import Secrets
from tasks.engines.served.providers import SERVERS, check_settings
from tasks.engines.served.transport import Caller, Failed, Pace, TimedOut, Unreadable
from tasks.engines.specs import EngineSpec

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1", "0.0.0.0")

CODES = ("context_length_exceeded", "exceed_context_size_error")
"""OpenAI's and llama.cpp's."""
_TOO_LONG = re.compile(
    r"maximum (context|model) length|exceeds?( the)?( available| model's)? context|context limit"
    r"|context (window|length|size) (of|is exceeded|exceeded)|prompt is too long"
    r"|longer than the (model's context|maximum model) length|input token count .{0,40}exceeds",
    re.IGNORECASE,
)
"""OpenAI, OpenRouter, vLLM, llama.cpp, Anthropic and Google."""
_LIMIT = re.compile(r"max_(completion_|output_|new_)?tokens", re.IGNORECASE)
_PROMPT = r"(?:at least |about )?(?P<prompt>\d+)"
_ROOM = (
    rf"context length is (?P<all>\d+) tokens.*?\({_PROMPT} (?:tokens )?(?:in the messages|of text input)",
    rf"context length is (?P<all>\d+) tokens.*?(?:request has|prompt contains) {_PROMPT} input tokens",
    r"exceed context limit: (?P<prompt>\d+) \+ \d+ > (?P<all>\d+)",
)
"""Patterns by which servers report the lengths of context and prompt in tokens."""

CHECK_S = 10.0
"""Seconds that the check of a key may take."""

T = TypeVar("T")


class HostedOptions(BaseModel):
    """Fields of ``spec.options`` for every kind of server."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_concurrency: int = Field(
        default=8,
        ge=1,
        description="requests in flight at once; also the number of prompts in a part",
    )
    requests_per_minute: float | None = Field(
        default=None,
        gt=0,
        description="requests started per minute, evenly spaced, retries not counted; None: no limit",
    )
    timeout: float = Field(
        default=120.0,
        gt=0,
        description="seconds that one try of a request may take, including the whole answer",
    )
    max_retries: int = Field(
        default=5, ge=0, description="further tries after 408, 409, 429, 5xx, time-outs and lost connections"
    )
    extra_body: dict[str, Any] = Field(default_factory=dict, description="further fields of every request")


class HostedGenerator(ABC):
    """A served chat model behind the ``Generator`` protocol."""

    options_type: ClassVar[type[HostedOptions]] = HostedOptions
    api: ClassVar[str]
    """The API that the server is expected to have: "no answer of …"."""
    speaks: ClassVar[str]
    """Its name in full."""
    refuses: ClassVar[str]
    """Other parts of a request that a model may refuse."""
    path: str
    """Path of requests below the server's address."""
    key_path: str = "/models"
    """Path of a small request that any key may send."""
    limit_field: str = "max_tokens"
    """Field of a request with the limit of tokens."""

    def __init__(self, spec: EngineSpec, jobs: Jobs | None = None) -> None:
        """Read the options and the key; nothing is sent before ``generate``.

        Args:
            jobs: where sent jobs are recorded.

        Raises:
            EngineError: an option is wrong, the model takes no such reasoning or search (``providers``), or
                the key's variable is not set.
        """
        check_settings(spec)
        self.spec, self.jobs = spec, jobs
        self.base_url = (spec.base_url or SERVERS[spec.kind].url).rstrip("/")
        self.options: Any = spec.read_options(self.options_type)
        self.key = _key(spec, self.base_url)
        self.secrets = Secrets(self.key)
        self._pace = Pace(self.options.requests_per_minute)
        self._certificates = httpx.create_ssl_context()  # takes long, so once

    def generate(
        self,
        conversations: Conversations,
        samplings: Samplings,
        schemas: Schemas = None,
        alternatives: Alternatives = 0,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """See ``Generator.generate``. Schemas are sent as strict, so objects must list their properties as
        required and forbid others. Refusals come back with finish reason "refusal" or "content_filter".
        A server that gives no alternatives without refusing the request gives answers without ``tokens``.

        Raises:
            Unfinished: the server cannot be reached, rejects a request or gives no answer of its API;
                requests not yet sent are dropped, those under way are let to their end.
        """
        if any(conversation[0]["role"] == RAW for conversation in conversations):
            raise EngineError(
                f"model {self.spec.name!r} is served as a chat model and cannot continue raw text: use its "
                'chat template (--chat), or kind = "vllm"'
            )
        n = len(conversations)
        own = each(samplings, n)
        of_each = zip(conversations, own, each_schema(schemas, n), each_number(alternatives, n), strict=True)
        requests = [self.request(*each_one) for each_one in of_each]
        answers: dict[int, Generation] = {}
        failures = _finished(self._send(requests, answers, progress or (lambda _: None)))
        answers = {i: replace(answer, seed=own[i].seed) for i, answer in answers.items()}
        if failures:
            raise Unfinished(str(failures[0]), answers) from None
        return [answers[i] for i in range(len(requests))]

    @abstractmethod
    def request(
        self, conversation: Sequence[Message], sampling: Sampling, schema: Schema, alternatives: int
    ) -> dict[str, Any]:
        """Return the JSON object to send for one conversation.

        Raises EngineError if the API cannot express it.
        """

    @abstractmethod
    def read(self, body: Any) -> Generation:
        """Return the generation in an answer; ``generate`` adds its seed. Raises Unreadable."""

    @abstractmethod
    def headers(self) -> dict[str, str]:
        """The headers of every request, the key among them."""

    async def send(self, caller: Caller, request: dict[str, Any]) -> Generation:
        """Send one request and read its answer. Raises Failed."""
        return self.read(await caller.send("POST", self.path, json=request))

    def filtered(self, failure: Failed) -> Generation | None:
        """Return the answer in a failure by which a server reports filtering; None for others."""
        return None

    async def outcome(self, caller: Caller, request: dict[str, Any]) -> Generation:
        """Return the outcome of one request.

        A refusal of this prompt alone is its outcome: it was filtered, or is longer than the model's context.
        If only the token limit is too large for the context, the request is sent again with a smaller one.
        Raises Failed for anything else.
        """
        while True:
            try:
                return await self.send(caller, request)
            except Failed as failure:
                if filtered := self.filtered(failure):
                    return filtered
                left = room(failure, request.get(self.limit_field, 0))
                if left is None:
                    raise
                if left <= (self.spec.reasoning if isinstance(self.spec.reasoning, int) else 0):
                    return Generation.cut_off()
                request = {**request, self.limit_field: left}

    async def send_all(
        self,
        caller: Caller,
        requests: Sequence[dict[str, Any]],
        answers: dict[int, Generation],
        progress: Progress,
    ) -> list[EngineError]:
        """Fill ``answers`` request by request; the first failure stops the sending. Returns the failures."""
        failures: list[EngineError] = []
        turns = asyncio.Semaphore(self.options.max_concurrency)

        async def one(place: int) -> None:
            async with turns:
                if caller.stopped.is_set() or await caller.pause(self._pace.turn()):
                    return
                try:
                    answers[place] = await self.outcome(caller, requests[place])
                except Failed as failure:
                    failures.append(self.explain(failure))
                    caller.stopped.set()
                    return
                progress(1)

        await asyncio.gather(*(one(place) for place in range(len(requests))))
        return failures

    def check_key(self) -> None:
        """Send one small, free request to check that the server accepts the key.

        Other failures are ignored: the real requests are retried, this one is not.

        Raises:
            EngineError: the server refuses the key; says which variable holds it.
        """
        if self.key is not None and (failure := _finished(self._refused())) is not None:
            raise self.explain(failure)

    async def _refused(self) -> Failed | None:
        async with httpx.AsyncClient(headers=self.headers(), verify=self._certificates) as client:
            try:
                await Caller(client, self.base_url, self.secrets, CHECK_S, 0).send("GET", self.key_path)
            except Failed as failure:
                # A key that may generate but not list models is valid: 403, or words about scopes.
                is_good = failure.status == 403 or "scope" in failure.words
                return failure if self.is_about_the_key(failure) and not is_good else None
        return None

    async def _send(
        self, requests: Sequence[dict[str, Any]], answers: dict[int, Generation], progress: Progress
    ) -> list[EngineError]:
        options = self.options
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=options.max_concurrency)
        client = httpx.AsyncClient(
            headers=self.headers(), verify=self._certificates, limits=limits, timeout=None
        )
        async with client:
            caller = Caller(client, self.base_url, self.secrets, options.timeout, options.max_retries)
            return await self.send_all(caller, requests, answers, progress)

    def explain(self, failure: Failed) -> EngineError:
        """Return the error with cause and advice, without the server's words on a bad key."""
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
                    f"{at} gave no answer of {self.api} ({failure.words}): check base_url, and that the "
                    f"server speaks {self.speaks}"
                )
            case None:
                advice = "is the server running and base_url right?"
                text = f"{at} cannot be reached {tried} ({failure.words}): {advice}"
            case _ if self.is_about_the_key(failure):
                text = f"{at} refused the key ({failure.status}): check the variable {self.spec.key_variable}"
            case 404:
                api = self.api.removeprefix("the ")
                text = f"{at} has no model {model!r}, or no {api} there ({words}): {self.where}"
            case 429:
                text = (
                    f"{at} is over its limit {tried} ({words}): set options.requests_per_minute to the "
                    "account's limit, lower options.max_concurrency, check the account's quota, or run "
                    "again later; stored answers are kept"
                )
            case status if status < 400:
                text = f"{at} gave no answer of {self.api} ({words})"
            case status if status < 500 and status not in (408, 409):
                text = (
                    f"{at} rejected a request for {model!r} ({words}): check the prompt's length, "
                    f"max_tokens, and {self.refuses}"
                )
            case _:
                text = f"{at} failed {tried} ({words}): see the server's log"
        return EngineError(f"engine {self.spec.name!r}: {text}")

    @property
    def where(self) -> str:
        """Return the advice for a server without that model."""
        return "compare the provider's list of models, and see that base_url is right"

    def is_about_the_key(self, failure: Failed) -> bool:
        """Whether a status says that the key is wrong."""
        return failure.status in (401, 403)


def room(failure: Failed, limit: int) -> int | None:
    """Return the tokens that the context leaves for an answer, if a request was refused as too long.

    Such a refusal is the outcome of one prompt, since other prompts of the run may be shorter. 0 if the
    prompt alone is too long, or if the remaining room is not below the refused ``limit``. None if the refusal
    has another cause, or does not say how much room is left: then the run fails.
    """
    error = failure.body.get("error") if isinstance(failure.body, dict) else None
    codes = [error.get("code"), error.get("type")] if isinstance(error, dict) else []
    is_said = any(code in codes for code in CODES) or _TOO_LONG.search(failure.words)
    if failure.status != 400 or not is_said:
        return None
    words = failure.words.replace(",", "")
    room = next(filter(None, (re.search(pattern, words, re.I | re.S) for pattern in _ROOM)), None)
    if room:
        left = int(room["all"]) - int(room["prompt"])
        return left if 0 < left < limit else 0
    return None if _LIMIT.search(words) else 0


def _finished(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine, also in a notebook, where a loop already runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def _key(spec: EngineSpec, base_url: str) -> str | None:
    """Return the key from the environment; None for a server on this machine that needs none.

    Raises:
        EngineError: the server is elsewhere, and its key is not set or its variable not named.
    """
    host, variable = urlsplit(base_url).hostname or "", spec.key_variable
    named = "api_key_env" in spec.model_fields_set or base_url == SERVERS[spec.kind].url
    if named and os.environ.get(variable):
        return os.environ[variable]
    if host in LOCAL_HOSTS:
        return None
    if not named:
        raise EngineError(
            f"engine {spec.name!r}: name the environment variable that holds the key for {host} "
            f'(api_key_env = "..."); {variable} goes to other servers only if the spec says so'
        )
    raise EngineError(
        f"engine {spec.name!r}: {variable} is not set: export that variable with the key for {host}"
    )
