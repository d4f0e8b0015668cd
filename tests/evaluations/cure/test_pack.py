"""Which items a pack may bring, and what is said of others, with the column that is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.evaluations.cure.benchmarks import LABELS
from tasks.evaluations.cure.pack import PACK, ItemRow
from tasks.evaluations.cure.params import BENCHMARKS
from tasks.packs.files import checked_row, read_csv

CELLS = {
    "item": "a", "country": "CH", "group_name": "g", "persona": "p", "situation": "s", "question": "q",
    "label": "yes", "gold": "n", "cues": "c", "rule": "r",
}  # fmt: skip


def faults(**cells: Any) -> list[str]:
    """What is said of the row with these cells in place of right ones; None: an empty cell."""
    given = {name: text for name, text in (CELLS | cells).items() if text is not None}
    return [str(fault) for fault in checked_row(ItemRow, given, "cure/item.csv", 3)[1]]


@pytest.mark.parametrize("kind", BENCHMARKS)
def test_a_benchmark_is_made_like_any_published_one(kind: str) -> None:
    assert faults(benchmark=f"{kind}-mine") == []
    (fault,) = faults(benchmark=kind)
    assert fault.startswith(
        f"cure/item.csv, line 3, column benchmark: '{kind}': names begin with the published"
    )
    for name in ("mine", f"{kind}s-mine", f"{kind}-", f"{kind}-Mine", f"{kind}-my-own"):
        assert len(faults(benchmark=name)) == 1


@pytest.mark.parametrize(
    ("kind", "column", "why"),
    [
        ("culturebank", "persona", "explanations have to take it into account"),
        ("culturebank", "group_name", "the question is put about that group"),
        ("specnorm", "cues", "a specific answer has to name them"),
    ],
)
def test_what_a_kind_cannot_do_without(kind: str, column: str, why: str) -> None:
    (fault,) = faults(benchmark=f"{kind}-mine", **{column: None})
    said = f"it is empty, but a benchmark like {kind} needs one: {why}; fill it in"
    assert fault == f"cure/item.csv, line 3, column {column}: {said}"
    assert faults(benchmark="normad-mine", **{column: None}) == []


@pytest.mark.parametrize("kind", BENCHMARKS)
def test_labels_are_those_of_the_kind(kind: str) -> None:
    for label in ("yes", "no", "neutral"):
        said = faults(benchmark=f"{kind}-mine", label=label)
        assert [fault.partition(": ")[0] for fault in said] == (
            [] if label in LABELS[kind] else ["cure/item.csv, line 3, column label"]
        )
        assert all(f"a benchmark like {kind} has the labels yes, no; correct it" in fault for fault in said)


def test_every_fault_of_a_row_is_said_at_once() -> None:
    """Also where the columns are not in the file at all."""
    (file,) = PACK.files
    text = "benchmark,item,country,situation,question,label,gold\nculturebank-mine,a,CH,s,q,neutral,n\n"
    rows, said = read_csv(text.encode(), "cure/item.csv", file)
    assert rows == []
    assert {fault.column for fault in said} == {"group_name", "persona", "label"}
