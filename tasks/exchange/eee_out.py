"""Writes a run as files of Every Eval Ever: an aggregate with every number, a line for each sample's score.

What the schema has no field for, such as nulls and the number of unscored points, is text in ``details``. A
sample without a score has ``error``, because the schema needs a score.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

from tasks.exchange.eee import SUFFIX, VERSION
from tasks.exchange.records import label, sound

COLLECTION = "culturemeter"
LEVEL = 0.95
_NUMBERS = ("value", "ci_low", "ci_high", "null_value", "n_scored", "n_unscored")
_UNSCORED = "unscored_rows"
_WEIGHTS = frozenset({"packed_trie", "masked", "seq2seq", "vllm"})


@dataclass(frozen=True)
class ExportedRun:
    """A finished run, in the words of its columns.

    Attributes:
        model, model_id: its name here, and its id or file. kind: of the engine. engine: further fields.
        made_by: program and version that made the answers, if they were imported, else ours.
    """

    run_id: str
    evaluation: str
    task: str
    config_hash: str
    model: str
    model_id: str
    kind: str
    revision: str
    occasion: str
    code_version: str
    finished_at: datetime
    made_by: tuple[str, str]
    engine_hash: str
    model_hash: str


@dataclass(frozen=True)
class ExportedSample:
    """One sample: what was sent, what came back, and its scores.

    Attributes:
        scores: metric -> number, or None with its reason in ``reasons``.
    """

    id: str
    messages: Sequence[Mapping[str, str]]
    output: str
    target: Sequence[str]
    choices: Sequence[str]
    answer: str | None
    scores: Mapping[str, float | None]
    reasons: Mapping[str, str]
    tokens: tuple[int, int]
    transcript: Sequence[Mapping[str, str]]
    metadata: Mapping[str, Any]


def folder_of(run: ExportedRun) -> PurePosixPath:
    """Return the folder of a run's files: data/culturemeter/DEVELOPER/MODEL."""
    developer, _, model = _model_id(run).partition("/")
    return PurePosixPath("data", COLLECTION, developer, model)


def name_of(run: ExportedRun) -> str:
    """Return the name of a run's files without endings: a UUID of version 4 that its id determines."""
    return str(UUID(bytes=hashlib.sha256(run.run_id.encode()).digest()[:16], version=4))


