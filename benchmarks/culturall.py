"""Figure: planning and scoring the published size of CulturALL when every answer is stored already.

Answers and verdicts are a fake engine's; items are made up in the published number.
"""

from __future__ import annotations

import csv
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.process import Result, measure, peak, show
from benchmarks.sizes import Sizes
from warehouse import Warehouse

BAR_S = 30.0
LANGUAGES = ("ar", "be", "bn", "en", "es", "ja", "kk", "km", "ko", "ms", "ru", "sr", "vi", "zh")
REGIONS = [f"{a}{b}" for a in "ABC" for b in "ABCDEFGHIJKLMNOPQ"]


def culturall(sizes: Sizes) -> None:
    """Seconds from the command to the leaderboard, of which none is a model's."""
    ours = measure(stored, n_items=sizes.tasks, n_models=sizes.settings)
    met = "met" if ours["seconds"] < BAR_S else "missed"
    show(
        f"culturall {sizes.tasks:,} items x {sizes.settings} settings and a judge, all stored: planned, "
        f"read, matched and scored in {ours['seconds']:.1f} s (CPU {ours['cpu']:.1f} s) {peak(ours)}; "
        f"bar {BAR_S:.0f} s: {met}"
    )


def stored(n_items: int, n_models: int) -> Result:
    """Seconds of a run that has no answer left to ask for, and whose rows have yet to be made."""
    with TemporaryDirectory(prefix="culturescope-bench-") as folder:
        os.environ["CULTURESCOPE_HOME"] = folder
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
    asked = {"file": str(home / "items.csv"), "conditions": ["native"], "judges": ["judge"], "batch": 2048}
    params = CulturallParams.model_validate({"models": models, **asked})
    evaluate(EVALUATION, params)
    with Warehouse.open().write() as connection:
        connection.execute("UPDATE run SET status = 'running', finished_at = NULL")
        connection.execute("DELETE FROM metric_value")
        connection.execute("DELETE FROM cohort")
    began, cpu = time.perf_counter(), time.process_time()
    evaluate(EVALUATION, params)
    rows = Warehouse.open().query("SELECT count(*) FROM metric_value").item()
    assert rows > n_models
    return {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}


def _write_items(path: Path, n: int) -> None:
    """Texts as long as the published ones; a quarter of the answers is a letter, a quarter a date."""
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
