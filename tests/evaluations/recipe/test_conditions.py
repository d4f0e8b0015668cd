"""Conditions, repetitions, second turns and scores in Python: numbers by hand, faults, and what is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from tasks.engines.specs import TRUST
from tasks.evaluations.recipe import own_score
from tasks.evaluations.recipe.prompted import ConditionScores
from tasks.loop.prompts import Completion
from tests.evaluations.recipe.made import Change, changed, evaluation, examined, swap
from tests.evaluations.recipe.test_numbers import ENGINES, check, rows_of

N = 6
ITEMS = "item,country,region,language,question,accepted\n" + "".join(
    f"i{i},c{i},r,en,Q{i}?,w{i}\n" for i in range(N)
)
CLUSTERS = [f"c{i}" for i in range(N)]
CONDITIONS = '[conditions.plain]\n[conditions.local]\nsystem = "Local."\n[metric]'
SAMPLED = "repetitions = 2\ntemperature = 0.7\nmatch ="
TWO: tuple[Change, ...] = (swap("[metric]", CONDITIONS), swap("match =", SAMPLED))
CODE = "def score(item, answer):\n    return {}\n"


def scored_by(code: str, *more: Change) -> Any:
    """Return the short answers with a score in Python and without accepted answers."""
    unread = [swap('match = "contains"', 'score = "score.py"'), swap('accepted = "accepted"', "")]
    fields = [*unread, _no_normal_forms, swap('null = "best"', 'null = "empty"'), *more]
    return evaluation("short_answer", fields, ITEMS, score__py=code)


def _no_normal_forms(text: str) -> str:
    head, _, rest = text.partition("[normalise]")
    return head + rest[rest.index("[metric]") :]


def replies(of: Callable[[list[Any], str], str | None]) -> Callable[[Any], Any]:
    """Return a model that answers a conversation, in the draw of this name."""

    def answer(request: Any) -> Any:
        texts = {p.id: of(list(p.conversation), p.sample) for p in request.prompts}
        return {unit: Completion(text, "stop", 1, 1) for unit, text in texts.items() if text is not None}

    return answer


def test_conditions_are_paired_and_repetitions_averaged_within_items() -> None:
    made = evaluation("short_answer", TWO, ITEMS)
    right = {("", ""): {0, 1}, ("", "2"): {1, 2}, ("Local.", ""): {0, 1, 2, 3}, ("Local.", "2"): {0, 3}}

    def said(talk: list[Any], draw: str) -> str:
        system = talk[0]["content"] if talk[0]["role"] == "system" else ""
        number = int(talk[-1]["content"][1])
        return f"w{number}" if number in right[system, draw] else "no"

    rows = rows_of(made, replies(said))
    own, local = (
        [(i in right[s, ""]) / 2 + (i in right[s, "2"]) / 2 for i in range(N)] for s in ("", "Local.")
    )
    check(rows["m", "accuracy", "overall", "all"], own, CLUSTERS)
    check(rows["m", "accuracy_local", "overall", "all"], local, CLUSTERS)
    apart = [b - a for a, b in zip(own, local, strict=True)]
    check(rows["m", "local_difference", "overall", "all"], apart, CLUSTERS, (-1, 1))
    assert rows["m", "local_difference", "overall", "all"].null_value == 0
    nulls = {rows["m", name, "overall", "all"].null_value for name in ("accuracy", "accuracy_local")}
    assert nulls == {rows["null:commonest", "accuracy", "overall", "all"].value}
    assert rows["m", "coverage", "overall", "all"].n_scored == 4 * N
    assert not [key for key in rows if key[1].endswith("_p_holm")], "one difference is no family"


def test_lost_repetitions_have_the_worst_value_and_count_as_lost() -> None:
    made = evaluation("short_answer", TWO, ITEMS)
    rows = rows_of(made, replies(lambda talk, draw: "" if draw else f"w{talk[-1]['content'][1]}"))
    check(rows["m", "accuracy", "overall", "all"], [0.5] * N, CLUSTERS)
    assert rows["m", "coverage", "overall", "all"].value == 0.5
    rows = rows_of(made, replies(lambda talk, draw: None if draw else f"w{talk[-1]['content'][1]}"))
    check(rows["m", "accuracy", "overall", "all"], [1.0] * N, CLUSTERS)  # not answered yet: unscored


def test_three_conditions_are_a_family() -> None:
    third = CONDITIONS.replace("[metric]", '[conditions.far]\nsystem = "Far."\n[metric]')
    made = evaluation("short_answer", [swap("[metric]", third)], ITEMS)
    by_system = {"": 0, "Local.": 5, "Far.": 3}

    def said(talk: list[Any], _: str) -> str:
        system, number = talk[0]["content"] * (len(talk) > 1), int(talk[-1]["content"][1])
        return f"w{number}" if number < by_system[system] else "no"

    rows = rows_of(made, replies(said))
    local, far = (rows["m", f"{name}_p_holm", "overall", "all"].value for name in ("local", "far"))
    t = np.array([[1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0]], dtype=float)
    from scipy.stats import ttest_1samp

    p_local, p_far = (ttest_1samp(each, 0).pvalue for each in t)
    assert local == pytest.approx(2 * p_local)
    assert far == pytest.approx(max(2 * p_local, p_far))


def test_second_turn_quotes_the_first_answer_and_is_what_is_scored() -> None:
    code = "def score(item, answer, first):\n    return (answer == 'second') / 2 + (first == 'first') / 4\n"
    made = scored_by(code, swap("cluster =", 'then = "Again, {{ country }}!"\ncluster ='))
    study = made.study(made.params.model_validate({"models": ["m"]}), {}, {})
    model = replies(
        lambda talk, _: "second" if len(talk) > 1 else "" if "Q0" in talk[0]["content"] else "first"
    )
    assert [len(each.units) for each in made.ask(study, lambda request: {})] == [N]
    first, second = made.ask(study, lambda request: model(request) if request.label == "items" else {})
    assert (len(first.units), len(second.units)) == (N, N - 1), "there is no turn after an empty answer"
    assert [m["role"] for m in second.prompts[0].conversation] == ["user", "assistant", "user"]
    assert [m["content"] for m in second.prompts[0].conversation][1:] == ["first", "Again, c1!"]
    (later,) = made.later(study)
    assert (later.engine, later.n) == ("", N)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(TRUST, own_score.PERMISSION)
        rows = rows_of(made, model)
        frame = study.answer_frame(made.read(study, model, None), "c")
    check(rows["m", "accuracy", "overall", "all"], [0.0] + [0.75] * (N - 1), CLUSTERS)
    own = frame.filter(condition="").sort("item", "turn")
    assert own["turn"].to_list() == [1, 2] * N
    assert own["answer"].to_list() == [None, None, *["first", "second"] * (N - 1)]
    assert own["value"].to_list() == [None, 0.0, *[None, 0.75] * (N - 1)]


OUTCOMES: dict[str, tuple[float | None, str]] = {
    "1": (1.0, ""),
    "True": (1.0, ""),
    "0.25": (0.25, ""),
    "len(item['question']) / 3": (1.0, ""),
    "None": (None, "its score is None"),
    "float('nan')": (None, "its score nan is not within 0 to 1"),
    "1.5": (None, "its score 1.5 is not within 0 to 1"),
    "-1e9": (None, "its score -1e+09 is not within 0 to 1"),
    "[1]": (None, "its score is no number: [1]"),
    "'a' + '\\x1b[31m'": (None, "its score is no number: 'a\\x1b[31m'"),
    "1 / 0": (None, "its score failed: ZeroDivisionError: division by zero"),
    "item['x']": (None, "its score failed: KeyError: 'x'"),
    "exit()": (None, "its score failed: SystemExit: None"),
    "score(item, answer)": (None, "its score failed: RecursionError: maximum recursion depth exceeded"),
}


@pytest.mark.parametrize(("code", "outcome"), OUTCOMES.items())
def test_score_in_python_is_a_number_within_bounds_or_a_reason(
    code: str, outcome: tuple[float | None, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TRUST, own_score.PERMISSION)
    value, why = own_score.scored(CODE.format(code), {"question": "Q0?"}, ("a", "a"), (0.0, 1.0))
    assert (value, why[: len(outcome[1])]) == outcome


def test_score_in_python_runs_only_with_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    made = scored_by("raise SystemExit('it ran')\n" + CODE.format(1))
    study = made.study(made.params.model_validate({"models": ["m"]}), {}, {})
    model = replies(lambda talk, _: "a")
    monkeypatch.delenv(TRUST, raising=False)
    assert "--trust" in made.refused(study)
    assert "not allowed" in str(rows_of(made, model)["m", "accuracy", "overall", "all"].unscored_reason)
    monkeypatch.setenv(TRUST, own_score.PERMISSION)
    assert made.refused(study) == ""
    assert "it ran" in str(rows_of(made, model)["m", "accuracy", "overall", "all"].unscored_reason)


def test_content_of_the_code_is_in_the_hash_and_kept() -> None:
    hashes = set()
    for code in (CODE.format(1), CODE.format(1) + "\n", CODE.format(0)):
        made = scored_by(code)
        study = made.study(made.params.model_validate({"models": ["m"]}), {}, {})
        hashes.add(study.config_hash())
        again = made.restored(made.name, made.content(study))
        assert again.study(made.params.model_validate({"models": ["m"]}), {}, {}).config_hash() in hashes
    assert len(hashes) == 3


def test_conditions_of_choices_and_contexts_are_asked_too() -> None:
    own = '[conditions.plain]\n[conditions.kind]\nprompt = "Please: {{ question }}"\n[metric]'
    made = evaluation("choice", [swap("[metric]", own)])
    study = made.study(made.params.model_validate({"models": ["m"]}), {}, {})
    labels = [request.label for request in made.ask(study, lambda request: {})]
    assert labels == ["items", "kind", "no_question", "other_question"]
    assert {"accuracy_kind", "kind_difference"} < {row["metric"] for row in made.about.metrics}
    own = own.replace("question", "context")
    made = evaluation("preference", [swap("[metric]", own)])
    study = made.study(made.params.model_validate({"models": ["m"]}), {}, {})
    assert {condition for condition, *_ in study.contexts} == {"", "kind", "exchanged"}


def test_every_condition_has_its_samples() -> None:
    own = '[conditions.plain]\n[conditions.kind]\nprompt = "Please: {{ question }}"\n[metric]'
    made = evaluation("choice", [swap("[metric]", own)])
    study = made.study(made.params.model_validate({"models": ["m"]}), {}, {})
    samples = {each.id: each.input[-1]["content"] for each in made.samples(study, lambda request: {})}
    assert len(samples) == 2 * len(study.items)
    assert samples["pho / kind"] == "Please: Where is the noodle soup pho from?"
    plain = samples["pho / plain"].splitlines()
    assert (plain[0], len(plain)) == ("Where is the noodle soup pho from?", 5)
    made = evaluation("preference", [swap("[metric]", own.replace("question", "context"))])
    study = made.study(made.params.model_validate({"models": ["m"]}), {}, {})
    assert len([*made.samples(study, lambda request: "lost")]) == 2 * len(study.items)


def test_judges_read_every_condition_and_repetition_once() -> None:
    made = evaluation("judged", [swap("[metric]", CONDITIONS)])
    knobs = {"models": ["m"], "judges": ["j"], "repetitions": 2, "temperature": 0.7, "nulls": 3}
    study = made.study(made.params.model_validate(knobs), {}, ENGINES)
    model = replies(lambda talk, draw: f"{talk[0]['content']} {talk[-1]['content']} {draw}")
    *asked, judged = made.ask(study, lambda request: model(request) if request.role != "judge" else {})
    assert [len(request.units) for request in asked] == [24, 24]
    assert len(judged.units) == 4 * 12 + 2 * 3
    assert [later.n for later in made.later(study)] == [len(judged.units)]


def _without_prompt(text: str) -> str:
    return swap("[metric]", CONDITIONS)(text).replace("prompt =", "# ", 1)


TOML, PY = "evaluation.toml", "score.py"
SCORE = swap('match = "contains"', 'score = "score.py"')
FAULTS: Mapping[str, tuple[str, Mapping[str, Change | str | None], tuple[object, ...]]] = {
    "one": ("choice", {TOML: swap("[metric]", "[conditions.a]\n[metric]")}, ("conditions", "with nothing")),
    "equal": ("choice", {TOML: swap("[metric]", "[conditions.a]\n[conditions.b]\n[metric]")},
              ("conditions.b", "it sends what a sends")),
    "no prompt": ("short_answer", {TOML: _without_prompt},
                  ("conditions.plain", "it has no prompt")),
    "no prompt at all": ("short_answer", {TOML: swap("prompt =", "# ")}, ("prompt", "it is missing")),
    "column": ("choice", {TOML: swap("[metric]", CONDITIONS.replace("Local.", "{{ town }}"))},
               ("conditions.local.system", "{{ town }}")),
    "field": ("choice", {TOML: swap("[metric]", CONDITIONS.replace("system", "role"))},
              ("conditions.local.role", "no such field")),
    "name": ("choice", {TOML: swap("[metric]", CONDITIONS.replace("local", "Local"))}, ("conditions.Local",)),
    **{
        f"taken {name}": ("choice", {TOML: swap("[metric]", CONDITIONS.replace("local", name))},
                          (f"conditions.{name}", "something else"))
        for name in ("exchanged", "no_question", "gold")
    },
    "turn": ("choice", {TOML: swap("[metric]", CONDITIONS.replace("system", "then"))},
             ("conditions.local.then", "no second turn")),
    "cold": ("short_answer", {TOML: swap("match =", "repetitions = 3\nmatch =")},
             ("repetitions", "at temperature 0", "0.7")),
    "many": ("short_answer", {TOML: swap("match =", "repetitions = 0\nmatch =")}, ("repetitions", "1")),
    "nan": ("short_answer", {TOML: swap("match =", "temperature = nan\nmatch =")}, ("temperature",)),
    "choices": ("choice", {TOML: swap("by =", "repetitions = 3\nby =")}, ("repetitions", "no such field")),
    "no score": ("short_answer", {TOML: SCORE}, (PY, "the file is missing")),
    "unread": ("short_answer", {TOML: swap("match =", 'score = "score.py"\nmatch ='), PY: CODE.format(1)},
               ("match", "is not read")),
    "not python": ("short_answer", {TOML: swap('match = "contains"', 'score = "score.R"')},
                   ("score.R", "Python")),
    "syntax": ("short_answer", {TOML: SCORE, PY: "x = 1\ndef score(item answer)\n"}, (PY, 2, "not Python")),
    "function": ("short_answer", {TOML: SCORE, PY: "score = 1\n"}, (PY, "no function score")),
    "parameters": ("short_answer", {TOML: SCORE, PY: "def score(item):\n    return 1\n"},
                   (PY, 1, "two or three")),
    "deep": ("short_answer", {TOML: SCORE, PY: "x = " + "(" * 9000}, (PY, "not Python")),
    "nothing": ("short_answer", {TOML: swap('accepted = "accepted"', "")},
                ("accepted", "it is missing", "Python")),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_reported_in_one_line_with_its_place(fault: str) -> None:
    recipe, changes, parts = FAULTS[fault]
    made, faults = examined(changed(recipe, changes))
    assert made is None
    lines = [" ".join(map(str, each)) for each in faults]
    assert any(all(str(part) in line for part in parts) for line in lines), lines
    assert not [line for line in lines if "\n" in line]


def test_repetitions_without_temperature_are_refused_with_advice() -> None:
    made = evaluation("short_answer", [], ITEMS)
    with pytest.raises(ValueError, match=r"--temperature 0\.7"):
        made.study(made.params.model_validate({"models": ["m"], "repetitions": 2}), {}, {})
    one, two = (
        made.params.model_validate({"models": ["m"], "repetitions": n, "temperature": 1}) for n in (1, 2)
    )
    assert made.study(one, {}, {}).config_hash() != made.study(two, {}, {}).config_hash()


def test_mean_over_repetitions_leaves_unscored_ones_out() -> None:
    nan, why = np.nan, np.array(["", "gone"], dtype=object)
    both = [
        ConditionScores(np.array([1.0, nan]), why, why, also={"n": np.array([1.0, 2.0])}),
        ConditionScores(
            np.array([nan, nan]), np.array(["x", "y"], dtype=object), why, also={"n": np.array([3.0, 4.0])}
        ),
    ]
    mean = ConditionScores.over(both)
    assert mean.values[0] == 1
    assert np.isnan(mean.values[1])
    assert mean.reasons.tolist() == ["", "gone"]
    assert mean.also["n"].tolist() == [2, 3]
