"""Logs of lm-evaluation-harness, 0.4.3 and later: ``results_….json`` and, beside it, ``samples_….jsonl``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from tasks.data.errors import TableError, reading
from tasks.data.json_rows import lines
from tasks.exchange.records import (
    EMPTY,
    FILTERED,
    NOT_A_NUMBER,
    Aggregate,
    Log,
    LoggedModel,
    LoggedSample,
    LogHeader,
    check_size,
    day,
    label,
    metric_of,
    number,
    same_items,
    set_only,
    sha256,
    sound,
    whole,
)
from tasks.identity import digest
from tasks.parsing import parse_json

HARNESS = "lm-evaluation-harness"
LARGEST = 1 << 27
"""Most bytes of a results file."""
_STAMP = re.compile(r"^results_?(.*)\.json$")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_KEPT = (
    "add_bos_token",
    "backend",
    "delta",
    "enable_thinking",
    "gguf_file",
    "load_in_4bit",
    "load_in_8bit",
    "max_length",
    "max_model_len",
    "peft",
    "prefix_token_id",
    "quantization",
    "softmax_dtype",
    "subfolder",
    "think_end_token",
    "tokenizer",
)
"""Arguments of a model that change its answers and hold no secret; any other may be a key or an address."""
_PROMPT = (
    "dataset_path",
    "dataset_name",
    "test_split",
    "validation_split",
    "doc_to_text",
    "doc_to_target",
    "doc_to_choice",
    "description",
    "target_delimiter",
    "fewshot_delimiter",
    "filter_list",
    "metric_list",
    "output_type",
    "repeats",
    "gen_prefix",
)
"""Fields of a task's configuration that determine what is asked and how it is scored."""
_INVALID = "[invalid]"
"""Text that the harness's filters put in place of an answer that they do not find."""


def is_results(head: str) -> bool:
    """Return whether a file that begins so is a results file of the harness."""
    return bool(re.match(r'\s*\{\s*"results"\s*:', head))


def logs(path: Path) -> Iterator[Log]:
    """Yield a log for each task of a results file; without samples where there is no file of them.

    Raises:
        TableError: the file is no results file.
    """
    with reading(path):
        results = whole(path, LARGEST)
        own = results.get("results") if isinstance(results, Mapping) else None
        if not isinstance(own, Mapping) or not all(isinstance(each, Mapping) for each in own.values()):
            raise TableError("it has no results of tasks", "name a results_….json of lm-evaluation-harness")
    groups = _mapping(results, "group_subtasks")
    for task in own:
        if isinstance(groups.get(task), list) and groups[task]:
            continue  # a group's number is made of its tasks'
        header = _header(path, results, str(task))
        file = samples_file(path, str(task))
        if file is None and not header.aggregates:
            continue
        choices = (
            str(_mapping(_mapping(results, "configs"), task).get("output_type", "")) == "multiple_choice"
        )
        yield Log(header, partial(_samples, file, header, choices) if file else None)


def results_of(samples: Path) -> Path | None:
    """Return the results file beside a file of samples; None if there is none."""
    for path in sorted(samples.parent.glob("results*.json")):
        if (match := _STAMP.match(path.name)) and samples.stem.endswith(match[1]):
            return path
    return None


def samples_file(results: Path, task: str) -> Path | None:
    """Return the file of a task's samples beside a results file; None if there is none."""
    match = _STAMP.match(results.name)
    stamp = f"_{match[1]}" if match and match[1] else ""
    for name in (task, task.replace("/", "__"), re.sub(r"[^\w.-]", "_", task)):
        if "/" not in name and (file := results.parent / f"samples_{name}{stamp}.jsonl").is_file():
            return file
    return None


