"""A read-only user of a shared warehouse, set up as documented, sees everything and changes nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import psycopg
import pytest

from tests.conftest import REPOSITORY, command, environment
from tests.evaluations.spectral.report import example_run
from tests.shared_store import PASSWORD, READER_KEY, READER_SECRET, USER
from warehouse import Warehouse
from warehouse.copying import copy
from warehouse.local_store import LocalStore
from warehouse.store import store_at

pytestmark = pytest.mark.slow

DOCUMENTED = (REPOSITORY / "docs" / "cluster.md").read_text(encoding="utf-8")


@pytest.fixture
def reader(
    blank: Path,
    tmp_path: Path,
    postgres_url: str,
    shared_environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, str]:
    """The environment of a read-only user of a shared warehouse with a run of spectral."""
    for name, value in shared_environment.items():
        monkeypatch.setenv(name, value)
    copy(Warehouse(LocalStore(blank)), store_at(tmp_path / "owner"))
    example_run.store(Warehouse.open(tmp_path / "owner"), "m", "c")
    (statements,) = re.findall(r"```sql\n(CREATE ROLE reader .*?)```", DOCUMENTED, re.DOTALL)
    database = postgres_url.rpartition("/")[2]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS reader")
        connection.execute(
            statements.replace("'…'", "'of-a-reader'")
            .replace("DATABASE culturemeter", f"DATABASE {database}")
            .replace("FOR ROLE culturemeter", f"FOR ROLE {USER}")
            .encode()
        )
    keys = {"AWS_ACCESS_KEY_ID": READER_KEY, "AWS_SECRET_ACCESS_KEY": READER_SECRET}
    address = postgres_url.replace(f"{USER}:{PASSWORD}@", "reader:of-a-reader@")
    own = shared_environment | keys | {"CULTUREMETER_WAREHOUSE": address}
    return environment(tmp_path / "reader", None) | own


def run(reader: dict[str, str], *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command(*arguments), env=reader, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


def test_read_only_user_gets_leaderboards_queries_and_reports(reader: dict[str, str], tmp_path: Path) -> None:
    (row,) = json.loads(run(reader, "leaderboard", "spectral", "--format", "json").stdout)
    assert (row["model"], row["macro_f1"]) == ("m", 0.5)
    sql = "SELECT count(*) AS n FROM item_logprob"
    assert json.loads(run(reader, "sql", sql, "--format", "json").stdout) == [{"n": 8}]
    page = tmp_path / "page.html"
    run(reader, "report", "spectral", "--out", str(page))
    assert "macro_f1" in page.read_text(encoding="utf-8")


def test_read_only_user_cannot_delete(reader: dict[str, str]) -> None:
    refused = run(reader, "prune", "--delete", code=1).stderr
    assert "403 Forbidden (AccessDenied)" in " ".join(refused.split())
    assert "Traceback" not in refused
    assert os.environ["CULTUREMETER_WAREHOUSE"] not in refused
