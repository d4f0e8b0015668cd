"""A whole build with the embedded model, from 30 excerpts to a queue; most drafts are rejected."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders.culturall.model_server import rows
from warehouse import Warehouse, run_checks

pytestmark = [pytest.mark.slow, pytest.mark.heavy]

N = 30


def test_build_of_30_excerpts_with_smollm2_explains_every_rejection(
    culturemeter_process: Callable[..., subprocess.CompletedProcess[str]],
    home: Path,
    models_cache: Path,
    tmp_path: Path,
) -> None:
    pytest.importorskip("vllm", reason="the extra [cpu] or [gpu] is not installed")
    (home / "models").symlink_to(models_cache)
    facts = [f"{row['fact']} {row['explanation_en']}" for row in rows("ja kk ru es km vi")[::4]][:N]
    pages = tmp_path / "pages.jsonl"
    pages.write_text("".join(json.dumps({"text": text, "language": "en"}) + "\n" for text in facts))
    model = "smollm2-135m-vllm"
    short = ("--max-tokens", "256", "--batch", "30", "--no-server")
    culturemeter_process(
        "culturall", "build", "--model", model, "--pages", str(pages), "--solvers", model, *short
    )
    queue = tmp_path / "review.csv"
    culturemeter_process("culturall", "release", "--model", model, "--queue", str(queue), *short)
    warehouse = Warehouse.open(home)
    states = dict(
        warehouse.query("SELECT status, count(*) FROM culturall_draft_state GROUP BY status").rows()
    )
    assert sum(states.values()) == N
    assert set(states) <= {"rejected_by_checks", "review_waits", "too_easy"}
    assert states["rejected_by_checks"] > N / 2
    rejected = "SELECT draft FROM culturall_draft_state WHERE status = 'rejected_by_checks'"
    unexplained = f"""
    {rejected} AND draft NOT IN (SELECT draft FROM culturall_draft WHERE len(faults) > 0)
        AND draft NOT IN (SELECT draft FROM culturall_check WHERE reason <> '' AND NOT is_doubt)
    """
    assert warehouse.query(unexplained).is_empty()
    assert queue.exists() == ("review_waits" in states)
    assert run_checks(warehouse)["n_violations"].sum() == 0
