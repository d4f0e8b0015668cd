"""A published site in headless Chromium, from the standard library's file server under a sub-path.

All names but this machine's lead to a port that counts who comes: a site asks no other host for anything.
CULTURESCOPE_SCREENSHOTS names a folder to look at the pages in.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import polars as pl
import pytest

from deployments.publish.croissant import About
from deployments.publish.site import publish
from tests.deployments.a_site import fill
from tests.deployments.browser import CHROMIUM, SERIOUS, TOO_WIDE, Browser, axe, browser
from tests.ports import free_port
from tests.waiting import until
from warehouse import Warehouse

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
def _site(copied_home: Callable[[], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    warehouse = Warehouse.open(copied_home())
    fill(warehouse)
    folder = tmp_path_factory.mktemp("served") / "deep" / "site"
    publish(warehouse, folder, About("Our models", "CC-BY-4.0"))
    return folder


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
    """A rule that leads every other name to a port of ours, and who came there."""
    came: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def count() -> None:
            while True:
                try:
                    visitor, _ = listener.accept()
                except OSError:
                    return
                said = b""
                visitor.settimeout(1)
                with visitor, suppress(OSError):
                    while len(said) < 4096 and (more := visitor.recv(4096)):
                        said += more
                # The browser on its own behalf: a page's request names its host.
                if said and b"google" not in said:
                    came.append(said)

        threading.Thread(target=count, daemon=True).start()
        yield f"MAP * 127.0.0.1:{listener.getsockname()[1]}, EXCLUDE 127.0.0.1", came


def asked(tab: Browser, sql: str) -> dict[str, Any]:
    """What the query page shows: status, isError, and the texts of the table's cells."""
    return dict(tab.run(ASK % json.dumps(sql)))


def test_sql_runs_over_the_published_files_and_asks_no_other_host(
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
        dates = asked(
            tab, "SELECT min(finished_at) AS first, 0.5 AS half, NULL AS none, [1, 2] AS l FROM run"
        )
        first = pl.read_parquet(site / "data" / "run.parquet")["finished_at"].min()
        assert dates["rows"][1] == [f"{first:%Y-%m-%d %H:%M:%S.%f}"[:-3], "0.5", "NULL", "[1,2]"]
        everything = {row[0] for row in asked(tab, "SHOW TABLES")["rows"][1:]}
        assert everything == {file.stem for file in (site / "data").iterdir()}
        for name in sorted(everything):
            n = pl.scan_parquet(site / "data" / f"{name}.parquet").select(pl.len()).collect().item()
            assert asked(tab, f"SELECT count(*) FROM {name}")["rows"][1] == [str(n)], name
        for wrong, message in {
            "SELEC 1": 'Parser Error: syntax error at or near "SELEC"',
            "FROM model_score": "Catalog Error: Table with name model_score does not exist! "
            'Did you mean "model_scores"?',
            "": "There is no query: write one, or choose an example.",
        }.items():
            shown = asked(tab, wrong)
            assert (shown["isError"], shown["status"], shown["rows"]) == (True, message, [])
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
        assert asked(tab, "SELECT 1 AS one")["rows"] == [["one"], ["1"]]  # it goes on after an error
        for example in tab.run("[...document.querySelectorAll('.examples a')].map((a) => a.href)"):
            tab.run(FOLLOW % json.dumps(example))
            shown = asked(tab, tab.run(PREFILLED))
            assert not shown["isError"], shown
            assert len(shown["rows"]) > 1
    assert came == []


def test_pages_are_for_everybody_and_fit_a_phone(
    site: Path, address: str, elsewhere: tuple[str, list[Any]], tmp_path: Path
) -> None:
    rule, came = elsewhere
    script, folder = axe(tmp_path), os.environ.get("CULTURESCOPE_SCREENSHOTS")
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
