"""Conversations in pairs, rated by simulated people; agreement with simulator and judges."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import polars as pl

from deployments.show.report import read_data
from tasks.evaluations.explication.rows import SCHEMA
from tasks.people.study import read_folder
from tests.deployments.judged_run import store_run
from tests.deployments.test_cli_people import people, save_answers, started
from warehouse import Warehouse, register_parts, run_checks, write_part

MODELS = {"model-good": 8.0, "model-fair": 5.0, "model-poor": 2.0}


def talks(warehouse: Warehouse, judge_is_right: bool = True, **more: str) -> None:
    """Store conversations of three models with six shipped personas, graded by the model's quality."""
    personas = warehouse.query(
        "SELECT persona, name, country, cuisine FROM explication_persona ORDER BY ALL LIMIT 6"
    )
    for model, quality in MODELS.items():
        run_id = f"run-{model}"
        store_run(warehouse, "explication", model, run_id, "c1", [])
        rows = []
        for place, (persona, name, country, cuisine) in enumerate(personas.rows()):
            for condition in ("control", "treatment"):
                row: dict[str, Any] = dict.fromkeys(SCHEMA)
                grade = quality + (condition == "treatment") * 0.5
                row |= {
                    "config_hash": "c1", "task": "breakfast", "persona": persona, "persona_name": name,
                    "country": country, "cuisine": cuisine, "description": name, "condition": condition,
                    "repetition": 0,
                    "transcript": f"Recommender: What do you like?\n\nUser: {condition}, {quality}.",
                    "seed": 0, "ended_by": "recommendation", "n_turns": 2, "n_tokens": 9,
                    "apr": grade if judge_is_right else 10 - grade, "interaction": grade,
                }  # fmt: skip
                rows.append(row | ({"repetition": place, **more} if more else {}))
        frame = pl.DataFrame(rows, schema=SCHEMA).with_columns(
            run_id=pl.lit(run_id), model=pl.lit(model), request_hash=pl.lit(run_id)
        )
        with warehouse.write() as connection:
            register_parts(
                connection, [write_part(warehouse.home, "explication_conversation", run_id, frame)]
            )


def rated(home: Path) -> None:
    """Save ratings equal to the model's quality; the first conversation of a page gets one point less."""
    folder, database = started(home, "talks")
    for each in folder.assignments:
        hidden = folder.private[each.item]
        if hidden.expected:
            save_answers(database, each.annotator, each.item, **hidden.expected, confidence="high")
            continue
        values: dict[str, str] = {"confidence": "high"}
        for which, model in zip(("first", "second"), hidden.model.split(" | "), strict=True):
            rating = {"good": 5, "fair": 4, "poor": 2}[model.removeprefix("model-")] - (which == "first")
            values |= {f"{which}_{field}": str(rating) for field in ("persona", "fit", "asked")}
        save_answers(database, each.annotator, each.item, **values)
    database.close()


def drawn(home: Path) -> None:
    arguments = ("--study", "conversation-ratings", "--items", 18, "--people", 4, "--per-item", 2)
    people("new", "talks", *arguments)
    path = home / "people" / "talks" / "study.toml"
    path.write_text(path.read_text().replace("min_seconds = 20", "min_seconds = 0"))


def test_pairs_are_drawn_in_both_orders_and_without_model_names(warehouse: Warehouse) -> None:
    new = ("new", "talks", "--study", "conversation-ratings", "--per-item", 2, "--people")
    assert "ask for at least 4 people" in people(*new, 3, code=1)
    assert "start with: culturemeter run explication" in people(*new, 4, code=1)
    talks(warehouse)
    drawn(warehouse.home)
    folder = read_folder(warehouse.home / "people" / "talks")
    orders: dict[frozenset[str], list[tuple[str, ...]]] = defaultdict(list)
    seen: dict[str, list[frozenset[str]]] = defaultdict(list)
    for each in folder.assignments:
        if hidden := folder.private[each.item].code:
            first, second = (json.loads(name) for name in json.loads(hidden))
            assert first[2] == second[2]  # one persona
            assert (first[0], first[3]) != (second[0], second[3])
            pair = frozenset(json.loads(hidden))
            orders[pair].append(tuple(json.loads(hidden)))
            seen[each.annotator].append(pair)
    assert len(orders) == 18
    assert all(sorted(Counter(own).values()) == [2, 2] for own in orders.values())
    assert all(len(own) == len(set(own)) for own in seen.values())
    shown = (warehouse.home / "people" / "talks" / "items.jsonl").read_text()
    assert not [word for word in ("run-", "model-", "config") if word in shown]


def test_interviewed_person_rates_conversations_of_their_own_persona(warehouse: Warehouse) -> None:
    # The persona comes from a file, is described only in the conversation's row, and got no recommendation.
    talks(warehouse, persona="k-01", description="Aidana. Never eats nuts.", ended_by="farewell")
    codes = "K_01,k02"
    arguments = ("--study", "conversation-ratings", "--items", 9, "--people", 2, "--per-item", 1)
    people("new", "talks", *arguments, "--codes", codes)
    folder = read_folder(warehouse.home / "people" / "talks")
    pairs = {each.item for each in folder.assignments if folder.private[each.item].code}
    assert pairs
    assert {each.annotator for each in folder.assignments if each.item in pairs} == {"K_01"}
    assert {folder.items[item].content["person"] for item in pairs} == {"Aidana. Never eats nuts."}
    assert len({frozenset(json.loads(folder.private[item].code)) for item in pairs}) == len(pairs)


def test_ratings_give_order_effect_and_agreement_with_judges(warehouse: Warehouse) -> None:
    talks(warehouse)
    drawn(warehouse.home)
    rated(warehouse.home)
    people("pull", "talks")
    rows = {
        (row["dimension"], row["metric"]): row
        for row in warehouse.query("FROM conversation_validation").iter_rows(named=True)
    }
    # By hand: the two who see a conversation first and the two who see it second differ by one point.
    assert rows["apr", "order_effect"]["value"] == -1.0
    assert rows["apr", "order_effect"]["n"] == 36
    assert rows["persona", "mean"]["n"] == 36 * 4
    assert abs(rows["persona", "mean"]["value"] - ((5 + 4 + 2) / 3 - 0.5)) < 1e-9
    assert rows["apr", "spearman_models"]["value"] == 1.0
    assert rows["apr", "spearman_models"]["n"] == 3
    # Judges agree with people's differences, except for the point that the first of a page loses.
    assert 0 < rows["apr", "opposite"]["value"] < 0.2
    assert rows["apr", "opposite"]["null_value"] == 0.5
    assert rows["apr", "cohen_kappa"]["value"] > 0.4
    low, high = rows["interaction", "opposite"]["ci_low"], rows["interaction", "opposite"]["ci_high"]
    assert low <= rows["interaction", "opposite"]["value"] <= high
    people("agreement", "talks")
    frames = vars(read_data(warehouse, "explication", "c1")).values()
    assert any("spearman_models" in str(each.rows()) for each in frames if isinstance(each, pl.DataFrame))
    assert run_checks(warehouse)["n_violations"].sum() == 0
