"""Numbers of the eight items by hand: accuracy, nulls, differences, difficulty, settings, judges' check."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.evaluations.culturall import rows as made
from tasks.evaluations.culturall.items import load_items
from tasks.evaluations.culturall.read import calls, checks
from tasks.evaluations.culturall.rows import (
    CulturallScores,
    NamedSetting,
    another_answer,
    check_rows,
    constant_letter,
    guessing,
    levels,
    model_rows,
    null_rows,
    published_levels,
    setting,
)
from tasks.evaluations.culturall.study import CulturallStudy
from tasks.judging.panel import Call
from tasks.judging.verdicts import UNANSWERED
from tasks.loop.rows import Metric
from tests.evaluations.culturall.conftest import ROWS, MakeStudy, completion, row, scored, verdict

GOLD = {"a1": "24", "a2": "7", "a3": "B", "a4": "30 pesos", "b1": "B", "b2": "C", "b3": "9", "b4": "9"}


def answered(study: CulturallStudy, *right: str, **by_condition: tuple[str, ...]) -> CulturallScores:
    """Return scores of a model that is right on these items, by condition; positional ones are for native."""
    known = {"native": right, **by_condition}
    texts = {
        (c, item): GOLD[item] if item in known.get(c, ()) else ("A" if GOLD[item] in "BC" else "99")
        for c in study.conditions
        for item in GOLD
    }
    return scored(study, texts)


def find(of: list[Metric], metric: str, kind: str = "overall", where: str = "all") -> Metric:
    (one,) = (r for r in of if (r.metric, r.slice_kind, r.slice) == (metric, kind, where))
    return one


def test_hand_calculation_gives_accuracy_by_slice(make_study: MakeStudy) -> None:
    study = make_study(conditions=["native"])
    of = model_rows(study, "m", "m", {"m": answered(study, "a1", "a3", "b1", "b2")}, [])
    assert find(of, "accuracy")[3:7] == (0.5, None, 8, 0)
    assert find(of, "accuracy").ci_low is None  # three regions: too few clusters
    expected = {
        ("language", "es"): 0.5, ("language", "ja"): 0.5, ("region", "MX"): 0.5, ("region", "PE"): 0.5,
        ("region", "JP"): 0.5, ("topic", "Food"): 3 / 6, ("topic", "Pets"): 1 / 2, ("form", "free"): 1 / 5,
        ("form", "choice"): 1.0,
    }  # fmt: skip
    for where, value in expected.items():
        assert find(of, "accuracy", *where).value == pytest.approx(value), where
    # All items are of one region, so each is a cluster: Clopper and Pearson's interval of 2 of 4.
    assert find(of, "accuracy", "language", "ja").ci_low == pytest.approx(0.0676, abs=1e-4)
    assert find(of, "accuracy", "language", "es").ci_low is None
    assert find(of, "coverage").value == 1.0


def test_hand_calculation_gives_guessing() -> None:
    items = load_items(ROWS, "t").items
    nan = np.nan
    # B is the right letter of two of the three choice items.
    np.testing.assert_array_equal(constant_letter(items), [nan, nan, 1, nan, 1, 0, nan, nan])
    # The free answers of Spanish are all different; both of Japanese are 9.
    np.testing.assert_array_equal(another_answer(items), [0, 0, nan, 0, nan, nan, 1, 1])
    assert guessing(items).tolist() == [0, 0, 1, 0, 1, 0, 1, 1]
    accepts = load_items([ROWS[0], ROWS[1] | {"variants": "24"}], "t").items
    assert another_answer(accepts).tolist() == [0, 1]


def test_hand_calculation_gives_null_models_and_null_values(make_study: MakeStudy) -> None:
    study = make_study(conditions=["native"])
    nulls = null_rows(study)
    constant = nulls["null:constant-letter"]
    assert find(constant, "accuracy")[4:7] == (None, 3, 5)
    assert find(constant, "accuracy").value == pytest.approx(2 / 3)
    assert find(constant, "accuracy", "form", "free").unscored_reason == "no item of this answer form"
    assert find(nulls["null:other-answer"], "accuracy").value == pytest.approx(2 / 5)
    of = model_rows(study, "m", "m", {"m": answered(study)}, [])
    assert find(of, "accuracy").null_value == pytest.approx(4 / 8)
    assert find(of, "accuracy", "language", "ja").null_value == pytest.approx(3 / 4)


def test_hand_calculation_gives_gains_between_conditions(make_study: MakeStudy) -> None:
    study = make_study()
    own = answered(study, "a1", "a2", "b1", "b2", english=("a1",), question=("b1", "b2", "b3"))
    of = model_rows(study, "m", "m", {"m": own}, [])
    assert find(of, "english_gain")[3:7] == (-3 / 8, None, 8, 0)
    assert find(of, "scenario_gain").value == 1 / 8
    assert find(of, "scenario_gain", "region", "MX").value == 1.0
    assert find(of, "accuracy_english").value == 1 / 8
    assert find(of, "accuracy_matched_question").value == 3 / 8
    assert find(of, "english_gain").null_value == 0.0


def test_lost_answers_are_wrong_and_missing_ones_unscored(make_study: MakeStudy) -> None:
    study = make_study(conditions=["native"])
    texts = {("native", item): completion(text) for item, text in GOLD.items()}
    texts["native", "a1"] = completion("No.", "refusal")
    texts["native", "b1"] = completion("Well, it", "length")
    del texts["native", "b2"]
    of = model_rows(study, "m", "m", {"m": scored(study, texts)}, [])
    assert find(of, "accuracy").value == pytest.approx(5 / 7)
    assert find(of, "accuracy")[4:7] == (None, 7, 1)
    assert find(of, "accuracy_matched").value == pytest.approx(5 / 7)
    assert find(of, "accuracy_answered")[3:7] == (1.0, None, 5, 3)
    assert find(of, "coverage").value == 5 / 8
    assert find(of, "unanswered", "reason", "refused").value == 1 / 8
    assert find(of, "accuracy", "topic", "Pets")[3:7] == (1.0, None, 1, 1)
    # In Japanese, b1 was cut off and b2 has no answer.
    assert find(of, "accuracy", "language", "ja")[3:7] == (2 / 3, None, 3, 1)


def test_lost_answer_never_raises_accuracy(make_study: MakeStudy) -> None:
    study = make_study("j", conditions=["native"])

    def accuracy(lost: dict[str, str]) -> float | None:
        texts = {
            ("native", item): completion("" if why == "empty" else "99", why)
            for item in GOLD
            for why in [lost.get(item, "stop")]
        }
        of = scored(study, texts, lambda call: "CORRECT" if call.item in ("a1", "b1") else "INCORRECT")
        return find(model_rows(study, "m", "m", {"m": of}, []), "accuracy").value

    assert accuracy({}) == 2 / 8
    for why in ("refusal", "content_filter", "length", "empty"):
        assert accuracy({"b2": why}) == 2 / 8, why
        assert accuracy({"a1": why}) == 1 / 8, why


def test_english_gain_leaves_out_english_items(make_study: MakeStudy) -> None:
    rows = [*ROWS, *(row(f"e{n}", "en", "GB", "24") for n in range(8))]
    study = make_study(rows=rows, conditions=["native", "english"])
    texts = {(c, item.item): item.native.answer for c in study.conditions for item in study.items}
    texts |= {("native", "a1"): "99", ("native", "b1"): "A"}
    of = model_rows(study, "m", "m", {"m": scored(study, texts)}, [])
    assert find(of, "english_gain")[3:7] == (2 / 8, None, 8, 0)
    assert find(of, "english_gain", "region", "GB")[3:7] == (None, made.IN_ENGLISH, 0, 8)


def test_english_gain_by_match_needs_variants_in_english(make_study: MakeStudy) -> None:
    rows = [{name: cell for name, cell in row.items() if name != "variants_en"} for row in ROWS]

    def gain(*judges: str) -> Metric:
        study = make_study(*judges, rows=rows, conditions=["native", "english"])
        texts = {(c, item.item): item.native.answer for c in study.conditions for item in study.items}
        scores = scored(study, texts, (lambda _: "CORRECT") if judges else None)
        return find(model_rows(study, "m", "m", {"m": scores}, []), "english_gain")

    assert gain()[3:7] == (None, made.NO_ENGLISH_VARIANTS, 0, 8)
    assert gain("j")[3:7] == (0.0, None, 8, 0)


def test_accuracy_is_judged_where_there_are_judges(make_study: MakeStudy) -> None:
    study = make_study("j", conditions=["native"])
    texts = {("native", item): text for item, text in GOLD.items()}

    def judge(call: Call) -> str:
        return "?" if call.item == "a2" else "INCORRECT" if call.item[0] == "a" else "CORRECT"

    of = model_rows(study, "m", "model-j", {"m": scored(study, texts, judge)}, [])
    assert find(of, "accuracy")[4:7] == (None, 7, 1)
    assert find(of, "accuracy").value == pytest.approx(4 / 7)
    assert find(of, "accuracy_matched")[3:7] == (1.0, None, 8, 0)
    assert find(of, "judge_match_agreement")[4:7] == (None, 7, 1)
    assert find(of, "judge_match_agreement").value == pytest.approx(4 / 7)
    assert find(of, "self_preference_warning").value == 1.0
    # Without any verdict, cut-off answers alone would be an accuracy of 0.
    cut = completion("It is", "length")
    lost = model_rows(study, "m", "m", {"m": scored(study, texts | {("native", "a1"): cut})}, [])
    assert find(lost, "accuracy")[3:7] == (None, UNANSWERED, 0, 8)
    assert find(lost, "accuracy", "region", "MX").unscored_reason == UNANSWERED
    assert find(lost, "accuracy_matched")[3:7] == (7 / 8, None, 8, 0)
    every = scored(study, dict.fromkeys(texts, cut))
    assert find(model_rows(study, "m", "m", {"m": every}, []), "accuracy").value == 0.0


def test_hand_calculation_gives_difficulty_levels() -> None:
    solved = np.array([[1, 1, 0, np.nan], [1, 0, 0, 1], [1, 0, 0, 1]], dtype=np.float64)
    assert levels(solved).tolist() == ["easy", "medium", "hard", ""]
    fifteen = np.array([[float(model < n) for n in (10, 9, 5, 4)] for model in range(15)])
    assert levels(fifteen).tolist() == ["easy", "medium", "medium", "hard"]
    items = load_items([row(f"i{n}", "es", "MX", str(n), eval_sum=n) for n in (4, 5, 9)], "t").items
    assert published_levels(items).tolist() == ["hard", "medium", "medium"]  # type: ignore[union-attr]
    assert published_levels(load_items(ROWS, "t").items) is None


def test_difficulty_is_defined_by_other_models(make_study: MakeStudy) -> None:
    study = make_study(conditions=["native"])
    # Two of the three other models solve b1 (easy), one solves b2 (medium), none the rest (hard).
    others = {"x": ("b1", "b2"), "y": ("b1",), "z": ()}
    every = {name: answered(study, *right) for name, right in others.items()}
    of = model_rows(study, "m", "m", every | {"m": answered(study, "b1", "a1", "a2", "a3")}, ["x", "y", "z"])
    assert find(of, "accuracy", "difficulty", "easy")[3:7] == (1.0, None, 1, 0)
    assert find(of, "accuracy", "difficulty", "medium")[3:7] == (0.0, None, 1, 0)
    assert find(of, "accuracy", "difficulty", "hard")[3:7] == (0.5, None, 6, 0)
    few = model_rows(study, "x", "m", every, ["y", "z"])
    assert find(few, "accuracy", "difficulty", "easy").unscored_reason == made.TOO_FEW_MODELS


def test_settings_of_one_model_are_compared_by_hand(make_study: MakeStudy) -> None:
    study = make_study(conditions=["native"])
    every = {
        "gem_auto_true": answered(study, "a1", "a2", "a3"),
        "gem_auto_false": answered(study, "a1", "a2"),
        "gem_128_true": answered(study, "a1"),
        "other_auto_false": answered(study),
    }
    best = model_rows(study, "gem_auto_true", "gem", every, [])
    assert find(best, "web_gain", "model_pair", "gem_auto_false")[3:7] == (1 / 8, None, 8, 0)
    assert find(best, "reasoning_gain", "model_pair", "gem_128_true").value == 2 / 8
    rest = [r for name in list(every)[1:] for r in model_rows(study, name, "gem", every, [])]
    assert not [r for r in rest if r.slice_kind == "model_pair"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt-5_high_false", NamedSetting("gpt-5", "high", False)),
        ("a_b_128_true", NamedSetting("a_b", "128", True)),
        ("gpt-5", None),
        ("smol_very_true", None),
        ("null:constant-letter", None),
    ],
)
def test_setting_is_read_from_a_models_name(name: str, expected: NamedSetting | None) -> None:
    assert setting(name) == expected


def test_judge_check_has_rows_by_judge_and_language(make_study: MakeStudy) -> None:
    study = make_study("j", "k")
    about = checks(study)
    truth = {call.prompt.id: verdict("CORRECT" if call.source == "gold" else "INCORRECT") for call in about}
    lenient = {call.prompt.id: verdict("CORRECT") for call in about}
    verdicts = {"j": truth, "k": lenient}
    of = check_rows(study, study.panel.read(about, lambda request: verdicts[request.engine]))
    for kind, where in (("judge", "j"), ("judge_language", "j:es"), ("judge_language", "j:ja")):
        assert find(of, "judge_gold_accepted", kind, where).value == 1.0
        assert find(of, "judge_empty_refused", kind, where).value == 1.0
    assert find(of, "judge_shuffled_refused", "judge_language", "j:es")[3:7] == (1.0, None, 3, 0)
    assert find(of, "judge_shuffled_refused", "judge_language", "j:ja").value is None
    assert find(of, "judge_empty_refused", "judge", "k").value == 0.0
    silent = check_rows(study, study.panel.read(about, lambda _: {}))
    assert find(silent, "judge_gold_accepted", "judge", "j").unscored_reason == UNANSWERED


def test_order_of_items_changes_no_number(make_study: MakeStudy) -> None:
    studies = [make_study(conditions=["native"]), make_study(rows=ROWS[::-1], conditions=["native"])]
    one, other = (model_rows(study, "m", "m", {"m": answered(study, "a1", "b3")}, []) for study in studies)
    assert one == other
    assert not calls(studies[0], {("native", "a1"): completion("24")})  # there is no judge


def test_an_answer_that_is_not_read_is_unscored_and_its_bounds_are_shown(make_study: MakeStudy) -> None:
    """Prose in place of a wrong answer lifts the share of those read; the interval then begins below it."""
    rows = [row(f"a{n:02d}", "ja", "JP", "24") for n in range(20)]
    study = make_study(rows=rows, conditions=["native"])

    def of(*texts: str) -> list[Metric]:
        answers = dict(zip((("native", item.item) for item in study.items), texts, strict=True))
        return model_rows(study, "m", "m", {"m": scored(study, answers)}, [])

    plain = find(of(*["24"] * 10, *["25"] * 10), "accuracy")
    prose = of(*["24"] * 10, *["25"] * 6, *["24, or perhaps 25."] * 4)
    unread = find(prose, "accuracy")
    assert (plain.value, unread.value, unread[5:7]) == (0.5, 10 / 16, (16, 4))
    assert find(prose, "accuracy_matched")[3:7] == unread[3:7]
    assert (find(prose, "accuracy_matched_low").value, find(prose, "accuracy_matched_high").value) == (
        0.5,
        0.7,
    )
    assert find(prose, "match_read").value == 16 / 20
    assert unread.ci_low == plain.ci_low == find(prose, "accuracy_matched_low").ci_low
    assert unread.ci_high == find(prose, "accuracy_matched_high").ci_high
    half = find(of(*["24"] * 9, *["I would say 24 rather than 25."] * 11), "accuracy")
    assert half[3:7] == (None, "more than half of the answers are not read by the matcher (11 of 20)", 0, 20)
    assert find(of(*["24"] * 9, *["no idea"] * 11), "accuracy").value == 9 / 20
