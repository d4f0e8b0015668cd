"""Samples are stored with a run's rows, equal those of its study, and need nothing of today's content."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from deployments.cli.app import app
from deployments.evaluations import evaluation as door
from flows.stored import finished_runs, rebuilt, samples, samples_of
from tests.golden.conftest import Homes
from tests.golden.harness import EVALUATIONS
from warehouse import KINDS, Warehouse

pytestmark = pytest.mark.slow

WITHOUT_SETTINGS = """
SELECT count(*) FROM response WHERE json_extract_string(sampling, '$.seed')::BIGINT IS DISTINCT FROM seed
OR json_extract(sampling, '$.max_tokens') IS NULL OR NOT json_valid(coalesce(schema, '{}'))
"""
PACKS = ("money", "proverbs", "tables", "whence")
"""Nets of recipes in packs, one of each recipe."""


def plain(value: Any) -> Any:
    """Return a value as JSON reads it."""
    return json.loads(json.dumps(value, default=lambda v: dict(v) if hasattr(v, "keys") else list(v)))


@pytest.mark.parametrize("name", sorted(EVALUATIONS))
def test_stored_samples_equal_those_of_the_study(
    name: str, finished: Homes, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = finished(name)
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    for run in finished_runs(name):
        stored = [plain(asdict(each)) for each in samples(run)]
        made = [plain(asdict(each)) for each in samples_of(door(name), *rebuilt(door(name), run))]
        assert stored == made
        assert stored
    warehouse = Warehouse.open(home)
    assert warehouse.query(WITHOUT_SETTINGS).item() == 0
    assert warehouse.query("SELECT count(*) FROM item_logprob WHERE prompt IS NULL").item() == 0
    sizes = {kind: _size(home, kind) for kind in KINDS}
    if sizes["response"]:  # answers of the others are matrices, far larger than those of a net
        assert 0 < sizes["sample"] < 0.3 * (sum(sizes.values()) - sizes["sample"])


def _size(home: Path, kind: str) -> int:
    return sum(file.stat().st_size for file in (home / "parts" / kind).glob("[!_]*.parquet"))


@pytest.mark.parametrize("name", PACKS)
@pytest.mark.parametrize("change", ["edited", "removed"])
def test_a_pack_that_is_gone_or_edited_changes_nothing_of_its_runs(
    name: str, change: str, finished: Homes, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = finished(name)
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    before = [plain(asdict(each)) for run in finished_runs(name) for each in samples(run)]
    pack = home / "packs" / name
    if change == "removed":
        shutil.rmtree(pack)
    else:
        definition, items = pack / "evaluation.toml", next(pack.glob("*items*.csv"), pack / "items.csv")
        definition.write_text(definition.read_text().replace("{{", "Now: {{", 1))
        items.write_text("".join(items.read_text().splitlines(keepends=True)[:-1]))
    assert [plain(asdict(each)) for run in finished_runs(name) for each in samples(run)] == before
    numbers = CliRunner().invoke(app, ["check", "--numbers"])
    assert numbers.exit_code == 0, numbers.stderr
    assert f"equal {name}" in " ".join(numbers.stderr.split())
    assert "not recomputed" not in numbers.stderr
    logs = CliRunner().invoke(app, ["export", "inspect", name])
    assert logs.exit_code == 0, logs.stderr
    texts = Warehouse.open(home).query(
        "SELECT count(*) FROM sample_text WHERE input IS NULL OR output IS NULL"
    )
    assert texts.item() == 0
