"""``reproduce worldwise`` on a folder laid out like a clone: the files it reads and the numbers it lacks."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.metrics.types import FloatArray
from tasks.papers.reproduction import PrintedCell, Tools, compare_cells, find_files
from tasks.papers.worldwise.reproduction import REPRODUCTION, UNPUBLISHED
from tests.papers import reproduced
from tests.papers.worldwise_clone import (
    DIMENSIONS,
    FIRST,
    MODELS,
    PHRASES,
    TARGETS,
    THRICE,
    VALUES,
    clone,
    exemplars,
    records,
    scenario_ids,
)

NAMES = {"United States": "US", "Japan": "JP", "India": "IN", "Mexico": "MX", "United Arab Emirates": "AE"}
TABLES: dict[str, Any] = {
    "country": [{"country": code, "name": name} for name, code in NAMES.items()],
    "culture_profile": [
        {"profile": "hofstede_published", "country": "US", "framework": "hofstede",
         "dimension": "masculinity", "score": 62.0}
    ],
    "guiding_value": [],
}  # fmt: skip
FEW = records(MODELS[:2], [f"{prefix}001" for prefix in DIMENSIONS.values()])


def embed(source: str, texts: Sequence[str]) -> FloatArray:
    """Return a vector of a text's letters, in which the order of words counts."""
    rows = np.zeros((len(texts), 32))
    for row, text in zip(rows, texts, strict=True):
        for place, char in enumerate(text):
            row[ord(char) % 32] += 1 + place / len(text)
    return rows


def cell(table: str, metric: str, text: str = "1.00", model: str = "", **parts: str) -> PrintedCell:
    return reproduced.printed(table, metric, model, text, **parts)


CELLS = [
    cell("4.1", "Alignment", culture="India"),
    cell("4.2", "dimension-level alignment score", culture="UAE", dimension="PDI"),
    cell("4.3", "Bias (Signed Mean)", dimension="IVR (Indulgence)"),
    cell("4.4", "Distance", culture="US"),
    cell("4.4", "Baseline Frequency", value=VALUES[0]),
    cell("4.6", "Stereotype Score", model="GPT-4o-mini"),
    cell("4.7", "Mean Alignment", scenario_id="LTO001"),
    cell("7.4", "normalized score", country="US", dimension="MAS"),
]


def values(path: Path, **options: Any) -> list[float | None]:
    return [n.value for n in reproduced.numbers(REPRODUCTION, path, CELLS, TABLES, embed, **options)]


def by_hand(path: Path) -> Path:
    """Return four CSV files with the content of the program's sources."""
    rows: dict[str, list[list[str]]] = {
        "scenarios.csv": [["scenario", "dimension"]],
        "exemplars.csv": [["dimension", "pole", "text"]],
        "profiles.csv": [["profile", "country", "framework", "dimension", "score"]],
        "phrases.csv": [["phrase"], *([phrase] for phrase in PHRASES)],
    }
    codes = {"US": "US", "Japan": "JP", "India": "IN", "Mexico": "MX", "UAE": "AE"}
    prefixes = {prefix: dimension for dimension, prefix in DIMENSIONS.items()}
    rows["scenarios.csv"] += [[name, prefixes[name[:-3]]] for name in scenario_ids()]
    rows["exemplars.csv"] += [
        [dimension, pole, text]
        for dimension, poles in exemplars().items()
        for pole, texts in poles.items()
        for text in texts
    ]
    rows["profiles.csv"] += [
        ["seed_bucketed", codes[culture], "hofstede", dimension, str(score)]
        for culture, scores in TARGETS.items()
        for dimension, score in zip(DIMENSIONS, scores, strict=True)
    ]
    path.mkdir()
    for name, some in rows.items():
        with (path / name).open("w", newline="") as file:
            csv.writer(file).writerows(some)
    (path / "results_1.json").write_text(json.dumps(FEW))
    return path


def test_programs_give_the_numbers_of_equal_csv_files(tmp_path: Path) -> None:
    own = values(clone(tmp_path / "clone", FIRST, FEW))
    assert None not in own
    assert own == pytest.approx(values(by_hand(tmp_path / "hand"), order=["explanation-decision-values"]))


def test_the_embedded_text_is_composed_as_in_the_program(tmp_path: Path) -> None:
    own = values(clone(tmp_path / "clone", THRICE, FEW))
    first = values(clone(tmp_path / "other", FIRST, FEW))
    assert own[0] != pytest.approx(first[0])
    assert own[4:6] == first[4:6]  # counts and phrases do not depend on it
    unread = clone(tmp_path / "unread", "        response_text = compose(parsed_response)\n", FEW)
    assert values(unread) == pytest.approx(first)  # the first order of the options


