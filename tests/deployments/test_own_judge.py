"""A user's own model has no embedded judge by default: in forms, on the command line, from Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import culturemeter as cs
from deployments.cli import run as cli_run
from deployments.cli.app import app
from deployments.cli.choices import AllParams, completed, form, one_of_all, without_own_judge
from deployments.evaluations import doors, params, profile, profiles, shipped_profiles
from tasks.evaluations.contract import Params
from warehouse import Warehouse

SMALL = "smollm2-135m-vllm"
OWN = "fake-a"
JUDGED = [name for name in doors() if doors()[name].judged]
Door = Callable[[str, list[str], str], Params]


def of_form(name: str, models: list[str], label: str) -> Params:
    """Return the parameters of a form of the Prefect UI."""
    return completed(name, form(name)(models=models, profile=label))


def of_all(name: str, models: list[str], label: str) -> Params:
    """Return the parameters of ``run all`` and of its flow."""
    return one_of_all(name, AllParams(models=models, profile=label), [])


def of_command(name: str, models: list[str], label: str) -> Params:
    """Return the parameters of ``run NAME``: the command line over a profile."""
    return params(name)(**{"models": models} | profile(name, label, models))


def judges(chosen: Params) -> list[str]:
    """Return the judges, from the field `judges` or `judge`."""
    one = getattr(chosen, "judge", None)
    return [*getattr(chosen, "judges", ()), *([one] if one else [])]


def test_every_judged_evaluation_describes_its_judge() -> None:
    having = {name for name in doors() if {"judge", "judges"} & params(name).model_fields.keys()}
    assert having == set(JUDGED)


@pytest.mark.usefixtures("warehouse")
@pytest.mark.parametrize("door", [of_form, of_all, of_command])
@pytest.mark.parametrize("name", JUDGED)
def test_embedded_judge_is_a_default_only_for_embedded_models(name: str, door: Door) -> None:
    for label in shipped_profiles(name):
        named = judges(door(name, [SMALL], label))
        assert named == list(profiles(name)[label].get("judges", []))
        for models in ([OWN], [SMALL, OWN]):
            assert judges(door(name, models, label)) == []


@pytest.mark.parametrize("name", ["cure", "fmlama"])
def test_profile_of_a_pack_gives_no_embedded_judge_to_own_models(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from deployments import evaluations

    knobs = {"judges": [SMALL, OWN]}
    monkeypatch.setattr(evaluations, "profiles", lambda name: {"mine/smoke": knobs})
    assert profile(name, "mine/smoke", [OWN]) == {"judges": [OWN]}


@pytest.mark.usefixtures("warehouse")
@pytest.mark.parametrize("name", JUDGED)
def test_chosen_judge_is_used_for_own_models(name: str) -> None:
    chosen = completed(name, form(name)(models=[OWN], profile="smoke", judges=[SMALL]))
    assert judges(chosen) == [SMALL]
    assert not [line for line in without_own_judge(name, chosen) if "judges" in line]
    every = AllParams(models=[OWN], profile="smoke", judges=[SMALL])
    assert judges(one_of_all(name, every, [])) == [SMALL]


@pytest.mark.usefixtures("warehouse")
@pytest.mark.parametrize("name", JUDGED)
def test_plan_without_a_judge_begins_with_the_judge_option(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(cli_run, "say", lambda text, *style, **more: shown.append(text))
    # Only lines printed before the plan matter.
    monkeypatch.setattr("flows.session.prepare", lambda *planned: None)
    more = ["--simulator", OWN] if name == "explication" else []
    CliRunner().invoke(app, ["run", name, "-m", OWN, "--profile", "smoke", "--dry-run", "--no-server", *more])
    assert shown
    assert doors()[name].judged in shown[0]
    assert "--judges MODEL" in shown[0]


@pytest.mark.usefixtures("warehouse")
def test_embedded_simulator_for_an_own_model_is_warned_about() -> None:
    kind: Any = params("explication")
    loud = without_own_judge("explication", kind(models=[OWN], judges=[OWN]))
    assert ["--simulator" in line and SMALL in line for line in loud] == [True]
    assert without_own_judge("explication", kind(models=[SMALL], judges=[SMALL])) == []
    assert without_own_judge("explication", kind(models=[OWN], judges=[OWN], simulator=OWN)) == []


def test_run_from_python_uses_no_embedded_judge_for_own_models(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Params] = []
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))

    def evaluate(evaluation: object, chosen: Params) -> str:
        seen.append(chosen)
        return ""

    monkeypatch.setattr("flows.evaluation.evaluate", evaluate)
    monkeypatch.setattr(cs, "leaderboard", lambda *which: None)
    cs.run("cure", [OWN], "smoke")
    cs.run("cure", [SMALL], "smoke")
    cs.run("cure", [OWN], "smoke", judges=[SMALL])
    assert [judges(chosen) for chosen in seen] == [[], [SMALL], [SMALL]]
