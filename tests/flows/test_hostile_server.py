"""Runs against servers that echo the key: no file of the home contains a spelling of it.

Every file is searched, raw and decoded: tables of DuckDB and SQLite, Parquet, archives.
"""

from __future__ import annotations

import gzip
import json
import logging
import os
import random
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import zipfile_zstd as zipfile  # as the logs of Inspect need

import culturemeter as cs
from tasks.engines.protocols import EngineError
from tests.conftest import REPOSITORY, command, environment
from tests.engines.test_keys import ALPHABET, SPELLINGS, content, leaks, message, reply
from tests.golden import served
from tests.http_server import Answer, HttpServer, Request, Send
from warehouse import WarehouseError

pytestmark = [pytest.mark.slow, pytest.mark.heavy]

VARIABLE = "HOSTILE_SERVER_API_KEY"
KEY = "".join(random.Random(19).choices(ALPHABET, k=57))
"""An invented key, the same in every test, so that a failure can be repeated."""
PIECE = 8
ORDER = sorted(SPELLINGS)

RUN: dict[str, Any] = {"profile": "smoke", "benchmarks": ["normad"], "max_tokens": 64, "judge_max_tokens": 64}


def spelled(number: int) -> str:
    """Return the key in the spelling of this number."""
    return SPELLINGS[ORDER[number % len(ORDER)]](KEY)


def answered(request: Request) -> Send:
    """Return a good answer that echoes the key in all unused fields and inside the used ones."""
    key = spelled(request.number)
    body = served.reply({"seed": None, **request.json})
    hostile = {name: value for name, value in reply(key).items() if name not in ("choices", "usage")}
    choice = body["choices"][0]
    text = choice["message"]["content"]
    with suppress(ValueError, TypeError):
        fields = json.loads(text)
        text = json.dumps({n: v if n in ("label", "verdict") else f"{v} {key}" for n, v in fields.items()})
    choice["message"] |= {"content": text, "reasoning_content": key, "name": key, "audio": {"id": key}}
    choice[key] = key
    body |= hostile | {"id": key, "model": key, "system_fingerprint": key, "service_tier": key}
    body["usage"][key] = key
    return Answer(body, headers={"X-Request-Id": KEY, "Server": KEY})


def failed(status: int) -> Callable[[Request], Send]:
    def answer(request: Request) -> Send:
        keys = " ".join(spelled(n) for n in range(len(ORDER)))
        error = {"error": {"message": keys, "type": keys, "code": keys, "param": keys}, keys: [keys]}
        return Answer(error, status, {"Retry-After": "0", "X-Error": KEY})

    return answer


def raw(body: Callable[[], bytes], kind: str, status: int = 200) -> Callable[[Request], Send]:
    return lambda request: Answer(body(), status, {"Content-Type": kind})


def of_every_field(request: Request) -> Send:
    """Return an answer of all APIs at once, with the key in every field, also in ids of files and batches."""
    key = spelled(request.number)
    ids = dict.fromkeys(("id", "object", "status", "output_file_id", "error_file_id", "batch", key), key)
    return Answer(ids | message(key) | content(key) | reply(key))


WRONG: dict[str, Callable[[Request], Send]] = {
    "refused": failed(401),
    "bad request": failed(400),
    "too many": failed(429),
    "broken": failed(500),
    "redirect": lambda request: Answer(b"", 302, {"Location": f"http://x/{KEY}?k={spelled(4)}"}),
    "page": raw(lambda: f"<html>{spelled(0) * 20}</html>".encode(), "text/html"),
    "events": raw(lambda: f"data: {spelled(0)}\n\n".encode(), "text/event-stream"),
    "no JSON": raw(lambda: (spelled(0) * 9).encode("utf-16"), "application/json"),
    "list": raw(lambda: json.dumps([spelled(n) for n in range(20)]).encode(), "application/json"),
    "every field": of_every_field,
}
KINDS = {"openai": "", "anthropic": "", "google": "", "batch": "batch = 2, "}


def write_spec(home: Path, name: str, kind: str, url: str) -> None:
    options = f"{{ {KINDS[kind]}max_retries = 0, timeout = 20 }}"
    (home / "engines").mkdir(exist_ok=True)
    (home / "engines" / f"{name}.toml").write_text(
        f'kind = "{"openai" if kind == "batch" else kind}"\nmodel = "{name}"\nbase_url = "{url}"\n'
        f'api_key_env = "{VARIABLE}"\noptions = {options}\n'
    )


@pytest.fixture(name="serve")
def _serve() -> Iterator[Callable[[Callable[[Request], Send]], str]]:
    servers: list[HttpServer] = []

    def start(answer: Callable[[Request], Send]) -> str:
        servers.append(HttpServer(answer))
        return servers[-1].address

    yield start
    for server in servers:
        server.close()


# --- the search ----------------------------------------------------------------------------------------


def pieces() -> set[str]:
    """Return pieces of 8 characters, one of which is in any 15 characters in a row of a spelling."""
    every = [SPELLINGS[name](KEY) for name in ("as it is", "JSON", "hexadecimal", "capitals", "reversed")]
    every += [SPELLINGS["Base64"](KEY), SPELLINGS["Base64"]("a" + KEY), SPELLINGS["Base64"]("ab" + KEY)]
    every += [SPELLINGS["address"](KEY).partition("key=")[2].partition("&")[0]]
    return {text[i : i + PIECE] for text in every for i in range(0, len(text) - PIECE + 1, PIECE)}


PIECES = pieces()


