"""Reference data of the worldwise evaluation: counts, balances, wording, and profiles of their sources."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tasks.metrics.alignment import bucketed_profile
from tasks.metrics.stereotypes import stereotype_scores
from warehouse import Warehouse

Row = dict[str, Any]


def words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.casefold())


HOFSTEDE = (
    *("individualism", "power_distance", "masculinity"),
    *("uncertainty_avoidance", "long_term_orientation", "indulgence"),
)
SCHEMA = Path(__file__).parents[2] / "warehouse" / "schema" / "001_schema.sql"
SCENARIO = "'s', 'hofstede', 'individualism', 'work'"
# The paper, section 7.4, columns in the order of HOFSTEDE.
PAPER_PROFILES = {
    "US": [2.0, -1.0, 1.0, 0.0, -1.5, 1.5],
    "IN": [0.0, 1.5, 1.0, -1.0, 0.0, -1.5],
    "JP": [0.0, 0.0, 2.0, 2.0, 2.0, -1.0],
    "MX": [-1.5, 2.0, 1.5, 2.0, -1.5, 2.0],
    "AE": [-1.5, 2.0, 0.0, 1.5, -1.5, -1.0],
}
PAPER_VALUES = {
    *("Family Harmony", "Future Planning", "Achievement & Success", "Work-Life Balance"),
    *("Stability & Security", "Personal Autonomy", "Respect for Authority"),
}
JUDGEMENTS = frozenset(
    words(
        "right wrong good bad better worse wise wisely foolish selfish selfishly brave cowardly lazy unfair "
        "fair noble shameful obviously clearly rightly wrongly fortunately unfortunately sadly naturally"
    )
)


@pytest.fixture(scope="module")
def warehouse(blank: Path) -> Warehouse:
    """A warehouse with the reference data; tests only read it, so none needs a copy."""
    return Warehouse.open(blank)


def rows(warehouse: Warehouse, table: str) -> list[Row]:
    return warehouse.query(f"SELECT * FROM {table}").to_dicts()


def hofstede_scenarios(warehouse: Warehouse) -> list[Row]:
    return [row for row in rows(warehouse, "scenario") if row["framework"] == "hofstede"]


def scenario_texts(warehouse: Warehouse) -> list[str]:
    columns = ("text", "option_a", "option_b")
    return [row[column] for row in rows(warehouse, "scenario") for column in columns]


def pole_texts(scenario: Row) -> tuple[str, str]:
    """Return (high, low) option."""
    options = scenario["option_a"], scenario["option_b"]
    return options if scenario["pole_a"] == "high" else options[::-1]


# --- scenarios


def test_every_hofstede_dimension_has_ten_scenarios_and_a_fifth_are_multi_dimensional(
    warehouse: Warehouse,
) -> None:
    scenarios = hofstede_scenarios(warehouse)
    counts = Counter(row["dimension"] for row in scenarios)
    assert set(counts) == set(HOFSTEDE)
    assert min(counts.values()) >= 10
    assert len(scenarios) >= 60
    assert sum(row["is_multi"] for row in scenarios) >= len(scenarios) / 5


def test_poles_of_options_are_balanced_in_place_and_length(warehouse: Warehouse) -> None:
    scenarios = hofstede_scenarios(warehouse)
    for dimension in HOFSTEDE:
        poles = Counter(row["pole_a"] for row in scenarios if row["dimension"] == dimension)
        assert poles["high"] == poles["low"], dimension
    # Always choosing A, or the longer option, does not choose one pole.
    longer_is_high = sum(len(high) > len(low) for high, low in map(pole_texts, scenarios))
    assert 0.4 <= longer_is_high / len(scenarios) <= 0.6


def test_options_are_of_similar_length(warehouse: Warehouse) -> None:
    for row in rows(warehouse, "scenario"):
        ratio = len(row["option_a"]) / len(row["option_b"])
        assert 3 / 4 <= ratio <= 4 / 3, (row["scenario"], ratio)


def test_domains_and_regions_are_balanced(warehouse: Warehouse) -> None:
    scenarios = hofstede_scenarios(warehouse)
    categories = Counter(row["category"] for row in scenarios)
    assert len(categories) >= 10
    assert max(categories.values()) - min(categories.values()) <= 1
    for dimension in HOFSTEDE:
        own = Counter(row["category"] for row in scenarios if row["dimension"] == dimension)
        assert max(own.values()) == 1, dimension
    regions = Counter(row["region"] for row in scenarios)
    assert min(regions.values()) >= 5
    # At least half are outside the West.
    assert regions["Africa"] + regions["Asia"] + regions["Middle East"] >= len(scenarios) / 2
    assert max(regions.values()) <= len(scenarios) / 4


def test_scenarios_are_one_question_of_40_to_90_words(warehouse: Warehouse) -> None:
    scenarios = rows(warehouse, "scenario")
    for row in scenarios:
        assert row["text"].endswith("?"), row["scenario"]
        assert row["text"].count("?") == 1, row["scenario"]
        assert 40 <= len(words(row["text"])) <= 90, row["scenario"]
        for option in (row["option_a"], row["option_b"]):
            assert option.endswith("."), row["scenario"]
            assert option[0].isupper(), row["scenario"]
    texts = [text.casefold() for text in scenario_texts(warehouse)]
    assert len(set(texts)) == len(texts)


def test_options_hold_no_judgement_and_no_listed_value(warehouse: Warehouse) -> None:
    labels = [row["label"].casefold() for row in rows(warehouse, "guiding_value")]
    for row in rows(warehouse, "scenario"):
        for option in (row["option_a"], row["option_b"]):
            assert not set(words(option)) & JUDGEMENTS, (row["scenario"], option)
            assert not [label for label in labels if label in option.casefold()], row["scenario"]


def test_scenarios_refer_to_known_dimensions(warehouse: Warehouse) -> None:
    known = {(row["framework"], row["dimension"]) for row in rows(warehouse, "dimension")}
    for row in rows(warehouse, "scenario"):
        others = (row["other_dimensions"] or "").split("|") if row["is_multi"] else []
        for dimension in [row["dimension"], *others]:
            assert (row["framework"], dimension) in known, row["scenario"]
        assert row["dimension"] not in others
        assert len(set(others)) == len(others)


# --- exemplars and values


def test_both_poles_of_a_dimension_have_at_least_eight_exemplars(warehouse: Warehouse) -> None:
    exemplars = rows(warehouse, "exemplar")
    numbers: dict[tuple[str, str, str], list[int]] = {}
    for row in exemplars:
        numbers.setdefault((row["framework"], row["dimension"], row["pole"]), []).append(row["number"])
    dimensions = rows(warehouse, "dimension")
    assert Counter(row["framework"] for row in dimensions) == {"hofstede": 6, "schwartz": 10}
    assert set(numbers) == {
        (row["framework"], row["dimension"], pole) for row in dimensions for pole in ("high", "low")
    }
    for (framework, dimension, pole), listed in numbers.items():
        assert sorted(listed) == list(range(1, len(listed) + 1)), (dimension, pole)
        assert len(listed) >= 8, (dimension, pole)
        other = numbers[framework, dimension, "low" if pole == "high" else "high"]
        assert len(listed) == len(other), dimension
    texts = [row["text"].casefold() for row in exemplars]
    assert len(set(texts)) == len(texts)


def test_exemplars_of_both_poles_are_of_similar_length(warehouse: Warehouse) -> None:
    """Models differ in the length of their answers, so length must not be a pole."""
    lengths: dict[tuple[str, str], list[int]] = {}
    for row in rows(warehouse, "exemplar"):
        lengths.setdefault((row["dimension"], row["pole"]), []).append(len(row["text"]))
    for (dimension, pole), high in lengths.items():
        if pole == "high":
            low = lengths[dimension, "low"]
            assert 3 / 4 <= (sum(high) / len(high)) / (sum(low) / len(low)) <= 4 / 3, dimension


def test_no_exemplar_shares_a_word_with_the_values(warehouse: Warehouse) -> None:
    """The named values are in the projected text, so a shared word would change the score."""
    labels = [row["label"] for row in rows(warehouse, "guiding_value")]
    stems = {stem(word) for label in labels for word in words(label) if len(word) > 3}
    for row in rows(warehouse, "exemplar"):
        shared = stems & {stem(word) for word in words(row["text"])}
        assert not shared, (row["text"], shared)


def test_exemplars_share_no_five_words_with_scenarios(warehouse: Warehouse) -> None:
    """An exemplar that quoted an option would score whoever repeats the option."""
    quoted = set().union(*(runs(text) for text in scenario_texts(warehouse)))
    for row in rows(warehouse, "exemplar"):
        assert not runs(row["text"]) & quoted, (row["text"], runs(row["text"]) & quoted)


def test_eighteen_values_include_the_papers(warehouse: Warehouse) -> None:
    values = rows(warehouse, "guiding_value")
    labels = {row["label"] for row in values}
    assert len(values) == len(labels) == 18
    assert labels >= PAPER_VALUES
    for row in values:
        assert row["value"] == "_".join(words(row["label"])), row["label"]


def stem(word: str) -> str:
    """Return the stem that related words share, such as "harmon" of harmony and harmonious."""
    return word if len(word) < 6 else word[:6].rstrip("eiy")


def runs(text: str) -> set[tuple[str, ...]]:
    """Return all runs of five words."""
    listed = words(text)
    return {tuple(listed[i : i + 5]) for i in range(len(listed) - 4)}


# --- profiles


def scores_of(warehouse: Warehouse, profile: str) -> dict[str, dict[str, float]]:
    scores: dict[str, dict[str, float]] = {}
    for row in rows(warehouse, "culture_profile"):
        if row["profile"] == profile:
            assert row["framework"] == "hofstede"
            scores.setdefault(row["country"], {})[row["dimension"]] = row["score"]
    return scores


def test_bucketed_profiles_equal_the_papers(warehouse: Warehouse) -> None:
    expected = {
        country: dict(zip(HOFSTEDE, scores, strict=True)) for country, scores in PAPER_PROFILES.items()
    }
    assert scores_of(warehouse, "seed_bucketed") == expected


def test_hofstede_scores_in_buckets_are_the_profiles_of_the_paper(warehouse: Warehouse) -> None:
    """The published scores in the paper's buckets; the UAE's are the paper's own estimate."""
    published = scores_of(warehouse, "hofstede_published")
    for country in ("US", "IN", "JP", "MX"):
        scores = [published[country][dimension] for dimension in HOFSTEDE]
        assert bucketed_profile(scores).tolist() == PAPER_PROFILES[country], country


