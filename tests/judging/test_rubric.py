"""Rubric files: their fields, and errors that name the wrong file and field."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.judging.rubric import Rubric, RubricError, load_rubric, normal

WRONG = [
    ('name = "taste"\n', "", "name: Field required"),
    ("version = 1", "version = 0", "version: "),
    ("max_chars = 50", "max_char = 50", "max_char: Extra inputs are not permitted"),
    ("value = 0.5", "value = 1.5", "verdicts.Unsure.value: "),
    ("value = 0.5", "value = nan", "verdicts.Unsure.value: "),
    ("value = 0.5", "values = 0.5", "verdicts.Unsure.values: Extra inputs"),
    ('["tasty", "healthy"]', "[]", "verdicts.Good.reasons: "),
    ('["tasty", "healthy"]', '["tasty", "Tasty "]', "verdicts: .*two of these differ only in case"),
    ("[verdicts.Unsure]", "[verdicts.good]", "verdicts: .*two of these differ only in case"),
    ("{{ title }}", "{{ titel }}", r"user: .*uses \['items', 'titel'\], but inputs declares"),
    ("{{ title }}", "no title", r"user: .*uses \['items'\], but inputs declares"),
    ("{{ title }}", "{{ title", "user: .*not a Jinja template"),
    ('title = "fruit", ', "", "examples: .*0.inputs"),
    ('reason = "tasty"', 'reason = "unknown"', "examples: .*0.answer.plum: 'Good' with 'unknown'"),
    ('verdict = "Good"', 'verdict = "good"', "examples: .*0.answer.plum"),
    ('name = "taste"', "name = taste", "not a TOML file"),
]


@pytest.mark.parametrize(("right", "wrong", "message"), WRONG)
def test_a_wrong_rubric_is_refused_with_its_field(
    tmp_path: Path, rubric_text: str, right: str, wrong: str, message: str
) -> None:
    assert right in rubric_text
    path = tmp_path / "wrong.toml"
    path.write_text(rubric_text.replace(right, wrong, 1))
    with pytest.raises(RubricError, match=f"^{path}: .*{message}"):
        load_rubric(path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_read(tmp_path: Path, rubric_text: str, encoding: str) -> None:
    (tmp_path / "a.toml").write_text(rubric_text, encoding="utf-8")
    (tmp_path / "b.toml").write_text(rubric_text, encoding=encoding)
    assert load_rubric(tmp_path / "a.toml").hash() == load_rubric(tmp_path / "b.toml").hash()


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RubricError, match=r"cannot read a rubric from .*none\.toml: No such file"):
        load_rubric(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes('name = "café"'.encode("latin-1"))
    with pytest.raises(RubricError, match=r"latin\.toml: not a TOML file in UTF-8"):
        load_rubric(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    "change",
    [("version = 1", "version = 2"), ("value = 0.5", "value = 0.4"), ("plum", "pear"), ("Title", "T")],
)
def test_the_hash_of_a_rubric_follows_its_content(
    tmp_path: Path, rubric_text: str, rubric: Rubric, change: tuple[str, str]
) -> None:
    same, other = tmp_path / "same.toml", tmp_path / "other.toml"
    same.write_text("# a comment\n" + rubric_text)
    other.write_text(rubric_text.replace(*change))
    assert load_rubric(same).hash() == rubric.hash()
    assert load_rubric(other).hash() != rubric.hash()
    assert len(rubric.hash()) == 16


def test_the_hash_of_a_rubric_includes_the_note_on_data(
    rubric: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = rubric.hash()
    monkeypatch.setattr("tasks.judging.rubric.DATA_NOTE", "another note")
    assert rubric.hash() != before


def test_keys_are_compared_in_normal_form() -> None:
    assert normal("  Jalapen\u0303o ") == normal("JALAPEÑO") == "jalapeño"
    assert normal("Weißbrot") == normal("WEISSBROT")
    assert normal("salt") != normal("sa lt")
