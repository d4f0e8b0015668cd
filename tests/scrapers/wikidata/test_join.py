"""The join compared with a plain Python version of its rules, on small random worlds."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapers.wikidata import Harvest, Traffic, join
from scrapers.wikidata.join import DISH_OUTCOMES, ROW_SCHEMA

LANGUAGES = ["ko", "en"]
DISHES = ["Q1", "Q2", "Q10"]
COUNTRIES = ["Q3", "Q4", "Q5"]
CUISINES = ["Q6", "Q7"]
PARTS = ["Q8", "Q9", "Q11"]
UNKNOWN = ["_:b1", "http://www.wikidata.org/.well-known/genid/1"]
FILES = ["http://commons.wikimedia.org/b.jpg", "http://commons.wikimedia.org/B.jpg", "http://commons/ß.jpg"]

Pairs = list[tuple[str, str]]


def frame(rows: list[tuple[str, ...]], *columns: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def triples(prop: str, objects: list[str]) -> st.SearchStrategy[list[tuple[str, str, str]]]:
    return st.lists(st.tuples(st.sampled_from(DISHES), st.just(prop), st.sampled_from(objects)), max_size=5)


@st.composite
def worlds(draw: st.DrawFn) -> Harvest:
    """Draw answers to the five queries, with repeated rows in any order."""
    statements = [
        *draw(triples("P495", COUNTRIES + UNKNOWN)),
        *draw(triples("P2012", CUISINES + UNKNOWN)),
        *draw(triples("P527", PARTS + UNKNOWN)),
        *draw(triples("P186", PARTS + UNKNOWN)),
        *draw(triples("P18", FILES + UNKNOWN)),
    ]
    named = st.tuples(
        st.sampled_from(DISHES + COUNTRIES + PARTS),
        st.sampled_from(["en", "ko", "de"]),
        st.sampled_from(["a", "B", 'c, "d"', "é"]),
    )
    cuisine = st.tuples(st.sampled_from(CUISINES), st.sampled_from(COUNTRIES + UNKNOWN))
    return Harvest(
        dishes=frame([(d,) for d in draw(st.lists(st.sampled_from([*DISHES, "P5"])))], "dish"),
        countries=frame([(c,) for c in draw(st.sets(st.sampled_from(COUNTRIES)))], "country"),
        statements=frame(draw(st.permutations(statements)), "dish", "property", "value"),
        cuisines=frame(draw(st.lists(cuisine, max_size=4)), "cuisine", "country"),
        labels=frame(draw(st.lists(named, max_size=60)), "item", "language", "label"),
        traffic=Traffic(0, 0, ""),
    )


def plainly(harvest: Harvest) -> tuple[list[dict[str, object]], dict[str, int]]:
    """Return rows and counts, computed dish by dish."""
    statements_of: dict[tuple[str, str], set[str]] = {}
    for dish, prop, value in harvest.statements.rows():
        statements_of.setdefault((dish, prop), set()).add(value)
    named: dict[tuple[str, str], str] = {}
    for item, language, label in harvest.labels.rows():
        named[item, language] = min(label, named.get((item, language), label))
    rows: list[dict[str, object]] = []
    counts = dict.fromkeys(DISH_OUTCOMES, 0)
    for dish in sorted(set(harvest.dishes["dish"]), key=lambda d: int(d[1:])):
        reason, origin = judge(dish, statements_of, harvest)
        if origin is not None:
            own = [row(dish, language, origin, statements_of, named) for language in sorted(LANGUAGES)]
            rows += [r for r in own if r is not None]
            reason = "kept" if any(own) else "no_label"
        counts[reason] += 1
    return rows, counts


def judge(
    dish: str, statements_of: dict[tuple[str, str], set[str]], harvest: Harvest
) -> tuple[str, str | None]:
    if not dish.startswith("Q"):
        return "not_an_item", None
    own, cuisines = statements_of.get((dish, "P495"), set()), statements_of.get((dish, "P2012"), set())
    through = {country for cuisine, country in harvest.cuisines.rows() if cuisine in cuisines}
    candidates = {c for c in own if c.startswith("Q")} or {c for c in through if c.startswith("Q")}
    current = candidates & set(harvest.countries["country"])
    if not candidates:
        return "unknown_value" if (own | cuisines | through) & set(UNKNOWN) else "no_origin", None
    if len(current) != 1:
        return "several_origins" if current else "origin_not_a_current_country", None
    parts = statements_of.get((dish, "P527"), set())
    if not parts & set(PARTS):
        return "unknown_value" if parts else "no_ingredient", None
    return "kept", current.pop()


def row(
    dish: str,
    language: str,
    origin: str,
    statements_of: dict[tuple[str, str], set[str]],
    named: dict[tuple[str, str], str],
) -> dict[str, object] | None:
    def parts(prop: str) -> list[str]:
        ids = sorted(statements_of.get((dish, prop), set()) & set(PARTS), key=lambda p: int(p[1:]))
        return [part for part in ids if (part, language) in named]

    if (dish, language) not in named or not parts("P527"):
        return None
    in_order = [named[origin, tag] for tag in ["en", *LANGUAGES] if (origin, tag) in named]
    return {
        "url": f"http://www.wikidata.org/entity/{dish}",
        "language": language,
        "name": named[dish, language],
        "country": (in_order or [origin])[0],
        "origin": origin,
        "country_name": named.get((origin, language)),
        "ingredients": [named[part, language] for part in parts("P527")],
        "ingredient_ids": parts("P527"),
        "materials": [named[part, language] for part in parts("P186")],
        "image": min(statements_of.get((dish, "P18"), set()) - set(UNKNOWN), default=None),
    }


@settings(max_examples=50)
@given(worlds())
def test_join_equals_a_plain_reading_of_its_rules(harvest: Harvest) -> None:
    rows, counts = join(harvest, LANGUAGES)
    expected, by_dish = plainly(harvest)
    assert rows.schema == ROW_SCHEMA
    assert rows.rows(named=True) == expected
    assert {name: counts[name] for name in DISH_OUTCOMES} == by_dish
    assert sum(by_dish.values()) == harvest.dishes["dish"].n_unique()
    for tag in LANGUAGES:
        parts = [counts[f"{name}:{tag}"] for name in ("rows", "no_label", "no_ingredient_label")]
        assert sum(parts) == counts["kept"] + counts["no_label"]
        assert parts[0] == rows.filter(language=tag).height


@settings(max_examples=25)
@given(worlds(), st.integers(0, 2**32))
def test_join_does_not_depend_on_the_order_of_answers(harvest: Harvest, seed: int) -> None:
    def shuffled(answer: pl.DataFrame) -> pl.DataFrame:
        order = Random(seed).sample(range(answer.height), answer.height)
        return answer[order]

    names = ("dishes", "countries", "statements", "cuisines", "labels")
    changes: dict[str, Any] = {name: shuffled(getattr(harvest, name)) for name in names}
    other = replace(harvest, **changes)
    rows, counts = join(harvest, LANGUAGES)
    again, counts_again = join(other, LANGUAGES[::-1])
    assert counts == counts_again
    assert rows.drop("country").equals(again.drop("country"))
    assert rows.equals(join(other, LANGUAGES)[0])


def test_missing_labels_are_counted_by_language() -> None:
    harvest = Harvest(
        dishes=frame([("Q1",), ("Q2",)], "dish"),
        countries=frame([("Q3",)], "country"),
        statements=frame(
            [
                ("Q1", "P495", "Q3"), ("Q1", "P527", "Q8"), ("Q1", "P527", "Q9"),
                ("Q1", "P527", "Q10"), ("Q1", "P186", "Q9"),
                ("Q2", "P495", "Q3"), ("Q2", "P527", "Q9"), ("Q2", "P527", "_:x"),
            ],
            "dish", "property", "value",
        ),
        cuisines=frame([], "cuisine", "country"),
        labels=frame(
            [("Q1", "en", "one"), ("Q2", "en", "two"), ("Q8", "en", "egg"), ("Q10", "en", "egg")],
            "item", "language", "label",
        ),
        traffic=Traffic(0, 0, ""),
    )  # fmt: skip
    rows, counts = join(harvest, ["en"])
    assert rows["ingredient_ids"].to_list() == [["Q8", "Q10"]]  # by number; one name, two items
    assert rows["ingredients"].to_list() == [["egg", "egg"]]
    # Q1 lacks the name of Q9 as ingredient and as material; Q2 has no named ingredient, so no row.
    assert {name: n for name, n in counts.items() if n} == {
        "kept": 1, "no_label": 1, "rows:en": 1, "no_ingredient_label:en": 1,
        "ingredient_without_label:en": 1, "material_without_label:en": 1, "unknown_statement": 1,
    }  # fmt: skip
