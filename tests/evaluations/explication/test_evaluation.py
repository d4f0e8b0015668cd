"""Rounds, sharing, resuming, seeds and batches, with scripts in all roles."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tasks.engines.protocols import Message, Sampling, Schema
from tasks.evaluations.contract import Cohort, Completions
from tasks.evaluations.explication.evaluation import EVALUATION
from tasks.evaluations.explication.materials import RECOMMENDER, TaskError, load_task
from tasks.evaluations.explication.params import CONDITIONS
from tasks.evaluations.explication.read import ExplicationAnswers, _real_texts
from tasks.evaluations.explication.study import REAL, SHUFFLED, SILENT, ExplicationStudy
from tasks.judging.rubric import CLOSE, OPEN
from tasks.judging.verdicts import NO_JUDGE
from tasks.loop.dialogue import Dialogues, Voice
from tests.evaluations.explication.conftest import SIX, Loop, Script, engine, study

RECIPE = """#Dish name: Bibimbap of {name}
#Ingredients: rice, spinach, carrot, cucumber, sesame oil, chili
#Instructions: Cook the rice for 15 minutes, put the vegetables on it and mix."""


def recommend(conversation: Sequence[Message], sampling: Sampling, schema: Schema) -> str:
    """Ask twice, then recommend a dish named by the last answer."""
    n_turns = sum(m["role"] == "assistant" for m in conversation)
    if n_turns < 2:
        return ("Do you follow a diet?", "How much time do you have?")[n_turns]
    return RECIPE.format(name=conversation[-1]["content"][:40])


def user(conversation: Sequence[Message], sampling: Sampling, schema: Schema) -> str:
    """Answer with name and seed."""
    name = re.search(r"Name: (\S+)", conversation[0]["content"])
    return f"I am {name[1] if name else '?'}, take {sampling.seed}."


def judge(conversation: Sequence[Message], sampling: Sampling, schema: Schema) -> str:
    """Grade by whether the quoted recommendation has the user's name."""
    question = conversation[-1]["content"]
    outside = re.sub(f"{re.escape(OPEN)}.*?{re.escape(CLOSE)}", "", question, flags=re.S)
    assert "10" not in outside, "text outside of its quotation"
    texts = [
        json.loads(data) for data in re.findall(f"{re.escape(OPEN)}(.*?){re.escape(CLOSE)}", question, re.S)
    ]
    assert schema is not None
    keys = list(schema["properties"])
    low = schema["$defs"]["judged"]["anyOf"][0]["properties"]["verdict"]["enum"][0]
    if low == "YES":
        return answer(keys, "NO", "not there")
    lines = texts[-1]
    name = next((t for t in texts if isinstance(t, str) and t.startswith("Name: ")), "Name: ?").split()[1]
    fits = bool(lines) and name in lines[-1]
    if "focus" in keys:
        return answer(keys, "4", "small faults")
    return answer(keys, "9" if fits else "2", "well grounded" if fits else "generic")


def answer(keys: Sequence[str], verdict: str, reason: str) -> str:
    return json.dumps({key: {"verdict": verdict, "reason": reason} for key in keys})


def scripts() -> dict[str, Script]:
    return {"m": Script(recommend), "sim": Script(user), "judge": Script(judge)}


def rows(of: Any, loop: Loop) -> dict[tuple[str, str, str], Any]:
    """Return metric, slice -> row of the model, and of null recommenders under their names."""
    shared = loop.run(of, "")
    cohort = Cohort({"m": loop.run(of)}, {}, {"m": engine("m")})
    tables = EVALUATION.rows(of, cohort, shared)
    return {(row.metric, row.slice_kind, row.slice): row for row in tables.metrics["m"]} | {
        (model, row.metric, ""): row for model, own in tables.metrics.items() if model != "m" for row in own
    }


