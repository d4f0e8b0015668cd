"""After kill -9 in each stage the same command resumes and repeats at most the batches in flight."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders.culturall.model_server import Models, serving
from tests.builders.queue_files import ACCEPT, decide_each
from tests.conftest import command, environment
from warehouse import Warehouse, run_checks

pytestmark = [pytest.mark.slow, pytest.mark.heavy]

BATCH = 2
SOLVERS = ("good", "half", "bad")
IN_FLIGHT = BATCH * (len(("writer", *SOLVERS, "judge")) + 1)
"""Number of prompts that a kill may lose: a batch of each engine at work, and one that is being stored."""
Pages = Callable[..., str]


class Killer(Models):
    """Models that kill the running process at the n-th prompt of a kind."""

    def __init__(self, languages: str) -> None:
        super().__init__(languages)
        self.victim: subprocess.Popen[bytes] | None = None
        self.kind, self.n = "", 0

    def reply(self, number: int, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Implement ``Models``."""
        answer = super().reply(number, request)
        if self.victim and self.kinds.count(self.kind) >= self.n:
            self.victim.kill()
        return answer


def start(home: Path, *arguments: str) -> subprocess.Popen[bytes]:
    line = command("culturall", *arguments, "--batch", str(BATCH), "--no-server")
    pipes: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(line, env=environment(home, None), **pipes)


def test_build_killed_in_each_stage_resumes_without_repeats(
    warehouse: Warehouse, pages: Pages, tmp_path: Path
) -> None:
    models, home = Killer("ja kk"), warehouse.home
    harder, queue = tmp_path / "harder.csv", tmp_path / "review.csv"
    writer, solvers = ("--model", "writer"), ("--solvers", ",".join(SOLVERS), "--judges", "judge")

    def n_stored() -> int:
        return int(warehouse.query("SELECT count(*) FROM response").item())

    def run_killed(kinds: dict[str, int], *arguments: str) -> None:
        """Kill at the n-th prompt of each kind, then run to the end; no stored answer is repeated."""
        asked, stored = len(models.kinds), n_stored()
        for kind, n in kinds.items():
            models.kind, models.n = kind, models.kinds.count(kind) + n
            models.victim = start(home, *arguments)
            assert models.victim.wait(timeout=600) == -9, kind
        models.victim = None
        asked_at_death, stored_at_death = len(models.kinds), n_stored()
        again = start(home, *arguments)
        _, errors = again.communicate(timeout=600)
        assert again.returncode == 0, errors.decode()
        assert len(models.kinds) - asked_at_death == n_stored() - stored_at_death
        assert len(models.kinds) - asked <= n_stored() - stored + IN_FLIGHT * len(kinds)
        assert run_checks(warehouse)["n_violations"].sum() == 0

    with serving(home, models):
        build = ("build", *writer, *solvers, "--pages", pages(3, "ja kk"), "--examples", "1")
        run_killed({"examples": 5, "page": 4, "solve": 5, "judge": 5}, *build)
        assert warehouse.query("SELECT count(*) FROM culturall_draft").item() == 6
        assert warehouse.query("SELECT count(*) FROM culturall_measure").item() == 18
        run_killed({"elevate": 1}, "elevate", *writer, *solvers, "--queue", str(harder))
        assert harder.exists()
        run_killed({"label": 3, "translate": 3}, "release", *writer, "--embedder", "", "--queue", str(queue))
        decide_each(queue, lambda n, row: ACCEPT)
        assert start(home, "release", "--embedder", "", "--queue", str(tmp_path / "x.csv")).wait() == 0
        reviewed = subprocess.run(command("culturall", "review", str(queue)), env=environment(home, None))
        assert reviewed.returncode == 0
        out = ("release", "--embedder", "", "--queue", str(tmp_path / "y.csv"), "--out", str(tmp_path / "v1"))
        assert start(home, *out).wait() == 0
    assert warehouse.query("SELECT n_items FROM culturall_release").item() == 6
    assert (tmp_path / "v1" / "README.md").exists()
