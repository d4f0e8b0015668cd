"""Small logs of each format, in the form in which the programs write them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

STAMP = "2026-10-01T00-00-00.000000"
COUNTRIES = ("BR", "DE", "JP", "KE", "IN", "EG")


def sha(value: object) -> str:
    """Return the SHA-256 of a value as JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def documents(n: int, options: int = 4) -> list[dict[str, Any]]:
    """Return n documents of a choice; the right options stand at all positions, in each country too."""
    return [
        {
            "question": f"Which dish number {i} is usual at breakfast?",
            "choices": [f"dish {i} of kind {k}" for k in range(options)],
            "label": (i * 7 + i // 3 + i // 6) % options,
            "country": COUNTRIES[i % len(COUNTRIES)],
        }
        for i in range(n)
    ]


def lm_eval(
    folder: Path,
    hits: Sequence[float],
    model: str = "org/model-a",
    task: str = "dishes",
    date: float | None = 1_790_000_000.0,
    docs: Sequence[Mapping[str, Any]] | None = None,
    prompt: str = "Q: {}\nA:",
    shots: int = 0,
    stamp: str = STAMP,
    **more: Any,
) -> Path:
    """Write a log of lm-evaluation-harness of a choice; returns the results file.

    Args:
        hits: 1 for each document that the model chooses rightly, else 0. more: further fields of the results.
    """
    docs = documents(len(hits)) if docs is None else docs
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for i, (doc, hit) in enumerate(zip(docs, hits, strict=True)):
        right, n = doc["label"], len(doc["choices"])
        best = right if hit else (right + 1) % n
        chances = [-0.5 if k == best else -2.0 - k for k in range(n)]
        asked = prompt.format(doc["question"])
        lines.append(
            {
                "doc_id": i,
                "doc": doc,
                "target": str(right),
                "arguments": {
                    f"gen_args_{k}": {"arg_0": asked, "arg_1": f" {c}"} for k, c in enumerate(doc["choices"])
                },
                "resps": [[[str(c), "False"]] for c in chances],
                "filtered_resps": [[str(c), "False"] for c in chances],
                "filter": "none",
                "metrics": ["acc"],
                "doc_hash": sha(doc),
                "prompt_hash": sha(asked),
                "target_hash": sha(right),
                "acc": float(hit),
            }
        )
    mean = sum(hits) / len(hits)
    results = {
        "results": {task: {"alias": task, "acc,none": mean, "acc_stderr,none": spread(hits)}},
        "group_subtasks": {task: []},
        "configs": {
            task: {
                "task": task,
                "output_type": "multiple_choice",
                "doc_to_text": prompt,
                "num_fewshot": shots,
            }
        },
        "versions": {task: 1.0},
        "n-shot": {task: shots},
        "higher_is_better": {task: {"acc": True}},
        "n-samples": {task: {"original": len(hits), "effective": len(hits)}},
        "config": {
            "model": "hf",
            "model_args": f"pretrained={model},api_key=sk-secret",
            "model_dtype": "torch.bfloat16",
        },
        "date": date,
        "lm_eval_version": "0.4.13",
        "model_name": model,
        **more,
    }
    path = folder / f"results_{stamp}.json"
    path.write_text(json.dumps(results))
    write_lines(folder / f"samples_{task}_{stamp}.jsonl", lines)
    return path


def spread(values: Sequence[float]) -> float:
    """Return the standard error of a mean."""
    n, mean = len(values), sum(values) / len(values)
    return float((sum((v - mean) ** 2 for v in values) / (n - 1) / n) ** 0.5) if n > 1 else 0.0


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write rows as JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def helm(folder: Path, hits: Sequence[float], model: str = "openai/gpt2") -> Path:
    """Write a run folder of HELM of a choice."""
    folder.mkdir(parents=True)
    adapter = {
        "method": "multiple_choice_joint",
        "model": model,
        "model_deployment": f"hub/{model}",
        "max_train_instances": 5,
    }
    spec = {
        "name": f"mmlu:subject=food,model={model.replace('/', '_')}",
        "adapter_spec": adapter,
        "scenario_spec": {"class_name": "M"},
    }
    (folder / "run_spec.json").write_text(json.dumps(spec))
    states, stats = [], []
    for i, (doc, hit) in enumerate(zip(documents(len(hits)), hits, strict=True)):
        letters = dict(zip("ABCD", doc["choices"], strict=True))
        right = "ABCD"[doc["label"]]
        wrong = "ABCD"[(doc["label"] + 1) % 4]
        references = [
            {"output": {"text": text}, "tags": ["correct"] if k == doc["label"] else []}
            for k, text in enumerate(doc["choices"])
        ]
        instance = {
            "input": {"text": doc["question"]},
            "references": references,
            "split": "test",
            "id": f"id{i}",
        }
        text = f" {right if hit else wrong}"
        states.append(
            {
                "instance": instance,
                "train_trial_index": 0,
                "output_mapping": letters,
                "request": {"prompt": f"Question: {doc['question']}\nAnswer:"},
                "result": {"success": True, "completions": [{"text": text, "logprob": -1.5, "tokens": []}]},
            }
        )
        names = (("exact_match", hit), ("num_references", 4.0), ("inference_runtime", 0.5))
        stats.append(
            {
                "instance_id": f"id{i}",
                "train_trial_index": 0,
                "stats": [{"name": {"name": n, "split": "test"}, "count": 1, "mean": v} for n, v in names],
            }
        )
    (folder / "scenario_state.json").write_text(
        json.dumps({"adapter_spec": adapter, "request_states": states})
    )
    (folder / "per_instance_stats.json").write_text(json.dumps(stats))
    mean = sum(hits) / len(hits)
    (folder / "stats.json").write_text(
        json.dumps(
            [
                {"name": {"name": "exact_match", "split": "test"}, "count": 1, "mean": mean},
                {"name": {"name": "num_references"}, "count": 1, "mean": 4},
            ]
        )
    )
    return folder


def eee(folder: Path, hits: Sequence[float], version: str = "0.3.0", model: str = "org/model-a") -> Path:
    """Write an aggregate of Every Eval Ever and its samples, as its converters do."""
    folder.mkdir(parents=True, exist_ok=True)
    name = "f3a1c0de-4b2e-4c1a-9f6d-1b7e5a2c8d40"
    own = {
        "schema_version": version,
        "evaluation_id": f"dishes/{model}/1",
        "retrieved_timestamp": "1790000001",
        "evaluation_timestamp": "1790000000",
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": "us",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "lm_eval", "version": "0.4.13"},
        "model_info": {
            "name": model,
            "id": model,
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": [
            {
                "evaluation_result_id": "acc",
                "evaluation_name": "dishes",
                "source_data": {"dataset_name": "dishes", "source_type": "other"},
                "metric_config": {"metric_id": "acc", "lower_is_better": False, "score_type": "binary"},
                "score_details": {"score": sum(hits) / len(hits)},
            }
        ],
    }
    path = folder / f"{name}.json"
    path.write_text(json.dumps(own))
    rows = [
        {
            "schema_version": version,
            "evaluation_id": f"dishes/{model}/1",
            "model_id": model,
            "evaluation_name": "dishes",
            "evaluation_result_id": "acc",
            "sample_id": str(i),
            "sample_hash": sha(doc["question"]),
            "interaction_type": "single_turn",
            "input": {
                "raw": doc["question"],
                "reference": [doc["choices"][doc["label"]]],
                "choices": doc["choices"],
            },
            "output": {"raw": ["an answer"]},
            "answer_attribution": [],
            "evaluation": {"score": float(hit), "is_correct": bool(hit)},
            "metadata": {"country": doc["country"]},
        }
        for i, (doc, hit) in enumerate(zip(documents(len(hits)), hits, strict=True))
    ]
    write_lines(folder / f"{name}_samples.jsonl", rows)
    return path
