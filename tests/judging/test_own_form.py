"""Rubrics of papers that state the form of an answer: nothing is added to them, and that form is read.

The forms are those of Zhou et al. (2025), Vo and Koyejo (2025), Lin et al. (2026) and boxes 7 and 9 of
"Measuring meta-cultural competency" (2025), in words of our own.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tasks.evaluations.culturall.study import RUBRIC as CORRECT
from tasks.evaluations.explication.read import keys_of
from tasks.evaluations.explication.study import FOLDER
from tasks.evaluations.fmlama.judge import MES_RUBRIC
from tasks.judging.forms import states_form
from tasks.judging.rubric import DATA_NOTE, JudgeStyle, Rubric, judge_prompt, load_rubric
from tasks.judging.verdicts import read_opinions
from tasks.loop.prompts import Completion

MES = """Mark each ingredient. ### Output Format: return a Python dictionary with the ingredient as key and a
tuple of the mark ("Correct", "Maybe", "Incorrect") and the reason."""
YES_NO = "Does it capture the norm? Respond YES only if it does. Respond NO if anything is missing."
ONE_OR_ZERO = "Is the prediction right? Only output 1 or 0 with no additional text."
BOX_7 = "Output response in a valid JSON format.\n\n# JSON OUTPUT with a score from 1 to 10 for each."
STYLES: tuple[JudgeStyle, ...] = ("direct", "reasoned")


def rubric(path: Path, rules: str, style: JudgeStyle) -> Rubric:
    return load_rubric(path).in_style(style).reworded(rules, None)


def scores(text: str, keys: tuple[str, ...], own: Rubric) -> list[float | None]:
    return [opinion.score for opinion in read_opinions(Completion(text, "stop", 1, 1), keys, own)]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("rules", [MES, YES_NO, ONE_OR_ZERO, BOX_7])
def test_nothing_is_added_to_rules_that_state_their_form(rules: str, style: JudgeStyle) -> None:
    own = rubric(CORRECT, rules, style)
    inputs = dict.fromkeys(own.inputs, "text")
    prompt = judge_prompt(own, inputs, ["prediction"])
    assert prompt.conversation[0]["content"] == f"{rules}\n\n{DATA_NOTE}"
    assert (prompt.schema, prompt.options) == (None, ())


@pytest.mark.parametrize("style", STYLES)
def test_our_form_is_added_to_rules_that_state_none(style: JudgeStyle) -> None:
    own = rubric(CORRECT, "Is the prediction right?", style)
    assert not own.has_own_form
    prompt = judge_prompt(own, dict.fromkeys(own.inputs, "text"), ["prediction"])
    assert ("JSON" if style == "direct" else "Score") in str(prompt.conversation[0]["content"])


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "text",
    [
        "{'salt': ('Correct', 'Direct Match'), 'sea salt': ('Maybe', 'It's rare, and \"odd\"')}",
        "{\n ’salt’: (’Correct’, ’Substitutability’),\n ’sea salt’: (’Incorrect’, ’Not used’),\n}",
        '```python\n{"salt": ["Correct", "Direct Match"], "sea salt": ["Incorrect", "x"]}\n```',
        'Output\n{"salt": ("Correct", "Missing Traditional Ingredient"), "sea salt": ("Incorrect", "")}',
        '{"salt": "Correct", "sea salt": "Incorrect"}',
    ],
)
def test_dictionaries_of_tuples_are_read(text: str, style: JudgeStyle) -> None:
    assert scores(text, ("salt", "sea salt"), rubric(MES_RUBRIC, MES, style)) == [1.0, 0.0]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("1", 1.0), ("0", 0.0), ("0.", 0.0), ("Output: 1", 1.0), ("**Output:** 0", 0.0), ('"1"', 1.0),
        ("YES", 1.0), ("no", 0.0), ("**YES**", 1.0), ("NO\n\nThe norm is missing.", 0.0),
        ("Response: NO", 0.0),
        ("It names the norm and its scope.\n\nYES", 1.0), ("NO. An element is missing.", 0.0),
        ('{"prediction": {"verdict": "CORRECT"}}', 1.0), ("INCORRECT", 0.0), ("Answer: **CORRECT**", 1.0),
        ("YES\n\nOn second thoughts:\n\nNO", None), ("It could be either.", None), ("", None), ("2", None),
        ("YES or NO", None),
    ],
)  # fmt: skip
def test_a_verdict_alone_is_read(text: str, score: float | None, style: JudgeStyle) -> None:
    assert scores(text, ("prediction",), rubric(CORRECT, YES_NO, style)) == [score]


@pytest.mark.parametrize("style", STYLES)
def test_scores_in_the_papers_json_are_read(style: JudgeStyle) -> None:
    own = rubric(FOLDER / "rubrics" / "quality.toml", BOX_7, style)
    answer = {
        "cultural_depth": {"thought_and_reasoning": "Asked, then used.", "score": 10},
        "constraint_awareness": {"thought_and_reasoning": "…", "score": "1"},
        "personalization_quality": {"thought_and_reasoning": "…", "score": "10/10"},
        "interaction_process": {"thought_and_reasoning": "…", "score": 5.5},
        "penalties_applied": ["asked for dishes"],
        "appropriateness_score": 7.0,
        "interaction_quality_score": 5.5,
        "overall_assessment": "Good.",
    }
    keys = ("cultural_depth", "constraint_awareness", "personalisation", "interaction")
    for text in (json.dumps(answer), json.dumps(answer, indent=1), f"{{{json.dumps(answer)}}}", str(answer)):
        assert scores(text, keys, own) == [1.0, 0.0, 1.0, pytest.approx(0.5)]
    if style == "reasoned":
        assert scores(json.dumps(answer), keys_of(own), own)[-1] == pytest.approx(6 / 9)


@pytest.mark.parametrize(
    ("rules", "states"),
    [
        (MES, True), (YES_NO, True), (ONE_OR_ZERO, True), (BOX_7, True),
        ("Scoring: YES only if all hold.", True),
        ("Answer with one JSON object.", True), ("Return a dictionary.", True),
        ("Grade it from 1 to 10.", False),
        ("Is the prediction right?", False), ("Rules of a pack.", False),
    ],
)  # fmt: skip
def test_what_states_a_form(rules: str, states: bool) -> None:
    assert states_form(rules) is states


@pytest.mark.parametrize("style", STYLES)
def test_scores_in_the_json_of_box_9_are_read(style: JudgeStyle) -> None:
    own = rubric(FOLDER / "rubrics" / "instructions.toml", BOX_7, style)
    checks = {"dish_name_present": True, "ended_after_recipe": False}
    answer = {
        "format_analysis": 'The label is "Dish", not "Dish name".', "behavioral_analysis": "Polite.",
        "task_focus_analysis": "Good.", "objective_checks": checks,
        "format_compliance": {"score": 3, "key_issues": ["label"]},
        "behavioral_rules": {"score": 5, "key_issues": []},
        "task_focus": {"score": "1/5", "key_issues": ["score: 5 it is not"]},
        "overall_instruction_following": 3.0, "summary": "Fair.",
    }  # fmt: skip
    for text in (json.dumps(answer), f"```json\n{json.dumps(answer, indent=2)}\n```", str(answer)):
        assert scores(text, ("format", "behaviour", "focus"), own) == [0.5, 1.0, 0.0]
    if style == "reasoned":
        assert scores(json.dumps(answer), keys_of(own), own)[-1] == pytest.approx(0.5)
