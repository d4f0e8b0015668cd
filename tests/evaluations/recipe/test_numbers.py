"""Headlines, slices, controls and nulls of recipes, recomputed with numpy from invented answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tasks.engines.protocols import Framed
from tasks.engines.specs import EngineSpec
from tasks.evaluations.contract import Cohort
from tasks.judging.verdicts import NO_JUDGE
from tasks.loop.candidates import StoredScores
from tasks.loop.items import OptionLogprobs
from tasks.loop.prompts import Completion, Prompts
from tasks.loop.requests import Engine
from tasks.loop.rows import Metric
from tasks.metrics.intervals import mean_interval
from tests.evaluations.recipe.made import evaluation, example, swap

ENGINES = {name: Engine.of(EngineSpec(name=name, kind="fake", model=name)) for name in ("m", "j", "k")}
Answer = Callable[[Any], Any]


def rows_of(made: Any, answer: Answer, shared: Answer | None = None, **params: Any) -> dict[Any, Metric]:
    """Return (model, metric, slice kind, slice) -> row of one model m, whose requests ``answer`` answers."""
    study = made.study(made.params.model_validate({"models": ["m"], **params}), {}, ENGINES)
    common = made.shared.read(study, shared or answer) if made.shared else None
    read = made.read(study, answer, common)
    tables = made.rows(study, Cohort({"m": read}, {"m": read}, ENGINES), common)
    return {(m, r.metric, r.slice_kind, r.slice): r for m, rows in tables.metrics.items() for r in rows}


def check(
    row: Metric, values: list[float], clusters: list[str], bounds: tuple[float, float] = (0, 1)
) -> None:
    """Check that a row has the mean of the values that are numbers, with its interval over clusters."""
    points, names = np.array(values, dtype=float), np.array(clusters)
    known = ~np.isnan(points)
    assert row.value == pytest.approx(points[known].mean())
    assert (row.n_scored, row.n_unscored) == (known.sum(), (~known).sum())
    interval = mean_interval(points[known], names[known], bounds)
    assert (row.ci_low, row.ci_high) == (pytest.approx(interval) if interval else (None, None))


# choice: six items in five clusters, two options; x is right in the first four, y in the others.
CHOICE = "item,country,region,question,a,b,answer\n" + "".join(
    f"i{i},c{i % 5},r{i % 2},Q{i}?,x{i},{'y' * (i + 1)}{i},{'A' if i < 4 else 'B'}\n" for i in range(6)
)
TWO = swap('["a", "b", "c", "d"]', '["a", "b"]')
CLUSTERS = [f"c{i % 5}" for i in range(6)]
RIGHT = [0, 0, 0, 0, 1, 1]


def scorer(of: Mapping[str, int], missing: frozenset[str] = frozenset()) -> Answer:
    """Prefer option of[first word of the question], by default 0; -1: a tie."""

    def answer(request: Any) -> Any:
        found = {}
        for question in request.questions:
            word = question.text.split()[0]
            best = of.get(word, 0)
            logprobs = np.array([-1.0, -1.0]) if best < 0 else np.where(np.arange(2) == best, -1.0, -2.0)
            if word not in missing:
                found[question.id] = OptionLogprobs(logprobs, np.array([1, 1]))
        return found

    return answer


def test_hand_calculation_gives_choice_rows_and_controls() -> None:
    made = evaluation("choice", [TWO], CHOICE)
    picks = {"Q0?": 0, "Q1?": 1, "Q2?": 0, "Q3?": -1, "Q4?": 1, "Q5?": 0}  # a tie goes to the first
    rows = rows_of(made, scorer(picks))
    own = [1.0, 0, 1, 1, 1, 0]
    check(rows["m", "accuracy", "overall", "all"], own, CLUSTERS)
    check(rows["m", "accuracy", "region", "r0"], own[::2], CLUSTERS[::2])
    bare = [1.0, 1, 1, 1, 0, 0]  # without the question: the first option, always
    check(rows["m", "accuracy_no_question", "overall", "all"], bare, CLUSTERS)
    gains = [a - b for a, b in zip(own, bare, strict=True)]
    check(rows["m", "no_question_gain", "overall", "all"], gains, CLUSTERS, (-1, 1))
    study = made.study(made.params.model_validate({"models": ["m"]}), {}, {})
    other = [picks[f"Q{study.others[f'i{i}'][1:]}?"] for i in range(6)]
    swapped = [float(max(pick, 0) == right) for pick, right in zip(other, RIGHT, strict=True)]
    check(rows["m", "accuracy_other_question", "overall", "all"], swapped, CLUSTERS)
    check(rows["null:position", "accuracy", "overall", "all"], [1.0] * 4 + [0] * 2, CLUSTERS)
    check(rows["null:longest", "accuracy", "overall", "all"], [0.5, 0, 0, 0, 1, 1], CLUSTERS)
    assert rows["m", "accuracy", "overall", "all"].null_value == pytest.approx(4 / 6)  # the best of both
    assert rows["m", "coverage", "overall", "all"].value == 1


@pytest.mark.parametrize(("null", "value"), [('"chance"', 0.5), ('"longest"', 2.5 / 6), ("0.3", 0.3)])
def test_null_value_follows_the_definition(null: str, value: float) -> None:
    made = evaluation("choice", [TWO, swap('null = "best"', f"null = {null}")], CHOICE)
    assert rows_of(made, scorer({}))["m", "accuracy", "overall", "all"].null_value == pytest.approx(value)


def test_hand_calculation_gives_direction_bounds_and_missing_scores() -> None:
    made = evaluation("choice", [TWO, swap("[metric]", '[metric]\ndirection = "lower"')], CHOICE)
    rows = rows_of(made, scorer({f"Q{i}?": 1 for i in range(6)}))
    # Lower is better: the best null is the least (always the rarest position), and gains change sign.
    assert rows["m", "accuracy", "overall", "all"].value == pytest.approx(2 / 6)
    assert rows["m", "accuracy", "overall", "all"].null_value == pytest.approx(2 / 6)
    assert rows["m", "no_question_gain", "overall", "all"].value == pytest.approx(4 / 6 - 2 / 6)
    rows = rows_of(evaluation("choice", [TWO], CHOICE), scorer({}, frozenset({"Q2?"})))
    check(rows["m", "accuracy", "overall", "all"], [1, 1, np.nan, 1, 0, 0], CLUSTERS)
    assert rows["m", "coverage", "overall", "all"].value == pytest.approx(5 / 6)
    made = evaluation("choice", [TWO, swap("[0, 1]", "[-1, 3]")], CHOICE)
    row = rows_of(made, scorer({}))["m", "accuracy", "overall", "all"]
    check(row, [3.0] * 4 + [-1] * 2, CLUSTERS, (-1, 3))


class Recording:
    """A scorer that records prefixes and numbers of options."""

    def __init__(self) -> None:
        self.scored: list[tuple[str, int]] = []

    def frame(self, prompts: Sequence[str]) -> Any:
        return Framed(list(prompts), " ", "base")

    def score_each(self, prefixes: Sequence[str], items: Sequence[Sequence[str]], progress: Any) -> Any:
        self.scored += [(prefix, len(own)) for prefix, own in zip(prefixes, items, strict=True)]
        return [np.zeros(len(own), dtype=np.float32) for own in items]

    def count_tokens(self, prefix: str, items: Sequence[str]) -> list[int]:
        return [1] * len(items)


def test_each_question_is_scored_once_with_its_options() -> None:
    study = evaluation("choice").study(evaluation("choice").params.model_validate({"models": ["m"]}), {}, {})
    sent, engine = study.request(""), Recording()
    sent.compute(engine, sent.units, lambda n: None)
    assert engine.scored == [(question.text, 4) for question in sent.questions]


def test_equal_prompts_of_a_control_are_one_unit() -> None:
    alike = CHOICE.replace("x0", "x").replace("x1", "x").replace(",y0", ",y").replace(",yy1", ",y")
    made = evaluation("choice", [TWO], alike)
    study = made.study(made.params.model_validate({"models": ["m"]}), {}, {})
    assert len(study.request("no_question").units) == 5
    assert len(study.request("").units) == 6


def writer(of: Callable[[str], str | None], cut: str = "") -> Answer:
    """Write of(last message); None: no completion. cut: prefix of messages whose completion is cut off."""

    def answer(request: Any) -> Any:
        found = {}
        assert isinstance(request, Prompts)
        for prompt in request.prompts:
            question = prompt.conversation[-1]["content"]
            if (text := of(question)) is not None:
                reason = "length" if cut and question.startswith(cut) else "stop"
                found[prompt.id] = Completion(text, reason, 1, 1)
        return found

    return answer


SHORT = "item,country,region,language,question,accepted,counts\n" + "".join(
    f"i{i},c{i},r,en,Q{i}?,w{i}|the same,{2 + i}|2\n" for i in range(6)
)


def test_hand_calculation_gives_short_answer_rows_and_controls() -> None:
    made = evaluation("short_answer", [swap("match =", 'weights = "counts"\nmatch =')], SHORT)
    texts = {"Q0?": "It is w0.", "Q1?": "the SAME!", "Q2?": "no", "Q3?": "w4", "Q4?": "w4", "Q5?": "w5"}
    rows = rows_of(made, writer(lambda question: texts[question.split()[0]], cut="Q5"))
    own = [1.0, 2 / 3, 0, 0, 1, 0]  # a text that was cut off is wrong
    check(rows["m", "accuracy", "overall", "all"], own, [f"c{i}" for i in range(6)])
    assert rows["m", "coverage", "overall", "all"].value == pytest.approx(5 / 6)
    assert sum(row.value or 0 for key, row in rows.items() if key[1] == "unanswered") == pytest.approx(1 / 6)
    common = [2 / (2 + i) for i in range(6)]  # "the same" is accepted everywhere, by its weight
    check(rows["null:commonest", "accuracy", "overall", "all"], common, [f"c{i}" for i in range(6)])
    check(rows["null:other-answer", "accuracy", "overall", "all"], [0.0] * 6, [f"c{i}" for i in range(6)])
    study = made.study(made.params.model_validate({"models": ["m"]}), {}, {})
    of_item = {f"i{i}": texts[f"Q{i}?"] for i in range(5)}
    swapped = []
    for i in range(6):
        text = of_item.get(study.others[f"i{i}"]) if f"i{i}" in of_item else None
        same = 0.0 if text is None else 2 / (2 + i) if "SAME" in text else float(f"w{i}" in text)
        swapped.append(np.nan if text is None else same)
    check(rows["m", "accuracy_exchanged", "overall", "all"], swapped, [f"c{i}" for i in range(6)])


def judge(of: Callable[[str], str | None]) -> Answer:
    """Return a model that repeats the question, and a judge with the verdict YES, NO or none."""

    def answer(request: Any) -> Any:
        if request.role != "judge":
            return writer(lambda question: question)(request)
        found = {}
        for prompt in request.prompts:
            verdict = of(prompt.conversation[-1]["content"])
            why = "same meaning" if verdict == "YES" else "another meaning"
            text = json.dumps({"answer": {"verdict": verdict, "reason": why}}) if verdict else "hm"
            found[prompt.id] = Completion(text, "stop", 1, 1)
        return found

    return answer


def test_hand_calculation_gives_judged_rows_and_nulls() -> None:
    made = evaluation("judged")
    fair = judge(lambda question: "YES" if question.count("hat") else "NO")
    rows = rows_of(made, fair, judges=["j"])
    assert rows["m", "accuracy", "overall", "all"].n_scored == 12
    assert rows["m", "judge_gold_accepted", "judge", "j"].n_scored == 12
    assert rows["null:generic", "accuracy", "overall", "all"].value is not None
    nobody = rows_of(made, judge(lambda question: "YES"))
    assert nobody["m", "accuracy", "overall", "all"].unscored_reason == NO_JUDGE
    failed = rows_of(made, judge(lambda question: None), judges=["j", "k"])["m", "accuracy", "overall", "all"]
    assert (failed.value, failed.n_scored, failed.n_unscored) == (None, 0, 12)
    always = rows_of(made, judge(lambda question: "YES"), judges=["j"])
    assert always["m", "accuracy", "overall", "all"].value == 1
    assert always["m", "accuracy", "overall", "all"].null_value == 1
    assert always["m", "exchanged_gain", "overall", "all"].value == 0
    assert always["m", "judge_empty_refused", "judge", "j"].value == 0


def test_hand_calculation_gives_preference_rows() -> None:
    made = evaluation("preference")
    rng = np.random.default_rng(0)
    drawn: dict[str, Any] = {}

    def answer(request: Any) -> Any:
        logprob = rng.normal(size=(len(request.prompts), len(request.candidates)))
        logprob[:, 0] = logprob[:, 3]  # a tie of a target and another
        tokens = np.arange(1, 1 + len(request.candidates))[None, :] + np.zeros_like(logprob)
        tokens[:, 3] = tokens[:, 0]
        return drawn.setdefault(request.label, StoredScores(logprob, np.exp(logprob), tokens))

    rows = rows_of(made, answer)
    study = made.study(made.params.model_validate({"models": ["m"]}), {}, {})
    requests = {request.label: request for request in made.ask(study, answer)}
    own = []
    for item in study.items:
        request, scores = requests[item.fields["place"]], drawn[item.fields["place"]]
        before = item.fields["context"].partition("[BLANK]")[0].rstrip()
        per_token = (scores.logprob / scores.n_tokens)[list(request.prompts).index(before)]
        wins = [(a > b) + (a == b) / 2 for a in per_token[:3] for b in per_token[3:]]
        own.append(sum(wins) / 9)
    check(rows["m", "preference", "overall", "all"], own, study.names.tolist())
    assert rows["null:groups-exchanged", "preference", "overall", "all"].value == 0.5


def test_limit_is_nested_spread_over_clusters_and_ignores_order() -> None:
    made, turned = evaluation("choice"), evaluation("choice", items=_turned())
    chosen = []
    for limit in range(1, 13):
        both = [
            each.study(each.params.model_validate({"models": ["m"], "limit": limit}), {}, {})
            for each in (made, turned)
        ]
        assert both[0].names.tolist() == both[1].names.tolist()
        assert both[0].config_hash() == both[1].config_hash()
        assert len(set(both[0].clusters.tolist())) == min(limit, 6)
        chosen.append(set(both[0].names.tolist()))
    assert all(few < more for few, more in pairwise(chosen))


def _turned() -> str:
    header, *lines = example("choice")["items.csv"].decode().splitlines()
    return "\n".join([header, *lines[::-1]]) + "\n"


def test_exchanged_item_has_another_cluster_and_the_same_within_value() -> None:
    items = SHORT.replace(",r,", ",r0,", 2).replace(",r,", ",r1,")
    made = evaluation("short_answer", [swap("slices =", 'within = "region"\nslices =')], items)
    study = made.study(made.params.model_validate({"models": ["m"]}), {}, {})
    by_name = {item.name: item for item in study.items}
    assert study.others.keys() == by_name.keys()
    for name, other in study.others.items():
        assert by_name[name].cluster != by_name[other].cluster
        assert by_name[name].fields["region"] == by_name[other].fields["region"]
    alone = evaluation("short_answer", [swap("slices =", 'within = "question"\nslices =')], SHORT)
    assert alone.study(alone.params.model_validate({"models": ["m"]}), {}, {}).others == {}
