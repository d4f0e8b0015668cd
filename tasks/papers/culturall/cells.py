"""Table 2 of CulturALL (Lin et al. 2026), and accuracy by language, topic and region, which it draws."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from tasks.evaluations.culturall.items import ItemRow
from tasks.evaluations.culturall.matching import LETTERS
from tasks.packs.published import PublishedRow, Text, read_all, read_rows, validate
from tasks.papers.reproduction import Files, Options, Printed, Recomputed, Source, Tools, tried

SOURCES = {
    source.name: source
    for source in (
        Source(
            "items",
            ("annotated_data.xlsx", "annotated_data_*.xlsx", "*annotated*.csv", "*items*.csv"),
            "as published (xlsx, or CSV of the same columns): language, region, topic, scenario, question, "
            "answer, explanation, eval_sum",
        ),
        Source(
            "answers",
            ("*answers*.csv", "*answers*.jsonl", "*answers*.json", "*answers*.xlsx"),
            "CSV, JSON or xlsx: setting (id of Table 2, or a name: --settings), item (row of the items, "
            "from 1), correct (true or false, empty: not judged); subset where there are no items",
            is_ours=True,
        ),
    )
}
SUBSETS = {"easy": (10, 15), "medium": (5, 9), "hard": (0, 4)}
"""How many of the 15 settings solve an item of each."""
N_SETTINGS = 15
LEVELS = ("language", "topic", "region")


class CulturallReproduced(Options):
    """How files become numbers. Lists are tried in their order, until a cell's digits are met."""

    settings: dict[str, str] = Field({}, description="setting in the files = its id in Table 2")
    unjudged: list[Literal["wrong", "left-out"]] = tried(
        ["wrong", "left-out"], "an item that a setting was not judged on"
    )


class JudgedAnswer(PublishedRow):
    """Whether a setting's answer to an item is right; None: not judged."""

    setting: Text
    item: Annotated[int, Field(ge=1)]
    correct: bool | None = None
    subset: Literal["easy", "medium", "hard"] | None = None


@dataclass(frozen=True)
class Task:
    """An item; ``subset`` and ``solved`` where they are published."""

    language: str
    topic: str
    region: str
    is_choice: bool
    subset: str | None
    solved: int | None


@dataclass(frozen=True)
class Content:
    """Items by their number, and setting -> item -> whether it was solved."""

    tasks: Mapping[int, Task]
    answers: Mapping[str, Mapping[int, bool | None]]
    has_answers: bool


def read(files: Files, options: CulturallReproduced) -> tuple[Content, Sequence[str]]:
    """All files of the folder. Raises ValueError, which names the file and what is wrong with it."""
    notes: list[str] = []
    tasks: dict[int, Task] = {}
    for path in files["items"]:
        # Numbers are of rows as published: one that is left out keeps its own.
        for row in read_rows(path):
            tasks[len(tasks) + 1] = _task(path, row)
    unread = sum(task.language == "" for task in tasks.values())
    if unread:
        notes.append(f"items: {unread} rows do not fit the columns and count in ALL alone")
    answers: dict[str, dict[int, bool | None]] = {}
    subsets: dict[int, str] = {}
    judged, of_answers = read_all(files["answers"], JudgedAnswer)
    for answer in judged:
        of = answers.setdefault(options.settings.get(answer.setting, answer.setting), {})
        if answer.item in of:
            raise ValueError(f"answers: setting {answer.setting} has item {answer.item} twice; leave one")
        of[answer.item] = answer.correct
        if answer.subset:
            subsets[answer.item] = answer.subset
    if not tasks:
        numbers = sorted({item for of in answers.values() for item in of})
        tasks = {n: Task("", "", "", False, subsets.get(n), None) for n in numbers}
    elif beyond := {item for of in answers.values() for item in of} - tasks.keys():
        raise ValueError(
            f"answers: item {min(beyond)} is none of the {len(tasks)} items; count their rows from 1"
        )
    return Content(_with_difficulty(tasks, answers), answers, bool(files["answers"])), [*notes, *of_answers]


