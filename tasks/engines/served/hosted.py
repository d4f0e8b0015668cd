"""What all engines behind a server share: concurrency, pace, keys, failures in words.

Kinds differ in what they send and how they read the answer.

Keys come from the environment alone. They are neither stored nor logged, and a provider's usual variable is
sent to that provider only: to send it elsewhere, a spec has to name it.
"""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ConfigDict, Field

from tasks.engines.protocols import (
    Conversations,
    EngineError,
    Generation,
    Jobs,
    Message,
    Progress,
    Sampling,
    Samplings,
    Schema,
    Unfinished,
    each,
)
from tasks.engines.secrets import Secrets
from tasks.engines.served.context import cut_off, room
from tasks.engines.served.families import check_settings
from tasks.engines.served.providers import SERVERS
from tasks.engines.served.transport import Caller, Failed, Pace, TimedOut, Unreadable
from tasks.engines.specs import EngineSpec

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1", "0.0.0.0")

T = TypeVar("T")


class HostedOptions(BaseModel):
    """What ``spec.options`` may hold for every kind of server."""

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
    extra_body: dict[str, Any] = Field(default_factory=dict, description="further fields of every request")


class HostedGenerator(ABC):
    """A served chat model behind the ``Generator`` and ``Reporting`` protocols."""

    options_type: ClassVar[type[HostedOptions]] = HostedOptions
    api: ClassVar[str]
    """What the server is expected to speak: "no answer of …"."""
    speaks: ClassVar[str]
    """The same in full."""
    refuses: ClassVar[str]
    """What else of a request a model may not take."""
    limit_field: str = "max_tokens"
    """Where a request says how many tokens there may be."""

    def __init__(self, spec: EngineSpec, jobs: Jobs | None = None) -> None:
        """Read the options and the key; nothing is sent before ``generate``.

        Args:
            jobs: where what has been sent may be written down.

        Raises:
            EngineError: an option is wrong, the model takes no such reasoning or search (``families``), or
                the key's variable is not set.
        """
        check_settings(spec)
        self.spec, self.jobs = spec, jobs
        self.report: Progress = lambda _: None
        self.base_url = (spec.base_url or SERVERS[spec.kind].url).rstrip("/")
        self.options: Any = spec.read_options(self.options_type)
        self.key = _key(spec, self.base_url)
        self.secrets = Secrets(self.key)
        self._pace = Pace(self.options.requests_per_minute)
        self._certificates = httpx.create_ssl_context()  # takes long, so once

    def generate(
        self, conversations: Conversations, samplings: Samplings, schema: Schema = None, alternatives: int = 0
    ) -> list[Generation]:
        """See ``Generator.generate``. Schemas are sent as strict, so objects must list their properties as
        required and forbid others. Refusals come back with finish reason "refusal" or "content_filter".
        A server that gives no alternatives without refusing the request gives answers without ``tokens``.

        Raises:
            Unfinished: the server cannot be reached, rejects a request or gives no answer of its API;
                requests not yet sent are dropped, those under way are let to their end.
        """
        own = each(samplings, len(conversations))
        requests = [
            self.request(talk, sampling, schema, alternatives)
            for talk, sampling in zip(conversations, own, strict=True)
        ]
        answers: dict[int, Generation] = {}
        failures = _finished(self._send(requests, answers))
        answers = {i: replace(answer, seed=own[i].seed) for i, answer in answers.items()}
        if failures:
            raise Unfinished(str(failures[0]), answers) from None
        return [answers[i] for i in range(len(requests))]

    @abstractmethod
    def request(
        self, conversation: Sequence[Message], sampling: Sampling, schema: Schema, alternatives: int
    ) -> dict[str, Any]:
        """What is sent for one conversation."""

    @abstractmethod
    async def ask(self, way: Any, request: dict[str, Any]) -> Generation:
        """Send one request by what ``way`` gave; its seed is noted by ``generate``. Raises Failed."""

    @asynccontextmanager
    async def way(self, caller: Caller) -> AsyncIterator[Any]:
        """What ``ask`` sends by: the caller itself, or a client that sends by it."""
        yield caller

    def headers(self) -> dict[str, str]:
        """Of every request, beside those that a client of its own sets."""
        return {}

    def filtered(self, failure: Failed) -> Generation | None:
        """The answer that a failure is, where that is how a server says that it filtered; None: no answer."""
        return None

    async def answer(self, way: Any, request: dict[str, Any]) -> Generation:
        """What comes of one request. A refusal that is about this prompt alone is its outcome: it was
        filtered, or the model's context does not hold it. Where the context holds the prompt but not as many
        further tokens, it is sent again with as many as there is room for. Raises Failed: everything else."""
        while True:
            try:
                return await self.ask(way, request)
            except Failed as failure:
                if filtered := self.filtered(failure):
                    return filtered
                left = room(failure, request.get(self.limit_field, 0))
                if left is None:
                    raise
                if left <= (self.spec.reasoning if isinstance(self.spec.reasoning, int) else 0):
                    return cut_off()
                request = {**request, self.limit_field: left}

    async def send_all(
        self, caller: Caller, requests: Sequence[dict[str, Any]], answers: dict[int, Generation]
    ) -> list[EngineError]:
        """Fill ``answers``, each request by itself; what failed, after which nothing more is sent."""
        failures: list[EngineError] = []
        turns = asyncio.Semaphore(self.options.max_concurrency)

        async def one(way: Any, place: int) -> None:
            async with turns:
                if caller.stopped.is_set() or await caller.pause(self._pace.turn()):
                    return
                try:
                    answers[place] = await self.answer(way, requests[place])
                except Failed as failure:
                    failures.append(self.explain(failure))
                    caller.stopped.set()
                    return
                self.report(1)

        async with self.way(caller) as way:
            await asyncio.gather(*(one(way, place) for place in range(len(requests))))
        return failures

    async def _send(
        self, requests: Sequence[dict[str, Any]], answers: dict[int, Generation]
    ) -> list[EngineError]:
        options = self.options
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=options.max_concurrency)
        client = httpx.AsyncClient(
            headers=self.headers(), verify=self._certificates, limits=limits, timeout=None
        )
        async with client:
            caller = Caller(client, self.base_url, self.secrets, options.timeout, options.max_retries)
            return await self.send_all(caller, requests, answers)

    def explain(self, failure: Failed) -> EngineError:
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
                    f"{at} is over its limit {tried} ({words}): set options.requests_per_minute to what the "
                    "account may send, lower options.max_concurrency, check the account's quota, or run "
                    "again later; stored answers are not asked again"
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
        """What to look at where it has no such model."""
        return "compare the provider's list of models, and see that base_url is right"

    def is_about_the_key(self, failure: Failed) -> bool:
        """Whether a status says that the key is wrong."""
        return failure.status in (401, 403)


def needed(package: str, extra: str, spec: EngineSpec) -> Any:
    """A provider's client, imported; raises EngineError that says what to install."""
    try:
        return import_module(package)
    except ImportError as error:
        raise EngineError(
            f"engine {spec.name!r}: kind {spec.kind!r} needs the client {package}: pip install "
            f"'culturescope[{extra}]'"
        ) from error


def _finished(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, wherever it is wanted: in a notebook a loop runs already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def _key(spec: EngineSpec, base_url: str) -> str | None:
    """The key from the environment; None for a server on this machine that wants none.

    Raises:
        EngineError: the server is elsewhere and its key is not set, or not named.
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
