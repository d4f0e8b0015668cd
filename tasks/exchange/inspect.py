"""Logs of Inspect, ``.eval`` and ``.json``, read by inspect-ai's own reader, which is an extra."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from tasks.data.errors import TableError, reading
from tasks.exchange.records import (
    EMPTY,
    ERROR,
    FILTERED,
    NOT_A_NUMBER,
    Aggregate,
    Log,
    LoggedModel,
    LoggedSample,
    LogHeader,
    day,
    label,
    metric_of,
    number,
    same_item,
    same_items,
    set_only,
    sound,
)
from tasks.identity import digest
from tasks.parsing import parse_json

HARNESS = "inspect"
LARGEST_JSON = 1 << 28
"""Most bytes of a log in JSON, which inspect-ai reads whole."""
MOST_UNPACKED, MOST_RATIO, SMALL = 1 << 32, 200, 1 << 20
"""Most bytes of an archive's files unpacked, and most times that they grow, unless they are small."""
LARGEST_MEMBER = 1 << 28
_GRADES = frozenset("CIPN")
_SPARED = {"events", "store", "attachments", "timelines"}
"""Fields of samples that are not read: they are most of a log."""
_SHELL = re.compile(r"samples/[^/]+/sample\.json")
_ATTACHED = re.compile(r"(samples/[^/]+/)attachments/(\d{1,12})\.json")
_REFERENCE = re.compile(r"attachment://(\d{1,12})")
_CONFIG = ("epochs", "limit", "message_limit", "token_limit")


def is_log(head: str) -> bool:
    """Return whether a JSON file that begins so is a log of Inspect."""
    return '"eval"' in head and ('"task_id"' in head or '"run_id"' in head) and '"status"' in head


def logs(path: Path) -> Iterator[Log]:
    """Yield the log of a file: its samples, or its aggregates alone.

    Raises:
        TableError: it cannot be read; is a zip bomb; or inspect-ai is not installed.
    """
    with reading(path, "log of Inspect"):
        _check_size(path)
        own = _library().read_eval_log(str(path), header_only=path.suffix == ".eval")
        if own.status == "started":
            raise TableError("its run has not ended", "import it when it has")
        header = _header(path, own)
        has_samples = _n_samples(path, own) > 0
        if not has_samples and not header.aggregates:
            raise TableError("it has neither samples nor results", "run the evaluation to its end")
    yield Log(header, partial(_samples, path, header) if has_samples else None)


def _library() -> Any:
    try:
        from inspect_ai import log
    except ImportError as error:
        raise TableError(
            "logs of Inspect need inspect-ai", "pip install '.[inspect]' in a checkout"
        ) from error
    return log


def _check_size(path: Path) -> None:
    """Raise TableError for an archive that would fill the memory, and for a JSON file that is too large."""
    if path.suffix != ".eval":
        if path.stat().st_size > LARGEST_JSON:
            what = f"larger than {LARGEST_JSON >> 20} MiB"
            raise TableError(what, "write it as .eval: inspect log convert --to eval")
        return
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            grown = member.file_size / max(1, member.compress_size)
            if member.file_size > LARGEST_MEMBER or (grown > MOST_RATIO and member.file_size > SMALL):
                what = f"{member.filename[:80]!r} would unpack to {member.file_size:,} bytes"
                raise TableError(what, "the archive is damaged, or made to fill the memory")
        if sum(member.file_size for member in archive.infolist()) > MOST_UNPACKED:
            raise TableError(f"it would unpack to more than {MOST_UNPACKED >> 30} GiB", "split it by --limit")


def _n_samples(path: Path, own: Any) -> int:
    if path.suffix != ".eval":
        return len(own.samples or ())
    with zipfile.ZipFile(path) as archive:
        return sum(name.startswith("samples/") for name in archive.namelist())


def _header(path: Path, own: Any) -> LogHeader:
    spec, results = own.eval, own.results
    by_scorer = {score.name: score for score in (results.scores if results else ())}
    aggregates, names = {}, []
    for name, score in by_scorer.items():
        metrics = score.metrics
        names.append(name)
        for which in ("mean", "accuracy"):
            if which in metrics and (value := number(metrics[which].value)) is not None:
                error = metrics.get("stderr")
                aggregates[name] = Aggregate(
                    value, number(error.value) if error else None, score.scored_samples
                )
    config = spec.config.model_dump(exclude_none=True)
    generation = spec.model_generate_config.model_dump(exclude_none=True)
    settings = {
        "generation": {
            k: v for k, v in generation.items() if k not in ("max_connections", "max_retries", "timeout")
        },
        "solver": spec.solver,
        "arguments": spec.task_args or None,
        "scorers": digest([scorer.model_dump(mode="json") for scorer in spec.scorers])
        if spec.scorers
        else None,
        "status": None if own.status == "success" else own.status,
        **{name: config.get(name) for name in _CONFIG if config.get(name) not in (None, 1)},
    }
    return LogHeader(
        file=str(path),
        harness=HARNESS,
        harness_version=label((spec.packages or {}).get("inspect_ai", ""), ""),
        date=day(spec.created),
        task=label(spec.task.rpartition("/")[2] or spec.task),
        version=label(spec.task_version, ""),
        model=LoggedModel(
            name=sound(str(spec.model).rpartition("/")[2]),
            source=sound(spec.model),
            settings=set_only(
                {
                    k: v
                    for k, v in (spec.model_args or {}).items()
                    if k in ("dtype", "revision", "quantization")
                }
            ),
        ),
        metrics=tuple(metric_of(name) for name in names),
        settings=set_only(settings),
        aggregates=aggregates,
        n=results.total_samples if results else None,
    )


