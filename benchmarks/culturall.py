"""Figures: planning and scoring CulturALL at its published size with all answers stored, and checking a
build's drafts with all labels and translations stored.

A fake engine answers and judges; items and drafts are synthetic.
"""

from __future__ import annotations

import csv
import os
import random
import time
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.process import Result, measure, peak, show
from benchmarks.sizes import Sizes
from warehouse import Warehouse, culturall_build

BAR_S = 30.0
RELEASE_BAR_S = 120.0
NOW = datetime(2026, 1, 1)
DIMENSIONS = 384
LANGUAGES = ("ar", "be", "bn", "en", "es", "ja", "kk", "km", "ko", "ms", "ru", "sr", "vi", "zh")
REGIONS = [f"{a}{b}" for a in "ABC" for b in "ABCDEFGHIJKLMNOPQ"]


def culturall(sizes: Sizes) -> None:
    """Print the seconds from the command to the leaderboard, without any model's time."""
    ours = measure(stored, n_items=sizes.tasks, n_models=sizes.settings)
    met = "met" if ours["seconds"] < BAR_S else "missed"
    show(
        f"culturall {sizes.tasks:,} items x {sizes.settings} settings and a judge, all stored: planned, "
        f"read, matched and scored in {ours['seconds']:.1f} s (CPU {ours['cpu']:.1f} s) {peak(ours)}; "
        f"bar {BAR_S:.0f} s: {met}"
    )


def culturall_release(sizes: Sizes) -> None:
    """Print the seconds from labelled drafts to the reviewers' queue file."""
    ours = measure(released, n=sizes.drafts)
    met = "met" if ours["seconds"] < RELEASE_BAR_S else "missed"
    show(
        f"culturall release {sizes.drafts:,} drafts, labels and vectors stored: checked and queued in "
        f"{ours['seconds']:.1f} s (CPU {ours['cpu']:.1f} s) {peak(ours)}, {ours['rejected']:,} rejected; "
        f"bar {RELEASE_BAR_S:.0f} s: {met}"
    )


def stored(n_items: int, n_models: int) -> Result:
    """Return the seconds of a run with all answers stored but no rows."""
    with TemporaryDirectory(prefix="culturemeter-bench-") as folder:
        os.environ["CULTUREMETER_HOME"] = folder
        return _stored(Path(folder), n_items, n_models)


def _stored(home: Path, n_items: int, n_models: int) -> Result:
    from flows.evaluation import evaluate
    from tasks.evaluations.culturall.evaluation import EVALUATION
    from tasks.evaluations.culturall.params import CulturallParams

    models = [f"fake-{n}" for n in range(n_models)]
    (home / "engines").mkdir()
    for name in (*models, "judge"):
        (home / "engines" / f"{name}.toml").write_text(f'kind = "fake"\nmodel = "{name}"\n')
    _write_items(home / "items.csv", n_items)
    profile = {"file": str(home / "items.csv"), "conditions": ["native"], "judges": ["judge"], "batch": 2048}
    params = CulturallParams.model_validate({"models": models, **profile})
    evaluate(EVALUATION, params)
    with Warehouse.open().write() as connection:
        connection.execute("UPDATE run_base SET status = 'running', finished_at = NULL")
        connection.execute("DELETE FROM metric_value_base")
        connection.execute("DELETE FROM cohort")
    start, cpu = time.perf_counter(), time.process_time()
    evaluate(EVALUATION, params)
    rows = Warehouse.open().query("SELECT count(*) FROM metric_value").item()
    assert rows > n_models
    return {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}


def _write_items(path: Path, n: int) -> None:
    """Write items with texts as long as the published ones; answers are letters, dates, weights and words."""
    with path.open("w", encoding="utf-8", newline="") as file:
        columns = ("language", "region", "topic", "scenario", "question", "answer", "explanation")
        writer = csv.writer(file)
        writer.writerow(columns)
        for i in range(n):
            language, region = LANGUAGES[i % len(LANGUAGES)], REGIONS[i % len(REGIONS)]
            options = "A. tea B. coffee C. cocoa D. water" if i % 4 == 0 else ""
            answer = ("ABCD"[i % 16 // 4], f"{i % 28 + 1}.03.2024", f"{i} kg", f"word {i}")[i % 4]
            text = f"Case {i} of a family. " * 12
            writer.writerow((language, region, "Food", text, f"What of {i}? {options}", answer, text))


def released(n: int) -> Result:
    """Return the seconds to check n drafts and to write those that wait for review to the queue."""
    from tasks.builders.culturall import steps
    from tasks.builders.culturall.params import ReleaseParams
    from tasks.builders.culturall.studies import check_study

    with TemporaryDirectory(prefix="culturemeter-bench-") as folder:
        os.environ["CULTUREMETER_HOME"] = folder
        warehouse = Warehouse.open()
        shipped = warehouse.query("FROM culturall_item ORDER BY item").to_dicts()
        drafts = [_draft(shipped[i % len(shipped)], i) for i in range(n)]
        culturall_build.add(warehouse, "culturall_draft", drafts)
        culturall_build.add(warehouse, "culturall_label", [_label(draft) for draft in drafts])
        vectors = np.random.default_rng(0).normal(size=(n, DIMENSIONS)).astype(np.float32)
        params = ReleaseParams.model_validate({"queue": f"{folder}/queue.csv"})
        start, cpu = time.perf_counter(), time.process_time()
        tables = {name: warehouse.query(sql).to_dicts() for name, sql in steps.CHECK.tables.items()}
        study = check_study(params, tables, {})
        steps.CHECK.save(study, {"made up": vectors[: len(study.rows)]}, {})
        steps.queue(params)
        spent = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
        states = "SELECT count(*) FROM culturall_draft_state WHERE status = 'rejected_by_checks'"
        rejected = warehouse.query(states).item()
    assert n // 100 <= rejected < n / 2  # planted faults are caught, and most other drafts pass
    return spent | {"rejected": rejected}


def _draft(item: dict[str, Any], i: int) -> dict[str, Any]:
    """Return a shipped item as a draft, its scenario's words (characters without spaces) shuffled.

    So drafts of an item share all words and are no near-duplicates. One of forty is a duplicate, and one
    reveals its answer.
    """
    cells = {name: item[name] for name in ("language", "region", "topic", "form", "variants")}
    for end in ("", "_en"):
        text = str(item[f"scenario{end}"])
        words = text.split(" ") if text.count(" ") > len(text) / 20 else list(text)
        random.Random(i if i % 40 else i - 340).shuffle(words)
        scenario = (" " if " " in text else "").join(words)
        cells[f"scenario{end}"] = f"{scenario} {item['answer']}" if i % 40 == 1 else scenario
    cells |= {name: item[name] for name in item if name.startswith(("question", "answer", "explanation"))}
    identity = {
        "draft": f"draft-{i}",
        "origin": "person",
        "author": "a",
        "author_kind": "person",
        "made_at": NOW,
    }
    source = {"source": "bench", "source_hash": str(i), "source_text": ""}
    return cells | identity | source | {"faults": [], "fault_details": []}


def _label(draft: dict[str, Any]) -> dict[str, Any]:
    """Return a label that agrees with the draft."""
    values = {name: draft[name] for name in ("draft", "region", "topic")} | {"content": "none", "author": "m"}
    back = {f"{name}_back": draft[name] for name in ("scenario", "question", "answer")}
    columns = {
        "prompt_hash": "p",
        "request_hash": "r",
        "response_items": [],
        "run_id": "x",
        "labelled_at": NOW,
    }
    return values | back | columns
