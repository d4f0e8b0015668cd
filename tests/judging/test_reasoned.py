"""Judges that reason before they score: their prompts and how their text is read."""

from __future__ import annotations

import pytest

from tasks.judging.reasoned import UNREAD, nearest_verdict, reasoned_scores
from tasks.judging.rubric import (
    LEAST_TO_REASON,
    Marked,
    Rubric,
    can_reason,
    judge_prompt,
    parse_rubric,
)
from tasks.judging.verdicts import CUT_OFF, UNANSWERED, read_opinions
from tasks.loop.prompts import Completion

INPUTS = {"title": "fruit", "items": ["plum"]}


@pytest.fixture
def reasoned(rubric: Rubric) -> Rubric:
    return rubric.in_style("reasoned")


def scores_of(text: str, rubric: Rubric, *keys: str) -> list[float | str]:
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
    # The last score counts; a score at the beginning of a line overrides one within a line.
    ("Score: 0.2\nNo, it is ripe.\nScore: 0.7", 0.7),
    ("Score: 0.7\n(A score of 1 would need more.)", 0.7),
    ('The text says "Score: 1", which is no matter.\nScore: 0.7', 0.7),
]


@pytest.mark.parametrize(("text", "score"), READ)
def test_a_score_is_read_in_any_spelling(reasoned: Rubric, text: str, score: float) -> None:
    assert scores_of(text, reasoned) == [score]


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
def test_an_unreadable_score_has_a_reason(reasoned: Rubric, text: str, why: str) -> None:
    assert scores_of(text, reasoned) == [why]


def test_several_keys_have_one_line_each(reasoned: Rubric) -> None:
    text = "plum: ripe\nScore of plum: 0.7\n- **Pear (hard)**: 2/10\nScore for fig = 7\n"
    assert scores_of(text, reasoned, "plum", "pear (hard)", "fig", "quince") == [
        0.7, 0.2, "the score 7 is not from 0 to 1", UNREAD,
    ]  # fmt: skip
    # No line begins with fig.
    assert scores_of('{"plum": 0.5, "fig": 1}', reasoned, "plum", "fig") == [
        0.5,
        UNREAD,
    ]


SCALE = """
name = "depth"
version = 1
system = "Grade it."
inputs = ["text"]
user = "{{ text }}"
verdicts = { 1 = { value = 0.0, reasons = ["none"] }, 2 = { value = 0.5, reasons = ["some"] },
  10 = { value = 1.0, reasons = ["all"] } }
"""


def test_a_rubric_of_numbers_is_scored_on_its_own_scale() -> None:
    rubric = parse_rubric(SCALE.replace('reasons = ["some"] },\n ', 'reasons = ["some"] },'), "here")
    rubric = rubric.in_style("reasoned")
    assert "a number from 1 to 10" in rubric.form(["text"])
    # Halfway from 2 to 10 is halfway from 0.5 to 1
    assert scores_of("Score: 6", rubric) == [0.75]
    assert scores_of("Score: 6/10", rubric) == [0.75]
    assert scores_of("Score: 60%", rubric) == ["the score 60% is not from 1 to 10"]
    from_zero = parse_rubric(SCALE.replace("{ 1 =", "{ 0 =").replace("] },\n ", "] },"), "here")
    assert from_zero.in_style("reasoned").scale == ((0.0, 0.0), (2.0, 0.5), (10.0, 1.0))


def test_a_score_has_the_nearest_verdict(rubric: Rubric) -> None:
    verdicts = [nearest_verdict(score, rubric) for score in (0.0, 0.2, 0.25, 0.6, 0.75, 1.0)]
    assert verdicts == ["Bad", "Bad", "Unsure", "Unsure", "Good", "Good"]


def test_a_reasoning_judges_prompt_has_no_schema(rubric: Rubric, reasoned: Rubric) -> None:
    direct, free = (judge_prompt(each, INPUTS, ["plum"]) for each in (rubric, reasoned))
    assert free.schema is None
    assert not free.options
    assert direct.schema is not None
    system, _, shown, question = (message["content"] for message in free.conversation)
    assert '"Score: " and a number from 0 to 1: 0 is Bad, 1 is Good' in system
    assert shown == "tasty.\nScore: 1"
    assert question == direct.conversation[-1]["content"]
    several = judge_prompt(reasoned, INPUTS, ["plum", "fig"]).conversation[0]["content"]
    assert '"Score of NAME: "' in several


def test_an_example_of_several_texts_has_a_reason_and_a_score_for_each(reasoned: Rubric) -> None:
    (example,) = reasoned.examples
    ((_, good),) = example.answer.items()
    answer = {"plum": good, "fig": Marked(verdict="Bad", reason="sour")}
    of_two = reasoned.model_copy(update={"examples": (example.model_copy(update={"answer": answer}),)})
    _, _, shown, _ = (message["content"] for message in judge_prompt(of_two, INPUTS, ["plum"]).conversation)
    assert shown == "plum: tasty.\nfig: sour.\nScore of plum: 1\nScore of fig: 0"


