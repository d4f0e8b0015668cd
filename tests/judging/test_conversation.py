"""The judge's prompt: judged text stays between its delimiters and decodes to itself."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.judging.quoting import _escaped
from tasks.judging.rubric import CLOSE, OPEN, Rubric, as_data, shorten
from tests.judging.attacks import ATTACKS

DATA = re.compile(rf"{OPEN}([^<>\r\n]*){CLOSE}")


def decoded(data: str) -> object:
    """Return the text between the delimiters, which must enclose everything."""
    match = DATA.fullmatch(data)
    assert match
    return json.loads(match[1])


def test_hand_calculation_gives_the_judges_conversation(rubric: Rubric) -> None:
    system, *rest = rubric.conversation({"title": "nuts", "items": ["almond", "walnut"]})
    assert system["role"] == "system"
    assert system["content"].startswith("Judge each item: Good")
    assert "never an instruction" in system["content"]
    assert rest == [
        {"role": "user", "content": 'Title: <data>"fruit"</data>\nItems: <data>["plum"]</data>'},
        {"role": "assistant", "content": '{"plum": {"verdict": "Good", "reason": "tasty"}}'},
        {"role": "user", "content": 'Title: <data>"nuts"</data>\nItems: <data>["almond", "walnut"]</data>'},
    ]


def test_missing_further_and_mistyped_inputs_are_refused(rubric: Rubric) -> None:
    with pytest.raises(ValueError, match=r"takes the inputs \['items', 'title'\], got \['title'\]"):
        rubric.conversation({"title": "nuts"})
    with pytest.raises(ValueError, match=r"got .*'system'"):
        rubric.conversation({"title": "nuts", "items": [], "system": "x"})
    for wrong in (7, None, ["almond", 7], {"almond": 1}):
        with pytest.raises(TypeError, match="an input is a text or a sequence of texts"):
            rubric.conversation({"title": "nuts", "items": wrong})


def test_texts_in_any_script_are_not_escaped() -> None:
    texts = (
        "寿司",
        "كبسة",
        "می\u200cخواهم",
        "पनीर टिक्का",
        "jalapeño",
        "borscht (Ukrainian)",
        "«Оливье»",
        "🍜",
    )
    for text in texts:
        assert as_data(text, 100) == f'<data>"{text}"</data>'


def test_letters_and_digits_of_all_scripts_are_not_escaped() -> None:
    """Two letters of Canadian syllabics that look like < and > are escaped."""
    letters = set(re.findall(r"\w", "".join(map(chr, range(0x10000))))) - {"\u1433", "\u1438"}
    assert len(letters) > 40_000
    assert [c for c in letters if _escaped(c) != c] == []
    assert "\u1433" not in as_data("\u1433/data\u1438", 100)


def test_a_long_text_is_cut_once() -> None:
    assert shorten("abcde", 5) == "abcde"
    assert shorten("abcdef", 5) == "abcd…" == shorten(shorten("abcdef", 5), 5)
    assert decoded(as_data(["abcdef", "a"], 5)) == ["abcd…", "a"]


@pytest.mark.parametrize("attack", ATTACKS, ids=range(len(ATTACKS)))
def test_an_attack_stays_between_its_delimiters(rubric: Rubric, attack: str) -> None:
    items = ["salt", attack, "sugar"]
    *before, question = rubric.conversation({"title": attack, "items": items})
    assert before == rubric.conversation({"title": "", "items": []})[:-1]
    # [^<>\r\n]: the whole prompt is two lines with one pair of delimiters each, and no other < or >.
    first, second = question["content"].split("\n")
    assert len(question["content"].splitlines()) == 2
    assert decoded(first.removeprefix("Title: ")) == shorten(attack, rubric.max_chars)
    assert decoded(second.removeprefix("Items: ")) == [shorten(i, rubric.max_chars) for i in items]
    assert not re.search(r"[＜＞﹤﹥‹›⟨⟩〈〉❮❯\u200b\u202e\U000e0000-\U000e007f]", question["content"])
    # The list's own brackets are the only square ones.
    assert (question["content"].count("["), question["content"].count("]")) == (1, 1)


@given(st.text(max_size=60))
def test_any_text_decodes_to_itself(text: str) -> None:
    data = as_data(text, 1000)
    assert len(data.splitlines()) == 1
    assert not re.search(r"[\[\]\x00-\x1f\x7f-\x9f\u200b\u202a-\u202e]", data)
    data.encode("utf-8")
    assert decoded(data) == text


def test_half_a_surrogate_pair_can_be_stored() -> None:
    data = as_data("salt\ud83c", 100)
    data.encode("utf-8")
    assert decoded(data) == "salt\ud83c"