def aggregate(
    run: ExportedRun, rows: Sequence[Mapping[str, Any]], samples: tuple[int, str] | None
) -> dict[str, Any]:
    """Return the aggregate of a run.

    Args:
        rows: of ``metric_value`` with label, direction, unit, range_low, range_high and is_headline.
        samples: number of lines of the file of samples, and its SHA-256; None without samples.
    """
    when = f"{run.finished_at.timestamp():.0f}"
    scored = [row for row in rows if row["value"] is not None and math.isfinite(row["value"])]
    others = [_unscored_row(row) for row in rows if row["value"] is None or not math.isfinite(row["value"])]
    details = {
        "run_id": run.run_id,
        "config_hash": run.config_hash,
        "occasion": run.occasion,
        "evaluation": run.evaluation,
        "culturemeter": run.code_version,
        _UNSCORED: json.dumps(others) if others else "",
    }
    library = {"name": run.made_by[0], "version": run.made_by[1] or "unknown"}
    file = {}
    if samples:
        path = folder_of(run) / f"{name_of(run)}{SUFFIX}"
        file = {
            "detailed_evaluation_results": {
                "format": "jsonl",
                "file_path": str(path),
                "hash_algorithm": "sha256",
                "checksum": samples[1],
                "total_rows": samples[0],
            }
        }
    return {
        "schema_version": VERSION,
        "evaluation_id": evaluation_id(run),
        "evaluation_timestamp": when,
        "retrieved_timestamp": when,
        "source_metadata": {
            "source_name": "Culturemeter",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {**library, "additional_details": {k: v for k, v in details.items() if v}},
        "model_info": _model_info(run),
        "evaluation_results": [_result(run, row) for row in scored],
        **file,
    }


def evaluation_id(run: ExportedRun) -> str:
    """Return the id that aggregate and samples share."""
    return f"{COLLECTION}/{_model_id(run).replace('/', '_')}/{run.run_id}"


def lines_of(
    run: ExportedRun, samples: Iterable[ExportedSample], metrics: Mapping[str, float]
) -> Iterator[str]:
    """Yield the lines of a run's file of samples: one for each score of a metric.

    Args:
        metrics: metric of the run -> value of a right answer. Samples with a score of none are left out.
    """
    for sample in samples:
        for metric in metrics:
            if metric in sample.scores:
                yield json.dumps(
                    _line(run, sample, metric, metrics[metric]), ensure_ascii=False, allow_nan=False
                )


def _unscored_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without a finite value as JSON: infinite numbers as texts."""
    own = {
        name: row[name]
        for name in ("metric", "slice_kind", "slice", "unscored_reason", "n_scored", "n_unscored")
    }
    numbers = {name: row[name] for name in ("value", "ci_low", "ci_high", "null_value")}
    return own | {name: None if value is None else repr(float(value)) for name, value in numbers.items()}


def _model_id(run: ExportedRun) -> str:
    """Return DEVELOPER/MODEL: the hub's id, else our name for the model."""
    parts = [_portable(part) for part in run.model_id.split("/")]
    is_hub = len(parts) == 2 and all(parts) and not run.model_id.startswith(("/", "."))
    return "/".join(parts) if is_hub else f"{COLLECTION}/{_portable(run.model)}"


def _portable(text: str) -> str:
    """Return a name that every file system takes."""
    plain = re.sub(r"[^\w.+-]+", "_", sound(text), flags=re.ASCII).strip("._ ")[:100]
    return (
        plain
        if plain and plain.lower() not in ("data", "con", "aux", "nul", "prn")
        else f"m_{plain or 'unnamed'}"
    )


def _model_info(run: ExportedRun) -> dict[str, Any]:
    own = run.kind in _WEIGHTS
    details = {
        "deployment_type": "self_deployed"
        if own
        else "unknown"
        if run.kind == "imported"
        else "externally_managed",
        "model_availability": "open_weights" if own else "unknown",
        "revision": run.revision,
        "engine": run.kind,
        "engine_hash": run.engine_hash,
        "model_hash": run.model_hash,
    }
    return {
        "name": run.model,
        "id": _model_id(run),
        "developer": _model_id(run).partition("/")[0],
        "additional_details": {name: value for name, value in details.items() if value},
    }


def _result(run: ExportedRun, row: Mapping[str, Any]) -> dict[str, Any]:
    details = {
        "metric": row["metric"],
        "slice_kind": row["slice_kind"],
        "slice": row["slice"],
        **{name: repr(row[name]) for name in _NUMBERS if row[name] is not None and name != "value"},
    }
    spread: dict[str, Any] = {"num_samples": int(row["n_scored"])}
    if row["ci_low"] is not None and math.isfinite(row["ci_low"]) and math.isfinite(row["ci_high"]):
        spread["confidence_interval"] = {
            "lower": row["ci_low"],
            "upper": row["ci_high"],
            "confidence_level": LEVEL,
            "method": "over clusters, see Culturemeter's docs/intervals.md",
        }
    low, high = row["range_low"], row["range_high"]
    where = "" if row["slice_kind"] == "overall" else f"/{row['slice_kind']}={row['slice']}"
    return {
        "evaluation_result_id": result_id(row["metric"], row["slice_kind"], row["slice"]),
        "evaluation_name": f"{run.task}{where}",
        "source_data": {"dataset_name": run.task, "source_type": "other"},
        "metric_config": {
            "metric_id": row["metric"],
            "metric_name": row["label"],
            "metric_unit": row["unit"],
            "evaluation_description": row["description"],
            "lower_is_better": row["direction"] == "lower",
            "score_type": "continuous",
            "min_score": "-Infinity" if low is None or math.isinf(low) else low,
            "max_score": "Infinity" if high is None or math.isinf(high) else high,
            "additional_details": {
                "direction": row["direction"],
                "is_headline": str(bool(row["is_headline"])).lower(),
            },
        },
        "score_details": {"score": row["value"], "details": details, "uncertainty": spread},
    }


def result_id(metric: str, kind: str = "overall", where: str = "all") -> str:
    """Return the id of a number within its file."""
    return metric if kind == "overall" else f"{metric}:{kind}:{where}"


def _line(run: ExportedRun, sample: ExportedSample, metric: str, right: float) -> dict[str, Any]:
    value, asked = sample.scores[metric], [m for m in sample.messages if m["role"] != "assistant"]
    is_scored = value is not None and math.isfinite(value)
    raw = sound(asked[-1]["content"] if asked else "")
    meta = {"sample": sample.id, **sample.metadata}
    reference = [sound(each) for each in sample.target if each]
    own: dict[str, Any] = {
        "schema_version": VERSION,
        "evaluation_id": evaluation_id(run),
        "model_id": _model_id(run),
        "evaluation_name": run.task,
        "evaluation_result_id": result_id(metric),
        "sample_id": sample.id,
        "sample_hash": _hash(raw, reference),
        "interaction_type": "multi_turn" if sample.transcript else "single_turn",
        "input": {
            "raw": raw,
            "formatted": "\n\n".join(sound(m["content"]) for m in sample.messages),
            "reference": reference,
            "choices": [sound(each) for each in sample.choices] or None,
        },
        "answer_attribution": [],
        "evaluation": {
            "score": float(value) if is_scored and value is not None else 0.0,
            "is_correct": value == right,
        },
        "metadata": {
            str(k): sound(v if isinstance(v, str) else json.dumps(v, default=str)) for k, v in meta.items()
        },
    }
    if sample.transcript:
        own["messages"] = [
            {"turn_idx": place, "role": m["role"], "content": sound(m["content"])}
            for place, m in enumerate(sample.transcript)
        ]
        own["output"], own["evaluation"]["num_turns"] = None, len(sample.transcript)
    else:
        own["output"], own["messages"] = {"raw": [sound(sample.output)]}, None
    if sample.answer is not None:
        own["answer_attribution"] = [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": sound(sample.answer),
                "extraction_method": "culturemeter",
                "is_terminal": True,
            }
        ]
    if not is_scored:
        own["error"] = label(sample.reasons.get(metric) or "unscored")
    if sum(sample.tokens):
        sent, received = sample.tokens
        own["token_usage"] = {
            "input_tokens": sent,
            "output_tokens": received,
            "total_tokens": sent + received,
        }
    return own


def _hash(raw: str, reference: Sequence[str]) -> str:
    """Return the hash of an item's text and right outputs, as the package's converters compute it."""
    text = json.dumps(
        {"raw": raw, "reference": reference[0] if len(reference) == 1 else list(reference)}, sort_keys=True
    )
    return hashlib.sha256(text.encode()).hexdigest()
