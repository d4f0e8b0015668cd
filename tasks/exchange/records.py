"""The records of every format: a header of one model's run of one task, and a stream of samples. Pure."""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from tasks.data.errors import TableError
from tasks.data.text import text as text_of
from tasks.identity import digest
from tasks.parsing import parse_json

HITS = re.compile(
    r"^(acc|acc_norm|acc_bytes|acc_mutual_info|accuracy|em|exact_match|quasi_exact_match|prefix_exact_match"
    r"|quasi_prefix_exact_match|match|includes|pattern|choice|is_correct|correct)(,[\w.-]+)?$"
)
"""Metrics that are 1 for a right answer and 0 for a wrong one, whatever the task."""
SHARES = re.compile(r"^(f1|f1_score|f1_set_match|iou_set_match|rouge\w*|math_equiv|ifeval\w*)(,[\w.-]+)?$")
"""Further metrics that lie in [0, 1]."""
EMPTY, FILTERED, ERROR, MISSING = "empty", "filtered", "error", "missing"
"""Reasons of lost answers: no text; withheld, or not let through by the log's own filter; the program failed;
the log has no record of the item."""
NOT_A_NUMBER = "its score is no finite number"
LONGEST_LABEL = 120
LARGEST_SAMPLES = 1 << 31
"""Most bytes of a file of samples: a run's texts are stored as one part."""
MOST_TEXTS = 3
"""Most texts of a document by which an item is recognised in another program's log."""
_LEAST_TEXT = 12
"""Least letters of such a text: shorter ones, such as a level or a country, are those of many items."""


class LoggedMetric(NamedTuple):
    """A metric of a log.

    Attributes:
        lower_is_better: its direction. bounds: as the log states them, or known of its name; None: unknown.
        is_hit: whether an answer scores 1 if it is right and else 0; None: unknown.
    """

    name: str
    lower_is_better: bool = False
    bounds: tuple[float, float] | None = None
    is_hit: bool | None = None


class Aggregate(NamedTuple):
    """A number over samples, as the log states it. n: samples behind it."""

    value: float
    stderr: float | None = None
    n: int | None = None


