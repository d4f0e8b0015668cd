"""Golden numbers of every kind of row, with their arithmetic."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tasks.evaluations.cure.published import NO_SYMBOL
from tasks.evaluations.cure.read import (
    OFF_MENU,
    ExplanationJudgeCall,
    judge_calls,
    read_answers,
    replies,
    score_model,
)
from tasks.evaluations.cure.rows import MAJORITY, PRIOR, model_rows, null_rows
from tasks.evaluations.cure.study import CureStudy, Key
from tasks.loop.prompts import Completion
from tasks.loop.rows import Metric
from tests.evaluations.cure.conftest import (
    COUNTRIES,
    Judging,
    MakeStudy,
    completion,
    judge,
    opinions_of,
    real_only,
    right_answers,
    row,
    samples_of,
    scored,
    tables,
)
from tests.evaluations.row_checks import check, one

# Gold: IN yes, JP no, MX neutral, KE yes, BR yes, FR no.
THIN = {"IN": "yes", "JP": "yes", "MX": "neutral", "KE": "no", "BR": "yes", "FR": "maybe"}
THICK = {"IN": "yes", "JP": "no", "MX": "yes", "KE": "yes", "BR": "maybe", "FR": "no"}
REAL = {"IN": 0.8, "JP": 0.6, "MX": 0.2, "KE": 0.4, "BR": 0.9, "FR": 0.7}


@pytest.fixture(scope="module")
def study(make_study: MakeStudy) -> CureStudy:
    return make_study()


def answered(study: CureStudy) -> dict[Key, Completion]:
    """Return answers: NormAd's as above, right ones on the other benchmarks."""
    completions = right_answers(study)
    for mode, labels in (("thin", THIN), ("thick", THICK)):
        for sample in samples_of(study, "normad", mode):
            label = labels[str(sample.item.country)]
            completions[sample.key] = completion(label, f"Because of {sample.item.item}.")
    return completions


def judged(call: ExplanationJudgeCall) -> float:
    """Return scores: NormAd's real explanations as above, its nulls 0.1, 0.3 and 0.05; else ``real_only``."""
    if call.item.benchmark != "normad":
        return real_only(call)
    nulls = {"shuffled": 0.1, "generic": 0.3, "empty": 0.05}
    return nulls[call.source] if call.source in nulls else REAL[str(call.item.country)]


def rows_of(
    study: CureStudy, completions: Mapping[Key, Completion], judging: Judging, candidate: str = "other/Model"
) -> list[Metric]:
    alone = {"m": scored(study, completions, judging)}
    return model_rows(study, alone, {"m": candidate})["m"]


@pytest.fixture(scope="module")
def rows(study: CureStudy) -> list[Metric]:
    table = rows_of(study, answered(study), judged)
    check(table)
    return table


def test_hand_calculation_gives_label_rows(rows: list[Metric]) -> None:
    # Thin: FR is lost, so wrong; of IN JP MX KE BR three are right: 3 / 6. Always yes: IN, KE, BR, so 3 / 6.
    em = one(rows, "exact_match", "normad:thin")
    assert (em.value, em.null_value, em.n_scored, em.n_unscored) == (0.5, 0.5, 6, 0)
    # Three hits, six gold labels, five labels in answers.
    assert one(rows, "f1_micro", "normad:thin").value == pytest.approx(2 * 3 / (6 + 5))
    # F1: yes 2 * 2 / (2 * 2 + 1 + 1) = 2/3 (JP wrongly, KE missed), no 0, neutral 1; mean 5/9.
    # Always yes: 2 * 0.5 / 1.5 = 2/3 for yes, 0 for the two others; mean 2/9.
    f1 = one(rows, "f1_macro", "normad:thin")
    assert (f1.value, f1.null_value) == (pytest.approx(5 / 9), pytest.approx(2 / 9))
    # Thick: BR is lost; IN JP KE FR are right, MX is not.
    assert one(rows, "exact_match", "normad:thick").value == pytest.approx(4 / 6)
    # Three yes, two no, one neutral of six: (9 + 4 + 1) / 36.
    assert one(rows, "exact_match_prior", "normad:thin").value == pytest.approx(14 / 36)
    kenya, france = (one(rows, "exact_match", f"normad:thin:{country}") for country in ("KE", "FR"))
    assert (kenya.slice_kind, kenya.value, kenya.null_value) == ("benchmark_mode_country", 0.0, 1.0)
    assert (france.value, france.unscored_reason, france.null_value) == (0.0, None, 0.0)
    # Thin, by country: 1 0 1 0 1 0. Quartiles 0 and 1, variance 6 * 0.25 / 5.
    iqr, variance = (one(rows, f"exact_match_{name}", "normad:thin") for name in ("iqr", "variance"))
    assert (iqr.value, variance.value) == (pytest.approx(1.0), pytest.approx(0.3))
    assert (iqr.n_scored, iqr.n_unscored) == (6, 0)
    assert one(rows, "answered", "normad:thin").value == pytest.approx(5 / 6)
    reason = one(rows, "unscored_answers", f"normad:thin:{OFF_MENU}")
    assert (reason.value, reason.slice_kind) == (1.0, "benchmark_reason")