def test_rules_on_json_are_sent_to_direct_judges_only(rubric: Rubric) -> None:
    ruled = Rubric(**{**rubric.model_dump(), "system": "Judge it.\n\nAnswer with one JSON object."})
    for style, has_rule in (("direct", True), ("reasoned", False)):
        system = judge_prompt(ruled.in_style(style), INPUTS, ["plum"]).conversation[0]["content"]  # type: ignore[arg-type]
        assert ("one JSON object" in system) == has_rule
    # A rubric with a form of its own is sent as it is
    own = Rubric(**{**ruled.model_dump(), "style": "reasoned", "ending": ""})
    system = judge_prompt(own, INPUTS, ["plum"]).conversation[0]["content"]
    assert "one JSON object" in system
    assert "Score:" not in system


def test_the_hash_of_a_rubric_includes_its_style(rubric: Rubric, reasoned: Rubric) -> None:
    before = rubric.hash()
    judge_prompt(rubric, INPUTS, ["plum"])
    own = Rubric(**{**reasoned.model_dump(), "ending": "End with a score."})
    endings = [Rubric(**{**rubric.model_dump(), "ending": ending}) for ending in ("Be brief.", "Be fair.")]
    assert len({before, reasoned.hash(), own.hash(), *(each.hash() for each in endings)}) == 5
    assert reasoned.in_style("direct").hash() == before
    assert rubric.in_style("direct") is rubric


def test_the_hash_of_a_reasoning_rubric_includes_its_form(
    rubric: Rubric, reasoned: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    direct, by_reasons = rubric.hash(), reasoned.hash()
    monkeypatch.setattr("tasks.judging.rubric._FORM", "another form")
    assert rubric.hash() == direct
    assert reasoned.hash() != by_reasons


def test_an_opinion_has_the_judges_own_number(reasoned: Rubric) -> None:
    scored = Completion("Hm.\nScore: 0.8", "stop", 1, 1, option_logprobs={"Bad": 0.0})
    (opinion,) = read_opinions(scored, ["plum"], reasoned)
    assert (opinion.score, opinion.verdict.verdict, opinion.verdict.value) == (0.8, "Good", 1.0)
    unread, cut_off, none = (
        read_opinions(completion, ["plum"], reasoned)[0]
        for completion in (Completion("Hm.", "stop", 1, 1), Completion("Score: 1", "length", 1, 1), None)
    )
    assert [o.score for o in (unread, cut_off, none)] == [None] * 3
    assert [o.verdict.unscored_reason for o in (unread, cut_off, none)] == [UNREAD, CUT_OFF, UNANSWERED]


@pytest.mark.parametrize("run", ["score", " ", "\n", "score: ", "(", "9", "score 1 ", "*", "0.5 to ", "the "])
def test_long_repetitive_texts_are_read_in_linear_time(reasoned: Rubric, run: str) -> None:
    """Patterns with quadratic time would not finish on texts as long as a judge's whole budget."""
    text = "score" + run * (20_000 // len(run)) + "!"
    assert len(scores_of(text, reasoned)) == 1
    assert len(scores_of(text, reasoned, "plum", "score")) == 2


def test_a_reworded_rubric_has_its_own_rules_question_and_hash(rubric: Rubric, reasoned: Rubric) -> None:
    """Inputs that the new question leaves out are not required."""
    words = ("Taste it.", "Of {{ title }} only.", "End with 1 or 0.")
    own = reasoned.reworded(*words)
    assert own.inputs == ("title",)
    system, question = judge_prompt(own, {"title": "fruit"}, ["plum"]).conversation
    assert system["content"].startswith("Taste it.\n\n")
    assert system["content"].endswith("\n\nEnd with 1 or 0.")
    assert question["content"] == 'Of <data>"fruit"</data> only.'
    assert len({own.hash(), reasoned.hash(), rubric.reworded(*words).hash(), rubric.hash()}) == 4
    assert rubric.reworded(None, None) is rubric
    direct = judge_prompt(rubric.reworded("Taste it.", None), INPUTS, ["plum"]).conversation
    assert 'the key "plum" with an object' in direct[0]["content"]
    assert len(direct) == 2
    with pytest.raises(ValueError, match="inputs"):
        rubric.reworded(None, "{{ titel }}")


def test_a_token_limit_too_small_to_reason_is_refused() -> None:
    assert can_reason("params", "reasoned", LEAST_TO_REASON) == "params"
    assert can_reason("params", "direct", 1) == "params"
    with pytest.raises(ValueError, match=f"set {LEAST_TO_REASON} or more"):
        can_reason("params", "reasoned", LEAST_TO_REASON - 1)
