"""Writes items as tasks of lm-evaluation-harness: YAML, JSON Lines beside it, and a page that explains both.

No text of an item stands in a template: the YAML names columns, so braces in a text stay braces, and there
is no code. Each task is written twice: with one text for a base model, and ``_chat`` for a model with a
template.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.json
import yaml

VERSION = "0.4.13"
"""Version of the harness whose behaviour is tested."""
CHAT = "_chat"

ENDS, MARKS = r"\A\s+|\s+\Z", r"[\s\u3001\u3002\uff08\uff09\uff0e\uff1a]+"
"""Patterns for ``Task.ignored``: white space around a text; all of it, and marks that are not ASCII."""


@dataclass(frozen=True)
class Doc:
    """One item.

    Attributes:
        prompt: the whole text for a base model. user, system: the same as a conversation; system may be "".
        answer: the right option, from 0, or several; for texts the accepted ones. options: (): the task's.
        fields: further columns, for slices and clusters.
    """

    item: str
    prompt: str
    answer: int | Sequence[int] | Sequence[str]
    user: str = ""
    system: str = ""
    options: Sequence[str] = ()
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """A task to write.

    Attributes:
        ours: the number of our own run that it equals, in words, with the differences.
        metric: acc or acc_norm of options, exact_match of texts.
        options: the options of all documents; (): each has its own. begun: text with which the answer begins.
        delimiter: between prompt and option for base models.
        ignored: pattern of what is no part of a text; case and ASCII punctuation never are.
        max_tokens: of a text. shapes: "base", "chat" or both.
    """

    name: str
    docs: Sequence[Doc]
    ours: str
    metric: str = "acc"
    options: Sequence[str] = ()
    begun: str = ""
    delimiter: str = " "
    ignored: str = ENDS
    max_tokens: int = 64
    shapes: tuple[str, ...] = ("base", "chat")

    @property
    def writes(self) -> bool:
        """Return whether a model writes a text."""
        return self.metric == "exact_match"


@dataclass(frozen=True)
class Exported:
    """Tasks of one evaluation, with what the page about them says. left_out: what is not asked -> why."""

    title: str
    tasks: Sequence[Task]
    licences: Sequence[str] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    config: str = ""


def files(exported: Exported) -> Iterator[tuple[str, str]]:
    """Yield (file name, text) of every task and of the page about them.

    Raises:
        ValueError: there is no task, two have one name, or the harness's reader would change a text.
    """
    names = [task.name for task in exported.tasks]
    if len(set(names)) < len(names):
        raise ValueError(f"two tasks are called {max(names, key=names.count)!r}")
    for task in exported.tasks:
        lines = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in map(_row(task), task.docs))
        _check(task, lines)
        yield f"{task.name}.jsonl", lines
        for shape in task.shapes:
            config = _config(task, shape)
            text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=110)
            yield f"{config['task']}.yaml", text
    yield "README.md", readme(exported)


def accepted(letter: str, texts: Iterable[str]) -> list[str]:
    """Return what names an option: its letter, its text in any language, or both."""
    return list(dict.fromkeys([letter, *(form for text in texts for form in (text, f"{letter}. {text}"))]))


def task_name(*parts: str) -> str:
    """Return a name that is safe as a file, an option and a key."""
    return "_".join(re.sub(r"[^a-z0-9]+", "_", part.lower()).strip("_") for part in ("culturemeter", *parts))


_OWN = frozenset({"item", "prompt", "system", "user", "options", "answer", "begun"})


def _row(task: Task) -> Any:
    def row(doc: Doc) -> dict[str, Any]:
        own: dict[str, Any] = {"item": doc.item}
        if "base" in task.shapes:
            own["prompt"] = doc.prompt + (" " if task.begun else "")
        if "chat" in task.shapes:
            own |= {"system": doc.system, "user": doc.user}
        if not task.options and not task.writes:
            own["options"] = list(doc.options)
        answer = doc.answer if isinstance(doc.answer, int) else list(doc.answer)
        own |= {"answer": answer} | ({"begun": task.begun} if task.begun else {})
        return own | {name: text for name, text in doc.fields.items() if name not in _OWN}

    return row


def _check(task: Task, lines: str) -> None:
    """Raise ValueError if the harness's reader of JSON Lines takes a column of texts for times."""
    if not lines:
        raise ValueError(f"{task.name}: it has no item")
    schema = pyarrow.json.read_json(
        pa.BufferReader(lines.encode()), pyarrow.json.ReadOptions(block_size=len(lines.encode()) + 1)
    ).schema
    for column in schema:
        kind = column.type.value_type if pa.types.is_list(column.type) else column.type
        if pa.types.is_temporal(kind):
            raise ValueError(
                f"{task.name}: every text of {column.name!r} is a date, which the harness reads as a time: "
                "write one of them in words"
            )


