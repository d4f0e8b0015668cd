"""What the scoring figures ask: one spectral question, over the dish list."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl

from tasks.evaluations.spectral.requests import Question

REFERENCE = Path(__file__).parent.parent / "warehouse" / "reference"
QUESTION = "convenient_foods-1"


def items(limit: int | None = None) -> list[str]:
    """The dishes in code-point order, or a fixed random choice of ``limit`` of them."""
    every = sorted(_csv("item_list/dishes")["item"])
    return every if limit is None else sorted(random.Random(0).sample(every, limit))


def sample(n_items: int, size: int) -> list[int]:
    """A fixed random choice of places in the list, in order: what slow peers score."""
    return sorted(random.Random(1).sample(range(n_items), min(size, n_items)))


def prompts(n_countries: int = 1) -> list[str]:
    """The question on the first countries of the list."""
    rows = _csv("question").join(_csv("domain"), on="domain").filter(question=QUESTION)
    row = rows.with_columns(pl.col("variant").cast(int), pl.col("human_score").cast(float)).row(0, named=True)
    question = Question(**{name: row[name] for name in Question.__dataclass_fields__})
    return [question.prompt(name) for name in _csv("country")["name"][:n_countries]]


def _csv(name: str) -> pl.DataFrame:
    return pl.read_csv(REFERENCE / f"{name}.csv", infer_schema=False)
