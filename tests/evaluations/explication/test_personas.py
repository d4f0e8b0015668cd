"""The shipped personas: schema, phrases, counts; JSON in and out; what is wrong is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tasks.evaluations.explication.personas import Persona, PersonaError, personas_of, read_personas, row_of
from tasks.evaluations.explication.phrases import is_in
from tests.evaluations.explication.conftest import PERSONAS, REFERENCE, rows_of

TASKS = ("breakfast", "gift", "celebration")


@pytest.mark.parametrize("persona", PERSONAS.values(), ids=list(PERSONAS))
def test_each_can_be_measured(persona: Persona) -> None:
    for task in TASKS:
        assert len(persona.facts_for(task)) >= 5, task
    for fact in persona.facts:
        assert is_in(fact.told_by, fact.text), f"{fact.fact}: its own text does not tell it"
        assert not is_in(fact.denied_by, fact.text), f"{fact.fact}: its own text denies it"
        assert not is_in(persona.dishes, fact.text), f"{fact.fact}: its text names a dish"
        assert not set(fact.tasks) - set(TASKS)
    assert set(persona.situations) == {"gift", "celebration"}


def test_countries_are_known_and_rows_agree_with_profiles() -> None:
    countries = {row["country"] for row in rows_of(REFERENCE / "country.csv")}
    for row in rows_of(REFERENCE / "explication_persona.csv"):
        persona = PERSONAS[row["persona"]]
        assert row_of(persona) == row
        assert {persona.country, *persona.cuisine_countries} <= countries


def test_json_goes_in_and_out(tmp_path: Path) -> None:
    for persona in PERSONAS.values():
        (tmp_path / f"{persona.persona}.json").write_text(persona.model_dump_json())
    assert {p.persona: p for p in read_personas(tmp_path)} == dict(PERSONAS)
    one = tmp_path / "all.json"
    one.write_text(json.dumps([p.model_dump(mode="json") for p in PERSONAS.values()]))
    assert len(read_personas(one)) == len(PERSONAS)


def test_described_has_no_phrases_and_only_what_the_task_needs() -> None:
    persona = PERSONAS["heena-ahmedabad"]
    breakfast, gift = persona.described("breakfast"), persona.described("gift")
    assert "told_by" not in breakfast
    assert "school bus" in breakfast
    assert "Chennai" in gift
    assert "Chennai" not in breakfast


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
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
    with pytest.raises(PersonaError, match="comes twice"):
        personas_of([good, good], "mine")
    with pytest.raises(PersonaError, match="no file"):
        read_personas(tmp_path)
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(PersonaError, match="broken"):
        read_personas(tmp_path)
