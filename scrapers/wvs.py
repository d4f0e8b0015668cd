"""Parses answers to Q272 ("language at home") of the World Values Survey, wave 7, into an item per language.

Two kinds of files are read. The survey's own CSV file has a row per respondent, headers such as "Q272:
Language at home" and codes as answers; a second file with the columns code and label must contain the code
book's labels. A ready file has the columns language and country. The survey's terms do not allow
redistribution, so users get the files themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from scrapers import csv_table
from scrapers.countries import CountryCodes
from scrapers.csv_table import CsvTable
from scrapers.model import ListItem, Parsed, ScrapeError, parsed

_SOURCE = "wvs"
_CODE = re.compile(r"(-?\d+)(?:\.0*)?")
_NO_LANGUAGE = re.compile(
    r"others?\b|don.?t know|no answer|not asked|not applicable|missing|refused", re.IGNORECASE
)


def parse(
    content: bytes, countries: CountryCodes, labels: bytes | None = None, minimum_share: float = 0.01
) -> Parsed:
    """Return items of the list ``languages``, with the countries where they are spoken at home.

    "Spanish; Castilian" becomes an item and an alias. Dropped and counted are ``missing_answer`` (a negative
    code or none), ``unknown_code`` (no label) and ``other_language`` (a label such as "Other"). Also counted
    are ``unknown_country`` (per row) and ``rare_in_country`` (per language and country); the language lacks
    that country.

    Args:
        countries: codes of countries, including alpha-3 codes as names.
        labels: the code book's labels of Q272; not needed for a ready file.
        minimum_share: minimum share of a country's answers (0 to 1, unweighted) for a language to have that
            country, since in a large sample some people speak almost any language. Not used for a ready file.

    Raises:
        ScrapeError: a column or file is missing.
    """
    table = csv_table.read(content, _SOURCE, name_of=_variable, has_end=True)
    dropped: Counter[str] = Counter()
    if table.column("Q272") is not None:
        answers = _answers(table, _labels(labels), dropped)
        share = minimum_share
    else:
        answers = _ready(table, dropped)
        share = 0.0
    return parsed(_entries(answers, countries, share, dropped), dropped, _SOURCE)


def _variable(header: str) -> str:
    """Return the variable of a header: Q272 of "Q272: Language at home" or "Q272 Language at home"."""
    return re.split(r"[:\s]", header.strip(), maxsplit=1)[0]


def _labels(content: bytes | None) -> dict[str, str]:
    """Return languages by code."""
    if content is None:
        raise ScrapeError(
            f"{_SOURCE}: Q272 contains codes: add a CSV file of their labels with the columns code and "
            "label, from the code book's list of languages"
        )
    table = csv_table.read(content, f"{_SOURCE} labels")
    code, label = (table.required(f"{_SOURCE} labels", name) for name in ("code", "label"))
    return {_number(row[code]) or row[code]: row[label] for row in table.rows}


def _answers(table: CsvTable, labels: dict[str, str], dropped: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yield language and country of every respondent who answered."""
    answer = table.required(_SOURCE, "Q272")
    country = table.required(_SOURCE, "B_COUNTRY_ALPHA", "B_COUNTRY")
    for row in table.rows:
        if row[country].isdigit():
            raise ScrapeError(
                f"{_SOURCE}: B_COUNTRY contains numbers: export B_COUNTRY_ALPHA (letters) with Q272"
            )
        code = _number(row[answer])
        if code is None or code.startswith("-"):
            dropped["missing_answer"] += 1
        elif code not in labels:
            dropped["unknown_code"] += 1
        else:
            yield labels[code], row[country]


def _ready(table: CsvTable, dropped: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yield language and country of every row of a ready file."""
    language = table.required(_SOURCE, "language", "Q272")
    country = table.required(_SOURCE, "country", "B_COUNTRY_ALPHA")
    for row in table.rows:
        if row[language]:
            yield row[language], row[country]
        else:
            dropped["missing_answer"] += 1


def _entries(
    answers: Iterable[tuple[str, str]], countries: CountryCodes, share: float, dropped: Counter[str]
) -> Iterator[ListItem]:
    """Yield an entry per language and country; answers and countries left out are counted in ``dropped``."""
    spoken: Counter[tuple[str, str | None]] = Counter()
    n_answers: Counter[str | None] = Counter()
    for language, country in answers:
        code = countries.code(country)
        dropped["unknown_country"] += code is None
        n_answers[code] += 1
        if _NO_LANGUAGE.match(language):
            dropped["other_language"] += 1
        else:
            spoken[language, code] += 1
    for (language, code), speakers in spoken.items():
        is_rare = code is not None and speakers < share * n_answers[code]
        dropped["rare_in_country"] += is_rare
        name, *aliases = (part.strip() for part in language.split(";"))
        yield ListItem(name, tuple(aliases), () if is_rare or code is None else (code,))


def _number(cell: str) -> str | None:
    """Return a code without the ".0" that some programs add; None if the cell is not a number."""
    match = _CODE.fullmatch(cell)
    return match[1] if match else None
