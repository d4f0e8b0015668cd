"""What a form of the Prefect UI stands for, and what is chosen for all evaluations at once."""

from __future__ import annotations

from typing import Any

import pytest

from deployments.choices import AllParams, completed, form, one_of_all
from deployments.evaluations import doors, params, profile, profiles
from tasks.evaluations.contract import Params


def of(name: str, **given: Any) -> Params:
    """What a form with these fields stands for: as the UI does, every other one is sent at its default."""
    return completed(name, form(name)(**form(name)(**given).model_dump()))


@pytest.mark.parametrize("name", doors())
def test_a_profile_fills_what_is_left_at_its_default(name: str) -> None:
    for label in profiles(name):
        expected = params(name)(**{"models": ["m"], **profile(name, label)})
        assert of(name, models=["m"], profile=label) == expected


def test_a_field_that_is_changed_wins() -> None:
    chosen = of("spectral", profile="smoke", max_items=7, countries=["FR", "DE"]).model_dump()
    assert (chosen["max_items"], chosen["countries"], chosen["variants"]) == (7, ["FR", "DE"], [1])
    assert chosen["models"] == list(doors()["spectral"].models)


def test_custom_fills_nothing() -> None:
    chosen = of("spectral", profile="custom").model_dump()
    assert chosen == params("spectral")(models=chosen["models"]).model_dump()


@pytest.mark.parametrize("name", doors())
def test_a_form_offers_the_profiles_and_no_others(name: str) -> None:
    schema = form(name).model_json_schema()["properties"]["profile"]
    assert schema["enum"] == [*profiles(name), "custom"]
    with pytest.raises(ValueError, match="profile"):
        form(name)(profile="huge")


def test_what_is_chosen_for_all_reaches_those_that_have_it() -> None:
    chosen = AllParams(models=["m"], profile="smoke", occasion="w1", judges=["j", "k"], max_usd=2)
    each = {name: one_of_all(name, chosen).model_dump() for name in doors()}
    assert all(knobs["models"] == ["m"] for knobs in each.values())
    assert {knobs["occasion"] for knobs in each.values()} == {"w1"}
    assert (each["cure"]["judges"], each["fmlama"]["judge"]) == (["j", "k"], "j")
    assert {name for name, knobs in each.items() if knobs.get("max_usd") == 2} >= {
        "cure",
        "fmlama",
        "worldwise",
    }
    own = one_of_all("cure", AllParams(profile="smoke"))
    assert own == params("cure")(models=list(doors()["cure"].models), **profile("cure", "smoke"))
