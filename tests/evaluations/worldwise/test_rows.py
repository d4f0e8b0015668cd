"""All rows of a model: complete when answers are missing, and independent of order."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.evaluations.worldwise.model_rows import cross_model_rows, model_rows
from tasks.evaluations.worldwise.rows import LONE, null_models, null_rows
from tasks.evaluations.worldwise.study import Key, WorldwiseStudy
from tasks.loop.prompts import Completion
from tasks.loop.replies import NO_ANSWER
from tasks.loop.rows import Metric
from tests.evaluations.row_checks import check, keys, metrics, one
from tests.evaluations.worldwise.conftest import MakeStudy, completion, placed_at, scored, space_of, tables

SHAPES: dict[str, dict[str, Any]] = {
    "all": {"repetitions": 2},
    "one repetition": {},
    "one culture": {"cultures": ["Japan"], "repetitions": 2},
    "two cultures": {"cultures": ["Japan", "Mexico"]},
    "one scenario a dimension": {"scenarios_per_dimension": 1},
    "one scenario": {"repetitions": 2},
}


def rows_of(study: WorldwiseStudy, completed: Mapping[Key, Completion]) -> list[Metric]:
    answers, space = scored(study, completed), space_of(study)
    rows = model_rows(study, space, answers)
    check([*rows, *cross_model_rows(study, {"m": answers.alignment})["m"]])
    return rows


def any_answers(study: WorldwiseStudy) -> dict[Key, Completion]:
    """Return answers that depend only on the sample."""
    made = {}
    for sample in study.samples:
        draw = random.Random(repr(sample.key))
        at = [round(draw.uniform(-1.4, 1.4), 2) for _ in range(3)]
        values = draw.sample(study.content.labels, 3)
        made[sample.key] = completion(f"So at {tuple(at)}", draw.choice(["A", "B", "Decline"]), values)
    return made


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_are_well_formed_for_every_shape_of_study(make_study: MakeStudy, shape: str) -> None:
    rows = tables()
    if shape == "one scenario":
        rows["scenario"] = rows["scenario"][:1]
    study = make_study(rows, **SHAPES[shape])
    made = rows_of(study, any_answers(study))
    assert one(made, "alignment").value is not None
    if shape == "one scenario":
        assert all(r.ci_low is None for r in made)
    for null in null_models(study, space_of(study)).values():
        check(null_rows(study, space_of(study), null))


def test_one_culture_has_no_shuffled_null_and_one_answer_no_spread(make_study: MakeStudy) -> None:
    study = make_study(cultures=["Japan"])
    rows = rows_of(study, placed_at(study))
    assert one(rows, "alignment", "shuffled").unscored_reason == "shuffling personas needs two cultures"
    # With one culture, the mean target is its target.
    assert one(rows, "alignment", "global_mean").value == 10.0
    assert one(rows, "alignment_gain").value == pytest.approx(9.25 - 10)
    single = make_study(cultures=["Japan"], scenarios_per_dimension=1)
    rows = rows_of(single, placed_at(single))
    scenario = single.content.scenarios[0].scenario
    for row in (one(rows, "alignment_sd", scenario), one(rows, "hofstede_error_sd", "individualism")):
        assert row.unscored_reason == LONE
        assert row.null_value is None


def test_refused_answers_leave_every_row_unscored_with_the_commonest_reason(make_study: MakeStudy) -> None:
    study = make_study(repetitions=2, unread="unscored")
    full = rows_of(study, any_answers(study))
    refusing = {sample.key: Completion("", "refusal", 9, 1) for sample in study.samples}
    rows = rows_of(study, refusing)
    assert set(keys(full)) <= set(keys(rows))
    added = set(keys(rows)) - set(keys(full))
    assert added == {("unscored_answers", "reason", "refused")}
    counts = {"answered", "unscored_answers", "total_tokens"}
    assert all(r.value is None for r in rows if r.metric not in counts)
    for metric, name in (("alignment", "IN"), ("alignment_gain", "all"), ("baseline_distance", "IN"),
                         ("value_share", "IN:group_loyalty")):  # fmt: skip
        assert one(rows, metric, name).unscored_reason == "refused"
    # The commonest reason is given, whatever their order in code points.
    single = make_study(unread="unscored")
    refusing = {sample.key: Completion("", "refusal", 9, 1) for sample in single.samples}
    cut = Completion("{", "length", 9, 1)
    refusing |= {("IN", "i1", 0): cut, ("MX", "i1", 0): cut, ("MX", "i2", 0): cut}
    rows = rows_of(single, refusing)
    assert one(rows, "alignment", "IN").unscored_reason == "refused"
    assert one(rows, "alignment", "MX").unscored_reason == "cut off at max_tokens"


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), share=st.floats(0.05, 1.0), shape=st.sampled_from(["all", "two cultures"]))
def test_lost_answers_never_raise_alignment_or_its_gain(
    make_study: MakeStudy, seed: int, share: float, shape: str
) -> None:
    """Whichever answers are refused, cut off or unreadable, with and without a persona."""
    study, draw = make_study(**SHAPES[shape]), random.Random(seed)
    answers = {
        sample.key: completion(f"So at {tuple(round(draw.uniform(-1.9, 1.9), 2) for _ in range(3))}")
        for sample in study.samples
    }
    lost = [
        Completion("", "refusal", 1, 1),
        Completion("{", "length", 1, 1),
        Completion("Well.", "stop", 1, 1),
    ]
    fewer = {key: draw.choice(lost) if draw.random() < share else own for key, own in answers.items()}
    before, after = (null_rows(study, space_of(study), scored(study, each)) for each in (answers, fewer))
    for metric in ("alignment", "alignment_gain"):
        old, new = one(before, metric).value, one(after, metric).value
        assert old is not None
        assert new is not None
        assert new <= old + 1e-9
    assert one(after, "alignment").n_scored == one(before, "alignment").n_scored
    if all(own in lost for own in fewer.values()):
        assert one(after, "alignment").value == 0


def test_missing_baseline_leaves_alignment_scored(make_study: MakeStudy) -> None:
    study = make_study()
    full = rows_of(study, placed_at(study))
    rows = rows_of(study, {k: v for k, v in placed_at(study).items() if k[0] != "baseline"})
    assert keys([r for r in rows if r.metric != "unscored_answers"]) == keys(full)
    for metric in ("alignment", "alignment_gain", "hofstede_mae", "culture_anova_f"):
        assert one(rows, metric) == one(full, metric)
    reason = "no scored answer without a persona to compare with"
    assert one(rows, "alignment", "unprompted").unscored_reason == reason
    assert one(rows, "alignment_gain", "unprompted").unscored_reason == reason
    assert one(rows, "baseline_distance", "IN").unscored_reason == NO_ANSWER
    assert one(rows, "projection", "baseline:individualism").unscored_reason == NO_ANSWER


def test_gain_is_computed_if_answer_and_null_are_scored(make_study: MakeStudy) -> None:
    """The best null is the unprompted answer, and one unprompted answer is missing."""
    study = make_study()
    on_target = dict(zip(("i1", "i2", "p1", "p2"), study.content.targets[1], strict=True))  # IN's
    completed = {}
    for sample in study.samples:
        at = (on_target[sample.key[1]],) * 2 if sample.key[0] in ("IN", "baseline") else None
        if at:
            completed[sample.key] = completion(f"So at ({min(at[0], 1.5)}, {min(at[1], 1.5)}, 0)")
    del completed["baseline", "p2", 0]
    rows = rows_of(study, completed)
    assert one(rows, "alignment", "unprompted").value == pytest.approx(10)
    gain = one(rows, "alignment_gain", "IN")
    assert (gain.n_scored, gain.n_unscored) == (3, 1)
    assert gain.value == pytest.approx(0)
    assert (one(rows, "alignment", "IN").n_scored, one(rows, "alignment", "IN").n_unscored) == (4, 0)
    assert one(rows, "alignment_gain", "JP").unscored_reason == NO_ANSWER


@settings(max_examples=10, deadline=None)
@given(st.randoms(use_true_random=False), st.sets(st.integers(0, 31), max_size=12))
def test_order_changes_no_row(make_study: MakeStudy, shuffle: random.Random, missing: set[int]) -> None:
    study = make_study(repetitions=2)
    answers = [pair for i, pair in enumerate(any_answers(study).items()) if i not in missing]
    rows = rows_of(study, dict(answers))
    shuffle.shuffle(answers)
    mixed = tables()
    for name in mixed.keys() - {"guiding_value"}:
        shuffle.shuffle(mixed[name])
    assert rows_of(make_study(mixed, repetitions=2), dict(answers)) == rows


def test_rows_have_exactly_the_metrics_of_the_catalogue(make_study: MakeStudy) -> None:
    study = make_study(stereotype_rule="words")
    completed = any_answers(study)
    completed["IN", "i1", 0] = Completion(json.dumps({}), "stop", 1, 1)
    rows = rows_of(study, completed)
    own = scored(study, completed).alignment
    rows += cross_model_rows(study, {"m": own, "n": own})["m"]
    assert {r.metric for r in rows} == set(metrics("worldwise"))
