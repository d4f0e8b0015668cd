"""Deeply nested, long-named or binary files are one error in every reader of users' files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows.gates import read_policy
from tasks.builders.specnorm.drafting import DraftError, parse_draft
from tasks.engines.local.memory import of_embedder
from tasks.engines.specs import read_spec
from tasks.evaluations.explication.materials import load_task, read_personas
from tasks.judging.rubric import load_rubric
from tasks.loop.replies import read_fields
from tasks.parsing import DEEPEST, TooDeep, parse_json, parse_toml
from tasks.people.elsewhere import read_json
from tasks.people.study import read_study
from tests.test_architecture import FILES, ids

Reader = Callable[[Path], Any]

TOML: dict[str, Reader] = {
    "spec": read_spec,
    "rubric": load_rubric,
    "task": lambda path: load_task(str(path)),
    "study": read_study,
    "policy": read_policy,
}
JSON: dict[str, Reader] = {"persona": read_personas, "export": read_json}
HOSTILE_TOML = {
    "dotted": b"a" + b".a" * 50_000 + b" = 1\n",
    "dotted in a table": b"x = { a" + b" . a" * 50_000 + b" = 1 }\n",
    "dotted header": b"[a" + b".'a'" * 50_000 + b"]\n",
    "lists": b"name = " + b"[" * 50_000,
    "tables": b"name = " + b"[{a=" * 30 + b"1" + b"}]" * 30 + b"\n",
    "number": b"version = " + b"9" * 10_000 + b"\n",
    "no text": b"\xff\xfe\x00",
}
HOSTILE_JSON = {
    "lists": b"[" * 100_000,
    "objects": b'{"a":' * 100_000,
    "nested": b"[" * 50 + b"]" * 50,
    "number": b"9" * 10_000,
    "no text": b"\xff\xfe\x00",
}
OWN = {
    "deployments/people/explication.py": "codes of its own; its own database",
    "deployments/people/pages.py": "texts, shipped; its own database",
    "deployments/people/store.py": "its own database",
    "deployments/serve/server.py": "where its own server is",
    "deployments/cli/runs.py": "a table of its own",
    "deployments/show/configurations.py": "a table of its own",
    "flows/runs.py": "a table of its own",
    "flows/stored.py": "its own parts",
    "scrapers/http_cache.py": "its own cache",
    "scrapers/tasteatlas.py": "imports no tasks; a RecursionError is a ScrapeError",
    "scrapers/worldcuisines.py": "imports no tasks; a RecursionError is a ScrapeError",
    "tasks/engines/content.py": "its own cache, and shipped",
    "tasks/engines/local/embedded.py": "a catalogue, shipped; its own cache",
    "tasks/published/blend.py": "what it has just written",
    "tasks/evaluations/harness/evaluation.py": "what it has just written",
    "tasks/evaluations/harness/kept.py": "its own stored content",
    "tasks/evaluations/harness/clone.py": "YAML of data sets' cards, by the safe loader",
    "tasks/evaluations/harness/library.py": "what it has just written",
    "tasks/pending/runner/main.py": "of run.py, which imports nothing of ours; lines of its own export",
    "tasks/report/cache.py": "its own cache",
    "tasks/engines/served/transport.py": "a server's answer, as deep as it may be",
    "tasks/builders/culturall/prompts.py": "shipped",
    "tasks/evaluations/culturall/matching/locales.py": "shipped",
    "tasks/engines/proofs.py": "its own cache",
    "tasks/evaluations/cure/study.py": "shipped",
    "tasks/evaluations/imported/report.py": "a table of its own",
    "tasks/exchange/eee.py": "schemas, shipped",
    "tasks/evaluations/explication/texts.py": "shipped",
    "tasks/evaluations/explication/measures.py": "shipped",
    "tasks/evaluations/explication/interview.py": "shipped",
    "tasks/evaluations/explication/study.py": "what it has just written",
    "tasks/loop/prompts.py": "its own parts",
    "tasks/parsing.py": "the function itself",
    "tasks/report/__init__.py": "a table of its own",
    "tasks/report/text.py": "a table of its own",
    "warehouse/guard.py": "a parse tree of DuckDB's",
    "warehouse/needed.py": "a plan of DuckDB's",
    "warehouse/packs.py": "a table of its own",
    "warehouse/part_kinds.py": "shipped",
    "warehouse/view_files.py": "shipped",
}
"""Files that parse TOML or JSON without ``tasks.parsing``, and why they get no hostile text."""


@pytest.mark.parametrize("hostile", HOSTILE_TOML)
@pytest.mark.parametrize("reader", TOML)
def test_hostile_toml_is_one_error_that_names_the_file(tmp_path: Path, reader: str, hostile: str) -> None:
    assert_refused(TOML[reader], tmp_path / "mine.toml", HOSTILE_TOML[hostile])


@pytest.mark.parametrize("hostile", HOSTILE_JSON)
@pytest.mark.parametrize("reader", JSON)
def test_hostile_json_is_one_error_that_names_the_file(tmp_path: Path, reader: str, hostile: str) -> None:
    assert_refused(JSON[reader], tmp_path / "mine.json", HOSTILE_JSON[hostile])


def assert_refused(read: Reader, path: Path, content: bytes) -> None:
    """Check that reading the content is a short error that names the file."""
    path.write_bytes(content)
    with pytest.raises((ValueError, RuntimeError)) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("hostile", ["lists", "objects", "nested", "number"])
def test_hostile_model_output_is_a_draft_error_or_no_fields(hostile: str) -> None:
    text = HOSTILE_JSON[hostile].decode()
    seed: Any = None
    with pytest.raises(DraftError):
        parse_draft(text, seed, "yes")
    assert read_fields(f'{{"a": {text}}}', ["a"]) is None


@pytest.mark.parametrize(
    "header", [b"\xff" * 8, (200).to_bytes(8, "little") + b"[" * 200, b"\x02\0\0\0\0\0\0\0{}"]
)
def test_hostile_weights_have_an_assumed_size(tmp_path: Path, header: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(header)
    assert of_embedder(str(tmp_path)).bytes > 0
    (tmp_path / "model.safetensors.index.json").write_bytes(b"[" * 100_000)
    assert of_embedder(str(tmp_path)).bytes > 0


def test_nesting_is_read_up_to_the_limit() -> None:
    for depth, fits in ((DEEPEST, True), (DEEPEST + 1, False)):
        nested = "[" * depth + "]" * depth
        for parse, text in ((parse_json, nested), (parse_toml, f"x = {nested[1:-1]}")):
            if fits:
                parse(text)
            else:
                with pytest.raises(TooDeep):
                    parse(text)
    text = 'a.b = 1\n"c.d" = """\n1.2.3.4 and so on, 5.6.7\n"""\n[e.f]\ng = [{ h.i = 2 }]\n'
    parsed_text = parse_toml(text)
    assert parsed_text["a"] == {"b": 1}
    assert parsed_text["e"]["f"]["g"] == [{"h": {"i": 2}}]


def test_other_files_parse_only_trusted_text() -> None:
    """A new reader of users' files uses ``tasks.parsing``; any other is listed in OWN with its reason."""
    parsers = re.compile(r"\b(tomllib\.loads?|json\.loads?|yaml\.\w*load\w*)\b")
    assert {ids(path) for path in FILES if parsers.search(path.read_text())} == OWN.keys()
