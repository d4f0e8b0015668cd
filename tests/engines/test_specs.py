"""Engine specs: where they are found, what they refuse, and what their hash stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.engines.protocols import EngineError, Generation
from tasks.engines.specs import CATALOGUE, EngineSpec, catalogue, cost, load_spec, read_spec


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_shipped_specs_are_valid() -> None:
    assert {p.stem for p in CATALOGUE.glob("*.toml")} == set(catalogue())
    assert load_spec("smollm2-135m").model == "embedded:smollm2-135m"


def test_unknown_model_lists_the_catalogue() -> None:
    with pytest.raises(EngineError, match=r"no model 'nonsense'.*gemma3-270m, smollm2-135m"):
        load_spec("nonsense")


def test_hugging_face_id_and_local_folder(tmp_path: Path) -> None:
    assert load_spec("Qwen/Qwen3-0.6B").name == "qwen3-0.6b"
    folder = tmp_path / "tuned"
    write(folder, "config.json", "{}")
    assert load_spec(str(folder)) == EngineSpec(name="tuned", model=str(folder))


def test_missing_spec_file_is_not_taken_for_a_hugging_face_id() -> None:
    with pytest.raises(EngineError, match=r"no readable engine spec at engines/mine\.toml"):
        load_spec("engines/mine.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind = ", "not a valid engine spec"),
        ('model = "a/b"\nkin = "vllm"', "kin"),
        ('model = "a/b"\nkind = "magic"', "packed_trie"),
        ('kind = "vllm"', "model"),
        ('model = "a/b"\nbatch_tokens = 1', "batch_tokens"),
        ('model = "a/b"\nusd_per_million_input_tokens = 1', "give both usd_per_million_input_tokens and"),
        ('model = "a/b"\nusd_per_million_output_tokens = -1', "usd_per_million_output_tokens"),
    ],
)
def test_bad_file_is_named_with_its_field(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, "mine.toml", text)
    with pytest.raises(EngineError) as caught:
        read_spec(path)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_latin1_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes('name = "caf\xe9"'.encode("latin-1"))
    with pytest.raises(EngineError, match=str(path)):
        read_spec(path)


def test_user_folder_overrides_and_adds(tmp_path: Path) -> None:
    write(tmp_path, "smollm2-135m.toml", 'model = "/models/mine"\ndtype = "float32"')
    write(tmp_path, "café.toml", 'model = "org/café"')
    assert load_spec("smollm2-135m", tmp_path).model == "/models/mine"
    assert load_spec("café", tmp_path).name == "café"
    assert load_spec("smollm2-135m", tmp_path / "absent") == load_spec("smollm2-135m")


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"device": "cuda:1"},
        {"batch_tokens": 128},
        {"base_url": "http://elsewhere/v1"},
        {"api_key_env": "OTHER"},
        {"options": {"max_concurrency": 2, "timeout": 5, "requests_per_minute": 60}},
        {"usd_per_million_input_tokens": 1.0, "usd_per_million_output_tokens": 2.0},
    ],
)
def test_hash_ignores_what_cannot_change_a_score(change: dict[str, object]) -> None:
    spec = EngineSpec(name="m", model="a/b")
    assert spec.model_copy(update=change).hash() == spec.hash()


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "vllm"},
        {"model": "a/c"},
        {"revision": "v2"},
        {"dtype": "float32"},
        {"prompt_style": "base"},
        {"options": {"rope_scaling": 2}},
    ],
)
def test_hash_tells_apart_what_can(change: dict[str, object]) -> None:
    spec = EngineSpec(name="m", model="a/b")
    assert spec.model_copy(update=change).hash() != spec.hash()


def test_cost() -> None:
    made = [Generation("a", "stop", 1000, 200, 0), Generation("b", "length", 500, 300, 0)]
    spec = EngineSpec(name="m", model="a/b")
    assert cost(spec, made) is None
    dear = EngineSpec(
        name="m", model="a/b", usd_per_million_input_tokens=0.5, usd_per_million_output_tokens=8
    )
    # (1500 · 0.5 + 500 · 8) / 1,000,000
    assert cost(dear, made) == pytest.approx(0.00475)
    assert cost(dear, []) == 0


def test_hash_does_not_depend_on_the_order_of_options() -> None:
    one = EngineSpec(name="m", model="a/b", options={"a": 1, "b": 2})
    other = EngineSpec(name="m", model="a/b", options={"b": 2, "a": 1})
    assert one.hash() == other.hash()
    assert (
        one.hash() == "b3a1d3a2bd45085e"
    )  # pinned: stored with every run, so it must never change by accident