def test_hand_calculation_gives_thin_thick_difference(rows: list[Metric]) -> None:
    # IN JP MX KE BR FR: thin 1 0 1 0 1 0, thick 1 1 0 1 0 1: differences 0 1 -1 1 -1 1, mean 1/6.
    difference = one(rows, "thin_thick_difference", "normad")
    assert (difference.value, difference.n_scored, difference.n_unscored) == (pytest.approx(1 / 6), 6, 0)
    # Two right in thin alone, three in thick alone: two-sided binomial of 2 in 5 at 1/2 is 1.
    assert one(rows, "thin_thick_p", "normad").value == pytest.approx(1.0)
    assert one(rows, "thin_thick_difference", "casa").value == 0.0


def test_hand_calculation_gives_explanation_metric_and_its_nulls(rows: list[Metric]) -> None:
    # (0.8 + 0.6 + 0.2 + 0.4 + 0.9 + 0.7) / 6 = 0.6; the generic one is the best null.
    coverage = one(rows, "coverage", "normad")
    assert (coverage.value, coverage.null_value) == (pytest.approx(0.6), pytest.approx(0.3))
    assert one(rows, "coverage", "normad:MX").value == pytest.approx(0.2)
    assert one(rows, "coverage", "normad:MX").slice_kind == "benchmark_country"
    nulls = [one(rows, "coverage", f"normad:{name}").value for name in ("shuffled", "generic", "empty")]
    assert nulls == pytest.approx([0.1, 0.3, 0.05])
    assert one(rows, "coverage", "normad:empty").slice_kind == "null"


def test_hand_calculation_gives_gain_over_shuffled_explanations(rows: list[Metric], study: CureStudy) -> None:
    # Gains 0.7 0.5 0.1 0.3 0.8 0.6: mean 0.5, all above 0: of 64 flips of signs none reaches as far.
    gain = one(rows, "explanation_gain", "normad")
    assert (gain.value, gain.null_value) == (pytest.approx(0.5), 0.0)
    assert gain.ci_low is not None
    assert gain.ci_low > 0
    assert one(rows, "tells_real_from_shuffled", "normad").value == 1.0
    # The judge's score depends only on the item: every gain is 0, and nothing varies.
    blind = rows_of(study, right_answers(study), lambda call: REAL[str(call.item.country)])
    gain = one(blind, "explanation_gain", "normad")
    assert (gain.value, gain.ci_low, gain.ci_high) == (0.0, None, None)
    assert one(blind, "tells_real_from_shuffled", "normad").value == 0.0
    assert one(blind, "coverage", "normad").value == one(blind, "coverage", "normad").null_value


def test_hand_calculation_gives_refused_nulls_of_each_judge(make_study: MakeStudy) -> None:
    """Judge j accepts NormAd's generic explanation where the item is from IN, JP or MX, judge k always."""
    study = make_study(benchmarks=["normad", "specnorm"], judges=[judge("j"), judge("k", "Qwen/Qwen3-8B")])
    readings = read_answers(study, right_answers(study))
    calls = judge_calls(study, readings)

    def judging(name: str, call: ExplanationJudgeCall) -> float:
        if (call.item.benchmark, call.source) != ("normad", "generic"):
            return real_only(call)
        return 0.9 if name == "k" or call.item.country in ("IN", "JP", "MX") else 0.0

    votes = replies(study, calls, opinions_of(study, calls, judging))
    alone = {"m": score_model(study, readings, votes)}
    rows = model_rows(study, alone, {"m": "x"})["m"]
    check(rows)
    shares = {
        where: one(rows, "judge_generic_refused", where)
        for where in ("normad", "normad:j", "normad:k", "specnorm")
    }
    # Means of both: 0.9 three times, 0.45 three times.
    assert [row.value for row in shares.values()] == [0.5, 0.5, 0.0, 1.0]
    assert [row.n_scored for row in shares.values()] == [6, 6, 6, 3]
    assert [shares[where].slice_kind for where in ("normad", "normad:j")] == ["benchmark", "benchmark_judge"]
    assert one(rows, "judge_empty_refused", "normad:k").value == 1.0
    assert one(rows, "judge_shuffled_refused", "normad").value == 1.0
    warning = one(rows, "self_preference_warning")
    assert (warning.value, warning.n_scored, warning.n_unscored) == (0.0, 2, 0)
    of_kin = model_rows(study, alone, {"m": "Qwen/Qwen2.5-7B-Instruct"})["m"]
    assert one(of_kin, "self_preference_warning").value == 1.0


