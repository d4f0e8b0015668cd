"""build_specnorm through the command line, against a real server that writes drafts."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from scrapers.countries import CountryCodes
from tasks.evaluations.cure.benchmarks import load_specnorm
from tasks.packs.published import read_rows
from tests.builders.specnorm.drafting_server import Scene, drafting, good
from tests.conftest import command, environment
from warehouse import Warehouse, run_checks

pytestmark = pytest.mark.slow

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
PROVENANCE = """
SELECT i.seed, i.reviewer, d.model, d.prompt_hash, r.text, run.evaluation, run.engine->>'kind' AS kind
FROM specnorm_item AS i JOIN specnorm_draft AS d USING (draft)
JOIN response AS r ON r.request_hash = d.request_hash AND r.item = d.response_item
JOIN run ON run.run_id = d.run_id
"""


def decide(path: Path, decisions: list[dict[str, str]]) -> None:
    """Fill in the first rows of a queue, as a reviewer would."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row, cells in zip(rows, decisions, strict=False):
        row |= cells
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def words(text: str) -> str:
    return " ".join(text.split())


def test_from_seeds_to_published_items(
    culturescope: Cli, culturescope_process: Cli, home: Path, tmp_path: Path
) -> None:
    """Of 12 seeds, each whose statement has an even number of letters gets an answer without its cues."""
    warehouse, queue, out = Warehouse.open(home), tmp_path / "queue.csv", tmp_path / "published.csv"

    def is_bad(norm: str) -> bool:
        return len(norm) % 2 == 0

    def writer(scene: Scene) -> object:
        return good(scene) | ({"persona": "Sam is tall."} if is_bad(scene.norm) else {})

    with drafting(writer) as server:
        server.write_spec(home, "writer")
        asked = ("specnorm", "build", "-m", "writer", "--n", "12", "--queue", str(queue))
        plan = culturescope(*asked, "--dry-run")
        assert "12 of 12" in plan.stderr
        assert "$0." in plan.stderr
        assert "no_cue 1" in plan.stderr
        assert server.scenes == []
        built = culturescope_process(*asked)
        assert len(server.scenes) == 12
        names = dict(warehouse.query("SELECT name, country FROM country").rows())
        assert {scene.country for scene in server.scenes} <= set(names)
        bad = sum(is_bad(scene.norm) for scene in server.scenes)
        assert 0 < bad < 12
        counts = dict(warehouse.query("SELECT status, count(*) FROM specnorm_draft GROUP BY status").rows())
        assert counts == {"queued": 12 - bad, "rejected_by_checks": bad}
        assert f"│ rejected_by_checks │ cue_not_named │ {bad:>8} │" in built.stdout
        assert "12/12" in built.stderr  # the bar
        again = culturescope(*asked, check=False)
        assert (again.returncode, len(server.scenes)) == (1, 12)
        assert "exists and may hold decisions" in words(again.stderr)
        # A larger build asks for its new seeds alone; who waits already is in the new queue as well.
        culturescope(*asked[:5], "13", "--queue", str(tmp_path / "second.csv"))
        assert len(server.scenes) == 13
    revise = {"decision": "revise", "reviewer": "ben", "note": "shorter"}
    decide(
        queue,
        [
            {"decision": "accept", "reviewer": "ana"},
            revise | {"question": "Is this all right there?"},
            {"decision": "reject", "reviewer": "ana", "note": "not so"},
            revise | {"question": "Why?"},
        ],
    )
    reviewed = culturescope("specnorm", "review", str(queue), "--out", str(out), check=False)
    assert reviewed.returncode == 1  # the last one cannot be published as it is
    assert "not_a_yes_no_question" in words(reviewed.stderr)
    assert "published: 2 of 3,766 items, 2 of 145 countries" in words(reviewed.stderr)
    loaded = load_specnorm({str(out): read_rows(out)}, CountryCodes(names))
    assert (len(loaded.items), loaded.dropped) == (2, {})
    assert "Is this all right there?" in {item.extra["question"] for item in loaded.items}
    rows = warehouse.query(PROVENANCE).to_dicts()
    assert {row["reviewer"] for row in rows} == {"ana", "ben"}
    assert {(row["model"], row["evaluation"], row["kind"]) for row in rows} == {
        ("writer", "build_specnorm", "openai")
    }
    assert all(json.loads(row["text"])["label"] in ("yes", "no") for row in rows)
    status = json.loads(culturescope("specnorm", "status", "--format", "json").stdout)
    assert sum(row["n_drafts"] for row in status) == 13
    assert {"accepted", "revised", "rejected", "queued"} <= {row["status"] for row in status}
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy
def test_a_killed_build_goes_on(culturescope: Cli, home: Path, tmp_path: Path, prefect_api: str) -> None:
    """20 drafts in batches of 8, killed at the 12th: the 8 of the first batch are not asked again."""
    victims: list[subprocess.Popen[bytes]] = []

    def writer(scene: Scene) -> object:
        if victims and len(server.scenes) == 12:
            victims[0].kill()
        return good(scene)

    queue = tmp_path / "queue.csv"
    arguments = ("specnorm", "build", "-m", "writer", "--n", "20", "--queue", str(queue))
    with drafting(writer) as server:
        server.write_spec(home, "writer")
        Warehouse.open(home)
        victims.append(
            subprocess.Popen(
                command(*arguments),
                env=environment(home, prefect_api), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
        )  # fmt: skip
        assert victims[0].wait() == -9
        victims.clear()
        warehouse = Warehouse.open(home)
        assert warehouse.query("FROM specnorm_draft").is_empty()
        assert not queue.exists()
        n_asked = len(server.scenes)
        culturescope(*arguments)
        assert len(server.scenes) == n_asked + 12
    assert warehouse.query("SELECT count(*) FROM specnorm_draft WHERE status = 'queued'").item() == 20
    assert len(read_rows(queue)) == 20
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy
def test_a_budget_and_an_engine_that_writes_nonsense(culturescope: Cli, home: Path, tmp_path: Path) -> None:
    warehouse, queue = Warehouse.open(home), tmp_path / "queue.csv"
    with drafting(good) as server:
        server.write_spec(home, "writer")
        asked = ("specnorm", "build", "-m", "writer", "--n", "20", "--queue", str(queue))
        # A draft may take 1,700 tokens and takes 1,400: one batch of 8 fits ($0.014), a second does not.
        stopped = culturescope(*asked, "--max-usd", "0.02", check=False)
        assert stopped.returncode == 1
        assert "the budget is reached" in words(stopped.stderr)
        assert "Traceback" not in stopped.stderr + stopped.stdout
        assert len(server.scenes) == 8
        assert warehouse.query("FROM specnorm_draft").is_empty()
        assert not queue.exists()
    nonsense = culturescope("specnorm", "build", "-m", "fake-a", "--n", "3", "--queue", str(queue))
    assert "no queue was written" in words(nonsense.stderr)
    assert not queue.exists()
    assert warehouse.query("SELECT DISTINCT status FROM specnorm_draft")["status"].to_list() == [
        "rejected_by_checks"
    ]
