"""A key that a server refuses is reported once, before any prompt, and other models get their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import environment, in_process
from tests.http_server import Answer, HttpServer

LINE = "run cure --profile smoke --benchmarks normad --items-per-benchmark 2 --no-server"


@pytest.fixture
def server() -> Iterator[HttpServer]:
    """A server that refuses every key."""
    own = HttpServer(lambda request: Answer({"error": {"message": "no such key"}}, 401))
    yield own
    own.close()


def run(home: Path, server: HttpServer, more: str) -> tuple[int, str]:
    spec = f'kind = "openai"\nmodel = "m"\nbase_url = "{server.address}/v1"\napi_key_env = "OWN_KEY"\n'
    (home / "engines" / "hosted.toml").write_text(spec)
    env = environment(home, None) | {"OWN_KEY": "sk-wrong-0123456789abcdef"}
    done = in_process((*LINE.split(), *more.split()), env)
    return done.returncode, done.stderr


def test_model_with_a_refused_key_gets_no_prompt(home: Path, server: HttpServer) -> None:
    code, log = run(home, server, "-m hosted")
    assert code == 1
    assert log.count("refused the key (401): check the variable OWN_KEY") == 1
    assert [request.method for request in server.received] == ["GET"]


def test_refused_key_of_one_model_leaves_the_other_its_numbers(home: Path, server: HttpServer) -> None:
    code, log = run(home, server, "-m hosted -m fake-a")
    assert code == 1
    assert log.count("refused the key") == 1
    done = in_process(("leaderboard", "cure", "-f", "csv"), environment(home, None))
    assert "fake-a" in done.stdout
    assert "hosted" not in done.stdout


def test_refused_key_of_a_judge_leaves_the_other_numbers(home: Path, server: HttpServer) -> None:
    code, log = run(home, server, "-m fake-a --judges hosted")
    assert code == 1
    assert log.count("refused the key") == 1
    assert [request.method for request in server.received] == ["GET"]
    done = in_process(("leaderboard", "cure", "-f", "csv"), environment(home, None))
    assert "fake-a" in done.stdout
