"""Connect flows to a Prefect API: the user's, that of ``culturemeter serve``, or a server of our own.

Prefect's built-in temporary server outlives a killed process. Ours ends with its parent, and keeps its
database under CULTUREMETER_HOME, so that past runs show in the UI later. Anyone who can use its API can run
any command as this user. So it needs a login, kept in that folder, and checks the Host header, since another
site's page could have its own name resolve to 127.0.0.1. Authentication, origins and CSRF are
settings of Prefect. Every command imports this module, so it imports httpx and psutil only when needed.
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
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from deployments.show.display import say

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

HOST = "127.0.0.1"
HOSTS = (HOST, "localhost")
AUTH = "API_AUTH_STRING"
"""End of the names PREFECT_API_AUTH_STRING (a client's) and PREFECT_SERVER_API_AUTH_STRING."""
CHECKOUT = Path(__file__).resolve().parents[2]
_MAIN = (
    f"import sys; sys.path.insert(0, {str(CHECKOUT)!r}); from deployments.serve.sockets import main; main()"
)
"""The server's program. It finds our packages before the working directory's namesakes."""
QUIET_S, LONGEST_S = 120.0, 600.0
"""Seconds that a server may take to start: without a sign of life, and in all."""
SPEAK_AFTER_S = 10.0
KEPT = {
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
    "PREFECT_SERVER_EVENTS_RETENTION_PERIOD": "P3D",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": str(365 * 24 * 3600),
}
"""A server's retention: days for events, most of its data; a year for runs, logs and artifacts."""
PR_SET_PDEATHSIG = 1

_ERROR = re.compile(r"^(\[?Errno|ERROR|[\w.]*(Error|Exception|Exit|Interrupt)\b)")


class ServerError(RuntimeError):
    """No Prefect server is available; the message quotes its log and says what to do."""


def configure(home: Path, verbose: bool = False) -> None:
    """Set Prefect's environment, before it is imported: state in a private folder of the home, no telemetry,
    logs of runs in the UI, and on the terminal only if verbose."""
    with suppress(OSError):  # the folder belongs to another user, or may only be read
        home.chmod(0o700)
    defaults = {
        "PREFECT_HOME": str(_prefect_home(home)),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_LOGGING_LEVEL": "INFO",
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "INFO" if verbose else "CRITICAL",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TRANSFORMERS_VERBOSITY": "error",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def _prefect_home(home: Path) -> Path:
    """Return the folder for Prefect's state: in the home, or one until this process ends if that is for
    reading only, since commands that only read import Prefect too."""
    folder = home / "prefect"
    with suppress(OSError):
        folder.mkdir(exist_ok=True)
    if os.access(folder, os.W_OK):
        return folder
    temporary = TemporaryDirectory(prefix="culturemeter-", ignore_cleanup_errors=True)
    atexit.register(temporary.cleanup)
    return Path(temporary.name)


def login(home: Path) -> str:
    """Return this home's servers' name and password, drawn once into a file that only this user can read."""
    file = home / "prefect" / "login"
    file.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w") as out:
            out.write(f"culturemeter:{secrets.token_urlsafe(24)}")
    return file.read_text()


def connect(home: Path, otherwise: str = "") -> str:
    """Connect this process to a Prefect API until it ends; returns the URL.

    The API is that at PREFECT_API_URL if set, else a running ``culturemeter serve`` of this home, else a
    server of our own, which is stopped at exit after Prefect has sent its last logs.

    Raises:
        ServerError: no server answers or starts; ``otherwise``, added to the message, says what else to do.
    """
    configured = os.environ.get("PREFECT_API_URL")
    exit_stack = ExitStack()
    atexit.register(exit_stack.close)
    try:
        # A busy server may be slow, and a remote one may answer that it wants a key.
        if configured and not is_healthy(configured, 60, range(1000)):
            raise ServerError(
                f"no server answers at {configured} (the environment variable PREFECT_API_URL)."
            )
        if not configured and (served := _served(home)):
            exit_stack.enter_context(_environment(_told_of(served, home)))
        url = configured or served or exit_stack.enter_context(started(home, free_port()))
    except ServerError as error:
        raise ServerError(f"{error} {otherwise}".strip()) from error
    exit_stack.enter_context(pointed_at(url))
    return url


@contextmanager
def started(home: Path, port: int, announce: bool = False) -> Iterator[str]:
    """Start a Prefect server on 127.0.0.1, put its login into the environment, and stop it after the block.

    With ``announce`` other commands of this home find its URL. Raises ServerError if the port is taken, or
    the server ends or does not answer in time.
    """
    if not is_free(port):
        raise ServerError(
            f"port {port} on {HOST} is taken: stop the program that uses it, or choose another with --port"
        )
    log = home / "prefect" / "server.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    url = f"http://{HOST}:{port}/api"
    env = {
        **KEPT,
        **os.environ,
        "CULTUREMETER_HOME": str(home),
        "PREFECT_API_URL": url,
        "PREFECT_UI_API_URL": url,
        "PREFECT_SERVER_API_HOST": HOST,
        "PREFECT_SERVER_API_PORT": str(port),
        f"PREFECT_SERVER_{AUTH}": login(home),
        "PREFECT_SERVER_CSRF_PROTECTION_ENABLED": "true",
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ",".join(f"http://{host}:{port}" for host in HOSTS),
        # Files, so that a run's concurrency slot is freed even if the server was stopped meanwhile.
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", _MAIN, "deployments.serve.server:create_app", HOST, "--port", str(port)],
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
    """Use the API at ``url`` and the environment's login, in this process and its flow runs."""
    from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

    settings = {PREFECT_API_URL: url, PREFECT_API_AUTH_STRING: os.environ.get(f"PREFECT_{AUTH}")}
    with _environment({"PREFECT_API_URL": url}), temporary_settings(settings):
        yield


def _told_of(url: str, home: Path) -> dict[str, str]:
    """Return the environment of clients of our own server: its login and the URL of reports."""
    reports = f"{url.removesuffix('/api')}/reports"
    return {f"PREFECT_{AUTH}": login(home), "CULTUREMETER_REPORTS": reports}


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
    """Return a free TCP port on 127.0.0.1."""
    with socket.socket() as s:
        s.bind((HOST, 0))
        return int(s.getsockname()[1])


def is_healthy(url: str, patience: float = 2.0, ok: range = range(200, 201)) -> bool:
    """Return whether an API answers with a status in ``ok`` within ``patience`` seconds (10 to connect)."""
    import httpx

    timeout = httpx.Timeout(patience, connect=min(patience, 10))
    try:
        return httpx.get(f"{url}/health", timeout=timeout).status_code in ok
    except (httpx.HTTPError, httpx.InvalidURL):
        return False


def _wait_until_healthy(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait for the server as long as its log grows or its process works.

    Raises ServerError, with a line of its log, if it ends, shows no sign of life for ``QUIET_S``, or takes
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
    """Return counts that grow while a server works: bytes of its log, tenths of a processor second."""
    import psutil

    try:
        used = psutil.Process(process.pid).cpu_times()
    except psutil.Error:
        return log.stat().st_size, 0
    return log.stat().st_size, int(10 * (used.user + used.system))


def _says(log: Path) -> str:
    """Return the last error in a log, or else its last line."""
    return (_errors(log) or _lines(log) or ["its log is empty"])[-1][:500]


def _errors(log: Path) -> list[str]:
    """Return the lines of a log that report an error."""
    return [line for line in _lines(log) if _ERROR.match(line) and "Application startup failed" not in line]


def _lines(log: Path) -> list[str]:
    return [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]


def _damaged_database(folder: Path) -> str | None:
    """Return a message if Prefect's database is damaged; None if it is sound or does not exist."""
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
        f"its database {file} is damaged ({problem}). Move it away: it holds only the Prefect UI's "
        "history of runs, no answers or numbers."
    )


def _served(home: Path) -> str | None:
    """Return the API of a running ``culturemeter serve`` of this home; None if there is none."""
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
    """Have Linux stop the server when the process that started it dies, even by kill -9.

    A process group of its own leaves Ctrl-C to the parent, which stops the server in order.
    """
    os.setpgrp()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def create_app() -> Any:
    """Return the ASGI application, for ``uvicorn --factory``."""
    from prefect.server.api.server import create_app
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.routing import Route

    _keep_answering()
    app = create_app()
    pages = [Route("/reports/{evaluation}/{config}", _report), Route("/reports", _report)]
    app.router.routes[:0] = pages  # first, since the UI's route takes any path
    # Wraps the application: Prefect's automations call the inner one in memory, under another host name.
    return TrustedHostMiddleware(app, allowed_hosts=[*HOSTS], www_redirect=False)


def _keep_answering() -> None:
    """Make the server load a changed automation in its own event loop.

    With SQLite, Prefect 3.7.7 loads it in a second loop while the server's loop waits for that one. If a task
    of the server holds the lock on automations meanwhile, both wait for ever and the server stops answering.
    Later versions do what is done here.
    """
    import asyncio

    from prefect.server.events.models import automations

    if hasattr(automations, "create_task"):
        return
    loading: set[asyncio.Task[None]] = set()  # the loop keeps weak references only

    def load(change: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(change)
        loading.add(task)
        task.add_done_callback(loading.discard)

    vars(automations)["run_coro_as_sync"] = load  # not in Prefect's public interface


def _report(request: Request) -> Response:
    """Return a configuration's page or the overview, drawn on request; it needs the login of the UI."""
    from starlette.responses import HTMLResponse, PlainTextResponse

    from deployments.show.overview import overview
    from deployments.show.report import page
    from tasks.report.policy import HEADER, PRIVATE, policy
    from warehouse import Warehouse, WarehouseError

    scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
    login = base64.b64encode(os.environ[f"PREFECT_SERVER_{AUTH}"].encode()).decode()
    if scheme != "Basic" or not hmac.compare_digest(credentials.encode(), login.encode()):
        ask = {"WWW-Authenticate": f'Basic realm="Culturemeter on {HOST}"'}
        return PlainTextResponse("log in with the login that culturemeter serve prints", 401, ask)
    try:
        path, warehouse = request.path_params, Warehouse.open()
        text = page(warehouse, path["evaluation"], path["config"]) if path else overview(warehouse)
        # The page is of no origin, so that nothing in it can use the API with this login.
        return HTMLResponse(text, headers={HEADER: f"{policy(text)}; {PRIVATE}"})
    except WarehouseError as error:
        return PlainTextResponse(str(error), 404)
