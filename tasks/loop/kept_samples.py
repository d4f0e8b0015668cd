"""Samples as rows to store, without the texts that stored completions hold, and back. Pure.

A run's samples are stored when its rows are, so that people can read what was sent and what came back in any
later version, from any folder, and after every edit of the content. Messages and texts that are stored as
completions are named by request and prompt, since repeating them would double what a run stores.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import Any, NamedTuple

import polars as pl

from tasks.engines.protocols import Message
from tasks.identity import digest
from tasks.loop.prompts import CompletionsById, Prompts
from tasks.loop.samples import Sample, Score
from tasks.parsing import parse_json

COLUMNS = ("sample", "request", "prompt", "input", "output", "target", "scores", "more")
"""Columns of a row, beside those of the run."""
_AT_ONCE = 4096
"""Samples whose rows are made into a frame together."""
_AS_JSON = ("input", "target", "scores", "more")
_MORE = ("choices", "transcript", "finish_reason", "tokens", "metadata", "roles")


class Sent(NamedTuple):
    """A prompt that was sent: the hash of its request, and its id."""

    request: str
    prompt: str


Reply = tuple[Sequence[Message], str]
"""Messages that were sent, and the text that came back."""


@dataclass
class Kept:
    """Texts that stored completions hold.

    Attributes:
        messages: hash of a conversation -> where it is stored. texts: text of a model -> where it is stored.
        replies: the text of each.
    """

    messages: dict[str, Sent] = field(default_factory=dict)
    texts: dict[str, Sent] = field(default_factory=dict)
    replies: dict[Sent, str] = field(default_factory=dict)

    def add(self, request: Prompts, name: str, completions: CompletionsById) -> None:
        """Add the completions of a request. name: hash of the request."""
        for unit, prompt in request.by_id.items():
            if (completion := completions.get(unit)) is not None:
                sent = Sent(name, unit)
                self.messages.setdefault(_name(prompt.conversation), sent)
                self.texts.setdefault(completion.text, sent)
                self.replies[sent] = completion.text


def frame_of(samples: Iterable[Sample], kept: Kept, config_hash: str) -> pl.DataFrame:
    """Return samples as rows of the kind ``sample``, in order."""
    waiting, schema = iter(samples), dict.fromkeys(COLUMNS, pl.String)
    frames = [pl.DataFrame(schema=schema)]
    # Batch by batch, so that memory holds the texts once.
    while rows := [_row(sample, kept) for sample in islice(waiting, _AT_ONCE)]:
        frames.append(pl.DataFrame(rows, schema, orient="row"))
    return pl.concat(frames).with_columns(config_hash=pl.lit(config_hash))


def parsed(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return stored rows with the values of their JSON; None where a row names a completion in its place."""
    return [
        {**row, **{name: parse_json(row[name]) for name in _AS_JSON if row[name] is not None}} for row in rows
    ]


def sent_in(rows: Iterable[Mapping[str, Any]]) -> set[Sent]:
    """Return all prompts that stored samples name. rows: as ``parsed`` returns them."""
    named: set[Sent] = set()
    for row in rows:
        if row["prompt"] is not None:
            named.add(Sent(row["request"], row["prompt"]))
        parts = [row["more"]["transcript"], *(score["grading"] for score in row["scores"].values())]
        parts += [row["input"]] if row["input"] is not None else []
        named |= {Sent(*part["of"]) for messages in parts for part in messages if "of" in part}
    return named


def samples_of(rows: Iterable[Mapping[str, Any]], reply: Callable[[Sent], Reply]) -> Iterator[Sample]:
    """Yield the samples of stored rows.

    Args:
        rows: as ``parsed`` returns them.
        reply: returns the messages and the text of a stored completion.
    """
    for row in rows:
        own = reply(Sent(row["request"], row["prompt"])) if row["prompt"] is not None else ((), "")
        more = {
            **row["more"],
            "transcript": _messages(row["more"]["transcript"], reply),
            "tokens": tuple(row["more"]["tokens"]),
        }
        yield Sample(
            id=row["sample"],
            input=own[0] if row["input"] is None else _messages(row["input"], reply),
            output=own[1] if row["output"] is None else row["output"],
            target=row["target"],
            scores={
                name: Score(**{**score, "grading": _messages(score["grading"], reply)})
                for name, score in row["scores"].items()
            },
            **more,
        )


def _row(sample: Sample, kept: Kept) -> tuple[str | None, ...]:
    sent = kept.messages.get(_name(sample.input))
    is_reply = sent is not None and kept.replies[sent] == sample.output
    scores = {
        name: {
            **{f.name: getattr(score, f.name) for f in fields(score)},
            "grading": _parts(score.grading, kept),
        }
        for name, score in sample.scores.items()
    }
    more = {name: getattr(sample, name) for name in _MORE} | {"transcript": _parts(sample.transcript, kept)}
    return (
        sample.id,
        sent.request if sent else None,
        sent.prompt if sent else None,
        None if sent else _json(_parts(sample.input, kept)),
        None if is_reply else sample.output,
        _json(sample.target),
        _json(scores),
        _json(more),
    )


def _parts(messages: Sequence[Message], kept: Kept) -> list[dict[str, Any]]:
    """Return messages in which stored ones are named: the longest stored conversation, then texts."""
    for end in range(len(messages), 0, -1):
        if sent := kept.messages.get(_name(messages[:end])):
            return [{"of": [*sent], "is": "prompt"}, *(_part(message, kept) for message in messages[end:])]
    return [_part(message, kept) for message in messages]


def _part(message: Message, kept: Kept) -> dict[str, Any]:
    if (sent := kept.texts.get(message["content"])) and message["content"]:
        return {"of": [*sent], "is": message["role"]}
    return dict(message)


def _messages(parts: Sequence[Mapping[str, Any]], reply: Callable[[Sent], Reply]) -> list[Message]:
    messages: list[Message] = []
    for part in parts:
        if "of" not in part:
            messages.append({"role": part["role"], "content": part["content"]})
            continue
        conversation, text = reply(Sent(*part["of"]))
        messages += conversation if part["is"] == "prompt" else [{"role": part["is"], "content": text}]
    return messages


def _name(messages: Sequence[Message]) -> str:
    return digest([dict(message) for message in messages], 32)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_as_json)


def _as_json(value: Any) -> Any:
    """Return mappings, numbers of numpy and sequences in the types of JSON."""
    if isinstance(value, Mapping):
        return dict(value)
    return value.item() if hasattr(value, "item") else list(value)
