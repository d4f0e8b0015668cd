"""Rows to store of what a run of harness tasks was built from, and the tasks of stored rows.

A run stores each task's settings, its chosen documents and their requests. So its numbers can be recomputed
after any edit of the YAML or the data, and without them. A task with code of its own is not stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tasks.evaluations.contract import Rows
from tasks.evaluations.harness import form, library, sources
from tasks.evaluations.harness.library import Chat, HarnessTask
from tasks.identity import checked_name

TASK, DOCUMENT = "task", "document"


def content(tasks: Iterable[HarnessTask]) -> Rows:
    """Return what tasks were built from, as rows ``part_of`` and ``body``; none if one has code."""
    try:
        return [
            {"part_of": name, "body": json.dumps(body, ensure_ascii=False)} for name, body in _bodies(tasks)
        ]
    except TypeError:  # a function, a class, or a value that is no text or number
        return []


def tasks_of(rows: Rows, fewshot: int | None, fewshot_seed: int) -> list[HarnessTask]:
    """Return the tasks of stored rows, as ``library.load_tasks`` returned them.

    Raises:
        ValueError: the rows are no content of harness tasks, or hold what may run code.
    """
    parts: dict[str, list[Any]] = {TASK: [], DOCUMENT: []}
    for row in rows:
        parts.setdefault(str(row["part_of"]), []).append(json.loads(row["body"]))
    return [
        _task(head, [body for name, *body in parts[DOCUMENT] if name == head[0]], fewshot, fewshot_seed)
        for head in sorted(parts[TASK], key=lambda head: head[0])
    ]


def _bodies(tasks: Iterable[HarnessTask]) -> Iterator[tuple[str, Any]]:
    for task in tasks:
        yield TASK, [task.name, dict(task.config), task.n_documents, task.why_not]
        for doc, fields in task.documents.items():
            asked = [_written(own.get(doc)) for own in (task.instances, task.without)]
            yield DOCUMENT, [task.name, doc, dict(fields), *asked]


def _written(instances: Sequence[Any] | None) -> list[Any] | None:
    """Return the requests of a document: the contexts, and what follows each with its number of repetitions.

    A context that several share, such as that of all options, is there once.
    """
    if instances is None:
        return None
    contexts = [own.messages if isinstance(own := each.args[0], Chat) else str(own) for each in instances]
    shared = contexts[:1] if all(each == contexts[0] for each in contexts) else contexts
    return [shared, [[each.repeats, *each.args[1:]] for each in instances]]


def _task(
    head: Sequence[Any], documents: Sequence[Sequence[Any]], fewshot: int | None, fewshot_seed: int
) -> HarnessTask:
    name, config, n_documents, why_not = head
    form.check(checked_name(name, "the name of a task"), config)
    with TemporaryDirectory() as folder:
        file = Path(folder, "documents.jsonl")
        file.write_text("".join(json.dumps(fields) + "\n" for _, fields, *_ in documents), encoding="utf-8")
        entry = sources.Entry(name, config, file.parent)
        data = sources.data_of(entry, {name: str(file)}, {})
        own = library.built(entry, data, fewshot, fewshot_seed)
    instances, without = (
        {doc: _read(name, own, doc, fields, asked[place])
         for doc, fields, *asked in documents if asked[place] is not None}
        for place in (0, 1)
    )  # fmt: skip
    chosen = {doc: fields for doc, fields, *_ in documents}
    return HarnessTask(name, own, chosen, n_documents, instances, without, why_not, config)


def _read(name: str, own: Any, doc: int, fields: Mapping[str, Any], asked: Sequence[Any]) -> list[Any]:
    from lm_eval.api.instance import Instance

    contexts, others = asked
    contexts = [each if isinstance(each, str) else Chat.of(each) for each in contexts]
    return [
        Instance(
            own.OUTPUT_TYPE, dict(fields), (contexts[min(place, len(contexts) - 1)], *more), place,
            metadata=(name, doc, repeats),
        )
        for place, (repeats, *more) in enumerate(others)
    ]  # fmt: skip