def assert_free(text: str, where: object) -> None:
    """Check that a text contains no 15 characters in a row of any spelling."""
    for piece in PIECES:
        at = text.find(piece)
        while at >= 0:
            around = text[max(0, at - 30) : at + 30]
            assert not leaks(KEY, around), f"{where}: a part of the key is left in {around!r}"
            at = text.find(piece, at + 1)


def texts_of(path: Path) -> Iterator[str]:
    """Yield all texts of a file, raw and decoded by its format."""
    data = path.read_bytes()
    yield data.decode("utf-8", "replace")
    yield data.decode("utf-16-le", "replace")
    yield from _decoded(path, data)


def _decoded(path: Path, data: bytes) -> Iterator[str]:
    if data[8:12] == b"DUCK":
        with duckdb.connect(str(path), read_only=True) as connection:
            for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
                yield str(connection.execute(f'SELECT COLUMNS(*)::VARCHAR FROM "{table}"').fetchall())
    elif data.startswith(b"SQLite format 3"):
        with closing(sqlite3.connect(path)) as database:
            yield "\n".join(database.iterdump())
    elif data.startswith(b"PAR1"):
        yield pl.read_parquet(path, glob=False).write_json()
    elif data.startswith(b"\x1f\x8b"):
        yield gzip.decompress(data).decode("utf-8", "replace")
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield archive.read(name).decode("utf-8", "replace")


def assert_no_file_holds_it(folder: Path) -> int:
    """Check every file; return their number. Engines and licences of other projects are left out."""
    files = [p for p in folder.rglob("*") if p.is_file() and p.suffix != ".wasm" and "/engine/" not in str(p)]
    contents = [path.read_bytes() for path in files]  # first, as opening SQLite removes its logs
    for path, data in zip(files, contents, strict=True):
        assert_free(str(path), path)
        for text in (data.decode("utf-8", "replace"), data.decode("utf-16-le", "replace")):
            assert_free(text, path)
        for text in _decoded(path, data):
            assert_free(text, path)
    return len(files)


def test_planted_key_is_found_in_every_spelling_and_format(tmp_path: Path) -> None:
    for number in range(len(ORDER)):
        text = f"before {spelled(number)} after"
        (tmp_path / "log").write_text(text)
        pl.DataFrame({"a": [text] * 100}).write_parquet(tmp_path / "part.parquet", compression="zstd")
        with closing(sqlite3.connect(tmp_path / "db.sqlite")) as database:
            database.execute("CREATE TABLE IF NOT EXISTS t (a)")
            database.execute("INSERT INTO t VALUES (?)", [text])
            database.commit()
        with duckdb.connect(str(tmp_path / "db.duckdb")) as connection:
            connection.execute("CREATE OR REPLACE TABLE t AS SELECT ? AS a", [text])
        with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.json", text)
        for path in sorted(tmp_path.iterdir()):
            assert any(is_held(part) for part in texts_of(path)), (path, text)
            path.unlink()


def is_held(text: str) -> bool:
    try:
        assert_free(text, "")
    except AssertionError:
        return True
    return False


# --- runs ----------------------------------------------------------------------------------------------


@pytest.fixture(name="keyed")
def _keyed(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    monkeypatch.setenv(VARIABLE, KEY)
    return home


@pytest.mark.parametrize("kind", KINDS)
def test_failing_servers_leave_no_key_in_any_file(
    keyed: Path,
    serve: Callable[[Callable[[Request], Send]], str],
    caplog: pytest.LogCaptureFixture,
    kind: str,
) -> None:
    caplog.set_level(logging.INFO)  # debug logs of libraries show headers; no setting here enables them
    caplog.set_level(logging.DEBUG, "culturemeter")
    for n, wrong in enumerate(WRONG.values()):
        url = serve(wrong)
        write_spec(keyed, f"echo{n}", kind, url if kind in ("anthropic", "google") else f"{url}/v1")
        try:
            cs.run("cure", models=[f"echo{n}"], judges=["fake-b"], **RUN)
        except (EngineError, WarehouseError) as error:
            assert_free(str(error), "error")
    assert_free(caplog.text, "log")
    assert assert_no_file_holds_it(keyed) > 10


def test_whole_run_leaves_no_key_in_any_file(
    keyed: Path, serve: Callable[[Callable[[Request], Send]], str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The run has its own Prefect server with a database in the home; report, logs and site are made without
    the key in the environment."""
    url = serve(answered)
    for name in ("echo", "other", "marker"):
        write_spec(keyed, name, "openai", f"{url}/v1")
    out = tmp_path_factory.mktemp("out")
    with_key = environment(keyed, None) | {VARIABLE: KEY}
    without = {name: value for name, value in with_key.items() if name != VARIABLE}

    def run(*arguments: str, env: dict[str, str]) -> None:
        done = subprocess.run(command(*arguments), env=env, cwd=REPOSITORY, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert_free(done.stdout + done.stderr, arguments)

    run("run", "cure", "-m", "echo", "-m", "other", "--judges", "marker", "--profile", "smoke",
        "--benchmarks", "normad", "--no-probe", "--verbose", env=with_key)  # fmt: skip
    run("report", "cure", "--out", str(out / "page.html"), env=without)
    run("export", "inspect", "cure", "--out", str(out / "logs"), env=without)
    run("publish", str(out / "site"), "--include-answers", env=without)
    run("sql", "FROM response", "--out", str(out / "answers.csv"), env=without)
    assert (keyed / "prefect" / "prefect.db").exists() or list(keyed.rglob("*.db"))
    assert "[key]" in (out / "answers.csv").read_text(), "the server's answers came"
    assert assert_no_file_holds_it(keyed) > 20
    assert assert_no_file_holds_it(out) > 10
    assert os.environ[VARIABLE] == KEY
