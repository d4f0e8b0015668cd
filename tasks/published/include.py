"""INCLUDE: regional knowledge by exam questions in 44 languages (Romanou et al. 2024).

``--data``: the folders of CohereLabs/include-base-44 (``<Language>/test-*.parquet``), or files with its
columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tasks.evaluations.recipe.benchmark import ReadItem, choice, of_choices, place_of
from tasks.evaluations.recipe.files import Files, listed, records
from tasks.identity import digest


def read(files: Files, params: Any) -> Iterator[ReadItem]:
    """Yield the questions of the test files. Without the column ``language`` the folder names it."""
    for path in files.to_ask():
        for record in records(path):
            options = listed(record.get("choices")) or [record.get(f"option_{k}") for k in "abcd"]
            language = record.text("language") or files.folder_of(path, "[A-Z][a-z]+([ _-][A-Za-z]+)*")
            question = record.text("question")
            yield choice(
                digest([language, question, [str(option) for option in options]], 16),
                question,
                options,
                place_of(record.get("answer"), options, by="number"),
                language=language,
                country=record.text("country"),
                domain=record.text("domain"),
                region_feature=record.text("regional_feature"),
            )


EVALUATION = of_choices(
    "include",
    read,
    title="Which answer to an exam question of a region is right? (INCLUDE)",
    cluster="item",
    slices=("language", "country", "domain", "region_feature"),
    licence="Apache 2.0, by its dataset card",
    source="huggingface.co/datasets/CohereLabs/include-base-44",
    citation="Romanou et al. 2024, INCLUDE: Evaluating Multilingual Language Understanding with Regional "
    "Knowledge",
)
