"""Build item_name/cldr.csv: names of countries, currencies and languages in other languages, and digits.

Names are CLDR's (babel), as they stand inside a sentence. A parenthesis after a country's name is left out
where the name is unique without it. Two items of a list with one name in a language have none there. House
numbers are written in the language's own digits where its writers use them (`NATIVE_DIGITS`); elsewhere an
item of digits is its own name, without a row.

Run: python names.py
"""

from collections import Counter
from collections.abc import Mapping

from babel import Locale
from tables import REFERENCE, Row, country_codes, read_table, write_table

LANGUAGES = ("ar", "de", "es", "fr", "hi", "ja", "pt", "ru", "sw", "tr", "zh")
NATIVE_DIGITS = {"ar": "٠١٢٣٤٥٦٧٨٩", "hi": "०१२३४५६७८९"}


def without_note(names: Mapping[str, str]) -> dict[str, str]:
    """Return key -> name without what stands in parentheses at its end, if no other name is the same then."""
    plain = {key: name.replace("（", "(").partition("(")[0].strip() for key, name in names.items()}
    counts = Counter(plain.values())
    return {key: plain[key] if counts[plain[key]] == 1 else names[key] for key in names}


def unique(names: Mapping[str, str]) -> dict[str, str]:
    """Return the names that stand for one key only."""
    counts = Counter(names.values())
    return {key: name for key, name in names.items() if counts[name] == 1}


def names_in(language: str) -> dict[str, dict[str, str]]:
    """Return item list -> item -> name in a language; the list of countries is `country`, by code."""
    locale = Locale(language)
    named = {"country": without_note({code: locale.territories[code] for code in country_codes()})}
    for item_list, known in (("currencies", locale.currencies), ("languages", locale.languages)):
        lines = read_table(REFERENCE / "item_list" / f"{item_list}.csv")
        named[item_list] = {line["item"]: known[line["code"]] for line in lines if line["code"] in known}
    if digits := NATIVE_DIGITS.get(language):
        table = str.maketrans("0123456789", digits)
        numbers = [line["item"] for line in read_table(REFERENCE / "item_list" / "house_numbers.csv")]
        named["house_numbers"] = {number: number.translate(table) for number in numbers}
    return {item_list: unique(names) for item_list, names in named.items()}


def main() -> None:
    """Write the file."""
    rows: list[Row] = [
        {"item_list": item_list, "item": item, "language": language, "name": name}
        for language in LANGUAGES
        for item_list, names in names_in(language).items()
        for item, name in names.items()
    ]
    count = write_table("item_name/cldr.csv", ["item_list", "item", "language", "name"], rows)
    print("item_name/cldr.csv:", count)


if __name__ == "__main__":
    main()
