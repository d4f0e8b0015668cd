"""A local server for every model of a build: it drafts, solves, labels and translates the shipped items.

An excerpt is the fact behind a shipped item; the draft made from the excerpt is that item.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tasks.evaluations.culturall.items import CulturallItem, load_items
from tasks.evaluations.culturall.matching.choices import options
from tests.engines.served import Scripted, completion

SAMPLE = Path(__file__).parents[3] / "warehouse" / "reference" / "culturall_item"
SOLVERS = ("good", "half", "bad")
"""The first solves everything, the second every other item, the last nothing."""

Row = dict[str, str]


def rows(languages: str = "ja kk ru es km") -> list[Row]:
    """Return shipped items of some languages, with their facts."""
    shipped: list[Row] = []
    for language in languages.split():
        with (SAMPLE / f"{language}.csv").open(encoding="utf-8", newline="") as file:
            shipped += list(csv.DictReader(file))
    return shipped


def items(languages: str = "ja kk ru es km") -> list[CulturallItem]:
    """Return the shipped rows as items, in the order of the files."""
    shipped = rows(languages)
    by_id = {item.item: item for item in load_items(shipped, "sample").items}
    return [by_id[row["item"]] for row in shipped]


def is_odd(item: CulturallItem) -> bool:
    """Return whether the solver ``half`` solves the item."""
    return len(item.native.scenario) % 2 == 1


class Models:
    """Models whose answers depend only on the prompt; ``spoil(kind, item, fields)`` may change an answer."""

    def __init__(self, languages: str = "ja kk ru es km") -> None:
        self.spoil: Callable[[str, CulturallItem, dict[str, Any]], object] = lambda kind, item, fields: fields
        self.kinds: list[str] = []
        shipped = rows(languages)
        self.items = items(languages)
        by_id = {item.item: item for item in self.items}
        self.by_text = {row["fact"]: by_id[row["item"]] for row in shipped}
        for item in self.items:
            english = item.english or item.native
            self.by_text |= dict.fromkeys([item.native.scenario, english.scenario], item)
            self.by_text |= {_asked(item.native.question): item}
        self.others = dict(zip(by_id, [*self.items[1:], self.items[0]], strict=True))

    def reply(self, number: int, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Implement ``Scripted``."""
        system, user = request["messages"][0]["content"], request["messages"][-1]["content"]
        data = [json.loads(text) for text in re.findall(r"<data>(.*?)</data>", user)]
        kind, item, fields = self._written(request["model"], system, user, data)
        self.kinds.append(kind)
        answer = self.spoil(kind, item, fields) if item else fields
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        return 200, completion(text)

    def _written(
        self, model: str, system: str, user: str, data: list[Any]
    ) -> tuple[str, CulturallItem | None, Any]:
        if user.startswith("Use the situation"):
            item = self.by_text[re.findall(r"Situation: (.*)\n\nQuestion:", user, re.DOTALL)[0]]
            knows = model == "good" or (model == "half" and is_odd(item))
            return "solve", item, item.native.answer if knows else "I don't know."
        if "mark answers" in system:
            verdict = "CORRECT" if data[-1] in (data[2], *data[3]) else "INCORRECT"
            reason = "same answer" if verdict == "CORRECT" else "another answer"
            return "judge", None, {"prediction": {"verdict": verdict, "reason": reason}}
        if "Propose what to merge" in system:
            merge = {"topics": ["Pets", "Habitat"], "name": "Home", "description": "Where one lives."}
            wrong = {"topics": ["Pets", "Mars"], "name": "x", "description": "y"}
            return "merges", None, {"merges": [merge, wrong]}
        if "list of examples" in system:
            return "examples", None, {"examples": [f"What {data[0]} costs", "Typical breakfast foods"]}
        if system.startswith("You label"):
            item = self.by_text[data[1]]
            return "label", item, {"region": item.region, "topic": item.topic, "content": "none"}
        if system.startswith("You translate"):
            item = self.by_text[data[0]]
            texts = item.english if " to English." in system else item.native
            assert texts
            return "translate", item, texts._asdict()
        if system.startswith("You make an item harder"):
            item = self.others[self.by_text[data[0][0].removeprefix("scenario: ")].item]
            return "elevate", item, fields_of(item)
        item = self.by_text[data[1]]
        return ("page" if system.startswith("You read") else "dataset"), item, fields_of(item)


def fields_of(item: CulturallItem) -> dict[str, Any]:
    """Return an item's fields in a drafting model's format."""
    texts = item.native
    return {
        **texts._asdict(),
        "question": _asked(texts.question) if item.form == "choice" else texts.question,
        "options": list(options(texts.question).values()) if item.form == "choice" else [],
    }


def with_texts(item: CulturallItem, **texts: str) -> CulturallItem:
    """Return the item with other native texts."""
    return replace(item, native=item.native._replace(**texts))


def _asked(question: str) -> str:
    return re.split(r"\s*(?<![^\W_])[AА]\s*[.):、]", question)[0].strip()


@contextmanager
def serving(home: Path, models: Models) -> Iterator[Scripted]:
    """Serve the models and write the engine specs writer, judge and ``SOLVERS``."""
    server = Scripted(models.reply)
    for name in ("writer", "judge", *SOLVERS):
        (home / "engines" / f"{name}.toml").write_text(
            f'kind = "openai"\nmodel = "{name}"\nbase_url = "{server.url}"\n'
            "usd_per_million_input_tokens = 1.0\nusd_per_million_output_tokens = 1.0\n"
        )
    try:
        yield server
    finally:
        server.close()
