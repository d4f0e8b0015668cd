"""Projection on all dimensions, recognition of personas, stereotypes, and counts of unscored answers."""

from __future__ import annotations

import random
from collections.abc import Callable
from string import ascii_letters

import pytest

from tasks.evaluations.worldwise.model_rows import (
    OWN_LANGUAGES,
    TOO_FEW,
    count_rows,
    projection_rows,
    recognition_rows,
    stereotype_rows,
)
from tasks.evaluations.worldwise.read import NO_VECTOR, WorldwiseScores
from tasks.evaluations.worldwise.study import WorldwiseStudy
from tasks.loop.prompts import Completion
from tasks.loop.replies import NO_ANSWER
from tests.evaluations.row_checks import check, one
from tests.evaluations.worldwise.conftest import (
    MakeStudy,
    Tables,
    completion,
    placed_at,
    scored,
    space_of,
    tables,
)


def test_hand_calculation_gives_projection(make_study: MakeStudy) -> None:
    study = make_study()
    rows = list(projection_rows(study, space_of(study), scored(study, placed_at(study))))
    check(rows)
    # All four answers count on each dimension: 0.5, 0, and twice 0 for scenarios on power distance.
    row = one(rows, "projection", "baseline:individualism")
    assert row.value == pytest.approx((0.5 + 0 + 0 + 0) / 4)
    assert (row.n_scored, row.n_unscored) == (4, 0)
    assert row.null_value == pytest.approx(-0.5 / 4)
    assert one(rows, "projection", "MX:power_distance").value == pytest.approx((1.1 - 0.5) / 4)
    assert one(rows, "projection", "MX:power_distance").null_value == pytest.approx(1 / 4)
    # Achievement has neither targets nor scenarios.
    assert one(rows, "projection", "JP:achievement").value == pytest.approx(0.5)
    assert one(rows, "projection", "JP:achievement").null_value == pytest.approx(0)
    assert len(rows) == 4 * 3


# --- personas recognised


def nine_scenarios() -> Tables:
    """Return the rows of ``tables`` with nine scenarios of one dimension."""
    rows = tables()
    first = rows["scenario"][0]
    rows["scenario"] = [first | {"scenario": f"i{n}", "text": f"What should i{n} do?"} for n in range(9)]
    return rows


def explained(study: WorldwiseStudy, explain: Callable[[str, int, random.Random], str]) -> WorldwiseScores:
    """Return answers whose explanations depend on culture, scenario and chance."""
    answers = {}
    for sample in study.samples:
        culture, scenario, _ = sample.key
        text = explain(culture, int(scenario[1:]), random.Random(repr(sample.key)))
        answers[sample.key] = completion(f"{text} at (0, 0, 0)")
    return scored(study, answers)


def varied(culture: str, scenario: int, draw: random.Random) -> str:
    return " ".join(draw.choices(ascii_letters, k=12))


def test_cliches_are_recognised_and_reduce_variety(make_study: MakeStudy) -> None:
    study = make_study(nine_scenarios(), repetitions=2)
    cliches = {"IN": "duty of elders", "JP": "harmony of the group", "MX": "warmth at the fiesta"}

    def repeated(culture: str, scenario: int, draw: random.Random) -> str:
        return f"{cliches.get(culture, '')} {varied(culture, scenario, draw)[:9]}"

    rows, others = (list(recognition_rows(study, explained(study, e))) for e in (repeated, varied))
    check(rows)
    check(others)
    high, low = one(rows, "persona_recognition"), one(others, "persona_recognition")
    assert high.value == 1.0
    assert (low.ci_low or 0) < 0 < (low.ci_high or 0)
    assert (high.n_scored, high.n_unscored, high.null_value) == (3 * 9 * 2, 0, 0.0)
    assert one(rows, "persona_recognition", "JP").n_scored == 9 * 2
    assert (one(rows, "persona_recognition_p").value, len(rows)) == (0.01, 1 + 2 * 4)
    assert (one(others, "persona_recognition_p").value or 0) > 0.05
    for row in (one(rows, "answer_variety"), one(rows, "answer_variety", "IN")):
        assert (row.value or 1) < (row.null_value or 0) - 0.1
    own = one(others, "answer_variety")
    assert own.value == pytest.approx(own.null_value, abs=0.05)


def test_names_of_cultures_are_removed_before_recognition(make_study: MakeStudy) -> None:
    study = make_study(nine_scenarios())
    names = {
        "IN": "In India we Indians", "JP": "As a Japanese, in JAPAN's towns", "MX": "Mexicans in Mexico",
    }  # fmt: skip

    def named(culture: str, scenario: int, draw: random.Random) -> str:
        return f"{names.get(culture, '')} {varied(culture, scenario, draw)}"

    def neutral(culture: str, scenario: int, draw: random.Random) -> str:
        bare = {"IN": "In we", "JP": "As a , in towns", "MX": "in"}
        return f"{bare.get(culture, '')} {varied(culture, scenario, draw)}"

    rows, without = (list(recognition_rows(study, explained(study, e))) for e in (named, neutral))
    assert rows == without


