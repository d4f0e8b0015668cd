"""Files of Every Eval Ever, 0.2 and 0.3: an aggregate ``UUID.json``, and ``UUID_samples.jsonl`` beside it.

The schemas are the package's own (``schemas/``, MIT), of version 0.3.0. Aggregates of other versions are read
as far as they have the fields that are needed here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from tasks.data.errors import TableError, reading
from tasks.data.json_rows import lines
from tasks.exchange.records import (
    EMPTY,
    ERROR,
    NOT_A_NUMBER,
    Aggregate,
    Log,
    LoggedMetric,
    LoggedModel,
    LoggedSample,
    LogHeader,
    check_size,
    day,
    label,
    metric_of,
    number,
    same_item,
    same_items,
    set_only,
    sound,
    whole,
)

VERSION = "0.3.0"
"""Version of the schema that is written, and by which files of this version are checked."""
KNOWN = ("0.2", "0.3")
SCHEMAS = Path(__file__).parent / "schemas"
SUFFIX = "_samples.jsonl"
LARGEST = 1 << 27
"""Most bytes of an aggregate."""
HARNESSES = {"lm_eval": "lm-evaluation-harness", "lm-eval": "lm-evaluation-harness", "inspect_ai": "inspect"}
"""Name of a library in these files -> its name here."""


def is_aggregate(head: str) -> bool:
    """Return whether a JSON file that begins so is an aggregate."""
    return (
        '"$schema"' not in head
        and '"schema_version"' in head
        and ('"evaluation_id"' in head or '"evaluation_results"' in head)
    )


@cache
def validator(name: str) -> Any:
    """Return a validator of one of the package's schemas: eval or instance_level_eval."""
    library = import_module("jsonschema")  # it has no types
    return library.Draft7Validator(json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8")))


def faults(value: Any, name: str = "eval") -> list[str]:
    """Return what the schema finds wrong, as "field: what"."""
    found = sorted(validator(name).iter_errors(value), key=lambda error: list(map(str, error.absolute_path)))
    return [f"{'.'.join(map(str, e.absolute_path)) or 'file'}: {e.message[:160]}" for e in found]


def logs(path: Path) -> Iterator[Log]:
    """Yield a log for each evaluation of an aggregate, with its samples if their file is there.

    Raises:
        TableError: it does not fit the schema, or is of another version.
    """
    with reading(path):
        own = whole(path, LARGEST)
        version = str(own.get("schema_version", "")) if isinstance(own, Mapping) else ""
        if not version.startswith(KNOWN):
            what = f"schema version {version[:20] or 'unknown'!r}"
            raise TableError(what, f"known are {', '.join(KNOWN)}: convert it with every_eval_ever")
        if version == VERSION and (wrong := faults(own)):
            raise TableError(f"it does not fit the schema {VERSION}: {wrong[0]}", "correct it")
        results = own.get("evaluation_results")
        if not isinstance(results, list) or not isinstance(own.get("model_info"), Mapping):
            raise TableError("it has no evaluation_results or model_info", "is this an aggregate?")
        companion = path.with_name(f"{path.stem}{SUFFIX}")
        by_name: dict[str, list[Mapping[str, Any]]] = {}
        for result in results:
            by_name.setdefault(str(result.get("evaluation_name", "")), []).append(result)
        headers = {name: _header(path, own, name, each) for name, each in by_name.items()}
    for name, header in headers.items():
        ids = _ids(by_name[name])
        stream = partial(_samples, companion, name, ids, len(by_name) == 1)
        yield Log(header, stream if companion.is_file() and _has(companion, name, ids) else None)


def _ids(results: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return evaluation_result_id -> metric."""
    return {str(r["evaluation_result_id"]): _metric_name(r) for r in results if r.get("evaluation_result_id")}


def _has(companion: Path, name: str, ids: Mapping[str, str]) -> bool:
    """Return whether a file of samples has one of an evaluation."""
    with reading(companion, "file of samples"):
        return any(
            isinstance(record, Mapping)
            and (record.get("evaluation_name") == name or record.get("evaluation_result_id") in ids)
            for _, record in lines(companion)
        )


def _metric_name(result: Mapping[str, Any]) -> str:
    config = result.get("metric_config") or {}
    return label(
        config.get("metric_id") or config.get("metric_name") or result.get("evaluation_result_id") or "score"
    )


def _metric(result: Mapping[str, Any]) -> LoggedMetric:
    config = result.get("metric_config") or {}
    low, high = number(config.get("min_score")), number(config.get("max_score"))
    bounds = None if low is None or high is None or low >= high else (low, high)
    is_hit = True if config.get("score_type") == "binary" else None
    if is_hit:
        return LoggedMetric(_metric_name(result), bool(config.get("lower_is_better")), (0.0, 1.0), True)
    return metric_of(_metric_name(result), bool(config.get("lower_is_better")), bounds, is_hit)


def _header(path: Path, own: Mapping[str, Any], name: str, results: Sequence[Mapping[str, Any]]) -> LogHeader:
    library, info = own.get("eval_library") or {}, own["model_info"]
    program, details = str(library.get("name") or "unknown"), info.get("additional_details") or {}
    aggregates = {}
    for result in results:
        score = result.get("score_details") or {}
        spread = score.get("uncertainty") or {}
        if (value := number(score.get("score"))) is not None:
            error = number((spread.get("standard_error") or {}).get("value"))
            aggregates[_metric_name(result)] = Aggregate(value, error, spread.get("num_samples"))
    first = results[0]
    source = str(info.get("id") or info.get("name") or "unnamed")
    commit = str(details.get("revision") or details.get("model_sha") or "")
    settings = {
        "generation": (first.get("generation_config") or {}).get("generation_args"),
        "data": (first.get("source_data") or {}).get("dataset_name"),
        "parameters": (first.get("metric_config") or {}).get("metric_parameters"),
    }
    return LogHeader(
        file=str(path),
        harness=label(HARNESSES.get(program, program)),
        harness_version=label(library.get("version") or "", ""),
        date=day(first.get("evaluation_timestamp") or own.get("evaluation_timestamp") or ""),
        task=label(name),
        version="",
        model=LoggedModel(
            sound(source.rpartition("/")[2]) or "unnamed",
            sound(source),
            commit if len(commit) == 40 else "",
            str(details.get("precision") or details.get("dtype") or ""),
        ),
        metrics=tuple(_metric(result) for result in results),
        settings=set_only(settings),
        aggregates=aggregates,
    )


def _samples(companion: Path, name: str, ids: Mapping[str, str], is_alone: bool) -> Iterator[LoggedSample]:
    with reading(companion, "file of samples"):
        check_size(companion)
        for place, record in lines(companion):
            if not isinstance(record, Mapping) or not isinstance(record.get("evaluation"), Mapping):
                raise TableError("a sample has no evaluation", "is this a file of samples?", place=place)
            result = record.get("evaluation_result_id")
            if result in ids or (result is None and record.get("evaluation_name") == name):
                yield _sample(record, ids.get(str(result)) or next(iter(ids.values()), "score"))
            elif record.get("evaluation_name") == name and is_alone:
                yield _sample(record, next(iter(ids.values()), "score"))


def _sample(record: Mapping[str, Any], metric: str) -> LoggedSample:
    asked, evaluation, meta = record.get("input") or {}, record["evaluation"], record.get("metadata") or {}
    target, choices = _texts(asked.get("reference")), _texts(asked.get("choices"))
    raw, shown = sound(asked.get("raw", "")), sound(asked.get("formatted") or asked.get("raw") or "")
    prompt = [{"role": "user", "content": shown}] if shown else []
    messages = record.get("messages")
    outputs = _texts((record.get("output") or {}).get("raw"))
    if isinstance(messages, list):
        talk = [{"role": str(m.get("role")), "content": sound(m.get("content") or "")} for m in messages]
        written = [m["content"] for m in talk if m["role"] == "assistant"]
        outputs, prompt = outputs or written[-1:], [m for m in talk if m["role"] != "assistant"][:1] or prompt
    output = outputs[0] if outputs else ""
    is_lost, value = bool(record.get("error")), number(evaluation.get("score"))
    extracted = [
        a.get("extracted_value") for a in record.get("answer_attribution") or () if isinstance(a, Mapping)
    ]
    usage = record.get("token_usage") or {}
    own_hash = str(meta.get("doc_hash") or record.get("sample_hash") or "")
    lost = str(meta.get("lost") or "") or (ERROR if is_lost else "" if output.strip() else EMPTY)
    return LoggedSample(
        id=str(record.get("sample_id", "")),
        item=own_hash[:16] if own_hash else same_item(raw, target),
        prompt=prompt,
        output=output,
        scores={} if is_lost or value is None else {metric: value},
        also=same_items([raw, *meta.values()], target),
        target=target,
        choices=choices,
        right=choices.index(target[0]) if len(target) == 1 and target[0] in choices else None,
        answer=sound(extracted[-1]) if extracted and extracted[-1] else None,
        lost=label(lost, ""),
        unscored=label(record["error"]) if is_lost else "" if value is not None else NOT_A_NUMBER,
        finish_reason="stop" if output else "",
        tokens=(int(usage.get("input_tokens") or 0), int(usage.get("output_tokens") or 0)),
        fields=dict(meta),
    )


def _texts(value: Any) -> list[str]:
    """Return texts: of a list, or of the single text that 0.2 has."""
    return [sound(each) for each in (value if isinstance(value, list) else [] if value is None else [value])]
