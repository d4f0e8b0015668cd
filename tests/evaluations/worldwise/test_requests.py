"""Prompts, schema and seeds, and the config_hash of parameters and tables."""

from __future__ import annotations

from collections.abc import Callable

import jsonschema
import pytest

from tasks.loop.requests import Engine
from tests.evaluations.worldwise.conftest import MakeStudy, Tables, tables


def test_samples_cross_cultures_scenarios_and_repetitions(make_study: MakeStudy) -> None:
    study = make_study(repetitions=2)
    keys = [sample.key for sample in study.samples]
    assert len(set(keys)) == len(keys) == study.n_samples == 4 * 4 * 2
    assert keys[:5] == [
        ("baseline", "i1", 0), ("baseline", "i2", 0), ("baseline", "p1", 0), ("baseline", "p2", 0),
        ("IN", "i1", 0),
    ]  # fmt: skip
    assert [key[2] for key in keys] == [0] * 16 + [1] * 16  # a repetition is whole before the next begins
    assert study.shape == (4, 4, 2)


def test_prompt_has_persona_scenario_options_and_values(make_study: MakeStudy) -> None:
    conversations = [sample.prompt.conversation for sample in make_study().samples]
    (question,) = conversations[0]
    assert question["role"] == "user"
    system, same = conversations[4]
    assert system == {"role": "system", "content": "You grew up in India."}
    assert same == question
    text = question["content"]
    assert text.startswith("What should i1 do?\n\nOption A: one of i1\nOption B: other at (0, 0, 0)\n\n")
    assert "Family Harmony; Future Planning; Achievement & Success; Group Loyalty." in text
    assert '"value_3"' in text
    ((as_text,), *_) = (sample.prompt.conversation for sample in make_study(answer_format="text").samples)
    assert "TOP_VALUES: first, second, third" in as_text["content"]


def test_schema_accepts_listed_values_and_decisions_only(make_study: MakeStudy) -> None:
    schema = make_study().samples[0].prompt.schema
    assert schema is not None
    assert all(sample.prompt.schema == schema for sample in make_study().samples)
    answer = {"decision": "Decline", "value_1": "Family Harmony", "value_2": "Group Loyalty"}
    answer |= {"value_3": "Future Planning", "explanation": "So."}
    jsonschema.validate(answer, schema)
    for wrong in ({"decision": "C"}, {"value_2": "Peace"}, {"mood": "good"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(answer | wrong, schema)
    # Strict mode: everything required, nothing else allowed; the explanation comes last.
    assert schema["required"] == list(schema["properties"])
    assert schema["additionalProperties"] is False
    assert schema["required"][-1] == "explanation"
    assert make_study(answer_format="text").samples[0].prompt.schema is None


def test_each_sample_has_its_own_seed(make_study: MakeStudy) -> None:
    requests = make_study(temperature=0.3, max_tokens=99, repetitions=3, batch=5).requests
    assert [(r.role, r.engine, r.batch, len(r.units)) for r in requests] == [("candidate", "", 5, 16)] * 3
    drawn = [request.sampling_of(unit) for request in requests for unit in request.units]
    assert {(s.temperature, s.max_tokens) for s in drawn} == {(0.3, 99)}
    assert len({s.seed for s in drawn}) == 3 * 16


def test_greedy_repetitions_are_sent_once(make_study: MakeStudy) -> None:
    study = make_study(temperature=0, repetitions=3)
    assert (len(study.samples), [len(r.units) for r in study.requests]) == (3 * 16, [16])


def test_requests_of_further_repetitions_are_added(make_study: MakeStudy) -> None:
    engine = Engine("m", "fake", "m", "m-hash")
    fewer, more = ([(r.hash(engine), r.units) for r in make_study(repetitions=n).requests] for n in (2, 3))
    assert more[:2] == fewer


# --- config_hash


def reworded(table: str, column: str, value: object) -> Callable[[Tables], None]:
    def change(rows: Tables) -> None:
        rows[table][0][column] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        reworded("scenario", "text", "And now?"),
        reworded("scenario", "category", "money"),
        reworded("exemplar", "text", "very high individualism"),
        reworded("guiding_value", "label", "Peace at Home"),
        reworded("culture_profile", "score", 0.5),
        reworded("persona", "text", "Be of {country}."),
        reworded("country", "name", "Bharat"),
        reworded("stereotype", "phrase", "they never"),
        lambda rows: rows["guiding_value"].reverse(),
        lambda rows: rows["exemplar"].append(rows["exemplar"][0] | {"number": 2}),
    ],
)  # fmt: skip
def test_config_hash_changes_with_the_tables(make_study: MakeStudy, change: Callable[[Tables], None]) -> None:
    rows = tables()
    change(rows)
    assert make_study(rows).config_hash() != make_study().config_hash()


def test_config_hash_ignores_row_order(make_study: MakeStudy) -> None:
    rows = tables()
    for name in rows.keys() - {"guiding_value"}:  # their order is the prompt's
        rows[name].reverse()
    rows["scenario"][0]["region"] = "Oceania"  # is not read
    assert make_study(rows).config_hash() == make_study().config_hash()
    assert make_study(rows).samples == make_study().samples
    assert make_study(cultures=["mexico", "JP", "India"]).config_hash() == make_study().config_hash()
    assert make_study(cultures=["IN", "JP"]).config_hash() != make_study().config_hash()