def test_hand_calculation_gives_drawn_nulls_and_unjudged_items(make_study: MakeStudy) -> None:
    """CASA has two pairs; x's adhering query lacks the symbol, and one pair has judged nulls."""
    rows = tables()
    for each in rows["cure_item"]:
        if each["item"] == "casa-x-in-adhere":
            each["cues"] = "clock"
    study = make_study(rows, benchmarks=["casa"], nulls=1)
    (drawn,) = {item.rsplit("-", 1)[0] for item in study.chosen.with_nulls["casa"]}
    marks = {"casa-x-in-violate": 0.9, "casa-y-jp-adhere": 0.5, "casa-y-jp-violate": 0.4}
    nulls = {"shuffled": 0.2, "generic": 0.1, "empty": 0.0}
    found = rows_of(
        study, right_answers(study), lambda c: marks[c.item.item] if c.source == "real" else nulls[c.source]
    )
    connotation = one(found, "connotation", "casa")
    # (0.9 + 0.5 + 0.4) / 3; the adhering item of x is counted, with its reason.
    assert (connotation.value, connotation.null_value) == (pytest.approx(0.6), pytest.approx(0.2))
    assert (connotation.n_scored, connotation.n_unscored) == (3, 1)
    assert one(found, "unscored_answers", f"casa:judged:{NO_SYMBOL}").value == 1
    of_x = drawn == "casa-x-in"
    shuffled = one(found, "connotation", "casa:shuffled")
    assert (shuffled.value, shuffled.n_scored) == (pytest.approx(0.2), 1 if of_x else 2)
    # Real less shuffled on the drawn pair: 0.9 - 0.2, or the mean of 0.3 and 0.2.
    assert one(found, "explanation_gain", "casa").value == pytest.approx(0.7 if of_x else 0.25)
    # A country without a drawn item has the null of the whole benchmark.
    assert [one(found, "connotation", f"casa:{c}").null_value for c in ("IN", "JP")] == pytest.approx(
        [0.2] * 2
    )


def test_hand_calculation_gives_specnorm_rows_by_cue_and_specificity(make_study: MakeStudy) -> None:
    """Cues: IN (yes) ethnicity; JP (no) ethnicity and age; KE (yes) ethnicity, age, gender and religion."""
    rows, more = tables(), {"in": "", "jp": "|age: old", "ke": "|age: old|gender: man|religion: Sikh"}
    for each in rows["cure_item"]:
        if each["benchmark"] == "specnorm":
            each["cues"] = "ethnicity: Ainu" + more[each["country"].lower()]
    study = make_study(rows, benchmarks=["specnorm"])
    completions = right_answers(study)
    completions["specnorm", "thin", "specnorm-jp-1"] = completion("yes")
    found = rows_of(study, completions, lambda c: REAL[str(c.item.country)] if c.source == "real" else 0.1)
    labels = {
        r.slice: (r.value, r.n_scored)
        for r in found
        if r.slice_kind in ("benchmark_mode_cue", "benchmark_mode_specificity") and ":thin:" in r.slice
    }
    # IN and KE are right, JP is wrong.
    assert labels == {
        "specnorm:thin:ethnicity": (pytest.approx(2 / 3), 3),
        "specnorm:thin:age": (0.5, 2),
        "specnorm:thin:gender": (1.0, 1),
        "specnorm:thin:religion": (1.0, 1),
        "specnorm:thin:low": (1.0, 1),
        "specnorm:thin:medium": (0.0, 1),
        "specnorm:thin:high": (1.0, 1),
    }
    # Of the explanations IN has 0.8, JP 0.6, KE 0.4.
    assert one(found, "specificity", "specnorm:age", "benchmark_cue").value == pytest.approx(0.5)
    low = one(found, "specificity", "specnorm:low", "benchmark_specificity")
    assert (low.value, low.null_value) == (pytest.approx(0.8), pytest.approx(0.1))
    # The commonest label, yes, is right for one of the two items with this cue.
    majority, prior = null_rows(study)[MAJORITY], null_rows(study)[PRIOR]
    assert one(majority, "exact_match", "specnorm:thin:age").value == 0.5
    # Labels drawn at their gold frequencies: right with 1/3 for the no, with 2/3 for the yes.
    assert one(prior, "exact_match", "specnorm:thin:age").value == pytest.approx(0.5)


