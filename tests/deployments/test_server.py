"""A Prefect server of our own: slow, dead and silent ones are fake ``uvicorn`` modules, as processes."""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import version
from itertools import count
from pathlib import Path
from threading import Thread

import pytest
from packaging.version import Version

from deployments.cli import common
from deployments.serve import server
from deployments.serve.server import ServerError, connect, started
from tests.ports import free_port
from tests.waiting import until

SLOW = """
import http.server, sys, time
for step in range(15):
    print("ERROR: step", step, flush=True)
    time.sleep(0.1)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler).serve_forever()
"""
WORKS = "sum(range(3_000_000_000))"
DEAD = """
print("INFO: starting")
def create_app():
    raise TypeError("Body() got an unexpected keyword argument 'min_items'")
create_app()
"""
BROKEN = """
import sys
print("RuntimeError: the database is locked")
print("ERROR:    Application startup failed. Exiting.")
sys.exit(3)
"""
SILENT = "import time; time.sleep(60)"

Uvicorn = Callable[[str], None]


@pytest.fixture
def uvicorn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Uvicorn:
    """Put a program in the place of uvicorn, and shorten the waits."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setattr(server, "QUIET_S", 3.0)
    monkeypatch.setattr(server, "SPEAK_AFTER_S", 0.5)

    def put(program: str) -> None:
        (tmp_path / "uvicorn.py").write_text(program)

    return put


def test_slow_server_is_waited_for_while_it_shows_life(
    uvicorn: Uvicorn, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    uvicorn(SLOW)
    monkeypatch.setattr(server, "QUIET_S", 1.0)
    # Signs of life for longer than QUIET_S, one at each look.
    beats = count()
    monkeypatch.setattr(server, "_life", lambda *_: (next(beats), 0))
    with started(tmp_path, free_port()) as url:
        assert url.startswith("http://127.0.0.1:")
    assert capsys.readouterr().err.count("waiting for the Prefect server") == 1


@pytest.mark.parametrize(
    ("program", "which"), [('print("x" * 99, flush=True); import time; time.sleep(600)', 0), (WORKS, 1)]
)
def test_growing_log_and_used_processor_time_are_signs_of_life(
    tmp_path: Path, program: str, which: int
) -> None:
    log = tmp_path / "log"
    with log.open("wb") as out, subprocess.Popen([sys.executable, "-c", program], stdout=out) as process:
        try:
            before = server._life(process, log)[which]
            until(lambda: server._life(process, log)[which] > before + 5, process)
        finally:
            process.kill()


def test_waiting_for_a_server_has_a_limit(
    uvicorn: Uvicorn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uvicorn(SLOW.replace("range(15)", "range(10**9)"))
    monkeypatch.setattr(server, "LONGEST_S", 0.0)
    with pytest.raises(ServerError, match=r"did not answer within \d+ s: "), started(tmp_path, free_port()):
        pass


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (DEAD, "ended with code 1: TypeError: Body() got an unexpected keyword argument 'min_items' ("),
        (BROKEN, "ended with code 3: RuntimeError: the database is locked ("),
        ("raise SystemExit(5)", "ended with code 5: its log is empty ("),
        (SILENT, " s: its log is empty ("),
    ],
    ids=["dead", "broken", "mute", "silent"],
)
def test_server_that_does_not_start_is_one_error_with_its_reason(
    uvicorn: Uvicorn, tmp_path: Path, program: str, message: str
) -> None:
    uvicorn(program)
    with pytest.raises(ServerError) as caught:
        connect(tmp_path, otherwise="Run again with --no-server.")
    text = str(caught.value)
    assert message in text
    assert text.endswith("server.log). Run again with --no-server.")
    assert "\n" not in text


def test_address_without_a_server_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"http://127.0.0.1:{free_port()}/api"
    monkeypatch.setenv("PREFECT_API_URL", address)
    with pytest.raises(ServerError, match=f"no server answers at {address} .*PREFECT_API_URL"):
        connect(tmp_path)


def test_taken_port_is_named(uvicorn: Uvicorn, tmp_path: Path) -> None:
    uvicorn(SLOW)
    port = free_port()
    with (
        started(tmp_path, port),
        pytest.raises(ServerError, match=f"port {port} .*--port"),
        started(tmp_path / "other", port),
    ):
        pass


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "noise": lambda content: bytes(range(256)) * 20,
    "cut": lambda content: content[: len(content) // 2 + 100],
    "a page": lambda content: content[:4096] + b"\xff" * 4096 + content[8192:],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_prefect_database_is_named(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "prefect.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript("CREATE TABLE t (a PRIMARY KEY, b)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(n, "x" * 90) for n in range(500)])
        connection.commit()
    assert server._damaged_database(tmp_path) is None
    file.write_bytes(DAMAGE[damage](file.read_bytes()))
    assert f"its database {file} is damaged" in str(server._damaged_database(tmp_path))
    assert server._damaged_database(tmp_path / "elsewhere") is None


@pytest.mark.skipif(Version(version("prefect")) > Version("3.7.7"), reason="later versions do it themselves")
def test_automation_can_change_while_the_server_holds_its_lock() -> None:
    """Prefect's own code deadlocks here."""
    from prefect.server.events import triggers
    from prefect.server.events.models import automations

    changed: list[str] = []

    async def change() -> None:
        async with triggers._automations_lock():
            changed.append("loaded")

    async def commit_under_the_lock() -> None:
        async with triggers._automations_lock():
            vars(automations)["run_coro_as_sync"](change())
            assert changed == []
        while not changed:
            await asyncio.sleep(0)

    before = vars(automations)["run_coro_as_sync"]
    server._keep_answering()
    try:
        thread = Thread(target=asyncio.run, args=(commit_under_the_lock(),), daemon=True)
        thread.start()
        until(lambda: changed)
    finally:
        vars(automations)["run_coro_as_sync"] = before


def test_prefects_state_is_elsewhere_if_the_home_is_for_reading_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(Path, "chmod", lambda *_: _fail(errno.EROFS))
    values = {name: value for name, value in os.environ.items() if name != "PREFECT_HOME"}
    monkeypatch.setattr(os, "environ", values)  # it sets further ones
    server.configure(tmp_path)
    place = Path(values["PREFECT_HOME"])
    assert place.is_dir()
    assert tmp_path not in place.parents


@pytest.mark.parametrize("file", [None, "/a/b"])
def test_a_full_disk_is_one_line_that_says_what_to_do(file: str | None) -> None:
    words = common._words(OSError(errno.ENOSPC, "No space left on device", file))
    assert words is not None
    assert "the disk is full: free some space" in words
    assert (file or "") in words


def _fail(number: int) -> None:
    raise OSError(number, os.strerror(number))