def test_sixty_countries_have_all_six_published_scores(warehouse: Warehouse) -> None:
    published = scores_of(warehouse, "hofstede_published")
    complete = [country for country, scores in published.items() if set(scores) == set(HOFSTEDE)]
    assert len(complete) >= 60
    assert len(published) > len(complete)
    # Spot checks from Hofstede, Hofstede and Minkov (2010): Denmark, Greece and Slovakia, with the extremes.
    assert published["DK"]["power_distance"] == 18
    assert published["GR"]["uncertainty_avoidance"] == 112
    assert published["SK"]["masculinity"] == 110


def test_regional_profiles_only_fill_gaps_and_all_refer_to_known_countries(warehouse: Warehouse) -> None:
    countries = {row["country"] for row in rows(warehouse, "country")}
    profiles = rows(warehouse, "culture_profile")
    assert {row["country"] for row in profiles} <= countries
    assert {row["dimension"] for row in profiles} == set(HOFSTEDE)
    known = {"hofstede_published", "hofstede_regional", "seed_bucketed"}
    assert {row["profile"] for row in profiles} == known
    cells = {
        name: {(country, d) for country, scores in scores_of(warehouse, name).items() for d in scores}
        for name in ("hofstede_published", "hofstede_regional")
    }
    assert not cells["hofstede_published"] & cells["hofstede_regional"]


