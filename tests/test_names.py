"""Names given by users cannot look like null models, hide characters or control a terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flows.session import occasion
from tasks.engines.protocols import EngineError
from tasks.engines.specs import load_spec
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
    "null model in full width": "\uff4e\uff55\uff4c\uff4c\uff1ax",
    "null model in full width with a plain colon": "\uff4eull:x",
    "null model with a full-width colon": "null\uff1ax",
    "null model with a ratio sign": "null\u2236x",
    "null model with a modifier colon": "null\ua789x",
    "null model in Greek": "\u03b7\u03c5ll:x",
    "null model with a Greek capital": "\u039dull:x",
    "null model in Armenian": "\u0578\u057dll:x",
    "null model with a Cyrillic stick": "nu\u04cf\u04cf:x",
    "null model with capital i": "nuII:x",
    "null model with ones": "nu11:x",
    "null model with marks": "n\u00fall:x",
    "null model with a joiner": "nu\u200dll:x",
    "null model with a grapheme joiner": "nu\u034fll:x",
    "null model with a variation selector": "n\ufe0full:x",
    "null model in mathematical letters": "\U0001d427\U0001d42e\U0001d425\U0001d425:x",
    "null model with a no-break space": "nu\u00a0ll:x",
    "null model in small capitals": "\u0274\u1d1c\u029f\u029f:x",
    "Hangul filler": "\u3164",
    "tag": "a\U000e0041",
    "Braille blank": "\u2800",
    "khmer vowel that shows nothing": "a\u17b4",
    "only a mark": "\u0301",
    "ligature": "\ufb01ne",
    "full width": "\uff47pt",
    "too long": "a" * (LONGEST_NAME + 1),
}
GOOD = ("gpt-5_high", "Qwen3 0.6B", "модель", "نموذج", "模型", "a#1f2e", "nullable", "the null: model",
        "दुःख", "कि: ख", "nil: x", "null", "nulls: x", "ñandú", "Λ: x", "Юнит: x")  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_other_names_are_accepted(name: str) -> None:
    assert checked_name(name, "name") == name
    assert occasion(name) == name


def test_two_ways_to_write_a_letter_are_one_name() -> None:
    assert checked_name("cafe\u0301", "name") == checked_name("caf\u00e9", "name") == "caf\u00e9"


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
    "runs.sql": "run: a null model's name holds that of its model, within one configuration. answer_change: "
    "a part of answers has only its model's name; verdicts of a judge are joined by hash (request_hash "
    "contains the engine, and the occasion, which differs there)",
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
