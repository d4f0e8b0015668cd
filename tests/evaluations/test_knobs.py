"""For every parameter of every evaluation: hashed ones are read, and those that change numbers are hashed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic.fields import FieldInfo

from deployments.evaluations import evaluation, params, with_items
from deployments.packs.folders import write_recipe
from flows.session import build
from tasks.evaluations.contract import GenerationParams, Params
from tests.golden.harness import write_engine

TREE = Path(__file__).parents[2] / "tasks" / "evaluations"
FROM_RECIPES = {"choice": "whence", "judged": "sayings", "preference": "tables", "short_answer": "money"}
"""Recipe -> the pack that its example is here."""
NAMES = (*with_items(), *FROM_RECIPES.values())

WITHOUT_EFFECT: Mapping[str, Any] = {
    "models": ["fake-b"], "occasion": "again", "dtype": "float32",  # parts of a run's identity
    "profile": "x", "max_total_tokens": 9, "max_usd": 2.5, "max_lost": 0.5,
    "batch": 1, "countries_per_part": 1, "dishes_per_part": 1,
}  # fmt: skip
"""Parameters that change no number of a model under a configuration -> another value."""
OPERATIONAL = {*WITHOUT_EFFECT, "cohort", "pack", "until"}
"""``comparable`` adds cohort and pack to the hash, and ``UntilStudy`` the rule."""

HARNESS = Path(__file__).parent / "harness" / "files"
JUDGED: dict[str, Any] = {"judges": ["fake-a"]}
BASE: Mapping[str, dict[str, Any]] = {
    "spectral": {"countries": ["BR", "DE", "JP"], "domains": ["currency"], "max_items": 4},
    "fmlama": {"origins": ["Italy"], "max_dishes_per_origin": 3, "variants": [1], "judges": ["fake-a"]},
    "cure": {"benchmarks": ["normad"], "items_per_benchmark": 4, **JUDGED},
    "worldwise": {"cultures": ["IN", "JP"], "scenarios_per_dimension": 2, "embedder": "{files}/words.vec"},
    "culturall": {"languages": ["zh", "km"], "items_per_language": 3, **JUDGED},
    "explication": {"max_personas": 2, "simulator": "fake-b", **JUDGED},
    "harness": {"tasks": [str(HARNESS / "choice.yaml"), str(HARNESS / "written.yaml")]},
    "whence": {},
    "sayings": JUDGED,
    "tables": {},
    "money": {},
}
OTHER: Mapping[str, Mapping[str, Any]] = {
    "spectral": {"countries": ["BR", "DE", "TR"], "domains": ["religions"], "variants": [1],
                 "languages": ["en", "es"], "elicit": "sampling"},
    "fmlama": {"variants": [1, 2], "origins": ["Japan"], "word_vectors": "x.vec", "judges": ["fake-b"]},
    "cure": {"items_per_benchmark": 20, "benchmarks": ["casa"], "modes": ["thin"], "judges": ["fake-b"],
             "countries": ["IN", "JP"]},
    "worldwise": {"cultures": ["IN", "US"], "targets": "seed_bucketed", "persona_language": "own",
                  "embedder": "{files}/../files/words.vec"},
    "culturall": {"conditions": ["native"], "judges": ["fake-b"], "languages": ["zh"], "regions": ["CN"],
                  "topics": ["Food"]},
    "explication": {"tasks": ["gift"], "conditions": ["control"], "personas": ["aisha-kano"],
                    "simulator": "fake-a", "judges": ["fake-b"], "limit": 1},
    "harness": {"tasks": [str(HARNESS / "choice.yaml")], "system": "Be brief.", "cluster": "region",
                "limit": 6},
    "whence": {"region": ["Asia"], "limit": 6},
    "sayings": {"language": ["en"], "limit": 6, "judges": ["fake-b"]},
    "tables": {"place": ["Cairo"], "limit": 6},
    "money": {"region": ["Asia"], "limit": 6},
}  # fmt: skip
"""Parameter -> another value, where its type does not give one."""

ELSEWHERE = {
    ("explication", "personas_file"): "by content",
    ("culturall", "file"): "by content: test_items",
    ("culturall", "documents"): "by content: test_requests",
    ("culturall", "passages"): "with documents alone: test_requests",
    ("cure", "files"): "by content: test_materials",
    ("cure", "nulls"): "by the items that are drawn: test_materials",
    ("fmlama", "dish_set"): "by content: test_requests",
    ("fmlama", "languages"): "with dishes in them: test_requests",
    ("fmlama", "aligned"): "dishes with labels in all languages: test_dishes",
    ("fmlama", "code_switching"): "with two languages: test_requests",
    ("harness", "data"): "by content: test_tasks",
    ("harness", "revision"): "by content",
    ("harness", "fewshot_seed"): "with examples that are drawn: test_tasks",
    ("harness", "multiturn"): "with chat alone: test_tasks",
    **dict.fromkeys(
        (("spectral", knob) for knob in ("draws", "tries", "temperature", "max_tokens")),
        "with written answers alone: below",
    ),
    ("spectral", "human"): "with a study of people alone: test_requests",
}
"""(evaluation, parameter) -> the test that it is hashed: it needs files, or tables of its own."""


@pytest.fixture
def study(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Makes the study of an evaluation's small params."""
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    files = home / "files"
    files.mkdir()
    (files / "words.vec").write_text("1 2\nword 1 2\n")
    write_engine(home, "fake-a")
    for recipe, pack in FROM_RECIPES.items():
        write_recipe(home / "packs" / pack, recipe)

    def make(name: str, **more: Any) -> Any:
        chosen = {"models": ["fake-a"]} | BASE[name] | more
        chosen = {k: v.replace("{files}", str(files)) if isinstance(v, str) else v for k, v in chosen.items()}
        return build(evaluation(name), params(name)(**chosen))[0]

    return make


