"""Reproduces table 2 of CulturALL (Lin et al. 2026), and its figures of accuracy by language, topic and
region.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from tasks.evaluations.culturall.items import CulturallItemRow
from tasks.evaluations.culturall.matching.choices import LETTERS
from tasks.packs.published import PublishedRow, Text, read_all, read_each, read_rows, validate
from tasks.papers.reproduction import (
    Files,
    Named,
    Numbers,
    Options,
    PrintedCell,
    RecomputedCell,
    Reproduction,
    SourceFiles,
    by_name,
    tried_field,
)  # fmt: skip

SOURCES = by_name(
    SourceFiles(
        "items",
        ("annotated_data.xlsx", "annotated_data_*.xlsx", "*annotated*.csv", "*items*.csv"),
        "as published (xlsx, or CSV of the same columns): language, region, topic, scenario, question, "
        "answer, explanation, eval_sum",
    ),
    SourceFiles(
        "answers",
        ("*answers*.csv", "*answers*.jsonl", "*answers*.json", "*answers*.xlsx"),
        "CSV, JSON or xlsx: setting (id of Table 2, or a name: --settings), item (row of the items, "
        "from 1), correct (true or false, empty: not judged); subset if there is no file of items",
        is_ours=True,
    ),
)
SUBSETS = {"easy": (10, 15), "medium": (5, 9), "hard": (0, 4)}
"""Difficulty -> least and greatest number of the 15 settings that solve its items."""
N_SETTINGS = 15
NO_FILE = "no published file has it"
NO_DIFFICULTY = "no item is known to have that difficulty"
LEVELS = ("language", "topic", "region")


class CulturallReproduced(Options):
    """Choices that the paper leaves open.

    Values of a list are tried in order until a cell's digits are met.
    """

    settings: dict[str, str] = Field({}, description="name of a setting in the files = its id in Table 2")
    unjudged: list[Literal["wrong", "left-out"]] = tried_field(
        ["wrong", "left-out"], "rule for an item on which a setting was not judged"
    )


class PublishedVerdict(PublishedRow):
    """Whether a setting's answer to an item is right; None: not judged."""

    setting: Text
    item: Annotated[int, Field(ge=1)]
    correct: bool | None = None
    subset: Literal["easy", "medium", "hard"] | None = None


@dataclass(frozen=True)
class PublishedTask:
    """One published item; an item that does not fit the columns has no language."""

    language: str = ""
    topic: str = ""
    region: str = ""
    is_choice: bool = False
    subset: str | None = None
    solved: int | None = None


@dataclass(frozen=True)
class CulturallFiles:
    """Contents of the files. tasks: number -> item. answers: setting -> number of an item -> is it right."""

    tasks: Mapping[int, PublishedTask]
    answers: Mapping[str, Mapping[int, bool | None]]
    has_answers: bool


def read(files: Files, options: CulturallReproduced) -> tuple[CulturallFiles, Sequence[str]]:
    """Read all files of the folder. Raises ValueError, which names the file and its fault."""
    # Items are numbered by published rows; a row that is left out keeps its number.
    notes: list[str] = []
    items = read_each(files["items"], read_rows, notes)
    rows = [_task(path, row) for path, file_rows in items.items() for row in file_rows]
    tasks = dict(enumerate(rows, 1))
    unread = sum(task.language == "" for task in rows)
    notes += [f"items: {unread} rows do not fit the columns and count only in ALL"] * bool(unread)
    answers: dict[str, dict[int, bool | None]] = {}
    subsets: dict[int, str] = {}
    verdicts, answer_notes = read_all(files["answers"], PublishedVerdict)
    for answer in verdicts:
        answers_of_setting = answers.setdefault(options.settings.get(answer.setting, answer.setting), {})
        if answer.item in answers_of_setting:
            raise ValueError(f"answers: setting {answer.setting} has item {answer.item} twice; remove one")
        answers_of_setting[answer.item] = answer.correct
        if answer.subset:
            subsets[answer.item] = answer.subset
    numbers = sorted({item for answers_of_setting in answers.values() for item in answers_of_setting})
    if not tasks:
        tasks = {n: PublishedTask(subset=subsets.get(n)) for n in numbers}
    elif unknown := [n for n in numbers if n not in tasks]:
        raise ValueError(
            f"answers: unknown item {unknown[0]}; known: 1 to {len(tasks)}, the rows of the items"
        )
    return CulturallFiles(_with_difficulty(tasks, answers), answers, bool(files["answers"])), [
        *notes,
        *answer_notes,
    ]


