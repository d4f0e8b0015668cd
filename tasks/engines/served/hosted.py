"""Base class of engines behind servers: concurrency, pace, keys, long prompts, error messages.

Kinds of servers differ in their requests and answers. All use ``Caller`` instead of the providers' clients,
which take keys, headers and addresses from the environment and retry on their own.

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
from typing import Annotated, Any, ClassVar, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tasks.engines.protocols import (
    RAW,
    Alternatives,
    Conversations,
    EngineError,
    Generation,
    Jobs,
    Lost,
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
from tasks.engines.served.connection import certificates, checked_key, open_client
from tasks.engines.served.failures import TRANSIENT, Failed, TimedOut, Unfit, Unreachable, Unreadable
from tasks.engines.served.keys import LOCAL_HOSTS
from tasks.engines.served.providers import SERVERS, check_settings, checked_body, thinking_tokens
from tasks.engines.served.transport import MAX_COUNT, Caller, Pace
from tasks.engines.specs import TRUST, EngineSpec, may_send_key
from tasks.engines.templates import CLOSED, OPENED

CODES = ("context_length_exceeded", "exceed_context_size_error")
"""Error codes of OpenAI and llama.cpp for prompts that are too long."""
_TOO_LONG = re.compile(
    r"maximum (context|model) length|exceeds?( the)?( available| model's)? context|context limit"
    r"|context (window|length|size) (of|is exceeded|exceeded)|prompt is too long"
    r"|longer than the (model's context|maximum model) length|input token count .{0,40}exceeds",
    re.IGNORECASE,
)
"""Messages of OpenAI, OpenRouter, vLLM, llama.cpp, Anthropic and Google on prompts that are too long."""
_NOT_THE_KEY = re.compile(r"^<|country|region\b|territory|location|organi[sz]ation|suspended", re.IGNORECASE)
"""Messages of status 403 that another key would get, too: pages of firewalls, and places."""
_LIMIT = re.compile(r"max_?(completion_?|output_?|new_?)?tokens", re.IGNORECASE)
_PROMPT = r"(?:at least |about )?(?P<prompt>\d+)"
_LENGTHS = (
    rf"context length is (?P<all>\d+) tokens.*?\({_PROMPT} (?:tokens )?(?:in the messages|of text input)",
    rf"context length is (?P<all>\d+) tokens.*?(?:request has|prompt contains) {_PROMPT} input tokens",
    r"exceed context limit: (?P<prompt>\d+) \+ \d+ > (?P<all>\d+)",
)
"""Patterns of messages with the lengths of context and prompt in tokens."""

OF_ALL = (401, 402, 403, 404, 405, 407)
"""Statuses that every request would get: key, credit, model, address or proxy is wrong."""
OUTAGE = 5
"""Fewest failures in a row that count as the server's trouble."""

CHECK_S = 10.0
"""Most seconds for the check of a key."""

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
        description="time limit of one try of a request in seconds, including the whole answer",
    )
    max_retries: int = Field(
        default=5,
        ge=0,
        description="further tries after 408, 409, 421, 425, 429, 499, 5xx, time-outs, lost connections",
    )
    extra_body: Annotated[dict[str, Any], AfterValidator(checked_body)] = Field(
        default_factory=dict, description="further fields of every request"
    )