def test_each_round_is_a_turn_and_each_conversation_has_its_own_seed() -> None:
    loop, of = Loop(scripts()), study()
    loop.run(of, rounds=1)
    # Six personas x two conditions x two repetitions, and a silent user for each persona and condition.
    assert len(loop.scripts["m"].sent) == 6 * 2 * 2 + 6 * 2
    assert len({seed for _, seed in loop.scripts["m"].sent}) == len(loop.scripts["m"].sent)
    answers: ExplicationAnswers = loop.run(of)
    sent = [json.dumps([list(c), seed]) for s in loop.scripts.values() for c, seed in s.sent]
    assert len(set(sent)) == len(sent)
    assert {talk.ended_by for talk in answers.stage.talks.values()} == {"recommendation"}
    assert len(list(of.real())) == 6 * 2 * 2


def waiting(of: ExplicationStudy, who: str) -> Counter[str]:
    """Return unit -> number of conversations in the plan's first round that wait for it; who: the role."""
    lines = Voice(RECOMMENDER, lines=("What do you like?",))
    units: Counter[str] = Counter()
    for dialogue in of.dialogues():
        voices = dialogue.voices if who == "candidate" else (lines, dialogue.voices[1])
        units.update(u for r in Dialogues([replace(dialogue, voices=voices)]).requests() for u in r.units)
    return units


@pytest.mark.parametrize("who", ["candidate", "simulator"])
def test_sampled_conversations_share_no_unit(who: str) -> None:
    of = study(tasks=["breakfast", "gift"], personas=["leila-lyon", "aisha-kano", "jonas-lulea"])
    own = waiting(of, who)
    assert set(own.values()) == {1}
    # Of 2 tasks x 3 personas x 2 conditions 2 repetitions; silent users wait for nothing as simulators.
    assert len(own) == 24 + (12 if who == "candidate" else 0)
    # With one repetition less, the units are a subset.
    assert waiting(study(tasks=["breakfast", "gift"], personas=list(of.personas), repetitions=1), who) < own


def test_greedy_conversations_share_equal_openings() -> None:
    of = study(tasks=["breakfast", "gift"], personas=["leila-lyon", "aisha-kano"], temperature=0)
    # 2 personas x (2 repetitions + the silent user).
    assert sorted(waiting(of, "candidate").values()) == [6] * 4
    assert sorted(waiting(of, "simulator").values()) == [4] * 4  # the user does not see conditions


def test_treatment_adds_only_the_reminder() -> None:
    loop = Loop(scripts())
    loop.run(study(repetitions=1), rounds=1)
    control, treatment = sorted({c[0]["content"] for c, _ in loop.scripts["m"].sent}, key=len)
    reminder = load_task("breakfast").reminder
    assert reminder not in control
    assert treatment.replace(f"- {reminder}", "").split() == control.split()


def test_shuffled_conversation_ends_with_the_recommendation_for_another_cuisine() -> None:
    loop, of = Loop(scripts()), study(repetitions=1)
    answers: ExplicationAnswers = loop.run(of)
    talks = answers.stage.talks
    shuffled = {key: turns for key, _, turns in _real_texts(of, answers.stage) if key.source == SHUFFLED}
    assert len(shuffled) == 6 * 2
    for key, turns in shuffled.items():
        assert turns[:-1] == talks[key._replace(source=REAL)].turns[:-1]
        (origin,) = (
            other
            for other in of.real()
            if other.condition == key.condition and talks[other].turns[-1].text == turns[-1].text
        )
        assert of.personas[origin.persona].cuisine != of.personas[key.persona].cuisine


def test_hand_calculation_gives_rows_of_a_model_that_adapts() -> None:
    named = rows(study(), Loop(scripts()))
    expected = {
        ("apr", "overall", "all"): 9.0, ("apr", "null", SHUFFLED): 2.0, ("apr", "null", SILENT): 2.0,
        ("apr_gain", "overall", "all"): 7.0, ("tells_real_from_shuffled", "overall", "all"): 1.0,
        ("null:generic", "apr", ""): 2.0, ("null:fixed", "interaction", ""): 2.0,
        ("questions", "overall", "all"): 2.0, ("treatment_effect", "metric", "apr"): 0.0,
        ("treatment_p_holm", "metric", "apr"): 1.0, ("instruction_following", "condition", "control"): 4.0,
        # All get the same Korean dish; only the name in its title differs.
        ("own_cuisine", "overall", "all"): 1 / 6,
    }  # fmt: skip
    assert {key: named[key].value for key in expected} == pytest.approx(expected)
    assert named["apr", "overall", "all"].null_value == pytest.approx(2.0)
    assert named["own_cuisine", "overall", "all"].null_value == pytest.approx(1 / 6)
    assert named["likeness_across", "overall", "all"].value > 0.5


