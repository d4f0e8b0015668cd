"""The size check of a harvest, the files that sources read, and the stored part of addresses."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from scrapers.model import FetchedPage, ListItem, ScrapeError
from tasks.ingest.params import NAMES, IngestParams
from tasks.ingest.sources import (
    SOURCES,
    Asked,
    fault,
    one_per_spelling,
    with_known_countries,
    without_queries,
)
from tests.scrapers.hand_made import COUNTRIES


def test_names_are_those_of_the_sources() -> None:
    assert tuple(SOURCES) == NAMES


@pytest.mark.parametrize(
    ("n_kept", "n_before", "minimum", "max_shrinkage", "refused"),
    [
        (9, None, 10, 0.2, "9 items, at least 10"),
        (10, None, 10, 0.2, None),
        (10, 0, 10, 0.2, None),
        (80, 100, 1, 0.2, None),  # exactly a fifth fewer
        (79, 100, 1, 0.2, "79 items, 100 the last time: 21% fewer, at most 20%"),
        (99, 100, 1, 0.0, "1% fewer, at most 0%"),
        (100, 100, 1, 0.0, None),
        (1, 100, 1, 1.0, None),
        (300, 100, 1, 0.2, None),  # growing is not refused
        (1, 100, 2, 1.0, "at least 2"),  # accepting any shrinkage does not lower the minimum
    ],
)
def test_minimum_and_shrinkage_rules(
    n_kept: int, n_before: int | None, minimum: int, max_shrinkage: float, refused: str | None
) -> None:
    found = fault(n_kept, n_before, minimum, max_shrinkage)
    assert found is None if refused is None else found is not None and refused in found


TEXTS = st.text("aAbBéÉ", min_size=1, max_size=2)
ENTRIES = st.builds(
    ListItem, TEXTS, countries=st.lists(st.sampled_from(["BR", "FR"]), max_size=2, unique=True).map(tuple)
)


@given(st.lists(ENTRIES, unique_by=lambda entry: entry.item))
def test_spellings_that_differ_in_case_are_merged_with_all_countries(entries: list[ListItem]) -> None:
    found = one_per_spelling(entries)
    lower = [item.item.lower() for item in found]
    assert len(set(lower)) == len(lower)
    for entry in entries:
        (kept,) = (item for item in found if item.item.lower() == entry.item.lower())
        assert entry.item == kept.item or entry.item in kept.aliases
        assert set(entry.countries) <= set(kept.countries)


def test_known_countries_are_added_to_items_without_countries() -> None:
    given_ = [ListItem("a", ("x",), (), ("salt",), "AAA"), ListItem("b", (), ("FR",)), ListItem("c")]
    assert with_known_countries(given_, {"a": ["BR", "PE"], "b": ["BR"]}) == [
        ListItem("a", ("x",), ("BR", "PE"), ("salt",), "AAA"),
        ListItem("b", (), ("FR",)),
        ListItem("c"),
    ]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("https://a.example/export?key=secret", "https://a.example/export?..."),
        ("https://a.example?key=secret: status 500: no.", "https://a.example?...: status 500: no."),
        ("https://a.example/?... is closed to us", "https://a.example/?... is closed to us"),
        ("see http://a.example/b, or ask why? No.", "see http://a.example/b, or ask why? No."),
        ("two: http://a/?x=secret, http://b/?secret.", "two: http://a/?..., http://b/?...."),
        ("folder/what?/file.csv", "folder/what?/file.csv"),
    ],
)
def test_queries_of_addresses_are_removed(text: str, kept: str) -> None:
    assert without_queries(text) == kept


@given(st.from_regex(r"https?://[a-z.]{1,9}/[a-z]{0,5}\?secret[!-~]{0,20}", fullmatch=True))
@example("http://a/?secret?secret:)")
def test_no_query_of_an_address_is_stored(address: str) -> None:
    assert "secret" not in without_queries(f"before {address} after")


@pytest.mark.parametrize("name", [name for name in NAMES if SOURCES[name].needs == "files"])
def test_file_source_without_readable_files_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ScrapeError, match=r"give .* with --file"):
        SOURCES[name].harvest(Asked(COUNTRIES))
    missing = tmp_path / "not there"
    with pytest.raises(ScrapeError, match=f"{missing}: cannot be read"):
        SOURCES[name].harvest(Asked(COUNTRIES, files=[str(missing)]))
    with pytest.raises(ScrapeError, match="cannot be read"):
        SOURCES[name].harvest(Asked(COUNTRIES, files=[str(tmp_path)]))


@pytest.mark.parametrize(("name", "n"), [("tasteatlas", 2), ("worldcuisines", 2), ("wvs", 3)])
def test_too_many_files_are_refused(name: str, n: int) -> None:
    with pytest.raises(ScrapeError, match=f"{n} files are more than this source reads"):
        SOURCES[name].harvest(Asked(COUNTRIES, files=["a"] * n))


@pytest.mark.parametrize("name", [name for name in NAMES if SOURCES[name].needs == "network"])
def test_network_source_without_a_session_names_the_option_live(name: str) -> None:
    with pytest.raises(ScrapeError, match="add --live"):
        SOURCES[name].harvest(Asked(COUNTRIES))


def test_hash_of_a_harvest_covers_all_files(tmp_path: Path) -> None:
    survey, labels = tmp_path / "survey.csv", tmp_path / "labels.csv"
    survey.write_text("B_COUNTRY_ALPHA,Q272: Language at home\nPER,1\nPER,2\nBRA,-1\n")
    labels.write_text("code,label\n1,Quechua\n2,Other\n")
    found = SOURCES["wvs"].harvest(Asked(COUNTRIES, files=[str(survey), str(labels)]))
    assert [(item.item, item.countries) for item in found.items] == [("Quechua", ("PE",))]
    assert found.dropped == {"missing_answer": 1, "other_language": 1}
    assert (found.url, found.n_pages, found.n_kept) == (str(survey), 2, 1)
    both = survey.read_bytes() + labels.read_bytes()
    assert (found.n_bytes, found.sha256) == (len(both), sha256(both).hexdigest())


def test_dishes_that_differ_only_in_case_are_merged(tmp_path: Path) -> None:
    file = tmp_path / "worldcuisines.csv"
    file.write_text("Name,Countries\nNasi Goreng,Indonesia\nNasi goreng,Malaysia\nPho,Vietnam\n")
    found = SOURCES["worldcuisines"].harvest(Asked(COUNTRIES, files=[str(file)]))
    assert found.items == (
        ListItem("Nasi Goreng", ("Nasi goreng",), ("ID", "MY")),
        ListItem("Pho", (), ("VN",)),
    )
    assert found.dropped == {"other_case": 1}


def test_key_in_the_address_of_an_export_is_not_stored() -> None:
    class Answering:
        def get(self, url: str) -> FetchedPage:
            return FetchedPage(url, b'[{"name": "Ceviche", "country": "Peru"}]')

    asked = Asked(COUNTRIES, files=["https://foods.example/export?key=secret"], session=Answering)
    found = SOURCES["tasteatlas"].harvest(asked)
    assert found.url == "https://foods.example/export?..."
    assert "secret" not in str(found)


@pytest.mark.parametrize(
    "given_",
    [
        {"sources": []},
        {"sources": ["wikipedia"]},
        {"sources": ["fmlama", "wvs"], "files": ["a"]},
        {"files": ["a"]},  # the default are three sources
        {"languages": []},
        {"minimum": 0},
        {"max_shrinkage": 1.1},
        {"max_shrinkage": -0.1},
        {"source": ["wvs"]},
    ],
)
def test_invalid_parameters_are_refused(given_: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        IngestParams.model_validate(given_)
