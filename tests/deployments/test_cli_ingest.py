"""``culturemeter ingest``: refusals before any request, and files of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from deployments.cli import ingest as cli_ingest
from deployments.serve.server import ServerError
from tests.deployments.commands import call, refused
from tests.ingest.conftest import attempts, items
from warehouse import Warehouse


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep this process's Prefect settings; give no contact."""
    monkeypatch.delenv(cli_ingest.CONTACT, raising=False)
    monkeypatch.setattr(cli_ingest, "configure", lambda home, verbose: None)


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the attempts to start Prefect."""
    calls: list[str] = []

    def connect(home: Path, otherwise: str) -> None:
        calls.append(otherwise)
        raise ServerError(f"no server here. {otherwise}")

    monkeypatch.setattr(cli_ingest, "connect", connect)
    return calls


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
def test_wrong_options_are_refused_before_anything_starts(
    warehouse: Warehouse, started: list[str], arguments: tuple[str, ...], message: str
) -> None:
    assert message in refused("ingest", *arguments)
    assert attempts(warehouse) == []
    assert started == []


def test_live_sources_use_prefect_unless_no_server_is_given(warehouse: Warehouse, started: list[str]) -> None:
    line = ("ingest", "--live", "-s", "wikipedia-religions")
    assert "no server here. Run again with --no-server" in refused(*line)
    assert attempts(warehouse) == []
    # Without a contact no request is sent; the attempt is recorded.
    assert "live sources need a contact" in refused(*line, "--no-server")
    assert [row["status"] for row in attempts(warehouse)] == ["failed"]
    assert len(started) == 1


@pytest.mark.parametrize(
    ("source", "text", "item_list", "expected"),
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
def test_file_becomes_an_item_list_and_integrity_checks_pass(
    warehouse: Warehouse, tmp_path: Path, source: str, text: str, item_list: str, expected: list[str]
) -> None:
    file = tmp_path / f"{source}.txt"
    file.write_text(text)
    result = call("ingest", "--source", source, "--file", file, "--minimum", "1")
    assert [row["item"] for row in items(warehouse, item_list)] == expected
    (row,) = attempts(warehouse)
    assert (row["status"], row["url"], row["bytes"]) == ("replaced", str(file), len(text))
    assert "integrity checks" in result.stderr
    assert ("notice" in result.stderr) == (source == "tasteatlas")


def test_missing_or_wrong_file_changes_nothing(warehouse: Warehouse, tmp_path: Path) -> None:
    before = items(warehouse, "languages")
    page = tmp_path / "page.html"
    page.write_text("<html>")
    for arguments, message in (
        ((), "give the survey's CSV file"),
        (("--file", str(tmp_path / "gone.csv")), "gone.csv: cannot be read (No such file or directory)"),
        (("--file", str(page)), "wvs: the file has no column 'language' or 'Q272'; its columns: '<html>'"),
    ):
        assert message in refused("ingest", "--source", "wvs", *arguments)
    assert items(warehouse, "languages") == before
    assert [row["status"] for row in attempts(warehouse)] == ["failed"] * 3
