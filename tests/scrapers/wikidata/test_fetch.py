"""The five queries against a local SPARQL server, and batches that shrink."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl
import pytest

from scrapers.http import TooSlowError
from scrapers.wikidata import Endpoint, Harvest, fetch, join
from scrapers.wikidata.fetch import values
from scrapers.wikidata.join import DISH_OUTCOMES, ROW_SCHEMA, language_tags

AGENT = "culturemeter-tests (tests@example.org)"
FILES = "http://commons.wikimedia.org/wiki/Special:FilePath/"

DROPPED = {
    # Three classes above "deep dish", a cuisine without country, no statement.
    "no_origin": ["Q9031", "Q9032", "Q9033", "Q9110", "Q9125"],
    # Region twice (its cuisine does not help), dissolved, ended, historical, deprecated.
    "origin_not_a_current_country": ["Q9113", "Q9114", "Q9116", "Q9117", "Q9118", "Q9119"],
    # Two countries by cuisine, two by origin.
    "several_origins": ["Q9108", "Q9112"],
    "no_ingredient": ["Q9126"],
    # A cuisine of unknown country, an unknown origin, an unknown ingredient.
    "unknown_value": ["Q9111", "Q9121", "Q9123"],
    # No label, and an English dish of a Korean ingredient.
    "no_label": ["Q9127", "Q9129"],
}
KEPT_EGG = {
    "Q9102": "Q142",  # a cycle
    "Q9103": "Q142",
    "Q9106": "Q142",  # the origin outranks the Italian cuisine
    "Q9107": "Q38",  # by two cuisines of one country
    "Q9109": "Q96",  # the origin decides between the cuisine's two
    "Q9115": "Q38",  # a region beside its country
    "Q9120": "Q159",  # a dissolved country beside a current one
    "Q9122": "Q38",  # unknown origin: the cuisine's
    "Q9124": "Q30",  # an unknown ingredient beside a known one
}
"""Dishes with one row, in English, and one ingredient, egg -> their origins."""


def harvest(url: str, languages: Sequence[str] = ("en", "ko"), batch: int = 200) -> Harvest:
    return fetch(Endpoint(url, user_agent=AGENT, pause_s=0), languages, batch)


@pytest.fixture(scope="module")
def joined(dishes_url: str) -> tuple[pl.DataFrame, dict[str, int]]:
    return join(harvest(dishes_url), ["en", "ko"])


def row(joined: tuple[pl.DataFrame, dict[str, int]], dish: str, language: str = "en") -> dict[str, object]:
    found = joined[0].filter(url=f"http://www.wikidata.org/entity/{dish}", language=language)
    return found.row(0, named=True)


def test_every_dish_is_kept_or_dropped_for_one_reason(joined: tuple[pl.DataFrame, dict[str, int]]) -> None:
    rows, counts = joined
    kept = set(rows["url"].str.extract(r"(Q\d+)$"))
    assert kept.isdisjoint(dish for dishes in DROPPED.values() for dish in dishes)
    assert {name: counts[name] for name in DROPPED} == {name: len(ids) for name, ids in DROPPED.items()}
    # 33 dishes and 3 classes; the apple is no dish.
    assert counts["kept"] == len(kept) == 17
    assert sum(counts[name] for name in DISH_OUTCOMES) == 36
    # 36 - 5 - 6 - 2 - 1 - 3 = 19 have an origin and an ingredient; Q9127 and Q9128 have no English label, and
    # the ingredient of Q9129 has none. In Korean: pasta, Q9128 and Q9130.
    assert [counts[f"{name}:en"] for name in ("rows", "no_label", "no_ingredient_label")] == [16, 2, 1]
    assert [counts[f"{name}:ko"] for name in ("rows", "no_label", "no_ingredient_label")] == [3, 16, 0]
    # Q9130: kimchi and Q9023 have no English label, cheese and Q9023 no Korean one. Q9132: kimchi.
    assert [counts[f"ingredient_without_label:{tag}"] for tag in ("en", "ko")] == [2, 2]
    assert [counts[f"material_without_label:{tag}"] for tag in ("en", "ko")] == [1, 0]
    # Q9121 to Q9124; the unknown image is not counted here.
    assert counts["unknown_statement"] == 4


def test_only_current_countries_are_origins(dishes_url: str) -> None:
    assert sorted(harvest(dishes_url).countries["country"]) == [
        "Q142", "Q159", "Q21", "Q22", "Q30", "Q38", "Q884", "Q9001", "Q96"
    ]  # fmt: skip


def test_origin_rules(joined: tuple[pl.DataFrame, dict[str, int]]) -> None:
    for dish, origin in KEPT_EGG.items():
        found = row(joined, dish)
        assert (found["origin"], found["ingredients"]) == (origin, ["egg"]), dish
    assert row(joined, "Q9101")["country"] == "France"  # deep
    assert row(joined, "Q9104")["ingredients"] == ["flour"]  # reached on two ways: one row


def test_row_has_every_column(joined: tuple[pl.DataFrame, dict[str, int]]) -> None:
    assert joined[0].schema == ROW_SCHEMA
    assert row(joined, "Q178", "ko") == {
        "url": "http://www.wikidata.org/entity/Q178",
        "language": "ko",
        "name": "파스타",
        "country": "Italy",
        "origin": "Q38",
        "country_name": "이탈리아",
        "ingredients": ["밀가루", "달걀"],
        "ingredient_ids": ["Q36465", "Q93189"],
        "materials": [],
        "image": None,
    }
    pictured = row(joined, "Q9132")
    assert pictured["image"] == FILES + "Apple%20cake.jpg"
    assert pictured["materials"] == ["table salt", "flour"]  # Q11254, Q36465; Q9021 has no English label
    assert pictured["country"] == "Scotland"


def test_labels_and_their_fallbacks(joined: tuple[pl.DataFrame, dict[str, int]]) -> None:
    quoted = row(joined, "Q9131")
    assert quoted["name"] == '"Shepherd\'s" pie, with \\ and\na line end'
    assert quoted["ingredients"] == ['salt, "kosher"']
    half = row(joined, "Q9130", "ko")
    assert (half["ingredients"], half["ingredient_ids"]) == (["김치", "달걀"], ["Q9021", "Q93189"])
    assert row(joined, "Q9130")["ingredients"] == ["cheese", "egg"]
    # A country without English label takes the Korean one; one without any label its id.
    assert row(joined, "Q9128", "ko")["country"] == "대한민국"
    nameless = row(joined, "Q9133")
    assert (nameless["country"], nameless["country_name"]) == ("Q9001", None)
    assert row(joined, "Q9124")["image"] is None  # unknown


def test_result_does_not_depend_on_the_batch_size(
    dishes_url: str, joined: tuple[pl.DataFrame, dict[str, int]]
) -> None:
    small = harvest(dishes_url, batch=3)
    assert small.traffic.queries > harvest(dishes_url).traffic.queries == 5
    rows, counts = join(small, ["en", "ko"])
    assert rows.equals(joined[0])
    assert counts == joined[1]


def test_english_country_names_are_fetched_for_other_languages(dishes_url: str) -> None:
    rows, counts = join(harvest(dishes_url, ["KO"]), ["KO"])
    assert rows.select("language", "country").rows() == [
        ("ko", "Italy"), ("ko", "대한민국"), ("ko", "France")
    ]  # fmt: skip
    assert counts["kept"] == 3
    assert counts["no_label"] == 16


def test_progress_reaches_the_end_of_each_query(dishes_url: str) -> None:
    seen: list[tuple[str, int, int]] = []
    endpoint = Endpoint(dishes_url, user_agent=AGENT, pause_s=0)
    fetch(endpoint, ["en"], 20, lambda name, done, total: seen.append((name, done, total)))
    assert list(dict.fromkeys(name for name, _, _ in seen)) == [
        "dishes", "countries", "statements", "cuisines", "labels"
    ]  # fmt: skip
    last = {name: (done, total) for name, done, total in seen}
    assert all(done == total for done, total in last.values())
    assert last["statements"] == (36, 36)


class Limited(Endpoint):
    """A local endpoint that is too slow for more than ``limit`` ids."""

    def __init__(self, url: str, limit: int) -> None:
        super().__init__(url, user_agent=AGENT, pause_s=0)
        self.limit = limit
        self.sizes: list[int] = []

    def select(self, query: str) -> pl.DataFrame:
        block = re.search(r"VALUES \?\w+ \{ ([^}]*) \}", query[query.index("SELECT") :])
        if block and "?kind" not in query:
            self.sizes.append(len(block[1].split()))
            if self.sizes[-1] > self.limit:
                raise TooSlowError("too slow")
        return super().select(query)


def test_slow_batch_is_halved(dishes_url: str, joined: tuple[pl.DataFrame, dict[str, int]]) -> None:
    endpoint = Limited(dishes_url, limit=10)
    rows, _ = join(fetch(endpoint, ["en", "ko"]), ["en", "ko"])
    assert rows.equals(joined[0])
    # 36 dishes: 36 and 18 are too many, so 4 batches of 9. 5 cuisines fit.
    assert endpoint.sizes[:7] == [36, 18, 9, 9, 9, 9, 5]


def test_slow_query_of_one_id_is_an_error(dishes_url: str) -> None:
    endpoint = Limited(dishes_url, limit=0)
    with pytest.raises(TooSlowError):
        fetch(endpoint, ["en"])
    assert endpoint.sizes == [36, 18, 9, 4, 2, 1]


@pytest.mark.parametrize("wrong", ["Q", "Q1 } DROP ALL #", "P31", "q1", "wd:Q1", "Q1\n", "", "Q１"])
def test_invalid_ids_are_refused(wrong: str) -> None:
    assert values(["Q1", "Q42"]) == "wd:Q1 wd:Q42"
    with pytest.raises(ValueError, match="not item ids"):
        values(["Q1", wrong])


@pytest.mark.parametrize("wrong", ['en")) } #', "e", "en_US", "", "en-", "en\n", "*"])
def test_invalid_language_tags_are_refused(wrong: str) -> None:
    assert language_tags(["en", "zh-Hans", "EN", "be-tarask"]) == ["en", "zh-hans", "be-tarask"]
    with pytest.raises(ValueError, match="not language tags"):
        language_tags(["en", wrong])
    with pytest.raises(ValueError, match="at least one language"):
        language_tags([])


def test_batch_below_one_is_refused(dishes_url: str) -> None:
    with pytest.raises(ValueError, match="at least one id, got 0"):
        harvest(dishes_url, batch=0)
