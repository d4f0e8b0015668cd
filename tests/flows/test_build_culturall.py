"""build_culturall as a flow: a run in Prefect, and in the warehouse."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import prefect_post
from warehouse import Warehouse, run_checks

pytestmark = pytest.mark.slow

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


def test_a_build_is_a_run_in_prefect(
    culturescope: Cli, culturescope_process: Cli, home: Path, tmp_path: Path, prefect_api: str
) -> None:
    """The fake model writes nonsense: its drafts are stored with their faults; a second build asks none."""
    pages = tmp_path / "pages.jsonl"
    lines = [{"text": f"In Britain the post comes {n} times a day, and never on Sundays."} for n in range(3)]
    pages.write_text("".join(json.dumps(line) + "\n" for line in lines))
    build = ("culturall", "build", "--model", "fake-a", "--pages", str(pages))
    culturescope_process(*build)
    warehouse = Warehouse.open(home)
    assert warehouse.query("SELECT count(*) FROM culturall_draft").item() == 3
    run = warehouse.query("SELECT evaluation, status, model FROM run").rows()
    assert run == [("build_culturall", "finished", "fake-a")]
    asked = warehouse.query("SELECT count(*) FROM response").item()
    again = culturescope(*build)
    assert "0 of 3" in " ".join(again.stderr.split())
    assert warehouse.query("SELECT count(*) FROM response").item() == asked == 3
    flows = prefect_post(prefect_api, "/flows/filter", {})
    assert "build_culturall" in {flow["name"] for flow in flows}
    assert run_checks(warehouse)["n_violations"].sum() == 0
