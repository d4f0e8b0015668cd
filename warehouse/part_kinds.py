"""The kinds of Parquet parts: the one place that says what columns a part has and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import polars as pl

from warehouse.home import WarehouseError
from warehouse.storage import publish, temporary_beside

__all__ = ["EMPTY_PART", "KINDS", "PartKind", "create_empty_parts", "part_folder", "part_kind"]

# Begins with an underscore, which no part name may, so that it is never taken for one.
EMPTY_PART = "_empty"


@dataclass(frozen=True)
class PartKind:
    """What the parts of one kind hold.

    columns: name -> type, in file order, none of them nullable. `part`, `request_hash` and `run_id` are
    constant within a file: written as columns rather than as file metadata because SQL can join on them, any
    Parquet writer keeps them, and run-length encoding makes them nearly free. They are what lets a part that
    a killed run left behind be registered. unit: the column whose values a part answers. key: no two rows of
    a part share it.
    """

    columns: Mapping[str, pl.DataType]
    unit: str
    key: tuple[str, ...]

    @property
    def schema(self) -> pl.Schema:
        """The columns as a Polars schema."""
        return pl.Schema(self.columns)


_PROVENANCE: Mapping[str, pl.DataType] = {
    "part": pl.String(),
    "request_hash": pl.String(),
    "run_id": pl.String(),
    "model": pl.String(),
    "domain": pl.String(),
}

KINDS: Mapping[str, PartKind] = MappingProxyType(
    {
        "item_logprob": PartKind(
            columns={
                **_PROVENANCE,
                "question": pl.String(),
                "country": pl.String(),
                "item": pl.String(),
                "logprob": pl.Float32(),
                "n_tokens": pl.Int16(),
            },
            unit="country",
            key=("country", "item"),
        ),
        "country_similarity": PartKind(
            columns={
                **_PROVENANCE,
                "country_a": pl.String(),
                "country_b": pl.String(),
                "similarity": pl.Float64(),
            },
            unit="domain",
            key=("domain", "country_a", "country_b"),
        ),
    }
)


def part_kind(kind: str) -> PartKind:
    """The declaration of `kind`. Raises WarehouseError for one that is not declared."""
    if kind not in KINDS:
        raise WarehouseError(
            f"no part kind {kind!r}: expected one of {sorted(KINDS)} (warehouse/part_kinds.py)"
        )
    return KINDS[kind]


def part_folder(home: Path, kind: str) -> Path:
    """The folder of a kind's parts. Raises WarehouseError for a kind that is not declared."""
    part_kind(kind)
    return home / "parts" / kind


def create_empty_parts(home: Path) -> None:
    """Give each kind a part without rows, where missing, so that the views' globs always match a file."""
    for kind, declared in KINDS.items():
        target = part_folder(home, kind) / f"{EMPTY_PART}.parquet"
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_beside(target)
        pl.DataFrame(schema=declared.schema).write_parquet(temporary)
        publish(temporary, target)
