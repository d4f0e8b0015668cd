"""INCLUDE: regional knowledge by exam questions in 44 languages (Romanou et al. 2024).

``--data``: the folders of CohereLabs/include-base-44 (``<Language>/test-*.parquet``), or files with its
columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tasks.evaluations.recipe import SHARE, Metric
from tasks.evaluations.recipe.benchmark import AS_CHOICE, Row, benchmark, choice, place_of
from tasks.evaluations.recipe.definition import CHOICE
from tasks.evaluations.recipe.files import Files, listed, records
from tasks.identity import digest

FOR_EXAMPLES = ("dev", "validation", "train")
"""Splits that are not asked, by the beginning of a file's name."""


def read(files: Files, params: Any) -> Iterator[Row]:
    """The questions of the test files. A file without the column ``language`` is of its folder's."""
    for path in files.needed("*.parquet", "*.jsonl", "*.json", "*.csv"):
        if path.name.lower().startswith(FOR_EXAMPLES):
            continue
        for record in records(path):
            options = listed(record.get("choices")) or [record.get(f"option_{k}") for k in "abcd"]
            language = record.text("language") or path.parent.name
            question = record.text("question")
            yield choice(
                digest([language, question, [str(option) for option in options]], 16),
                question,
                options,
                place_of(record.get("answer"), options),
                language=language,
                country=record.text("country"),
                domain=record.text("domain"),
                region_feature=record.text("regional_feature"),
            )


EVALUATION = benchmark(
    "include",
    CHOICE,
    read,
    **AS_CHOICE,
    title="Which answer to an exam question of a region is right? (INCLUDE)",
    metric=Metric(
        "accuracy",
        bounds=SHARE,
        null="best",
        description="Share of questions whose right option is the likeliest, or named by its letter.",
        source="Romanou et al. 2024",
    ),
    cluster="item",
    slices=("language", "country", "domain", "region_feature"),
    profiles={"smoke": {"limit": 20, "max_tokens": 64}, "demo": {"limit": 400, "max_tokens": 64}, "full": {}},
    licence="Apache 2.0",
    source="huggingface.co/datasets/CohereLabs/include-base-44",
    citation="Romanou et al. 2024, INCLUDE: Evaluating Multilingual Language Understanding with Regional "
    "Knowledge",
)
