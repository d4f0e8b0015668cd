"""Parses answers of OpenAI's APIs: replies of the chat API, lines of batch results, and responses of the
Responses API, with which its models search the web."""

from __future__ import annotations

import codecs
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Annotated, Any

import httpx
from pydantic import BaseModel, Field

from tasks.engines.protocols import Generation, TokenAlternatives
from tasks.engines.secrets import Secrets
from tasks.engines.served.hosted import room
from tasks.engines.served.transport import (
    EXCERPT,
    MAX_BYTES,
    MAX_COUNT,
    Caller,
    Failed,
    LogProbability,
    Unreadable,
    checked,
    count,
    finish_reason,
)


class _Other(BaseModel):
    token: str
    logprob: LogProbability
    bytes: list[Annotated[int, Field(ge=0, le=255)]] | None = None


class _Token(_Other):
    top_logprobs: list[_Other] | None = None


class _Logprobs(BaseModel):
    content: list[_Token] | None = None


class _Written(BaseModel):
    content: str | None = None
    refusal: str | None = None
    reasoning: Any = None
    reasoning_content: Any = None


class _Choice(BaseModel):
    message: _Written
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Reply(BaseModel):
    choices: list[_Choice]
    usage: Any = None
    prompt_filter_results: Any = None


class _Response(BaseModel):
    status_code: int
    body: Any = None


class _Line(BaseModel):
    custom_id: str
    response: _Response | None = None
    error: Any = None


def read_reply(body: Any, secrets: Secrets) -> Generation:
    """Return the first choice as a generation; a server that reports filtering may send none.

    Reasoning is left out, but its tokens count; some servers have them only in the total. An invalid or
    negative token count becomes 0, which means unknown (``budget.Meter`` then counts the most).

    Raises:
        Unreadable: it is not an answer of the chat API.
    """
    reply = checked(_Reply, body)
    usage = reply.usage if isinstance(reply.usage, dict) else {}
    n_prompt, n_completion, n_total = (
        count(usage.get(f"{name}_tokens")) for name in ("prompt", "completion", "total")
    )
    n_completion = max(n_completion, n_total - n_prompt if n_prompt else 0)
    if not reply.choices:
        if not reply.prompt_filter_results:
            raise Unreadable(200, "choices: empty, although the prompt was not filtered")
        return Generation("", "content_filter", n_prompt, n_completion)
    choice = reply.choices[0]
    finish = "refusal" if choice.message.refusal else finish_reason(choice.finish_reason)
    content = choice.message.refusal or choice.message.content
    has_reasoning = bool(choice.message.reasoning or choice.message.reasoning_content)
    if content is None and finish in ("stop", "unknown") and not has_reasoning:
        raise Unreadable(200, "choices.0.message.content: null, although the model finished")
    text = secrets.hide_in_answer(content or "")
    if text and not n_completion:
        n_prompt = 0
    logprobs = (choice.logprobs.content if choice.logprobs else None) or ()
    tokens = _alternatives(logprobs) if text == content and finish != "refusal" else ()
    return Generation(text, finish, n_prompt, n_completion, tokens=tokens)


def read_refusal(failure: Failed) -> Generation | None:
    """Return the generation for a failure by which Azure reports filtering; None for other failures."""
    error = failure.body.get("error") if isinstance(failure.body, dict) else None
    filtered = isinstance(error, dict) and error.get("code") == "content_filter"
    return Generation("", "content_filter", 0, 0) if failure.status == 400 and filtered else None


