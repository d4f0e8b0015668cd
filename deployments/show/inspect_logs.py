"""Write samples as logs of Inspect (inspect-ai, an extra) for its viewer: one file per run.

They are written with the package's own models and recorder, a batch of samples at a time; only what the
viewer lists of a sample stays in memory. The public ``write_eval_log`` takes all samples at once, so the
recorder below it is used, and the extra names the tested version. Every log marks its content as untrusted,
so that the viewer shows texts as plain text.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from flows.runs import FinishedRun
from tasks.engines.protocols import EngineError, Message
from tasks.identity import digest
from tasks.loop.rows import OVERALL
from tasks.loop.samples import Sample, Score
from warehouse.storage import written_whole

LAYOUT = 2
"""Version of the logs' layout: a log of another layout is written again."""
AT_ONCE = 256
"""Most samples in memory."""
LONGEST_ID = 150
"""Most characters of a sample's name, which is a file name in the log's archive."""

_STOPPED = {"length": "max_tokens", "refusal": "content_filter"}
_KNOWN = ("stop", "max_tokens", "content_filter")
_HEADLINE = "value"
_OF_RUN = ("config_hash", "engine_hash", "occasion", "code_version", "run_id", "profile", "boundary_rule",
           "engine")  # fmt: skip


def file_name(run: FinishedRun) -> str:
    """Return a log's name in Inspect's form: time, evaluation, run."""
    return f"{run.started_at:%Y-%m-%dT%H-%M-%S}+00-00_{run.evaluation.replace('_', '-')}_{run.run_id}.eval"


def write_log(
    folder: Path, run: FinishedRun, metrics: pl.DataFrame, samples: Iterable[Sample]
) -> Path | None:
    """Write the log of a run, whole or not at all; returns None if an equal one exists.

    Args:
        metrics: rows of the run: metric, label, slice_kind, slice, value, unscored_reason, n_scored,
            n_unscored, ci_low, ci_high, null_value, is_headline; headlines first.
        samples: read only if the log is written.

    Raises:
        EngineError: inspect-ai is not installed. WarehouseError: the disk is full.
    """
    content = digest([LAYOUT, needed_version(), run.run_id, run.finished_at.isoformat()])
    path = folder / file_name(run)
    if path.exists() and _content(path) == content:
        return None
    with written_whole(path, 0) as temporary:
        asyncio.run(_record(temporary, _spec(run, metrics, content), run, metrics, samples))
    for other in folder.glob(f"*_{run.run_id}.eval"):
        if other != path:  # a log of the same run with another start time
            other.unlink()
    return path


def needed_version() -> str:
    """Return the version of inspect-ai; raises EngineError if it is not installed."""
    try:
        return version("inspect-ai")
    except PackageNotFoundError as error:
        raise EngineError("answers need inspect-ai: pip install '.[inspect]' in a checkout") from error


def _content(path: Path) -> str | None:
    """Return the hash of the content a log was made from; None if the log cannot be read."""
    from inspect_ai.log import read_eval_log

    try:
        return str((read_eval_log(str(path), header_only=True).eval.metadata or {}).get("content"))
    except Exception:  # an unreadable log is written again
        return None


async def _record(
    path: Path, spec: Any, run: FinishedRun, metrics: pl.DataFrame, samples: Iterable[Sample]
) -> None:
    from inspect_ai.log import EvalPlan, EvalStats
    from inspect_ai.log._recorders.eval import EvalRecorder

    recorder = EvalRecorder(str(path.parent))
    await recorder.log_init(spec, str(path), clean=True)
    await recorder.log_start(spec, EvalPlan(name="culturemeter"))
    waiting, n, used = iter(samples), 0, dict[str, Any]()
    while batch := list(islice(waiting, AT_ONCE)):
        for sample in batch:
            written = _sample(sample, run)
            await recorder.log_sample(spec, written)
            for name, usage in written.model_usage.items():
                used[name] = used[name] + usage if name in used else usage
        await recorder.flush(spec)
        n += len(batch)
    stats = EvalStats(started_at=_utc(run.started_at), completed_at=_utc(run.finished_at), model_usage=used)
    await recorder.log_finish(spec, "success", stats, _results(metrics, n), None)


