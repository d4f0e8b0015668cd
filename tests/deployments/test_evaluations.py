"""Every evaluation can be started and shown through its door."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from deployments.cli.run import Switches
from deployments.evaluations import doors, evaluation, flow, params, profile, profiles, with_items
from tasks.engines.specs import catalogue
from tasks.evaluations.about import About
from tasks.evaluations.contract import Evaluation, Params
from tasks.registry import benchmarks
from tests.conftest import REPOSITORY
from warehouse import Warehouse

FOLDER = REPOSITORY / "tasks" / "evaluations"
WITHOUT_ITEMS = ("harness", "imported")
"""Evaluations whose tasks or logs the user names."""
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/about.py"))


@pytest.fixture(scope="module")
def warehouse(copied_home: Callable[[], Path]) -> Warehouse:
    """A warehouse without runs."""
    return Warehouse.open(copied_home())


def test_every_evaluation_has_a_door() -> None:
    packages = {path.parent.name for path in FOLDER.glob("*/__init__.py")}
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
