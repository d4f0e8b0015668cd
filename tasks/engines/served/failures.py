"""Failures of requests to servers, and what servers say about them: statuses, messages, pauses. Pure.

Servers report errors by the status of HTTP, or inside a successful response, as proxies do whose own provider
failed after they had answered. Both are read alike: the error's code is the status.
"""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import httpx

TRANSIENT = (408, 409, 421, 425, 429, 499)
"""Statuses below 500 after which another try may succeed."""

_STATUS_OF: Mapping[int, tuple[str, ...]] = {
    400: ("invalid_request_error", "invalid_argument", "failed_precondition", "out_of_range", "bad_request",
          "context_length_exceeded", "exceed_context_size_error", "content_filter", "invalid_prompt",
          "invalid_value", "unsupported_parameter", "unsupported_value", "string_above_max_length"),
    401: ("authentication_error", "unauthenticated", "invalid_api_key", "incorrect_api_key"),
    402: ("billing_error", "insufficient_balance", "insufficient_credits"),
    403: ("permission_error", "permission_denied"),
    404: ("not_found_error", "not_found", "model_not_found"),
    409: ("aborted", "conflict_error"),
    413: ("request_too_large",),
    429: ("rate_limit_error", "rate_limit_exceeded", "resource_exhausted", "insufficient_quota", "throttling",
          "throttlingexception", "too_many_requests", "requests_limit_exceeded"),
    500: ("server_error", "api_error", "internal", "internal_error", "internal_server_error", "unknown"),
    503: ("unavailable", "service_unavailable", "model_not_ready"),
    504: ("deadline_exceeded", "timeout_error", "timeout"),
    529: ("overloaded_error", "overloaded", "server_overloaded"),
}  # fmt: skip
"""Status -> names of errors (code, type or status) of the four APIs and of proxies, in lower case."""
_STATUS = {name: status for status, names in _STATUS_OF.items() for name in names}
_WORDS = (
    ("throttl", 429), ("ratelimit", 429), ("ratequota", 429), ("toomanyrequests", 429), ("overload", 529),
    ("unavailable", 503), ("timeout", 504), ("timedout", 504), ("internal", 500),
)  # fmt: skip
"""Parts of names that are in no row above, and the status of such names."""
_ANSWERS = ("choices", "content", "candidates", "promptFeedback", "output", "data", "id", "status")
"""Fields of objects that are answers; others with a message are errors."""
_MESSAGES = (
    "message", "detail", "msg", "error_msg", "error_message", "status_msg", "faultstring", "reason", "title",
)  # fmt: skip
_ERRORS = ("error", "errors", "fault", "base_resp", "detail", "Error", "Response", "Output")
"""Fields with the error of a body that has no answer."""
_CODES = ("code", "status_code", "status", "http_status", "type", "error_code", "errorcode", "__type")
_PAUSES = ("retryDelay", "retry_after", "retryAfter", "retry_after_seconds")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Failed(Exception):  # noqa: N818 - not an EngineError, which users see
    """No answer, with the server's message.

    Attributes:
        status: the last one, of HTTP or of an error inside a successful response; None: no response.
        body: the server's JSON. tries: their number.
        is_transient: whether another try may succeed.
        is_paid: whether the server may charge for it: a reply came, but no model finished it.
        pause: seconds that the server asks to wait before another try; None: it names none.
    """

    def __init__(
        self,
        status: int | None,
        words: str,
        body: Any = None,
        tries: int = 1,
        *,
        is_transient: bool | None = None,
        is_paid: bool = False,
        pause: float | None = None,
    ) -> None:
        super().__init__(words)
        self.status, self.words, self.body, self.tries = status, words, body, tries
        self.is_transient = may_pass(status) if is_transient is None else is_transient
        self.is_paid, self.pause = is_paid, pause

    def __str__(self) -> str:
        return self.words

    @property
    def is_outage(self) -> bool:
        """Whether the server, and not this one request, is probably the cause."""
        return self.status is None or self.status in (408, 429) or self.status >= 500


class TimedOut(Failed):
    """The answer (headers and body) was not complete in time."""


class Unreachable(Failed):
    """There is no connection to the server; ``advice`` says what to do."""

    def __init__(self, words: str, advice: str, *, is_transient: bool = True) -> None:
        super().__init__(None, words, is_transient=is_transient)
        self.advice = advice


class Unreadable(Failed):
    """A successful response that is not of the expected API: a page, a stream, other JSON."""


class Unfit(Failed):
    """A reply of the API that is no answer: broken off, empty or with an unknown ending."""

    def __init__(self, words: str, *, is_transient: bool = False, is_paid: bool = False) -> None:
        super().__init__(200, words, is_transient=is_transient, is_paid=is_paid)


def error_inside(body: Mapping[str, Any]) -> Failed | None:
    """Return the error in the body of a successful response; None if it holds none.

    The error's ``code`` is the status, or its name (type, status) gives it. Without both it is transient,
    because the server had accepted the request.
    """
    error = _error_of(body)
    if not error:
        return None
    fields = error if isinstance(error, Mapping) else {"message": error}
    status = status_of(fields)
    if status is None and "code" not in fields:
        status = status_of(
            {name: body[name] for name in ("code", "status_code", "error_code") if name in body}
        )
    words = message_in({"error": error}) or "an error without a message"
    pause = _asked_pause({"error": fields})
    return Failed(status or 200, words, dict(body), is_transient=None if status else True, pause=pause)


