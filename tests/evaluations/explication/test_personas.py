"""The shipped personas, personas in JSON, and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tasks.evaluations.explication.materials import (
    Persona,
    PersonaError,
    identifier_of,
    personas_of,
    read_personas,
    row_of,
)
from tasks.evaluations.explication.measures import NO_FACTS, OF_FACTS
from tasks.evaluations.explication.read import conversations
from tasks.evaluations.explication.rows import conversation_frame
from tasks.evaluations.explication.texts import is_in
from tasks.loop.dialogue import Dialogues
from tests.evaluations.explication.conftest import PERSONAS, REFERENCE, rows_of, study

TASKS = ("breakfast", "gift", "celebration")


@pytest.mark.parametrize("persona", PERSONAS.values(), ids=list(PERSONAS))
def test_phrases_of_a_persona_match_its_facts(persona: Persona) -> None:
    for task in TASKS:
        assert len(persona.facts_for(task)) >= 5, task
    for fact in persona.facts:
        assert is_in(fact.told_by, fact.text), f"{fact.fact}: its own text does not tell it"
        assert not is_in(fact.denied_by, fact.text), f"{fact.fact}: its own text denies it"
        assert not is_in(persona.dishes, fact.text), f"{fact.fact}: its text names a dish"
        assert not set(fact.tasks) - set(TASKS)
    assert set(persona.situations) == {"gift", "celebration"}


def test_personas_cover_cuisines_and_needs_and_equal_their_rows() -> None:
    countries = {row["country"] for row in rows_of(REFERENCE / "country.csv")}
    for row in rows_of(REFERENCE / "explication_persona.csv"):
        persona = PERSONAS[row["persona"]]
        assert row_of(persona) == row
        assert {persona.country, *persona.cuisine_countries} <= countries
    people = PERSONAS.values()
    assert len(people) >= 30
    assert len({persona.cuisine for persona in people}) >= 15
    rules = {rule for persona in people for rule in persona.checks.rules}
    assert rules >= {"vegetarian", "vegan", "halal", "kosher", "jain", "diabetic", "coeliac"}
    assert len({allergen for persona in people for allergen in persona.checks.allergens}) >= 5
    ages = [persona.demographics.age for persona in people]
    assert (min(ages) < 25, max(ages) > 70) == (True, True)
    assert {persona.constraints.cooking_skills for persona in people} >= {"novice", "expert"}
    assert {persona.constraints.budget for persona in people} >= {"low", "high"}
    assert sum((persona.checks.max_minutes or 99) <= 15 for persona in people) >= 3


def test_personas_survive_json(tmp_path: Path) -> None:
    for persona in PERSONAS.values():
        (tmp_path / f"{persona.persona}.json").write_text(persona.model_dump_json())
    assert {p.persona: p for p in read_personas(tmp_path)} == dict(PERSONAS)
    one = tmp_path / "all.json"
    one.write_text(json.dumps([p.model_dump(mode="json") for p in PERSONAS.values()]))
    assert len(read_personas(one)) == len(PERSONAS)


def test_description_has_the_facts_of_its_task_only() -> None:
    persona = PERSONAS["heena-ahmedabad"]
    breakfast, gift = persona.described("breakfast"), persona.described("gift")
    assert "told_by" not in breakfast
    assert "school bus" in breakfast
    assert "Chennai" in gift
    assert "Chennai" not in breakfast


def test_faulty_personas_are_refused_with_the_field(tmp_path: Path) -> None:
    good = PERSONAS["leila-lyon"].model_dump(mode="json")
    for change, message in (
        ({"country": "France"}, "country"),
        ({"mood": "good"}, "mood"),
        ({"dishes": ["Vegan Cake"]}, "dishes"),
        ({"dishes": ["night shift"]}, "which the user may not name"),
        ({"facts": good["facts"] + good["facts"][:1]}, "named twice"),
    ):
        with pytest.raises(PersonaError, match=message):
            personas_of([good | change], "mine")
    with pytest.raises(PersonaError, match="is repeated"):
        personas_of([good, good], "mine")
    with pytest.raises(PersonaError, match="has no"):
        read_personas(tmp_path)
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(PersonaError, match="broken"):
        read_personas(tmp_path)


BOX_2 = """persona_dict = {
    "name": "Meera",
    "demographics": {
        "age": "34", "gender": None, "location": "Pune, India", "occupation": "teacher",
        "household": "with family", "lifestyle": "mixed", "health_conditions": []
    },
    'typical_breakfast': ["poha", "tea"],
    "preparation_style": "steamed or fried, quick",
    "preferences": {"reasons": ["taste"], "weekday_vs_weekend": None, "preferred_beverages": "tea",
                    "favorite_items": ["poha"], "disliked_items": []},
    "constraints": {"time_available": "short", "dietary_restrictions": ["vegetarian"],
                    "budget": "low / medium / high",
                    "availability_of_items": "easy", "cooking_skills": "Intermediate"},
    "cultural_influences": {"childhood_habits": [], "family_traditions": None},
    "emotional_associations": ["comfort"],
    "routines_and_context": {"timing": "early morning", "who_with": "with family",
                             "where": "home", "pace": "rushed"},
    "aspirations_or_changes": {"desired_changes": "more protein", "ideal_breakfast": ""},
    "health_and_wellbeing": {"perceived_healthiness": "balanced"},
    "social_and_personality_signals": {},
    "notable_quotes": ["I don't skip it, ever."],
    "summary": "Meera eats a light breakfast."
}"""
"""The format of box 2 as an interviewer writes it: a Python dictionary, with gaps."""


def test_personas_in_the_papers_own_format_are_read(tmp_path: Path) -> None:
    (tmp_path / "meera.json").write_text(BOX_2)
    (persona,) = read_personas(tmp_path)
    assert (persona.persona, persona.country, persona.cuisine) == ("meera", "IN", "India")
    assert (persona.demographics.age, persona.constraints.budget) == (34, None)
    assert persona.constraints.cooking_skills == "intermediate"
    assert persona.preparation_style == ("steamed or fried, quick",)
    assert "Location: Pune, India" in persona.described("breakfast").replace("location", "Location")
    assert "I don't skip it, ever." in persona.described("breakfast")
    as_json = {"name": "Ann", "demographics": {"location": "Nowhere"}}
    with pytest.raises(PersonaError, match="no country is in the location 'Nowhere': add a field country"):
        personas_of([as_json], "mine")
    with pytest.raises(PersonaError, match="has no name"):
        personas_of([as_json | {"name": ""}], "mine")
    with pytest.raises(PersonaError, match="mood"):
        personas_of([as_json | {"country": "SE", "mood": "good"}], "mine")
    (tmp_path / "two.json").write_text("{'name': 'A'} and {'name': 'B'}")
    with pytest.raises(PersonaError, match="not valid JSON"):
        read_personas(tmp_path)


def test_a_persona_without_facts_has_no_counts_of_facts_and_all_else(tmp_path: Path) -> None:
    (tmp_path / "meera.json").write_text(BOX_2)
    of = study(personas_file=str(tmp_path / "meera.json"), repetitions=1, judges=[])
    stage = Dialogues(of.dialogues())
    for talk in stage.talks.values():
        talk.add_turn("What do you like?", 1)
        talk.add_turn("Something quick, thank you.", 1)
        talk.add_turn("#Dish name: Poha\n#Ingredients: rice\n#Instructions: fry", 1)
    made = conversations(of, stage, {})
    for name in OF_FACTS:
        values, reasons = made.counted(name)
        assert (np.isnan(values).all(), set(reasons)) == (True, {NO_FACTS})
    assert list(made.counted("recommended")[0]) == [1.0, 1.0]
    assert conversation_frame(made)["n_user_dishes"].to_list() == [None, None]


@pytest.mark.parametrize(
    ("location", "country"),
    [("Pune, India", "IN"), ("London, UK", "GB"), ("São Paulo, Brazil", "BR"), ("Lyon in France", "FR"),
     ("Niamey, Niger", "NE"), ("Lagos (Nigeria)", "NG"), ("Abidjan, Côte d’Ivoire", "CI"), ("USA", "US")],
)  # fmt: skip
def test_the_country_of_a_persona_is_in_its_location(location: str, country: str) -> None:
    fields = {"name": "Ann", "demographics": {"location": location}}
    assert personas_of([fields], "mine")[0].country == country


def test_conversation_is_stored_with_the_description_of_its_persona(tmp_path: Path) -> None:
    own = PERSONAS["leila-lyon"].model_copy(update={"persona": identifier_of("P07_a"), "name": "Nobody"})
    (tmp_path / "p.json").write_text(own.model_dump_json())
    of = study(personas_file=str(tmp_path), repetitions=1, tasks=["gift"])
    talk, *_ = conversation_frame(conversations(of, Dialogues(of.dialogues()), {})).to_dicts()
    assert (talk["persona"], talk["description"]) == ("p07-a", own.described("gift"))
    assert own.situations["gift"] in talk["description"]
