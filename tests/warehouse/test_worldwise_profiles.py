"""Profiles, stereotypes and personas of the worldwise evaluation: complete, and as their sources say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from tasks.metrics.alignment import bucketed_profile
from tasks.metrics.stereotypes import stereotype_scores
from warehouse import Warehouse

Row = dict[str, Any]

HOFSTEDE = (
    "individualism",
    "power_distance",
    "masculinity",
    "uncertainty_avoidance",
    "long_term_orientation",
    "indulgence",
)
# Seed paper 003, section 7.4, columns in the order of HOFSTEDE.
SEED_PROFILES = {
    "US": [2.0, -1.0, 1.0, 0.0, -1.5, 1.5],
    "IN": [0.0, 1.5, 1.0, -1.0, 0.0, -1.5],
    "JP": [0.0, 0.0, 2.0, 2.0, 2.0, -1.0],
    "MX": [-1.5, 2.0, 1.5, 2.0, -1.5, 2.0],
    "AE": [-1.5, 2.0, 0.0, 1.5, -1.5, -1.0],
}


@pytest.fixture(scope="module")
def warehouse(blank: Path) -> Warehouse:
    """The reference as it is loaded; nothing here writes, so that no test needs a copy."""
    return Warehouse.open(blank)


def rows(warehouse: Warehouse, table: str) -> list[Row]:
    return warehouse.query(f"SELECT * FROM {table}").to_dicts()


# --- profiles
# ------------------------------------------------------------------------------------------------------


def scores_of(warehouse: Warehouse, profile: str) -> dict[str, dict[str, float]]:
    scores: dict[str, dict[str, float]] = {}
    for row in rows(warehouse, "culture_profile"):
        if row["profile"] == profile:
            assert row["framework"] == "hofstede"
            scores.setdefault(row["country"], {})[row["dimension"]] = row["score"]
    return scores


def test_seed_profiles_are_those_of_the_paper(warehouse: Warehouse) -> None:
    expected = {
        country: dict(zip(HOFSTEDE, scores, strict=True)) for country, scores in SEED_PROFILES.items()
    }
    assert scores_of(warehouse, "seed_bucketed") == expected


def test_published_scores_bucketed_are_the_seeds(warehouse: Warehouse) -> None:
    """Two ways to one table: Hofstede's matrix through the seed's buckets. The seed estimates the UAE's."""
    published = scores_of(warehouse, "hofstede_published")
    for country in ("US", "IN", "JP", "MX"):
        scores = [published[country][dimension] for dimension in HOFSTEDE]
        assert bucketed_profile(scores).tolist() == SEED_PROFILES[country], country


def test_sixty_countries_have_all_six_published_scores(warehouse: Warehouse) -> None:
    published = scores_of(warehouse, "hofstede_published")
    complete = [country for country, scores in published.items() if set(scores) == set(HOFSTEDE)]
    assert len(complete) >= 60
    assert len(published) > len(complete)
    # Spot checks from Hofstede, Hofstede and Minkov (2010): Denmark, Greece and Slovakia, with the extremes.
    assert published["DK"]["power_distance"] == 18
    assert published["GR"]["uncertainty_avoidance"] == 112
    assert published["SK"]["masculinity"] == 110


def test_profiles_refer_to_what_is_there_and_regions_only_fill_gaps(warehouse: Warehouse) -> None:
    countries = {row["country"] for row in rows(warehouse, "country")}
    profiles = rows(warehouse, "culture_profile")
    assert {row["country"] for row in profiles} <= countries
    assert {row["dimension"] for row in profiles} == set(HOFSTEDE)
    assert {row["profile"] for row in profiles} == {
        "hofstede_published",
        "hofstede_regional",
        "seed_bucketed",
    }
    cells = {
        name: {(country, d) for country, scores in scores_of(warehouse, name).items() for d in scores}
        for name in ("hofstede_published", "hofstede_regional")
    }
    assert not cells["hofstede_published"] & cells["hofstede_regional"]


# --- stereotypes and personas
# ------------------------------------------------------------------------------------------------------


