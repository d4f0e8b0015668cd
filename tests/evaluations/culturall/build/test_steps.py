"""Every stage against a real server and a real warehouse, without Prefect: sources to a published version."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.build_culturall import build_culturall
from tasks.evaluations.culturall.build.params import CreateParams, ElevateParams, ReleaseParams
from tasks.evaluations.culturall.build.release import steps as release
from tasks.evaluations.culturall.items import load_items
from tasks.people.review_file import ReviewError
from tests.evaluations.culturall.build.model_server import SOLVERS, Models, is_odd, serving
from warehouse import Warehouse, run_checks

Pages = Callable[..., str]
Row = dict[str, Any]


@pytest.fixture
def models(warehouse: Warehouse) -> Iterator[Models]:
    models = Models()
    with serving(warehouse.home, models):
        yield models


def run(kind: type[Any], **given: Any) -> None:
    build_culturall.fn(kind.model_validate(given))


def create(**given: Any) -> None:
    run(CreateParams, **{"model": "writer", "solvers": list(SOLVERS)} | given)


def publish(folder: Path, queue: str = "review.csv", **given: Any) -> None:
    run(ReleaseParams, **{"model": "writer", "embedder": "", "queue": str(folder / queue)} | given)


def states(warehouse: Warehouse) -> Counter[str]:
    return Counter(warehouse.query("SELECT status FROM culturall_draft_state")["status"])


def lines(path: Path) -> list[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def decide(path: Path, choose: Callable[[int, Row], Row]) -> Path:
    """Fill in every row of a queue."""
    rows = [row | choose(n, row) for n, row in enumerate(lines(path))]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def accept(n: int, row: Row) -> Row:
    return {"decision": "accept", "reviewer": "ana"}


def test_from_excerpts_to_a_version(
    warehouse: Warehouse, models: Models, pages: Pages, tmp_path: Path
) -> None:
    create(pages=[pages(4)], examples=2)
    assert states(warehouse) == {"drafted": 20}
    assert Counter(models.kinds) == {"merges": 1, "examples": 16, "page": 20, "solve": 60}
    hard = dict(warehouse.query("SELECT draft, is_hard FROM culturall_draft_state").rows())
    by_scenario = {item.native.scenario: item for item in models.items}
    for draft, scenario in warehouse.query("SELECT draft, scenario FROM culturall_draft").rows():
        assert hard[draft] == (not is_odd(by_scenario[scenario]))  # good and half solve the odd ones
    create(pages=[pages(4)], examples=2)
    assert len(models.kinds) == 97  # nothing is asked again

    publish(tmp_path)
    assert states(warehouse) == {"review_waits": 20}
    queue = lines(tmp_path / "review.csv")
    assert {"JP", "KZ", "RU", "KH"} < {row["region"] for row in queue}
    assert all(row["scenario_en"] and row["solved"] in ("1 of 3", "2 of 3") for row in queue)
    assert warehouse.query("FROM culturall_release").is_empty()

    def choose(n: int, row: Row) -> Row:
        match n:
            case 0:
                return {"decision": "reject", "reviewer": "ana", "note": "not so there"}
            case 1:
                return accept(n, row) | {"decision": "revise", "note": "shorter", "explanation": "So it is."}
            case 2:
                return {}
        return accept(n, row)

    reviewed, n_pending = release.read_review(decide(tmp_path / "review.csv", choose))
    assert (len(reviewed.decisions), len(reviewed.revisions), n_pending) == (19, 1, 1)
    decided = {"accepted": 17, "revised": 1, "replaced": 1, "rejected": 1, "review_waits": 1}
    assert states(warehouse) == decided
    publish(tmp_path, "second.csv", out=str(tmp_path / "v1"))
    assert [row["draft"] for row in lines(tmp_path / "second.csv")] == [queue[2]["draft"]]
    shown = warehouse.query("FROM culturall_release").row(0, named=True)
    assert (shown["number"], shown["n_items"]) == (1, 18)
    counts = json.loads(shown["counts"])
    assert counts["origin"] == {"page": 18}
    assert sum(counts["difficulty"].values()) == 18
    text = (tmp_path / "v1" / "README.md").read_text()
    assert "| accepted | 17 | 89.5% | 75.0% |" in text
    assert "| rejected | 1 | 5.3% | 16.9% |" in text
    published = [json.loads(line) for line in (tmp_path / "v1" / "items.jsonl").read_text().splitlines()]
    loaded = load_items(published, "items.jsonl")
    assert (len(loaded.items), loaded.dropped) == (18, {})
    assert "So it is." in {item.native.explanation for item in loaded.items}
    # The same again is the same version; another decision makes another.
    publish(tmp_path, "third.csv")
    assert warehouse.query("SELECT count(*) FROM culturall_release").item() == 1
    release.read_review(decide(tmp_path / "second.csv", accept))
    publish(tmp_path, "fourth.csv")
    assert not (tmp_path / "fourth.csv").exists()  # nothing waits
    numbers = warehouse.query("SELECT number, n_items FROM culturall_release ORDER BY number").rows()
    assert numbers == [(1, 18), (2, 19)]
    assert run_checks(warehouse)["n_violations"].sum() == 0