def cells(
    content: Content, options: CulturallReproduced, tools: Tools, printed: Sequence[Printed]
) -> list[Recomputed]:
    """A number for each printed cell; options that are tried have one value."""
    return [_cell(cell, content, options) for cell in printed]


def further(content: Content, options: CulturallReproduced, tools: Tools) -> list[tuple[Printed, Recomputed]]:
    """Accuracy of every setting by language, topic and region, and the mean of the 15 published settings, of
    which the items say how many solve each."""
    rows = []
    for level in LEVELS:
        counts = Counter(str(getattr(task, level)) for task in content.tasks.values())
        for value in [value for value, _ in counts.most_common() if value]:
            chosen = [n for n, task in content.tasks.items() if getattr(task, level) == value]
            for setting in content.answers:
                about = Printed(
                    f"By {level}", f"setting {setting}", {level: value}, "Accuracy (%)", "", None, "percent"
                )
                rows.append((about, _accuracy(content, setting, chosen, options)))
    for subset in ("all", *SUBSETS):
        chosen = [n for n, t in content.tasks.items() if subset in ("all", t.subset) and t.solved is not None]
        if chosen:
            solved = [content.tasks[n].solved or 0 for n in chosen]
            about = Printed(
                "Table 2", "mean of the settings", {"subset": subset}, "Accuracy (%)", "", None, "percent"
            )
            rows.append((about, Recomputed(100 * float(np.mean(solved)) / N_SETTINGS, n=len(chosen))))
    return rows


def _cell(cell: Printed, content: Content, options: CulturallReproduced) -> Recomputed:
    if not content.has_answers:
        return Recomputed(reason=SOURCES["answers"].missing)
    setting, subset = cell.parts.get("id", ""), cell.parts.get("subset", "")
    if setting not in content.answers:
        return Recomputed(reason="no answer of that setting (--settings NAME=ID)")
    chosen = [n for n, task in content.tasks.items() if subset in ("all", task.subset)]
    if not chosen:
        return Recomputed(reason="no item is known to be of that difficulty")
    return _accuracy(content, setting, chosen, options)


def _accuracy(
    content: Content, setting: str, chosen: Sequence[int], options: CulturallReproduced
) -> Recomputed:
    """In percent; null: a letter at random where there are letters to choose from, else nothing right."""
    of = content.answers[setting]
    if options.unjudged[0] == "left-out":
        chosen = [n for n in chosen if of.get(n) is not None]
    if not chosen:
        return Recomputed(reason=f"no judged answer of setting {setting}")
    right = [bool(of.get(n)) for n in chosen]
    guessed = [content.tasks[n].is_choice / len(LETTERS) for n in chosen]
    is_known = any(content.tasks[n].language for n in chosen)
    null = 100 * float(np.mean(guessed)) if is_known else None
    return Recomputed(
        100 * float(np.mean(right)), null=null, null_name="guessed letters" * is_known, n=len(chosen)
    )


def _task(path: Path, row: Mapping[str, object]) -> Task:
    """An item; one that does not fit the columns has no language."""
    named = re.search(r"_(easy|medium|hard)\b", path.stem)
    try:
        ((item,), _) = validate(str(path), [row], ItemRow)
    except ValueError:
        return Task("", "", "", False, named[1] if named else None, None)
    solved = None if item.eval_sum is None else round(item.eval_sum)
    subset = named[1] if named else None
    if subset is None and solved is not None:
        subset = next(name for name, (low, high) in SUBSETS.items() if low <= solved <= high)
    return Task(item.language, item.topic, item.region, item.answer in LETTERS, subset, solved)


def _with_difficulty(
    tasks: Mapping[int, Task], answers: Mapping[str, Mapping[int, bool | None]]
) -> Mapping[int, Task]:
    """Where nothing says how difficult items are, by how many of all 15 settings solve each."""
    if len(answers) != N_SETTINGS or any(task.subset for task in tasks.values()):
        return tasks
    solved = {n: sum(bool(of.get(n)) for of in answers.values()) for n in tasks}
    names = {k: name for name, (low, high) in SUBSETS.items() for k in range(low, high + 1)}
    return {
        n: Task(t.language, t.topic, t.region, t.is_choice, names[solved[n]], t.solved)
        for n, t in tasks.items()
    }
