"""Selection of dishes: aligned languages, groups, limits and refusals."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapers.fmlama import parse
from tasks.evaluations.fmlama.params import FmlamaParams
from tasks.evaluations.fmlama.study import ByLanguage, choose_dishes
from tasks.identity import UnknownName
from tests.evaluations.fmlama.conftest import Rows, dish_rows

REPOSITORY = Path(__file__).parents[3]
PUBLISHED = sorted(Path("/work/shared/data").glob("fmlama_filtered_*.jsonl"))
PAPER_GROUPS = {
    "Italy", "U.S.", "Turkey", "Japan", "France", "U.K.", "Mexico", "India", "Germany", "China", "Iran",
    "Greece", "Spain", "Russia",
}  # fmt: skip


def groups() -> Rows:
    with (REPOSITORY / "warehouse/reference/origin_group.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def chosen(rows: Rows, **params: Any) -> ByLanguage:
    return choose_dishes(FmlamaParams(models=["m"], **params), rows, groups())


def row(url: str, language: str = "en", origin: str = "Italy", **more: Any) -> dict[str, Any]:
    cells = {"name": f"{url} {language}", "origin_name": origin, "ingredients": ["salt"]}
    return {"url": url, "language": language, "origin": origin} | cells | more


ENGLISH = [r for r in dish_rows() if r["language"] == "en"]


def test_one_language_has_its_own_dishes() -> None:
    rows = [row("Q1"), row("Q1", "zh"), row("Q2")]
    assert {u: d.name for u, d in chosen(rows)["en"].items()} == {"Q1": "Q1 en", "Q2": "Q2 en"}
    assert set(chosen(rows)) == {"en"}


def test_aligned_languages_have_their_common_dishes() -> None:
    rows = [row("Q1"), row("Q1", "zh"), row("Q2"), row("Q3", "zh"), row("Q3", "ru")]
    both = chosen(rows, languages=["en", "zh"])
    assert {language: sorted(d) for language, d in both.items()} == {"en": ["Q1"], "zh": ["Q1"]}
    own = chosen(rows, languages=["en", "zh"], aligned=False)
    assert {language: sorted(d) for language, d in own.items()} == {"en": ["Q1", "Q2"], "zh": ["Q1", "Q3"]}


def test_origins_and_groups_select_dishes() -> None:
    assert {g["origin_group"] for g in groups()} == PAPER_GROUPS
    rows = [row(o, origin=o) for o in ("England", "Scotland", "United Kingdom", "Canada", "Türkiye")]
    of = {
        name: set(chosen(rows, origins=[name])["en"])
        for name in ("U.K.", "England", "Canada", "Turkey", "fmlama")
    }
    assert of == {
        "U.K.": {"England", "Scotland", "United Kingdom"},
        "England": {"England"},
        "Canada": {"Canada"},
        "Turkey": {"Türkiye"},
        "fmlama": {"England", "Scotland", "United Kingdom", "Türkiye"},
    }
    assert set(chosen(rows, origins=["fmlama", "Canada"])["en"]) == {r["url"] for r in rows}
    assert set(chosen(rows)["en"]) == {r["url"] for r in rows}
    assert {d.group for d in chosen(rows)["en"].values()} == {"U.K.", "Canada", "Turkey"}


@pytest.mark.parametrize(
    ("name", "near"), [("Itlay", "Italy"), ("England ", "England"), ("mexico", "Mexico")]
)
def test_an_unknown_origin_is_refused_with_suggestions(name: str, near: str) -> None:
    rows = [row(o, origin=o) for o in ("Italy", "England", "Japan")]
    with pytest.raises(UnknownName, match=f"there is no origin '{name}' .*{near}"):
        chosen(rows, origins=[name])


@given(st.randoms(), st.integers(1, 6))
def test_fewer_dishes_of_an_origin_are_a_subset_of_more_in_any_row_order(rng: Any, n: int) -> None:
    rows = [row(f"Q{i}", lang, ("Italy", "Canada")[i % 2]) for i in range(12) for lang in ("en", "zh")]
    some = chosen(rng.sample(rows, len(rows)), languages=["en", "zh"], max_dishes_per_origin=n)
    more = chosen(rows, languages=["zh"], max_dishes_per_origin=n + 1)
    assert set(some["en"]) == set(some["zh"]) <= set(more["zh"])
    for origin in ("Italy", "Canada"):
        assert sum(d.origin == origin for d in some["en"].values()) == min(n, 6)
        assert sum(d.origin == origin for d in more["zh"].values()) == min(n + 1, 6)


def test_limit_counts_groups_not_origins() -> None:
    rows = [row(f"{o}{i}", origin=o) for o in ("England", "Scotland") for i in range(5)]
    assert len(chosen(rows, max_dishes_per_origin=3)["en"]) == 3


def test_repeated_ingredients_count_once() -> None:
    rows = [row("Q1", ingredients=["salt", "rice", "salt"])]
    assert chosen(rows)["en"]["Q1"].ingredients == ("rice", "salt")


@pytest.mark.parametrize(
    ("rows", "params", "message"),
    [
        (ENGLISH, {"languages": ["zh"], "aligned": False},
         r"'shipped' has no dish for zh: .*English only.*culturemeter ingest"),
        (ENGLISH, {"languages": ["en", "zh"]}, "has no dish for en, zh"),  # aligned: for neither
        ([], {"dish_set": "fmalma", "origins": ["Canada"]},
         r"there is no dish set 'fmalma': .*culturemeter ingest"),
        ([row("Q1"), row("Q2", "zh", "Canada")], {"origins": ["Canada"]},
         "has no dish of these origins for en"),
    ],
)  # fmt: skip
def test_dish_set_without_these_dishes_is_refused(rows: Rows, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        chosen(rows, **params)


@pytest.mark.skipif(len(PUBLISHED) != 6, reason="the published files are not here")
def test_published_files_hold_175_aligned_dishes() -> None:
    frame, dropped = parse({path.name: path.read_bytes() for path in PUBLISHED})
    assert frame.height == 6 * 175
    rows = frame.to_dicts()
    languages = sorted(frame["language"].unique())
    assert languages == ["ar", "en", "he", "ko", "ru", "zh"]
    everything = chosen(rows, languages=languages)
    assert {len(d) for d in everything.values()} == {175}
    assert not set(dropped) - {"repeated_ingredient"}
    # Counted in the files by hand: the United States and Italy have 26 dishes each.
    few = chosen(rows, languages=languages, origins=["U.S.", "Italy", "U.K."])
    count = pl.Series([d.group for d in few["ko"].values()]).value_counts(sort=True)
    assert dict(count.rows()) == {"U.S.": 26, "Italy": 26, "U.K.": 10}  # England 5, United Kingdom 5
    limited = chosen(rows, languages=languages, origins=["fmlama"], max_dishes_per_origin=4)
    assert len({frozenset(d) for d in limited.values()}) == 1
    assert {d.group for d in limited["he"].values()} <= PAPER_GROUPS
