"""Tasks of lm-evaluation-harness over invented items, one for each form, and the harness's own results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from tasks.evaluations.harness import read, rows
from tasks.evaluations.harness.study import HarnessParams, build_study

_PLACES = ["Orvland", "Tesmia", "Karu", "Velm", "Ninoa", "Pesh", "Ulmark", "Dro"]
_DISHES = ["barley soup", "smoked eel", "plum dumplings", "goat stew", "corn cakes", "sour milk", "leek pie",
           "sweet rice with almonds"]  # fmt: skip

ITEMS: list[dict[str, Any]] = [
    {
        "place": place,
        "region": "north" if i % 2 else "south",
        "question": f"What do people in {place} eat on the first day of the year?",
        "options": [_DISHES[(i + step) % 8] for step in (0, 3, 5)],
        "answer": i % 3,
        "several": [i % 3, (i + 1) % 3],
        "first": f"In {place} the guests",
        "second": f"In {place} the hosts",
        "end": "bring bread",
        "dish": _DISHES[i],
    }
    for i, place in enumerate(_PLACES)
]
TRAINING = [{**item, "place": f"New {item['place']}"} for item in ITEMS[:5]]

_CHOICE: dict[str, Any] = {
    "output_type": "multiple_choice",
    "doc_to_text": "Question: {{question}}\nAnswer:",
    "doc_to_choice": "options",
    "doc_to_target": "answer",
    "metric_list": [
        {"metric": name, "aggregation": "mean", "higher_is_better": True} for name in ("acc", "acc_norm")
    ],
}
_LETTERS = {
    "doc_to_text": "{{question}}\nA. {{options[0]}}\nB. {{options[1]}}\nC. {{options[2]}}\nAnswer:",
    "doc_to_choice": ["A", "B", "C"],
}
_SHOTS = {"training_split": "train", "fewshot_split": "train"}
_WRITTEN: dict[str, Any] = {
    "output_type": "generate_until",
    "doc_to_text": "{{question}}\nAnswer:",
    "doc_to_target": "dish",
    "generation_kwargs": {"until": ["\n", "."], "max_gen_toks": 8, "do_sample": False},
    "metric_list": [
        {"metric": "exact_match", "aggregation": "mean", "higher_is_better": True, "ignore_case": True}
    ],
}
_MUTUAL = {"metric": "acc_mutual_info", "aggregation": "mean", "higher_is_better": True}

TASKS: dict[str, dict[str, Any]] = {
    "plain": _CHOICE,
    "letters": _CHOICE | _LETTERS,
    "first_shots": _CHOICE | _SHOTS | {"num_fewshot": 3, "fewshot_config": {"sampler": "first_n"}},
    "random_shots": _CHOICE | _SHOTS | {"num_fewshot": 2},
    "shots_of_itself": _CHOICE | {"num_fewshot": 2, "fewshot_split": "test"},
    "described": _CHOICE | {"description": "Food of invented places.\n\n", "target_delimiter": "\n"},
    "space_at_the_end": _CHOICE | {"doc_to_text": "{{question}} They eat ", "target_delimiter": ""},
    "mutual": _CHOICE | {"metric_list": [*_CHOICE["metric_list"], _MUTUAL]},
    "contexts": _CHOICE | {
        "doc_to_text": "{{answer % 2}}", "doc_to_choice": "{{[first, second]}}", "doc_to_target": "end",
    },
    "several_right": _CHOICE | {"doc_to_target": "{{several}}"},
    "right_in_words": _CHOICE | {
        "doc_to_choice": "{{options}}", "doc_to_target": "{{options[answer]}}",
        "metric_list": [*_CHOICE["metric_list"], *({"metric": metric} for metric in ("acc_bytes", "mcc"))],
    },
    "whole": {
        "output_type": "loglikelihood",
        "doc_to_text": "In {{place}} people eat", "doc_to_target": " {{dish}}",
        "metric_list": [
            {"metric": "perplexity", "aggregation": "perplexity", "higher_is_better": False},
            {"metric": "acc", "aggregation": "mean", "higher_is_better": True},
        ],
    },
    "chat": _CHOICE,
    "chat_shots": _CHOICE | _SHOTS | {"num_fewshot": 2, "description": "Answer briefly."},
    "chat_begun": _CHOICE | {"gen_prefix": "They eat"},
    "too_long": _CHOICE | {"doc_to_text": "{{(place + ' and its people. ') * 60}}{{question}}\nAnswer:"},
    "written": _WRITTEN,
    "written_filtered": _WRITTEN | _SHOTS | {
        "num_fewshot": 1,
        "filter_list": [
            {"name": "first", "filter": [{"function": "take_first"}]},
            {"name": "word", "filter": [
                {"function": "regex", "regex_pattern": "([a-z]+)"}, {"function": "take_first"},
            ]},
        ],
    },
    "written_several": _WRITTEN | {
        "doc_to_target": "{{[dish, place]}}", "repeats": 3,
        "filter_list": [{"name": "none", "filter": [
            {"function": "lowercase"},
            {"function": "map", "mapping_dict": {"": ""}, "default_value": _DISHES[0]},
            {"function": "majority_vote"}, {"function": "take_first"},
        ]}],
    },
    "chat_written": _WRITTEN,
}  # fmt: skip
CHATS = {name for name in TASKS if name.startswith("chat")}
MULTITURN = {"chat_shots"}


def write_tasks(folder: Path, names: list[str] | None = None) -> dict[str, Path]:
    """Write each task's YAML file with its data beside it; return name -> file."""
    for name, items in (("test", ITEMS), ("train", TRAINING)):
        text = "\n".join(json.dumps(item, ensure_ascii=False) for item in items)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    files = {}
    for name in names or list(TASKS):
        own: dict[str, Any] = {
            "task": f"invented_{name}",
            "dataset_path": "json",
            "dataset_kwargs": {
                "data_files": {"test": str(folder / "test.jsonl"), "train": str(folder / "train.jsonl")}
            },
            "test_split": "test",
            **TASKS[name],
        }
        files[name] = folder / f"{name}.yaml"
        files[name].write_text(yaml.safe_dump(own, allow_unicode=True), encoding="utf-8")
    return files


def run_both(peer: Any, name: str, folder: Path, completions: Any) -> tuple[dict[str, Any], Any, Any]:
    """Return the harness's output for a task, our study of it, and the answers in these completions."""
    import lm_eval
    from lm_eval.tasks import TaskManager

    (file,) = write_tasks(folder, [name]).values()
    chat, multiturn = name in CHATS, name in MULTITURN
    theirs = lm_eval.simple_evaluate(
        peer, tasks=[str(file)], apply_chat_template=chat, fewshot_as_multiturn=multiturn,
        bootstrap_iters=0, task_manager=TaskManager(include_defaults=False),
    )  # fmt: skip
    params = HarnessParams(models=["x"], tasks=[str(file)], chat=chat, multiturn=multiturn)
    study = build_study(params, {}, {})
    return theirs, study, read.read(study, completions, None)


def numbers_of_both(
    theirs: dict[str, Any], study: Any, answers: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return metric -> the harness's value, and metric -> our value, for a study of one task."""
    (results,) = theirs["results"].values()
    values = {
        key.replace(",none", "").replace(",", "_"): value
        for key, value in results.items()
        if "," in key and "stderr" not in key
    }
    assert values
    made = rows.model_rows(study, answers, rows.NullModels(study, {}))
    ours = {row.metric: row.value for row in made if row.slice_kind == "overall"}
    return values, {metric: ours[metric] for metric in values}
