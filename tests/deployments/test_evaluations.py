"""Every evaluation can be started, planned and shown, and finding them costs no heavy import."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

import deployments.evaluations
from deployments import profiles
from deployments.evaluations import Evaluation, evaluations
from tasks.engines.specs import catalogue
from tests.conftest import REPOSITORY
from warehouse import Warehouse

FOLDER = REPOSITORY / "deployments" / "evaluations"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/__init__.py"))
HEAVY = ("torch", "vllm", "prefect", "matplotlib", "transformers", "openai", "sentence_transformers")


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """One without any run."""
    return Warehouse.open(tmp_path_factory.mktemp("home"))


@pytest.fixture
def fresh() -> Iterator[None]:
    """Evaluations are looked for anew, before and after."""
    evaluations.cache_clear()
    yield
    evaluations.cache_clear()


def test_every_package_is_found() -> None:
    assert {"fmlama", "spectral", "worldwise"} <= set(NAMES)
    assert list(evaluations()) == NAMES
    files = [e.page.file for e in evaluations().values()]
    assert len(set(files)) == len(files)


@pytest.mark.parametrize("name", NAMES)
def test_it_can_be_started(name: str) -> None:
    chosen = evaluations()[name]
    assert isinstance(chosen, Evaluation)
    assert chosen.title
    params = chosen.params()
    assert issubclass(params, BaseModel)
    assert {"models", "profile", "refresh"} <= params.model_fields.keys()
    flow = chosen.flow()
    assert flow.name == name
    assert list(inspect.signature(flow.fn).parameters) == ["params"]
    assert chosen.models
    assert set(chosen.models) <= catalogue().keys()


@pytest.mark.parametrize("name", NAMES)
def test_its_command_has_the_common_options_and_an_example(name: str) -> None:
    command = evaluations()[name].command
    options = inspect.signature(command).parameters
    assert {"model", "profile", "refresh", "dry_run", "verbose"} <= options.keys()
    assert f"`culturescope run {name}" in (inspect.getdoc(command) or "")
    # What a command asks for has a place among the params, perhaps under a longer name.
    fields = evaluations()[name].params().model_fields.keys()
    for option in options.keys() - {"dry_run", "verbose"}:
        assert any(field.startswith(option) for field in fields), option


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("profile", ["smoke", "demo", "full"])
def test_its_profiles_are_valid(name: str, profile: str) -> None:
    params = evaluations()[name].params()(models=["m"], **profiles.load(profile, name))
    assert params.model_dump()["profile"] == profile


@pytest.mark.parametrize("name", NAMES)
def test_its_leaderboard_can_be_asked_of_an_empty_warehouse(name: str, warehouse: Warehouse) -> None:
    board = evaluations()[name].leaderboard
    assert warehouse.query(board.newest).columns == ["config_hash"]
    rows = warehouse.query(board.rows, ["no-such-config"])
    assert rows.is_empty()
    empty = dict.fromkeys(rows.columns)  # a model of which nothing could be scored
    line = board.line(empty | {"model": "m", "is_null": False})
    assert line["model"] == "m"


def test_the_command_line_imports_nothing_heavy() -> None:
    said = subprocess.run(
        [sys.executable, "-c", "import sys, deployments.cli; print(*sys.modules)"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = {name.split(".")[0] for name in said.stdout.split()}
    assert "deployments" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_a_new_package_is_found_without_editing_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None
) -> None:
    package = tmp_path / "zebra"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from deployments.evaluations.spectral import EVALUATION as other\n"
        "from dataclasses import replace\n"
        "EVALUATION = replace(other, title='Stripes')\n"
    )
    monkeypatch.setattr(deployments.evaluations, "__path__", [str(FOLDER), str(tmp_path)])
    monkeypatch.delitem(sys.modules, "deployments.evaluations.zebra", raising=False)
    assert list(evaluations()) == [*NAMES, "zebra"]
    assert evaluations()["zebra"].title == "Stripes"