def test_hand_calculation_gives_rows_under_blind_strict_and_missing_judges() -> None:
    def strict(conversation: Sequence[Message], sampling: Sampling, schema: Schema) -> str:
        keys = list((schema or {})["properties"])
        verdict = "YES" if "contradicted" in keys else "4" if "focus" in keys else "10"
        return answer(keys, verdict, "plainly")

    blind = Script(lambda c, s, schema: answer(list((schema or {})["properties"]), "2", "generic"))
    named = rows(study(), Loop(scripts() | {"judge": blind}))
    assert named["tells_real_from_shuffled", "overall", "all"].value == 0.0
    assert named["apr_gain", "overall", "all"].value == 0.0
    named = rows(study(repetitions=1), Loop(scripts() | {"judge": Script(strict)}))
    assert named["interaction", "overall", "all"].value == 4.0  # a failure leaves at most four
    assert named["cultural_depth", "overall", "all"].value == 4.0
    assert named["apr", "overall", "all"].value == pytest.approx((4 + 4 + 10) / 3)
    assert named["contradicted", "overall", "all"].value == 1.0
    named = rows(study(judges=[]), Loop(scripts()))
    assert named["apr", "overall", "all"].unscored_reason == NO_JUDGE
    assert named["facts_elicited", "overall", "all"].value is not None


def test_sample_has_persona_dish_and_explained_scores() -> None:
    of, loop = study(repetitions=1), Loop(scripts())
    loop.run(of)
    assert EVALUATION.samples
    completions = Completions(engine("m"), {name: engine(name) for name in ("sim", "judge")}, loop.read)
    graded, *_ = EVALUATION.samples(of, completions)
    person = of.personas[graded.metadata["persona"]]
    assert graded.target == f"{person.name} ({person.cuisine}): {person.summary}"
    apr, violated = graded.scores["apr"], graded.scores["violated"]
    assert str(apr.answer).startswith("Bibimbap of ")
    assert apr.explanation == "by judge: mean of cultural_depth, constraint_awareness, personalisation"
    assert graded.scores["interaction"].explanation == "by judge"
    assert graded.scores["recommended"].explanation == "in the required form"
    assert re.fullmatch(r"\d+ of \d+ facts", str(graded.scores["facts_elicited"].explanation))
    assert re.search("of [0-9]+ constraints$|could be decided$", str(violated.explanation))


def test_task_file_is_read_or_refused_by_name(tmp_path: Any) -> None:
    text = load_task.__globals__["FOLDER"].joinpath("tasks", "gift.toml").read_text()
    own = tmp_path / "wedding.toml"
    own.write_text(text.replace('name = "gift"', 'name = "wedding"'))
    of = study(tasks=["breakfast", str(own)], repetitions=1)
    assert list(of.tasks) == ["breakfast", "wedding"]
    own.write_text(text.replace('final = ["Gift", "Why"]', 'final = ["Present"]'))
    with pytest.raises(TaskError, match="Present"):
        load_task(str(own))
    with pytest.raises(TaskError, match="breakfast, celebration, gift"):
        load_task("diner")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"personas": ["nobody"]}, "unknown nobody"),
        ({"tasks": ["gift", "gift"]}, "name each task once"),
        ({"personas_file": "/nowhere.json"}, "/nowhere.json"),
    ],
)
def test_unknown_personas_and_repeated_tasks_are_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        study(**more)


def test_config_hash_changes_with_whatever_changes_a_number() -> None:
    base = study().config_hash()
    assert base == study(models=["other"], batch=1, profile="x").config_hash()
    for changed in (
        {"repetitions": 3},
        {"tasks": ["gift"]},
        {"judges": []},
        {"personas": SIX[1:]},
        {"seed": 1},
    ):
        assert study(**changed).config_hash() != base
    assert study(conditions=["treatment", "control"]).conditions == CONDITIONS