class CulturallNumbers(Numbers[CulturallFiles, CulturallReproduced]):
    """Accuracies in percent, and numbers of items."""

    @cached_property
    def known_names(self) -> Sequence[Named]:
        ids = {cell.parts["id"] for cell in self.tools.printed if "id" in cell.parts}
        return [Named("settings", self.content.answers, ids)]

    def _number(self, cell: PrintedCell) -> RecomputedCell:
        if cell.metric.startswith("Items"):
            return self._items(cell.parts["subset"], is_share=cell.metric.endswith("(%)"))
        if cell.metric != "Accuracy (%)" or "prompts" in cell.parts:
            return RecomputedCell(reason=NO_FILE)
        if not self.content.has_answers:
            return RecomputedCell(reason=SOURCES["answers"].missing)
        setting, subset = cell.parts.get("id", ""), cell.parts.get("subset", "")
        if setting not in self.content.answers:
            return RecomputedCell(reason="no answer of that setting (--settings NAME=ID)")
        chosen = [n for n, task in self.content.tasks.items() if subset in ("all", task.subset)]
        if not chosen:
            return RecomputedCell(reason=NO_DIFFICULTY)
        return self._accuracy(setting, chosen)

    def further(self) -> Iterator[tuple[PrintedCell, RecomputedCell]]:
        """Yield the accuracy of every setting by language, topic and region, and the mean of the 15 published
        settings, from each item's number of settings that solve it.
        """
        tasks = self.content.tasks
        for level in LEVELS:
            counts = Counter(str(getattr(task, level)) for task in tasks.values())
            for value in [value for value, _ in counts.most_common() if value]:
                chosen = [n for n, task in tasks.items() if getattr(task, level) == value]
                for setting in self.content.answers:
                    accuracy = self._accuracy(setting, chosen)
                    yield _cell(f"By {level}", f"setting {setting}", {level: value}), accuracy
        for subset in ("all", *SUBSETS):
            solved = [
                t.solved for t in tasks.values() if subset in ("all", t.subset) and t.solved is not None
            ]
            if solved:
                share = RecomputedCell(100 * float(np.mean(solved)) / N_SETTINGS, n=len(solved))
                yield _cell("Table 2", "mean of the settings", {"subset": subset}), share

    def _items(self, subset: str, is_share: bool) -> RecomputedCell:
        """Return the number of items of a difficulty, or their share of all in percent."""
        tasks = list(self.content.tasks.values())
        with_subset = [task for task in tasks if task.subset]
        if not tasks or (subset != "all" and not with_subset):
            return RecomputedCell(reason=SOURCES["items"].missing if not tasks else NO_DIFFICULTY)
        n = len(tasks) if subset == "all" else sum(task.subset == subset for task in with_subset)
        return RecomputedCell(100 * n / len(tasks) if is_share else float(n), n=len(tasks))

    def _accuracy(self, setting: str, chosen: Sequence[int]) -> RecomputedCell:
        """Return the accuracy in percent; the null is a random letter for multiple choice, else 0."""
        answers, tasks = self.content.answers[setting], self.content.tasks
        if self.options.unjudged[0] == "left-out":
            chosen = [n for n in chosen if answers.get(n) is not None]
        if not chosen:
            return RecomputedCell(reason=f"no judged answer of setting {setting}")
        right, guessed = (
            100 * float(np.mean(side))
            for side in (
                [bool(answers.get(n)) for n in chosen],
                [tasks[n].is_choice / len(LETTERS) for n in chosen],
            )
        )
        null = guessed if any(tasks[n].language for n in chosen) else None
        return RecomputedCell(right, null=null, null_name="guessed letters", n=len(chosen))


def _cell(table: str, model: str, parts: Mapping[str, str]) -> PrintedCell:
    return PrintedCell(table, model, parts, "Accuracy (%)", unit="percent")


def _task(path: Path, row: Mapping[str, object]) -> PublishedTask:
    """Return the item of a row; its difficulty may be in the name of the file."""
    name_match = re.search(r"_(easy|medium|hard)\b", path.stem)
    subset = name_match[1] if name_match else None
    try:
        ((item,), _) = validate(str(path), [row], CulturallItemRow)
    except ValueError:
        return PublishedTask(subset=subset)
    solved = None if item.eval_sum is None else round(item.eval_sum)
    if subset is None and solved is not None:
        subset = _subset(solved)
    return PublishedTask(item.language, item.topic, item.region, item.answer in LETTERS, subset, solved)


def _subset(solved: int) -> str:
    return next(name for name, (low, high) in SUBSETS.items() if low <= solved <= high)


def _with_difficulty(
    tasks: Mapping[int, PublishedTask], answers: Mapping[str, Mapping[int, bool | None]]
) -> Mapping[int, PublishedTask]:
    """Return the items with difficulty by the number of the 15 settings that solve each, if no file states
    it.
    """
    if len(answers) != N_SETTINGS or any(task.subset for task in tasks.values()):
        return tasks
    solved = {n: sum(bool(answered.get(n)) for answered in answers.values()) for n in tasks}
    return {n: replace(task, subset=_subset(solved[n])) for n, task in tasks.items()}


REPRODUCTION = Reproduction(
    title="CulturALL (Lin et al. 2026): accuracy by difficulty (Table 2), language, topic and region.",
    sources=SOURCES,
    options=CulturallReproduced,
    read=read,
    numbers=CulturallNumbers,
    further=tuple(f"By {level}" for level in LEVELS),
    examples=("--table 2", "--settings gemini-2.5-pro_auto_true=1", "--unjudged left-out"),
)
