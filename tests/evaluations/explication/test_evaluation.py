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
from tasks.evaluations.explication.read import ExplicationAnswers
from tasks.evaluations.explication.study import REAL, SHUFFLED, SILENT, ConversationKey, ExplicationStudy
from tasks.judging.rubric import CLOSE, OPEN
from tasks.loop.dialogue import Dialogues, Voice
from tests.evaluations.explication.conftest import SIX, Loop, Script, engine, study

RECIPE = """#Dish name: Bibimbap of {name}
#Ingredients: rice, spinach, carrot, cucumber, sesame oil, chili
#Instructions: Cook the rice for 15 minutes, put the vegetables on it and mix."""


def recommend(conversation: Sequence[Message], sampling: Sampling, schema: Schema) -> str:
    """Asks twice, then recommends what names the last answer."""
    asked = sum(m["role"] == "assistant" for m in conversation)
    if asked < 2:
        return ("Do you follow a diet?", "How much time do you have?")[asked]
    return RECIPE.format(name=conversation[-1]["content"][:40])


def user(conversation: Sequence[Message], sampling: Sampling, schema: Schema) -> str:
    """Says who it is."""
    name = re.search(r"Name: (\S+)", conversation[0]["content"])
    return f"I am {name[1] if name else '?'}, take {sampling.seed}."


def judge(conversation: Sequence[Message], sampling: Sampling, schema: Schema) -> str:
    """Looks for the user's name in the recommendation, in the quoted data alone."""
    question = conversation[-1]["content"]
    outside = re.sub(f"{re.escape(OPEN)}.*?{re.escape(CLOSE)}", "", question, flags=re.S)
    assert "10" not in outside, "something got out of its quotation"
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


def scripts(say: Any = recommend) -> dict[str, Script]:
    return {"m": Script(say), "sim": Script(user), "judge": Script(judge)}


def rows(of: Any, loop: Loop) -> dict[tuple[str, str, str], Any]:
    """metric, slice -> row of the model, and of null recommenders under their names."""
    shared = loop.run(of, "")
    cohort = Cohort({"m": loop.run(of)}, {}, {"m": engine("m")})
    tables = EVALUATION.rows(of, cohort, shared)
    return {(row.metric, row.slice_kind, row.slice): row for row in tables.metrics["m"]} | {
        (model, row.metric, ""): row for model, own in tables.metrics.items() if model != "m" for row in own
    }


def test_rounds_are_turns_and_every_conversation_has_an_opening_of_its_own() -> None:
    loop, of = Loop(scripts()), study()
    loop.run(of, rounds=1)
    # Six personas, two conditions, two repetitions; and with a silent user once for each of the former.
    assert len(loop.scripts["m"].sent) == 6 * 2 * 2 + 6 * 2
    assert len({seed for _, seed in loop.scripts["m"].sent}) == len(loop.scripts["m"].sent)
    answers: ExplicationAnswers = loop.run(of)
    sent = [json.dumps([list(c), seed]) for s in loop.scripts.values() for c, seed in s.sent]
    assert len(set(sent)) == len(sent)
    assert {talk.ended_by for talk in answers.stage.talks.values()} == {"recommendation"}
    assert len(list(of.real())) == 6 * 2 * 2


def waiting(of: ExplicationStudy, who: str) -> Counter[str]:
    """Unit -> how many conversations of the plan's first round wait for it; who: candidate or simulator."""
    lines = Voice(RECOMMENDER, lines=("What do you like?",))
    units: Counter[str] = Counter()
    for dialogue in of.dialogues():
        voices = dialogue.voices if who == "candidate" else (lines, dialogue.voices[1])
        units.update(u for r in Dialogues([replace(dialogue, voices=voices)]).requests() for u in r.units)
    return units


@pytest.mark.parametrize("who", ["candidate", "simulator"])
def test_no_two_sampled_conversations_share_a_unit(who: str) -> None:
    of = study(tasks=["breakfast", "gift"], personas=["leila-lyon", "aisha-kano", "jonas-lulea"])
    own = waiting(of, who)
    assert set(own.values()) == {1}
    # Of 2 tasks x 3 personas x 2 conditions 2 repetitions; silent users wait for nothing as simulators.
    assert len(own) == 24 + (12 if who == "candidate" else 0)
    # Nor do repetitions share any: the same with one repetition less is a part of them.
    assert waiting(study(tasks=["breakfast", "gift"], personas=list(of.personas), repetitions=1), who) < own


def test_greedy_conversations_share_what_begins_alike() -> None:
    of = study(tasks=["breakfast", "gift"], personas=["leila-lyon", "aisha-kano"], temperature=0)
    # 2 personas x (2 repetitions + the silent user).
    assert sorted(waiting(of, "candidate").values()) == [6] * 4
    assert sorted(waiting(of, "simulator").values()) == [4] * 4  # the conditions look alike to the user


def test_control_and_treatment_differ_in_the_reminder_alone() -> None:
    loop = Loop(scripts())
    loop.run(study(repetitions=1), rounds=1)
    control, treatment = sorted({c[0]["content"] for c, _ in loop.scripts["m"].sent}, key=len)
    reminder = load_task("breakfast").reminder
    assert reminder not in control
    assert treatment.replace(f"- {reminder}", "").split() == control.split()