def _header(path: Path, results: Mapping[str, Any], task: str) -> LogHeader:
    config = _mapping(_mapping(results, "configs"), task)
    own = {name: number(value) for name, value in _mapping(_mapping(results, "results"), task).items()}
    better, n = (
        _mapping(_mapping(results, "higher_is_better"), task),
        _mapping(_mapping(results, "n-samples"), task),
    )
    effective = n.get("effective") if isinstance(n.get("effective"), int) else None
    names = [name for name, value in own.items() if "," in name and "_stderr," not in name]
    aggregates = {}
    for name in names:
        if (value := own[name]) is not None:
            metric, _, by = name.partition(",")
            aggregates[short(name)] = Aggregate(value, own.get(f"{metric}_stderr,{by}"), effective)
    shots = _mapping(results, "n-shot").get(task, config.get("num_fewshot"))
    settings = {
        "shots": shots,
        "generation": config.get("generation_kwargs") or None,
        "prompt": digest([config.get(name) for name in _PROMPT]) if config else None,
        "chat": "yes" if results.get("chat_template_sha") else None,
        "multiturn": "yes" if results.get("fewshot_as_multiturn") else None,
        "system": results.get("system_instruction_sha"),
        "fewshot_seed": _mapping(results, "config").get("fewshot_seed") if shots else None,
    }
    version = _mapping(results, "versions").get(task, "")
    return LogHeader(
        file=str(path),
        harness=HARNESS,
        harness_version=label(results.get("lm_eval_version") or results.get("git_hash") or "", ""),
        date=day(results.get("date")),
        task=label(task),
        version=label(version, ""),
        model=_model(results),
        metrics=tuple(
            metric_of(short(name), lower_is_better=better.get(name.partition(",")[0]) is False)
            for name in names
        ),
        settings=set_only(settings),
        aggregates=aggregates,
        n=effective,
    )


def short(name: str) -> str:
    """Return a metric's name without the filter ``none``, which every task has: acc,none is acc."""
    metric, _, by = name.partition(",")
    return metric if by in ("", "none") else f"{metric},{by}"


def _model(results: Mapping[str, Any]) -> LoggedModel:
    config = _mapping(results, "config")
    args = config.get("model_args")
    own = (
        dict(args)
        if isinstance(args, Mapping)
        else dict(part.split("=", 1) for part in str(args or "").split(",") if "=" in part)
    )
    source = str(
        results.get("model_name") or own.get("pretrained") or own.get("model") or config.get("model") or ""
    )
    commit = str(config.get("model_sha") or "")
    return LoggedModel(
        name=sound(source.rstrip("/").rpartition("/")[2]) or "unnamed",
        source=sound(source),
        commit=commit if _COMMIT.fullmatch(commit) else "",
        dtype=str(config.get("model_dtype") or own.get("dtype") or "").removeprefix("torch."),
        settings=set_only({name: own.get(name) for name in _KEPT}),
    )


def _samples(file: Path, header: LogHeader, is_choice: bool) -> Iterator[LoggedSample]:
    metrics = {metric.name for metric in header.metrics}
    with reading(file, "file of samples"):
        check_size(file)
        for place, record in lines(file):
            if not isinstance(record, Mapping):
                raise TableError("a sample is no object", "is this a file of the harness?", place=place)
            yield _sample(record, metrics, is_choice, place)


