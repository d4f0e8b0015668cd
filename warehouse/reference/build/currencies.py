"""Build item_list/currencies.csv: the world's circulating currencies.

The rule: every currency that CLDR (babel) calls legal tender on `AS_OF` in any territory of
the world, plus what currency_names.csv adds: issues that circulate without an ISO 4217 code
(as listed in Wikipedia's "List of circulating currencies") and changes that CLDR has not taken
up yet. `countries` holds those of the 170 where it is tender, so the currency of a dependency
or of a smaller state has none.

currency_names.csv also gives the usual name where CLDR's differs ("Pound sterling"); CLDR's
name is then kept as an alias.

Run: python currencies.py   (after countries.py)
"""

from collections import defaultdict
from datetime import date

from babel.core import get_global
from babel.numbers import get_currency_name, get_territory_currencies
from tables import (
    BUILD,
    Row,
    country_codes,
    join,
    read_table,
    split,
    without_marks,
    write_table,
)

AS_OF = date(2026, 11, 21)


def tender() -> dict[str, set[str]]:
    """Return {ISO code: territories where it is legal tender on `AS_OF`}."""
    found: dict[str, set[str]] = defaultdict(set)
    for territory in get_global("territory_currencies"):
        for code in get_territory_currencies(territory, AS_OF, AS_OF, tender=True):
            found[code].add(territory)
    return found


def row(code: str, countries: set[str], by_hand: Row) -> Row:
    """Return one row; `by_hand` is the line of currency_names.csv, or empty."""
    title = get_currency_name(code, locale="en") if code else ""
    sentence = get_currency_name(code, 1, locale="en") if code else ""
    item = by_hand.get("item") or sentence
    names = {title, without_marks(item), *split(by_hand.get("aliases", ""))}
    return {
        "item": item,
        "aliases": join(one_spelling(names, item)),
        "countries": join(countries),
        "code": code,
    }


def one_spelling(names: set[str], item: str) -> list[str]:
    """Drop the names that differ from the item or from each other in letter case only."""
    kept: dict[str, str] = {}
    for alias in sorted(names, reverse=True):
        kept.setdefault(alias.casefold(), alias)
    return [alias for key, alias in kept.items() if key != item.casefold()]


def main() -> None:
    """Write item_list/currencies.csv."""
    ours = set(country_codes())
    found = tender()
    by_code: dict[str, Row] = {}
    rows = []
    for line in read_table(BUILD / "currency_names.csv"):
        if line["code"]:
            by_code[line["code"]] = line
            found[line["code"]].update(split(line["countries"]))
        else:
            rows.append(row("", set(split(line["countries"])), line))
    print(f"without an ISO code: {len(rows)}; with one: {len(found)}")
    rows += [row(code, found[code] & ours, by_code.get(code, {})) for code in found]
    assert len({entry["item"] for entry in rows}) == len(rows), "two currencies share a name"
    without = sorted(ours - {code for entry in rows for code in split(entry["countries"])})
    print("countries without a currency:", without or "none")
    columns = ["item", "aliases", "countries", "code"]
    print("currencies:", write_table("item_list/currencies.csv", columns, rows), "rows")


if __name__ == "__main__":
    main()
