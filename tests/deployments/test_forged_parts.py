"""No command shows numbers or texts of a forged part: it refuses, or does not read that part."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from deployments.cli.app import app
from warehouse import Warehouse, verified

pytestmark = [pytest.mark.heavy]

RUN = ("run", "cure", "-m", "fake-a", "-m", "fake-b", "--profile", "smoke", "--judges", "fake-j",
       "--benchmarks", "normad", "--no-server", "--no-probe")  # fmt: skip
COMMANDS = {
    "report": ("report", "cure", "--out", "{out}/page.html"),
    "report --all": ("report", "--all", "--out", "{out}/all.html"),
    "leaderboard": ("leaderboard", "cure", "-f", "csv"),
    "history": ("leaderboard", "cure", "--history", "-f", "csv"),
    "compare": ("compare", "fake-a", "fake-b", "-f", "csv"),
    "export inspect": ("export", "inspect", "cure", "--out", "{out}/logs"),
    "publish": ("publish", "{out}/site"),
    "publish answers": ("publish", "{out}/site", "--include-answers"),
    "check --numbers": ("check", "--numbers"),
    "sql": ("sql", "SELECT kind, part, sum(n_rows) FROM unit_rows GROUP BY ALL ORDER BY ALL", "-f", "csv"),
}
NOT_THE_SAME_TWICE = ("export inspect", "publish", "publish answers")
"""Commands whose files contain times and random identifiers."""


@pytest.fixture(scope="module", name="home")
def _home(copied_home: Callable[[], Path]) -> Path:
    home = copied_home()
    (home / "engines").mkdir()
    for name in ("fake-a", "fake-b", "fake-j"):
        (home / "engines" / f"{name}.toml").write_text(f'kind = "fake"\nmodel = "{name}"\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTUREMETER_HOME", str(home))
        result = CliRunner().invoke(app, RUN)
    assert result.exit_code == 0, result.output
    with Warehouse.open(home).write():
        pass  # nothing is left in the log of registrations, so that the file alone can be put back
    return home


def parts_of(home: Path) -> dict[str, dict[Path, bytes]]:
    """Return kind -> file -> bytes of all parts with rows."""
    files = sorted(home.glob("parts/*/[!_]*.parquet"))
    return {
        kind: {file: file.read_bytes() for file in files if file.parent.name == kind}
        for kind in sorted({file.parent.name for file in files})
    }


def forge(path: Path) -> None:
    """Replace a part by a sound Parquet file of the same columns with other numbers and texts."""
    rows = pl.read_parquet(path, glob=False)
    keys = ("part", "request_hash", "run_id", "model")
    path.unlink()
    rows.with_columns(
        (pl.col(pl.Float32, pl.Float64) * 0.5 + 0.123).name.keep(),
        (pl.col(pl.Int16, pl.Int32, pl.Int64) + 1).name.keep(),
        *(pl.col(n) + " forged" for n, t in rows.schema.items() if t == pl.String and n not in keys),
    ).write_parquet(path)


def shown(home: Path, out: Path, command: str) -> tuple[int, str, dict[str, str]]:
    """Return exit code, printed text, and the written files by hash."""
    verified._sound.clear()  # as in a new process
    out.mkdir()
    arguments = [word.format(out=out) for word in COMMANDS[command]]
    result = CliRunner().invoke(app, arguments, env={"CULTUREMETER_HOME": str(home), "COLUMNS": "200"})
    files = {
        str(file.relative_to(out)): sha256(file.read_bytes()).hexdigest()
        for file in sorted(out.rglob("*"))
        if file.is_file()
    }
    shutil.rmtree(out)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout + result.stderr, files


@pytest.fixture(name="restored")
def _restored(home: Path) -> Iterator[dict[str, dict[Path, bytes]]]:
    """The parts, restored after the test."""
    parts = parts_of(home)
    parts["database"] = {home / "culturemeter.duckdb": (home / "culturemeter.duckdb").read_bytes()}
    yield parts
    restore(parts)


def restore(parts: dict[str, dict[Path, bytes]]) -> None:
    for files in parts.values():
        for path, content in files.items():
            path.unlink(missing_ok=True)
            path.write_bytes(content)


@pytest.mark.parametrize("command", COMMANDS)
def test_command_refuses_changed_parts_or_prints_the_same(
    home: Path, tmp_path: Path, restored: dict[str, dict[Path, bytes]], command: str
) -> None:
    code, printed, files = shown(home, tmp_path / "out", command)
    assert code == 0, printed
    kinds = restored.keys() - {"database"}
    assert len(kinds) >= 3
    refused = []
    for kind in sorted(kinds):
        parts = restored[kind]
        for path in parts:
            forge(path)
        now, text, written = shown(home, tmp_path / "out", command)
        assert "forged" not in text
        if now:
            refused.append(kind)
            assert "does not match the hash in its name" in " ".join(text.split())
            assert written.items() <= files.items(), "only files made from other parts"
        elif "set aside" in text:
            refused.append(kind)
            assert text.count("does not match the hash in its name") == len(parts)
        elif command not in NOT_THE_SAME_TWICE:
            assert (text, written) == (printed, files), kind
        restore(restored)
    if command in ("sql", "compare", "export inspect", "publish answers", "check --numbers"):
        assert refused
    assert Warehouse.open(home).query("SELECT count(*) FROM unit_rows").item()
