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
    options = { max_concurrency = 8, requests_per_minute = 500 }
"""

from __future__ import annotations

import codecs
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, ThreadPoolExecutor, wait
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tasks.engines.protocols import (
    MAX_ALTERNATIVES,
    EngineError,
    Generation,
    Message,
    Sampling,
    TokenAlternatives,
)
from tasks.engines.specs import OPENAI, EngineSpec

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion, ChatCompletionTokenLogprob

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1", "0.0.0.0")


class HttpOptions(BaseModel):
    """What ``spec.options`` may hold for kind "openai"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_concurrency: int = Field(default=8, ge=1, description="requests under way at once")
    requests_per_minute: float | None = Field(
        default=None, gt=0, description="requests begun a minute, evenly; retries come on top; None: no limit"
    )
    timeout: float = Field(default=120.0, gt=0, description="seconds that one try of one request may take")
    max_retries: int = Field(
        default=5, ge=0, description="further tries after 408, 409, 429, 5xx and lost connections"
    )
    token_limit_field: Literal["max_tokens", "max_completion_tokens"] = Field(
        default="max_tokens", description="OpenAI's reasoning models want max_completion_tokens"
    )
    logprobs: bool = Field(
        default=True, description="whether the server gives log-probabilities; false where it refuses them"
    )
    extra_body: dict[str, Any] = Field(default_factory=dict, description="further fields of every request")


class Pace:
    """Gives any number of threads their turns, at an even distance. Nothing is saved up for a burst."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        """The first turn is at once; with None, every one is."""
        self._interval = 60.0 / per_minute if per_minute else 0.0
        self._clock, self._lock = clock, Lock()
        self._next = clock()

    def wait(self, stopped: Event) -> bool:
        """Sleep until it is this thread's turn; False if ``stopped`` came first."""
        with self._lock:
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + self._interval
        return not stopped.wait(turn - now)


class OpenAIGenerator:
    """A served chat model behind the ``Generator`` protocol."""

    def __init__(self, spec: EngineSpec) -> None:
        """Read the options and the key; nothing is sent before ``generate``.

        Raises:
            EngineError: an option is wrong, or the key's variable is not set.
        """
        from openai import OpenAI

        self.spec = spec
        self.base_url = spec.base_url or OPENAI
        try:
            self.options = HttpOptions(**spec.options)
        except ValidationError as error:
            raise EngineError(f"engine {spec.name!r}, options: {error}") from error
        self._pace = Pace(self.options.requests_per_minute)
        self._client = OpenAI(
            base_url=self.base_url,
            api_key=_key(spec, self.base_url),
            timeout=self.options.timeout,
            max_retries=self.options.max_retries,
        )

    def generate(
        self,
        conversations: Sequence[Sequence[Message]],
        sampling: Sampling,
        schema: Mapping[str, Any] | None = None,
        alternatives: int = 0,
    ) -> list[Generation]:
        """See ``Generator.generate``. The schema is sent as strict, so objects must list their properties as
        required and forbid others. Refusals come back with finish reason "refusal" or "content_filter".
        A server that gives no alternatives without refusing the request gives answers without ``tokens``.

        Raises:
            EngineError: the server cannot be reached or rejects a request; requests not yet sent are dropped.
        """
        stopped = Event()
        top = min(alternatives, MAX_ALTERNATIVES) if self.options.logprobs else 0
        with ThreadPoolExecutor(self.options.max_concurrency, thread_name_prefix="openai") as pool:
            asked = [pool.submit(self._ask, list(c), sampling, schema, top, stopped) for c in conversations]
            try:
                for answer in wait(asked, return_when=FIRST_EXCEPTION).done:
                    answer.result()  # raises what failed first
                return [answer.result() for answer in asked]
            finally:
                stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _ask(
        self,
        conversation: list[Message],
        sampling: Sampling,
        schema: Mapping[str, Any] | None,
        top: int,
        stopped: Event,
    ) -> Generation:
        """One request in its turn, with the SDK's own retries and backoff."""
        import openai

        if not self._pace.wait(stopped):
            raise CancelledError
        request: dict[str, Any] = {
            "model": self.spec.model,
            "messages": [dict(m) for m in conversation],
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
            self.options.token_limit_field: sampling.max_tokens,
            "extra_body": self.options.extra_body or None,
        }
        if sampling.stop:
            request["stop"] = list(sampling.stop)
        if top:
            request |= {"logprobs": True, "top_logprobs": top}
        if schema is not None:
            answer = {"name": "answer", "schema": dict(schema), "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": answer}
        try:
            completion: ChatCompletion = self._client.chat.completions.create(**request)
        except openai.BadRequestError as error:
            if error.code == "content_filter":  # Azure filters the prompt this way
                return Generation("", "content_filter", 0, 0, sampling.seed)
            raise self._explain(error) from error
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise self._explain(error) from None
        except openai.OpenAIError as error:
            raise self._explain(error) from error
        return _generation(completion, sampling.seed)

    def _explain(self, error: Exception) -> EngineError:
        """What went wrong, where, and what to do; a server's words on a bad key may quote it: left out."""
        import openai

        at, model = self.base_url, self.spec.model
        tried = f"after {self.options.max_retries + 1} tries"
        match error:
            case openai.AuthenticationError() | openai.PermissionDeniedError():
                variable = self.spec.api_key_env
                text = f"{at} refused the key ({error.status_code}): check the variable {variable}"
            case openai.NotFoundError():
                text = (
                    f"{at} has no model {model!r}, or no chat API there (404: {error.message}): compare "
                    f"{at.rstrip('/')}/models, and see that base_url ends in /v1"
                )
            case openai.RateLimitError():
                text = (
                    f"{at} is over its limit {tried} (429: {error.message}): set options.requests_per_minute "
                    "to what the account may send, lower options.max_concurrency, check the account's quota, "
                    "or run again later; stored answers are not asked again"
                )
            case openai.BadRequestError() | openai.UnprocessableEntityError():
                text = (
                    f"{at} rejected a request for {model!r} ({error.status_code}: {error.message}): check "
                    "the prompt's length, max_tokens, and whether the server supports seed, json_schema and "
                    "logprobs (options.logprobs = false does without)"
                )
            case openai.APITimeoutError():
                text = (
                    f"{at} gave no answer within {self.options.timeout:g} s {tried}: raise options.timeout "
                    "or lower options.max_concurrency"
                )
            case openai.APIConnectionError():
                why = error.__cause__ or error.message
                text = f"{at} cannot be reached {tried} ({why}): is the server running and base_url right?"
            case openai.APIStatusError():
                text = f"{at} failed {tried} ({error.status_code}: {error.message}): see the server's log"
            case _:
                text = f"{at} gave no answer of the chat API ({type(error).__name__}): check base_url"
        return EngineError(f"engine {self.spec.name!r}: {text}")


