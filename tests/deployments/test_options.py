"""Command-line options made from the fields of a model, with one field of each kind."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from typer.testing import CliRunner

from deployments.cli import options

Paths = Annotated[list[str], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)]
runner = CliRunner()


class Base(BaseModel):
    """Fields that several models share."""

    model_config = ConfigDict(extra="forbid")

    seed: int = Field(0, ge=0, description="of the choice")
    label: str = Field("custom", description="left out here")


class Knobs(Base):
    """One field of each kind."""

    places: list[str] | None = Field(None, description="places; empty: all")
    variants: list[Literal[1, 2, 3]] = Field([1, 2, 3], description="wordings")
    pooling: Literal["sum", "mean"] = Field("sum", description="how")
    at_most: int | None = Field(None, ge=2, description="items; empty: all")
    share: float = Field(0.5, ge=0, le=1, description="of them")
    aligned: bool = Field(True, description="only those in all languages")
    judge: str | None = Field(None, description="who judges")
    files: dict[Literal["casa", "normad"], Paths] = Field({}, description="whose")
    weights: dict[str, float] = Field({}, description="of each")


PROFILES = {"smoke": {"at_most": 4, "aligned": False, "places": ["Italy", "Japan"]}, "full": {}}


def command(line: str) -> Any:
    """Return the values that typer parses from a command line, or its output if it fails."""
    given: dict[str, Any] = {}

    def run(**values: Any) -> None:
        given.update(values)

    run.__signature__ = inspect.Signature(options.parameters(Knobs, PROFILES, ["label"]))  # type: ignore[attr-defined]
    app = typer.Typer(rich_markup_mode="markdown")
    app.command()(run)
    result = runner.invoke(app, line.split(), env={"COLUMNS": "200"})
    return result.output if "--help" in line or result.exit_code else given


def knobs(line: str) -> Knobs:
    """Return the model of a command line over the profile smoke."""
    model: Knobs = options.validated(Knobs, PROFILES["smoke"] | options.values(Knobs, command(line)))
    return model


def test_missing_options_leave_the_profile_and_the_defaults() -> None:
    assert options.values(Knobs, command("")) == {}
    assert knobs("") == Knobs.model_validate(PROFILES["smoke"])


def test_option_overrides_the_profile() -> None:
    given = {"at_most": 7, "aligned": True, "places": ["Mali"]}
    assert knobs("--at-most 7 --aligned --places Mali") == Knobs.model_validate(given)


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("--places FR,Italy --places JP", "places", ["FR", "Italy", "JP"]),
        ("--variants 3,1", "variants", [3, 1]),
        ("--pooling mean", "pooling", "mean"),
        ("--share 0.25", "share", 0.25),
        ("--seed 3", "seed", 3),
        ("--no-aligned", "aligned", False),
        ("--judge ./a.toml", "judge", "./a.toml"),
        ("--files casa=a.json --files casa=b.json --files normad=c=d.csv", "files",
         {"casa": ["a.json", "b.json"], "normad": ["c=d.csv"]}),
        ("--weights a=2 --weights b=0.5", "weights", {"a": 2.0, "b": 0.5}),
    ],
)  # fmt: skip
def test_every_kind_of_field_is_parsed(line: str, field: str, value: Any) -> None:
    assert getattr(knobs(line), field) == value


def test_empty_text_removes_a_limit_of_the_profile() -> None:
    given = {"at_most": "", "places": [""]}
    assert options.values(Knobs, given) == {"at_most": None, "places": None}


def test_existing_path_with_a_comma_is_not_split(tmp_path: Path) -> None:
    folder = tmp_path / "a,b"
    folder.mkdir()
    assert options.split([str(folder), "c, d,"]) == [str(folder), "c", "d"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--at-most 1", "--at-most: expected at least 2, not '1'"),
        ("--at-most many", "--at-most: expected a whole number, not 'many'"),
        ("--pooling max", "--pooling: expected 'sum' or 'mean', not 'max'"),
        ("--variants 1,4", "--variants: expected 1, 2 or 3, not '4'"),
        ("--files casa", "--files casa: write it as [casa|normad]=TEXT"),
        ("--files cure=a.csv", "--files: expected 'casa' or 'normad', not 'cure'"),
        ("--weights a=1 --weights a=2", "--weights: a is given twice"),
        ("--share 2 --seed -1", "--seed: expected at least 0, not '-1'; "
         "--share: expected at most 1, not '2'"),
    ],
)  # fmt: skip
def test_wrong_value_is_refused_with_its_option(line: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - all of it is compared
        knobs(line)
    assert str(caught.value) == message


def test_help_shows_type_choices_defaults_profiles_and_description() -> None:
    text = " ".join(command("--help").split())
    for part in (
        "--at-most INTEGER items; empty: all (smoke 4)",
        "--pooling [sum|mean] how (default sum)",
        "--variants [1|2|3],… wordings (default 1,2,3)",
        "--places TEXT,… places; empty: all (smoke Italy,Japan)",
        "--share NUMBER of them (default 0.5)",
        "only those in all languages (default yes; smoke no)",
        "--files [casa|normad]=TEXT whose",
        "--weights KEY=NUMBER of each",
        "--judge TEXT who judges",
    ):
        assert part in text
    assert "--label" not in text
    headings = [text.index(f"─ {name} ─") for name in (options.WHAT, options.HOW_MUCH, options.ENGINES)]
    assert all(headings)
    assert text.index("--at-most") < text.index("--seed")  # own fields before shared ones
