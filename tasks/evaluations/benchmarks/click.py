"""CLIcK: what models know of Korean culture and language, by exam questions (Kim et al. 2024).

``--data``: a clone of rladmstn1714/CLIcK, or some of its files ``<Subject>_<Exam>.json``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tasks.evaluations.recipe import SHARE, Metric
from tasks.evaluations.recipe.benchmark import AS_CHOICE, Row, benchmark, choice
from tasks.evaluations.recipe.definition import CHOICE
from tasks.evaluations.recipe.files import Files, listed, records
from tasks.identity import digest

_OF_LANGUAGE = ("functional", "grammar", "textual")


def read(files: Files, params: Any) -> Iterator[Row]:
    """The questions of all files; a file's name says subject and exam."""
    for path in files.needed("*.json", "*.jsonl", "*.parquet", "*.csv"):
        subject, _, exam = path.stem.partition("_")
        for record in records(path):
            options, passage = listed(record.get("choices")), record.text("paragraph")
            texts, answer = [str(option).strip() for option in options], record.text("answer")
            name = record.text("id")
            yield choice(
                f"{path.stem}/{name}" if name else "",
                record.text("question"),
                options,
                texts.index(answer) if texts.count(answer) == 1 else None,
                passage,
                unit=digest(passage, 12) if passage else name,
                category="language" if subject.lower() in _OF_LANGUAGE else "culture",
                subject=subject.lower(),
                exam=exam,
            )


EVALUATION = benchmark(
    "click",
    CHOICE,
    read,
    **AS_CHOICE,
    title="Which answer to a Korean exam question on culture or language is right? (CLIcK)",
    metric=Metric(
        "accuracy",
        bounds=SHARE,
        null="best",
        description="Share of questions whose right option is the likeliest, or named by its letter.",
        source="Kim et al. 2024",
    ),
    cluster="unit",
    slices=("category", "subject", "exam"),
    profiles={"smoke": {"limit": 20, "max_tokens": 64}, "demo": {"limit": 400, "max_tokens": 64}, "full": {}},
    licence="no licence file in the repository; the exams belong to their publishers",
    source="github.com/rladmstn1714/CLIcK",
    citation="Kim et al. 2024, CLIcK: A Benchmark Dataset of Cultural and Linguistic Intelligence in Korean",
)
