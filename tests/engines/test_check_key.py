"""The check of a key: one free request before the run, which fails only for a wrong key."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tasks.engines import load
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec
from tests.http_server import Answer, HttpServer, Request, Send

KEY = "sk-test-0123456789abcdef"
PLACES = {
    "openai": "/v1/models",
    "openrouter": "/v1/key",
    "anthropic": "/v1/v1/models",
    "google": "/v1/v1beta/models",
}


class _Server:
    """A server with one answer for every request."""

    def __init__(self) -> None:
        self.answer: Send = Answer({"data": []}, 200)
        self.http = HttpServer(self._reply)

    def _reply(self, request: Request) -> Send:
        return self.answer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Server]:
    monkeypatch.setenv("OWN_API_KEY", KEY)
    own = _Server()
    yield own
    own.http.close()


def spec(server: _Server, kind: str = "openai") -> EngineSpec:
    options = {"dialect": kind} if kind == "openrouter" else {}
    return EngineSpec(
        name="m",
        kind="openai" if kind == "openrouter" else kind,  # type: ignore[arg-type]
        model="m",
        base_url=f"{server.http.address}/v1",
        api_key_env="OWN_API_KEY",
        options=options,
    )


@pytest.mark.parametrize("kind", PLACES)
def test_check_of_a_key_is_one_free_request(server: _Server, kind: str) -> None:
    load.check_key(spec(server, kind))
    (request,) = server.http.received
    assert (request.method, request.path) == ("GET", PLACES[kind])
    assert KEY in str(request.headers)


@pytest.mark.parametrize("kind", PLACES)
def test_refused_key_is_an_error_that_hides_the_key(server: _Server, kind: str) -> None:
    server.answer = Answer({"error": {"message": f"bad key {KEY}"}}, 401)
    with pytest.raises(EngineError, match=r"refused the key \(401\): .*variable OWN_API_KEY") as error:
        load.check_key(spec(server, kind))
    assert KEY not in str(error.value)
    assert len(server.http.received) == 1


def test_bad_request_of_google_about_the_key_is_a_refused_key(server: _Server) -> None:
    server.answer = Answer({"error": {"message": "API key not valid. Please pass a valid API key."}}, 400)
    with pytest.raises(EngineError, match="refused the key"):
        load.check_key(spec(server, "google"))


@pytest.mark.parametrize(
    "answer",
    [
        Answer({"error": {"message": "this key may not list models"}}, 403),
        Answer({"error": {"message": "missing scopes: api.model.read"}}, 401),
        Answer({"error": {"message": "no such place"}}, 404),
        Answer({"error": {"message": "slow down"}}, 429),
        Answer({}, 500),
    ],
    ids=["403", "scopes", "404", "429", "500"],
)
def test_other_errors_pass_the_check(server: _Server, answer: Answer) -> None:
    server.answer = answer
    load.check_key(spec(server))
    assert len(server.http.received) == 1


def test_unreachable_server_passes_the_check(server: _Server) -> None:
    gone = spec(server)
    server.http.close()
    load.check_key(gone)


def test_missing_key_is_refused(server: _Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OWN_API_KEY")
    away = spec(server).model_copy(update={"base_url": "https://models.example.org/v1"})
    with pytest.raises(EngineError, match="OWN_API_KEY is not set"):
        load.check_key(away)


def test_engines_without_a_key_send_no_request(server: _Server) -> None:
    load.check_key(EngineSpec(name="m", kind="openai", model="m", base_url=f"{server.http.address}/v1"))
    load.check_key(EngineSpec(name="f", kind="fake", model="f"))
    assert not server.http.received