def _sample(record: Mapping[str, Any], metrics: set[str], is_choice: bool, place: str) -> LoggedSample:
    doc, target = record.get("doc"), sound(record.get("target", ""))
    fields = doc if isinstance(doc, Mapping) else {"doc": doc}
    by = str(record.get("filter") or "none")
    listed = record.get("metrics")
    named = (
        [str(each) for each in listed] if isinstance(listed, list) else [m.partition(",")[0] for m in metrics]
    )
    scores, unscored = {}, ""
    for metric in dict.fromkeys(named):
        name = short(f"{metric},{by}")
        if (
            name not in metrics and listed is None
        ):  # before 0.4.5 a sample had the first filter's values alone
            name = next((m for m in metrics if m.partition(",")[0] == metric), name)
        if (value := number(record.get(metric))) is not None:
            scores[name] = value
        elif isinstance(record.get(metric), float):
            unscored = NOT_A_NUMBER
    if "doc_id" not in record:
        raise TableError("a sample has no doc_id", "is this a file of lm-evaluation-harness?", place=place)
    prompt, options = _arguments(record.get("arguments"))
    replies, filtered = record.get("resps"), record.get("filtered_resps")
    output, answer, lost, finish = "", None, "", ""
    right: int | None = None
    if is_choice and len(options) > 1:
        chances = [_chance(each) for each in filtered] if isinstance(filtered, list) else []
        if len(chances) == len(options) and None not in chances:
            best = max(range(len(options)), key=lambda i: (chances[i], -i))
            answer, finish = options[best], "stop"
            output = _listed(options, chances)
            right = _right(target, options, best, scores.get("acc"))
        else:
            right = _right(target, options, None, None)
        target = "" if right is None else options[right]
    else:
        options = []
        output, answer = _text(replies), _text(filtered)
        finish = "stop"
        if not output.strip():
            lost, answer = EMPTY, None
        elif answer.strip() in ("", _INVALID):
            lost, answer = FILTERED, None
    return LoggedSample(
        id=str(record["doc_id"]),
        item=str(record.get("doc_hash") or sha256(json.dumps(doc, sort_keys=True, default=str)))[:16],
        prompt=prompt,
        output=output,
        scores=scores,
        also=same_items([prompt[-1]["content"] if prompt else "", *fields.values()], [target]),
        target=[target],
        choices=options,
        right=right,
        answer=answer,
        lost=lost,
        unscored=unscored,
        finish_reason=finish if lost != EMPTY else "",
        fields=fields,
    )


def _arguments(arguments: Any) -> tuple[list[dict[str, str]], list[str]]:
    """Return the prompt's messages, and the continuations of each request of a document."""
    rows = []
    for each in arguments.values() if isinstance(arguments, Mapping) else arguments or []:
        rows.append(
            list(each.values()) if isinstance(each, Mapping) else list(each) if isinstance(each, list) else []
        )
    rows = [row for row in rows if row]
    options = [sound(row[1]).strip() for row in rows if len(row) > 1 and isinstance(row[1], str)]
    prompt = rows[0][0] if rows else ""
    if isinstance(prompt, str) and prompt.startswith('[{"role"'):
        with suppress(ValueError):
            prompt = parse_json(prompt)
    if isinstance(prompt, list) and all(isinstance(each, Mapping) for each in prompt):
        return [{"role": str(m.get("role")), "content": sound(m.get("content", ""))} for m in prompt], options
    return ([{"role": "user", "content": sound(prompt)}] if prompt else []), options


def _chance(response: Any) -> float | None:
    """Return the log-probability of a response to a request of a choice."""
    first = response[0] if isinstance(response, list) and response else None
    first = first[0] if isinstance(first, list) and first else first
    try:
        return float(first) if isinstance(first, str | int | float) else None
    except ValueError:
        return None


def _right(target: str, options: Sequence[str], best: int | None, acc: float | None) -> int | None:
    """Return the index of the right option: the target is its index or text, and must fit acc."""
    found = [int(target)] if target.isdecimal() and int(target) < len(options) else []
    found += [i for i, option in enumerate(options) if option == target.strip()]
    fitting = [i for i in found if best is None or acc is None or (i == best) == (acc == 1)]
    return fitting[0] if fitting else None


def _listed(options: Sequence[str], chances: Sequence[float | None]) -> str:
    ranked = sorted(zip(options, chances, strict=True), key=lambda pair: -(pair[1] or 0))
    return "\n".join(f"{option}  {chance:.4g}" for option, chance in ranked) + "\n(log-probability)"


def _text(responses: Any) -> str:
    """Return the first text of a document's responses."""
    while isinstance(responses, list):
        responses = responses[0] if responses else ""
    return sound(responses) if isinstance(responses, str | int | float) else ""


def _mapping(of: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = of.get(name)
    return value if isinstance(value, Mapping) else {}
