"""A Prefect API for flows to talk to: the user's, the one of ``culturescope serve``, or one of our own.

Prefect's built-in temporary server outlives a process that is killed; ours ends with its parent, and keeps
its database under CULTURESCOPE_HOME, so that past runs show in the UI later. Whoever may use its API may run
any command as this user, so it answers to a login alone, kept at home, and to pages of its own: a page of
another site can have its own name resolve to 127.0.0.1, and the name in the Host header gives it away.
Authentication, origins and CSRF are settings of Prefect. Every command imports this module, so it imports
httpx and psutil when they are needed.
"""

from __future__ import annotations

import atexit
import base64
import ctypes
import hmac
import json
import os
import re
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deployments.show.display import say

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

HOST = "127.0.0.1"
HOSTS = (HOST, "localhost")
AUTH = "API_AUTH_STRING"
"""Ending of the settings PREFECT_API_AUTH_STRING (a client's) and PREFECT_SERVER_API_AUTH_STRING."""
CHECKOUT = Path(__file__).resolve().parents[2]
QUIET_S, LONGEST_S = 120.0, 600.0
"""Seconds that a server may take to answer: without a sign of life, and in all."""
SPEAK_AFTER_S = 10.0
KEPT = {
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
    "PREFECT_SERVER_EVENTS_RETENTION_PERIOD": "P3D",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": str(365 * 24 * 3600),
}
"""Retention of a server: events, most of its data, for days; runs with tasks, logs, artifacts a year."""
PR_SET_PDEATHSIG = 1

_ERROR = re.compile(r"^(\[?Errno|ERROR|[\w.]*(Error|Exception|Exit|Interrupt)\b)")


class ServerError(RuntimeError):
    """There is no Prefect server; the message says what its log says, and what to do."""


