"""ArabCulture: how an everyday situation goes on, in 13 Arab countries (Sadallah et al. 2025).

``--data``: the files of MBZUAI/ArabCulture, a folder for each country, or files with its columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tasks.evaluations.recipe.benchmark import Row, choice, of_choices, place_of
from tasks.evaluations.recipe.files import Files, fields, listed, records
from tasks.identity import digest


def read(files: Files, params: Any) -> Iterator[Row]:
    """Yield the situations that their authors did not discard, each with three ways to go on."""
    for path in files.to_ask():
        for record in records(path):
            if record.text("should_discard").lower() == "yes":
                yield "discarded by its authors"
                continue
            options = listed(fields(record.get("options")).get("text"))
            keys = fields(record.get("answer_key"))
            statement, country = record.text("first_statement"), record.text("country")
            yield choice(
                digest([country, statement, [str(option) for option in options]], 16),
                statement,
                options,
                place_of(keys.get("english_answer_key", record.get("english_answer_key")), options),
                country=country,
                region=record.text("region"),
                topic=record.text("sub_topic"),
                elsewhere=record.text("relevant_to_other_countries").lower(),
            )


EVALUATION = of_choices(
    "arab_culture",
    read,
    prompt="{{ question }}\n\nWhich of these goes on best, in {{ country }}?\n{{ choices }}\nAnswer:",
    title="How does an everyday situation in an Arab country go on? (ArabCulture)",
    what="situations",
    cluster="item",
    slices=("country", "region", "topic", "elsewhere"),
    licence="CC BY-NC-SA 4.0, by its dataset card",
    source="huggingface.co/datasets/MBZUAI/ArabCulture",
    citation="Sadallah et al. 2025, Commonsense Reasoning in Arab Culture",
)