def _samples(path: Path, header: LogHeader) -> Iterator[LoggedSample]:
    with reading(path, "log of Inspect"):
        library = _library()
        if path.suffix == ".eval":
            options = {"resolve_attachments": "core", "exclude_fields": _SPARED - {"attachments"}}
            names = library.read_eval_log(str(path), header_only=True).eval.dataset.sample_ids
            whole: Iterator[Any] = (
                _named_by_summaries(path, options)
                if names is None
                else library.read_eval_log_samples(str(path), all_samples_required=False, **options)
            )
            stream: Iterator[Any] = chain(whole, _in_chunks(path, library.EvalSample))
        else:
            stream = iter(library.read_eval_log(str(path), resolve_attachments="core").samples or ())
        for sample in stream:
            yield _sample(sample, header)


def _named_by_summaries(path: Path, options: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the samples of a log whose header lists none, such as one that was written as a stream."""
    library = _library()
    for summary in library.read_eval_log_sample_summaries(str(path)):
        with suppress(IndexError):  # it is in chunks
            yield library.read_eval_log_sample(str(path), id=summary.id, epoch=summary.epoch, **options)


def _in_chunks(path: Path, kind: Any) -> Iterator[Any]:
    """Yield the samples that are folders of chunks, which the library writes but does not read yet.

    ``sample.json`` has all of a sample but its metadata, messages and events; long texts are references.
    """
    with zipfile.ZipFile(path) as archive:  # inspect-ai has taught the library zstd
        present = set(archive.namelist())
        attached: dict[str, list[tuple[int, str]]] = {}
        for match in filter(None, map(_ATTACHED.fullmatch, present)):
            attached.setdefault(match[1], []).append((int(match[2]), match[0]))

        def read(name: str) -> Any:
            return parse_json(archive.read(name).decode("utf-8")) if name in present else {}

        for shell in sorted(filter(_SHELL.fullmatch, present)):
            folder = shell.removesuffix("sample.json")
            texts = [text for _, name in sorted(attached.get(folder, ())) for text in read(name)]
            fields = {name: value for name, value in read(shell).items() if name in kind.model_fields}
            fields["metadata"] = read(f"{folder}metadata.json")
            yield kind.model_validate(_resolved(fields, texts))


def _resolved(value: Any, texts: Sequence[str]) -> Any:
    """Return a value with the texts in place of ``attachment://N``; a number without a text stays."""
    match value:
        case dict():
            return {key: _resolved(each, texts) for key, each in value.items()}
        case list():
            return [_resolved(each, texts) for each in value]
        case str() if (found := _REFERENCE.fullmatch(value)) and int(found[1]) < len(texts):
            return texts[int(found[1])]
    return value


def _sample(sample: Any, header: LogHeader) -> LoggedSample:
    prompt = (
        [{"role": "user", "content": sound(sample.input)}]
        if isinstance(sample.input, str)
        else [{"role": m.role, "content": sound(m.text)} for m in sample.input]
    )
    target = [sample.target] if isinstance(sample.target, str) else list(sample.target)
    target, choices = [sound(each) for each in target], [sound(each) for each in sample.choices or ()]
    scores, answer, unscored = _scores(sample.scores or {})
    output = sound(sample.output.completion) if sample.output and sample.output.choices else ""
    stop = str(sample.output.stop_reason) if sample.output and sample.output.choices else ""
    lost = (
        ERROR if sample.error else FILTERED if stop == "content_filter" else "" if output.strip() else EMPTY
    )
    usage = sample.output.usage if sample.output else None
    question = prompt[-1]["content"] if prompt else ""
    right = _right(target, choices)
    return LoggedSample(
        id=str(sample.id),
        item=same_item(question, [*target, *choices]),
        prompt=prompt,
        output=output,
        scores=scores,
        also=same_items([question], target if right is None else [choices[right]]),
        repetition=sample.epoch,
        target=target,
        choices=choices,
        right=right,
        answer=answer,
        lost=lost,
        unscored=unscored or (ERROR if sample.error else ""),
        finish_reason={"max_tokens": "length"}.get(stop, stop),
        tokens=(usage.input_tokens, usage.output_tokens) if usage else (0, 0),
        fields=dict(sample.metadata or {}),
    )


def _scores(own: Mapping[str, Any]) -> tuple[dict[str, float], str | None, str]:
    """Return a sample's numbers by scorer, the first answer that was read, and why a number is missing."""
    from inspect_ai.scorer import value_to_float

    scores, answer, unscored = dict[str, float](), None, ""
    to_float = value_to_float()
    for name, score in own.items():
        answer = answer if answer is not None else score.answer and sound(score.answer)
        values = score.value if isinstance(score.value, Mapping) else {"": score.value}
        for key, value in values.items():
            known = value if number(value) is not None else None
            if (
                known is None
                and isinstance(value, str)
                and (value in _GRADES or value.lower() in ("yes", "no", "true", "false"))
            ):
                known = to_float(value)
            elif known is None and isinstance(value, str):
                known = _parsed(value)
            if (got := number(known)) is not None:
                scores[f"{name}.{key}" if key else name] = got
            else:
                unscored = unscored or NOT_A_NUMBER
    return scores, answer, unscored


def _parsed(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _right(target: Sequence[str], choices: Sequence[str]) -> int | None:
    """Return the index of the right option: a letter, or its text."""
    if len(target) != 1 or not choices:
        return None
    own = target[0].strip()
    if len(own) == 1 and own.isupper() and ord(own) - ord("A") < len(choices):
        return ord(own) - ord("A")
    return choices.index(own) if own in choices else None