def configure(home: Path, verbose: bool = False) -> None:
    """Set Prefect's environment before it is imported: its state at home, where nobody else may look, no
    telemetry, the log of runs for the UI, and for the terminal only if verbose."""
    with suppress(PermissionError):  # somebody else's folder
        home.chmod(0o700)
    (home / "prefect").mkdir(exist_ok=True)
    defaults = {
        "PREFECT_HOME": str(home / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_LOGGING_LEVEL": "INFO",
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "INFO" if verbose else "CRITICAL",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TRANSFORMERS_VERBOSITY": "error",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def login(home: Path) -> str:
    """Name and password of the API and UI of this home's servers, drawn once; no other user can read it."""
    file = home / "prefect" / "login"
    file.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w") as out:
            out.write(f"culturescope:{secrets.token_urlsafe(24)}")
    return file.read_text()


def connect(home: Path, otherwise: str = "") -> str:
    """Point this process at a Prefect API, started for it if there is none, until the process ends.

    Returns the address: PREFECT_API_URL if set, else that of a running ``culturescope serve`` of this home,
    else of a server of our own, which is stopped at exit, after Prefect has sent its last logs.

    Raises:
        ServerError: nobody answers, or the server did not start; ``otherwise`` says what to do without.
    """
    configured = os.environ.get("PREFECT_API_URL")
    exit_stack = ExitStack()
    atexit.register(exit_stack.close)
    try:
        # A busy server takes its time, and a remote one may ask for a key first.
        if configured and not is_healthy(configured, 60, range(1000)):
            raise ServerError(f"nobody answers at {configured} (the environment variable PREFECT_API_URL).")
        if not configured and (served := _served(home)):
            exit_stack.enter_context(_environment(_told_of(served, home)))
        url = configured or served or exit_stack.enter_context(started(home, free_port()))
    except ServerError as error:
        raise ServerError(f"{error} {otherwise}".strip()) from error
    exit_stack.enter_context(pointed_at(url))
    return url


@contextmanager
def started(home: Path, port: int, announce: bool = False) -> Iterator[str]:
    """Start a Prefect server on 127.0.0.1 and stop it afterwards; meanwhile the environment has its login.

    With ``announce`` other commands of this home find its address. Raises ServerError if the port is taken,
    or the server ends or does not answer in time.
    """
    if not is_free(port):
        raise ServerError(
            f"port {port} on {HOST} is taken; stop what runs there or choose another with --port"
        )
    log = home / "prefect" / "server.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    url = f"http://{HOST}:{port}/api"
    env = {
        **KEPT,
        **os.environ,
        "CULTURESCOPE_HOME": str(home),
        "PREFECT_API_URL": url,
        "PREFECT_UI_API_URL": url,
        "PREFECT_SERVER_API_HOST": HOST,
        "PREFECT_SERVER_API_PORT": str(port),
        f"PREFECT_SERVER_{AUTH}": login(home),
        "PREFECT_SERVER_CSRF_PROTECTION_ENABLED": "true",
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ",".join(f"http://{host}:{port}" for host in HOSTS),
        # So that a run's slot of its deployment is freed also if the server was stopped meanwhile.
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "--factory", "deployments.serve.server:create_app",
             "--app-dir", str(CHECKOUT), "--host", HOST, "--port", str(port), "--log-level", "warning",
             "--timeout-keep-alive", "30"],
            stdout=out, stderr=subprocess.STDOUT, env=env, preexec_fn=end_with_parent,
        )  # fmt: skip
    address = _address_file(home)
    try:
        _wait_until_healthy(url, process, log)
        if announce:
            address.write_text(json.dumps({"url": url, "pid": process.pid}))
        with _environment(_told_of(url, home)):
            yield url
    finally:
        if announce:
            address.unlink(missing_ok=True)
        process.terminate()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def pointed_at(url: str) -> Iterator[None]:
    """Within the block, this process and the flow runs that it starts talk to the API at ``url``, with the
    login that the environment has."""
    from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

    settings = {PREFECT_API_URL: url, PREFECT_API_AUTH_STRING: os.environ.get(f"PREFECT_{AUTH}")}
    with _environment({"PREFECT_API_URL": url}), temporary_settings(settings):
        yield


def _told_of(url: str, home: Path) -> dict[str, str]:
    """The environment of clients of one of our own servers: its login, and where reports are."""
    reports = f"{url.removesuffix('/api')}/reports"
    return {f"PREFECT_{AUTH}": login(home), "CULTURESCOPE_REPORTS": reports}


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def free_port() -> int:
    """A TCP port on 127.0.0.1 that nobody listens on."""
    with socket.socket() as s:
        s.bind((HOST, 0))
        return int(s.getsockname()[1])


def is_healthy(url: str, patience: float = 2.0, ok: range = range(200, 201)) -> bool:
    """Whether a Prefect API answers there with such a status, within this many seconds (10 to connect)."""
    import httpx

    timeout = httpx.Timeout(patience, connect=min(patience, 10))
    try:
        return httpx.get(f"{url}/health", timeout=timeout).status_code in ok
    except (httpx.HTTPError, httpx.InvalidURL):
        return False


def _wait_until_healthy(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait while there are signs of life: the log grows, or the process works.

    Raises ServerError, with what its log says, once it ended, was quiet for ``QUIET_S``, or took
    ``LONGEST_S``.
    """
    start = alive = time.monotonic()
    life, spoken = _life(process, log), False
    while not is_healthy(url):
        now = time.monotonic()
        if process.poll() is not None:
            reason = _damaged_database(log.parent) or f"{_says(log)} ({log})."
            raise ServerError(f"the Prefect server ended with code {process.returncode}: {reason}")
        if (latest := _life(process, log)) != life:
            life, alive = latest, now
        if now - alive > QUIET_S or now - start > LONGEST_S:
            raise ServerError(
                f"the Prefect server did not answer within {now - start:.0f} s: {_says(log)} ({log})."
            )
        if not spoken and now - start > SPEAK_AFTER_S and (trouble := _errors(log)):
            say(f"waiting for the Prefect server: {trouble[-1][:500]}", style="")
            spoken = True
        time.sleep(0.1)


def _life(process: subprocess.Popen[bytes], log: Path) -> tuple[int, int]:
    """Signs of life, which grow as long as a server works: bytes of its log, tenths of a processor second."""
    import psutil

    try:
        used = psutil.Process(process.pid).cpu_times()
    except psutil.Error:
        return log.stat().st_size, 0
    return log.stat().st_size, int(10 * (used.user + used.system))


def _says(log: Path) -> str:
    """The last line of a log that says something: the last error, or else the last line."""
    return (_errors(log) or _lines(log) or ["it has written nothing"])[-1][:500]


def _errors(log: Path) -> list[str]:
    """The lines of a log that tell of an error."""
    return [line for line in _lines(log) if _ERROR.match(line) and "Application startup failed" not in line]


def _lines(log: Path) -> list[str]:
    return [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]


def _damaged_database(folder: Path) -> str | None:
    """An error's words on a damaged database of Prefect's; None: it is sound, or there is none."""
    file = folder / "prefect.db"
    if not file.exists():
        return None
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
            problem = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        problem = str(error)
    if problem == "ok":
        return None
    return (
        f"its database {file} is damaged ({problem}). Move it away: it holds what the Prefect UI shows of "
        "past runs, and no answer or number."
    )


def _served(home: Path) -> str | None:
    """The API of a running ``culturescope serve`` of this home."""
    try:
        url = str(json.loads(_address_file(home).read_text())["url"])
    except (OSError, ValueError, KeyError):
        return None
    return url if is_healthy(url, 30) else None


def _address_file(home: Path) -> Path:
    return home / "prefect" / "serve.json"


def is_free(port: int) -> bool:
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind((HOST, port))
        except (OSError, OverflowError):
            return False
    return True


def end_with_parent() -> None:
    """Linux: have the kernel stop the server when the process that started it dies, kill -9 included.

    Its own process group keeps Ctrl-C for the parent, which stops it in order.
    """
    os.setpgrp()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def create_app() -> Any:
    """The ASGI application, for ``uvicorn --factory``."""
    from prefect.server.api.server import create_app
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.routing import Route

    _keep_answering()
    app = create_app()
    pages = [Route("/reports/{evaluation}/{config}", _report), Route("/reports", _report)]
    app.router.routes[:0] = pages  # the UI takes any path
    # Around the application: Prefect's automations call it in memory, under a host name of their own.
    return TrustedHostMiddleware(app, allowed_hosts=[*HOSTS], www_redirect=False)


def _keep_answering() -> None:
    """Have the server load an automation that has changed in its own event loop.

    Over SQLite, Prefect 3.7.7 loads it in a second loop, and the loop of the server waits for that one. If a
    task of the server holds the lock on automations then, both wait for ever: the server answers no more.
    """
    import asyncio

    from prefect.server.events.models import automations

    loading: set[asyncio.Task[None]] = set()  # the loop itself keeps weak references only

    def load(change: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(change)
        loading.add(task)
        task.add_done_callback(loading.discard)

    vars(automations)["run_coro_as_sync"] = load  # Prefect exports it nowhere


def _report(request: Request) -> Response:
    """The page on a configuration, or the overview, drawn when asked for; a browser asks for the login of the
    UI."""
    from starlette.responses import HTMLResponse, PlainTextResponse

    from deployments.show.overview import overview
    from deployments.show.report import page
    from warehouse import Warehouse, WarehouseError

    scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
    login = base64.b64encode(os.environ[f"PREFECT_SERVER_{AUTH}"].encode()).decode()
    if scheme != "Basic" or not hmac.compare_digest(credentials.encode(), login.encode()):
        ask = {"WWW-Authenticate": f'Basic realm="Culturescope on {HOST}"'}
        return PlainTextResponse("the login that culturescope serve shows", 401, ask)
    try:
        path, warehouse = request.path_params, Warehouse.open()
        if not path:
            return HTMLResponse(overview(warehouse))
        return HTMLResponse(page(warehouse, path["evaluation"], path["config"]))
    except WarehouseError as error:
        return PlainTextResponse(str(error), 404)
