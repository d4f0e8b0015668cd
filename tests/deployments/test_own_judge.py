"""A model of a user's own is never judged by an embedded one unasked, whichever door it comes through."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import culturescope as cs
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
    """What a form of the Prefect UI stands for."""
    return completed(name, form(name)(models=models, profile=label))


def of_all(name: str, models: list[str], label: str) -> Params:
    """``run all``, and the flow of all."""
    return one_of_all(name, AllParams(models=models, profile=label), [])


def of_command(name: str, models: list[str], label: str) -> Params:
    """``run NAME``: a profile under what the command line says."""
    return params(name)(**{"models": models} | profile(name, label, models))


def judges(chosen: Params) -> list[str]:
    """Who judges, by whichever knob."""
    one = getattr(chosen, "judge", None)
    return [*getattr(chosen, "judges", ()), *([one] if one else [])]


def test_what_has_a_judge_says_what_a_judge_adds() -> None:
    having = {name for name in doors() if {"judge", "judges"} & params(name).model_fields.keys()}
    assert having == set(JUDGED)


@pytest.mark.usefixtures("warehouse")
@pytest.mark.parametrize("door", [of_form, of_all, of_command])
@pytest.mark.parametrize("name", JUDGED)
def test_an_embedded_judge_judges_embedded_models_only(name: str, door: Door) -> None:
    for label in shipped_profiles(name):
        named = judges(door(name, [SMALL], label))
        assert named == list(profiles(name)[label].get("judges", []))
        for models in ([OWN], [SMALL, OWN]):
            assert judges(door(name, models, label)) == []


@pytest.mark.parametrize("name", ["cure", "fmlama"])
def test_nor_by_the_profile_of_a_pack(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from deployments import evaluations

    knobs = {"judges": [SMALL, OWN]}
    monkeypatch.setattr(evaluations, "profiles", lambda name: {"mine/smoke": knobs})
    assert profile(name, "mine/smoke", [OWN]) == {"judges": [OWN]}


@pytest.mark.usefixtures("warehouse")
@pytest.mark.parametrize("name", JUDGED)
def test_who_is_asked_to_judge_does(name: str) -> None:
    chosen = completed(name, form(name)(models=[OWN], profile="smoke", judges=[SMALL]))
    assert judges(chosen) == [SMALL]
    assert not [line for line in without_own_judge(name, chosen) if "judges" in line]
    every = AllParams(models=[OWN], profile="smoke", judges=[SMALL])
    assert judges(one_of_all(name, every, [])) == [SMALL]


@pytest.mark.usefixtures("warehouse")
@pytest.mark.parametrize("name", JUDGED)
def test_the_plan_begins_with_what_a_judge_adds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(cli_run, "say", lambda text, *style, **more: shown.append(text))
    # Only what is said before the plan matters: there is nothing to lay out.
    monkeypatch.setattr("flows.session.prepare", lambda *planned: None)
    more = ["--simulator", OWN] if name == "explication" else []
    CliRunner().invoke(app, ["run", name, "-m", OWN, "--profile", "smoke", "--dry-run", "--no-server", *more])
    option = "--judges" if "judges" in params(name).model_fields else "--judge"
    assert shown
    assert doors()[name].judged in shown[0]
    assert f"{option} MODEL" in shown[0]


@pytest.mark.usefixtures("warehouse")
def test_an_embedded_simulator_of_ones_own_model_is_warned_about() -> None:
    kind: Any = params("explication")
    loud = without_own_judge("explication", kind(models=[OWN], judges=[OWN]))
    assert ["--simulator" in line and SMALL in line for line in loud] == [True]
    assert without_own_judge("explication", kind(models=[SMALL], judges=[SMALL])) == []
    assert without_own_judge("explication", kind(models=[OWN], judges=[OWN], simulator=OWN)) == []


def test_from_python_nobody_judges_unasked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Params] = []
    monkeypatch.setenv("CULTURESCOPE_HOME", str(home))

    def evaluate(evaluation: object, chosen: Params) -> str:
        seen.append(chosen)
        return ""

    monkeypatch.setattr("flows.evaluation.evaluate", evaluate)
    monkeypatch.setattr(cs, "leaderboard", lambda *which: None)
    cs.run("cure", [OWN], "smoke")
    cs.run("cure", [SMALL], "smoke")
    cs.run("cure", [OWN], "smoke", judges=[SMALL])
    assert [judges(chosen) for chosen in seen] == [[], [SMALL], [SMALL]]
