"""Run folders of HELM: ``run_spec.json``, ``stats.json``, and samples in ``scenario_state.json`` and
``per_instance_stats.json``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import ijson

from tasks.data.errors import TableError, reading
from tasks.data.json_rows import entries
from tasks.exchange.records import (
    EMPTY,
    ERROR,
    FILTERED,
    Aggregate,
    Log,
    LoggedModel,
    LoggedSample,
    LogHeader,
    check_size,
    label,
    metric_of,
    number,
    same_item,
    same_items,
    set_only,
    sound,
    whole,
)
from tasks.identity import digest

HARNESS = "helm"
SPEC = "run_spec.json"
LARGEST = 1 << 26
"""Most bytes of a file that is read whole."""
_BOOKS = re.compile(
    r"^(num_|inference_|training_|batch_size|finish_reason|runtime|logprob|perplexity|bits_per|prompt_|max_|predicted_index"
    r"|request_|estimated_|efficiency|total_)"
)
"""Statistics that are no scores: counts, times and probabilities."""
_FIRST = (
    "exact_match",
    "quasi_exact_match",
    "final_number_exact_match",
    "math_equiv_chain_of_thought",
    "math_equiv",
    "chain_of_thought_correctness",
    "ifeval_strict_accuracy",
    "prefix_exact_match",
    "quasi_prefix_exact_match",
    "f1_score",
    "rouge_l",
    "bleu_4",
)
"""Scores in the order in which one is the headline."""
_ADAPTER = (
    "method",
    "instructions",
    "input_prefix",
    "input_suffix",
    "reference_prefix",
    "reference_suffix",
    "output_prefix",
    "output_suffix",
    "instance_prefix",
    "global_prefix",
    "global_suffix",
    "max_train_instances",
    "num_outputs",
    "num_train_trials",
    "temperature",
    "max_tokens",
    "stop_sequences",
    "chain_of_thought_prefix",
    "substitutions",
)


def logs(folder: Path) -> Iterator[Log]:
    """Yield the log of a run folder; its aggregates alone if it has no samples.

    Raises:
        TableError: a file is missing or damaged.
    """
    with reading(folder / SPEC):
        spec = whole(folder / SPEC, LARGEST)
    if not isinstance(spec, Mapping) or not isinstance(spec.get("adapter_spec"), Mapping):
        raise TableError("it has no adapter_spec", "name a run folder of HELM", file=str(folder / SPEC))
    by_split = _aggregates(folder / "stats.json")
    split = "test" if "test" in by_split else min(by_split, default="")
    means = by_split.get(split, {})
    has_samples = (folder / "scenario_state.json").is_file() and (
        folder / "per_instance_stats.json"
    ).is_file()
    names = sorted(means, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
    if not names:
        raise TableError("stats.json has no score", "run helm-run to its end", file=str(folder))
    yield Log(_header(folder, spec, names, means), partial(_samples, folder, split) if has_samples else None)


def _header(
    folder: Path, spec: Mapping[str, Any], names: list[str], means: Mapping[str, Aggregate]
) -> LogHeader:
    adapter, scenario = spec["adapter_spec"], spec.get("scenario_spec") or {}
    source = str(adapter.get("model") or adapter.get("model_deployment") or "unnamed")
    name, _, rest = str(spec.get("name", folder.name)).partition(":")
    kept = [part for part in rest.split(",") if part and not part.startswith(("model=", "model_deployment="))]
    settings = {
        "shots": adapter.get("max_train_instances"),
        "generation": {
            k: adapter.get(k) for k in ("temperature", "max_tokens", "num_outputs", "stop_sequences")
        },
        "prompt": digest([adapter.get(key) for key in _ADAPTER]),
        "scenario": [scenario.get("class_name"), scenario.get("args")],
        "augmented": spec.get("data_augmenter_spec", {}).get("perturbation_specs") or None,
    }
    return LogHeader(
        file=str(folder),
        harness=HARNESS,
        harness_version="",
        date="",
        task=label(" ".join([name, *kept])),
        version="",
        model=LoggedModel(
            sound(source.rpartition("/")[2]),
            sound(source),
            settings=set_only(
                {"deployment": adapter.get("model_deployment")}
                if adapter.get("model_deployment") != source
                else {}
            ),
        ),
        metrics=tuple(metric_of(each) for each in names),
        settings=set_only(settings),
        aggregates=means,
    )


def _aggregates(path: Path) -> dict[str, dict[str, Aggregate]]:
    """Return split -> score -> its mean as stored, without perturbations."""
    found: dict[str, dict[str, Aggregate]] = {}
    with reading(path):
        for _, stat in entries(path):
            if name := _score_name(stat):
                of_split = found.setdefault(str(stat["name"].get("split")), {})
                of_split.setdefault(name, Aggregate(float(stat["mean"]), n=int(stat["count"])))
    return found


def _score_name(stat: Any) -> str:
    """Return the name of a statistic that is a score of unperturbed test instances; "" for others."""
    own = stat.get("name") if isinstance(stat, Mapping) else None
    if not isinstance(own, Mapping) or own.get("perturbation") or own.get("sub_split"):
        return ""
    name = str(own.get("name", ""))
    is_score = name and not _BOOKS.match(name) and own.get("split") in ("test", "valid", None)
    return name if is_score and stat.get("count") and number(stat.get("mean")) is not None else ""


def _samples(folder: Path, split: str) -> Iterator[LoggedSample]:
    scores: dict[tuple[str, int], dict[str, float]] = {}
    seen = set[tuple[str, int]]()
    with reading(folder / "per_instance_stats.json"):
        for _, record in entries(folder / "per_instance_stats.json"):
            if not isinstance(record, Mapping) or record.get("perturbation"):
                continue
            own = {name: float(s["mean"]) for s in record.get("stats") or () if (name := _score_name(s))}
            scores[str(record.get("instance_id")), int(record.get("train_trial_index") or 0)] = own
    path = folder / "scenario_state.json"
    with reading(path), path.open("rb") as file:
        check_size(path)
        for state in ijson.items(file, "request_states.item", use_float=True):
            instance = state.get("instance") or {}
            key = str(instance.get("id")), int(state.get("train_trial_index") or 0)
            if instance.get("perturbation") or str(instance.get("split")) != split or key in seen:
                continue  # each reference may have a request of its own; the instance has one score
            seen.add(key)
            yield _sample(state, instance, key, scores.get(key, {}))


def _sample(
    state: Mapping[str, Any], instance: Mapping[str, Any], key: tuple[str, int], scores: Mapping[str, float]
) -> LoggedSample:
    references = [each for each in instance.get("references") or () if isinstance(each, Mapping)]
    options = [sound(_text(each.get("output"))) for each in references]
    hits = [place for place, each in enumerate(references) if "correct" in (each.get("tags") or ())]
    mapping, question = state.get("output_mapping"), sound(_text(instance.get("input")))
    result = state.get("result") or {}
    completions = result.get("completions") or ()
    first = completions[0] if completions else {}
    output = sound(first.get("text", ""))
    finish = str((first.get("finish_reason") or {}).get("reason", "stop")) if completions else ""
    is_choice = isinstance(mapping, Mapping) and len(options) > 1
    shown = [sound(each) for each in mapping.values()] if isinstance(mapping, Mapping) else []
    answer = (
        sound(mapping[output.strip()])
        if isinstance(mapping, Mapping) and output.strip() in mapping
        else output.strip()
    )
    is_empty = not output.strip() and state.get("reference_index") is None
    lost = ERROR if result.get("success") is False else EMPTY if is_empty else ""
    lost = FILTERED if finish == "content_filter" else lost
    target = [options[place] for place in hits]
    order = shown if is_choice and sorted(shown) == sorted(options) else options
    return LoggedSample(
        id=key[0],
        repetition=key[1],
        item=same_item(question, target),
        prompt=[{"role": "user", "content": sound((state.get("request") or {}).get("prompt", question))}],
        output=output,
        scores=scores,
        also=same_items([question], target),
        target=target,
        choices=order if is_choice else [],
        right=order.index(target[0]) if is_choice and len(target) == 1 else None,
        answer=answer or None,
        lost=lost,
        unscored=ERROR if result.get("success") is False else "",
        finish_reason=finish,
        fields={"split": instance.get("split"), **(instance.get("extra_data") or {})},
    )


def _text(content: Any) -> str:
    return str(content.get("text", "")) if isinstance(content, Mapping) else str(content or "")