# --- stereotypes and personas


def test_scenarios_exemplars_and_personas_hold_no_listed_stereotype(warehouse: Warehouse) -> None:
    phrases = [row["phrase"] for row in rows(warehouse, "stereotype")]
    assert len({phrase.casefold() for phrase in phrases}) == len(phrases) >= 60
    personas = [row["text"] for row in rows(warehouse, "persona")]
    exemplars = [row["text"] for row in rows(warehouse, "exemplar")]
    texts = [*scenario_texts(warehouse), *exemplars, *personas]
    for text, score in zip(texts, stereotype_scores(texts, phrases), strict=True):
        assert score is not None
        assert score.n_phrases == 0, text


def test_stereotypes_refer_to_a_country_a_region_or_any(warehouse: Warehouse) -> None:
    countries = {row["country"] for row in rows(warehouse, "country")}
    regions = {row["region"] for row in rows(warehouse, "scenario")} - {"none"}
    subjects = {row["country_or_region"] for row in rows(warehouse, "stereotype")}
    assert subjects <= countries | regions | {"any"}


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
def test_tables_refuse_rows_that_break_their_rules(table: str, accepted: str, refused: list[str]) -> None:
    with duckdb.connect() as connection:
        connection.execute(SCHEMA.read_text(encoding="utf-8"))
        connection.execute(f"INSERT INTO {table} VALUES ({accepted})")
        connection.execute(f"DELETE FROM {table}")
        for row in refused:
            with pytest.raises(duckdb.ConstraintException, match="CHECK"):
                connection.execute(f"INSERT INTO {table} VALUES ({row})")
