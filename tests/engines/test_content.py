"""A model is its content: new files under an old name are another engine, moved files the same one."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

from tasks.engines import content, load
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec, load_spec, model_hash, resolved
from tests.engines import tiny_models as tiny
from tests.http_server import Answer, HttpServer, Request

ONE, OTHER = "1" * 40, "2" * 40


@pytest.fixture(autouse=True)
def nothing_loaded() -> Iterator[None]:
    load.unload()
    yield
    load.unload()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A decoder-only model with tokenizer and chat template."""
    tokenizer = tiny.bert_tokenizer()
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}{% endfor %} :"
    sizes: dict[str, Any] = {"n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 512}
    config = GPT2Config(vocab_size=len(tokenizer), **sizes)
    return tiny.save(lambda: GPT2LMHeadModel(config), tokenizer, tmp_path / "model")  # type: ignore[no-untyped-call]


def spec_of(folder: Path) -> EngineSpec:
    return load_spec(str(folder), folder.parent / "home" / "engines", "float32")


def rewritten(path: Path, old: bytes, new: bytes) -> None:
    """Replace bytes in a file that exists."""
    before = path.read_bytes()
    assert old in before
    path.write_bytes(before.replace(old, new))


def new_weights(folder: Path) -> None:
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(bytes(weights))


def new_template(folder: Path) -> None:
    rewritten(folder / "chat_template.jinja", b" :", b" ?")


def new_tokenizer(folder: Path) -> None:
    rewritten(folder / "tokenizer.json", b'"rice"', b'"race"')


def new_adapter(folder: Path) -> None:
    (folder / "adapter_model.safetensors").write_bytes(b"lora")


def new_named_template(folder: Path) -> None:
    (folder / content.TEMPLATES).mkdir()
    (folder / content.TEMPLATES / "rag.jinja").write_text("{{ messages }}")


@pytest.mark.parametrize(
    "change", [new_weights, new_template, new_tokenizer, new_adapter, new_named_template]
)
def test_new_content_under_an_old_path_is_another_model(folder: Path, change: Callable[[Path], None]) -> None:
    before = spec_of(folder)
    change(folder)
    after = spec_of(folder)
    assert before.hash() != after.hash()
    assert model_hash(before) != model_hash(after)


def test_old_content_in_a_new_place_is_the_same_engine(folder: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(folder, tmp_path / "deep" / "other name")
    (moved / "README.md").write_text("A fine model.")
    (moved / ".cache").mkdir()
    (moved / "optimizer.pt").write_bytes(b"state")
    one, other = spec_of(folder), spec_of(moved)
    assert one.name != other.name
    assert (one.hash(), model_hash(one)) == (other.hash(), model_hash(other))
    assert not any(str(tmp_path) in str(each.identity()) for each in (one, other))


def test_changed_weights_of_equal_size_and_time_are_noticed(folder: Path) -> None:
    """A copy may keep the time of the last change, so that is not enough to tell files apart."""
    weights = folder / "model.safetensors"
    os.utime(weights, (1, 1))
    before = spec_of(folder)
    new_weights(folder)
    os.utime(weights, (1, 1))
    assert spec_of(folder).hash() != before.hash()


def test_parts_outside_the_top_folder_count(folder: Path) -> None:
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "parts/one.safetensors"}}')
    (folder / "parts").mkdir()
    (folder / "parts" / "one.safetensors").write_bytes(b"1")
    before = content.of_folder(folder)
    (folder / "parts" / "one.safetensors").write_bytes(b"2")
    assert content.of_folder(folder) != before


def test_a_large_file_is_read_once_also_by_later_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, record = tmp_path / "model.safetensors", tmp_path / "record"
    file.write_bytes(b"0" * content.SMALL)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 60)  # the file has settled
    first = content.content_hash(file, record)
    content._remembered.cache_clear()  # another process
    read: list[Path] = []
    real = content._sha256

    def counted(path: Path) -> str:
        read.append(path)
        return real(path)

    monkeypatch.setattr(content, "_sha256", counted)
    assert content.content_hash(file, record) == first
    assert read == []
    next(record.iterdir()).write_text('{"sign": 1}')
    content._remembered.cache_clear()
    assert content.content_hash(file, record) == first
    assert read == [file], "a damaged record is not believed"
    file.write_bytes(b"1" * content.SMALL)
    assert content.content_hash(file, record) != first


def test_a_file_that_was_just_written_is_not_remembered(tmp_path: Path) -> None:
    """A later change within the clock's step would have the same sign."""
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"0" * content.SMALL)
    content.content_hash(file, tmp_path / "record")
    assert not (tmp_path / "record").exists()