def _error_of(body: Mapping[str, Any]) -> Any:
    """Return the error of a body, an object or a text; None without one."""
    error = _first(body.get("error"))
    if error and isinstance(error, Mapping | str):
        is_success = isinstance(error, Mapping) and error.get("code") in (0, 200, "0", "200")
        return None if is_success and any(body.get(name) for name in _ANSWERS) else error
    if error is True or body.get("object") == "error" or body.get("type") == "error":
        return body
    if any(body.get(name) is not None for name in _ANSWERS) and not _is_refused(body):
        return None
    for name in _ERRORS:
        inner = _first(body.get(name))
        if isinstance(inner, Mapping) and (error := _error_of(inner) or (status_of(inner) and inner)):
            return error
    return body if any(isinstance(body.get(name), str) for name in _MESSAGES) else None


def _is_refused(body: Mapping[str, Any]) -> bool:
    """Return whether a body with fields of an answer says that it is none."""
    status = body.get("status_code")
    is_error = isinstance(status, int) and 400 <= status <= 599
    return body.get("success") is False or (is_error and not body.get("choices"))


def _first(value: Any) -> Any:
    """Return the first element of a list, and anything else as it is."""
    return value[0] if isinstance(value, list) and value else value


def passes(status: int, body: Any) -> bool:
    """Return whether another try may succeed; also of a 400 whose error is named after an overload."""
    error = _error_of(body) if isinstance(body, Mapping) else None
    named = status_of({"type": error.get("type")}) if isinstance(error, Mapping) else None
    return may_pass(status) or (status == 400 and named is not None and may_pass(named))


def may_pass(status: int | None) -> bool:
    """Return whether another try may succeed after a status; None: there was no response."""
    return status is None or status in TRANSIENT or status >= 500


def status_of(error: Mapping[str, Any]) -> int | None:
    """Return the status of HTTP that an error object stands for; None if it names none that is known."""
    for name in _CODES:
        value = error.get(name)
        if isinstance(value, str):
            value = int(value) if re.fullmatch(r"[45]\d\d", value) else _status_named(value)
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
            return value
    return None


def _status_named(name: str) -> int | None:
    """Return the status of an error's name; None if it is unknown."""
    bare = re.sub(r"[^a-z]", "", name.lower())
    return _STATUS.get(name.lower()) or next((status for part, status in _WORDS if part in bare), None)


def message_in(body: Any) -> str | None:
    """Return the message of an error's body, with the message of the provider behind a proxy; None if none.

    It is the server's text, so it is cleaned before anybody sees it.
    """
    if not isinstance(body, Mapping):
        return body if isinstance(body, str) and body else None
    error = _first(body.get("error")) or _error_of(body) or body
    if not isinstance(error, Mapping):
        return str(error)
    found = next(
        (error[name] for name in _MESSAGES if isinstance(error.get(name), str) and error[name]), None
    )
    if found is None:
        names = (error.get(name) for name in ("type", "status", "code", "errorcode", "__type"))
        found = next((str(name) for name in names if isinstance(name, str | int) and name), None)
    behind = error.get("metadata")
    raw = behind.get("raw") if isinstance(behind, Mapping) else None
    return f"{found or ''} {raw}".strip() if isinstance(raw, str) else found


def retry_after(headers: httpx.Headers) -> float | None:
    """Return the seconds in Retry-After, which is a number or a date; None if it is missing or invalid.

    A date without a zone is in UTC, as HTTP's dates are.
    """
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        if (seconds := _duration(headers.get(name, "") + "ms")) is not None:
            return seconds
    header = headers.get("retry-after", "").strip()
    if (seconds := _duration(re.split(r"[,;]", header)[0])) is not None:
        return seconds
    for parse in (email.utils.parsedate_to_datetime, datetime.fromisoformat):
        try:
            date = parse(header)
            date = date if date.tzinfo else date.replace(tzinfo=UTC)
            return _seconds(date.timestamp() - time.time())
        except (ValueError, TypeError, OverflowError, IndexError):
            continue
    return None


def _asked_pause(body: Any) -> float | None:
    """Return the seconds that an error's body asks to wait, as in Google's ``retryDelay``; None: none."""
    error = body.get("error") if isinstance(body, Mapping) else None
    fields = error if isinstance(error, Mapping) else {}
    details, behind = fields.get("details"), fields.get("metadata")
    for place in (body, fields, behind, *(details if isinstance(details, list) else [])):
        for name in _PAUSES if isinstance(place, Mapping) else ():
            value = place.get(name)
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                return _duration(str(value))
    return None


def pause_of(headers: httpx.Headers, body: Any) -> float | None:
    """Return the seconds that a server asks to wait, by header or body, the longer one; None: it does not."""
    pauses = (each for each in (retry_after(headers), _asked_pause(body)) if each is not None)
    return max(pauses, default=None)


def _duration(text: str) -> float | None:
    """Return the seconds of a duration, such as 7, 0.5, 30s, 200ms and 6m0s; None if it is none."""
    text = text.strip().lower()
    try:
        return _seconds(float(text))
    except ValueError:
        pass
    parts = re.findall(r"(\d{1,9}(?:\.\d{1,9})?)(ms|[smh])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _seconds(value: float) -> float | None:
    return max(0.0, value) if value == value else None
