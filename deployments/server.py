"""A Prefect API for flows to talk to: the user's, the one of ``culturescope serve``, or one of our own.

Prefect's built-in temporary server outlives a process that is killed; ours ends with its parent, and keeps
its database under CULTURESCOPE_HOME, so that past runs show in the UI later. Every command imports this
module, so it imports httpx and psutil when they are needed.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from deployments.display import err

HOST = "127.0.0.1"
QUIET_S, LONGEST_S = 120.0, 600.0
"""How long a server may take to answer: without a sign of life, and in all."""
SPEAK_AFTER_S = 10.0
PR_SET_PDEATHSIG = 1

_ERROR = re.compile(r"^(\[?Errno|ERROR|[\w.]*(Error|Exception|Exit|Interrupt)\b)")


class ServerError(RuntimeError):
    """There is no Prefect server; the message says what its log says, and what to do."""


def configure(home: Path, verbose: bool = False) -> None:
    """Set Prefect's environment before it is imported: its state at home, no telemetry, quiet logs."""
    (home / "prefect").mkdir(exist_ok=True)
    os.environ.setdefault("PREFECT_HOME", str(home / "prefect"))
    os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
    os.environ.setdefault("DO_NOT_TRACK", "1")
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "INFO" if verbose else "CRITICAL")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")


def connect(home: Path, otherwise: str = "") -> str:
    """Point this process at a Prefect API, started for it if there is none, until the process ends.

    Args:
        otherwise: what to do without one, for the error.

    Returns:
        the API's address: PREFECT_API_URL if set, else that of a running ``culturescope serve`` of this
        home, else of a server of our own. That one is stopped at exit, after Prefect has sent its last logs.

    Raises:
        ServerError: nobody answers at PREFECT_API_URL, or the server did not start.
    """
    given = os.environ.get("PREFECT_API_URL")
    exit_stack = ExitStack()
    atexit.register(exit_stack.close)
    try:
        if given and not _answers(given):
            raise ServerError(f"nobody answers at {given} (the environment variable PREFECT_API_URL).")
        url = given or _served(home) or exit_stack.enter_context(started(home, free_port()))
    except ServerError as error:
        raise ServerError(f"{error} {otherwise}".strip()) from error
    exit_stack.enter_context(pointed_at(url))
    return url


@contextmanager
def started(home: Path, port: int, announce: bool = False) -> Iterator[str]:
    """Start a Prefect server on 127.0.0.1 and stop it afterwards.

    Args:
        announce: write the address where other commands of this home find it.

    Raises:
        ServerError: the port is taken, or the server ends or does not answer in time.
    """
    if not _is_free(port):
        raise ServerError(
            f"port {port} on {HOST} is taken; stop what runs there or choose another with --port"
        )
    log = home / "prefect" / "server.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    url = f"http://{HOST}:{port}/api"
    env = {
        **os.environ,
        "PREFECT_API_URL": url,
        "PREFECT_SERVER_API_HOST": HOST,
        "PREFECT_SERVER_API_PORT": str(port),
    }
    env["PREFECT_UI_API_URL"] = url
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "--factory", "prefect.server.api.server:create_app",
             "--host", HOST, "--port", str(port), "--log-level", "warning", "--timeout-keep-alive", "30"],
            stdout=out, stderr=subprocess.STDOUT, env=env, preexec_fn=_end_with_parent,
        )  # fmt: skip
    address = _address_file(home)
    try:
        _wait_until_healthy(url, process, log)
        if announce:
            address.write_text(json.dumps({"url": url, "pid": process.pid}))
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
    """Within the block, this process and the flow runs that it starts talk to the API at ``url``."""
    from prefect.settings import PREFECT_API_URL, temporary_settings

    os.environ["PREFECT_API_URL"] = url
    try:
        with temporary_settings({PREFECT_API_URL: url}):
            yield
    finally:
        os.environ.pop("PREFECT_API_URL", None)


def free_port() -> int:
    """A TCP port on 127.0.0.1 that nobody listens on."""
    with socket.socket() as s:
        s.bind((HOST, 0))
        return int(s.getsockname()[1])


def is_healthy(url: str) -> bool:
    """Whether a Prefect API answers there."""
    import httpx

    try:
        return httpx.get(f"{url}/health", timeout=2).status_code == 200
    except httpx.HTTPError:
        return False


def _answers(url: str) -> bool:
    """Whether anybody does: a remote API may ask for a key first."""
    import httpx

    try:
        httpx.get(f"{url}/health", timeout=10)
    except (httpx.HTTPError, httpx.InvalidURL):
        return False
    return True


def _wait_until_healthy(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait while there are signs of life: the log grows, or the process works.

    Raises:
        ServerError: it ended, was quiet for ``QUIET_S``, or took ``LONGEST_S``; with what its log says.
    """
    start = alive = time.monotonic()
    life, spoken = _life(process, log), False
    while not is_healthy(url):
        now = time.monotonic()
        if process.poll() is not None:
            raise ServerError(
                f"the Prefect server ended with code {process.returncode}: {_says(log)} ({log})."
            )
        if (latest := _life(process, log)) != life:
            life, alive = latest, now
        if now - alive > QUIET_S or now - start > LONGEST_S:
            raise ServerError(
                f"the Prefect server did not answer within {now - start:.0f} s: {_says(log)} ({log})."
            )
        if not spoken and now - start > SPEAK_AFTER_S:
            err.print(f"waiting for the Prefect server: {_says(log)}", markup=False, soft_wrap=True)
            spoken = True
        time.sleep(0.1)


def _life(process: subprocess.Popen[bytes], log: Path) -> tuple[int, int]:
    """What grows as long as a server works: bytes of its log, and tenths of a second of processor time."""
    import psutil

    try:
        used = psutil.Process(process.pid).cpu_times()
    except psutil.Error:
        return log.stat().st_size, 0
    return log.stat().st_size, int(10 * (used.user + used.system))


def _says(log: Path) -> str:
    """The last line of a log that says something: the last error, or else the last line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.match(line) and "Application startup failed" not in line]
    return (errors or lines or ["it has written nothing"])[-1][:500]


def _served(home: Path) -> str | None:
    """The API of a running ``culturescope serve`` of this home."""
    try:
        url = str(json.loads(_address_file(home).read_text())["url"])
    except (OSError, ValueError, KeyError):
        return None
    return url if is_healthy(url) else None


def _address_file(home: Path) -> Path:
    return home / "prefect" / "serve.json"


def _is_free(port: int) -> bool:
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind((HOST, port))
        except OSError:
            return False
    return True


def _end_with_parent() -> None:
    """Linux: have the kernel stop the server when the process that started it dies, kill -9 included.

    Its own process group keeps Ctrl-C for the parent, which stops it in order.
    """
    os.setpgrp()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
