"""Figure: time and memory to export pending prompts to a folder, and to import their answers."""

from __future__ import annotations

import csv
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.process import Result, measure, peak, show
from benchmarks.sizes import Sizes

BAR_S, BAR_BYTES = 60.0, 10**9
CLUSTERS = 50
MODELS = ("served", "smollm2-135m-vllm")
"""A model behind a server, and one with weights, whose prompts become tokens here."""
DEFINITION = """
recipe = "short_answer"
title = "A benchmark"
items = "items.csv"
prompt = "{{ question }}"
accepted = "accepted"
match = "contains"
cluster = "country"

[metric]
name = "accuracy"
bounds = [0, 1]
null = 0

[profiles.all]
"""
QUESTION = (
    "What do people here call item {item}, where the question is about as long as a sentence? One word."
)


def pending(sizes: Sizes) -> None:
    """Print a line for the export and one for the import, for each model."""
    for model in MODELS:
        with TemporaryDirectory(prefix="culturemeter-bench-") as home:
            measure(prepare, home=home, n=sizes.pending)
            for name, function in (("export", exported), ("import", imported)):
                result = measure(function, home=home, model=model)
                met = result["cpu"] < BAR_S and result["peak_bytes"] < BAR_BYTES
                show(
                    f"{name} of {result['n']:,} prompts to {model}: {result['seconds']:.0f} s, "
                    f"{result['cpu']:.0f} s of CPU {peak(result)}; bar {BAR_S:.0f} s, "
                    f"{BAR_BYTES / 1e9:.0f} GB: {'met' if met else 'missed'}"
                )


def prepare(home: str, n: int) -> Result:
    """Make a home with an evaluation of n items, a model behind a server that nobody reaches, and weights."""
    from tasks.engines.local import embedded
    from warehouse import Warehouse

    cache = Warehouse.open().home / "models"
    embedded.prepare(MODELS[1].removesuffix("-vllm"), cache)
    Warehouse.open(Path(home))
    (Path(home) / "models").symlink_to(cache)
    for folder in ("engines", "packs/bench"):
        (Path(home) / folder).mkdir(parents=True, exist_ok=True)
    engine = 'kind = "openai"\nmodel = "served"\nbase_url = "http://127.0.0.1:9/v1"\nreasoning = "none"\n'
    (Path(home) / "engines" / "served.toml").write_text(engine)
    (Path(home) / "packs/bench/evaluation.toml").write_text(DEFINITION)
    with (Path(home) / "packs/bench/items.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["item", "country", "question", "accepted"])
        rows.writerows(
            [f"i{item}", f"c{item % CLUSTERS}", QUESTION.format(item=item), f"word {item}"]
            for item in range(n)
        )
    return {}


def exported(home: str, model: str) -> Result:
    """Export all requests, and answer them in the form of a batch's results."""
    os.environ["CULTUREMETER_HOME"] = home
    from deployments.evaluations import evaluation
    from flows.pending import export
    from flows.session import prepare
    from tasks.pending.folder import Folder

    own, folder = evaluation("bench"), Path(home) / "away"
    sizes, result = timed(lambda: export([prepare(own, own.params(models=[model]))], Folder(folder)))
    (folder / "answers").mkdir()
    (engine,) = Folder(folder).manifest()["engines"].values()
    stated = {name: engine[name] for name in ("dtype", "weights")} if engine["weights"] else None
    for name in sizes.files:
        with (folder / "requests" / name).open() as asked, (folder / "answers" / name).open("w") as answers:
            answers.writelines(_answer(line, stated) for line in asked)
    return result | {"n": sum(sizes.files.values())}


def imported(home: str, model: str) -> Result:
    """Import the answers, and compute the numbers."""
    os.environ["CULTUREMETER_HOME"] = home
    from deployments.evaluations import evaluation
    from flows.pending import take_in
    from tasks.pending.folder import Folder

    taken, result = timed(lambda: take_in(Folder(Path(home) / "away"), evaluation))
    assert taken.finished, taken
    return result | {"n": taken.stored}


def timed(call: Callable[[], Any]) -> tuple[Any, Result]:
    """Return a call's value, and its seconds by the clock and of the processor."""
    start, cpu = time.perf_counter(), time.process_time()
    value = call()
    return value, {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}


def _answer(line: str, stated: Result | None) -> str:
    asked = json.loads(line)
    body = {
        "model": "served",
        "choices": [
            {"message": {"content": f"A word of number {hash(line) % 1000}."}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 40, "completion_tokens": 8},
    }
    answer = {"custom_id": asked["custom_id"], "response": {"status_code": 200, "body": body}, "error": None}
    return json.dumps(answer | ({"engine": stated} if stated else {})) + "\n"
