"""Packs replace shipped tables, rows with a shipped key, and prompts."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from tasks.packs.check import examine
from tasks.packs.folder import PackFolder
from tasks.packs.shape import REPLACES, ByName, PackFile, PackRow, Refers, Shape, Taken, Text, Wording
from tasks.packs.wording import filled, previews, prompt_file, skeleton, templates

GREETING = Wording("greeting", "what is said first", {"name": "Ada", "place": "the sea"}, ("name",), "box 1")
WORDINGS = (GREETING, Wording("farewell", "what is said last"))


class Thing(PackRow):
    """A thing."""

    thing: Text
    kind: Text = "plain"


SHAPE = Shape(
    (
        PackFile("thing", Thing, "Things.", ("thing",), taken=Taken("thing", ("thing",))),
        PackFile("kind", Thing, "Kinds.", ("thing",), over=Taken("kind", ("thing",)),
                 refers=(Refers("kind", table="thing", known_as="thing"),)),
        prompt_file(WORDINGS),
        REPLACES,
    ),
    lambda rows, tables: {name: rows.get(name, ()) for name in ("thing", "kind")},
    WORDINGS,
)  # fmt: skip
SHIPPED: ByName = {
    "thing": [{"thing": "cup"}, {"thing": "plain"}],
    "kind": [{"thing": "red", "kind": "cup"}, {"thing": "blue", "kind": "cup"}],
}


def pack(path: Path, **files: str) -> PackFolder:
    (path / "mine" / "test").mkdir(parents=True)
    (path / "mine" / "pack.toml").write_text('title = "t"\n')
    for name, text in files.items():
        (path / "mine" / "test" / f"{name.replace('_', '.')}").write_text(text)
    return PackFolder("mine", path / "mine")


def test_a_replaced_table_has_the_rows_of_the_pack_only(tmp_path: Path) -> None:
    folder = pack(tmp_path, thing_csv="thing\ncup\n", replaces_toml='files = ["thing"]\n')
    content, faults = examine(folder, "test", SHAPE, SHIPPED)
    assert faults == []
    assert SHAPE.added(content.rows, SHIPPED)["thing"] == [{"thing": "cup", "kind": "plain"}]
    beside, _ = examine(pack(tmp_path / "b", thing_csv="thing\npan\n"), "test", SHAPE, SHIPPED)
    assert [row["thing"] for row in SHAPE.added(beside.rows, SHIPPED)["thing"]] == ["cup", "plain", "pan"]
    assert content.hash != beside.hash


def test_rows_with_a_shipped_key_replace_the_shipped_row(tmp_path: Path) -> None:
    content, faults = examine(pack(tmp_path, kind_csv="thing,kind\nred,cup\n"), "test", SHAPE, SHIPPED)
    assert faults == []
    assert [row["thing"] for row in SHAPE.added(content.rows, SHIPPED)["kind"]] == ["blue", "red"]


def test_a_reference_to_a_replaced_row_is_a_fault(tmp_path: Path) -> None:
    files = {"thing_csv": "thing\npan\n", "kind_csv": "thing,kind\nred,cup\n"}
    folder = pack(tmp_path, **files, replaces_toml='files = ["thing"]\n')
    _, faults = examine(folder, "test", SHAPE, SHIPPED)
    assert "'cup' is not in the shipped thing" in str(faults[0])


@pytest.mark.parametrize("named", ["thing", "prompts", "nothing"])
def test_replacing_with_a_missing_file_is_a_fault(tmp_path: Path, named: str) -> None:
    _, faults = examine(pack(tmp_path, replaces_toml=f'files = ["{named}"]\n'), "test", SHAPE, SHIPPED)
    assert f"unknown file {named!r}; known in " in str(faults[0])


def test_prompts_are_templates_over_their_fields(tmp_path: Path) -> None:
    folder = pack(tmp_path, prompts_toml="greeting = 'Hello {{ name }}!'\n")
    content, faults = examine(folder, "test", SHAPE, SHIPPED)
    assert faults == []
    tables = SHAPE.added(content.rows, SHIPPED)
    assert templates(tables) == {"greeting": "Hello {{ name }}!"}
    assert templates(SHIPPED) == {}
    later = SHAPE.added({"prompts": [{"farewell": "Bye"}]}, tables)
    assert templates(later) == {"greeting": "Hello {{ name }}!", "farewell": "Bye"}
    assert filled("Hello {{ name }}!", {"name": "{{ 7 * 7 }}"}) == "Hello {{ 7 * 7 }}!"
    assert previews(WORDINGS, templates(tables)) == [
        "greeting (unused: place), with an example:\n  | Hello Ada!", "farewell: as shipped",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("greeting = 'Hello {{ nmae }}'", "unknown field nmae; known: {{ name }}, {{ place }}"),
        ("greeting = 'Hello'", "it must use {{ name }}"),
        ("greeting = '{% for x in name %}{{ x }}{% endfor %}'", "for is not allowed in a prompt"),
        ("greeting = '{{ name.__class__ }}'", "getattr is not allowed in a prompt"),
        ("greeting = '{{ name'", "{{ name }} stands for a field, and a brace of the text is {{ '{' }}"),
        ("greeting = 'Hello {nmae}'", "it must use {{ name }}"),
        ("greeting = '{{The name}} of {nmae}'", "it must use {{ name }}"),
        ("greeting = '{{The name of}} {{ nmae }}'", "it must use {{ name }}"),
        ("greeting = ''", "fill it in"),
        ("salute = 'x'", "unknown field"),
    ],
)
def test_a_wrong_prompt_is_a_fault_with_its_reason(tmp_path: Path, text: str, fault: str) -> None:
    _, faults = examine(pack(tmp_path, prompts_toml=text), "test", SHAPE, SHIPPED)
    assert fault in "\n".join(map(str, faults))


@pytest.mark.parametrize(
    ("printed", "sent"),
    [
        ("Hello {name}!", "Hello Ada!"),
        ("{name}: #Dish: {{The name of the dish}}", "Ada: #Dish: {The name of the dish}"),
        ('{name} {{"a": {{"score": X}}, "b": [1]}}', 'Ada {"a": {"score": X}, "b": [1]}'),
        ("{name} {{\n  'a': 1\n}} }", "Ada {\n  'a': 1\n} }"),
        ("{name} of {place}, {other}", "Ada of Paris, {other}"),
        ("{{ name }} of {place}", "Ada of {place}"),
        ("{{ name | upper }}, {name}", "ADA, {name}"),
    ],
)
def test_prompts_as_papers_print_them_are_templates(printed: str, sent: str) -> None:
    """Papers print the form of Python's str.format; a valid template of ours stays as it is."""
    assert filled(GREETING.checked(printed), {"name": "Ada", "place": "Paris"}) == sent


