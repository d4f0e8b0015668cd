"""The ingest flow through the command line, against local servers and files."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import command, environment
from tests.http_server import Answer, Request, serving
from tests.ingest.conftest import attempts, dishes, items
from tests.scrapers.wikidata.servers import oxigraph, reply
from warehouse import Warehouse, run_checks

pytestmark = pytest.mark.slow

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
TURTLE = Path(__file__).parents[1] / "scrapers" / "wikidata" / "dishes.ttl"
CONTACT = "someone@example.org"


def write_dishes(file: Path, language: str, *names: str) -> None:
    """Write a file in FmLAMA's published format."""
    lines = [
        {"url": f"http://www.wikidata.org/entity/Q{number}", "origin": "Peru", "lang": language,
         "sub_label": name, "obj_label": ["fish", "lime"]}
        for number, name in enumerate(names, start=1)
    ]  # fmt: skip
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.heavy
def test_dishes_from_wikidata_are_stored_and_planned(
    culturemeter: Cli, culturemeter_process: Cli, home: Path
) -> None:
    with oxigraph(TURTLE.read_bytes()) as url:
        live = ("--live", "--endpoint", url, "--contact", CONTACT, "--minimum", "1", "--language", "en,ko")
        done = culturemeter_process("ingest", "--source", "wikidata", *live)
    warehouse = Warehouse.open(home)
    (row,) = attempts(warehouse)
    assert (row["status"], row["url"], row["message"]) == ("replaced", url, None)
    assert row["n_pages"] >= 5
    assert row["bytes"] > 1000
    rows = dishes(warehouse, "wikidata")
    assert {r["language"] for r in rows} == {"en", "ko"}
    assert row["n_kept"] == len({r["url"] for r in rows})
    assert f"{row['n_kept']}" in done.stdout
    # Each of the 33 dishes and their 3 classes is kept or dropped for one reason.
    dropped = json.loads(row["dropped"])
    reasons = {
        "no_origin", "origin_not_a_current_country", "several_origins", "no_ingredient", "unknown_value",
        "no_label",
    }  # fmt: skip
    assert sum(n for reason, n in dropped.items() if reason in reasons) + row["n_kept"] == 36
    assert all(dropped[reason] > 0 for reason in reasons)
    in_view = "SELECT count(*) FROM fmlama_dish WHERE dish_set = 'wikidata'"
    assert warehouse.query(in_view).item() == len(rows)
    assert run_checks(warehouse)["n_violations"].sum() == 0
    assert CONTACT.encode() not in warehouse.path.read_bytes()
    options = ("--dish-set", "wikidata", "--languages", "en", "--profile", "full", "--dry-run")
    plan = culturemeter("run", "fmlama", "-m", "fake-a", *options)
    n_english = sum(r["language"] == "en" for r in rows)
    planned = re.search(r"(\d+) dishes, ", plan.stdout)
    assert planned, plan.stdout
    assert 0 < int(planned[1]) <= n_english  # dishes of the 14 groups


def test_broken_line_in_a_file_changes_nothing(culturemeter: Cli, home: Path, tmp_path: Path) -> None:
    english, chinese = tmp_path / "en.jsonl", tmp_path / "zh.jsonl"
    write_dishes(english, "en", "ceviche", "tiradito")
    write_dishes(chinese, "zh", "酸橘汁腌鱼", "秘鲁生鱼片")
    files = ("--source", "fmlama", "--file", str(english), "--file", str(chinese))
    culturemeter("ingest", *files)
    warehouse = Warehouse.open(home)
    before = dishes(warehouse, "fmlama")
    assert [(r["language"], r["name"]) for r in before] == [
        ("en", "ceviche"), ("zh", "酸橘汁腌鱼"), ("en", "tiradito"), ("zh", "秘鲁生鱼片"),
    ]  # fmt: skip
    chinese.write_text(chinese.read_text() + '\n{"url": 1}\n')
    failed = culturemeter("ingest", *files, check=False)
    assert failed.returncode == 1
    assert f"{chinese}, line 4, field url" in " ".join(failed.stderr.split())
    assert "Traceback" not in failed.stderr + failed.stdout
    assert dishes(warehouse, "fmlama") == before
    assert [row["status"] for row in attempts(warehouse)] == ["replaced", "failed"]
    assert f"{chinese}, line 4" in attempts(warehouse)[1]["message"]
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_without_a_contact_no_live_source_is_requested(culturemeter: Cli, home: Path, tmp_path: Path) -> None:
    warehouse = Warehouse.open(home)
    before = items(warehouse, "currencies"), items(warehouse, "religions")
    failed = culturemeter("ingest", "--live", "--contact", "Jane <jane@example.org>", check=False)
    assert failed.returncode == 1
    assert failed.stderr.count("with --contact, or set CULTUREMETER_CONTACT") == 3
    assert "Traceback" not in failed.stderr + failed.stdout
    assert (items(warehouse, "currencies"), items(warehouse, "religions")) == before
    assert {(row["source"], row["status"]) for row in attempts(warehouse)} == {
        ("wikipedia-currencies", "failed"), ("wikipedia-religions", "failed"), ("wikidata", "failed"),
    }  # fmt: skip
    assert b"jane@example.org" not in warehouse.path.read_bytes()


@pytest.mark.heavy
def test_killed_ingest_changes_nothing_and_leaves_no_lock(
    culturemeter: Cli, home: Path, tmp_path: Path, prefect_api: str
) -> None:
    warehouse = Warehouse.open(home)
    published = warehouse.path.read_bytes()

    def silent(_: Request) -> Answer:
        server.hold()
        return reply(200)

    with serving(silent) as server:
        live = ("--live", "--endpoint", f"{server.address}/sparql", "--contact", CONTACT)
        process = subprocess.Popen(
            command("ingest", "--source", "wikidata", *live),
            env=environment(home, prefect_api), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        server.wait_until(lambda: server.received)
        process.kill()
        process.wait()
    assert warehouse.path.read_bytes() == published
    file = tmp_path / "en.jsonl"
    write_dishes(file, "en", "ceviche")
    culturemeter("ingest", "--source", "fmlama", "--file", str(file))  # no lock is left behind
    assert [row["source"] for row in attempts(warehouse)] == ["fmlama"]
