"""No option of a spec can name code or a file without the user's trust: an allow-list, walked whole."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedModel
from transformers.models.auto import auto_factory

from tasks.engines import load, options, specs
from tasks.engines.presence import doubt
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec

HOSTILE: list[Any] = [
    "/abs/plug.py", "plug.py", "package.module.Class", "owner/repository", "../x", "http://host/x", "",
    {"a": "/abs/plug.py"}, ["package.module"], None, b"x", object,
]  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(specs.TRUST, "")


def transformers_parameters() -> set[str]:
    """Return all names that ``from_pretrained`` of models and Auto classes knows."""
    of_signature = set(inspect.signature(PreTrainedModel.from_pretrained).parameters)
    sources = (inspect.getsource(PreTrainedModel.from_pretrained), inspect.getsource(auto_factory))
    of_body = {name for text in sources for name in re.findall(r"kwargs\.(?:pop|get)\(\s*\"(\w+)\"", text)}
    return (of_signature | of_body) - {"self"}


def vllm_parameters() -> set[str]:
    """Return all fields of vLLM's EngineArgs, read from its source, because the import takes long."""
    root = next(Path(p) for p in __import__("vllm").__path__)
    source = (root / "engine" / "arg_utils.py").read_text(encoding="utf-8")
    body = source[source.index("class EngineArgs") :]
    return set(re.findall(r"^    (\w+):", body[: body.index("    def ")], re.MULTILINE))


def test_every_parameter_of_transformers_is_allowed_or_refused() -> None:
    names = transformers_parameters()
    assert len(names) > 30
    _check_all("packed_trie", names)


def test_every_field_of_vllm_is_allowed_or_refused() -> None:
    pytest.importorskip("vllm")
    names = vllm_parameters()
    assert len(names) > 200
    assert set(options.VLLM) <= names
    _check_all("vllm", names)


def _check_all(kind: Any, names: set[str]) -> None:
    """Check that no option takes a value that could name something, and that unknown ones take none."""
    for name in names | set(options.known(kind)):
        values = HOSTILE if name in options.HARMLESS[kind] else [*HOSTILE, True, 1, 0.5, "auto"]
        taken = [value for value in values if not options.refused(kind, {name: value})]
        assert taken == [], name


@pytest.mark.parametrize("kind", ["vllm", "packed_trie", "masked", "seq2seq"])
@pytest.mark.parametrize(
    "name",
    ["reasoning_parser_plugin", "worker_cls", "hf_overrides", "attn_implementation", "cache_dir", "made_up"],
)
def test_an_option_that_may_name_code_needs_trust(
    kind: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = EngineSpec(
        name="m", kind=kind, model="embedded:smollm2-135m", dtype="float32", options={name: "/abs/plug.py"}
    )
    monkeypatch.setattr(load, "_build", lambda *_: pytest.fail("loaded"))
    for door in (lambda: load.check_ability(spec, "candidates"), lambda: load.load(spec, tmp_path)):
        with pytest.raises(EngineError, match=rf"'m', options\.{name}: .*--trust-remote-code"):
            door()
    specs.allow(remote_code=True)
    load.check_ability(spec, "candidates")


def test_what_was_trusted_is_said_in_the_plan() -> None:
    spec = EngineSpec(
        name="m", kind="vllm", model="embedded:smollm2-135m", options={"worker_cls": "a.B", "seed": 1}
    )
    assert "worker_cls" in str(doubt(spec))