RULES, QUESTION = Wording("quality", "rules"), Wording("quality_question", "data", {"talk": "Hi"}, ("talk",))


@pytest.mark.parametrize("field", ["{talk}", "{{ talk }}"])
def test_a_rubric_in_one_piece_is_split_into_rules_and_question(field: str) -> None:
    row = prompt_file([RULES, QUESTION]).row
    whole = row(
        quality=f'Grade it: 1 to 5.\n\n{{{{"score": X}}}}\n\nThe talk to grade:\n\n{field}\n'
    ).model_dump()
    assert filled(whole["quality"], {}) == 'Grade it: 1 to 5.\n\n{"score": X}'
    assert filled(whole["quality_question"], {"talk": "Hello"}) == "The talk to grade:\n\nHello"
    with pytest.raises(
        ValidationError, match=r"unknown field talk.*put the part with it into quality_question"
    ):
        row(quality=f"Grade {field}", quality_question="{{ talk }}")


def test_the_skeleton_of_prompts_names_fields_and_place_in_the_paper(tmp_path: Path) -> None:
    text = skeleton(WORDINGS)
    assert re.search(r"box 1\. Fields: {{ name }}, {{ place }}\.", text.replace("\n# ", " "))
    assert "\N{NO-BREAK SPACE}" not in text
    long = replace(GREETING, example={f"name_{n}": "x" for n in range(40)})
    assert not [line for line in skeleton([long]).splitlines() if line.count("{{") != line.count("}}")]
    _, faults = examine(pack(tmp_path, prompts_toml=text), "test", SHAPE, SHIPPED)
    assert [fault.column for fault in faults] == ["greeting", "farewell"], "an empty text is a fault"
