"""Numbers of patterns among countries by the reference lists."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np

from tasks.metrics.spectral import effective_rank, eigenvalues
from tasks.metrics.types import FloatArray

REFERENCE = Path(__file__).parents[3] / "warehouse" / "reference"


@cache
def table(name: str) -> list[dict[str, str]]:
    """Return rows of a reference table."""
    with (REFERENCE / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def of_lists(lists: Iterable[str]) -> FloatArray:
    """Return countries x items: 1 where the country has the item. lists: of each item, codes joined by |."""
    columns = [set(countries.split("|")) for countries in lists if countries]
    names = sorted(set().union(*columns))
    return np.array([[name in column for column in columns] for name in names], dtype=np.float64)


def countries_x_items(domain: str) -> FloatArray:
    """Return countries x items of a domain; a list without countries is the same for all countries."""
    (of_domain,) = {row["item_list"] for row in table("domain") if row["domain"] == domain}
    lists = [row["countries"] for row in table(f"item_list/{of_domain}")]
    return of_lists(lists) if any(lists) else np.ones((len(table("country")), 1))


def most_have_their_own(rows: FloatArray) -> bool:
    """Return whether there are more patterns than half the countries, which the survey calls many."""
    return effective_rank(eigenvalues(rows)) > len(rows) / 2


@cache
def are_many(domain: str) -> bool:
    """Return whether a domain has many patterns, by its reference list."""
    return most_have_their_own(countries_x_items(domain))
