"""Survey files with labels, and files that already have names."""

from __future__ import annotations

import pytest

from scrapers.model import ListItem, Parsed, ScrapeError
from scrapers.wvs import parse
from tests.scrapers.hand_made import COUNTRIES

LABELS = (
    b"code;label\n1240;English\n4110.0;Spanish; Castilian\n3190;Portuguese\n9000;Other\n-5;Missing\n".replace(
        b"Spanish; Castilian", b'"Spanish; Castilian"'
    )
)
# The survey's export: semicolons, variable and title in the header, one delimiter too many.
HEADER = (
    '\ufeff"version: Version";"B_COUNTRY_ALPHA: ISO 3166-1 alpha-3 country code";"Q272: Language at home"'
)


def survey(*answers: tuple[str, str], header: str = HEADER) -> bytes:
    return "\r\n".join([header, *(f"6-0-0;{country};{code};" for country, code in answers)]).encode()


def test_answers_become_languages_with_countries() -> None:
    content = survey(
        ("BRA", "3190"),
        ("USA", "1240.0"),
        ("USA", "4110"),
        ("USA", "-2"),  # no answer
        ("USA", ""),
        ("USA", "77"),  # no such label
        ("PRI", "4110"),  # Puerto Rico is none of our countries
        ("USA", "9000"),
    )
    assert parse(content, COUNTRIES, LABELS) == Parsed(
        (
            ListItem("English", countries=("US",)),
            ListItem("Portuguese", countries=("BR",)),
            ListItem("Spanish", aliases=("Castilian",), countries=("US",)),
        ),
        {"missing_answer": 2, "other_language": 1, "unknown_code": 1, "unknown_country": 1},
    )


def test_language_belongs_to_a_country_from_1_percent_of_its_answers() -> None:
    # 1 of 200 answers is 0.5 %, less than 1 %; 2 of 200 are 1 %. Missing answers are no answers.
    answers = [("BRA", "3190")] * 197 + [("BRA", "1240")] + [("BRA", "4110")] * 2 + [("BRA", "-1")] * 50
    result = parse(survey(*answers), COUNTRIES, LABELS)
    assert {item.item: item.countries for item in result.items} == {
        "English": (),
        "Portuguese": ("BR",),
        "Spanish": ("BR",),
    }
    assert result.dropped == {"missing_answer": 50, "rare_in_country": 1}
    everything = parse(survey(*answers), COUNTRIES, LABELS, minimum_share=0.0)
    assert everything.items[0] == ListItem("English", countries=("BR",))


def test_header_with_spaces_and_commas_is_read() -> None:
    content = b"Q272 Language at home,B_COUNTRY_ALPHA ISO code\n1240,GBR\n"
    assert parse(content, COUNTRIES, LABELS).items == (ListItem("English", countries=("GB",)),)


def test_file_with_names_needs_no_labels() -> None:
    content = b"Language,Country\nQuechua,Peru\nQuechua,BOL\n,Peru\nTok Pisin,Atlantis\n"
    assert parse(content, COUNTRIES) == Parsed(
        (ListItem("Quechua", countries=("BO", "PE")), ListItem("Tok Pisin")),
        {"missing_answer": 1, "unknown_country": 1},
    )


@pytest.mark.parametrize(
    ("content", "labels", "message"),
    [
        (survey(("BRA", "1")), None, "add a CSV file of their labels"),
        (survey(("BRA", "1")), b"number,label\n1,x\n", "wvs labels: the file has no column 'code'"),
        (survey(("76", "1"), header="v;B_COUNTRY;Q272"), LABELS, "B_COUNTRY contains numbers"),
        (survey(("BRA", "1"), header="v;COUNTRY;Q272"), LABELS, "no column 'B_COUNTRY_ALPHA' or 'B_COUNTRY'"),
        (b"idiom,country\nx,Peru\n", None, "no column 'language' or 'Q272'; its columns: 'idiom', 'country'"),
        (survey(("BRA", "-1")), LABELS, r"no item was found \(missing_answer: 1\)"),
    ],
)
def test_missing_labels_and_columns_are_named(content: bytes, labels: bytes | None, message: str) -> None:
    with pytest.raises(ScrapeError, match=message):
        parse(content, COUNTRIES, labels)
