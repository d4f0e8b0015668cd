"""The page's pack of three files, end to end on a scripted server: conditions, turns, repetitions, score."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tasks.engines.specs import TRUST
from tests.conftest import REPOSITORY, environment
from tests.deployments.commands import call, refused
from tests.engines.served import Scripted, completion
from warehouse import Warehouse

pytestmark = [pytest.mark.slow, pytest.mark.heavy]

PAGE = (REPOSITORY / "docs" / "add-an-evaluation.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("### Conditions, turns")[2].partition("\n### ")[0]
WORDS = {"Japan": "konnichiwa", "France": "bonjour", "Peru": "buenos"}
N = 6 * 2 * 2
"""Items, conditions and repetitions."""


def files() -> dict[str, str]:
    """Return the pack's files as the page shows them."""
    kinds = {"toml": "evaluation.toml", "csv": "items.csv", "python": "score.py"}
    shown = dict(re.findall(r"^```(toml|csv|python)\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL))
    return {file: shown[kind] for kind, file in kinds.items()}


def reply(request: dict[str, Any]) -> dict[str, Any]:
    """Greet in the first answer; in the second only as somebody who grew up there."""
    system, *_ = (m["content"] for m in request["messages"])
    place = next((place for place in WORDS if place in str(request["messages"])), "")
    is_second = any(m["role"] == "assistant" for m in request["messages"])
    word = WORDS.get(place, "hello")
    return completion("Good day." if is_second and not system.startswith("You grew up") else f"{word}!")


class Home:
    """A home with the pack and a served model; every run of it is a process."""

    def __init__(self, path: Path, kill_at: int = 0) -> None:
        self.path, self.kill_at, self.running = path, kill_at, list[subprocess.Popen[str]]()
        self.server = Scripted(self._reply)
        pack = path / "packs" / "greetings"
        pack.mkdir(parents=True)
        (pack / "pack.toml").write_text('title = "Greetings"\n')
        for name, text in files().items():
            (pack / name).write_text(text)
        (path / "engines").mkdir()
        (path / "engines" / "served.toml").write_text(
            f'name = "served"\nkind = "openai"\nmodel = "m"\nbase_url = "{self.server.url}"\n'
            'reasoning = "none"\noptions = { max_retries = 0, max_concurrency = 1 }\n'
        )

    def _reply(self, number: int, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.kill_at and number >= self.kill_at:
            self.kill_at = 0
            self.running[-1].send_signal(signal.SIGKILL)
        return 200, reply(request)

    def options(self) -> tuple[str, ...]:
        """Return the command line of a run."""
        return ("run", "greetings", "-m", "served", "--batch", "4", "--no-probe", "--no-server", "--trust")

    def run(self, code: int = 0) -> None:
        """Run the pack's evaluation in a process of its own."""
        command = [sys.executable, "-m", "deployments.cli.app", *self.options()]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with subprocess.Popen(command, env=environment(self.path, None), cwd=REPOSITORY, **pipes) as process:
            self.running.append(process)
            said, _ = process.communicate()
        assert process.returncode == code, said

    def prompts(self) -> Counter[str]:
        """Return how often each prompt was sent, by its messages and seed."""
        return Counter(str((each["messages"], each["seed"])) for each in self.server.requests)


@pytest.fixture
def home(tmp_path: Path) -> Any:
    homes: list[Home] = []

    def make(kill_at: int = 0) -> Home:
        homes.append(Home(tmp_path / str(len(homes)), kill_at))
        return homes[-1]

    yield make
    for each in homes:
        each.server.close()


def test_pack_of_forty_lines_goes_from_check_to_page(
    home: Callable[..., Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sum(len(text.splitlines()) for text in files().values()) <= 40
    own = home()
    monkeypatch.setenv("CULTUREMETER_HOME", str(own.path))
    monkeypatch.setenv(TRUST, "")  # what a run allows is taken back after the test
    checked = call("pack", "check", "greetings").stderr
    assert "greetings (short_answer): 6 items in 6 clusters" in checked
    assert "You grew up in" in checked
    assert "then: Say it in one sentence" in checked
    line = [each for each in own.options() if each not in ("--trust", "--no-server")]
    plan = call(*line, "--dry-run")
    assert f"{N} of {N}" in plan.stdout
    assert f"≤ {N}" in plan.stdout
    assert "--trust" in plan.stdout, "the plan says what a run needs"
    assert "score.py is Python code" in refused(*line, "--no-server")
    assert not own.server.requests, "nothing is sent before the user has allowed the score"

    call(*own.options())
    sent = own.prompts()
    assert len(sent) == sent.total() == 2 * N, "each repetition and turn is sent once, with its own seed"
    warehouse = Warehouse.open(own.path)
    of = "FROM metric_value JOIN run USING (run_id, model) WHERE NOT is_null AND slice_kind = 'overall'"
    rows = warehouse.query(f"SELECT metric, value, null_value, ci_low, ci_high, n_scored {of}")
    found = {row["metric"]: row for row in rows.to_dicts()}
    assert found["greeting"]["value"] == pytest.approx(0.5 * 3 / 6)  # only the first answers greet
    assert found["greeting_local"]["value"] == pytest.approx(3 / 6)
    assert found["local_difference"]["value"] == pytest.approx(0.5 * 3 / 6)
    for name in ("greeting", "greeting_local", "local_difference"):
        assert found[name]["null_value"] == 0
    assert found["local_difference"]["ci_low"] < 0.25 < found["local_difference"]["ci_high"]
    assert (found["greeting"]["n_scored"], found["coverage"]["n_scored"]) == (6, N)

    counts = "SELECT condition, repetition, turn, count(*), count(value) FROM recipe_answer GROUP BY ALL"
    answers = warehouse.query(counts)
    assert {tuple(row) for row in answers.rows()} == {
        (condition, repetition, turn, 6, 6 * (turn == 2))
        for condition in ("plain", "local")
        for repetition in (1, 2)
        for turn in (1, 2)
    }
    asked = "SELECT DISTINCT turn, prompt[:7] FROM recipe_answer ORDER BY ALL"
    assert warehouse.query(asked).rows() == [(1, "You mee"), (2, "Say it ")]

    assert "greeting: local" in call("leaderboard", "greetings", "--wide").stdout
    call("report", "greetings")
    (page,) = own.path.glob("reports/*/report-greetings.html")
    assert "local minus plain" in page.read_text()
    assert "equal greetings" in call("check", "--numbers").stderr
    monkeypatch.setenv(TRUST, "")
    assert "score.py is Python code" in call("check", "--numbers").stderr
    assert "nothing to do" in call(*own.options()).stderr


@pytest.mark.parametrize("kill_at", [10, N + 10], ids=["first turn", "second turn"])
def test_killed_run_of_the_pack_goes_on_where_it_was(home: Callable[..., Home], kill_at: int) -> None:
    own = home(kill_at)
    own.run(code=-signal.SIGKILL)
    before = own.prompts()
    own.run()
    sent = own.prompts()
    assert len(sent) == 2 * N
    assert sent.total() <= 2 * N + 2 * 4, "at most two parts are sent again"
    assert len(before) < 2 * N
    found = Warehouse.open(own.path).query("SELECT greeting FROM leaderboard_greetings WHERE NOT is_null")
    assert found.item() == pytest.approx(0.25)
