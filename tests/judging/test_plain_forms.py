"""Verdicts and scores in forms that reasoning judges, small models and judges of other languages write.

Labelled before they were tried. At first 4 of 25 direct verdicts were not read, 5 of 25 scores, and 5 of 25
labels; none was read wrongly. Objects that break off stay unread.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import tasks.evaluations.culturall as culturall
from tasks.judging.rubric import Rubric, load_rubric
from tasks.judging.verdicts import read_opinions
from tasks.loop.prompts import Completion
from tasks.loop.replies import on_menu, read_fields


@pytest.fixture(scope="module")
def rubric() -> Rubric:
    return load_rubric(Path(culturall.__file__).parent / "rubrics" / "correct.toml")


G = '{"verdict": "CORRECT", "reason": "same answer"}'
B = '{"verdict": "INCORRECT", "reason": "another answer"}'


@pytest.mark.parametrize(
    ("text", "score"),
    [
        (f'<think>It should be INCORRECT.</think>\n{{"answer": {G}}}', 1.0),
        (f'{{"answer": {G}}}\n\nExplanation: the answer equals the reference; it is not INCORRECT.', 1.0),
        (f'```json\n{{"answer": {B},}}\n```', 0.0),
        (f'{{"answer": {G}}}{{"answer": {G}}}', 1.0),
        (f'{{"answer": {B}}} <|im_end|>', 0.0),
        ("{'answer': {'verdict': 'CORRECT', 'reason': 'same answer'}}", 1.0),
        (G, 1.0),
        ("**Verdict:** INCORRECT\n**Reason:** another answer", 0.0),
        ("answer: CORRECT", 1.0),
        ("My verdict is CORRECT.", 1.0),
        ("I first thought CORRECT, but the final verdict is: INCORRECT", 0.0),
        ('{"answer": {"verdict": "INCORRECT", "reason": "another ans', None),
        (f"{{“answer”: {B.replace(chr(34), '”')}}}", 0.0),
        ('{"answer": {"verdict": "CORRECT", "reason": "The word "salt" is right"}}', 1.0),
        ("The answer could be CORRECT or INCORRECT.", None),
        ("It is impossible to say.", None),
        ("> INCORRECT", 0.0),
        (f'{{"result": {{"answer": {B}}}}}', 0.0),
        (f'[{{"key": "answer", {G[1:]}]', 1.0),
        ("The verdict is not CORRECT.", None),
        ("Not correct.", None),
        ("Verdict: CORRECT ✅", 1.0),
        ("❌ INCORRECT", 0.0),
        ('{"answer": {"verdict": "✔️ CORRECT", "reason": "same answer"}}', 1.0),
        ("✅", None),
        ("👍🏽 CORRECT 👎 INCORRECT", None),
    ],
)
def test_direct_verdict(text: str, score: float | None, rubric: Rubric) -> None:
    (opinion,) = read_opinions(Completion(text, "stop", 1, 1), ("answer",), rubric)
    assert opinion.score == score


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("The answer matches.\n\nScore: 1", 1.0), ("**Score: 1.0**", 1.0), ("Score = 1/1", 1.0),
        ("Output: 0", 0.0), ("\\boxed{1}", 1.0), ("Answer: 1.", 1.0), ("1", 1.0), ("### Score\n1", 1.0),
        ("Score: 0\n\nWait, it does match.\n\nScore: 1", 1.0), ("**Final Output:** 1", 1.0),
        ('{"score": 1}', 1.0), ("<score>0</score>", 0.0), ("Rating: 0 (out of 1)", 0.0), ("Judgment: 1", 1.0),
        ("<think>Score: 0</think>\nScore: 1", 1.0), ("The correct output is **1**.", 1.0),
        ("I would score this as 1", 1.0), ("Final answer: **0**", 0.0), ("Output:\n1", 1.0),
        ("Итоговая оценка: 1", 1.0), ("Puntuación: 0", 0.0), ("得分：1", 1.0), ("评分：1", 1.0),
        ("点数：0", 0.0), ("점수: 1", 1.0), ("Skor: 0", 0.0), ("Điểm: 1", 1.0), ("الدرجة: 1", 1.0),
        ("It matches.\n```\n1\n```", 1.0), ("It matches.\n\n0\n---", 0.0),
        ("I cannot give one number.", None),
    ],
)  # fmt: skip
def test_reasoned_score(text: str, score: float | None, rubric: Rubric) -> None:
    reasoned = rubric.in_style("reasoned")
    (opinion,) = read_opinions(Completion(text, "stop", 1, 1), ("answer",), reasoned)
    assert opinion.score == score


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Label: yes\nExplanation: It is polite.", "yes"), ("label = yes; explanation = fine", "yes"),
        ('<think>{"label": "no"}</think>{"label": "yes", "explanation": "ok"}', "yes"),
        ('{label: "no", explanation: "unquoted keys"}', "no"), ('{"label": ["yes"]}', "yes"),
        ('{"label": "yes"\n"explanation": "no comma"}', "yes"), ('{"label": "no",, "x": "two commas"}', "no"),
        ('"label": "no", "explanation": "no braces"', "no"), ('{"Label ": "yes "}', "yes"),
        ("<label>no</label><explanation>x</explanation>", "no"), ('{"label": "yes/no"}', None),
        ("| label | explanation |\n|---|---|\n| yes | fine |", "yes"), ("yes or no", None),
        ('Response:\n{"label": "no","explanation":"ends early', None), ('{"label": ["yes", "no"]}', None),
    ],
)  # fmt: skip
def test_label_among_fields(text: str, label: str | None) -> None:
    fields = read_fields(text, ("label", "explanation"))
    assert on_menu((fields or {}).get("label"), ("yes", "no", "neutral")) == label