def test_other_orders_of_the_embedded_text_are_tried(tmp_path: Path) -> None:
    path = clone(tmp_path / "clone", "        response_text = compose(parsed_response)\n", FEW)
    wanted = values(path, order=["values-explanation-decision"], values_times=[3])[0]
    printed = cell("4.1", "Alignment", f"{wanted:.8f}", culture="India")
    options = REPRODUCTION.options()
    content, _ = REPRODUCTION.read(find_files(path, REPRODUCTION.sources), options)
    rows, n_tried = compare_cells(REPRODUCTION, content, options, Tools(TABLES, embed), [printed])
    needs = "--order values-explanation-decision --values-times 3"
    assert (rows[0].agreement, rows[0].needs) == ("equal", needs)
    assert n_tried > 1


def test_cells_without_published_data_have_a_reason_and_are_tried_once(tmp_path: Path) -> None:
    path = clone(tmp_path / "clone", FIRST, FEW)
    cells = [
        cell("4.1 Summary Scores", "Std Dev", "9.99", culture="India"),
        cell("4.2 Mean Dimension Alignment", "Std Dev", "9.99", dimension="Individualism (IDV)"),
        cell("4.4 Baseline Distance", "Distance", "9.99", culture="Mexico"),
        cell("4.4 Value Distribution", "Baseline Frequency", "99", value="Personal Autonomy"),
        cell("7.4 Country Profiles", "normalized score", "2.0", country="UAE", dimension="PDI"),
    ]
    options = REPRODUCTION.options()
    content, _ = REPRODUCTION.read(find_files(path, REPRODUCTION.sources), options)
    rows, n_tried = compare_cells(REPRODUCTION, content, options, Tools(TABLES, embed), cells)
    assert n_tried == 1
    assert [row.agreement for row in rows] == ["differs"] * 4 + ["not recomputed"]
    assert len({row.number.reason for row in rows}) == 5  # each row has another reason
    assert rows[-1].number.reason == UNPUBLISHED


def test_other_files_of_a_clone_are_skipped_or_read_with_a_note(tmp_path: Path) -> None:
    path = clone(tmp_path / "clone", FIRST, FEW)
    found = find_files(path, REPRODUCTION.sources)
    assert [file.name for file in found["answers"]] == ["results_20251122_172747.json"]
    assert {name for name, files in found.items() if not files} == {
        "scenarios", "exemplars", "phrases", "profiles", "values",
    }  # fmt: skip
    (path / "results" / "round").symlink_to(path)
    wanted = values(path)
    (path / "results" / "scenario_difficulty.csv").write_text("scenario_id,mean\nIND001,6\n")
    options = REPRODUCTION.options()
    _, notes = REPRODUCTION.read(find_files(path, REPRODUCTION.sources), options)
    assert notes[0].startswith("scenario_difficulty.csv is skipped, the program is read: ")
    (path / "results" / "scenario_difficulty.csv").unlink()
    (path / "results" / "results_20251201_000000.json").write_text('{"cells": []}')
    options = REPRODUCTION.options()
    _, notes = REPRODUCTION.read(find_files(path, REPRODUCTION.sources), options)
    assert notes[0].startswith("results_20251201_000000.json is skipped: ")
    assert values(path) == wanted
    (path / "results" / "results_20251201_000000.json").write_bytes(json.dumps(FEW[:6]).encode("utf-16"))
    content, notes = REPRODUCTION.read(find_files(path, REPRODUCTION.sources), options)
    assert content.answers is not None
    assert len(content.answers) == 6
    assert "2 files of answers: results_20251201_000000.json is read" in notes[-1]
    for file in (path / "results").glob("*.json"):
        file.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00")
    content, notes = REPRODUCTION.read(find_files(path, REPRODUCTION.sources), options)
    assert content.answers is not None
    assert len(content.answers) == len(FEW)  # from the CSV file beside it
    (path / "results" / "stereotype_phrases.txt").write_text("so they are")
    content, notes = REPRODUCTION.read(find_files(path, REPRODUCTION.sources), options)
    assert content.phrases == ["so they are"]
    assert any(note.startswith("stereotype_phrases.txt is read instead of the program") for note in notes)
    shutil.rmtree(path / "results")
    _, notes = REPRODUCTION.read(find_files(path, REPRODUCTION.sources), options)
    assert notes == []