def hashed(make: Callable[..., Any], name: str, patch: pytest.MonkeyPatch) -> set[str]:
    """Return the knobs that enter the config_hash by value."""
    knobs: set[str] = set()
    original = Params.hashed

    def recorded(self: Params, wanted: Any) -> dict[str, Any]:
        knobs.update(wanted)
        return original(self, wanted)

    own = make(name)
    patch.setattr(Params, "hashed", recorded)
    own.config_hash()
    return knobs


def read(name: str) -> set[str]:
    """Return attributes of ``params`` that the evaluation's code reads outside of ``config_hash``."""
    names: set[str] = set()
    own = TREE / ("recipe" if name in FROM_RECIPES.values() else name)
    files = {file for file in own.rglob("*.py") if file.name != "params.py"}
    if any("recipe.prompted" in file.read_text() for file in files):
        files.add(TREE / "recipe" / "prompted.py")  # sends an evaluation's prompts with its params
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef) and function.name == "config_hash":
                function.body = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and _is_params(node.value):
                names.add(node.attr)
            is_call = isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr"
            if is_call and _is_params(node.args[0]):
                names.add(getattr(node.args[1], "value", ""))
    return names


def _is_params(node: ast.expr) -> bool:
    """Return whether this is ``params``, ``….params``, a cast of it, or ``p`` or ``knobs``."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "cast":
        return _is_params(node.args[1])
    return (isinstance(node, ast.Name) and node.id in ("params", "p", "knobs")) or (
        isinstance(node, ast.Attribute) and node.attr == "params"
    )


def another(field: FieldInfo, value: Any) -> Any:
    """Return another valid value of a field; None if its type gives none."""
    kinds = [field.annotation, *get_args(field.annotation)]
    choices = [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    if choices and not isinstance(value, list):
        return next(choice for choice in choices if choice != value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1 if isinstance(value, int) else value / 2 + 0.25
    return 2 if int in kinds else None


@pytest.mark.nets(2)
@pytest.mark.parametrize("name", NAMES)
def test_operational_params_change_no_config_hash(study: Callable[..., Any], name: str) -> None:
    assert {*GenerationParams.model_fields} - OPERATIONAL == {"limit", "seed"}
    before = study(name).config_hash()
    for knob in WITHOUT_EFFECT.keys() & params(name).model_fields.keys():
        assert study(name, **{knob: WITHOUT_EFFECT[knob]}).config_hash() == before, knob


@pytest.mark.nets(2)
@pytest.mark.parametrize("name", NAMES)
def test_hashed_params_are_read(
    study: Callable[..., Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    knobs = hashed(study, name, monkeypatch)
    assert knobs
    assert knobs <= params(name).model_fields.keys()
    assert sorted(knobs - read(name)) == []


@pytest.mark.nets(2)
@pytest.mark.parametrize("name", NAMES)
def test_params_that_change_a_number_are_hashed(
    study: Callable[..., Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = study(name)
    before, knobs = own.config_hash(), hashed(study, name, monkeypatch)
    unhashed = []
    for knob, field in params(name).model_fields.items():
        if knob in OPERATIONAL or knob in knobs or (name, knob) in ELSEWHERE:
            continue
        value = OTHER[name].get(knob) or another(field, getattr(own.params, knob))
        assert value is not None, f"{name}, {knob}: give another value in OTHER, or add it to WITHOUT_EFFECT"
        if study(name, **{knob: value}).config_hash() == before:
            unhashed.append(knob)
    assert unhashed == []


@pytest.mark.parametrize(
    ("knob", "value"), [("draws", 7), ("tries", 9), ("temperature", 0.5), ("max_tokens", 99)]
)
def test_params_of_written_answers_are_hashed(study: Callable[..., Any], knob: str, value: float) -> None:
    written = {"elicit": "sampling", "max_items": None}
    own, other = (study("spectral", **written, **more).config_hash() for more in ({}, {knob: value}))
    assert own != other


def test_only_evaluations_that_draw_half_samples_have_their_number() -> None:
    having = {name for name in with_items() if "half_samples" in params(name).model_fields}
    assert having == {name for name in with_items() if "half_samples" in read(name)}
