"""A whole run on a real warehouse with fake models and a fake judge, without Prefect.

Six dishes in two languages, code-switching, both conditions. Tasks are called by their own functions, so that
no Prefect server is needed; ``tests/flows`` has one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tasks import steps as shared
from tasks.engines import load
from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import Generation
from tasks.evaluations.fmlama import steps
from tasks.evaluations.fmlama.judge import steps as judge_steps
from tasks.evaluations.fmlama.params import FmlamaParams
from tasks.evaluations.fmlama.requests import Study
from tasks.generation.steps import answers
from tests.evaluations.fmlama.conftest import DISHES, MEXICAN, dish_rows
from warehouse import Warehouse, replace_dish_set

TINY = DISHES | {"Q5": MEXICAN, "Q6": ("Italy", "pizza", "cheese salt", "披萨", "奶酪 盐")}  # a second pizza
WORDS = "5 2\ncheese 1 0\nflour 0 1\nrice 0.6 0.8\n米 1 0\n盐 0 1\n"
CONDITIONS = {"en:en:no", "en:en:yes", "zh:zh:no", "zh:zh:yes", "en:zh:no", "zh:en:no"}


def scored(study: Study, models: Sequence[str] = ("fake-a", "fake-b")) -> int:
    """What the flow does; returns how many units were scored."""
    pairs, n = [], 0
    for spec in map(shared.spec_of, models):
        units = steps.plan(study, spec)
        run = steps.start_run.fn(study, spec)
        for unit in units:
            steps.score_unit.fn(spec, run, unit, "label", 1, study.params.refresh)
        pairs.append((run, spec))
        n += len(units)
    steps.score_metrics.fn(study, pairs)
    return n


def params(home: Path, **more: Any) -> FmlamaParams:
    chosen = {
        "models": ["fake-a", "fake-b"], "dish_set": "tiny", "languages": ["en", "zh"], "variants": [1, 2],
        "code_switching": True, "word_vectors": str(home / "words.vec"), "bootstrap": 20,
        "judge": "fake-b", "judged_dishes_per_origin": 1,
    }  # fmt: skip
    return FmlamaParams(**chosen | more)


Finished = tuple[Warehouse, Study, list[str]]


@contextmanager
def finished_run(home: Path) -> Iterator[Finished]:
    """A warehouse after one run, its study, and what the judge was asked."""
    (home / "engines").mkdir()
    for name in ("fake-a", "fake-b"):
        (home / "engines" / f"{name}.toml").write_text(f'kind = "fake"\nmodel = "{name}"\n')
    (home / "words.vec").write_text(WORDS)
    asked: list[str] = []
    answer = FakeEngine.generate

    def generate(self: FakeEngine, conversations: Any, *more: Any) -> list[Generation]:
        asked.extend(json.dumps([dict(m) for m in c]) for c in conversations)
        return answer(self, conversations, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTURESCOPE_HOME", str(home))
        patch.setattr(judge_steps, "answers", answers.fn)
        patch.setattr(FakeEngine, "generate", generate)
        warehouse = Warehouse.open()
        rows = [r | {"materials": [], "image": None} for r in dish_rows(TINY)]
        replace_dish_set(warehouse, "tiny", pl.DataFrame(rows), "a test", {})
        study = steps.build(params(home))
        scored(study)
        yield warehouse, study, asked
        load.unload()
