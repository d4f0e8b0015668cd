"""The shipped sample: numbers of items by kind, their script, and that each is a valid task."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from tasks.evaluations.culturall.items import NOT_CHECKED, TOPICS, load_items
from tasks.evaluations.culturall.matching import plain
from tasks.evaluations.culturall.matching.choices import LETTERS, options
from tasks.packs.published import read_rows

ROWS = [
    row
    for path in sorted(Path("warehouse/reference/culturall_item").glob("*.csv"))
    for row in read_rows(path)
]
ITEMS = load_items(ROWS, "culturall_item").items

REGIONS = {
    "AE", "AR", "AU", "BD", "BY", "CA", "CL", "CN", "CO", "CR", "DO", "EC", "EG", "ES", "FJ", "GB", "HK",
    "HR", "IE", "IQ", "JO", "JP", "KH", "KP", "KR", "KW", "KZ", "LB", "MA", "MU", "MX", "MY", "NG", "NZ",
    "OM", "PE", "PG", "PH", "PY", "RS", "RU", "SA", "SG", "SV", "SY", "TN", "TW", "US", "VE", "VN", "ZA",
}  # fmt: skip
"""The 51 of Lin et al. (2026, figure 4)."""
SCRIPTS = {
    "ar": "ARABIC", "be": "CYRILLIC", "bn": "BENGALI", "en": "LATIN", "es": "LATIN",
    "ja": "HIRAGANA KATAKANA CJK", "kk": "CYRILLIC", "km": "KHMER", "ko": "HANGUL", "ms": "LATIN",
    "ru": "CYRILLIC", "sr": "CYRILLIC LATIN", "vi": "LATIN", "zh": "CJK",
}  # fmt: skip
NEEDED = {"kk": "әіңғүұқө", "be": "ўі", "vi": "ăâđêôơư", "ja": "のをはが"}
"""Letters that set a language apart from others in its script."""
KINDS = {
    "emergency number": r"\b(?:emergency|ambulance|fire brigade)\b.*\b\d{3}\b|\b\d{3}\b.*\bemergency",
    "identity number": r"\b(?:ID|IIN|NRIC|JMBG|CURP|RUT|RUC)\b|registration number",
    "floor": r"\b(?:floors?|storeys?)\b",
    "days of leave": r"\bannual (?:paid )?leave\b|\bpaid (?:annual )?leave\b",
}
"""Kind of fact -> its pattern."""


def test_each_row_is_an_item_with_fact_and_source() -> None:
    assert len(ITEMS) == len(ROWS) >= 280
    assert all(row["fact"] and row["look_up"] and row["source"] for row in ROWS)
    assert {item.status for item in ITEMS} == {NOT_CHECKED}
    assert all(item.english and all(item.english) and all(item.native) for item in ITEMS)
    assert all(item.item.startswith(f"{item.language}-{item.region.lower()}-") for item in ITEMS)


def test_languages_topics_and_regions_have_enough_items_and_right_notes() -> None:
    assert len(REGIONS) == 51
    languages = Counter(item.language for item in ITEMS)
    topics = Counter(item.topic for item in ITEMS)
    regions = Counter(item.region for item in ITEMS)
    assert languages.keys() == SCRIPTS.keys()
    assert min(languages.values()) >= 20
    assert topics.keys() == set(TOPICS)
    assert min(topics.values()) >= 12
    assert regions.keys() == REGIONS
    assert min(regions.values()) >= 3
    notes = {
        row["file"]: str(row["notes"]) for row in read_rows("warehouse/reference/source/culturall_item.csv")
    }
    assert {file: int(note.split()[0]) for file, note in notes.items()} == {
        f"culturall_item/{language}.csv": n for language, n in languages.items()
    }


@pytest.mark.parametrize("language", SCRIPTS)
def test_texts_are_in_the_script_of_their_language(language: str) -> None:
    texts = [" ".join(item.native[:2]) for item in ITEMS if item.language == language]
    for text in texts:
        letters = [c for c in text if c.isalpha()]
        own = [c for c in letters if any(name in unicodedata.name(c) for name in SCRIPTS[language].split())]
        assert len(own) / len(letters) > 0.6, text
    assert all(letter in "".join(texts).casefold() for letter in NEEDED.get(language, ""))
    english = [" ".join(item.english or "") for item in ITEMS if item.language == language]
    assert all(sum(map(str.isascii, text)) / len(text) > 0.9 for text in english)


def test_croatian_is_latin_and_serbian_cyrillic() -> None:
    for item in (item for item in ITEMS if item.language == "sr"):
        letters = [unicodedata.name(c) for c in item.native.scenario if c.isalpha()]
        script = "LATIN" if item.region == "HR" else "CYRILLIC"
        assert sum(name.startswith(script) for name in letters) > 0.9 * len(letters), item.item


def test_chinese_is_simplified_or_traditional_by_region() -> None:
    for item in (item for item in ITEMS if item.language == "zh"):
        text = item.native.scenario
        wrong = "個這來時說為後會對學過國們" if item.region in ("CN", "SG") else "个这来时说为后会对学过国们"
        assert not [c for c in text if c in wrong], item.item


def test_choice_items_have_four_options_and_balanced_letters() -> None:
    choices = [item for item in ITEMS if item.form == "choice"]
    for item in choices:
        assert item.native.answer in LETTERS
        assert item.english
        assert item.english.answer == item.native.answer
        for question in (item.native.question, item.english.question):
            assert len(set(map(plain, options(question).values()))) == 4, item.item
    letters = Counter(item.native.answer for item in choices)
    assert max(letters.values()) < 0.4 * len(choices)
    assert 0.15 < len(choices) / len(ITEMS) < 0.35


def test_free_answers_are_short_and_absent_from_the_prompt() -> None:
    for item in (item for item in ITEMS if item.form == "free"):
        assert len(item.native.answer) <= 80, item.item
        text = f" {plain(item.native.scenario)} {plain(item.native.question)} "
        assert f" {plain(item.native.answer)} " not in text, item.item


@pytest.mark.parametrize("kind", KINDS)
def test_at_most_three_items_share_a_kind_of_fact(kind: str) -> None:
    alike = [row["item"] for row in ROWS if re.search(KINDS[kind], str(row["fact"]))]
    assert len(alike) <= 3, alike


def test_no_scenario_names_its_country() -> None:
    """Lin et al. (2026): models infer the culture from implicit cues."""
    names = {row["region"]: str(row["name"]) for row in read_rows("warehouse/reference/culturall_region.csv")}
    for item in ITEMS:
        assert item.english
        assert not re.search(rf"\b{names[item.region]}\b", " ".join(item.english[:2])), item.item
