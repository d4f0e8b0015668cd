"""Rows of one model, by hand: 6 personas x 2 conditions x 2 repetitions, with grades that are easy to add."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tasks.evaluations.explication.materials import FAREWELL, RECOMMENDATION, RECOMMENDER, USER
from tasks.evaluations.explication.read import (
    FAILURES,
    GRADES,
    INSTRUCTIONS,
    KEYS,
    QUALITY,
    Conversations,
    Grades,
    conversations,
    grade_of,
    scaled,
)
from tasks.evaluations.explication.rows import model_rows, null_rows
from tasks.evaluations.explication.study import (
    FIXED,
    GENERIC,
    REAL,
    SHUFFLED,
    SILENT,
    ConversationKey,
    ExplicationStudy,
)
from tasks.judging.verdicts import UNANSWERED
from tasks.loop.dialogue import TURN_LIMIT, Dialogues, Talk, Turn
from tasks.loop.rows import Metric
from tests.evaluations.explication.conftest import SIX, study

EFFECT = dict(zip(SIX, (2.0, 1.0, 1.0, 1.0, 1.0, 0.0), strict=True))
"""Treatment less control of every repetition."""

Rows = Mapping[tuple[str, str, str], Metric]


def grades(value: float, interaction: float = 5.0, judges: Mapping[str, float] | None = None) -> Grades:
    """Return grades with this APR, from every judge or by judge."""

    def of(apr: float) -> dict[str, float]:
        three = dict.fromkeys(("cultural_depth", "constraint_awareness", "personalisation"), apr)
        return three | {"interaction": interaction} | dict.fromkeys(("format", "behaviour", "focus"), 4.0)

    return Grades(of(value), {name: of(apr) for name, apr in (judges or {"judge": value}).items()})


def recipe(dish: str) -> Turn:
    text = f"#Dish name: {dish}\n#Ingredients: rice, spinach\n#Instructions: boil"
    return Turn(RECOMMENDER, text, text, 5)


def talked(talk: Talk, ended_by: str, *turns: Turn) -> None:
    talk.turns, talk.ended_by = list(turns), ended_by


def question(text: str = "Do you follow a diet?") -> Turn:
    return Turn(RECOMMENDER, text, text, 5)


def user(text: str = "I eat early.") -> Turn:
    return Turn(USER, text, text, 5)


def stage_of(of: ExplicationStudy) -> Dialogues:
    """Return conversations of a question and a dish: Bibimbap for Aisha and Soon-ja, else an unknown one."""
    stage = Dialogues(of.dialogues())
    for key in of.real():
        dish = "Bibimbap" if key.persona in ("aisha-kano", "soonja-busan") else f"Porridge {key.persona}"
        talked(stage.talks[key], RECOMMENDATION, question(), user(), recipe(dish))
    return stage


def own_grades(of: ExplicationStudy) -> dict[ConversationKey, Grades]:
    """Return grades. Control: 3 for the first three personas, 5 for others; shuffled: 2 less; silent: 2."""
    made: dict[ConversationKey, Grades] = {}
    for key in of.real():
        value = 3.0 + 2 * (SIX.index(key.persona) > 2)
        value += EFFECT[key.persona] * (key.condition == "treatment")
        made[key] = grades(value)
        made[key._replace(source=SHUFFLED)] = grades(value - 2)
        made[of.silent(key)] = grades(2.0)
    return made


def shared_grades(of: ExplicationStudy) -> dict[ConversationKey, Grades]:
    """Return grades: generic recommendations 2.5; fixed questions 1 for the first persona, 4 for others."""
    return {
        ConversationKey(source, "breakfast", persona, "", 0): grades(
            2.5 if source == GENERIC else 1.0 if persona == SIX[0] else 4.0,
            1.5 if source == GENERIC else 3.0,
        )
        for persona in of.personas
        for source in (GENERIC, FIXED)
    }


def rows_of(chosen: Conversations, shared: Mapping[ConversationKey, Grades]) -> Rows:
    return {(row.metric, row.slice_kind, row.slice): row for row in model_rows(chosen, shared, "m")}


@pytest.fixture(scope="module", name="of")
def _of() -> ExplicationStudy:
    return study()


@pytest.fixture(scope="module", name="rows")
def _rows(of: ExplicationStudy) -> Rows:
    return rows_of(conversations(of, stage_of(of), own_grades(of)), shared_grades(of))


def test_hand_calculation_gives_means_by_slice(rows: Rows) -> None:
    # Control: (3 + 5) / 2; treatment: that and (2 + 4 x 1 + 0) / 6.
    assert rows["apr", "condition", "control"].value == pytest.approx(4.0)
    assert rows["apr", "condition", "treatment"].value == pytest.approx(5.0)
    assert rows["apr", "overall", "all"].value == pytest.approx(4.5)
    assert rows["apr", "persona_condition", "aisha-kano:treatment"].value == pytest.approx(5.0)
    assert (rows["apr", "overall", "all"].n_scored, rows["apr", "overall", "all"].n_unscored) == (24, 0)
    assert rows["interaction", "overall", "all"].value == 5.0
    assert rows["instruction_following", "overall", "all"].value == 4.0
    assert rows["apr", "persona_condition", "aisha-kano:control"].ci_low is None  # one persona
    points = rows["apr", "overall", "all"].points
    assert points is not None
    assert (points.n, len(points.units)) == (6, 24)  # the persona is resampled


def test_null_value_is_the_best_null_by_hand(rows: Rows, of: ExplicationStudy) -> None:
    # Shuffled 2 less than real, silent 2, generic 2.5, fixed (1 + 5 x 4) / 6 = 3.5.
    assert rows["apr", "condition", "control"].null_value == pytest.approx(3.5)
    assert rows["apr", "persona_condition", "aisha-kano:treatment"].null_value == pytest.approx(3.0)
    assert rows["interaction", "overall", "all"].null_value == pytest.approx(3.0)
    values = {source: rows["apr", "null", source] for source in (SHUFFLED, SILENT, GENERIC, FIXED)}
    assert [row.value for row in values.values()] == pytest.approx([2.5, 2.0, 2.5, 3.5])
    # Each persona counts once, its null conversation standing in for four real ones.
    assert {row.n_scored for row in values.values()} == {6}
    assert ("interaction", "null", SILENT) not in rows
    beside = {
        name: {row.metric: row.value for row in own} for name, own in null_rows(of, shared_grades(of)).items()
    }
    assert beside == {
        "null:generic": {"apr": pytest.approx(2.5), "interaction": pytest.approx(1.5)},
        "null:fixed": {"apr": pytest.approx(3.5), "interaction": pytest.approx(3.0)},
    }


def test_hand_calculation_gives_treatment_effect_and_p_over_personas(rows: Rows) -> None:
    effect = rows["treatment_effect", "metric", "apr"]
    assert effect.value == pytest.approx(1.0)
    # Of 2, 1, 1, 1, 1, 0: variance 2 / 5, so ± t(5) x sqrt(0.4 / 6) = 2.5706 x 0.2582.
    assert (effect.ci_low, effect.ci_high) == pytest.approx((0.3363, 1.6637), abs=1e-3)
    # Sums 4, 2, 2, 2, 2, 0: 2 of 64 orders of signs are as high, whatever the sign of 0; both sides.
    assert rows["treatment_p", "metric", "apr"].value == pytest.approx(4 / 64)
    assert rows["treatment_p", "metric", "apr"].n_scored == 12
    # APR is tested alone. Four other numbers over six personas have 4 x 2 / 64 at best.
    assert rows["treatment_p_holm", "metric", "apr"].value == pytest.approx(4 / 64)
    assert rows["treatment_p_holm", "metric", "questions"].unscored_reason == (
        "cannot reject with 6 personas: the smallest p adjusted for 4 tests is 0.12"
    )
    for name in ("interaction", "instruction_following", "facts_elicited", "questions"):
        assert rows["treatment_effect", "metric", name].value == 0.0
        assert rows["treatment_p", "metric", name].value == 1.0


def test_hand_calculation_gives_gain_over_shuffled_conversations(rows: Rows, of: ExplicationStudy) -> None:
    assert rows["apr_gain", "overall", "all"].value == pytest.approx(2.0)
    assert rows["apr_gain", "condition", "treatment"].value == pytest.approx(2.0)
    assert rows["tells_real_from_shuffled", "overall", "all"].value == 1.0  # 1 of 64 orders: under 2.5 %
    alike = own_grades(of)
    for key in of.real():  # one persona's gain changes sign: 2 of 64
        if key.persona == "leila-lyon":
            alike[key._replace(source=SHUFFLED)] = grades(grade_of(alike[key], "apr") + 0.1)
    less = rows_of(conversations(of, stage_of(of), alike), shared_grades(of))
    assert less["tells_real_from_shuffled", "overall", "all"].value == 0.0


def test_hand_calculation_gives_rows_of_recommended_dishes(rows: Rows) -> None:
    # Only Soon-ja's cuisine is Korean; she and Aisha get the dish four times each; porridge has no country.
    own = rows["own_cuisine", "overall", "all"]
    assert (own.value, own.null_value, own.n_scored, own.n_unscored) == (0.5, 0.5, 8, 16)
    assert own.unscored_reason is None
    # Bibimbap and four porridges, 24 times.
    assert rows["distinct_dishes", "overall", "all"].value == pytest.approx(5 / 24)
    assert rows["distinct_dishes", "condition", "control"].null_value == pytest.approx(1 / 12)
    assert rows["likeness_within", "overall", "all"].value == pytest.approx(1.0)
    # Seven words beside the dish's one or two: Bibimbap and a porridge share 7 of 10, two porridges 8 of 10.
    # Of 30 ordered pairs of personas 2 are of Bibimbap alone, 16 mixed, 12 of porridges.
    across = (2 + 16 * 7 / 10 + 12 * 8 / 10) / 30
    assert rows["likeness_across", "overall", "all"].value == pytest.approx(across)


def test_variance_shares_of_persona_repetition_and_judge(of: ExplicationStudy) -> None:
    stage = stage_of(of)
    only = {key: grades(5, 5, {"judge": 1.0 + SIX.index(key.persona)}) for key in of.real()}
    rows = rows_of(conversations(of, stage, only), {})
    shares = {
        part: rows["variance_share", "metric_part", f"apr:{part}"]
        for part in ("persona", "repetition", "judge")
    }
    assert shares["persona"].value == pytest.approx(1.0)
    assert shares["repetition"].value == pytest.approx(0.0)
    assert (shares["judge"].value, shares["judge"].unscored_reason) == (None, "one judge alone")
    still = {key: grades(5.0) for key in of.real()}
    nothing = rows_of(conversations(of, stage, still), {})["variance_share", "metric_part", "apr:persona"]
    assert (nothing.value, nothing.unscored_reason is None) == (None, False)


@pytest.fixture(scope="module", name="lost")
def _lost(of: ExplicationStudy) -> Rows:
    """24 conversations; four end by the turn limit, an empty user, a farewell, or not at all."""
    stage, made = stage_of(of), own_grades(of)
    first, silent, left, broken = (
        ConversationKey(REAL, "breakfast", persona, "treatment", 0) for persona in SIX[:4]
    )
    talked(stage.talks[first], TURN_LIMIT, question(), user(), question("And what about nuts?"))
    talked(stage.talks[silent], "empty answer", question(), user(""))
    talked(stage.talks[left], FAREWELL, question(), user("Thanks, bye!"))
    stage.talks[broken].turns, stage.talks[broken].ended_by = [question()], None
    for key in (first, silent, broken):
        del made[key], made[key._replace(source=SHUFFLED)]
    del made[left._replace(source=SHUFFLED)]
    made[left] = grades(1.0)
    return rows_of(conversations(of, stage, made), shared_grades(of))


def test_cut_and_unfinished_conversations_are_counted_as_unscored(lost: Rows) -> None:
    first = lost["apr", "persona_condition", "aisha-kano:treatment"]
    assert (first.value, first.n_scored, first.n_unscored) == (5.0, 1, 1)
    apr = lost["apr", "overall", "all"]
    # 108 in all, less the grades of the four: 5, 4, 6, and 4 of the one without a recommendation.
    assert (apr.n_scored, apr.n_unscored) == (20, 4)
    assert apr.value == pytest.approx((108 - 5 - 4 - 6 - 4) / 20)
    failed = lost["apr_if_left_failed", "overall", "all"]
    assert (failed.value, failed.n_scored) == (pytest.approx((108 - 5 - 4 - 6 - 4 + 1) / 21), 21)
    ends = {where: row.value for (name, _, where), row in lost.items() if name == "ended_by"}
    assert ends == {
        "control:recommendation": 1.0,
        "treatment:recommendation": pytest.approx(8 / 11),
        "treatment:turn limit": pytest.approx(1 / 11),
        "treatment:the simulated user: empty answer": pytest.approx(1 / 11),
        "treatment:farewell": pytest.approx(1 / 11),
    }
    assert lost["cut_short", "overall", "all"].value == pytest.approx(2 / 23)
    # 21 have an end.
    assert lost["recommended", "overall", "all"].value == pytest.approx(20 / 21)
    assert lost["recommended", "overall", "all"].n_unscored == 3
    # One question in each, two in the first.
    assert lost["questions", "overall", "all"].value == pytest.approx(24 / 23)


def test_effect_leaves_out_pairs_with_a_lost_conversation(lost: Rows) -> None:
    effect = lost["treatment_effect", "metric", "apr"]
    # Left: 2 once, 1 once, 1 once, 1 once, 1 twice, 0 twice.
    assert (effect.n_scored, effect.n_unscored) == (8, 4)
    assert effect.value == pytest.approx((2 + 1 + 1 + 1 + 1 + 1 + 0 + 0) / 8)


@pytest.mark.parametrize(
    ("lose", "reason"),
    [
        ("limit", "turn limit"),
        ("unfinished", "the conversation was not finished"),
        ("judge", UNANSWERED),
    ],
)
def test_missing_grades_are_unscored_with_the_reason(of: ExplicationStudy, lose: str, reason: str) -> None:
    stage = stage_of(of)
    for key in of.real():
        if lose == "limit":
            talked(stage.talks[key], TURN_LIMIT, question(), user(), question())
        elif lose == "unfinished":
            stage.talks[key].ended_by = None
    rows = rows_of(conversations(of, stage, {}), {})
    for name in ("apr", "interaction", "instruction_following"):
        assert rows[name, "overall", "all"].value is None
        assert rows[name, "overall", "all"].unscored_reason == reason
    assert rows["apr_gain", "overall", "all"].unscored_reason == reason
    assert rows["treatment_p", "metric", "apr"].unscored_reason == reason
    of_words = rows["facts_used", "overall", "all"]
    assert of_words.unscored_reason == (None if lose == "judge" else reason)


def test_five_personas_or_one_condition_have_no_test() -> None:
    few = study(personas=SIX[:5])
    rows = rows_of(conversations(few, stage_of(few), own_grades(few)), {})
    assert "fewer than 6 personas" in str(rows["treatment_p", "metric", "apr"].unscored_reason)
    assert rows["tells_real_from_shuffled", "overall", "all"].value is None
    assert rows["treatment_effect", "metric", "apr"].value == pytest.approx(6 / 5)
    one = study(conditions=["control"])
    alone = rows_of(conversations(one, stage_of(one), own_grades(one)), {})
    assert alone["treatment_effect", "metric", "apr"].unscored_reason == "there is only one condition"


APR = QUALITY[:3]


def test_grades_have_the_scales_of_the_paper_and_their_rubrics() -> None:
    for rubric, names in KEYS.items():
        assert {GRADES[name] for name in names} == {(scaled(rubric, 0.0), scaled(rubric, 1.0))}
    assert (
        dict.fromkeys(("apr", *QUALITY, "overall_appropriateness"), (1.0, 10.0))
        | dict.fromkeys(("instruction_following", *INSTRUCTIONS), (1.0, 5.0))
        | dict.fromkeys(FAILURES, (0.0, 1.0))
        | {"overall_instruction_following": (1.0, 5.0)}
    ) == GRADES


@pytest.fixture(scope="module")
def pair() -> ExplicationStudy:
    return study(personas=["aisha-kano", "jonas-lulea"])


def grade(value: float) -> Grades:
    return Grades(dict.fromkeys(APR, value), {}, "")


def test_null_grades_of_a_study_hold_for_all_conditions_and_repetitions(pair: ExplicationStudy) -> None:
    keys = tuple(pair.real())
    chosen = Conversations(pair, keys, (), (), {})
    shared = {
        key._replace(source=source, condition="", repetition=0): grade(2.0 + (source == FIXED))
        for key in keys
        for source in (GENERIC, FIXED)
    }
    for source, value in ((GENERIC, 2.0), (FIXED, 3.0)):
        np.testing.assert_array_equal(chosen.null_grades(shared, source, "apr"), [value] * len(keys))
    other = {key._replace(repetition=1): own for key, own in shared.items()}
    assert np.isnan(chosen.null_grades(other, GENERIC, "apr")).all()
    of_one = {key: own for key, own in shared.items() if key.persona == keys[0].persona}
    known = ~np.isnan(chosen.null_grades(of_one, GENERIC, "apr"))
    assert known.tolist() == [key.persona == keys[0].persona for key in keys]


def test_null_grades_of_a_model_are_its_own_conversations(pair: ExplicationStudy) -> None:
    keys: tuple[ConversationKey, ...] = tuple(reversed(tuple(pair.real())))[1:]
    own = {
        key._replace(source=source): grade(float(place + 10 * (source == SILENT)))
        for place, key in enumerate(keys)
        for source in (SHUFFLED, SILENT)
    }
    chosen = Conversations(pair, keys, (), (), own)
    np.testing.assert_array_equal(chosen.null_grades({}, SHUFFLED, "apr"), range(len(keys)))
    np.testing.assert_array_equal(chosen.null_grades({}, SILENT, "apr"), np.arange(len(keys)) + 10.0)
    assert np.isnan(chosen.null_grades(own, GENERIC, "apr")).all()
