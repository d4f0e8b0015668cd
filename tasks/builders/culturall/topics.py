"""Stage 1: the list of topics with examples, and a model's proposals of merges and examples. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tasks.builders.culturall import prompts
from tasks.builders.culturall.sources import Topic
from tasks.identity import digest
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.replies import read_fields

PROMPT_EXAMPLES = 2
"""Number of examples of each topic in a drafting prompt."""

MERGES = ""
"""Key of the prompt for merges; the other prompts have their topic as the key."""


def guide(topics: Sequence[Topic]) -> list[str]:
    """Return the topics for a drafting model: names with a few examples."""
    return [
        ": ".join([topic.name, "; ".join(topic.examples[:PROMPT_EXAMPLES])]).removesuffix(": ")
        for topic in topics
    ]


def listed_rows(topics: Sequence[Topic], source: str) -> list[dict[str, Any]]:
    """Return rows of culturall_topic for a list of topics, without the time."""
    provenance = {"parents": [], "source": source, "author": source, "author_kind": "person"}
    pairs = [("topic", topic.name, topic.description) for topic in topics]
    pairs += [("example", topic.name, example) for topic in topics for example in topic.examples]
    return [_row(*pair) | provenance for pair in pairs]


def topic_prompts(topics: Sequence[Topic], n: int) -> dict[str, Prompt]:
    """Return the prompt for ``n`` more examples by topic, and under ``MERGES`` the prompt for merges."""
    merges = prompts.topic_merges({topic.name: topic.description for topic in topics})
    examples = {
        topic.name: prompts.topic_examples(topic.name, topic.description, topic.examples, n)
        for topic in topics
    }
    return {MERGES: merges, **examples}


def proposed_rows(
    topic: str, topics: Sequence[Topic], prompt: Prompt, completion: Completion
) -> list[dict[str, Any]]:
    """Return rows of culturall_topic for a model's proposals, without time and provenance.

    Left out are unreadable proposals, merges of fewer than two listed topics, and known examples.
    """
    fields = read_fields(completion.text, ("merges" if topic == MERGES else "examples",)) or {}
    names = {name.name.casefold(): name.name for name in topics}
    provenance = {"source": "model", "response_item": prompt.id}
    if topic == MERGES:
        merges = [merge for merge in _list(fields.get("merges")) if isinstance(merge, Mapping)]
        pairs = [(merge, [names[n] for n in _texts(merge.get("topics")) if n in names]) for merge in merges]
        return [
            _row("merge", str(merge.get("name") or ""), str(merge.get("description") or ""))
            | provenance
            | {"parents": parents}
            for merge, parents in pairs
            if len(set(parents)) > 1 and merge.get("name")
        ]
    topic_entry = next((each for each in topics if each.name == topic), None)
    examples = {example.casefold() for example in (topic_entry.examples if topic_entry else ())}
    proposals = [text for text in _list(fields.get("examples")) if isinstance(text, str) and text.strip()]
    texts = dict.fromkeys(text.strip() for text in proposals if text.strip().casefold() not in examples)
    return [_row("example", topic, text) | provenance | {"parents": []} for text in texts]


def _row(kind: str, topic: str, text: str) -> dict[str, Any]:
    return {"entry": digest([kind, topic, text]), "kind": kind, "topic": topic, "text": text}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [text.casefold().strip() for text in _list(value) if isinstance(text, str)]