def pack_items(kind: str, texts: Mapping[str, str]) -> list[dict[str, object]]:
    """Return a pack's benchmark of a published kind: an item for each country."""
    return [
        row(f"{kind}-mine", f"mine-{n}", country, "yes", persona="Bo", group_name=f"group {n}", gold=gold)
        for n, (country, gold) in enumerate(texts.items())
    ]


def test_headline_pools_all_benchmarks_of_its_metric_by_hand(make_study: MakeStudy) -> None:
    """NormAd's six explanations have 0.6 in the mean, the two of a pack's benchmark 0.2."""
    rows = tables()
    rows["cure_item"] += pack_items("normad", {"IN": "a", "JP": "b"})
    study = make_study(rows, benchmarks=["normad", "normad-mine"])
    found = rows_of(study, right_answers(study), lambda c: 0.2 if "mine" in c.item.benchmark else judged(c))
    assert one(found, "coverage", "normad").value == pytest.approx(0.6)
    assert one(found, "coverage", "normad-mine").value == pytest.approx(0.2)
    overall = one(found, "coverage")
    assert (overall.value, overall.n_scored) == (pytest.approx((6 * 0.6 + 2 * 0.2) / 8), 8)
    # The best null over all items: generic scores 0.3 on NormAd, and every null 0.2 on the pack's items.
    assert overall.null_value == pytest.approx((6 * 0.3 + 2 * 0.2) / 8)
    assert overall.points is not None
    assert overall.points.units[-2:] == ("normad-mine:mine-0", "normad-mine:mine-1")
    normad = make_study(benchmarks=["normad"])
    alone = one(rows_of(normad, right_answers(normad), judged), "coverage")
    assert alone.points is not None
    assert alone.points.units == tuple(unit.partition(":")[2] for unit in overall.points.units[:6])


def test_hand_calculation_gives_correlation_over_countries(study: CureStudy) -> None:
    # Both metrics have six countries, coherence is 1 less the coverage: r = -1.
    def judging(call: ExplanationJudgeCall) -> float:
        mark = REAL[str(call.item.country)]
        return 1 - mark if call.item.benchmark == "culturebank" else mark

    rows = rows_of(study, right_answers(study), judging)
    r = one(rows, "metric_correlation", "coverage:coherence")
    assert (r.value, r.null_value, r.n_scored) == (pytest.approx(-1.0), 0.0, 6)
    few = one(rows, "metric_correlation", "coverage:specificity")
    assert (few.value, few.unscored_reason) == (None, "fewer than 5 countries have both metrics")
    assert few.n_unscored == 3
    constant = rows_of(study, right_answers(study), real_only)
    reason = one(constant, "metric_correlation", "coverage:coherence").unscored_reason
    assert reason == "a metric is the same in all countries"
    lone = one(constant, "judge_disagreement", "normad")
    assert (lone.value, lone.unscored_reason) == (None, "one vote per explanation: nobody could disagree")


def test_hand_calculation_gives_null_models(study: CureStudy) -> None:
    by_model = null_rows(study)
    for rows in by_model.values():
        check(rows)
    majority, prior = by_model[MAJORITY], by_model[PRIOR]
    assert one(majority, "exact_match", "normad:thick").value == pytest.approx(3 / 6)
    # F1 of yes 2 * 3 / (6 + 3) = 2/3, of the two others 0.
    assert one(majority, "f1_macro", "normad:thick").value == pytest.approx(2 / 9)
    assert one(majority, "exact_match", "normad:thick:JP").value == 0.0
    assert one(prior, "exact_match", "normad:thin").value == pytest.approx(14 / 36)
    assert one(prior, "exact_match", "normad:thin").null_value == pytest.approx(3 / 6)
    assert one(prior, "f1_macro", "normad:thin").value == pytest.approx(1 / 3)
    # The Japanese item's label is no, as are two of six labels.
    assert one(prior, "exact_match", "normad:thin:JP").value == pytest.approx(2 / 6)
    assert len(COUNTRIES) == sum(r.slice.startswith("normad:thin:") for r in prior)
