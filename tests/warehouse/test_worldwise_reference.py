"""What the worldwise evaluation asks and measures with: counts, balances, and wording kept apart."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from warehouse import Warehouse

Row = dict[str, Any]


def words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.casefold())


HOFSTEDE = (
    "individualism",
    "power_distance",
    "masculinity",
    "uncertainty_avoidance",
    "long_term_orientation",
    "indulgence",
)
SEED_VALUES = {
    "Family Harmony",
    "Future Planning",
    "Achievement & Success",
    "Work-Life Balance",
    "Stability & Security",
    "Personal Autonomy",
    "Respect for Authority",
}
JUDGEMENTS = frozenset(
    words(
        "right wrong good bad better worse wise wisely foolish selfish selfishly brave cowardly lazy unfair "
        "fair noble shameful obviously clearly rightly wrongly fortunately unfortunately sadly naturally"
    )
)


@pytest.fixture(scope="module")
def warehouse(blank: Path) -> Warehouse:
    """The reference as it is loaded; nothing here writes, so that no test needs a copy."""
    return Warehouse.open(blank)


def rows(warehouse: Warehouse, table: str) -> list[Row]:
    return warehouse.query(f"SELECT * FROM {table}").to_dicts()


def hofstede_scenarios(warehouse: Warehouse) -> list[Row]:
    return [row for row in rows(warehouse, "scenario") if row["framework"] == "hofstede"]


def pole_texts(scenario: Row) -> tuple[str, str]:
    """(high, low) option."""
    options = scenario["option_a"], scenario["option_b"]
    return options if scenario["pole_a"] == "high" else options[::-1]


# --- scenarios
# ------------------------------------------------------------------------------------------------------


def test_every_hofstede_dimension_has_ten_scenarios_and_a_fifth_are_multi_dimensional(
    warehouse: Warehouse,
) -> None:
    scenarios = hofstede_scenarios(warehouse)
    counts = Counter(row["dimension"] for row in scenarios)
    assert set(counts) == set(HOFSTEDE)
    assert min(counts.values()) >= 10
    assert len(scenarios) >= 60
    assert sum(row["is_multi"] for row in scenarios) >= len(scenarios) / 5


def test_options_are_balanced_between_poles(warehouse: Warehouse) -> None:
    scenarios = hofstede_scenarios(warehouse)
    for dimension in HOFSTEDE:
        poles = Counter(row["pole_a"] for row in scenarios if row["dimension"] == dimension)
        assert poles["high"] == poles["low"], dimension
    # Who always takes A, or the longer option, or what is offered first in the text, learns nothing.
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
    # Outside the West: more than half.
    assert regions["Africa"] + regions["Asia"] + regions["Middle East"] >= len(scenarios) / 2
    assert max(regions.values()) <= len(scenarios) / 4


def test_scenarios_are_dilemmas_in_form(warehouse: Warehouse) -> None:
    scenarios = rows(warehouse, "scenario")
    for row in scenarios:
        assert row["text"].endswith("?"), row["scenario"]
        assert row["text"].count("?") == 1, row["scenario"]
        assert 40 <= len(words(row["text"])) <= 90, row["scenario"]
        for option in (row["option_a"], row["option_b"]):
            assert option.endswith("."), row["scenario"]
            assert option[0].isupper(), row["scenario"]
    texts = [row[column].casefold() for row in scenarios for column in ("text", "option_a", "option_b")]
    assert len(set(texts)) == len(texts)


def test_options_hold_no_judgement_and_no_listed_value(warehouse: Warehouse) -> None:
    labels = [row["label"].casefold() for row in rows(warehouse, "guiding_value")]
    for row in rows(warehouse, "scenario"):
        for option in (row["option_a"], row["option_b"]):
            assert not set(words(option)) & JUDGEMENTS, (row["scenario"], option)
            assert not [label for label in labels if label in option.casefold()], row["scenario"]


def test_scenarios_refer_to_dimensions_that_are_there(warehouse: Warehouse) -> None:
    known = {(row["framework"], row["dimension"]) for row in rows(warehouse, "dimension")}
    for row in rows(warehouse, "scenario"):
        others = (row["other_dimensions"] or "").split("|") if row["is_multi"] else []
        for dimension in [row["dimension"], *others]:
            assert (row["framework"], dimension) in known, row["scenario"]
        assert row["dimension"] not in others
        assert len(set(others)) == len(others)


# --- exemplars and values
# ------------------------------------------------------------------------------------------------------


def test_both_poles_of_every_dimension_have_eight_exemplars(warehouse: Warehouse) -> None:
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


def test_poles_do_not_differ_in_length(warehouse: Warehouse) -> None:
    """A model's answers are longer or shorter than another's: length must not be a pole."""
    lengths: dict[tuple[str, str], list[int]] = {}
    for row in rows(warehouse, "exemplar"):
        lengths.setdefault((row["dimension"], row["pole"]), []).append(len(row["text"]))
    for (dimension, pole), high in lengths.items():
        if pole == "high":
            low = lengths[dimension, "low"]
            assert 3 / 4 <= (sum(high) / len(high)) / (sum(low) / len(low)) <= 4 / 3, dimension


def test_no_exemplar_shares_a_word_with_the_values(warehouse: Warehouse) -> None:
    """The values named are part of the text that is projected: a shared word would be scored as a reason."""
    labels = [row["label"] for row in rows(warehouse, "guiding_value")]
    stems = {stem(word) for label in labels for word in words(label) if len(word) > 3}
    for row in rows(warehouse, "exemplar"):
        shared = stems & {stem(word) for word in words(row["text"])}
        assert not shared, (row["text"], shared)


def test_exemplars_are_not_worded_as_the_scenarios(warehouse: Warehouse) -> None:
    """An exemplar that quoted an option would score whoever repeats the option."""
    asked = [
        row[column] for row in rows(warehouse, "scenario") for column in ("text", "option_a", "option_b")
    ]
    quoted = set().union(*(runs(text) for text in asked))
    for row in rows(warehouse, "exemplar"):
        assert not runs(row["text"]) & quoted, (row["text"], runs(row["text"]) & quoted)


def test_values_are_about_eighteen_with_those_of_the_seed(warehouse: Warehouse) -> None:
    values = rows(warehouse, "guiding_value")
    labels = {row["label"] for row in values}
    assert len(values) == len(labels) == 18
    assert labels >= SEED_VALUES
    for row in values:
        assert row["value"] == "_".join(words(row["label"])), row["label"]


def stem(word: str) -> str:
    """Enough of a word to know its relatives: "harmon" of harmony and harmonious."""
    return word if len(word) < 6 else word[:6].rstrip("eiy")


def runs(text: str) -> set[tuple[str, ...]]:
    """All runs of five words."""
    listed = words(text)
    return {tuple(listed[i : i + 5]) for i in range(len(listed) - 4)}
