"""Texts of a pack in place of the shipped ones: both recommenders, the simulated user, the judges' rules."""

from __future__ import annotations

from tasks.evaluations.explication.evaluation import EVALUATION
from tasks.evaluations.explication.study import MOST_TURNS, ExplicationStudy, build_study
from tests.evaluations.explication.conftest import DISHES, REFERENCE, engine, rows_of, study

PROMPTS = {
    "control": "{{ expert }} Recommend something.",
    "treatment": "{{ expert }} {{ reminder }} Recommend something.",
    "simulator": "You are this person:\n{{ persona }}",
    "quality": "Grade it from 1 to 10.",
}


def with_pack(**params: object) -> ExplicationStudy:
    bare = study(**params)
    tables = {
        "persona": rows_of(REFERENCE / "explication_persona.csv"),
        "dish": DISHES,
        "country": [{"country": row["country"]} for row in rows_of(REFERENCE / "country.csv")],
        "prompts": [PROMPTS],
    }
    return build_study(bare.params, tables, {name: engine(name) for name in ("sim", "judge")})


def test_every_voice_speaks_by_the_packs_prompt() -> None:
    own = with_pack(max_personas=1, repetitions=1)
    (task,), (persona,) = own.tasks.values(), own.personas.values()
    systems = {
        (dialogue.key.condition, voice.name): voice.system
        for dialogue in own.dialogues()
        if dialogue.key.source == "real"
        for voice in dialogue.voices
    }
    assert systems["control", "recommender"] == f"{task.expert} Recommend something."
    assert systems["treatment", "recommender"] == f"{task.expert} {task.reminder} Recommend something."
    assert systems["control", "user"] == f"You are this person:\n{persona.described(task.name)}".strip()
    assert own.rubrics["quality"].system == "Grade it from 1 to 10."
    assert own.rubrics["failures"] == study().rubrics["failures"]
    assert own.config_hash() != study(max_personas=1, repetitions=1).config_hash()


def test_no_limit_of_turns_is_a_thousand() -> None:
    endless = study(max_turns=0, max_personas=1, repetitions=1)
    assert {dialogue.max_turns for dialogue in endless.dialogues()} == {MOST_TURNS}
    assert sum(each.n for each in EVALUATION.later(endless)) > MOST_TURNS
