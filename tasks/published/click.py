"""CLIcK: what models know of Korean culture and language, by exam questions (Kim et al. 2024).

``--data``: a clone of rladmstn1714/CLIcK, or some of its files ``<Subject>_<Exam>.json``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tasks.evaluations.recipe.benchmark import ReadItem, choice, of_choices, place_of
from tasks.evaluations.recipe.files import Files, listed, records
from tasks.identity import digest

_CULTURE = {
    "economy": "economy", "geography": "geography", "geo": "geography", "history": "history",
    "khb": "history", "law": "law", "psat": "law", "politics": "politics", "popular": "popular",
    "pop": "popular", "society": "society", "tradition": "tradition",
}  # fmt: skip
_LANGUAGE = {
    "functional": "functional", "func": "functional", "grammar": "grammar", "gr": "grammar",
    "textual": "textual", "contextual": "textual", "context": "textual",
}  # fmt: skip
"""Word of a file's or an item's name -> subject."""


def read(files: Files, params: Any) -> Iterator[ReadItem]:
    """Yield the questions of all files, with the subject and exam in the file's name, else the item's."""
    tables = files.needed("*.json", "*.jsonl", "*.parquet", "*.csv")
    for path in [path for path in tables if _of_file(path.stem)] or tables:
        seen: Counter[str] = Counter()
        of_file = _of_file(path.stem)
        for record in records(path):
            options, passage = listed(record.get("choices")), record.text("paragraph")
            name = record.text("id")
            seen[name] += 1
            category, subject, exam = of_file or _of_item(name)
            file = f"{subject.capitalize()}_{exam}" if of_file else "CLIcK"
            yield choice(
                f"{file}/{name}" + (f"#{seen[name]}" if seen[name] > 1 else "") if name else "",
                record.text("question"),
                options,
                place_of(record.get("answer"), options, by="text"),
                passage,
                unit=digest(passage, 12) if passage else f"{file}/{name}",
                category=category,
                subject=subject,
                exam=exam,
            )


def _of_file(name: str) -> tuple[str, str, str] | None:
    """Return category, subject and exam in a name like Society_KIIP or Society_KIIP_new, else None."""
    match = re.match(r"([A-Za-z]+)_([A-Za-z]+)", name)
    known = match and _of_word(match[1])
    return (*known, match[2]) if match and known else None


def _of_item(name: str) -> tuple[str, str, str]:
    """Return category, subject and exam of KIIP_society_1; items of language do not say their subject."""
    words = name.split("_")
    known = next(filter(None, map(_of_word, words)), None)
    if known is None and (words[0] == "TK" or "korean" in words or re.match(r"Kedu_\d", name)):
        known = ("language", "")
    return (*(known or ("", "")), words[0] if words[0].isalpha() else "")


def _of_word(word: str) -> tuple[str, str] | None:
    """Return category and subject that a word names."""
    subjects = {"culture": _CULTURE, "language": _LANGUAGE}
    return next(((of, s[word.lower()]) for of, s in subjects.items() if word.lower() in s), None)


EVALUATION = of_choices(
    "click",
    read,
    title="Which answer to a Korean exam question on culture or language is right? (CLIcK)",
    cluster="unit",
    slices=("category", "subject", "exam"),
    licence="none named, neither in the repository nor on its dataset card; exams are their publishers'",
    source="github.com/rladmstn1714/CLIcK",
    citation="Kim et al. 2024, CLIcK: A Benchmark Dataset of Cultural and Linguistic Intelligence in Korean",
)