def test_the_numbers_of_a_model_that_adapts() -> None:
    of = study()
    named = rows(of, Loop(scripts()))
    assert named["apr", "overall", "all"].value == pytest.approx(9.0)
    assert named["apr", "null", SHUFFLED].value == pytest.approx(2.0)
    assert named["apr", "null", SILENT].value == pytest.approx(2.0)
    assert named["apr", "overall", "all"].null_value == pytest.approx(2.0)
    assert named["apr_gain", "overall", "all"].value == pytest.approx(7.0)
    assert named["tells_real_from_shuffled", "overall", "all"].value == 1.0
    assert named["null:generic", "apr", ""].value == pytest.approx(2.0)
    assert named["null:fixed", "interaction", ""].value == pytest.approx(2.0)
    assert named["questions", "overall", "all"].value == 2.0
    assert named["treatment_effect", "metric", "apr"].value == 0.0
    assert named["treatment_p_holm", "metric", "apr"].value == 1.0
    assert named["instruction_following", "condition", "control"].value == 4.0
    # One dish for everybody but for the name in its title, and it is Korean.
    assert named["own_cuisine", "overall", "all"].value == pytest.approx(1 / 6)
    assert named["own_cuisine", "overall", "all"].null_value == pytest.approx(1 / 6)
    assert named["likeness_across", "overall", "all"].value > 0.5


def test_a_sample_names_its_person_its_dish_and_what_each_score_is_made_of() -> None:
    of, loop = study(repetitions=1), Loop(scripts())
    loop.run(of)
    assert EVALUATION.samples
    completions = Completions(engine("m"), {name: engine(name) for name in ("sim", "judge")}, loop.read)
    graded, *_ = EVALUATION.samples(of, completions)
    person = of.personas[graded.metadata["persona"]]
    assert graded.target == f"{person.name} ({person.cuisine}): {person.summary}"
    apr, violated = graded.scores["apr"], graded.scores["violated"]
    assert str(apr.answer).startswith("Bibimbap of ")
    assert apr.explanation == ("by judge: mean of cultural_depth, constraint_awareness, personalisation")
    assert graded.scores["interaction"].explanation == "by judge"
    assert graded.scores["recommended"].explanation == "in the required form"
    assert re.fullmatch(r"\d+ of \d+ facts", str(graded.scores["facts_elicited"].explanation))
    assert re.search("of [0-9]+ constraints$|could be decided$", str(violated.explanation))


def test_a_judge_that_does_not_look_is_flagged() -> None:
    made = scripts()
    made["judge"] = Script(lambda c, s, schema: answer(list((schema or {})["properties"]), "2", "generic"))
    named = rows(study(), Loop(made))
    assert named["tells_real_from_shuffled", "overall", "all"].value == 0.0
    assert named["apr_gain", "overall", "all"].value == 0.0


def test_penalties_leave_at_most_four() -> None:
    def strict(conversation: Sequence[Message], sampling: Sampling, schema: Schema) -> str:
        keys = list((schema or {})["properties"])
        verdict = "YES" if "contradicted" in keys else "4" if "focus" in keys else "10"
        return answer(keys, verdict, "plainly")

    made = scripts() | {"judge": Script(strict)}
    named = rows(study(repetitions=1), Loop(made))
    assert named["interaction", "overall", "all"].value == 4.0
    assert named["cultural_depth", "overall", "all"].value == 4.0
    assert named["apr", "overall", "all"].value == pytest.approx((4 + 4 + 10) / 3)
    assert named["contradicted", "overall", "all"].value == 1.0


def test_without_judges_all_is_counted_and_grades_say_why_not() -> None:
    named = rows(study(judges=[]), Loop(scripts()))
    assert named["apr", "overall", "all"].unscored_reason == "no judge was named"
    assert named["facts_elicited", "overall", "all"].value is not None


def test_killed_at_every_round_nothing_is_sent_twice_and_batches_change_nothing() -> None:
    whole, resumed = Loop(scripts()), Loop(scripts())
    undisturbed = whole.run(study())
    in_batches = Loop(scripts()).run(study(), batch=7)
    turns = [{key: talk.turns for key, talk in a.stage.talks.items()} for a in (undisturbed, in_batches)]
    assert turns[0] == turns[1]
    for _ in range(12):
        resumed.run(study(), rounds=1)  # a new study: only what is stored is known
    answers = resumed.run(study())
    for name, script in resumed.scripts.items():
        sent = sorted(json.dumps([list(c), seed]) for c, seed in script.sent)
        assert sent == sorted(json.dumps([list(c), s]) for c, s in whole.scripts[name].sent)
    assert answers.grades == undisturbed.grades


def test_repetitions_have_seeds_of_their_own() -> None:
    answers = Loop(scripts()).run(study(seed=7, repetitions=3))
    keys = [ConversationKey(REAL, "breakfast", "heena-ahmedabad", "control", r) for r in range(3)]
    assert len({answers.stage.talks[key].turns[1].text for key in keys}) == 3


def test_a_task_is_a_file(tmp_path: Any) -> None:
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
def test_what_cannot_be_asked_is_said_in_one_line(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        study(**more)


def test_what_may_be_compared() -> None:
    base = study().config_hash()
    assert base == study(models=["other"], batch=1, profile="x").config_hash()
    for name, value in (
        ("repetitions", 3),
        ("tasks", ["gift"]),
        ("judges", []),
        ("personas", SIX[1:]),
        ("seed", 1),
    ):
        assert study(**{name: value}).config_hash() != base
    assert study(conditions=["treatment", "control"]).conditions == CONDITIONS
