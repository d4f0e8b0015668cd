"""Build item_list/languages.csv and country_language.csv: the languages of the 170 countries.

country_language.csv has every language that is official in a country, in the whole of it or in a part, or
that at least `LISTED_PERCENT` of its people speak, second-language speakers included: CLDR's status and share
(babel), with the corrections by hand in language_corrections.csv. Scripts and the codes in `MERGED` are one
language.

The item list names the countries of a language by this rule: it is official there, in the whole country or a
part; or at least `SPOKEN_PERCENT` speak it; or it is listed there and no country has it as its national
language (Kurdish in Turkey, but not Turkish in Germany). A language's name is CLDR's English one, or ISO
639-3's (pycountry) if CLDR has none. If language_names.csv has a more usual name, the other becomes an alias.

Run: python languages.py
"""

from collections import defaultdict

import pycountry
from babel import Locale
from babel.core import get_global
from tables import BUILD, Row, country_codes, join, read_table, split, write_table

NATIONAL = {"official", "de_facto_official"}
SPOKEN_PERCENT, LISTED_PERCENT = 10, 1
MERGED = {
    "nb": "no",
    "nn": "no",
    "wni": "zdj",
    "ckb": "ku",
    "sdh": "ku",
    "fuv": "ff",
    "ffm": "ff",
    "fuq": "ff",
}

Facts = dict[tuple[str, str], tuple[str, float]]
"""(country, language) -> status and percent of speakers."""


def facts() -> Facts:
    """Return CLDR's facts, corrected; merged codes have the highest status and the largest share of any."""
    territories = get_global("territory_languages")
    gathered: Facts = {}
    for country in country_codes():
        for tag, data in territories[country].items():
            code = tag.split("_")[0]
            key = country, MERGED.get(code, code)
            status, percent = gathered.get(key, ("", 0.0))
            ranked = sorted({status, data["official_status"] or ""} - {""}, key=_rank)
            gathered[key] = (ranked[0] if ranked else ""), max(percent, data["population_percent"])
    for line in read_table(BUILD / "language_corrections.csv"):
        key = line["country"], line["language"]
        original = gathered.pop(key, None)
        corrected = line["status"], float(line["percent"] or 0)
        assert original != corrected, f"CLDR has this correction by now: {key}"
        if line["status"] or line["percent"]:
            gathered[key] = corrected
    return {key: (s, p) for key, (s, p) in gathered.items() if s or p >= LISTED_PERCENT}


def _rank(status: str) -> int:
    return ("official", "de_facto_official", "official_regional").index(status)


def countries_of(listed: Facts) -> dict[str, set[str]]:
    """Return language -> its countries in the item list."""
    national = {language for (_, language), (status, _) in listed.items() if status in NATIONAL}
    belonging: dict[str, set[str]] = defaultdict(set)
    for (country, language), (status, percent) in listed.items():
        if status or percent >= SPOKEN_PERCENT or language not in national:
            belonging[language].add(country)
    return belonging


def row(code: str, countries: set[str], preferred: Row) -> Row:
    """Return one row of the item list. preferred: the language's line of language_names.csv, or empty."""
    registered = pycountry.languages.get(alpha_3=code)
    usual = Locale("en").languages.get(code) or (registered.name.partition(" (")[0] if registered else "")
    item = preferred.get("item") or usual
    aliases = {usual, *split(preferred.get("aliases", ""))} - {item}
    return {"item": item, "aliases": join(aliases), "countries": join(countries), "code": code}


def main() -> None:
    """Write both files."""
    preferred = {line["code"]: line for line in read_table(BUILD / "language_names.csv")}
    listed = facts()
    belonging = countries_of(listed)
    assert not preferred.keys() - belonging.keys(), preferred.keys() - belonging.keys()
    rows = [row(code, countries, preferred.get(code, {})) for code, countries in belonging.items()]
    names = [name.casefold() for entry in rows for name in (entry["item"], *split(entry["aliases"]))]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"names of two languages: {twice}"
    assert all(names), "a language without a name"
    items = ["item", "aliases", "countries", "code"]
    print("languages:", write_table("item_list/languages.csv", items, rows))
    columns = ["country", "language", "status", "percent"]
    lines = [
        {"country": c, "language": language, "status": status, "percent": f"{percent:g}"}
        for (c, language), (status, percent) in sorted(listed.items())
    ]
    print("country_language.csv:", write_table("country_language.csv", columns, lines))


if __name__ == "__main__":
    main()
