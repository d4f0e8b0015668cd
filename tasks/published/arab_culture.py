"""ArabCulture: how an everyday situation goes on, in 13 Arab countries (Sadallah et al. 2025).

``--data``: the files of MBZUAI/ArabCulture, a folder for each country, or files with its columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tasks.evaluations.recipe.benchmark import ReadItem, choice, of_choices
from tasks.evaluations.recipe.files import Files, Record, clean, fields, listed, records
from tasks.evaluations.recipe.items import LeftOut
from tasks.identity import digest

USUAL = {"arabic": "ابج", "english": "ABC"}
"""Letters of the options if a file does not name them."""


def read(files: Files, params: Any) -> Iterator[ReadItem]:
    """Yield the situations that their authors did not discard, each with three ways to go on."""
    for path in files.to_ask():
        for record in records(path):
            if record.text("should_discard").lower() in ("yes", "true", "1"):
                yield LeftOut("discarded by its authors", is_fault=False)
                continue
            own = fields(record.get("options"))
            options = listed(own.get("text"))
            statement, country = record.text("first_statement"), record.text("country")
            yield choice(
                digest([country, statement, [str(option) for option in options]], 16),
                statement,
                options,
                _right(own, record, len(options)),
                country=country,
                region=record.text("region"),
                topic=record.text("sub_topic"),
                elsewhere=record.text("relevant_to_other_countries").lower(),
            )


def _right(options: Mapping[str, Any], record: Record, n: int) -> int | None:
    """Return the place that the Arabic and English keys name; None if they differ."""
    keys, places = fields(record.get("answer_key")), set()
    for language, usual in USUAL.items():
        column = f"{language}_answer_key"
        key = clean(str(keys.get(column) or record.text(column)))
        letters = [clean(str(each)) for each in listed(options.get(f"{language}_keys"))] or list(usual)
        if key:
            places.add(letters.index(key) if key in letters[:n] else None)
    return places.pop() if len(places) == 1 else None


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
