"""A whole run on a real warehouse with fake models and a fake judge: the loop, without a Prefect server.

Six dishes in two languages, code-switching, both conditions; ``tests/flows`` has a server.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.evaluation import evaluate
from flows.session import prepare
from tasks.engines import load
from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import Generation
from tasks.evaluations.fmlama.evaluation import EVALUATION
from tasks.evaluations.fmlama.params import FmlamaParams
from tasks.evaluations.fmlama.study import FmlamaStudy
from tests.evaluations.fmlama.conftest import DISHES, MEXICAN, dish_rows
from warehouse import Warehouse, replace_dish_set

TINY = DISHES | {"Q5": MEXICAN, "Q6": ("Italy", "pizza", "cheese salt", "披萨", "奶酪 盐")}  # a second pizza
WORDS = "5 2\ncheese 1 0\nflour 0 1\nrice 0.6 0.8\n米 1 0\n盐 0 1\n"
CONDITIONS = {"en:en:no", "en:en:yes", "zh:zh:no", "zh:zh:yes", "en:zh:no", "zh:en:no"}

Finished = tuple[Warehouse, FmlamaParams, list[str]]


def params(home: Path, **more: Any) -> FmlamaParams:
    chosen: dict[str, Any] = {
        "models": ["fake-a", "fake-b"], "dish_set": "tiny", "languages": ["en", "zh"], "variants": [1, 2],
        "code_switching": True, "word_vectors": str(home / "words.vec"),
        "judges": ["fake-b"], "judged_dishes_per_origin": 1,
    }  # fmt: skip
    return FmlamaParams(**chosen | more)


def study_of(params: FmlamaParams) -> FmlamaStudy:
    """Return the study of these params."""
    study = prepare(EVALUATION, params).study
    assert isinstance(study, FmlamaStudy)
    return study


def run(params: FmlamaParams) -> str:
    """Run the evaluation and return its config_hash."""
    return evaluate(EVALUATION, params)


@contextmanager
def empty_home(home: Path) -> Iterator[Warehouse]:
    """Yield a warehouse with the six dishes, two fake models and word vectors."""
    (home / "engines").mkdir()
    for name in ("fake-a", "fake-b"):
        (home / "engines" / f"{name}.toml").write_text(f'kind = "fake"\nmodel = "{name}"\n')
    (home / "words.vec").write_text(WORDS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTUREMETER_HOME", str(home))
        warehouse = Warehouse.open()
        rows = [r | {"materials": [], "image": None} for r in dish_rows(TINY)]
        replace_dish_set(warehouse, "tiny", pl.DataFrame(rows), "a test", {})
        yield warehouse
        load.unload()


@contextmanager
def finished_run(home: Path) -> Iterator[Finished]:
    """Yield a warehouse after one run, its params, and the judge's prompts."""
    sent: list[str] = []
    generate = FakeEngine.generate

    def recorded(self: FakeEngine, conversations: Any, *more: Any) -> list[Generation]:
        sent.extend(json.dumps([dict(m) for m in c]) for c in conversations)
        return generate(self, conversations, *more)

    with empty_home(home) as warehouse, pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeEngine, "generate", recorded)
        chosen = params(home)
        run(chosen)
        yield warehouse, chosen, sent