class HostedGenerator(ABC):
    """A served chat model behind the ``Generator`` protocol."""

    options_type: ClassVar[type[HostedOptions]] = HostedOptions
    api: ClassVar[str]
    """Name of the expected API in errors: "no answer of …"."""
    speaks: ClassVar[str]
    """Full name of the API."""
    refuses: ClassVar[str]
    """Advice on further parts of a request that a model may refuse."""
    path: str
    """Path of requests after the server's address."""
    key_path: str = "/models"
    """Path of a small request that every key permits."""
    limit_field: str = "max_tokens"
    """Field of a request with the token limit."""

    def __init__(self, spec: EngineSpec, jobs: Jobs | None = None) -> None:
        """Read the options and the key; nothing is sent before ``generate``.

        Args:
            jobs: notes on sent jobs.

        Raises:
            EngineError: an option is wrong, the model does not accept the reasoning or web search
                (``providers``), or the key's variable is not set.
        """
        check_settings(spec)
        self.spec, self.jobs = spec, jobs
        self.base_url = (spec.base_url or SERVERS[spec.kind].url).rstrip("/")
        self.options: Any = spec.read_options(self.options_type)
        self.key = self.read_key()
        self.secrets = Secrets(self.key)
        self.thinking = thinking_tokens(spec)
        self._most = MAX_COUNT
        """Largest token limit that the server is known to accept."""
        self._pace = Pace(self.options.requests_per_minute)
        self._certificates = certificates(spec.name)  # slow, so only once

    def read_key(self) -> str | None:
        """Return the key from the environment (``_key``)."""
        return _key(self.spec, self.base_url)

    def generate(
        self,
        conversations: Conversations,
        samplings: Samplings,
        schemas: Schemas = None,
        alternatives: Alternatives = 0,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """Implement ``Generator.generate``.

        Schemas are sent as strict, so objects must list their properties as required and forbid others.
        Refusals have finish reason "refusal" or "content_filter". If the server ignores the request for
        alternatives, generations have no ``tokens``.

        Raises:
            Unfinished: some requests have no answer. Each is lost for its own reason, such as a rejection or
                a reply that is broken off at every try; or the engine failed, because the server refuses the
                key, does not know the model or cannot be reached. Then requests in flight are finished, and
                others are not sent.
        """
        if any(conversation[0]["role"] == RAW for conversation in conversations):
            raise EngineError(
                f"model {self.spec.name!r} is served as a chat model and cannot continue raw text: use its "
                'chat template (--chat), or kind = "vllm"'
            )
        n = len(conversations)
        per_prompt = each(samplings, n)
        forms, numbers = each_schema(schemas, n), each_number(alternatives, n)
        requests = [self.request(*row) for row in zip(conversations, per_prompt, forms, numbers, strict=True)]
        answers: dict[int, Generation] = {}
        lost: dict[int, Lost] = {}
        caps = [sampling.max_tokens for sampling in per_prompt]
        failures = _run(self._send(requests, caps, answers, lost, progress or (lambda _: None)))
        answers = {i: replace(answer, seed=per_prompt[i].seed) for i, answer in answers.items()}
        if failures or lost:
            first = str(failures[0]) if failures else next(iter(lost.values())).reason
            raise Unfinished(first, answers, lost) from None
        return [answers[i] for i in range(len(requests))]

    @abstractmethod
    def request(
        self, conversation: Sequence[Message], sampling: Sampling, schema: Schema, alternatives: int
    ) -> dict[str, Any]:
        """Return the JSON object to send for a conversation; raises EngineError if the API cannot send it."""

    @abstractmethod
    def read(self, body: Any) -> Generation:
        """Return the generation in an answer; ``generate`` adds its seed. Raises Failed."""

    @abstractmethod
    def headers(self) -> dict[str, str]:
        """Return the headers of every request, with the key."""

    async def send(self, caller: Caller, request: dict[str, Any]) -> Generation:
        """Send one request and return its generation. Raises Failed."""
        return await caller.call("POST", self.path, self.read, json=request)

    def filtered(self, failure: Failed) -> Generation | None:
        """Return the generation for a failure that reports filtering; None for other failures."""
        return None

    def limit(self, sampling: Sampling) -> int:
        """Return the most tokens to ask for: those of the answer, and those of thinking beside it."""
        return max(sampling.max_tokens, min(sampling.max_tokens + self.thinking, self._most))

    def limit_of(self, request: dict[str, Any]) -> int:
        """Return the token limit in a request."""
        return int(request.get(self.limit_field, 0))

    def limited(self, request: dict[str, Any], limit: int) -> dict[str, Any]:
        """Return a request with another token limit."""
        return {**request, self.limit_field: limit}

    async def outcome(self, caller: Caller, request: dict[str, Any], cap: int) -> Generation:
        """Return the generation of one request.

        If the prompt is filtered, or longer than the model's context, that is its generation. If only the
        token limit is too large for the context or the model, the request is sent again with a smaller one.
        If an answer without its thinking is longer than its cap, it counts as cut off. Raises Failed for
        anything else.

        Args:
            cap: most tokens of the answer, without thinking.
        """
        while True:
            try:
                answer = await self.send(caller, request)
                is_over = self.thinking and answer.finish_reason == "stop" and answer_tokens(answer) > cap
                return replace(answer, finish_reason="length") if is_over else answer
            except Failed as failure:
                if filtered := self.filtered(failure):
                    return filtered
                limit = self.limit_of(request)
                left = tokens_left(failure, limit)
                if left is None:
                    left = most_allowed(failure, cap, limit)
                    if left is None:
                        raise
                    self._most = min(self._most, left)
                elif left <= (self.spec.reasoning if isinstance(self.spec.reasoning, int) else 0):
                    return Generation.cut_off()
                request = self.limited(request, left)

    async def send_all(
        self,
        caller: Caller,
        requests: Sequence[dict[str, Any]],
        caps: Sequence[int],
        answers: dict[int, Generation],
        lost: dict[int, Lost],
        progress: Progress,
    ) -> list[EngineError]:
        """Fill ``answers`` and ``lost``, by place, and return the failures of the engine.

        The first failure of the engine stops the sending. If ``max_concurrency`` requests in a row, and at
        least ``OUTAGE``, fail for what is probably the server's own trouble, the rest of the call is lost
        unsent, because every further request may take as long to fail.
        """
        failures: list[EngineError] = []
        slots = asyncio.Semaphore(self.options.max_concurrency)
        n_failed, outage = 0, ""

        async def send_one(place: int) -> None:
            nonlocal n_failed, outage
            async with slots:
                if caller.stopped.is_set() or (not outage and await caller.pause(self._pace.turn())):
                    return
                if outage:
                    lost[place] = Lost(f"not sent, after {n_failed} failures in a row: {outage}")
                    return
                try:
                    answers[place] = await self.outcome(caller, requests[place], caps[place])
                    n_failed = 0
                except Failed as failure:
                    error = self.explain(failure)
                    if self.stops(failure):
                        failures.append(error)
                        caller.stopped.set()
                        return
                    lost[place] = Lost(str(error), failure.is_paid)
                    n_failed = n_failed + 1 if failure.is_outage else 0
                    if n_failed >= max(OUTAGE, self.options.max_concurrency):
                        outage = str(error)
                progress(1)

        await asyncio.gather(*(send_one(place) for place in range(len(requests))))
        return failures

    def stops(self, failure: Failed) -> bool:
        """Return whether a failure concerns every request: the key, the account, the model, the address."""
        of_all = failure.status is not None and (300 <= failure.status < 400 or failure.status in OF_ALL)
        return of_all or isinstance(failure, Unreachable) or self.is_about_the_key(failure)

    def check_key(self) -> None:
        """Send one small, free request to check that the server accepts the key.

        Other failures are ignored, because real requests are retried and this one is not.

        Raises:
            EngineError: the server refuses the key; the message names its variable.
        """
        if self.key is not None and (failure := _run(self._key_refusal())) is not None:
            raise self.explain(failure)

    async def _key_refusal(self) -> Failed | None:
        """Return the server's refusal of the key; None if it accepts the key or cannot be reached."""
        async with open_client(self.spec.name, self.headers(), self._certificates, 1) as client:
            try:
                await Caller(client, self.base_url, self.secrets, CHECK_S, 0).send("GET", self.key_path)
            except Failed as failure:
                # A key that may generate but not list models is valid: 403, or a message about scopes.
                is_valid = failure.status == 403 or "scope" in failure.words
                return failure if self.is_about_the_key(failure) and not is_valid else None
        return None

    async def _send(
        self,
        requests: Sequence[dict[str, Any]],
        caps: Sequence[int],
        answers: dict[int, Generation],
        lost: dict[int, Lost],
        progress: Progress,
    ) -> list[EngineError]:
        options = self.options
        async with open_client(
            self.spec.name, self.headers(), self._certificates, options.max_concurrency
        ) as client:
            caller = Caller(client, self.base_url, self.secrets, options.timeout, options.max_retries)
            return await self.send_all(caller, requests, caps, answers, lost, progress)

    def explain(self, failure: Failed) -> EngineError:
        """Return the error with cause and advice; on a wrong key, without the server's message."""
        at, model = self.base_url, self.spec.model
        words = failure.words if failure.status == 200 else f"{failure.status}: {failure.words}"
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
            case _ if isinstance(failure, Unfit):
                text = f"{at} gave no whole answer {tried} ({words})"
            case _ if isinstance(failure, Unreachable):
                text = f"{at} cannot be reached {tried} ({failure.words}): {failure.advice}"
            case None:
                text = f"{at} broke the connection off {tried} ({failure.words}): see the server's log"
            case _ if self.is_about_the_key(failure):
                text = f"{at} refused the key ({failure.status}): check the variable {self.spec.key_variable}"
            case 403 if failure.words.startswith("<"):
                text = f"a firewall or proxy before {at} refused the request ({words[:90]}): ask who runs it"
            case 403:
                text = f"{at} refuses requests from here or for this account ({words}): ask the provider"
            case 407:
                text = (
                    f"the proxy before {at} demands a name and a password: write them in HTTPS_PROXY or "
                    "HTTP_PROXY (http://NAME:PASSWORD@proxy.example:3128)"
                )
            case 404:
                api = self.api.removeprefix("the ")
                text = f"{at} has no model {model!r}, or no {api} there ({words}): {self.model_advice}"
            case 429:
                text = (
                    f"{at} is over its limit {tried} ({words}): set options.requests_per_minute to the "
                    "account's limit, lower options.max_concurrency, check the account's quota, or run "
                    "again later; stored answers are kept"
                )
            case 402:
                text = f"{at} asks for payment ({words}): add credit to the account, then run again"
            case status if 300 <= status < 400:
                text = f"{at} gave no answer of {self.api} ({words})"
            case 200:
                text = f"{at} reported an error {tried} ({words}): see the server's log"
            case status if status is not None and status < 500 and status not in TRANSIENT:
                text = (
                    f"{at} rejected a request for {model!r} ({words}): check the prompt's length, "
                    f"max_tokens, and {self.refuses}"
                )
            case _:
                text = f"{at} failed {tried} ({words}): see the server's log"
        return EngineError(f"engine {self.spec.name!r}: {text}")

    @property
    def model_advice(self) -> str:
        """The advice for a server without that model."""
        return "compare the provider's list of models, and see that base_url is right"

    def is_about_the_key(self, failure: Failed) -> bool:
        """Return whether a status says that the key is wrong; firewalls refuse with a page."""
        return failure.status == 401 or (failure.status == 403 and not _NOT_THE_KEY.search(failure.words))


def answer_tokens(answer: Generation) -> float:
    """Return the tokens of an answer without its thinking.

    If the server does not tell those of thinking, they are its share of the text; where no thinking shows,
    the model may have thought out of sight, and the answer has at least as many tokens as words.
    """
    if answer.thinking_tokens is not None:
        return answer.completion_tokens - answer.thinking_tokens
    closed = list(CLOSED.finditer(answer.text)) if OPENED.match(answer.text.lstrip()) else []
    own = answer.text[closed[-1].end() :] if closed else answer.text
    share = len(own) / len(answer.text) * answer.completion_tokens if closed else 0.0
    return max(share, len(own.split()))


def tokens_left(failure: Failed, limit: int) -> int | None:
    """Return the tokens left for an answer, if a request was refused because it is longer than the context.

    Such a refusal concerns one prompt, because other prompts of the run may be shorter. 0 if the prompt alone
    is too long, or if the rest is not below the refused ``limit``. None if the refusal has another cause or
    does not report the lengths: then the run fails.
    """
    error = failure.body.get("error") if isinstance(failure.body, dict) else None
    codes = [error.get("code"), error.get("type")] if isinstance(error, dict) else []
    is_too_long = any(code in codes for code in CODES) or _TOO_LONG.search(failure.words)
    if failure.status != 400 or not is_too_long:
        return None
    words = failure.words.replace(",", "")
    lengths = next(filter(None, (re.search(pattern, words, re.I | re.S) for pattern in _LENGTHS)), None)
    if lengths:
        left = int(lengths["all"]) - int(lengths["prompt"])
        return left if 0 < left < limit else 0
    return None if _LIMIT.search(words) else 0


def most_allowed(failure: Failed, cap: int, limit: int) -> int | None:
    """Return a smaller token limit, if a request was refused because the model writes no answer that long.

    That is the largest number in the message between the answer's ``cap`` and the refused ``limit``, else the
    cap. None if the refusal has another cause.
    """
    if failure.status != 400 or limit <= cap or not _LIMIT.search(failure.words):
        return None
    numbers = (int(number) for number in re.findall(r"\d{1,9}", failure.words.replace(",", "")))
    return max((number for number in numbers if cap <= number < limit), default=cap)


def _run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine, also in a notebook, where an event loop already runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def _key(spec: EngineSpec, base_url: str) -> str | None:
    """Return the key from the environment; None for a server on this machine without a key.

    Raises:
        EngineError: the server is on another machine, and its key is not set or its variable not named.
    """
    host, variable = urlsplit(base_url).hostname or "", spec.key_variable
    is_permitted = "api_key_env" in spec.model_fields_set or base_url == SERVERS[spec.kind].url
    if is_permitted and os.environ.get(variable):
        if not may_send_key(spec):
            pair = spec.key_pair
            raise EngineError(
                f"engine {spec.name!r}: its spec sends the key in {variable} to {host}: if you want that, "
                f"allow it once with --trust-key {pair}, or with {TRUST}={pair} in the environment"
            )
        return checked_key(variable, os.environ[variable])
    if host in LOCAL_HOSTS:
        return None
    if not is_permitted:
        raise EngineError(
            f"engine {spec.name!r}: name the environment variable that holds the key for {host} "
            f'(api_key_env = "..."); {variable} goes to other servers only if the spec says so'
        )
    raise EngineError(
        f"engine {spec.name!r}: {variable} is not set: export that variable with the key for {host}"
    )
