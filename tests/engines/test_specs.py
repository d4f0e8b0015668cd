"""Engine specs: where they are found, what they refuse, and what changes their hash."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tasks.engines import templates
from tasks.engines.local import devices
from tasks.engines.protocols import EngineError, Generation
from tasks.engines.served.hosted import HostedOptions
from tasks.engines.served.providers import OWN_FIELDS
from tasks.engines.specs import (
    CATALOGUE,
    EngineSpec,
    catalogue,
    cost,
    find_spec,
    load_spec,
    read_spec,
    resolved,
    with_dtype,
)


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_shipped_specs_are_valid() -> None:
    assert {p.stem for p in CATALOGUE.glob("*.toml")} == set(catalogue())
    assert load_spec("smollm2-135m").model == "embedded:smollm2-135m"


def test_a_spec_cannot_be_changed() -> None:
    spec = EngineSpec(name="m", kind="fake", model="m")
    with pytest.raises(ValidationError, match="frozen"):
        spec.name = "other"  # type: ignore[misc]


def test_unknown_model_is_refused_with_the_catalogue() -> None:
    with pytest.raises(EngineError, match=r"unknown model 'nonsense'; known: .*gemma3-270m-vllm, smol"):
        load_spec("nonsense")


def test_hugging_face_id_or_local_folder_is_a_spec(tmp_path: Path) -> None:
    assert find_spec("Qwen/Qwen3-0.6B", None).name == "qwen3-0.6b"
    folder = tmp_path / "tuned"
    write(folder, "config.json", "{}")
    assert load_spec(str(folder)) == resolved(EngineSpec(name="tuned", model=str(folder)))


def test_missing_spec_file_is_not_taken_for_a_hugging_face_id() -> None:
    with pytest.raises(EngineError, match=r"no readable engine spec at engines/mine\.toml"):
        load_spec("engines/mine.toml")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("kind = ", "not a valid engine spec"),
        ('model = "a/b"\nkin = "vllm"', "kin"),
        ('model = "a/b"\nkind = "magic"', "packed_trie"),
        ('kind = "vllm"', "model"),
        ('model = "a/b"\nbatch_tokens = 1', "batch_tokens"),
        ('model = "a/b"\nkind = "vllm"\ncompile = true', 'compile is for kind = "packed_trie"'),
        ('model = "a/b"\nusd_per_million_input_tokens = 1', "give both usd_per_million_input_tokens and"),
        ('model = "a/b"\nusd_per_million_output_tokens = -1', "usd_per_million_output_tokens"),
    ],
)
def test_bad_file_is_named_with_its_field(tmp_path: Path, text: str, error: str) -> None:
    path = write(tmp_path, "mine.toml", text)
    with pytest.raises(EngineError) as caught:
        read_spec(path)
    assert str(path) in str(caught.value)
    assert error in str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('model = "a/b"\nkind = "vllm"', encoding=encoding)
    assert read_spec(path).model == "a/b"


def test_latin1_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes('name = "caf\xe9"'.encode("latin-1"))
    with pytest.raises(EngineError, match=str(path)):
        read_spec(path)


def test_user_folder_overrides_and_adds(tmp_path: Path) -> None:
    write(tmp_path, "smollm2-135m.toml", 'model = "/models/mine"\ndtype = "float32"')
    write(tmp_path, "café.toml", 'model = "org/café"')
    assert find_spec("smollm2-135m", tmp_path).model == "/models/mine"
    assert find_spec("café", tmp_path).name == "café"
    assert find_spec("smollm2-135m", tmp_path / "absent") == find_spec("smollm2-135m", None)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"model": "/moved/here"},
        {"revision": "v2"},
        {"device": "cuda:1"},
        {"batch_tokens": 128},
        {"base_url": "http://elsewhere/v1"},
        {"served_as": "here"},
        {"api_key_env": "OTHER_TOKEN"},
        {"options": {"max_concurrency": 2, "timeout": 5, "requests_per_minute": 60}},
        {"usd_per_million_input_tokens": 1.0, "usd_per_million_output_tokens": 2.0},
    ],
)
def test_hash_ignores_what_cannot_change_a_score(change: dict[str, object]) -> None:
    spec = EngineSpec(name="m", model="a/b", content="commit:1", dtype="bfloat16")
    assert spec.model_copy(update=change).hash() == spec.hash()


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "vllm"},
        {"content": "commit:2"},
        {"dtype": "float32"},
        {"prompt_style": "base"},
        {"compile": True},
        {"options": {"rope_scaling": 2}},
    ],
)
def test_hash_changes_with_what_can_change_a_score(change: dict[str, object]) -> None:
    spec = EngineSpec(name="m", model="a/b", content="commit:1", dtype="bfloat16")
    assert spec.model_copy(update=change).hash() != spec.hash()


def test_shipped_specs_leave_the_precision_to_the_device() -> None:
    assert {read_spec(path).dtype for path in catalogue().values()} == {"auto"}
    assert load_spec("smollm2-135m").dtype == devices.auto_dtype("cpu")
    assert load_spec("smollm2-135m", dtype="float16").dtype == "float16"


def test_dtype_auto_has_no_hash_before_it_is_resolved() -> None:
    spec = EngineSpec(name="m", model="embedded:smollm2-135m")
    with pytest.raises(ValueError, match=r"'m'.*before ``resolved``"):
        spec.hash()
    assert resolved(spec).hash() == spec.model_copy(update={"dtype": devices.auto_dtype("cpu")}).hash()
    assert resolved(resolved(spec)) == resolved(spec)


def test_stated_precision_is_kept() -> None:
    spec = EngineSpec(name="m", model="a/b", dtype="float16", device="cuda:7")  # no such device here
    assert with_dtype(spec) is spec


@pytest.mark.parametrize("kind", ["openai", "fake"])
def test_dtype_is_optional_for_kinds_without_a_precision(kind: Any) -> None:
    spec = EngineSpec(name="m", kind=kind, model="x", device="cuda:7")
    assert resolved(spec) is spec
    assert spec.hash() == spec.model_copy(update={"dtype": "float32"}).hash()


def test_listing_the_catalogue_imports_no_torch(tmp_path: Path) -> None:
    write(tmp_path, "served.toml", 'kind = "openai"\nmodel = "x"')
    code = (
        "import sys; from pathlib import Path; from tasks.engines import specs;"
        f"specs.catalogue(); specs.load_spec('served', Path({str(tmp_path)!r})).hash();"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def served(**fields: Any) -> EngineSpec:
    return EngineSpec(**{"name": "judge", "kind": "openai", "model": "default", **fields})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://host:8000/v1", "http://HOST:8000/v1/"),
        ("http://host:80/v1", "http://host/v1"),
        ("https://host:443/v1", "https://host/v1"),
        ("http://host/v1", "https://host/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1/"),
        (None, "https://api.openai.com/v1"),
    ],
)
def test_equivalent_addresses_are_one_engine(one: str | None, other: str) -> None:
    assert served(base_url=one).hash() == served(base_url=other).hash()


@pytest.mark.parametrize(
    "other",
    ["http://b:8000/v1", "http://a:8001/v1", "http://a:8000/v2", "http://a:8000", "http://a/v1", None],
)
def test_different_servers_are_different_engines(other: str | None) -> None:
    assert served(base_url=other).hash() != served(base_url="http://a:8000/v1").hash()


def test_served_as_replaces_the_address_in_the_hash() -> None:
    before = served(base_url="http://a:8000/v1", served_as="our llama")
    assert before.hash() == served(base_url="http://b/v1", served_as="our llama").hash()
    assert before.hash() != served(base_url="http://a:8000/v1", served_as="our other").hash()
    assert before.hash() != served(base_url="http://a:8000/v1").hash()


@pytest.mark.parametrize("change", [{"model": "other"}, {"options": {"extra_body": {"top_k": 1}}}])
def test_model_and_options_of_a_server_change_the_hash(change: dict[str, object]) -> None:
    assert served(**change).hash() != served().hash()


@pytest.mark.parametrize(
    ("base_url", "error"),
    [
        ("https://me:hunter2@host/v1", "user name or password.*api_key_env"),
        ("https://hunter2@host/v1", "user name or password"),
        ("host:8000/v1", "write it like http://host:8000/v1"),
        ("ftp://host/v1", "write it like"),
        ("http:///v1", "write it like"),
        ("http://host:hunter2/v1", "write it like"),
    ],
)
def test_invalid_address_and_address_with_a_password_are_refused(
    tmp_path: Path, base_url: str, error: str
) -> None:
    path = write(tmp_path, "mine.toml", f'kind = "openai"\nmodel = "x"\nbase_url = "{base_url}"')
    with pytest.raises(EngineError, match=rf"(?s)mine\.toml.*base_url.*{error}") as caught:
        read_spec(path)
    assert "hunter2" not in str(caught.value)


def test_cost_is_tokens_times_prices() -> None:
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
    one = EngineSpec(name="m", model="a/b", content="x", dtype="bfloat16", options={"a": 1, "b": 2})
    other = EngineSpec(name="m", model="a/b", content="x", dtype="bfloat16", options={"b": 2, "a": 1})
    assert one.hash() == other.hash()


@pytest.mark.parametrize(
    ("spec", "pinned"),
    [
        (
            EngineSpec(name="m", model="a/b", content="x", dtype="bfloat16", options={"a": 1, "b": 2}),
            "161083d646071eb3",
        ),
        (EngineSpec(name="m", kind="fake", model="m"), "de43302ae66e72a4"),
        (served(base_url="http://host:8000/v1"), "a053cc1929c7fe33"),
    ],
)
def test_pinned_hashes_are_unchanged(spec: EngineSpec, pinned: str) -> None:
    assert spec.hash() == pinned


def test_reasoning_and_web_are_part_of_name_and_hash(tmp_path: Path) -> None:
    """Names follow table 2 of Lin et al. (2026): model_reasoning_web."""
    base = 'kind = "openai"\nmodel = "openai/gpt-5"\n'
    texts = {
        "plain": base,
        "gpt-5_high_false": base + 'reasoning = "high"\n',
        "gpt-5_auto_true": base + "web = true\n",
        "gpt-5_128_false": base + "reasoning = 128\nweb = false\n",
        "mine": base + 'reasoning = "low"\nname = "mine"\n',
    }
    specs = {
        name: read_spec(write(tmp_path, f"{n}.toml", text)) for n, (name, text) in enumerate(texts.items())
    }
    assert {name: spec.name for name, spec in specs.items()} == {n: n for n in texts} | {"plain": "0"}
    assert len({spec.hash() for spec in specs.values()}) == len(specs)
    plain = EngineSpec(name="x", kind="openai", model="openai/gpt-5")
    assert plain.hash() == specs["plain"].hash()


@pytest.mark.parametrize("field", ['reasoning = "high"', "web = false"])
def test_reasoning_and_web_are_refused_for_local_models(tmp_path: Path, field: str) -> None:
    path = write(tmp_path, "local.toml", f'model = "embedded:smollm2-135m"\n{field}\n')
    with pytest.raises(EngineError, match="need one of the kinds openai"):
        read_spec(path)


@pytest.mark.parametrize("kind", ["vllm", "packed_trie"])
def test_base_style_is_another_engine_than_chat_style(kind: Any) -> None:
    auto = EngineSpec(name="m", kind=kind, model="m", content="x", dtype="float32")
    base = auto.model_copy(update={"prompt_style": "base"})
    assert base.hash() != auto.hash()


@pytest.mark.parametrize("name", ["chat_template", "tools", "documents", "tokenize", "tokenizer_kwargs"])
def test_variables_of_a_template_are_no_arguments_of_the_tokenizer(name: str) -> None:
    """Such as another template, which would be no part of the model's content."""
    with pytest.raises(ValidationError, match=f"{name} is no variable of a chat template"):
        EngineSpec(name="x", model="a/b", chat_template_kwargs={"enable_thinking": False, name: "x"})


def test_every_argument_of_the_tokenizer_is_known() -> None:
    from transformers import PreTrainedTokenizerBase

    arguments = inspect.signature(PreTrainedTokenizerBase.apply_chat_template).parameters
    assert arguments.keys() - {"self", "kwargs"} <= templates._OF_THE_TOKENIZER


@pytest.mark.parametrize("kind", ["openai", "anthropic", "google"])
@pytest.mark.parametrize("name", sorted(OWN_FIELDS))
def test_further_fields_of_a_request_are_not_its_model_or_prompt(kind: str, name: str) -> None:
    spec = EngineSpec(name="x", kind=kind, model="m", options={"extra_body": {"top_k": 1, name: "x"}})
    with pytest.raises(EngineError, match=f"{name} is what every request sets itself"):
        spec.read_options(HostedOptions)
