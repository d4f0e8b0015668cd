"""Every evaluation can be started and shown through its door."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import deployments.evaluations
from deployments.cli.run import Switches
from deployments.evaluations import doors, evaluation, flow, params, profile, profiles, with_items
from tasks.engines.specs import catalogue
from tasks.evaluations.about import About
from tasks.evaluations.contract import Evaluation, Params
from tasks.registry import benchmarks
from tests.conftest import REPOSITORY
from warehouse import Warehouse

FOLDER = REPOSITORY / "deployments" / "evaluations"
WITHOUT_ITEMS = ("harness", "imported")
"""Evaluations whose tasks or logs the user names."""
NAMES = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))


@pytest.fixture(scope="module")
def warehouse(copied_home: Callable[[], Path]) -> Warehouse:
    """A warehouse without runs."""
    return Warehouse.open(copied_home())


@pytest.fixture
def fresh() -> Iterator[None]:
    """Clear the cache of doors before and after the test."""
    deployments.evaluations._with_files.cache_clear()
    yield
    deployments.evaluations._with_files.cache_clear()


def test_every_evaluation_has_a_door() -> None:
    packages = {path.parent.name for path in (REPOSITORY / "tasks" / "evaluations").glob("*/__init__.py")}
    assert with_items() == [name for name in NAMES if name not in WITHOUT_ITEMS]
    assert sorted(packages - {"recipe"}) == NAMES
    assert list(doors()) == [*NAMES, *sorted(benchmarks())]


@pytest.mark.parametrize("name", NAMES)
def test_evaluation_has_flow_params_and_default_models(name: str) -> None:
    chosen, door = evaluation(name), doors()[name]
    assert isinstance(door, About)
    assert isinstance(chosen, Evaluation)
    assert chosen.name == name
    assert issubclass(params(name), Params)
    assert chosen.params is params(name)
    assert flow(name).name == name
    assert list(inspect.signature(flow(name).fn).parameters) == ["params"]
    assert door.models
    assert set(door.models) <= catalogue().keys()


@pytest.mark.parametrize("name", NAMES)
def test_no_parameter_shares_a_name_with_a_global_option(name: str) -> None:
    own = {field.name for field in fields(Switches)} - {"profile"}
    assert own.isdisjoint(params(name).model_fields)


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_has_a_description(name: str) -> None:
    assert [field for field, info in params(name).model_fields.items() if not info.description] == []


@pytest.mark.parametrize("name", NAMES)
def test_profiles_are_valid_and_named(name: str) -> None:
    assert list(profiles(name))[:3] == ["smoke", "demo", "full"]
    for label, values in profiles(name).items():
        assert params(name).model_validate({"models": ["m"], **values}).profile == label


def test_worldwise_caption_states_the_research_licence_of_hofstede_scores() -> None:
    assert "for research only" in doors()["worldwise"].caption


def test_unknown_profile_is_refused_with_known_names() -> None:
    with pytest.raises(ValueError, match="'huge' of spectral; known: smoke, demo, full"):
        profile("spectral", "huge", ["m"])


@pytest.mark.parametrize("name", NAMES)
def test_leaderboard_row_without_scores_does_not_print_none(name: str, warehouse: Warehouse) -> None:
    view = f"leaderboard_{name}"
    known = warehouse.query(f"SELECT * FROM {view} WHERE config_hash = ? ORDER BY place", ["none"]).columns
    row = doors()[name].columns(dict.fromkeys(known) | {"model": "m", "is_null": False})
    assert row["model"] == "m"
    assert "None" not in row.values()


def test_new_evaluation_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    (tmp_path / "zebra.py").write_text(
        "from dataclasses import replace\n"
        "from deployments.evaluations.spectral import DOOR as other\n"
        "DOOR = replace(other, title='How many stripes?')\n"
    )
    (tmp_path / "zebra.toml").write_text("[smoke]\nmax_items = 4\n[mine]\n")
    monkeypatch.setattr(deployments.evaluations, "__path__", [str(FOLDER), str(tmp_path)])
    monkeypatch.delitem(sys.modules, "deployments.evaluations.zebra", raising=False)
    assert with_items() == [*(name for name in NAMES if name not in WITHOUT_ITEMS), "zebra"]
    assert doors()["zebra"].title == "How many stripes?"
    assert profiles("zebra") == {"smoke": {"max_items": 4, "profile": "smoke"}, "mine": {"profile": "mine"}}
