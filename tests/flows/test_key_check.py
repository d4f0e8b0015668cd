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


@pytest.mark.parametrize(
    ("options", "has_numbers"),
    [("-m hosted", False), ("-m hosted -m fake-a", True), ("-m fake-a --judges hosted", True)],
    ids=["a model alone", "one of two models", "a judge"],
)
def test_refused_key_is_reported_once_and_leaves_other_models_their_numbers(
    home: Path, server: HttpServer, options: str, has_numbers: bool
) -> None:
    spec = f'kind = "openai"\nmodel = "m"\nbase_url = "{server.address}/v1"\napi_key_env = "OWN_API_KEY"\n'
    (home / "engines" / "hosted.toml").write_text(spec)
    env = environment(home, None) | {"OWN_API_KEY": "sk-wrong-0123456789abcdef"}
    done = in_process((*LINE.split(), *options.split()), env)
    assert done.returncode == 1
    assert done.stderr.count("refused the key (401): check the variable OWN_API_KEY") == 1
    assert [request.method for request in server.received] == ["GET"], "no prompt is sent"
    shown = in_process(("leaderboard", "cure", "-f", "csv"), environment(home, None)).stdout
    assert ("fake-a" in shown) is has_numbers
    assert "hosted" not in shown or "--judges" in options
