"""Parses answers of OpenAI's APIs: replies of the chat API, lines of batch results, and responses of the
Responses API, with which its models search the web."""

from __future__ import annotations

import codecs
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import IO, Annotated, Any

import httpx
from pydantic import BaseModel, Field

from tasks.engines.protocols import Generation, Lost, TokenAlternatives
from tasks.engines.secrets import Secrets
from tasks.engines.served.endings import finish_reason
from tasks.engines.served.failures import Failed, Unfit, Unreadable, error_inside
from tasks.engines.served.hosted import tokens_left
from tasks.engines.served.transport import (
    MAX_BYTES,
    MAX_COUNT,
    Caller,
    LogProbability,
    checked,
    count,
    sound,
    thought,
)

FILTERED = (
    "content_filter", "content_policy_violation", "data_inspection_failed", "invalid_prompt",
    "responsibleaipolicyviolation",
)  # fmt: skip
"""Error codes of Azure, OpenAI and DashScope for prompts that they filter, in lower case."""
_NO_TEXT = ("thinking", "reasoning", "reference", "tool_use", "tool_call")
"""Types of blocks in a message that are no part of the answer."""


class _Other(BaseModel):
    token: str
    logprob: LogProbability
    bytes: list[Annotated[int, Field(ge=0, le=255)]] | None = None


class _Token(_Other):
    top_logprobs: list[_Other] | None = None


class _Logprobs(BaseModel):
    content: list[_Token] | None = None


class _Block(BaseModel):
    type: str = "text"
    text: str | list[str] | None = None


class _Written(BaseModel):
    content: str | _Block | list[_Block | str] | None = None
    refusal: Any = None


class _Choice(BaseModel):
    message: _Written | None = None
    finish_reason: Any = None
    logprobs: Any = None
    error: Any = None


class _Reply(BaseModel):
    choices: list[_Choice]
    usage: Any = None
    prompt_filter_results: Any = None


class _Response(BaseModel):
    status_code: int
    body: Any = None


class BatchLine(BaseModel):
    """A line of a batch's results."""

    custom_id: str
    response: _Response | None = None
    error: Any = None


def read_reply(body: Any, secrets: Secrets) -> Generation:
    """Return the first choice as a generation; a server that reports filtering may send none.

    Text blocks are joined. Reasoning is left out, but its tokens count; some servers have them only in the
    total. An invalid or negative token count becomes 0, which means unknown (``budget.Meter`` then counts the
    most). Alternatives that are not log-probabilities are dropped.

    Raises:
        Unreadable: it is not an answer of the chat API. Unfit: the model did not finish.
    """
    reply = checked(_Reply, body)
    usage = reply.usage if isinstance(reply.usage, dict) else {}
    n_prompt, n_completion, n_total = (
        count(usage.get(f"{name}_tokens")) for name in ("prompt", "completion", "total")
    )
    n_completion = max(n_completion, n_total - n_prompt if n_prompt else 0)
    if not reply.choices:
        if not reply.prompt_filter_results:
            raise Unfit("choices: empty, although the prompt was not filtered", is_transient=True)
        return Generation("", "content_filter", n_prompt, n_completion)
    choice = reply.choices[0]
    if choice.error and (error := error_inside({"error": choice.error})):
        raise error
    message = choice.message or _Written()
    refusal = message.refusal if isinstance(message.refusal, str) else ""
    finish = "refusal" if refusal else finish_reason(choice.finish_reason)
    if choice.message is None and finish != "content_filter":
        raise Unreadable(200, "choices.0.message: Field required", is_transient=True)
    content = refusal or _joined(message.content)
    text = secrets.hide_in_answer(content)
    if text and not n_completion:
        n_prompt = 0
    logprobs = sound(_Logprobs, choice.logprobs) or _Logprobs()
    tokens = _alternatives(logprobs.content or ()) if text == content and finish != "refusal" else ()
    n_thought = thought(usage.get("completion_tokens_details"))
    return Generation(text, finish, n_prompt, n_completion, tokens=tokens, thinking_tokens=n_thought)


def _joined(content: str | _Block | list[_Block | str] | None) -> str:
    """Return the text of a message, which may be a list of blocks."""
    if isinstance(content, str | None):
        return content or ""
    blocks = [
        _Block(text=block) if isinstance(block, str) else block
        for block in (content if isinstance(content, list) else [content])
    ]
    return "".join("".join(block.text or "") for block in blocks if block.type not in _NO_TEXT)


