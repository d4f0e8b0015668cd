"""Build country.csv: the 170 most populous member states of the United Nations.

Membership, population, alpha-3 codes and the M49 regions are CLDR's (npm package cldr-core).
The English names are CLDR's (babel), with the few changes below so that a country reads well
inside a sentence and a region has the name of the M49 standard.

Run: python countries.py PATH_TO_UNPACKED_CLDR_CORE
"""

import json
import sys
from pathlib import Path
from typing import Any

from babel import Locale
from tables import write_table

KEEP = 170
SMALLEST = "MV"

# CLDR's name, unless a sentence wants another word or an article.
NAMES = {
    "AE": "the United Arab Emirates",
    "BA": "Bosnia and Herzegovina",
    "BS": "the Bahamas",
    "CD": "the Democratic Republic of the Congo",
    "CF": "the Central African Republic",
    "CG": "the Republic of the Congo",
    "CI": "Côte d'Ivoire",
    "DO": "the Dominican Republic",
    "GB": "the United Kingdom",
    "GM": "the Gambia",
    "KM": "the Comoros",
    "MM": "Myanmar",
    "MV": "the Maldives",
    "NL": "the Netherlands",
    "PH": "the Philippines",
    "SB": "the Solomon Islands",
    "TR": "Turkey",
    "TT": "Trinidad and Tobago",
    "US": "the United States",
}

WORLD = "001"
AMERICAS = "019"
M49_NAMES = {"035": "South-eastern Asia", "053": "Australia and New Zealand", "057": "Micronesia"}


def load(folder: Path, name: str) -> dict[str, Any]:
    """Return the `supplemental` part of one cldr-core file."""
    text = (folder / "supplemental" / f"{name}.json").read_text(encoding="utf-8")
    supplemental: dict[str, Any] = json.loads(text)["supplemental"]
    return supplemental


def most_populous(folder: Path, members: list[str]) -> list[tuple[str, int]]:
    """Return (code, population) of the `KEEP` most populous members, largest first."""
    info = load(folder, "territoryInfo")["territoryInfo"]
    ranked = sorted((-int(info[code]["_population"]), code) for code in members)
    print(f"UN members: {len(ranked)}")
    print("left out:", ", ".join(f"{code} {-size}" for size, code in ranked[KEEP:]))
    return [(code, -size) for size, code in ranked[:KEEP]]


def regions(inside: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return {country: (M49 region, M49 subregion)}."""
    return {
        country: (region, subregion)
        for region in (AMERICAS, *inside[WORLD]["_contains"])
        for subregion in inside[region]["_contains"]
        for country in inside.get(subregion, {}).get("_contains", [])
        if country.isalpha()
    }


def main() -> None:
    """Write country.csv."""
    folder = Path(sys.argv[1])
    inside = load(folder, "territoryContainment")["territoryContainment"]
    alpha3 = load(folder, "codeMappings")["codeMappings"]
    chosen = most_populous(folder, inside["UN"]["_contains"])
    assert chosen[-1][0] == SMALLEST, f"the smallest is {chosen[-1]}, expected {SMALLEST}"
    english = {**Locale("en").territories, **NAMES, **M49_NAMES}
    region_of = regions(inside)
    rows = [
        {
            "country": code,
            "alpha3": alpha3[code]["_alpha3"],
            "name": english[code],
            "region": english[region_of[code][0]],
            "subregion": english[region_of[code][1]],
            "population": str(population),
        }
        for code, population in chosen
    ]
    columns = ["country", "alpha3", "name", "region", "subregion", "population"]
    print("country.csv:", write_table("country.csv", columns, rows), "rows")


if __name__ == "__main__":
    main()
