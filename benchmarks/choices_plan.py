"""Figure: time to plan an evaluation of the recipe ``choice``, from its files to the parts to send."""

from __future__ import annotations

import csv
import io
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.process import Result, measure, peak, show
from benchmarks.sizes import Sizes
from warehouse import Warehouse

BAR_S = 1.0
OPTIONS, CLUSTERS = 4, 50
DEFINITION = """
recipe = "choice"
title = "A benchmark"
items = "items.csv"
prompt = "{{ question }}"
options = ["a", "b", "c", "d"]
answer = "answer"
question = ["question"]
cluster = "country"

[metric]
name = "accuracy"
bounds = [0, 1]
null = "best"

[profiles.all]
"""


def choices_plan(sizes: Sizes) -> None:
    """Print the seconds to read the definition and to plan the first round, with null models and controls."""
    ours = measure(plan, n_items=sizes.choices)
    met = "met" if ours["plan_seconds"] < BAR_S else "missed"
    show(
        f"{sizes.choices:,} items x {OPTIONS} options: definition {ours['read_seconds']:.2f} s, plan "
        f"{ours['plan_seconds']:.2f} s, {ours['cpu_seconds']:.2f} s of CPU in both {peak(ours)}; "
        f"{ours['n_units']:,} questions to send",
        f"bar {BAR_S:.0f} s for the plan: {met}",
    )


def plan(n_items: int) -> Result:
    """Read and plan an evaluation of ``n_items`` items in a new warehouse, without loading an engine."""
    with TemporaryDirectory(prefix="culturemeter-bench-") as folder:
        os.environ["CULTUREMETER_HOME"] = folder
        return _plan(Path(folder), n_items)


def _plan(home: Path, n_items: int) -> Result:
    from flows.session import prepare
    from tasks.evaluations.recipe import from_toml

    (home / "engines").mkdir()
    (home / "engines" / "fake-a.toml").write_text('kind = "fake"\nmodel = "a"\n')
    Warehouse.open(home)
    files = {"evaluation.toml": DEFINITION.encode(), "items.csv": _items(n_items).encode()}
    cpu, start = time.process_time(), time.perf_counter()
    evaluation, faults = from_toml("bench", lambda name: files[name])
    assert evaluation is not None, faults
    read = time.perf_counter() - start
    start = time.perf_counter()
    session = prepare(evaluation, evaluation.params(models=["fake-a"]))
    return {
        "read_seconds": read,
        "plan_seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "n_units": sum(line.left for line in session.plan.lines),
    }


def _items(n: int) -> str:
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(["item", "country", "question", *"abcd", "answer"])
    for item in range(n):
        options = [f"option {item % 97}-{option}" for option in range(OPTIONS)]
        question = f"Which of these belongs to number {item}, where the text is of about a sentence's length?"
        rows.writerow([f"i{item}", f"c{item % CLUSTERS}", question, *options, options[item % OPTIONS]])
    return text.getvalue()