def read_refusal(failure: Failed) -> Generation | None:
    """Return the generation for a failure by which a server reports filtering; None for other failures.

    Azure and others refuse such a request with a code, OpenRouter with the reasons of its moderation.
    """
    error = failure.body.get("error") if isinstance(failure.body, dict) else None
    if not isinstance(error, dict):
        return None
    behind = error.get("metadata")
    is_moderated = failure.status == 403 and isinstance(behind, dict) and bool(behind.get("reasons"))
    is_filtered = failure.status == 400 and str(error.get("code")).lower() in FILTERED
    return Generation("", "content_filter", 0, 0) if is_filtered or is_moderated else None


@dataclass
class BatchResults:
    """The content of a batch's files, one line for each request.

    Attributes:
        ids: of the requests.
        answers: by id.
        lost: why a request has no answer, by id.
        wrong: numbers of lines without an answer, by reason.
    """

    caller: Caller
    ids: set[str]
    answers: dict[str, Generation] = field(default_factory=dict)
    lost: dict[str, Lost] = field(default_factory=dict)
    wrong: Counter[str] = field(default_factory=Counter)

    def read(self, lines: IO[bytes]) -> None:
        """Add the answers of one file; the first answer to a request counts."""
        for text in iter(lambda: lines.readline(MAX_BYTES), b""):
            try:
                line = checked(BatchLine, self.caller.read_object(text))
            except Unreadable:
                if text.strip():
                    self.wrong["unreadable line"] += 1
                continue
            if line.custom_id not in self.ids or line.custom_id in self.answers:
                self.wrong["answer to no request of this batch"] += 1
                continue
            try:
                self.answers[line.custom_id] = read_batch_answer(line, self.caller, self._read)
                self.lost.pop(line.custom_id, None)
            except Failed as failure:
                words = self.caller.clean(failure.words)
                reason = words if failure.status == 200 else f"{failure.status or 'no answer'}: {words}"
                self.wrong[reason] += 1
                self.lost[line.custom_id] = Lost(reason, failure.is_paid)

    def reasons(self) -> list[str]:
        """Return the three most frequent reasons with their numbers."""
        return [f"{n:,} × {text}" for text, n in self.wrong.most_common(3)]

    def _read(self, body: Any) -> Generation:
        return read_reply(body, self.caller.secrets)


def read_batch_answer(line: BatchLine, caller: Caller, read: Callable[[Any], Generation]) -> Generation:
    """Return the generation in a line of a batch's results.

    Args:
        read: returns the generation in the body of a successful response.

    Raises:
        Failed: it has none, for the reason that the server gives.
    """
    status, body = 0, {"error": line.error or "no reason is given"}
    if line.response:
        status, body = line.response.status_code, line.response.body
    if 200 <= status < 300:
        if not isinstance(body, dict):
            raise Unreadable(200, "a result that is no object")
        if error := error_inside(body):
            raise error
        return read(body)
    failure = caller.refusal(status, httpx.Headers(), json.dumps(body).encode())
    if answer := read_refusal(failure):
        return answer
    if tokens_left(failure, MAX_COUNT) == 0:
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


class _ResponsePart(BaseModel):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _ResponseItem(BaseModel):
    type: str = ""
    content: list[_ResponsePart] | None = None
    phase: Any = None
    status: Any = None


class _ModelResponse(BaseModel):
    status: Any = None
    output: list[_ResponseItem] | None
    incomplete_details: Any = None
    usage: Any = None


def read_response(body: Any, secrets: Secrets) -> Generation:
    """Return the message after the last search; reasoning and earlier remarks are left out, but their tokens
    count.

    Raises:
        Unreadable: it is not an answer of the Responses API. Unfit: the model did not finish.
    """
    response = checked(_ModelResponse, body)
    reason = response.status
    if reason == "incomplete":
        details = response.incomplete_details
        reason = details.get("reason") if isinstance(details, dict) else None
    finish = finish_reason(reason)
    parts: list[_ResponsePart] = []
    for item in response.output or ():
        if item.type.endswith("_call"):
            parts = []
        elif item.type == "message" and item.phase != "commentary":
            if finish == "stop" and item.status is not None:
                finish_reason(item.status)  # a message may be broken off in a response that is completed
            parts += item.content or []
    refusals = [part.refusal for part in parts if part.refusal]
    text = "".join(refusals or [part.text or "" for part in parts if part.type == "output_text"])
    usage = response.usage if isinstance(response.usage, dict) else {}
    n_prompt, n_completion = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    finish = "refusal" if refusals else finish
    n_prompt = n_prompt if n_completion else 0
    n_thought = thought(usage.get("output_tokens_details"))
    answer = secrets.hide_in_answer(text)
    return Generation(answer, finish, n_prompt, n_completion, thinking_tokens=n_thought)
