"""Shared helpers of the reference build scripts: read and write small CSV tables.

Every table in this folder is UTF-8 with a header and LF line ends, and a cell that holds a
list separates its values with ``|``. The writer sorts the rows, so the same input always
gives the same bytes.
"""

import csv
import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path

REFERENCE = Path(__file__).resolve().parent.parent
BUILD = REFERENCE / "build"

Row = dict[str, str]

# Letters and marks that Unicode does not decompose.
PLAIN = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ı": "i", "æ": "ae", "Æ": "Ae"}
    | {"œ": "oe", "Œ": "Oe", "ʻ": "'", "ʼ": "'", "’": "'", "‘": "'", "ə": "e", "Ə": "E"}
)


def read_table(path: Path) -> list[Row]:
    """Return the rows of one CSV file; `utf-8-sig` also takes a file with a byte-order mark."""
    with path.open(encoding="utf-8-sig", newline="") as handle:
        return list(csv.DictReader(handle))


def write_table(name: str, columns: list[str], rows: Iterable[Mapping[str, str]]) -> int:
    """Write `rows` to the reference folder, sorted by the first column; return their number."""
    ordered = sorted(rows, key=lambda row: (row[columns[0]].casefold(), row[columns[0]]))
    with (REFERENCE / name).open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, fieldnames=columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(ordered)
    return len(ordered)


def join(values: Iterable[str]) -> str:
    """Return one list cell: the distinct non-empty values, sorted."""
    distinct = {value.strip() for value in values} - {""}
    return "|".join(sorted(distinct, key=lambda value: (value.casefold(), value)))


def split(cell: str) -> list[str]:
    """Return the non-empty values of one list cell."""
    return [value.strip() for value in cell.split("|") if value.strip()]


def without_marks(name: str) -> str:
    """Return `name` in plain letters: no diacritics, curly quotes or modifier letters."""
    decomposed = unicodedata.normalize("NFKD", name.translate(PLAIN))
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def fold(name: str) -> str:
    """Return a matching key: no case, diacritics or punctuation, single spaces."""
    plain = re.sub(r"[-/–]", " ", without_marks(name).casefold())
    return " ".join(re.sub(r"[^\w\s]", "", plain).split())


def country_codes() -> list[str]:
    """Return the 170 alpha-2 codes of country.csv (run countries.py first)."""
    return [row["country"] for row in read_table(REFERENCE / "country.csv")]
