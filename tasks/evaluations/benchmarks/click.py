"""CLIcK: what models know of Korean culture and language, by exam questions (Kim et al. 2024).

``--data``: a clone of rladmstn1714/CLIcK, or some of its files ``<Subject>_<Exam>.json``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tasks.evaluations.recipe.benchmark import Row, choice, of_choices, place_of
from tasks.evaluations.recipe.files import Files, listed, records
from tasks.identity import digest

_OF_LANGUAGE = ("functional", "grammar", "textual")


def read(files: Files, params: Any) -> Iterator[Row]:
    """Yield the questions of all files; a file's name says subject and exam."""
    for path in files.needed("*.json", "*.jsonl", "*.parquet", "*.csv"):
        for record in records(path):
            options, passage = listed(record.get("choices")), record.text("paragraph")
            name = record.text("id")
            subject, exam = _of(path.stem, name)
            yield choice(
                f"{path.stem}/{name}" if name else "",
                record.text("question"),
                options,
                place_of(record.get("answer"), options, by="text"),
                passage,
                unit=digest(passage, 12) if passage else name,
                category="language" if subject.lower() in _OF_LANGUAGE else "culture",
                subject=subject.lower(),
                exam=exam,
            )


def _of(file: str, name: str) -> tuple[str, str]:
    """Return subject and exam, of a file Society_KIIP, else of an item KIIP_society_1; "" without either."""
    if match := re.fullmatch(r"([A-Za-z]+)_([A-Za-z]+)", file):
        return match[1], match[2]
    match = re.match(r"([A-Za-z]+)_([A-Za-z]+)_", name)
    return (match[2], match[1]) if match else ("", "")


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
