"""Judges who reason before they score: what they are sent, and how their text is read."""

from __future__ import annotations

import pytest

from tasks.judging.reasoned import UNREAD, nearest_verdict, reasoned_scores
from tasks.judging.rubric import LEAST_TO_REASON, Rubric, has_room_to_reason, judge_prompt, parse_rubric
from tasks.judging.verdicts import CUT_OFF, UNANSWERED, read_opinions
from tasks.loop.prompts import Completion

ASKED = {"title": "fruit", "items": ["plum"]}


@pytest.fixture
def reasoned(rubric: Rubric) -> Rubric:
    return rubric.in_style("reasoned")


def of(text: str, rubric: Rubric, *keys: str) -> list[float | str]:
    scores = reasoned_scores(text, keys or ("plum",), rubric)
    return [round(score, 6) if isinstance(score, float) else score for score in scores]


READ = [
    ("It is ripe.\nScore: 0.7", 0.7),
    ("**Score:** 0.7", 0.7),
    ("**Score: 0.7**", 0.7),
    ("### Final score\n0.7", 0.7),
    ("Score (0 to 1): 0.7", 0.7),
    ("Score from 0 to 1: 0.7", 0.7),
    ("score = .7", 0.7),
    ("SCORE: 0,7", 0.7),
    ("Ｓｃｏｒｅ： ０.７", 0.7),
    ("Score: 7/10", 0.7),
    ("Score: 7 out of 10", 0.7),
    ("Score: 70%", 0.7),
    ("Score: 70 %.", 0.7),
    ("Score: 1/1", 1.0),
    ('{"reasoning": "ripe", "score": 0.7}', 0.7),
    (r"Score: $\boxed{0.7}$", 0.7),
    ("I would say its score is 0.7.", 0.7),
    ("A score of 0.7 fits.", 0.7),
    ("Ripe.\n\n0.7", 0.7),
    ("Ripe.\n**1**", 1.0),
    ("Score: 1", 1.0),
    ("Score: 0.", 0.0),
    # The last counts, and what begins a line before what stands in one
    ("Score: 0.2\nNo, it is ripe.\nScore: 0.7", 0.7),
    ("Score: 0.7\n(A score of 1 would need more.)", 0.7),
    ('The text says "Score: 1", which is no matter.\nScore: 0.7', 0.7),
]


@pytest.mark.parametrize(("text", "score"), READ)
def test_a_score_is_read_however_it_is_written(reasoned: Rubric, text: str, score: float) -> None:
    assert of(text, reasoned) == [score]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", UNREAD),
        ("It is ripe.", UNREAD),
        ("Score: good", UNREAD),
        ("Score: 0.5-0.7", UNREAD),
        ("Score: 0.5 to 0.7", UNREAD),
        ("There are 3 plums.", UNREAD),
        ("Score: 7", "the score 7 is not from 0 to 1"),
        ("Score: -0.5", "the score -0.5 is not from 0 to 1"),
        ("Score: 11/10", "the score 11/10 is not from 0 to 1"),
        ("Score: 1/0", "the score 1/0 is not from 0 to 1"),
        ("Score: " + "9" * 400, "the score 99999999999999999999 is not from 0 to 1"),
    ],
)
def test_what_cannot_be_read_is_unscored(reasoned: Rubric, text: str, why: str) -> None:
    assert of(text, reasoned) == [why]


def test_several_things_have_a_line_each(reasoned: Rubric) -> None:
    text = "plum: ripe\nScore of plum: 0.7\n- **Pear (hard)**: 2/10\nScore for fig = 7\n"
    assert of(text, reasoned, "plum", "pear (hard)", "fig", "quince") == [
        0.7, 0.2, "the score 7 is not from 0 to 1", UNREAD,
    ]  # fmt: skip
    assert of('{"plum": 0.5, "fig": 1}', reasoned, "plum", "fig") == [0.5, UNREAD]  # fig begins no line


SCALE = """
name = "depth"
version = 1
system = "Grade it."
inputs = ["text"]
user = "{{ text }}"
verdicts = { 1 = { value = 0.0, reasons = ["none"] }, 2 = { value = 0.5, reasons = ["some"] },
  10 = { value = 1.0, reasons = ["all"] } }
"""


def test_a_scale_of_numbers_keeps_its_numbers() -> None:
    rubric = parse_rubric(SCALE.replace('reasons = ["some"] },\n ', 'reasons = ["some"] },'), "here")
    rubric = rubric.in_style("reasoned")
    assert "a number from 1 to 10" in rubric.form(["text"])
    # Halfway from 2 to 10 is halfway from 0.5 to 1
    assert of("Score: 6", rubric) == [0.75]
    assert of("Score: 6/10", rubric) == [0.75]
    assert of("Score: 60%", rubric) == ["the score 60% is not from 1 to 10"]


def test_the_nearest_verdict(rubric: Rubric) -> None:
    found = [nearest_verdict(score, rubric) for score in (0.0, 0.2, 0.25, 0.6, 0.75, 1.0)]
    assert found == ["Bad", "Bad", "Unsure", "Unsure", "Good", "Good"]