def test_nothing_that_is_asked_holds_a_listed_stereotype(warehouse: Warehouse) -> None:
    phrases = [row["phrase"] for row in rows(warehouse, "stereotype")]
    assert len({phrase.casefold() for phrase in phrases}) == len(phrases) >= 60
    personas = [row["text"] for row in rows(warehouse, "persona")]
    asked = [
        row[column] for row in rows(warehouse, "scenario") for column in ("text", "option_a", "option_b")
    ]
    exemplars = [row["text"] for row in rows(warehouse, "exemplar")]
    for text, score in zip(
        [*asked, *exemplars, *personas],
        stereotype_scores([*asked, *exemplars, *personas], phrases),
        strict=True,
    ):
        assert score is not None
        assert score.n_phrases == 0, text


def test_stereotypes_are_said_of_a_country_a_region_or_any(warehouse: Warehouse) -> None:
    countries = {row["country"] for row in rows(warehouse, "country")}
    regions = {row["region"] for row in rows(warehouse, "scenario")} - {"none"}
    said_of = {row["country_or_region"] for row in rows(warehouse, "stereotype")}
    assert said_of <= countries | regions | {"any"}


def test_personas_name_the_country_once(warehouse: Warehouse) -> None:
    personas = {row["language"]: row["text"] for row in rows(warehouse, "persona")}
    assert "en" in personas
    languages = {
        row["code"] for row in rows(warehouse, "current_item WHERE item_list = 'languages'") if row["code"]
    }
    assert set(personas) <= languages
    for language, text in personas.items():
        assert text.count("{country}") == 1, language
        assert "Testland" in text.format(country="Testland")


# --- tables
# ------------------------------------------------------------------------------------------------------


SCHEMA = Path(__file__).parents[2] / "warehouse" / "schema" / "003_worldwise.sql"


SCENARIO = "'s', 'hofstede', 'individualism', 'work'"


@pytest.mark.parametrize(
    ("table", "accepted", "refused"),
    [
        (
            "scenario",
            f"{SCENARIO}, 'none', true, 'masculinity', 'Text?', 'A.', 'B.', 'low'",
            [
                f"{SCENARIO}, 'Atlantis', true, 'masculinity', 'Text?', 'A.', 'B.', 'low'",
                f"{SCENARIO}, 'none', true, NULL, 'Text?', 'A.', 'B.', 'low'",
                f"{SCENARIO}, 'none', false, 'masculinity', 'Text?', 'A.', 'B.', 'low'",
                f"{SCENARIO}, 'none', false, NULL, 'Text?', 'A.', 'A.', 'low'",
                f"{SCENARIO}, 'none', false, NULL, 'Text?', 'A.', 'B.', 'middle'",
            ],
        ),
        (
            "exemplar",
            "'hofstede', 'individualism', 'high', 1, 'I go alone.'",
            [
                "'hofstede', 'individualism', 'middle', 1, 'I go alone.'",
                "'hofstede', 'individualism', 'high', 0, 'I go alone.'",
            ],
        ),
        (
            "culture_profile",
            "'seed_bucketed', 'FR', 'individualism', -2, 'hofstede'",
            [
                "'seed_bucketed', 'FR', 'individualism', 40, 'hofstede'",
                "'hofstede_published', 'FR', 'individualism', -2, 'hofstede'",
                "'own', 'FR', 'individualism', 'nan'::DOUBLE, 'hofstede'",
            ],
        ),
        ("persona", "'en', 'You grew up in {country}.'", ["'en', 'You grew up there.'"]),
    ],
)
def test_tables_refuse_what_makes_no_sense(table: str, accepted: str, refused: list[str]) -> None:
    with duckdb.connect() as connection:
        connection.execute(SCHEMA.read_text(encoding="utf-8"))
        connection.execute(f"INSERT INTO {table} VALUES ({accepted})")
        connection.execute(f"DELETE FROM {table}")
        for row in refused:
            with pytest.raises(duckdb.ConstraintException, match="CHECK"):
                connection.execute(f"INSERT INTO {table} VALUES ({row})")
