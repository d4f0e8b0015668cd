"""The shipped SpecNorm items and seeds pass the checks of the construction."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from scrapers.countries import CountryCodes
from tasks.builders.specnorm.checks import faults, near_duplicates
from tasks.builders.specnorm.drafting import SpecnormDraft, Written
from tasks.builders.specnorm.seeds import load_seeds
from tasks.evaluations.cure.benchmarks.cues import KINDS, group_of, join_cues, parse_cues, specificity
from tasks.packs.published import read_rows

REFERENCE = Path(__file__).resolve().parents[3] / "warehouse" / "reference"
ROWS = read_rows(REFERENCE / "cure_item" / "specnorm.csv")
COUNTRIES = {row["name"]: row["country"] for row in read_rows(REFERENCE / "country.csv")}


def draft(row: dict[str, str]) -> SpecnormDraft:
    """The row as if a model had written it for its own norm."""
    texts = {name: row[name] for name in ("persona", "situation", "question", "label")}
    written = Written.model_validate(texts | {"norm": row["gold"]})
    return SpecnormDraft(
        row["item"], row["country"], row["gold"], parse_cues(row["cues"]), written.label, written
    )


DRAFTS = [draft(row) for row in ROWS]


def test_shipped_items_have_all_levels_kinds_and_two_thirds_yes() -> None:
    labels = Counter(row["label"] for row in ROWS)
    assert set(labels) == {"yes", "no"}
    assert 0.6 <= labels["yes"] / len(ROWS) <= 0.7
    assert set(Counter(row["rule"] for row in ROWS)) == {"low", "medium", "high"}
    assert {cue.kind for d in DRAFTS for cue in d.cues} == set(KINDS)


# Vo and Koyejo 2025, table 2 and its text, in percent: each cue, and items with one, two or three, and with
# four or more. The shipped items are furthest from it in age (45 %).
TABLE_2 = {
    "ethnicity": 67.5, "age": 56.8, "religion": 26.1, "region": 12.8, "gender": 11.7, "occupation": 12.8,
    "marital_status": 5.9, "low": 37, "medium": 57.5, "high": 5.5,
}  # fmt: skip


def test_shares_of_cues_and_levels_are_near_the_papers() -> None:
    of_rows = [{row["rule"], *(cue.kind for cue in d.cues)} for row, d in zip(ROWS, DRAFTS, strict=True)]
    shares = {name: 100 * sum(name in names for names in of_rows) / len(ROWS) for name in TABLE_2}
    assert shares == pytest.approx(TABLE_2, abs=12)


def test_shipped_items_pass_the_checks_of_drafts() -> None:
    assert near_duplicates(DRAFTS, limit=75) == [None] * len(DRAFTS)
    for row, shipped in zip(ROWS, DRAFTS, strict=True):
        assert group_of(shipped.cues), row["item"]
        assert faults(shipped) == [], row["item"]
        assert row["cues"] == join_cues(shipped.cues), row["item"]
        assert row["rule"] == specificity(len(shipped.cues)), row["item"]


def test_seeds_cover_countries_and_kinds_of_cues() -> None:
    rows = read_rows(REFERENCE / "specnorm_seed.csv")
    loaded = load_seeds({"specnorm_seed.csv": rows}, CountryCodes(COUNTRIES))
    assert len(loaded.seeds) >= 40
    assert len({seed.country for seed in loaded.seeds}) >= 20
    assert None not in {seed.country for seed in loaded.seeds}
    assert {cue.kind for seed in loaded.seeds for cue in seed.cues} == set(KINDS)
    assert all(seed.topic and seed.statement.endswith(".") for seed in loaded.seeds)
    # Neither "any" age nor "all" regions is a cue.
    assert loaded.dropped == {"no_cue": 1}
    generic = next(seed for seed in loaded.seeds if seed.statement.startswith("People wait for the eldest"))
    assert join_cues(generic.cues) == "age: elderly"
