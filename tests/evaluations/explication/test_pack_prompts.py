"""Texts of a pack in place of the shipped ones: recommenders, simulated user and rules of judges."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tasks.evaluations.explication.evaluation import EVALUATION
from tasks.evaluations.explication.pack import WORDINGS
from tasks.evaluations.explication.read import judge_call
from tasks.evaluations.explication.study import MOST_TURNS, RUBRICS, ExplicationStudy, build_study
from tests.evaluations.explication.conftest import DISHES, REFERENCE, engine, rows_of, study

PROMPTS = {
    "control": "{{ expert }} Recommend something.",
    "treatment": "{{ expert }} {{ reminder }} Recommend something.",
    "simulator": "You are this person:\n{{ persona }}",
    "quality": "Grade it from 1 to 10.",
}


def with_pack(prompts: Mapping[str, str] = PROMPTS, **params: object) -> ExplicationStudy:
    bare = study(**params)
    tables = {"persona": rows_of(REFERENCE / "explication_persona.csv"), "dish": DISHES, "prompts": [prompts]}
    tables["country"] = [{"country": row["country"]} for row in rows_of(REFERENCE / "country.csv")]
    return build_study(bare.params, tables, {name: engine(name) for name in ("sim", "judge")})


def test_system_prompts_and_rules_are_the_packs() -> None:
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


def test_unlimited_turns_end_at_a_thousand() -> None:
    endless = study(max_turns=0, max_personas=1, repetitions=1)
    assert {dialogue.max_turns for dialogue in endless.dialogues()} == {MOST_TURNS}
    assert sum(each.n for each in EVALUATION.later(endless)) > MOST_TURNS


@pytest.mark.parametrize("style", ["direct", "reasoned"])
@pytest.mark.parametrize("rubric", RUBRICS)
def test_judge_prompt_has_the_packs_rules_question_and_form(rubric: str, style: str) -> None:
    """Only judges who reason have the form."""
    words = {
        rubric: "Rules of a pack.",
        f"{rubric}_question": "Talk of a pack: {{ conversation }}",
        "judge_form": "Form of a pack for {keys}.",
    }
    own = with_pack(words, max_personas=1, repetitions=1, judge_style=style)
    call = judge_call(own, next(own.real()), rubric, ["Hello"])
    rules, question = (str(message["content"]) for message in call.prompt.conversation)
    assert "Rules of a pack." in rules
    assert question == 'Talk of a pack: <data>["Hello"]</data>'
    assert ("Form of a pack" in rules) == (style == "reasoned")
    assert all(f'"{key}"' in rules for key in call.keys)


def test_config_hash_changes_with_each_wording_of_a_pack() -> None:
    texts = {each.name: " ".join(f"{{{{ {name} }}}}" for name in each.example) or "Own." for each in WORDINGS}
    shipped = with_pack({}, judge_style="reasoned").config_hash()
    hashes = {with_pack({name: text}, judge_style="reasoned").config_hash() for name, text in texts.items()}
    assert len(hashes | {shipped}) == len(WORDINGS) + 1
