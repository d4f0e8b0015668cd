"""``culturescope ingest`` in this process: refusals before anybody is asked, files of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from deployments.cli import ingest as cli_ingest
from deployments.cli.app import app
from deployments.serve.server import ServerError
from tests.ingest.rows import attempts, items
from warehouse import Warehouse

runner = CliRunner()


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process keeps the Prefect settings that it has, and nobody's contact."""
    monkeypatch.delenv(cli_ingest.CONTACT, raising=False)
    monkeypatch.setattr(cli_ingest, "configure", lambda home, verbose: None)


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was started of Prefect: nothing may be, unless a test wants it."""
    calls: list[str] = []

    def connect(home: Path, otherwise: str) -> None:
        calls.append(otherwise)
        raise ServerError(f"no server here. {otherwise}")

    monkeypatch.setattr(cli_ingest, "connect", connect)
    return calls


def ingest(*arguments: str) -> Result:
    return runner.invoke(app, ["ingest", *arguments])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-s", "wikidata"), "wikidata needs the network: add --live, and --contact"),
        (("-s", "tasteatlas", "--file", "https://foods.example/export"), "tasteatlas needs the network"),
        (("-s", "fmlama", "-s", "wvs", "--file", "a.csv"), "files belong to one source"),
        (("--live", "--file", "a.csv"), "files belong to one source"),
        (("-s", "wikipedia", "--live"), "'wikipedia-currencies', 'wikipedia-religions'"),
        (("--live", "--minimum", "0"), "--minimum: expected at least 1"),
        (("--live", "--max-shrinkage", "1.5"), "--max-shrinkage: expected at most 1"),
    ],
)
def test_wrong_options_are_one_clear_error_before_anything_starts(
    warehouse: Warehouse, started: list[str], arguments: tuple[str, ...], message: str
) -> None:
    result = ingest(*arguments)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert message in " ".join(result.stderr.split())
    assert attempts(warehouse) == []
    assert started == []


def test_live_sources_use_prefect_unless_no_server_is_given(warehouse: Warehouse, started: list[str]) -> None:
    refused = ingest("--live", "-s", "wikipedia-religions")
    assert refused.exit_code == 1
    assert "no server here. Run again with --no-server" in " ".join(refused.stderr.split())
    assert attempts(warehouse) == []
    # Without a contact nobody is asked; that it was tried is written down.
    without = ingest("--live", "-s", "wikipedia-religions", "--no-server")
    assert without.exit_code == 1
    assert "live sources need a contact" in " ".join(without.stderr.split())
    assert [row["status"] for row in attempts(warehouse)] == ["failed"]
    assert len(started) == 1


@pytest.mark.parametrize(
    ("source", "text", "item_list", "kept"),
    [
        ("worldcuisines", "Name,Countries\nCeviche,Peru\nceviche,Chile\n,Peru\n", "dishes", ["Ceviche"]),
        (
            "wvs",
            "language,country\nQuechua,Peru\nAymara,Bolivia\n,Peru\n",
            "languages",
            ["Aymara", "Quechua"],
        ),
        ("tasteatlas", '{"items": [{"name": "Ceviche"}, {"name": "Pho"}, {}]}', "dishes", ["Ceviche", "Pho"]),
    ],
)
def test_a_file_becomes_a_list_and_the_integrity_checks_hold(
    warehouse: Warehouse, tmp_path: Path, source: str, text: str, item_list: str, kept: list[str]
) -> None:
    file = tmp_path / f"{source}.txt"
    file.write_text(text)
    result = ingest("--source", source, "--file", str(file), "--minimum", "1")
    assert result.exit_code == 0, result.output
    assert [row["item"] for row in items(warehouse, item_list)] == kept
    (row,) = attempts(warehouse)
    assert (row["status"], row["url"], row["bytes"]) == ("replaced", str(file), len(text))
    assert "integrity checks" in result.stderr
    assert ("notice" in result.stderr) == (source == "tasteatlas")


def test_a_file_that_is_missing_or_another_changes_nothing(warehouse: Warehouse, tmp_path: Path) -> None:
    before = items(warehouse, "languages")
    page = tmp_path / "page.html"
    page.write_text("<html>")
    for arguments, message in (
        ((), "give the survey's CSV file"),
        (("--file", str(tmp_path / "gone.csv")), "gone.csv: cannot be read (No such file or directory)"),
        (("--file", str(page)), "wvs: the file has no column 'language' or 'Q272'; it has '<html>'"),
    ):
        result = ingest("--source", "wvs", *arguments)
        assert result.exit_code == 1
        assert isinstance(result.exception, SystemExit)
        assert message in " ".join(result.stderr.split())
    assert items(warehouse, "languages") == before
    assert [row["status"] for row in attempts(warehouse)] == ["failed"] * 3