def test_a_changed_folder_is_noticed_by_a_process_that_has_planned(folder: Path, tmp_path: Path) -> None:
    planned = spec_of(folder)
    new_weights(folder)
    with pytest.raises(EngineError, match=r"'model'.*has changed.*run again"):
        load.load(planned, tmp_path / "models", "score")


def test_a_long_lived_process_loads_a_changed_folder_again(folder: Path, tmp_path: Path) -> None:
    cache, prompts = tmp_path / "models", ["the food"]
    old = spec_of(folder)
    before = load.load(old, cache, "score").score(prompts, [" rice", " salt"])
    tokenizer = AutoTokenizer.from_pretrained(folder)
    sizes: dict[str, Any] = {"n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 512}
    config = GPT2Config(vocab_size=len(tokenizer), **sizes)
    shutil.rmtree(folder)
    tiny.save(lambda: GPT2LMHeadModel(GPT2Config(**config.to_dict() | {"n_layer": 2})), tokenizer, folder)  # type: ignore[no-untyped-call]
    new = spec_of(folder)
    after = load.load(new, cache, "score").score(prompts, [" rice", " salt"])
    assert new.hash() != old.hash()
    assert abs(before - after).max() > 1e-3
    assert load.load(old, cache, "score").spec == old, "a run that has loaded the old model goes on with it"


def test_a_model_that_changes_while_it_is_read_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = load._build

    def build(spec: EngineSpec, source: str) -> Any:
        engine = real(spec, source)
        new_template(folder)
        return engine

    monkeypatch.setattr(load, "_build", build)
    with pytest.raises(EngineError, match="has changed"):
        load.load(spec_of(folder), tmp_path / "models", "score")
    assert load._loaded == {}


def test_stated_content_is_checked(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    true = spec_of(folder).content
    for stated in (true, "sha256:0"):
        file.write_text(f'model = "{folder}"\ndtype = "float32"\ncontent = "{stated}"\n')
        if stated == true:
            assert load_spec(str(file)).content == true
        else:
            with pytest.raises(EngineError, match=r"'mine'.*has changed.*sha256:0 was planned or stated"):
                load_spec(str(file))


def test_embedded_models_are_the_pin_of_their_package() -> None:
    one, other = (load_spec(name, dtype="float32") for name in ("smollm2-135m", "gemma3-270m"))
    assert str(one.content).startswith(content.PACKAGE)
    assert one.content != other.content
    assert "embedded:" not in str(one.identity())


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """A hub on this machine: ``commit`` of its only model, or None while it is broken."""
    state: dict[str, Any] = {"commit": ONE, "paths": []}

    def answer(request: Request) -> Answer:
        state["paths"].append(request.path)
        if state["commit"] is None:
            return Answer(status=503)
        if not request.path.startswith("/owner/model/"):
            return Answer(status=404, headers={"X-Error-Code": "RepoNotFound"})
        return Answer(headers={"X-Repo-Commit": state["commit"], "ETag": '"e"'})

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    server = HttpServer(answer)
    monkeypatch.setenv("HF_ENDPOINT", server.address)
    yield state
    server.close()


def test_a_hub_id_is_its_commit(hub: dict[str, Any]) -> None:
    first = load_spec("owner/model", dtype="float32")
    assert first.revision == ONE
    assert first.content == f"commit:{ONE}"
    hub["commit"] = OTHER
    second = load_spec("owner/model", dtype="float32")
    assert (second.hash(), model_hash(second)) != (first.hash(), model_hash(first))
    named = EngineSpec(name="x", model="owner/model", revision=ONE, dtype="float32")
    hub["paths"].clear()
    assert resolved(named).hash() == first.hash(), "a name or a tag does not count"
    assert hub["paths"] == [], "a full commit needs no look-up"


def test_the_revision_is_asked_for(hub: dict[str, Any]) -> None:
    resolved(EngineSpec(name="x", model="owner/model", revision="v1", dtype="float32"))
    assert hub["paths"] == ["/owner/model/resolve/v1/config.json"]


def test_unknown_repository_is_refused(hub: dict[str, Any]) -> None:
    with pytest.raises(EngineError, match=r"has no model 'owner/modle': check the spelling"):
        load_spec("owner/modle", dtype="float32")


def test_without_the_hub_the_cache_has_the_commit(hub: dict[str, Any], tmp_path: Path) -> None:
    hub["commit"] = None
    with pytest.raises(EngineError, match=r"'owner/model'.*cannot be reached.*revision to a full commit"):
        load_spec("owner/model", dtype="float32")
    refs = tmp_path / "hub" / "models--owner--model" / "refs"
    refs.mkdir(parents=True)
    (refs / "main").write_text(OTHER)
    assert load_spec("owner/model", dtype="float32").revision == OTHER
    (refs / "main").write_text("../../elsewhere")
    with pytest.raises(EngineError, match="cannot be reached"):
        load_spec("owner/model", dtype="float32")