def _key(spec: EngineSpec, base_url: str) -> str:
    """The key from the environment; "none" for a server on this machine that wants none.

    Raises:
        EngineError: the server is elsewhere and its key is not set, or not named.
    """
    host = urlsplit(base_url).hostname or ""
    named = "api_key_env" in spec.model_fields_set or base_url == OPENAI
    if named and os.environ.get(spec.api_key_env):
        return os.environ[spec.api_key_env]
    if host in LOCAL_HOSTS:
        return "none"
    if not named:
        raise EngineError(
            f"engine {spec.name!r}: name the environment variable that holds the key for {host} "
            '(api_key_env = "..."); OPENAI_API_KEY goes to other servers only if the spec says so'
        )
    raise EngineError(
        f"engine {spec.name!r}: {spec.api_key_env} is not set: export that variable with the key for {host}"
    )


def _generation(completion: ChatCompletion, seed: int) -> Generation:
    """The first choice; a server that filters may send none."""
    usage = completion.usage
    prompt, written = (usage.prompt_tokens, usage.completion_tokens) if usage else (0, 0)
    if not completion.choices:
        return Generation("", "content_filter", prompt, written, seed)
    choice = completion.choices[0]
    if choice.message.refusal:
        return Generation(_storable(choice.message.refusal), "refusal", prompt, written, seed)
    text = _storable(choice.message.content or "")
    given = (choice.logprobs.content if choice.logprobs else None) or ()
    finish = choice.finish_reason or "unknown"
    return Generation(text, finish, prompt, written, seed, _alternatives(given))


def _alternatives(content: Sequence[ChatCompletionTokenLogprob]) -> tuple[TokenAlternatives, ...]:
    """What was written and the server's top tokens at each position, which may leave out the written one."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    tokens = []
    for at in content:
        text = at.token if at.bytes is None else decoder.decode(bytes(at.bytes))
        others = [
            (a.token if a.bytes is None else bytes(a.bytes).decode("utf-8", "replace"), a.logprob)
            for a in at.top_logprobs
            if a.token != at.token
        ]
        tokens.append(TokenAlternatives.of(text, [(text, at.logprob), *others]))
    return tuple(tokens)


def _storable(text: str) -> str:
    """With "?" for halves of surrogate pairs: JSON can carry them, files in UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")
