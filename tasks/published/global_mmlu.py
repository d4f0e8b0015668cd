"""The culturally sensitive questions of Global-MMLU (Singh et al. 2024).

``--data``: the folders of CohereLabs/Global-MMLU or -Lite (``<language>/test-*.parquet``), or files with its
columns. Only questions labelled CS are asked: annotators found that they need knowledge of a culture, region
or dialect. Its translations are one cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tasks.evaluations.recipe.benchmark import ReadItem, choice, of_choices, place_of
from tasks.evaluations.recipe.files import Files, listed, records, spelt

SENSITIVE = "CS"
LABELS = {SENSITIVE, "CA", "-", ""}
"""Labels of the data: culturally sensitive, agnostic, and not annotated."""


def read(files: Files, params: Any) -> Iterator[ReadItem]:
    """Yield the culturally sensitive questions of the test files; a folder is a language.

    Raises:
        ValueError: a file has no labels.
    """
    for path in files.to_ask():
        for record in records(path):
            label = record.text("cultural_sensitivity_label").upper()
            if spelt("cultural_sensitivity_label") not in record.cells or label not in LABELS:
                there = f"but {label[:20]!r}" if label else "of that name"
                raise ValueError(
                    f"{record.place}: there is no cultural_sensitivity_label {there}: is this Global-MMLU?"
                )
            if label != SENSITIVE:
                continue
            language = record.text("language", "lang") or files.folder_of(path, "[a-z]{2,3}")
            options = [record.get(f"option_{k}") for k in "abcd"]
            yield choice(
                f"{language}/{record.text('sample_id')}",
                record.text("question"),
                options,
                place_of(record.get("answer"), options),
                sample=record.text("sample_id"),
                language=language,
                subject_category=record.text("subject_category"),
                region=_first(record.text("region")),
                country=_first(record.text("country")),
            )


def _first(cell: str) -> str:
    """Return the commonest name in a cell that lists each annotator's names."""
    named = Counter(str(each).strip() for each in listed(cell) if str(each).strip() not in ("", "-"))
    if named:
        return min(named, key=lambda each: (-named[each], each))
    return "" if cell.startswith("[") or cell == "-" else cell


EVALUATION = of_choices(
    "global_mmlu",
    read,
    title="Which answer to a culturally sensitive question is right? (Global-MMLU)",
    cluster="sample",
    slices=("language", "subject_category", "region", "country"),
    licence="Apache 2.0, by its dataset card",
    source="huggingface.co/datasets/CohereLabs/Global-MMLU",
    citation="Singh et al. 2024, Global MMLU: Understanding and Addressing Cultural and Linguistic Biases in "
    "Multilingual Evaluation",
)
