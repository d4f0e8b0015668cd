"""No name that a person gives is taken for a null model's, hides what it is, or moves a terminal's cursor."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deployments.cli.app import app
from flows.session import occasion
from tasks.engines.protocols import EngineError
from tasks.engines.specs import load_spec
from tasks.evaluations.contract import Params
from tasks.identity import LONGEST_NAME, checked_name

ROOT = Path(__file__).parent.parent
BAD = {
    "a null's": "null:list-frequency",
    "a null's in capitals": "NULL: x",
    "a null's, spaced": " null:x",
    "escape": "a\x1b[31mb",
    "bell": "a\x07",
    "line": "a\nb",
    "turned": "a\u202eb",
    "isolated": "a\u2066b\u2069",
    "unseen": "a\u200bb",
    "half a pair": "a\ud800b",
    "space": "a ",
    "long": "a" * (LONGEST_NAME + 1),
}
GOOD = ("gpt-5_high", "Qwen3 0.6B", "модель", "نموذج", "模型", "a#1f2e", "nullable", "the null: model")


@pytest.mark.parametrize("name", BAD.values(), ids=BAD.keys())
def test_bad_names_are_refused_wherever_a_name_is_given(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="occasion") as refusal:
        occasion(name)
    assert not re.search(r"[\x00-\x1f\u200b\u202a-\u202e\u2066-\u2069\ud800-\udfff]", str(refusal.value))
    assert len(str(refusal.value)) < 300
    for field in ("occasion", "cohort", "profile"):
        with pytest.raises(ValueError, match=field):
            Params(models=["m"], **{field: name})
    if "\ud800" in name:
        return  # no TOML file can hold it
    spec = "".join(f"\\U{ord(c):08x}" for c in name)
    (tmp_path / "spec.toml").write_text(f'kind = "fake"\nmodel = "m"\nname = "{spec}"\n')
    with pytest.raises(EngineError, match="the name of a model"):
        load_spec(str(tmp_path / "spec.toml"))


@pytest.mark.parametrize("name", GOOD)
def test_other_names_are_not(name: str) -> None:
    assert checked_name(name, "name") == name
    assert occasion(name) == name


def test_a_folder_without_a_name_for_a_model_needs_a_spec(tmp_path: Path) -> None:
    folder = tmp_path / "null:x"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    with pytest.raises(EngineError, match="null models; or name it in a spec file"):
        load_spec(str(folder))


@pytest.mark.parametrize(
    "given", ["{date.__class__}", "{date[0]}", "{week:>9999999}", "{0}", "{}", "{", "a}"]
)
def test_an_occasion_holds_three_placeholders_and_no_other_braces(given: str) -> None:
    with pytest.raises(ValueError, match="alone"):
        occasion(given)
    assert re.fullmatch(r"run \d{4}-\d\d-\d\d, \d{4}-w\d\d", occasion("run {date}, {week}"))


def test_the_command_line_says_it_in_one_line(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CULTURESCOPE_HOME", str(home))
    text = 'kind = "fake"\nmodel = "m"\nname = "null:list-frequency"\n'
    (home / "engines" / "evil.toml").write_text(text)
    for arguments in (["-m", "evil"], ["-m", "fake-a", "--occasion", "null:x"]):
        done = CliRunner().invoke(app, ["run", "spectral", *arguments, "--dry-run"], env={"COLUMNS": "999"})
        assert done.exit_code == 1
        assert done.stderr.count("those of null models") == 1
        assert len(done.stderr.strip().splitlines()) == 1


SQL = [*(ROOT / "warehouse").rglob("*.sql"), *(ROOT / "flows").glob("*.py"), *(ROOT / "tasks").glob("*.py")]
JOIN = re.compile(
    r"\bJOIN\b.*?\b(?:ON|USING)\b(.*?)(?=\bJOIN\b|\bWHERE\b|\bGROUP\b|\bQUALIFY\b|\)\s*,|;)", re.S
)


NAMES = {
    r"model|our_model": "run_id|(engine|model)_hash",
    r"judge|judged_by": "judge_hash",
    r"simulator|solver|answered_by|answerer": "answerer_hash",
}
"""Names of who answered, and the hash that is to be there beside them."""
BY_NAME = {
    "33_answer_change.sql": "a part of answers holds its writer's name alone; a judge's verdicts are told by "
    "its hash (request_hash has the engine, and the occasion, which differs there)"
}
"""File -> why it joins on a name after all."""


def test_no_query_joins_on_names_of_models() -> None:
    """A name may come twice; a hash or a run says which model, or judge, is meant."""
    joined = {
        path.name
        for path in SQL
        for condition in JOIN.findall(path.read_text(encoding="utf-8"))
        for name, known in NAMES.items()
        if re.search(rf"\b({name})\b", condition) and not re.search(known, condition)
    }
    assert joined == set(BY_NAME)
