"""Build item_list/languages.csv: the languages that are official or widely spoken in the 170 countries.

The rule: CLDR calls the language official or de facto official in the whole country, or says
that at least 10 % of the people there speak it. Languages that are official in a region only
do not qualify by that alone. Scripts and the codes in `MERGED` are one language. The name is
CLDR's English one (babel) unless language_names.csv has the word people use more; CLDR's then
becomes an alias.

Run: python languages.py   (after countries.py)
"""

from collections import defaultdict

from babel import Locale
from babel.core import get_global
from tables import BUILD, Row, country_codes, join, read_table, split, write_table

NATIONAL = {"official", "de_facto_official"}
SPOKEN_PERCENT = 10
MERGED = {"nb": "no", "nn": "no", "wni": "zdj"}


def qualifying() -> dict[str, set[str]]:
    """Return {language code: countries in which it qualifies}."""
    territories = get_global("territory_languages")
    found: dict[str, set[str]] = defaultdict(set)
    regional: set[str] = set()
    for country in country_codes():
        for tag, facts in territories[country].items():
            code = tag.split("_")[0]
            code = MERGED.get(code, code)
            spoken = facts["population_percent"] >= SPOKEN_PERCENT
            if spoken or facts["official_status"] in NATIONAL:
                found[code].add(country)
            elif facts["official_status"]:
                regional.add(code)
    print(f"dropped, official in a region only: {len(regional - found.keys())}")
    return found


def row(code: str, countries: set[str], preferred: Row) -> Row:
    """Return one row; `preferred` is the line of language_names.csv, or empty."""
    cldr = Locale("en").languages.get(code, "")
    item = preferred.get("item") or cldr
    aliases = {cldr, *split(preferred.get("aliases", ""))} - {item}
    return {"item": item, "aliases": join(aliases), "countries": join(countries), "code": code}


def main() -> None:
    """Write item_list/languages.csv."""
    preferred = {line["code"]: line for line in read_table(BUILD / "language_names.csv")}
    found = qualifying()
    assert not preferred.keys() - found.keys(), preferred.keys() - found.keys()
    rows = [row(code, found[code], preferred.get(code, {})) for code in found]
    items = [entry["item"] for entry in rows]
    assert len(items) == len(set(items)), "two languages share a name"
    columns = ["item", "aliases", "countries", "code"]
    print("languages:", write_table("item_list/languages.csv", columns, rows), "rows")


if __name__ == "__main__":
    main()