def _spec(run: FinishedRun, metrics: pl.DataFrame, content: str) -> Any:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalSpec, HeadlineMetric
    from inspect_ai.viewer import ViewerConfig

    first = metrics.filter("is_headline", pl.col("value").is_not_null())["metric"].head(1).to_list()
    return EvalSpec(
        eval_id=run.run_id,
        run_id=run.run_id,
        created=_utc(run.started_at),
        task=run.evaluation,
        task_id=run.run_id,
        task_version=run.code_version,
        task_args=run.params,
        tags=[f"profile {run.profile}", *([f"occasion {run.occasion}"] if run.occasion else [])],
        dataset=EvalDataset(name=run.evaluation),
        model=run.model,
        config=EvalConfig(),
        packages={"culturemeter": run.code_version},
        metadata={name: getattr(run, name) for name in _OF_RUN} | {"content": content},
        viewer=ViewerConfig(trust_content=False),
        headline_metric=HeadlineMetric(score=first[0], metric=_HEADLINE) if first else None,
    )


def _results(metrics: pl.DataFrame, n: int) -> Any:
    """Return overall numbers as scores with interval and null, and every row, slices too, as metadata."""
    from inspect_ai.log import EvalMetric, EvalResults, EvalScore

    kind, where = OVERALL
    scores = []
    for row in metrics.filter(pl.col("slice_kind") == kind, pl.col("slice") == where).to_dicts():
        numbers = {_HEADLINE: row["value"], "ci_low": row["ci_low"], "ci_high": row["ci_high"]}
        numbers["null"] = row["null_value"]
        scores.append(
            EvalScore(
                name=row["metric"],
                scorer="culturemeter",
                scored_samples=row["n_scored"],
                unscored_samples=row["n_unscored"],
                metrics={k: EvalMetric(name=k, value=v) for k, v in numbers.items() if v is not None},
                metadata={"label": row["label"], "unscored_reason": row["unscored_reason"]},
            )
        )
    rows = metrics.drop("label", "is_headline").to_dicts()
    return EvalResults(total_samples=n, completed_samples=n, scores=scores, metadata={"metric_rows": rows})


def _sample(sample: Sample, run: FinishedRun) -> Any:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ModelOutput, ModelUsage

    sent, received = sample.tokens
    usage = ModelUsage(input_tokens=sent, output_tokens=received, total_tokens=sent + received)
    answered = bool(sample.finish_reason)
    answer: list[Message] = [{"role": "assistant", "content": sample.output}] if answered else []
    output = ModelOutput(model=run.model)
    if answered:
        reason = _STOPPED.get(sample.finish_reason, sample.finish_reason)
        stopped: Any = reason if reason in _KNOWN else "unknown"
        output = ModelOutput.from_content(run.model, sample.output, stopped)
        output.usage = usage if sent + received else None
    name = safe_id(sample.id)
    return EvalSample(
        id=name,
        epoch=1,
        input=[_message(message, run.model) for message in sample.input],
        choices=list(sample.choices) or None,
        target=sample.target if isinstance(sample.target, str) else list(sample.target),
        messages=[_message(m, run.model) for m in sample.transcript or [*sample.input, *answer]],
        output=output,
        scores={name: _score(score) for name, score in sample.scores.items()},
        metadata={
            **sample.metadata,
            **({} if name == sample.id else {"sample": sample.id}),
            "finish_reason": sample.finish_reason or None,
            "roles": {role: list(names) for role, names in sample.roles.items()},
        },
        model_usage={run.model: usage} if sent + received else {},
    )


def _score(score: Score) -> Any:
    from inspect_ai.scorer import Score as InspectScore

    more: dict[str, Any] = dict(score.metadata)
    if score.judge:
        more |= {"judge": score.judge, "grading": [_message(m, score.judge) for m in score.grading]}
    known = {"answer": score.answer, "explanation": score.explanation, "metadata": more or None}
    if score.value is None:
        return InspectScore.unscored(reason="unscored", **known)
    # Rounded, since the viewer shows every digit.
    value = float(f"{score.value:.7g}") if isinstance(score.value, float) else score.value
    return InspectScore(value=value, **known)


def _message(message: Message, model: str) -> Any:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    match message["role"]:
        case "system":
            return ChatMessageSystem(content=message["content"])
        case "assistant":
            return ChatMessageAssistant(content=message["content"], model=model)
        case _:
            return ChatMessageUser(content=message["content"])


def safe_id(name: str) -> str:
    """Return a sample's name as a unique file name in an archive, without path separators."""
    plain = re.sub(r"[^\w.:+@-]+", "_", name).strip(".")
    return (
        plain if plain == name and len(name) <= LONGEST_ID else f"{plain[:LONGEST_ID]}-{digest([name])[:8]}"
    )


def _utc(when: datetime) -> str:
    return when.replace(tzinfo=when.tzinfo or UTC).isoformat()