def test_its_prompt_asks_for_free_text(rubric: Rubric, reasoned: Rubric) -> None:
    direct, free = (judge_prompt(each, ASKED, ["plum"]) for each in (rubric, reasoned))
    assert free.schema is None
    assert not free.options
    assert direct.schema is not None
    system, _, shown, question = (message["content"] for message in free.conversation)
    assert 'end with one line, "Score: " and a number from 0 to 1: 0 is Bad, 1 is Good' in system
    assert shown == "tasty.\nScore: 1"
    assert question == direct.conversation[-1]["content"]
    several = judge_prompt(reasoned, ASKED, ["plum", "fig"]).conversation[0]["content"]
    assert '"Score of NAME: "' in several


def test_rules_on_json_are_for_direct_answers(rubric: Rubric) -> None:
    told = Rubric(**{**rubric.model_dump(), "system": "Judge it.\n\nAnswer with one JSON object."})
    for style, is_told in (("direct", True), ("reasoned", False)):
        system = judge_prompt(told.in_style(style), ASKED, ["plum"]).conversation[0]["content"]  # type: ignore[arg-type]
        assert ("one JSON object" in system) == is_told
    # A rubric with a form of its own is sent as it is
    own = Rubric(**{**told.model_dump(), "style": "reasoned", "ending": ""})
    system = judge_prompt(own, ASKED, ["plum"]).conversation[0]["content"]
    assert "one JSON object" in system
    assert "Score:" not in system


def test_the_style_is_part_of_what_identifies_a_rubric(rubric: Rubric, reasoned: Rubric) -> None:
    before = rubric.hash()
    judge_prompt(rubric, ASKED, ["plum"])
    own = Rubric(**{**reasoned.model_dump(), "ending": "End with a score."})
    assert len({before, reasoned.hash(), own.hash()}) == 3
    assert reasoned.in_style("direct").hash() == before
    assert rubric.in_style("direct") is rubric


def test_the_form_is_part_of_what_identifies_those_who_reason(
    rubric: Rubric, reasoned: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    direct, by_reasons = rubric.hash(), reasoned.hash()
    monkeypatch.setattr("tasks.judging.rubric._FORM", "another form")
    assert rubric.hash() == direct
    assert reasoned.hash() != by_reasons


def test_an_opinion_is_graded_by_the_judge_s_own_number(reasoned: Rubric) -> None:
    told = Completion("Hm.\nScore: 0.8", "stop", 1, 1, option_logprobs={"Bad": 0.0})
    (opinion,) = read_opinions(told, ["plum"], reasoned)
    assert (opinion.score, opinion.verdict.verdict, opinion.verdict.value) == (0.8, "Good", 1.0)
    unread, cut_off, none = (
        read_opinions(completion, ["plum"], reasoned)[0]
        for completion in (Completion("Hm.", "stop", 1, 1), Completion("Score: 1", "length", 1, 1), None)
    )
    assert [o.score for o in (unread, cut_off, none)] == [None] * 3
    assert [o.verdict.unscored_reason for o in (unread, cut_off, none)] == [UNREAD, CUT_OFF, UNANSWERED]


@pytest.mark.parametrize("run", ["score", " ", "\n", "score: ", "(", "9", "score 1 ", "*", "0.5 to ", "the "])
def test_long_runs_are_read(reasoned: Rubric, run: str) -> None:
    """Quadratic patterns would not come to an end on texts of a judge's whole budget."""
    text = "score" + run * (20_000 // len(run)) + "!"
    assert len(of(text, reasoned)) == 1
    assert len(of(text, reasoned, "plum", "score")) == 2


def test_a_rubric_in_others_words(rubric: Rubric, reasoned: Rubric) -> None:
    """Rules, question and form are theirs; inputs that the question leaves out are not asked for."""
    words = ("Taste it.", "Of {{ title }} only.", "End with 1 or 0.")
    own = reasoned.reworded(*words)
    assert own.inputs == ("title",)
    system, question = judge_prompt(own, {"title": "fruit"}, ["plum"]).conversation
    assert system["content"].startswith("Taste it.\n\n")
    assert system["content"].endswith("\n\nEnd with 1 or 0.")
    assert question["content"] == 'Of <data>"fruit"</data> only.'
    assert len({own.hash(), reasoned.hash(), rubric.reworded(*words).hash(), rubric.hash()}) == 4
    assert rubric.reworded(None, None) is rubric
    direct = judge_prompt(rubric.reworded("Taste it.", None), ASKED, ["plum"]).conversation
    assert 'the key "plum" with an object' in direct[0]["content"]
    assert len(direct) == 2
    with pytest.raises(ValueError, match="inputs"):
        rubric.reworded(None, "{{ titel }}")


def test_reasoning_judges_need_many_tokens_and_direct_judges_do_not() -> None:
    assert has_room_to_reason("params", "reasoned", LEAST_TO_REASON) == "params"
    assert has_room_to_reason("params", "direct", 1) == "params"
    with pytest.raises(ValueError, match=f"set {LEAST_TO_REASON} or more"):
        has_room_to_reason("params", "reasoned", LEAST_TO_REASON - 1)
