"""deployments/cluster as processes on this machine: two workers with separate homes, one killed at work.

The server, the databases and the workers have the settings of compose.yaml, with other addresses.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from tests.conftest import REPOSITORY, command, environment, prefect_post
from tests.deployments.test_cluster_files import FILLED, compose
from tests.golden import harness
from tests.ports import free_port
from tests.shared_store import ACCESS_KEY, BUCKET, SECRET_KEY
from warehouse import Warehouse

WAIT_S = 600.0
FORM = {"models": ["slow"], "profile": "smoke", "max_items": 6, "countries_per_part": 1}
UNITS = 6 * 9
UNIT_S = 0.6


@dataclass
class Cluster:
    """A Prefect server and the workers of its pool, each with its environment of compose.yaml."""

    folder: Path
    api: str
    shared: dict[str, str]
    """Environment of every worker and of every client of the store."""
    workers: dict[str, subprocess.Popen[str]] = field(default_factory=dict)

    def post(self, path: str, body: object) -> Any:
        return prefect_post(self.api, path, body, self.shared["PREFECT_API_AUTH_STRING"])

    def home(self, name: str) -> Path:
        """Return the home of one machine; a new one has an engine spec only."""
        home = self.folder / name
        (home / "engines").mkdir(parents=True, exist_ok=True)
        spec = f'kind = "fake"\nmodel = "slow"\noptions = {{ delay = {UNIT_S} }}\n'
        (home / "engines" / "slow.toml").write_text(spec)
        return home

    def environment(self, name: str) -> dict[str, str]:
        return environment(self.home(name), None) | self.shared

    def culturemeter(self, *arguments: str) -> str:
        """Run a command on the first machine; return its standard output."""
        done = subprocess.run(
            command(*arguments), env=self.environment("first"), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start_worker(self, name: str, line: list[str]) -> None:
        port = free_port()
        # Keep the user's own settings out.
        own = {"PREFECT_WORKER_WEBSERVER_PORT": str(port), "PREFECT_HOME": str(self.home(name) / "prefect")}
        with (self.folder / f"{name}.log").open("w") as log:
            self.workers[name] = subprocess.Popen(
                [sys.executable, "-m", *line, "--name", name],
                env=self.environment(name) | own, stdout=log, stderr=log, text=True,
            )  # fmt: skip
        health = f"http://127.0.0.1:{port}/health"
        self.wait(lambda: httpx.get(health).status_code == 200)

    def run(self, identity: str) -> dict[str, Any]:
        (run,) = self.post("/flow_runs/filter", {"flow_runs": {"id": {"any_": [identity]}}})
        return dict(run)

    def at_work(self, identity: str) -> str:
        """Return the worker whose process works on a run; "" if none is known."""
        process = (self.run(identity)["infrastructure_pid"] or "").rpartition(":")[2]
        if not process.isdecimal() or not psutil.pid_exists(int(process)):
            return ""
        above = {parent.pid for parent in psutil.Process(int(process)).parents()}
        return next((name for name, worker in self.workers.items() if worker.pid in above), "")

    @contextmanager
    def as_machine(self) -> Iterator[None]:
        """Give this process the environment of the first machine."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.environment("first").items():
                patch.setenv(name, value)
            yield

    def units(self) -> int:
        """Return the number of registered units of the slow model."""
        with self.as_machine():
            rows = Warehouse.open().query("SELECT count(*) AS n FROM part_unit WHERE kind = 'item_logprob'")
        return int(rows["n"][0])

    def wait(self, condition: Callable[[], Any], seconds: float = WAIT_S) -> Any:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if value := condition():
                    return value
            except httpx.HTTPError:
                pass
            time.sleep(0.5)
        raise AssertionError(f"nothing came in {seconds:.0f} s: {self.logs()}")

    def logs(self) -> str:
        return "\n".join(f"{log.name}: {log.read_text()[-1500:]}" for log in self.folder.glob("*.log"))


def kill(worker: subprocess.Popen[str]) -> None:
    """Kill the worker and all its children at once, like a machine that loses power."""
    whole = [*psutil.Process(worker.pid).children(recursive=True), psutil.Process(worker.pid)]
    for process in whole:
        process.kill()
    worker.wait()


