"""Builds through the command line and Prefect: a scripted server drafts, a fake model gives nonsense."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from scrapers.countries import CountryCodes
from tasks.evaluations.cure.published import load_specnorm
from tasks.packs.published import read_rows
from tests.builders.queue_files import ACCEPT, REJECT, REVISE, decide
from tests.builders.specnorm.drafting_server import Scene, drafting, good
from tests.conftest import command, environment, prefect_post
from tests.waiting import until
from warehouse import Warehouse, run_checks

pytestmark = pytest.mark.slow

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
BUILD = ("specnorm", "build", "-m", "writer")
PROVENANCE = """
SELECT i.reviewer, d.model, run.evaluation, run.status, run.engine->>'kind' AS kind, r.text
FROM specnorm_item AS i JOIN specnorm_draft AS d USING (draft)
JOIN response AS r ON r.request_hash = d.request_hash AND r.item = d.response_item
JOIN run ON run.run_id = d.run_id
"""


def words(text: str) -> str:
    return " ".join(text.split())


def test_specnorm_build_goes_from_seeds_to_published_items(
    culturemeter: Cli, home: Path, tmp_path: Path
) -> None:
    """Of 12 seeds, those with an even number of letters in the statement get a draft without their cues."""
    warehouse, queue, out = Warehouse.open(home), tmp_path / "queue.csv", tmp_path / "published.csv"

    def is_bad(norm: str) -> bool:
        return len(norm) % 2 == 0

    def writer(scene: Scene) -> object:
        return good(scene) | ({"persona": "Sam is tall."} if is_bad(scene.norm) else {})

    with drafting(home, writer) as scenes:
        plan = culturemeter(*BUILD, "--n", "12", "--queue", str(queue), "--dry-run")
        assert all(part in plan.stdout for part in ("12 of 12", "$0.", "no_cue 1"))
        assert scenes == []
        built = culturemeter(*BUILD, "--n", "12", "--queue", str(queue))
        assert len(scenes) == 12
        bad = sum(is_bad(scene.norm) for scene in scenes)
        assert 0 < bad < 12
        counts = dict(warehouse.query("SELECT status, count(*) FROM specnorm_draft GROUP BY status").rows())
        assert counts == {"queued": 12 - bad, "rejected_by_checks": bad}
        assert f"│ rejected_by_checks │ cue_not_named │ {bad:>8} │" in built.stdout
        assert "12/12" in built.stderr  # the progress bar
        again = culturemeter(*BUILD, "--n", "12", "--queue", str(queue), check=False)
        assert (again.returncode, len(scenes)) == (1, 12)
        assert "exists and may hold decisions" in words(again.stderr)
        # A larger build drafts only its new seeds; the new queue also has the drafts that already wait.
        culturemeter(*BUILD, "--n", "13", "--queue", str(tmp_path / "second.csv"))
        assert len(scenes) == 13
    shorter = {"question": "Is this all right there?"}
    decide(queue, ACCEPT, REVISE | shorter, REJECT, REVISE | {"question": "Why?"})
    reviewed = culturemeter("specnorm", "review", str(queue), "--out", str(out), check=False)
    assert reviewed.returncode == 1  # the last row cannot be published unchanged
    assert "not_a_yes_no_question" in words(reviewed.stderr)
    assert "published: 2 of 3,766 items, 2 of 145 countries" in words(reviewed.stderr)
    names = dict(warehouse.query("SELECT name, country FROM country").rows())
    loaded = load_specnorm({str(out): read_rows(out)}, CountryCodes(names))
    assert (len(loaded.items), loaded.dropped) == (2, {})
    assert shorter["question"] in {item.extra["question"] for item in loaded.items}
    rows = [
        (*row, json.loads(text)["label"] in ("yes", "no"))
        for *row, text in warehouse.query(PROVENANCE).rows()
    ]
    same = ("writer", "build_specnorm", "finished", "openai", True)
    assert sorted(rows) == [("ana", *same), ("ben", *same)]
    status = json.loads(culturemeter("specnorm", "status", "--format", "json").stdout)
    assert sum(row["n_drafts"] for row in status) == 13
    assert {"accepted", "revised", "rejected", "queued"} <= {row["status"] for row in status}
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_culturall_build_is_a_prefect_run_and_a_second_one_requests_nothing(
    culturemeter: Cli, home: Path, tmp_path: Path, prefect_api: str
) -> None:
    """Nonsense drafts are stored with their faults."""
    pages = tmp_path / "pages.jsonl"
    lines = [{"text": f"In Britain the post comes {n} times a day, and never on Sundays."} for n in range(3)]
    pages.write_text("".join(json.dumps(line) + "\n" for line in lines))
    build = ("culturall", "build", "--model", "fake-a", "--pages", str(pages))
    culturemeter(*build)
    warehouse = Warehouse.open(home)
    assert warehouse.query("SELECT count(*) FROM culturall_draft").item() == 3
    run = warehouse.query("SELECT evaluation, status, model FROM run").rows()
    assert run == [("build_culturall", "finished", "fake-a")]
    assert "0 of 3" in words(culturemeter(*build).stderr)
    assert warehouse.query("SELECT count(*) FROM response").item() == 3
    flows = prefect_post(prefect_api, "/flows/filter", {})
    assert "build_culturall" in {flow["name"] for flow in flows}
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy
def test_killed_build_resumes_with_the_next_batch(
    culturemeter: Cli, home: Path, tmp_path: Path, prefect_api: str
) -> None:
    """20 drafts in batches of 8, killed at the 12th: the 8 of the first batch are not requested again."""
    victims: list[subprocess.Popen[bytes]] = []

    def writer(scene: Scene) -> object:
        if victims and len(scenes) == 12:
            until(lambda: Warehouse.open(home).query("SELECT count(*) FROM response").item() == 8)
            victims[0].kill()
        return good(scene)

    queue = tmp_path / "queue.csv"
    build = (*BUILD, "--n", "20", "--queue", str(queue))
    with drafting(home, writer) as scenes:
        warehouse, quiet = Warehouse.open(home), subprocess.DEVNULL
        victims.append(
            subprocess.Popen(command(*build), env=environment(home, prefect_api), stdout=quiet, stderr=quiet)
        )
        assert victims[0].wait() == -9
        victims.clear()
        assert warehouse.query("FROM specnorm_draft").is_empty()
        assert not queue.exists()
        n_asked = len(scenes)
        culturemeter(*build)
        assert len(scenes) == n_asked + 12
    assert warehouse.query("SELECT count(*) FROM specnorm_draft WHERE status = 'queued'").item() == 20
    assert len(read_rows(queue)) == 20
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy
def test_build_stops_at_its_budget_and_writes_no_queue_of_nonsense(
    culturemeter: Cli, home: Path, tmp_path: Path
) -> None:
    warehouse, queue = Warehouse.open(home), tmp_path / "queue.csv"
    with drafting(home, good) as scenes:
        # A draft may use 1,700 tokens and uses 1,400: one batch of 8 fits ($0.014), a second does not.
        build = (*BUILD, "--n", "20", "--queue", str(queue), "--max-usd", "0.02")
        stopped = culturemeter(*build, check=False)
        assert stopped.returncode == 1
        assert "the budget is reached" in words(stopped.stderr)
        assert "Traceback" not in stopped.stderr + stopped.stdout
        assert len(scenes) == 8
    assert warehouse.query("FROM specnorm_draft").is_empty()
    assert not queue.exists()
    nonsense = culturemeter("specnorm", "build", "-m", "fake-a", "--n", "3", "--queue", str(queue))
    assert "no queue was written" in words(nonsense.stderr)
    assert not queue.exists()
    assert set(warehouse.query("SELECT status FROM specnorm_draft")["status"]) == {"rejected_by_checks"}
