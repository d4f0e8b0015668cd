"""The command line's quick commands, in this process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import polars as pl
import psutil
import pytest
from typer import Context
from typer.main import get_command
from typer.testing import CliRunner

from deployments.cli.app import COMMANDS, app, summary
from deployments.evaluations import doors
from tasks.engines.protocols import EngineError
from tasks.engines.specs import find_spec
from tests.conftest import environment
from tests.deployments.commands import call, one_line, refused, table
from tests.waiting import LONGEST_WAIT_S, until

pytestmark = pytest.mark.usefixtures("warehouse")


@pytest.mark.parametrize(
    "line",
    ["ingest", "check", "sql", "leaderboard", "compare", "drift", "report", "serve", "models prepare"]
    + ["judge audit", "judge validate", *(f"run {name}" for name in doors())]
    + [f"culturall {name}" for name in ("build", "elevate", "review", "release", "status")]
    + [f"specnorm {name}" for name in ("build", "review", "status")],
)
def test_help_of_a_command_has_an_example(line: str) -> None:
    assert f"culturemeter {line}" in one_line(call(*line.split(), "--help").output)


def test_help_of_run_lists_each_evaluation_with_its_title() -> None:
    text = one_line(call("run", "--help").output)
    for name, door in doors().items():
        assert f"{name} {door.title}" in text


QUICK = """
import contextlib, io, json, sys
from deployments.cli.app import COMMANDS, app
loaded = {}
for line in (["--help"], ["sql", "SELECT 1"], ["leaderboard"]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        app(line)
    loaded[line[0]] = sorted(sys.modules)
print(json.dumps(loaded))
"""
HEAVY = {
    "prefect", "torch", "transformers", "vllm", "scipy", "matplotlib", "statsmodels", "bs4", "pandas",
    "openai", "sentence_transformers",
}  # fmt: skip
"""psutil is none: it tells in 20 ms where a home lies. pandas: the client of DuckDB imports it when it
binds its first value."""


def test_quick_commands_import_no_heavy_library(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", QUICK], env=environment(home, None), capture_output=True, text=True, check=True
    )
    for command, modules in json.loads(done.stdout).items():
        needless = HEAVY | {"polars.dataframe", "pyarrow", "numpy"}
        needless |= {"polars", "duckdb", "warehouse"} if command == "--help" else set()
        assert needless.isdisjoint(modules), command


@pytest.mark.parametrize("name", COMMANDS)
def test_command_list_shows_first_paragraph_of_each_docstring(name: str) -> None:
    """The list reads source files and imports none of the commands."""
    group = get_command(app)
    here = group.get_command(Context(group), name)  # type: ignore[attr-defined]
    assert summary(*COMMANDS[name].split(":")) == " ".join((here.help or "").partition("\n\n")[0].split())


def test_python_m_culturemeter_prints_the_version(home: Path) -> None:
    module = [sys.executable, "-m", "culturemeter", "--version"]
    done = subprocess.run(module, env=environment(home, None), capture_output=True, text=True, check=True)
    assert done.stdout == f"{version('culturemeter')}\n"


def test_ingest_loads_the_shipped_reference_data() -> None:
    result = call("ingest")
    assert "dishes" in result.stdout
    assert "integrity checks" in result.stderr


def test_sql_prints_csv_and_json() -> None:
    query = "SELECT country, name FROM country WHERE country IN ('FR', 'JP') ORDER BY country"
    assert call("sql", query, "--format", "csv").stdout == "country,name\nFR,France\nJP,Japan\n"
    from_input = CliRunner().invoke(app, ["sql", "-", "--format", "json"], input=query)
    countries = [{"country": "FR", "name": "France"}, {"country": "JP", "name": "Japan"}]
    assert json.loads(from_input.stdout) == countries
    assert table("sql", "SELECT 'infinity'::DOUBLE AS sr") == [{"sr": "inf"}]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT * FROM nowhere", "nowhere does not exist"),
        ("DROP TABLE country", "DROP is not allowed"),
        ("SELECT 1 AS a; SELECT 2 AS a", "one query at a time: these are 2"),
        ("", "there is no query"),
        (" ; -- SELECT 1", "there is no query"),
    ],
)
def test_wrong_query_is_refused_with_its_fault(query: str, message: str) -> None:
    error = refused("sql", "--", query)
    assert error.startswith("error: ")
    assert message in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("leaderboard", "culturemeter run spectral --profile smoke"),
        ("leaderboard spectral", "start one with: culturemeter run spectral --profile smoke"),
        ("leaderboard zebra", "unknown evaluation 'zebra'; known: "),
        ("report", "culturemeter run spectral --profile smoke"),
    ],
)
def test_commands_without_a_run_name_the_one_to_start(arguments: str, message: str) -> None:
    assert message in refused(*arguments.split())


def test_broken_engine_spec_hides_no_other_model(home: Path) -> None:
    """The list shows every model, and a sound spec is found beside broken ones."""
    folder = home / "engines"
    folder.mkdir(exist_ok=True)
    bad = {
        "broken": b"kind = [",
        "unknown": b'model = "x"\nnone = 1',
        "bytes": b"\xff",
        "typed": b"model = 3",
    }
    for name, text in {**bad, "good": b'kind = "fake"\nmodel = "x"'}.items():
        (folder / f"{name}.toml").write_bytes(text)
    (folder / "folder.toml").mkdir()
    rows = {row["name"]: row for row in table("models", "list")}
    assert {"good", "smollm2-135m", "folder", *bad} <= rows.keys()
    assert {name for name, row in rows.items() if row["prepared"] == "cannot be read"} == {"folder", *bad}
    for name in bad:
        assert str(folder / f"{name}.toml") in rows[name]["model"]
        assert "\n" not in rows[name]["model"]
    assert find_spec("good", folder).kind == "fake"
    with pytest.raises(EngineError, match=r"broken\.toml: not a valid engine spec"):
        find_spec("broken", folder)


def working(home: Path, script: str) -> subprocess.Popen[str]:
    """Start a process; return once it has printed a line and then used a second of processor time."""
    process = subprocess.Popen(
        [sys.executable, "-c", script], env=environment(home, None), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip

    def used() -> float:
        return sum(psutil.Process(process.pid).cpu_times()[:2])

    assert process.stdout is not None
    process.stdout.readline()
    begun = used()
    until(lambda: used() > begun + 1, process, every=0.05)
    return process


@pytest.mark.heavy
@pytest.mark.slow
def test_ctrl_c_during_a_query_prints_one_line(home: Path) -> None:
    endless = "SELECT count(*) FROM range(500000) AS a, range(500000) AS b"
    script = f"""
import runpy, sys, warnings
import deployments.cli.app, warehouse
warnings.simplefilter("ignore")  # of a module that runs again
print("begun", flush=True)
sys.argv = ["culturemeter", "sql", {endless!r}]
runpy.run_module("deployments.cli.app", run_name="__main__")
"""
    process = working(home, script)
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate(timeout=LONGEST_WAIT_S)
    assert (process.returncode, printed) == (130, "interrupted: run again to resume\n")


@pytest.mark.heavy
@pytest.mark.slow
def test_sigterm_during_a_query_of_a_flow_prints_nothing(home: Path) -> None:
    """Prefect ends the process only if it sees its own exception, not DuckDB's."""
    script = """
from prefect.utilities.engine import capture_sigterm
from deployments.cli.common import errors
from warehouse import Warehouse
warehouse = Warehouse.open()
with errors(), capture_sigterm():
    print("begun", flush=True)
    warehouse.query("SELECT count(*) FROM range(500000) AS a, range(500000) AS b")
"""
    process = working(home, script)
    process.send_signal(signal.SIGTERM)
    _, printed = process.communicate(timeout=LONGEST_WAIT_S)
    assert (process.returncode, printed) == (-signal.SIGTERM, "")


@pytest.mark.slow
def test_ctrl_c_during_imports_prints_one_line(home: Path) -> None:
    early = "import deployments.cli.app, os, signal; os.kill(os.getpid(), signal.SIGINT)"
    script = home / "culturemeter"
    script.write_text(early.replace("deployments.cli.app", "deployments"))
    done = subprocess.run(
        [sys.executable, str(script)], env=environment(home, None), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (130, "interrupted: run again to resume\n")


def test_out_writes_a_new_file_and_overwrites_none(home: Path) -> None:
    query = "SELECT 1 AS a, [1, 2] AS b UNION ALL SELECT 2, NULL ORDER BY a"
    for name, read in (("x.parquet", pl.read_parquet), ("x.csv", pl.read_csv), ("x.json", pl.read_json)):
        assert call("sql", query, "--out", name).stdout == ""
        assert read(home / name)["a"].to_list() == [1, 2]
    for name, message in (("x.csv", "x.csv exists and is not overwritten"), ("x.txt", "ends in .parquet, ")):
        assert message in refused("sql", query, "--out", name)
    assert not (home / "x.txt").exists()


@pytest.mark.usefixtures("warehouse")
def test_columns_of_a_query_fold_or_stand_below_one_another_and_never_vanish() -> None:
    wide = " ".join(["word"] * 30)
    few = call("sql", f"SELECT '{wide}' AS a, '{wide}' AS b", COLUMNS="80").stdout
    assert one_line(few).count("word") == 60
    assert max(map(len, few.splitlines())) <= 80
    many = ", ".join(f"{n} AS c{n}" for n in range(12))
    rows = call("sql", f"SELECT {many} UNION ALL SELECT {many}", COLUMNS="80").stdout.splitlines()
    assert rows[:3] == ["--- row 1", "c0  | 0", "c1  | 1"]
    assert len(rows) == 2 * 13
    every = call("sql", "FROM country LIMIT 1", COLUMNS="40")
    assert "with --wide" in every.stderr