@dataclass(frozen=True)
class LoggedModel:
    """The model of a log.

    Attributes:
        name: for people. source: its Hugging Face id, folder or server's name; "" if unknown.
        commit: 40 hex digits of the hub, or "". dtype: its precision, or "".
        settings: further settings that change answers, from a list of names that hold no secret.
    """

    name: str
    source: str = ""
    commit: str = ""
    dtype: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LogHeader:
    """One model's run of one task.

    Attributes:
        file: where it is, for people. harness, harness_version: the program that made it. date: when, UTC,
            as 2026-01-21T03:44:18Z; "" if unknown.
        task, version, settings: what was asked, and how; models are compared where these are equal.
        metrics: the first is the headline. aggregates: metric -> the log's own number.
        n: samples that the program says it scored; None if it does not say.
    """

    file: str
    harness: str
    harness_version: str
    date: str
    task: str
    version: str
    model: LoggedModel
    metrics: tuple[LoggedMetric, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    aggregates: Mapping[str, Aggregate] = field(default_factory=dict)
    n: int | None = None


@dataclass(slots=True)
class LoggedSample:
    """One answer of the model, or the scores of it by one filter.

    Attributes:
        id: its name in the log. item: hash of its content, the same in every log of this data.
        also: further hashes by which other programs' logs may have the same item.
        repetition: number of a repeated answer to the item. scores: metric -> number; others are left out.
        target: right outputs. choices, right: options and the index of the right one.
        answer: what was read from the output. lost: why there is no answer, or "". unscored: why a score is
            missing, or "". fields: the document, for clusters and slices.
    """

    id: str
    item: str
    prompt: Sequence[Mapping[str, str]]
    output: str
    scores: Mapping[str, float]
    also: Sequence[str] = ()
    repetition: int = 0
    target: Sequence[str] = ()
    choices: Sequence[str] = ()
    right: int | None = None
    answer: str | None = None
    lost: str = ""
    unscored: str = ""
    finish_reason: str = ""
    tokens: tuple[int, int] = (0, 0)
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Log:
    """A header and its samples.

    Attributes:
        samples: opens the stream of samples, again on each call; it raises TableError. None: the log has
            aggregates alone.
    """

    header: LogHeader
    samples: Callable[[], Iterator[LoggedSample]] | None = None


class Refused(NamedTuple):
    """A file that is not taken, and why, in one line."""

    file: str
    why: str


def check_size(path: Path) -> None:
    """Raise TableError for a file of samples whose texts may not fit into memory."""
    if (size := path.stat().st_size) > LARGEST_SAMPLES:
        what = f"{size >> 20:,} MiB are more than {LARGEST_SAMPLES >> 20:,} MiB"
        raise TableError(what, "split it, or evaluate fewer items", file=str(path))


def whole(path: Path, largest: int) -> Any:
    """Return what a JSON file holds, read at once; raises TableError if it is larger, or no JSON."""
    content = text_of(path, largest)
    try:
        return parse_json(content)
    except ValueError as error:
        raise TableError(f"not JSON: {error}", "is the file cut off?", file=str(path)) from error


def same_item(text: str, target: Sequence[str]) -> str:
    """Return the hash of an item by its question and right outputs, without regard to blanks at the ends."""
    return digest(["item", text.strip(), sorted(part.strip() for part in target)])


def same_items(texts: Sequence[Any], target: Sequence[str]) -> list[str]:
    """Return ``same_item`` of the texts that are long enough to name an item, at most ``MOST_TEXTS``."""
    own = (sound(text) for text in texts if isinstance(text, str) and len(text.strip()) >= _LEAST_TEXT)
    return list(dict.fromkeys(same_item(text, target) for text in own))[:MOST_TEXTS]


def metric_of(
    name: str,
    lower_is_better: bool = False,
    bounds: tuple[float, float] | None = None,
    is_hit: bool | None = None,
) -> LoggedMetric:
    """Return a metric with what is known of its name."""
    if HITS.match(name):
        return LoggedMetric(name, lower_is_better, (0.0, 1.0), True)
    if SHARES.match(name):
        return LoggedMetric(name, lower_is_better, (0.0, 1.0), False)
    return LoggedMetric(name, lower_is_better, bounds, is_hit)


def number(value: Any) -> float | None:
    """Return a finite number; None for anything else, NaN and infinities too."""
    if isinstance(value, bool | int | float):
        try:
            own = float(value)
        except OverflowError:
            return None
        return own if math.isfinite(own) else None
    return None


def sound(text: object) -> str:
    """Return a text that files and databases take: without NUL, halves of surrogate pairs as "?"."""
    plain = str(text).replace("\0", "")
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def label(text: object, otherwise: str = "unnamed") -> str:
    """Return a name of a task or a program on one line, without hidden signs, marks and commas."""
    plain = unicodedata.normalize("NFKC", sound(text))
    shown = "".join(" " if unicodedata.category(c)[0] in "ZC" or c == "," else c for c in plain)
    words = " ".join(shown.split())
    return words[:LONGEST_LABEL].strip() or otherwise


def words(value: Any) -> str:
    """Return a setting's value as a short text: lists and objects as JSON, long ones by their hash."""
    if value is None:
        return ""
    plain = (
        value
        if isinstance(value, str)
        else json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    )
    plain = sound(plain)
    return plain if len(plain) <= LONGEST_LABEL else f"hash {digest([plain])}"


def set_only(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that have a value, in words."""
    return {
        name: text
        for name, value in sorted(settings.items())
        if (text := words(value)) not in ("", "{}", "[]")
    }


def day(value: Any) -> str:
    """Return a time as 2026-01-21T03:44:18Z, of seconds since 1970 or an ISO text; "" if it is neither."""
    try:
        seconds = number(float(value)) if isinstance(value, int | float | str) else None
    except ValueError:
        seconds = None
    try:
        if seconds is not None:
            return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
        when = datetime.fromisoformat(str(value))
        when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
        return f"{when:%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):
        return ""


def sha256(text: str) -> str:
    """Return the hex digits of a text's SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def field_of(fields: Mapping[str, Any], path: str) -> str | None:
    """Return a document's field by its path, such as ``doc.country`` or ``country``, as a text on one line.

    Returns None if there is none, or if it is no single value.
    """
    for name in (path, *(path.removeprefix(head) for head in ("doc.", "metadata.") if path.startswith(head))):
        value: Any = fields
        for part in [name] if name in fields else name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, str | int | float | bool):
            return label(value, "")
    return None