def test_recognition_is_unscored_with_a_reason(make_study: MakeStudy) -> None:
    four = make_study()  # scenarios
    rows = list(recognition_rows(four, scored(four, placed_at(four))))
    check(rows)
    assert {(r.unscored_reason, r.n_unscored) for r in rows} == {(TOO_FEW, 12), (TOO_FEW, 4)}
    alone = make_study(nine_scenarios(), cultures=["Japan"])
    assert one(list(recognition_rows(alone, explained(alone, varied))), "answer_variety").value is None
    own = nine_scenarios() | {"country_name": [{"country": "JP", "language": "ja", "name": "日本"}]}
    study = make_study(own, persona_language="own")
    rows = list(recognition_rows(study, explained(study, varied)))
    assert {r.unscored_reason for r in rows} == {OWN_LANGUAGES}
    rows = list(recognition_rows(four, scored(four, {})))
    assert {r.unscored_reason for r in rows} == {NO_ANSWER}


def test_culture_with_few_answers_is_left_out_of_recognition(make_study: MakeStudy) -> None:
    study = make_study(nine_scenarios())
    answers = explained(study, varied)
    answers.explanations[2, 4:] = ""  # JP: four scenarios are left
    rows = list(recognition_rows(study, answers))
    check(rows)
    assert one(rows, "persona_recognition", "JP").unscored_reason == TOO_FEW
    assert (one(rows, "persona_recognition").n_scored, one(rows, "persona_recognition").n_unscored) == (18, 9)


# --- listed phrases, where they are counted


def test_hand_calculation_gives_stereotypes(make_study: MakeStudy) -> None:
    study = make_study(stereotype_rule="words")
    completed = placed_at(study)
    assert list(stereotype_rows(make_study(), scored(study, completed))) == []
    # One phrase in 20 words or so leaves nothing of the 10 points.
    completed["IN", "i1", 0] = completion("All of them are so at (0, 0, 0)")
    rows = list(stereotype_rows(study, scored(study, completed)))
    check(rows)
    assert one(rows, "stereotype_score", "IN").value == pytest.approx(30 / 4)
    assert one(rows, "stereotype_score", "baseline").value == 10.0
    assert one(rows, "stereotype_score").value == pytest.approx(150 / 16)
    assert one(rows, "stereotype_score").null_value == 10.0
    # The rule of WorldWiseAI 2024 finds a phrase within words too.
    published = make_study(stereotype_rule="substring")
    completed["IN", "i2", 0] = completion("Overall of them are so at (0, 0, 0)")
    for of, score in ((published, 5.0), (study, 7.5)):
        found = list(stereotype_rows(of, scored(of, completed)))
        assert one(found, "stereotype_score", "IN").value == score


def test_hand_calculation_gives_counts(make_study: MakeStudy) -> None:
    study = make_study()
    completed = placed_at(study)
    completed["IN", "i1", 0] = Completion("no JSON", "stop", 100, 20)
    completed["IN", "i2", 0] = Completion("{", "length", 100, 320)
    completed["JP", "i1", 0] = Completion("", "content_filter", 0, 0)
    completed["JP", "i2", 0] = completion("somewhere at nowhere")
    completed["MX", "p1", 0] = completion("a long text at (0, 0, 0)")
    del completed["MX", "p2", 0]
    rows = list(count_rows(study, scored(study, completed)))
    check(rows)
    row = one(rows, "answered")
    assert row.value == pytest.approx(11 / 16)
    assert (row.n_scored, row.n_unscored) == (16, 0)
    assert {r.slice: r.value for r in rows if r.metric == "unscored_answers"} == dict.fromkeys(
        ("unparsable answer", "cut off at max_tokens", "refused", NO_VECTOR,
         NO_ANSWER), 1
    )  # fmt: skip
    row = one(rows, "truncated_texts")
    assert (row.value, row.n_scored, row.n_unscored) == (1, 12, 4)
    # 15 answers were given, of which one has none and one 320 instead of 20.
    assert one(rows, "total_tokens").value == 15 * 120 - 120 + 300
    rows = list(count_rows(study, scored(study, {})))
    check(rows)
    assert one(rows, "answered").value == 0.0
    assert one(rows, "unscored_answers", NO_ANSWER).value == 16
    for metric in ("total_tokens", "truncated_texts"):
        assert one(rows, metric).unscored_reason == NO_ANSWER
