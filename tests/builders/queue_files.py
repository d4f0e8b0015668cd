"""Review queues filled in like a reviewer with a spreadsheet does."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

Row = dict[str, str]
ACCEPT = {"decision": "accept", "reviewer": "ana"}
REJECT = {"decision": "reject", "reviewer": "ana", "note": "not so there"}
REVISE = {"decision": "revise", "reviewer": "ben", "note": "wording"}


def lines(path: Path) -> list[Row]:
    """Return the rows of a queue."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def decide(path: Path, *decisions: Row) -> list[Row]:
    """Fill in the first rows of a queue; return all of them."""
    return decide_each(path, lambda n, row: decisions[n] if n < len(decisions) else {})


def decide_each(path: Path, choose: Callable[[int, Row], Row]) -> list[Row]:
    """Fill in every row of a queue; return them."""
    rows = [row | choose(n, row) for n, row in enumerate(lines(path))]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return rows