@pytest.fixture
def cluster(postgres_server_url: str, s3_endpoint: str, tmp_path: Path) -> Iterator[Cluster]:
    """Databases with logins, and the server, as in compose.yaml."""
    pytest.importorskip("warehouse.shared")  # its libraries are an extra
    import psycopg

    whole = compose(FILLED)
    # The tests' Postgres has a role of that name already.
    for statement in whole["configs"]["databases"]["content"].replace("culturemeter", "lab").split(";\n"):
        if statement.strip():
            with psycopg.connect(postgres_server_url, autocommit=True) as connection:
                connection.execute(statement.encode())
    postgres = urlsplit(postgres_server_url).netloc.rpartition("@")[2]
    port = free_port()
    api = f"http://127.0.0.1:{port}/api"
    client = whole["services"]["worker"]["environment"]
    shared = client | {
        "PREFECT_API_URL": api,
        "CULTUREMETER_WAREHOUSE": f"postgresql://lab:{FILLED['WAREHOUSE_PASSWORD']}@{postgres}/lab",
        "CULTUREMETER_PARTS": f"s3://{BUCKET}/cluster",
        "CULTUREMETER_PARTS_ENDPOINT": s3_endpoint,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    }
    server = whole["services"]["prefect"]["environment"]
    address = server["PREFECT_SERVER_DATABASE_CONNECTION_URL"].replace("postgres:5432", postgres)
    own = {"PREFECT_SERVER_DATABASE_CONNECTION_URL": address, "PREFECT_HOME": str(tmp_path / "server")}
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    with ExitStack() as stack:
        log = stack.enter_context((tmp_path / "server.log").open("w"))
        process = subprocess.Popen(
            [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)],
            env=clean | server | own, stdout=log, stderr=log, text=True,
        )  # fmt: skip
        started = Cluster(tmp_path, api, shared)
        stack.callback(kill, process)
        stack.callback(lambda: [kill(each) for each in started.workers.values() if each.poll() is None])
        started.wait(lambda: httpx.get(f"{api}/health").status_code == 200)
        yield started


@pytest.mark.slow
@pytest.mark.heavy
def test_run_of_a_killed_worker_resumes_on_another(cluster: Cluster, home: Path) -> None:
    _check_access_without_login(cluster)
    pool = compose(FILLED)["services"]["worker"]["command"]
    cluster.culturemeter(
        "serve", "--pool", pool[pool.index("--pool") + 1], "-m", "slow", "--profile", "smoke"
    )
    for name in ("first", "second"):
        cluster.start_worker(name, pool)

    listed = {each["name"]: each["id"] for each in cluster.post("/deployments/filter", {})}
    form = {"parameters": {"params": FORM}}
    identity = cluster.post(f"/deployments/{listed['spectral']}/create_flow_run", form)["id"]
    cluster.wait(lambda: cluster.units() >= 6)
    dies = cluster.wait(lambda: cluster.at_work(identity))
    kill(cluster.workers[dies])
    stored = cluster.units()
    assert stored < UNITS
    cluster.wait(lambda: cluster.units() > stored)
    goes_on = cluster.at_work(identity)
    cluster.wait(lambda: cluster.run(identity)["state"]["type"] == "COMPLETED")

    assert goes_on in {"first", "second"} - {dies}
    assert cluster.run(identity)["run_count"] == 2
    _check_same_numbers_as_undisturbed(cluster, home)


def _check_access_without_login(cluster: Cluster) -> None:
    import psycopg

    for auth in (None, ("culturemeter", "wrong")):
        assert httpx.get(f"{cluster.api}/admin/version", auth=auth).status_code == 401
        asked = httpx.post(f"{cluster.api}/flow_runs/filter", json={}, auth=auth)
        assert asked.status_code in (401, 403)
    place = f"{cluster.shared['CULTUREMETER_PARTS_ENDPOINT']}/{BUCKET}/cluster"
    assert httpx.get(place).status_code == 403
    assert httpx.put(place, content=b"mine").status_code == 403
    url = urlsplit(cluster.shared["CULTUREMETER_WAREHOUSE"])
    at = f"127.0.0.1:{url.port}"
    for who in ("lab@{at}/lab", "lab:wrong@{at}/lab", "prefect:d@{at}/lab", "lab:b@{at}/prefect"):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect("postgresql://" + who.format(at=at))


def _check_same_numbers_as_undisturbed(cluster: Cluster, home: Path) -> None:
    """Check that the numbers equal those of an undisturbed run, and that no row is stored twice."""
    shutil.copytree(cluster.home("first") / "engines", home / "engines", dirs_exist_ok=True)
    options = [f"--{name.replace('_', '-')}={value}" for name, value in FORM.items() if name != "models"]
    alone = subprocess.run(
        command("run", "spectral", "-m", "slow", "--no-server", *options),
        env=environment(home, None), cwd=REPOSITORY, capture_output=True, text=True,
    )  # fmt: skip
    assert alone.returncode == 0, alone.stdout + alone.stderr
    undisturbed = harness.metric_rows(home, "spectral")
    with cluster.as_machine():
        warehouse = Warehouse.open()
        rows = harness.metric_rows(warehouse.home, "spectral")
        each = "count(DISTINCT (request_hash, country, item))"
        answers = warehouse.query(f"SELECT count(*) AS n, {each} AS different FROM item_logprob")
        runs = warehouse.query("SELECT 1 FROM run WHERE status = 'finished' AND NOT is_null").height
    assert rows == undisturbed
    assert len(rows) > 20
    assert answers["n"][0] == answers["different"][0] > UNITS
    assert (cluster.units(), runs) == (UNITS, 1)
