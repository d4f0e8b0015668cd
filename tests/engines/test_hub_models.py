"""A model of the hub is downloaded whole, without copies of its weights, and checked like a folder."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from transformers import GPT2Config, GPT2LMHeadModel

from tasks.engines import load
from tasks.engines.local import hub_models
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec
from tests.engines import tiny_models as tiny
from tests.engines.test_damage import POINTER, WEIGHTS, cut
from tests.http_server import Answer, HttpServer, Request

COMMIT = "c" * 40
SPEC = EngineSpec(name="m", model="owner/model", revision=COMMIT, dtype="float32", device="cpu")


class Hub(HttpServer):
    """A hub whose repositories are folders, each at one commit.

    Attributes:
        repositories: "models/OWNER/NAME" or "datasets/OWNER/NAME" -> its folder. sent: files that were sent.
    """

    def __init__(self, folder: Path, **more: Path) -> None:
        self.repositories = {"models/owner/model": folder} | more
        self.sent = list[str]()
        super().__init__(self.reply)

    def reply(self, request: Request) -> Answer:
        path = urllib.parse.unquote(request.path.partition("?")[0])
        for name, folder in self.repositories.items():
            kind, _, repository = name.partition("/")
            files = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
            if path.startswith(f"/api/{name}"):
                return self.described(request, path.removeprefix(f"/api/{name}"), repository, files)
            place = f"/{repository}/resolve/" if kind == "models" else f"/{name}/resolve/"
            revision, _, file = path.removeprefix(place).partition("/")
            if path.startswith(place) and revision in (COMMIT, "main") and file in files:
                return self.file(request, file, files[file])
        return Answer(status=404, headers={"X-Error-Code": "EntryNotFound"})

    def described(self, request: Request, path: str, repository: str, files: dict[str, Path]) -> Answer:
        """Return what the hub says of a repository: itself, its tree, or some of its paths."""
        every = [
            {"type": "file", "path": name, "size": file.stat().st_size, "oid": f"{i:040x}"}
            for i, (name, file) in enumerate(sorted(files.items()))
        ]
        if path.startswith("/paths-info/"):
            asked = urllib.parse.parse_qs(request.body.decode()).get("paths", [])
            asked = asked or json.loads(request.body or b"{}").get("paths", [])
            return Answer([each for each in every if each["path"] in asked])
        if path.startswith("/tree/"):
            return Answer(every)
        if path not in ("", f"/revision/{COMMIT}", "/revision/main"):
            return Answer(status=404, headers={"X-Error-Code": "RevisionNotFound"})
        siblings = [{"rfilename": each["path"]} for each in every]
        return Answer({"id": repository, "sha": COMMIT, "siblings": siblings, "private": False})

    def file(self, request: Request, name: str, file: Path) -> Answer:
        data = file.read_bytes()
        about = {
            "X-Repo-Commit": COMMIT,
            "ETag": f'"{abs(hash(str(file))):040x}"',
            "Content-Length": str(len(data)),
        }
        if request.method == "HEAD":
            return Answer(headers=about)
        self.sent.append(name)
        return Answer(data, headers=about)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tokenizer = tiny.bert_tokenizer()
    config = GPT2Config(vocab_size=len(tokenizer), n_embd=8, n_layer=2, n_head=2, n_positions=600)
    return tiny.save(lambda: GPT2LMHeadModel(config), tokenizer, tmp_path / "m")  # type: ignore[no-untyped-call]


@pytest.fixture
def hub(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    cache = str(tmp_path / "hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", cache)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    server = Hub(folder)
    monkeypatch.setenv("HF_ENDPOINT", server.address)
    yield server
    server.close()
    load.unload()


def test_it_is_scored_as_its_folder_is(hub: Hub, folder: Path, tmp_path: Path) -> None:
    prompts, items = ["the food of peru has"], [" rice", " salt pudding"]
    local = load.load(EngineSpec(name="m", model=str(folder), dtype="float32"), tmp_path / "models", "score")
    expected = local.score(prompts, items)
    found = load.load(SPEC, tmp_path / "models", "score").score(prompts, items)
    assert found.tolist() == expected.tolist()


def test_only_the_files_that_are_read_are_downloaded(hub: Hub, folder: Path, tmp_path: Path) -> None:
    GPT2LMHeadModel.from_pretrained(folder).save_pretrained(folder, max_shard_size="4KB")
    for name in ("consolidated.safetensors", "pytorch_model.bin", "tf_model.h5", "onnx/model.onnx", "a.png"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"x")
    (folder / WEIGHTS).unlink(missing_ok=True)
    parts = {path.name for path in folder.glob("model-*")}
    assert len(parts) > 1
    load.load(SPEC, tmp_path / "models", "score")
    small = {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"}
    assert set(hub.sent) == parts | small | {f"{WEIGHTS}.index.json"}


def divided(folder: Path) -> None:
    GPT2LMHeadModel.from_pretrained(folder).save_pretrained(folder, max_shard_size="4KB")
    next(folder.glob("model-00002-*")).unlink()
    (folder / WEIGHTS).unlink(missing_ok=True)


def with_pickle_only(folder: Path) -> None:
    (folder / WEIGHTS).rename(folder / "pytorch_model.bin")


DAMAGE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "pointer": (lambda f: (f / WEIGHTS).write_bytes(POINTER), r"only git-lfs's pointer"),
    "cut": (lambda f: cut(f, -10), r"not copied whole"),
    "part missing": (divided, r"names model-00002-\S+, not in the folder"),
    "adapter": (lambda f: (f / "adapter_config.json").write_text("{}"), r"has an adapter"),
    "no tokenizer": (lambda f: [p.unlink() for p in f.glob("token*")], r"there is no tokenizer"),
    "pickle": (with_pickle_only, r"there are no safetensors in 'owner/model', and .*--trust-pickle"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damage_is_said_as_for_a_folder(
    hub: Hub, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    damage, message = DAMAGE[case]
    damage(folder)
    monkeypatch.setattr(load, "_build", lambda *_: pytest.fail("loaded"))
    with pytest.raises(EngineError, match=message):
        load.load(SPEC, tmp_path / "models", "score")


def test_a_download_is_used_without_the_hub(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    first = hub_models.fetched(SPEC)
    n = len(hub.received)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert hub_models.fetched(SPEC) == first
    assert len(hub.received) == n
    with pytest.raises(EngineError, match=r"'no/such' cannot be downloaded whole .*go online"):
        hub_models.fetched(SPEC.model_copy(update={"model": "no/such"}))