@dataclass
class BatchResults:
    """The content of a batch's files, one line for each request.

    Attributes:
        ids: of the requests.
        answers: by id.
        wrong: numbers of lines without an answer, by reason.
    """

    caller: Caller
    ids: set[str]
    answers: dict[str, Generation] = field(default_factory=dict)
    wrong: Counter[str] = field(default_factory=Counter)

    def read(self, lines: IO[bytes]) -> None:
        """Add the answers of one file; the first answer to a request counts."""
        for text in iter(lambda: lines.readline(MAX_BYTES), b""):
            try:
                line = checked(_Line, self.caller.read_object(text))
            except Unreadable:
                if text.strip():
                    self.wrong["unreadable line"] += 1
                continue
            if line.custom_id not in self.ids or line.custom_id in self.answers:
                self.wrong["answer to no request of this batch"] += 1
                continue
            try:
                self.answers[line.custom_id] = self._answer(line)
            except Failed as failure:
                self.wrong[f"{failure.status or 'no answer'}: {failure.words}"] += 1

    def reasons(self) -> list[str]:
        """Return the three most frequent reasons with their numbers."""
        return [f"{n:,} × {text}" for text, n in self.wrong.most_common(3)]

    def _answer(self, line: _Line) -> Generation:
        status, body = 0, {"error": line.error or "no reason is given"}
        if line.response:
            status, body = line.response.status_code, line.response.body
        if 200 <= status < 300:
            return read_reply(body, self.caller.secrets)
        failure = self.caller.refusal(status, httpx.Headers(), json.dumps(body).encode())
        if answer := read_refusal(failure):
            return answer
        if room(failure, MAX_COUNT) == 0:
            return Generation.cut_off()
        raise failure


def _alternatives(content: Sequence[_Token]) -> tuple[TokenAlternatives, ...]:
    """Return each generated token with the server's top tokens, which may not include it."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    tokens = []
    for token in content:
        text = token.token if token.bytes is None else decoder.decode(bytes(token.bytes))
        others = [
            (top.token if top.bytes is None else bytes(top.bytes).decode("utf-8", "replace"), top.logprob)
            for top in token.top_logprobs or ()
            if top.token != token.token
        ]
        tokens.append(TokenAlternatives.of(text, [(text, token.logprob), *others]))
    return tuple(tokens)


_INCOMPLETE = {"max_output_tokens": "length", "content_filter": "content_filter"}


class _ResponsePart(BaseModel):
    type: str
    text: str | None = None
    refusal: str | None = None


class _ResponseItem(BaseModel):
    type: str
    content: list[_ResponsePart] | None = None
    phase: str | None = None


class _Incomplete(BaseModel):
    reason: str | None = None


class _ResponseError(BaseModel):
    message: str = "no reason is given"


class _ModelResponse(BaseModel):
    status: str
    output: list[_ResponseItem]
    incomplete_details: _Incomplete | None = None
    error: _ResponseError | None = None
    usage: Any = None


def read_response(body: Any, secrets: Secrets) -> Generation:
    """Return the message after the last search; reasoning and earlier remarks are left out, but their tokens
    count.

    Raises:
        Unreadable: it is not an answer of the Responses API, or reports a failure.
    """
    response = checked(_ModelResponse, body)
    if response.status not in ("completed", "incomplete"):
        error = response.error or _ResponseError()
        raise Unreadable(200, secrets.hide(f"status: {response.status}: {error.message}")[:EXCERPT])
    parts: list[_ResponsePart] = []
    for item in response.output:
        if item.type.endswith("_call"):
            parts = []
        elif item.type == "message" and item.phase != "commentary":
            parts += item.content or []
    refusals = [part.refusal for part in parts if part.refusal]
    text = "".join(refusals or [part.text or "" for part in parts if part.type == "output_text"])
    finish = "stop"
    if response.status == "incomplete":
        reason = response.incomplete_details.reason if response.incomplete_details else None
        finish = _INCOMPLETE.get(reason or "", "unknown")
    usage = response.usage if isinstance(response.usage, dict) else {}
    n_prompt, n_completion = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    finish = "refusal" if refusals else finish
    n_prompt = n_prompt if n_completion else 0
    return Generation(secrets.hide_in_answer(text), finish, n_prompt, n_completion)
