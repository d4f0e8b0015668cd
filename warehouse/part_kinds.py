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

    columns: name -> type, in file order, none of them empty but those of `nullable`. `part`, `request_hash`
    and `run_id` are constant within a file: written as columns rather than as file metadata because SQL can
    join on them, any Parquet writer keeps them, and run-length encoding makes them nearly free. They are what
    lets a part that a killed run left behind be registered. unit: the column whose values a part answers.
    key: no two rows of a part share it. added: those of `nullable` that came later; a part written before has
    no such column, and is read as if it were empty there.
    """

    columns: Mapping[str, pl.DataType]
    unit: str
    key: tuple[str, ...]
    nullable: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()

    @property
    def schema(self) -> pl.Schema:
        """The columns as a Polars schema."""
        return pl.Schema(self.columns)


_PROVENANCE: Mapping[str, pl.DataType] = {
    "part": pl.String(),
    "request_hash": pl.String(),
    "run_id": pl.String(),
    "model": pl.String(),
}

KINDS: Mapping[str, PartKind] = MappingProxyType(
    {
        "item_logprob": PartKind(
            columns={
                **_PROVENANCE,
                "domain": pl.String(),
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
                "domain": pl.String(),
                "country_a": pl.String(),
                "country_b": pl.String(),
                "similarity": pl.Float64(),
            },
            unit="domain",
            key=("domain", "country_a", "country_b"),
        ),
        "candidate_score": PartKind(
            columns={
                **_PROVENANCE,
                "template": pl.String(),
                "prompt": pl.String(),
                "candidate": pl.String(),
                "logprob": pl.Float32(),
                "probability": pl.Float32(),
                "n_tokens": pl.Int16(),
            },
            unit="prompt",
            key=("prompt", "candidate"),
        ),
        "prediction": PartKind(
            columns={
                **_PROVENANCE,
                "condition": pl.String(),
                "template": pl.String(),
                "dish": pl.String(),
                "dish_name": pl.String(),
                "origin": pl.String(),
                "rank": pl.Int16(),
                "candidate": pl.String(),
                "outcome": pl.String(),
            },
            unit="condition",
            key=("condition", "template", "dish", "rank"),
        ),
        "response": PartKind(
            columns={
                **_PROVENANCE,
                "item": pl.String(),
                "conversation": pl.String(),
                "text": pl.String(),
                "finish_reason": pl.String(),
                "prompt_tokens": pl.Int32(),
                "completion_tokens": pl.Int32(),
                "seed": pl.Int64(),
                "option_logprobs": pl.String(),
            },
            unit="item",
            key=("item",),
            nullable=frozenset({"option_logprobs"}),
            added=frozenset({"option_logprobs"}),
        ),
        "embedding": PartKind(
            columns={
                **_PROVENANCE,
                "text_hash": pl.String(),
                "vector": pl.List(pl.Float32()),
                "n_tokens": pl.Int32(),
                "truncated": pl.Boolean(),
            },
            unit="text_hash",
            key=("text_hash",),
        ),
        "worldwise_answer": PartKind(
            columns={
                **_PROVENANCE,
                "condition": pl.String(),
                "culture": pl.String(),
                "scenario": pl.String(),
                "repetition": pl.Int16(),
                "framework": pl.String(),
                "dimension": pl.String(),
                "category": pl.String(),
                "item": pl.String(),
                "decision": pl.String(),
                "value_1": pl.String(),
                "value_2": pl.String(),
                "value_3": pl.String(),
                "explanation": pl.String(),
                "score": pl.Float64(),
                "target": pl.Float64(),
                "alignment": pl.Float64(),
                "words": pl.Int32(),
                "truncated": pl.Boolean(),
                "unscored_reason": pl.String(),
            },
            unit="condition",
            key=("culture", "scenario", "repetition"),
            nullable=frozenset(
                {
                    *("decision", "value_1", "value_2", "value_3", "explanation"),
                    *("score", "target", "alignment", "words", "truncated", "unscored_reason"),
                }
            ),
        ),
        "verdict": PartKind(
            columns={
                **_PROVENANCE,
                "judge": pl.String(),
                "rubric": pl.String(),
                "item": pl.String(),
                "item_name": pl.String(),
                "origin": pl.String(),
                "judged": pl.String(),
                "verdict": pl.String(),
                "reason": pl.String(),
                "value": pl.Float64(),
                "unscored_reason": pl.String(),
                "graded": pl.Float64(),
                "disagreement": pl.Float64(),
                "judge_hash": pl.String(),
            },
            unit="item",
            key=("item", "judged"),
            nullable=frozenset(
                {"verdict", "reason", "value", "unscored_reason", "graded", "disagreement", "judge_hash"}
            ),
            added=frozenset({"graded", "disagreement", "judge_hash"}),
        ),
        "cure_answer": PartKind(
            columns={
                **_PROVENANCE,
                "condition": pl.String(),
                "benchmark": pl.String(),
                "mode": pl.String(),
                "item": pl.String(),
                "country": pl.String(),
                "label": pl.String(),
                "gold_label": pl.String(),
                "correct": pl.Boolean(),
                "explanation": pl.String(),
                "score": pl.Float64(),
                "verdict": pl.String(),
                "disagreement": pl.Float64(),
                "unscored_reason": pl.String(),
            },
            unit="condition",
            key=("benchmark", "mode", "item"),
            nullable=frozenset(
                {
                    *("country", "label", "correct", "explanation"),
                    *("score", "verdict", "disagreement", "unscored_reason"),
                }
            ),
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
    """Give each kind a part without rows, so that the views' globs match a file that has every column."""
    for kind, declared in KINDS.items():
        target = part_folder(home, kind) / f"{EMPTY_PART}.parquet"
        if target.exists() and pl.read_parquet(target, glob=False).schema == declared.schema:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_beside(target)
        pl.DataFrame(schema=declared.schema).write_parquet(temporary)
        publish(temporary, target)
