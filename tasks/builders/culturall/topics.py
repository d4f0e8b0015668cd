"""Stage 1: the list of topics with examples, and a model's proposed merges and examples. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tasks.builders.culturall import prompts
from tasks.builders.culturall.sources import Topic
from tasks.identity import digest
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.replies import json_fields

SHOWN = 2
"""Number of a topic's examples in a drafting prompt, to show its breadth."""

MERGES = ""
"""The key of the prompt that asks for merges, among the topics'."""


def guide(topics: Sequence[Topic]) -> list[str]:
    """Return the topics for a drafting model: names, with a few examples."""
    return [": ".join([topic.name, "; ".join(topic.examples[:SHOWN])]).removesuffix(": ") for topic in topics]


def given_rows(topics: Sequence[Topic], source: str) -> list[dict[str, Any]]:
    """Rows of culturall_topic of a list as it was given, without the time."""
    same = {"parents": [], "source": source, "author": source, "author_kind": "person"}
    pairs = [("topic", topic.name, topic.description) for topic in topics]
    pairs += [("example", topic.name, example) for topic in topics for example in topic.examples]
    return [_row(*pair) | same for pair in pairs]


def asked(topics: Sequence[Topic], n: int) -> dict[str, Prompt]:
    """Return the prompts: topic -> prompt for ``n`` more examples; under ``MERGES`` the one for merges."""
    merges = prompts.topic_merges({topic.name: topic.description for topic in topics})
    examples = {
        topic.name: prompts.topic_examples(topic.name, topic.description, topic.examples, n)
        for topic in topics
    }
    return {MERGES: merges, **examples}


def proposed_rows(
    topic: str, topics: Sequence[Topic], prompt: Prompt, completion: Completion
) -> list[dict[str, Any]]:
    """Return rows of culturall_topic with a model's proposals, without time and provenance.

    Unreadable proposals, merges without two listed topics, and repetitions are left out.
    """
    fields = json_fields(completion.text) or {}
    known = {name.name.casefold(): name.name for name in topics}
    same = {"source": "model", "response_item": prompt.id}
    if topic == MERGES:
        merges = [merge for merge in _list(fields.get("merges")) if isinstance(merge, Mapping)]
        pairs = [(merge, [known[n] for n in _texts(merge.get("topics")) if n in known]) for merge in merges]
        return [
            _row("merge", str(merge.get("name") or ""), str(merge.get("description") or ""))
            | same
            | {"parents": parents}
            for merge, parents in pairs
            if len(set(parents)) > 1 and merge.get("name")
        ]
    own = next((each for each in topics if each.name == topic), None)
    examples = {example.casefold() for example in (own.examples if own else ())}
    fresh = [text for text in _list(fields.get("examples")) if isinstance(text, str) and text.strip()]
    texts = dict.fromkeys(text.strip() for text in fresh if text.strip().casefold() not in examples)
    return [_row("example", topic, text) | same | {"parents": []} for text in texts]


def _row(kind: str, topic: str, text: str) -> dict[str, Any]:
    return {"entry": digest([kind, topic, text]), "kind": kind, "topic": topic, "text": text}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [text.casefold().strip() for text in _list(value) if isinstance(text, str)]
