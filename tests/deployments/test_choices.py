"""Parameters from a form of the Prefect UI, and from one choice for all evaluations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deployments.cli.choices import AllParams, completed, form, one_of_all, packs_of_all
from deployments.cli.options import validated
from deployments.evaluations import doors, params, profile, profiles, with_items
from deployments.packs.folders import write_new
from tasks.evaluations.contract import Params
from tasks.packs.shape import PackError


def of(name: str, **given: Any) -> Params:
    """Return the parameters of a form; like the UI, it sends every other field at its default."""
    return completed(name, form(name)(**form(name)(**given).model_dump()))


def one(name: str, chosen: AllParams) -> Params:
    """Return one evaluation's parameters from a choice for all, with the packs it takes."""
    return one_of_all(name, chosen, packs_of_all(chosen).get(name, []))


@pytest.mark.parametrize("name", with_items())
def test_profile_sets_every_field_left_at_its_default(name: str) -> None:
    for label in profiles(name):
        expected = params(name)(**{"models": ["m"], **profile(name, label, ["m"])})
        assert of(name, models=["m"], profile=label) == expected


def test_changed_field_overrides_the_profile() -> None:
    chosen = of("spectral", profile="smoke", max_items=7, countries=["FR", "DE"]).model_dump()
    assert (chosen["max_items"], chosen["countries"], chosen["variants"]) == (7, ["FR", "DE"], [1])
    assert chosen["models"] == list(doors()["spectral"].models)


def test_profile_custom_sets_no_field() -> None:
    chosen = of("spectral", profile="custom").model_dump()
    assert chosen == params("spectral")(models=chosen["models"]).model_dump()


@pytest.mark.parametrize("name", with_items())
def test_form_accepts_only_known_profiles(name: str) -> None:
    schema = form(name).model_json_schema()["properties"]["profile"]
    assert schema["enum"] == [*profiles(name), "custom"]
    with pytest.raises(ValueError, match="profile"):
        form(name)(profile="huge")


def test_choice_for_all_sets_the_fields_an_evaluation_has() -> None:
    chosen = AllParams(models=["m"], profile="smoke", occasion="w1", judges=["j", "k"], max_usd=2)
    each = {name: one(name, chosen).model_dump() for name in with_items()}
    assert all(knobs["models"] == ["m"] for knobs in each.values())
    assert {knobs["occasion"] for knobs in each.values()} == {"w1"}
    assert (each["cure"]["judges"], each["fmlama"]["judges"]) == (["j", "k"], ["j", "k"])
    limited = {name for name, knobs in each.items() if knobs.get("max_usd") == 2}
    assert limited >= {"cure", "fmlama", "worldwise"}
    own, usual = one("cure", AllParams(profile="smoke")), list(doors()["cure"].models)
    assert own == params("cure")(models=usual, **profile("cure", "smoke", usual))


@pytest.fixture
def sports(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pack with content for two evaluations and only profiles for a third."""
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    folder = home / "packs" / "sports"
    write_new(folder, ["cure", "spectral", "worldwise"])
    for path in (folder / "worldwise").glob("*.csv"):
        path.unlink()
    return folder


def test_each_evaluation_takes_only_packs_with_files_for_it(sports: Path) -> None:
    chosen = AllParams(models=["m"], profile="smoke", pack=["sports", "sports"])
    takers = {name for name, packs in packs_of_all(chosen).items() if packs == ["sports"]}
    assert takers == {"cure", "spectral"}
    each = {name: one(name, chosen) for name in with_items()}
    expected = params("cure")(**{"models": ["m"], **profile("cure", "sports/smoke", ["m"])})
    assert each["cure"] == expected  # as: run cure --profile sports/smoke
    assert each["worldwise"] == one("worldwise", AllParams(models=["m"], profile="smoke"))
    demo = one("cure", AllParams(models=["m"], profile="demo", pack=["sports"]))
    assert demo == params("cure")(**{"models": ["m"], **profile("cure", "demo", ["m"]), "pack": ["sports"]})


def test_profile_of_a_pack_adds_the_pack(sports: Path) -> None:
    """Like `run cure --profile sports/smoke`."""
    write_new(sports.parent / "foods", ["cure"])
    (sports / "spectral" / "profiles.toml").write_text("[quick]\nmax_items = 3\n")
    alone, named = ({"models": ["m"], "profile": "sports/smoke"}, {"models": ["m"], "profile": "smoke"})
    for name in ("cure", "spectral", "worldwise"):
        assert one(name, AllParams(**alone)) == one(name, AllParams(**named, pack=["sports"]))
    both = AllParams(**alone, pack=["foods", "sports"])
    assert one("cure", both).pack == ["sports", "foods"]
    quick = AllParams(models=["m"], profile="sports/quick")
    assert one("spectral", quick).model_dump()["max_items"] == 3
    with pytest.raises(ValueError, match="'quick' of fmlama; known: smoke, demo, full, paper"):
        one("fmlama", quick)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("sports/huge", r"unknown profile 'sports/huge'; known: smoke, .*, sports/smoke$"),
        ("sprots/smoke", r"unknown pack 'sprots'; known: sports"),
    ],
)
def test_unknown_profile_is_refused_with_known_names(sports: Path, label: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        validated(AllParams, {"profile": label})


@pytest.mark.parametrize(
    "shape", [lambda: AllParams, lambda: form.__wrapped__("cure")], ids=["evaluate-all", "cure"]
)
def test_form_schema_has_packs_and_their_profiles(sports: Path, shape: Callable[[], type[Any]]) -> None:
    """The server refuses values outside the schema."""
    schema = shape().model_json_schema()["properties"]
    assert "sports/smoke" in schema["profile"]["enum"]
    assert schema["pack"]["type"] == "array"


def test_first_pack_with_the_profile_gives_it(sports: Path) -> None:
    write_new(sports.parent / "foods", ["cure"])
    (sports / "cure" / "profiles.toml").unlink()
    chosen = AllParams(
        models=["m"], profile="smoke", pack=["sports", "foods"], evaluations=["cure", "spectral"]
    )
    both = one("cure", chosen)
    assert (both.profile, both.pack) == ("foods/smoke", ["sports", "foods"])
    assert one("spectral", chosen).pack == ["sports"]


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (
            {"evaluations": ["fmlama", "worldwise"]},
            "^--pack: the pack 'sports' adds nothing to fmlama, worldwise: it has files for cure, spectral$",
        ),
        ({"pack": ["sprots"]}, "^unknown pack 'sprots'; known: sports"),
        ({"pack": ["sports@0123456789abcdef"]}, "name the pack without @HASH"),
    ],
)
def test_pack_without_files_for_the_chosen_evaluations_is_refused(
    sports: Path, chosen: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        packs_of_all(AllParams(**{"pack": ["sports"], **chosen}))


def test_broken_file_of_a_pack_is_an_error(sports: Path) -> None:
    """The file is a symbolic link, or its profiles are not valid TOML."""
    items = sports / "cure" / "item.csv"
    items.rename(sports.parent / "elsewhere.csv")
    items.symlink_to(sports.parent / "elsewhere.csv")
    chosen = AllParams(models=["m"], profile="smoke", pack=["sports"])
    assert packs_of_all(chosen)["cure"] == ["sports"]
    (sports / "cure" / "profiles.toml").write_text("[smoke")
    with pytest.raises(PackError, match=r"cure/profiles\.toml"):
        one("cure", chosen)
