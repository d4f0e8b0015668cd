"""Names given by users cannot look like null models, hide characters or control a terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flows.session import occasion
from tasks.engines.protocols import EngineError
from tasks.engines.specs import load_spec
from tasks.evaluations.contract import Params
from tasks.identity import LONGEST_NAME, checked_name
from tests.deployments.commands import call

ROOT = Path(__file__).parent.parent
BAD = {
    "null model": "null:list-frequency",
    "null model in capitals": "NULL: x",
    "null model after a space": " null:x",
    "escape": "a\x1b[31mb",
    "bell": "a\x07",
    "line": "a\nb",
    "right-to-left override": "a\u202eb",
    "bidi isolate": "a\u2066b\u2069",
    "zero-width space": "a\u200bb",
    "lone surrogate": "a\ud800b",
    "final space": "a ",
    "too long": "a" * (LONGEST_NAME + 1),
}
GOOD = ("gpt-5_high", "Qwen3 0.6B", "модель", "نموذج", "模型", "a#1f2e", "nullable", "the null: model")


@pytest.mark.parametrize("name", BAD.values(), ids=BAD.keys())
def test_bad_names_are_refused_for_occasions_parameters_and_models(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="occasion") as refusal:
        occasion(name)
    assert not re.search(r"[\x00-\x1f\u200b\u202a-\u202e\u2066-\u2069\ud800-\udfff]", str(refusal.value))
    assert len(str(refusal.value)) < 300
    for field in ("occasion", "cohort", "profile"):
        with pytest.raises(ValueError, match=field):
            Params(models=["m"], **{field: name})
    if "\ud800" in name:
        return  # no TOML file can contain it
    spec = "".join(f"\\U{ord(c):08x}" for c in name)
    (tmp_path / "spec.toml").write_text(f'kind = "fake"\nmodel = "m"\nname = "{spec}"\n')
    with pytest.raises(EngineError, match="the name of a model"):
        load_spec(str(tmp_path / "spec.toml"))


@pytest.mark.parametrize("name", GOOD)
def test_other_names_are_accepted(name: str) -> None:
    assert checked_name(name, "name") == name
    assert occasion(name) == name


def test_folder_with_the_name_of_a_null_model_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "null:x"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    with pytest.raises(EngineError, match="null models; or name it in a spec file"):
        load_spec(str(folder))


@pytest.mark.parametrize("name", ["{date.__class__}", "{date[0]}", "{week:>9999999}", "{0}", "{}", "{", "a}"])
def test_occasion_takes_only_known_placeholders(name: str) -> None:
    with pytest.raises(ValueError, match=r"only \{date\}"):
        occasion(name)
    assert re.fullmatch(r"run \d{4}-\d\d-\d\d, \d{4}-w\d\d", occasion("run {date}, {week}"))


def test_bad_name_on_the_command_line_is_one_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    text = 'kind = "fake"\nmodel = "m"\nname = "null:list-frequency"\n'
    (home / "engines" / "evil.toml").write_text(text)
    for arguments in (["-m", "evil"], ["-m", "fake-a", "--occasion", "null:x"]):
        error = call("run", "spectral", *arguments, "--dry-run", code=1, COLUMNS="999").stderr
        assert error.count("those of null models") == 1
        assert len(error.strip().splitlines()) == 1


SQL = [*(ROOT / "warehouse").rglob("*.sql"), *(ROOT / "flows").glob("*.py"), *(ROOT / "tasks").glob("*.py")]
JOIN = re.compile(
    r"\bJOIN\b.*?\b(?:ON|USING)\b(.*?)(?=\bJOIN\b|\bWHERE\b|\bGROUP\b|\bQUALIFY\b|\)\s*,|;)", re.S
)


NAMES = {
    r"model|our_model": "run_id|(engine|model)_hash",
    r"judge|judged_by": "judge_hash",
    r"simulator|solver|answered_by|answerer": "answerer_hash",
}
"""Columns with names of models -> the hash that a join must have besides."""
BY_NAME = {
    "33_answer_change.sql": "a part of answers has only its model's name; verdicts of a judge are joined by "
    "hash (request_hash contains the engine, and the occasion, which differs there)"
}
"""File -> why it joins on a name."""


def test_no_query_joins_on_names_of_models() -> None:
    """Names are not unique; a hash or a run identifies a model or judge."""
    joined = {
        path.name
        for path in SQL
        for condition in JOIN.findall(path.read_text(encoding="utf-8"))
        for name, known in NAMES.items()
        if re.search(rf"\b({name})\b", condition) and not re.search(known, condition)
    }
    assert joined == set(BY_NAME)
