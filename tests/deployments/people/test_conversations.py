"""Conversations in pairs, rated by simulated people, and what a pull says of simulator and judges."""

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
from tests.deployments.test_cli_people import people, say, started
from warehouse import Warehouse, register_parts, run_checks, write_part

MODELS = {"model-good": 8.0, "model-fair": 5.0, "model-poor": 2.0}


def talks(warehouse: Warehouse, judge_is_right: bool = True, **more: str) -> None:
    """Conversations of three models with six shipped personas, graded by how good the model is."""
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
                    "country": country, "cuisine": cuisine, "condition": condition, "repetition": 0,
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
    """Everyone sees how good a conversation is, and gives the first of a page a point less where they can."""
    folder, database = started(home, "talks")
    for each in folder.assignments:
        hidden = folder.private[each.item]
        if hidden.expected:
            say(database, each.annotator, each.item, **hidden.expected, confidence="high")
            continue
        values: dict[str, str] = {"confidence": "high"}
        for which, model in zip(("first", "second"), hidden.model.split(" | "), strict=True):
            rating = {"good": 5, "fair": 4, "poor": 2}[model.removeprefix("model-")] - (which == "first")
            values |= {f"{which}_{field}": str(rating) for field in ("persona", "fit", "asked")}
        say(database, each.annotator, each.item, **values)
    database.close()


def drawn(home: Path) -> None:
    arguments = ("--study", "conversation-ratings", "--items", 18, "--people", 4, "--per-item", 2)
    result = people("new", "talks", *arguments)
    assert result.exit_code == 0, result.output
    path = home / "people" / "talks" / "study.toml"
    path.write_text(path.read_text().replace("min_seconds = 20", "min_seconds = 0"))


def test_pairs_are_in_both_orders_for_different_people_and_blinded(warehouse: Warehouse) -> None:
    few = people("new", "talks", "--study", "conversation-ratings", "--people", 3, "--per-item", 2)
    assert "ask for at least 4 people" in " ".join(few.output.split())
    none = people("new", "talks", "--study", "conversation-ratings", "--people", 4, "--per-item", 2)
    assert "start with: culturescope run explication" in " ".join(none.output.split())
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


def test_who_was_interviewed_rates_the_talks_of_their_own_persona(warehouse: Warehouse) -> None:
    # A persona of a file: known from the conversation's own row alone, and nobody recommended anything.
    talks(warehouse, persona="k-01", description="Aidana. Never eats nuts.", ended_by="farewell")
    codes = "K_01,k02"
    arguments = ("--study", "conversation-ratings", "--items", 9, "--people", 2, "--per-item", 1)
    result = people("new", "talks", *arguments, "--codes", codes)
    assert result.exit_code == 0, result.output
    folder = read_folder(warehouse.home / "people" / "talks")
    pairs = {each.item for each in folder.assignments if folder.private[each.item].code}
    assert pairs
    assert {each.annotator for each in folder.assignments if each.item in pairs} == {"K_01"}
    assert {folder.items[item].content["person"] for item in pairs} == {"Aidana. Never eats nuts."}
    assert len({frozenset(json.loads(folder.private[item].code)) for item in pairs}) == len(pairs)


def test_ratings_say_how_fit_simulator_and_judges_are(warehouse: Warehouse) -> None:
    talks(warehouse)
    drawn(warehouse.home)
    rated(warehouse.home)
    result = people("pull", "talks")
    assert result.exit_code == 0, result.output
    rows = {
        (row["dimension"], row["metric"]): row
        for row in warehouse.query("FROM conversation_validation").iter_rows(named=True)
    }
    # By hand: of the two who see a conversation first and the two who see it second, one point apart.
    assert rows["apr", "order_effect"]["value"] == -1.0
    assert rows["apr", "order_effect"]["n"] == 36
    assert rows["persona", "mean"]["n"] == 36 * 4
    assert abs(rows["persona", "mean"]["value"] - ((5 + 4 + 2) / 3 - 0.5)) < 1e-9
    assert rows["apr", "spearman_models"]["value"] == 1.0
    assert rows["apr", "spearman_models"]["n"] == 3
    # Where people see a difference, judges see the same; but what comes first loses its point.
    assert 0 < rows["apr", "opposite"]["value"] < 0.2
    assert rows["apr", "opposite"]["null_value"] == 0.5
    assert rows["apr", "cohen_kappa"]["value"] > 0.4
    low, high = rows["interaction", "opposite"]["ci_low"], rows["interaction", "opposite"]["ci_high"]
    assert low <= rows["interaction", "opposite"]["value"] <= high
    shown = people("agreement", "talks")
    assert "Simulator and judges compared with people" in " ".join(shown.output.split())
    frames = vars(read_data(warehouse, "explication", "c1")).values()
    assert any("spearman_models" in str(each.rows()) for each in frames if isinstance(each, pl.DataFrame))
    assert run_checks(warehouse)["n_violations"].sum() == 0