def _config(task: Task, shape: str) -> dict[str, Any]:
    """Return a task's settings: names of columns, and no text of an item but the options of all items."""
    is_chat = shape == "chat"
    metric: dict[str, Any] = {"metric": task.metric, "aggregation": "mean", "higher_is_better": True}
    own: dict[str, Any] = {
        "task": task.name + (CHAT if is_chat else ""),
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": f"{task.name}.jsonl"}},
        "test_split": "test",
        "output_type": "generate_until" if task.writes else "multiple_choice",
        **({"description": "system"} if is_chat else {}),
        "doc_to_text": "user" if is_chat else "prompt",
        **({} if task.writes else {"doc_to_choice": list(task.options) or "options"}),
        "doc_to_target": "answer",
        **({"gen_prefix": "begun"} if task.begun else {}),
        "target_delimiter": "" if is_chat or task.begun else task.delimiter,
        "num_fewshot": 0,
    }
    if task.writes:
        stops: list[str] = [] if is_chat else ["\n"]
        own["generation_kwargs"] = {"until": stops, "do_sample": False, "max_gen_toks": task.max_tokens}
        metric |= {"ignore_case": True, "ignore_punctuation": True, "regexes_to_ignore": [task.ignored]}
    return own | {"metric_list": [metric], "metadata": {"version": 1}}


def readme(exported: Exported) -> str:
    """Return the page about the tasks: how to run them, what they measure, licences, what is left out."""
    rows = "\n".join(
        f"| `{task.name}` | {len(task.docs)} | {task.metric} | {_cell(task.ours)} |"
        for task in exported.tasks
    )
    first = exported.tasks[0]
    lines = [
        f"lm_eval --model hf --model_args pretrained=MODEL --tasks {first.name}{end} --include_path ."
        f"{' --apply_chat_template' if end else ''} --log_samples --output_path logs"
        for end in ([""] if "base" in first.shapes else []) + ([CHAT] if "chat" in first.shapes else [])
    ]
    licences = "\n".join(f"- {_cell(each)}" for each in exported.licences) or "- none is stated"
    left_out = "\n".join(f"- {_cell(what)}: {_cell(why)}" for what, why in exported.left_out.items())
    commands = "\n".join(lines)
    return f"""# {_cell(exported.title)}

Tasks for lm-evaluation-harness (tested with {VERSION}), written by Culturemeter. Run them in this folder:

```console
{commands}
```

A task whose name ends in `{CHAT}` is for models with a chat template, and needs `--apply_chat_template`; one
without it is for base models. `culturemeter run harness --tasks {first.name}.yaml` (with `--chat` for the
other) runs them here, and `culturemeter import logs` reads the harness's logs.

| task | items | metric | our own number |
| --- | --- | --- | --- |
{rows}

Equality needs the same weights, precision and template. Where the tokenizer would merge the end of a prompt
with the start of an option, our engines tokenise them apart, and the harness does not. A text ends after
64 tokens; a model that thinks first needs more: `--gen_kwargs max_gen_toks=4096`.

Configuration of the items here: `{exported.config}`.

## Licences of the items

{licences}

## Left out

{left_out or "- nothing"}
"""


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").replace("`", "'").replace("<", "&lt;").split())
