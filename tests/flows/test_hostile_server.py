"""Runs against servers that repeat the key that they were sent: no file of the home holds a spelling of it.

Looked at is every file, as it lies on the disk and decoded: tables of DuckDB and SQLite, Parquet, archives.
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

import culturescope as cs
from tasks.engines.protocols import EngineError
from tests.conftest import REPOSITORY, command, environment
from tests.engines.test_keys import ALPHABET, SPELLINGS, content, leaks, message, reply
from tests.golden import served
from tests.http_server import Answer, HttpServer, Request, Send
from warehouse import WarehouseError

pytestmark = [pytest.mark.slow, pytest.mark.heavy]

VARIABLE = "HOSTILE_SERVER_KEY"
KEY = "".join(random.Random(19).choices(ALPHABET, k=57))
"""Drawn anew in no test, so that a failure can be had again; nobody's."""
PIECE = 8
ORDER = sorted(SPELLINGS)

RUN: dict[str, Any] = {"profile": "smoke", "benchmarks": ["normad"], "max_tokens": 64, "judge_max_tokens": 64}


def spelled(number: int) -> str:
    """The key in one spelling after the other."""
    return SPELLINGS[ORDER[number % len(ORDER)]](KEY)


def answered(request: Request) -> Send:
    """A good answer, which repeats the key in all fields that are not needed, and within those that are."""
    said = spelled(request.number)
    body = served.reply({"seed": None, **request.json})
    hostile = {name: value for name, value in reply(said).items() if name not in ("choices", "usage")}
    choice = body["choices"][0]
    text = choice["message"]["content"]
    with suppress(ValueError, TypeError):
        fields = json.loads(text)
        text = json.dumps({n: v if n in ("label", "verdict") else f"{v} {said}" for n, v in fields.items()})
    choice["message"] |= {"content": text, "reasoning_content": said, "name": said, "audio": {"id": said}}
    choice[said] = said
    body |= hostile | {"id": said, "model": said, "system_fingerprint": said, "service_tier": said}
    body["usage"][said] = said
    return Answer(body, headers={"X-Request-Id": KEY, "Server": KEY})


def failed(status: int) -> Callable[[Request], Send]:
    def answer(request: Request) -> Send:
        said = " ".join(spelled(n) for n in range(len(ORDER)))
        error = {"error": {"message": said, "type": said, "code": said, "param": said}, said: [said]}
        return Answer(error, status, {"Retry-After": "0", "X-Error": KEY})

    return answer


def raw(body: Callable[[], bytes], kind: str, status: int = 200) -> Callable[[Request], Send]:
    return lambda request: Answer(body(), status, {"Content-Type": kind})


def of_every_field(request: Request) -> Send:
    """An answer to whatever is asked, of all APIs at once: ids of files and batches are the key, too."""
    said = spelled(request.number)
    ids = dict.fromkeys(("id", "object", "status", "output_file_id", "error_file_id", "batch", said), said)
    return Answer(ids | message(said) | content(said) | reply(said))


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


# --- looking for it ------------------------------------------------------------------------------------


def pieces() -> set[str]:
    """What any 15 characters in a row of a spelling hold one of."""
    every = [SPELLINGS[name](KEY) for name in ("as it is", "JSON", "hexadecimal", "capitals", "reversed")]
    every += [SPELLINGS["Base64"](KEY), SPELLINGS["Base64"]("a" + KEY), SPELLINGS["Base64"]("ab" + KEY)]
    every += [SPELLINGS["address"](KEY).partition("key=")[2].partition("&")[0]]
    return {text[i : i + PIECE] for text in every for i in range(0, len(text) - PIECE + 1, PIECE)}


PIECES = pieces()


def assert_free(text: str, where: object) -> None:
    """No 15 characters in a row of any spelling stand in a text."""
    for piece in PIECES:
        at = text.find(piece)
        while at >= 0:
            around = text[max(0, at - 30) : at + 30]
            assert not leaks(KEY, around), f"{where}: a part of the key is left in {around!r}"
            at = text.find(piece, at + 1)


def texts_of(path: Path) -> Iterator[str]:
    """All texts of a file, as it is and as its format has them."""
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
    """Returns how many files were looked at. Engines and licences of other projects are not ours to leak."""
    files = [p for p in folder.rglob("*") if p.is_file() and p.suffix != ".wasm" and "/engine/" not in str(p)]
    contents = [path.read_bytes() for path in files]  # before one is opened: SQLite then tidies its logs up
    for path, data in zip(files, contents, strict=True):
        assert_free(str(path), path)
        for text in (data.decode("utf-8", "replace"), data.decode("utf-16-le", "replace")):
            assert_free(text, path)
        for text in _decoded(path, data):
            assert_free(text, path)
    return len(files)


def test_a_planted_secret_is_found(tmp_path: Path) -> None:
    """In every spelling, and in every format that a home has."""
    for number in range(len(ORDER)):
        said = f"before {spelled(number)} after"
        (tmp_path / "log").write_text(said)
        pl.DataFrame({"a": [said] * 100}).write_parquet(tmp_path / "part.parquet", compression="zstd")
        with closing(sqlite3.connect(tmp_path / "db.sqlite")) as database:
            database.execute("CREATE TABLE IF NOT EXISTS t (a)")
            database.execute("INSERT INTO t VALUES (?)", [said])
            database.commit()
        with duckdb.connect(str(tmp_path / "db.duckdb")) as connection:
            connection.execute("CREATE OR REPLACE TABLE t AS SELECT ? AS a", [said])
        with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.json", said)
        for path in sorted(tmp_path.iterdir()):
            assert any(is_held(text) for text in texts_of(path)), (path, said)
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
    monkeypatch.setenv("CULTURESCOPE_HOME", str(home))
    monkeypatch.setenv(VARIABLE, KEY)
    return home


@pytest.mark.parametrize("kind", KINDS)
def test_failing_servers_leave_nothing_of_the_key(
    keyed: Path,
    serve: Callable[[Callable[[Request], Send]], str],
    caplog: pytest.LogCaptureFixture,
    kind: str,
) -> None:
    caplog.set_level(
        logging.INFO
    )  # libraries' own debugging shows headers, and no setting of ours asks for it
    caplog.set_level(logging.DEBUG, "culturescope")
    for n, wrong in enumerate(WRONG.values()):
        url = serve(wrong)
        write_spec(keyed, f"echo{n}", kind, url if kind in ("anthropic", "google") else f"{url}/v1")
        try:
            cs.run("cure", models=[f"echo{n}"], judges=["fake-b"], **RUN)
        except (EngineError, WarehouseError) as error:
            assert_free(str(error), "error")
    assert_free(caplog.text, "log")
    assert assert_no_file_holds_it(keyed) > 10


def test_a_whole_run_through_the_command_line_leaves_nothing_of_the_key(
    keyed: Path, serve: Callable[[Callable[[Request], Send]], str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """With a Prefect server of its own, whose database is at home; then reports, logs and a site of it, made
    where the key is not in the environment."""
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
