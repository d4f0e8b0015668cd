"""Tasks without a model: trust, refusals, requests, configuration and null models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tasks.engines.specs import TRUST
from tasks.evaluations.harness import library, read, rows
from tasks.evaluations.harness.evaluation import EVALUATION
from tasks.evaluations.harness.study import NO_QUESTION, OTHER_QUESTION, HarnessParams, build_study
from tasks.evaluations.recipe.study import HEADLINE
from tasks.loop.pairs import Document
from tasks.loop.prompts import Completion
from tasks.loop.replies import EMPTY, NO_ANSWER, REFUSED
from tests.evaluations.harness.tasks_written import ITEMS, TASKS, write_tasks

FILES = Path(__file__).parent / "files"


def study_of(tasks: list[Any], **more: Any) -> Any:
    return build_study(HarnessParams(models=["x"], tasks=[str(task) for task in tasks], **more), {}, {})


def written(folder: Path, **fields: Any) -> Path:
    """Return the plain task with other fields."""
    (file,) = write_tasks(folder, ["plain"]).values()
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | fields), encoding="utf-8")
    return file


def test_function_of_a_task_needs_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, ran = written(tmp_path), tmp_path / "ran"
    (tmp_path / "own.py").write_text(
        f"open({str(ran)!r}, 'w').close()\ndef text(doc):\n    return doc['question']\n"
    )
    file.write_text(
        file.read_text().replace("doc_to_text:", "doc_to_text: !function own.text\nnever_read:", 1)
    )
    text = "\n".join(
        line for line in file.read_text().splitlines() if not line.startswith(("never_read", "  Answer"))
    )
    file.write_text(text)
    message = r"runs code \(!function own.text\): review it, then add --trust-remote-code"
    with pytest.raises(ValueError, match=message):
        study_of([file])
    assert not ran.exists()
    including = tmp_path / "including.yaml"
    including.write_text(f"include: {file.name}\ntask: another\n")
    with pytest.raises(ValueError, match=r"!function own\.text"):
        study_of([including])
    monkeypatch.setenv(TRUST, "remote-code")
    study = study_of([file])
    assert ran.exists()
    assert study.asked(study.items[0], HEADLINE).pairs[0].context == ITEMS[0]["question"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"unsafe_code": True}, "unsafe_code"),
        ({"dataset_kwargs": {"trust_remote_code": True}}, "trust_remote_code"),
        ({"metric_list": [{"metric": "rouge", "hf_evaluate": True}]}, "hf_evaluate"),
        ({"doc_to_text": "{{ ''.__class__.__mro__[1].__subclasses__() }}"}, "unsafe"),
        ({"dataset_kwargs": {"data_files": {"test": "https://example.org/x"}}}, "is no file in the folder"),
        ({"output_type": "loglikelihood_rolling", "metric_list": None},
         "has output_type loglikelihood_rolling: only"),
        ({"task": "first_days"}, "two tasks are called 'first_days': rename one"),
        (TASKS["written"] | {"generation_kwargs": {"num_beams": 3}},
         "generation_kwargs: num_beams: no engine here has beams"),
    ],
)  # fmt: skip
def test_unsafe_and_unsupported_tasks_are_refused(
    tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        study_of([written(tmp_path, **fields), FILES / "choice.yaml"])
    assert "\n" not in str(caught.value)


def test_missing_and_unknown_tasks_are_refused() -> None:
    with pytest.raises(ValueError, match="--tasks: name a task"):
        study_of([])
    with pytest.raises(ValueError, match=r"there is no task or file './nowhere.yaml'"):
        study_of([FILES / "choice.yaml", "./nowhere.yaml"])


def test_data_of_the_hub_need_a_commit(tmp_path: Path) -> None:
    file = written(tmp_path, dataset_path="someone/dishes", dataset_kwargs=None)
    with pytest.raises(ValueError, match=r"--revision someone/dishes=COMMIT \(40 hex digits\), or --data"):
        study_of([file])
    with pytest.raises(ValueError, match="COMMIT"):
        study_of([file], revision={"someone/dishes": "main"})


def test_users_file_replaces_data_of_the_hub(tmp_path: Path) -> None:
    file = written(tmp_path, dataset_path="someone/dishes", dataset_kwargs=None)
    one = study_of([file], data={"invented_plain": str(FILES / "first_days.jsonl")})
    every = study_of([file], data={"*": str(FILES / "first_days.jsonl")})
    assert one.config_hash() == every.config_hash()
    assert len(one.items) == len(ITEMS)
    with pytest.raises(ValueError, match=r"there is no such folder, or file that ends in \.json"):
        study_of([file], data={"*": str(tmp_path / "none.json")})


def test_config_hash_changes_with_the_documents(tmp_path: Path) -> None:
    file = written(tmp_path)
    before = study_of([file]).config_hash()
    assert study_of([file]).config_hash() == before
    (tmp_path / "test.jsonl").write_text((tmp_path / "test.jsonl").read_text().replace("Karu", "Karo"))
    assert study_of([file]).config_hash() != before


def test_config_hash_changes_with_examples_and_chat_format(tmp_path: Path) -> None:
    (file,) = write_tasks(tmp_path, ["random_shots"]).values()
    ways: list[dict[str, Any]] = [{}, {"fewshot_seed": 1}, {"chat": True}, {"chat": True, "multiturn": True}]
    assert len({study_of([file], **way).config_hash() for way in ways}) == len(ways)
    with pytest.raises(ValueError, match="add --chat"):
        study_of([file], multiturn=True)


def test_unknown_fields_and_metrics_are_refused() -> None:
    with pytest.raises(ValueError, match=r"--cluster: documents of 'first_days' have no field 'land'"):
        study_of([FILES / "choice.yaml"], cluster="land")
    with pytest.raises(ValueError, match="--slice: documents"):
        study_of([FILES / "choice.yaml"], slice=["land"])
    with pytest.raises(ValueError, match="known: acc, acc_norm"):
        study_of([FILES / "choice.yaml"], metric="bleu")


def test_limit_spreads_documents_over_clusters_and_is_nested() -> None:
    few = study_of([FILES / "choice.yaml"], cluster="region", limit=4)
    assert sorted(item.cluster for item in few.items) == ["north", "north", "south", "south"]
    fewer = study_of([FILES / "choice.yaml"], cluster="region", limit=2)
    assert {item.name for item in fewer.items} < {item.name for item in few.items}


def test_controls_leave_out_or_exchange_the_question() -> None:
    study = study_of([FILES / "choice.yaml"])
    item = study.items[0]
    own, without, other = (study.asked(item, c) for c in (HEADLINE, NO_QUESTION, OTHER_QUESTION))
    assert isinstance(own, Document)
    assert own.pairs[0].context == f"Question: {ITEMS[0]['question']}\nAnswer:"
    assert {pair.context for pair in without.pairs} == {"Question: \nAnswer:"}
    assert other.pairs[0].context != own.pairs[0].context
    options = [f" {option}" for option in ITEMS[0]["options"]]
    assert [[pair.continuation for pair in each.pairs] for each in (own, without, other)] == [options] * 3


def test_hand_calculation_gives_null_models() -> None:
    study = study_of([FILES / "choice.yaml", FILES / "written.yaml"])
    nulls = read.nulls(study)
    by = {
        name: max(
            rows.mean_of(read.headline_of(study, values).values) or 0.0
            for ways in by_task.values()
            for values in ways
        )
        for name, by_task in nulls.items()
    }
    # Right places are 0 1 2 0 1 2 0 1: place 0, the first of the commonest, in 3 of 8 documents.
    assert by["position"] == pytest.approx(3 / 8)
    assert by["chance"] == pytest.approx(1 / 3)
    longest = [
        (len(item["options"][item["answer"]]) == (most := max(map(len, item["options"]))))
        / [len(option) for option in item["options"]].count(most)
        for item in ITEMS
    ]
    assert by["longest"] == pytest.approx(sum(longest) / 8)
    assert by["commonest"] == pytest.approx(1 / 8)  # each dish is right once
    assert by["other_answer"] == 0
    # The null beside a score is the best of each task: longest or position here, commonest there.
    models, first = rows.NullModels(study, nulls), np.arange(16) < 8
    best_of_options = max(by[name] for name in ("longest", "shortest", "position", "popular"))
    assert models.mean(first) == pytest.approx(best_of_options)
    assert models.mean(~first) == pytest.approx(1 / 8)
    assert models.mean(np.ones(16, dtype=bool)) == pytest.approx((best_of_options + 1 / 8) / 2)
    # In a slice the best position is that of its documents: 2 is right in documents 2 and 5.
    two = np.isin(np.arange(16), [2, 5])
    assert models.mean(two) == 1


def test_each_form_of_task_has_requests(tmp_path: Path) -> None:
    files = write_tasks(tmp_path)
    study = study_of(list(files.values()))
    assert len(study.items) == len(TASKS) * len(ITEMS)
    assert all(request.units for request in study.requests())


def test_each_task_reads_its_own_subfolder(tmp_path: Path) -> None:
    files = []
    for place in ("Egypt", "Jordan"):
        (tmp_path / "data" / place).mkdir(parents=True)
        rows = "".join(json.dumps({**item, "place": place}) + "\n" for item in ITEMS)
        (tmp_path / "data" / place / "test.jsonl").write_text(rows)
        (tmp_path / place).mkdir()
        named = {"task": f"of_{place}", "dataset_path": "someone/x", "dataset_name": place}
        files.append(written(tmp_path / place, **named, dataset_kwargs=None))
    study = study_of(files, data={"*": str(tmp_path / "data")})
    for place in ("Egypt", "Jordan"):
        assert {doc["place"] for doc in study.tasks[f"of_{place}"].documents.values()} == {place}
    with pytest.raises(ValueError, match=r"it has no folder Egypt, but tasks read 2 sets of their data"):
        study_of(files, data={"*": str(tmp_path / "data" / "Egypt")})
    one = study_of(files[:1], data={"*": str(tmp_path / "data" / "Egypt")})
    assert len(one.items) == len(ITEMS)


def test_only_unscored_documents_have_a_reason() -> None:
    study = study_of([FILES / "choice.yaml"])
    names = [item.name for item in study.items[:4]]
    values: dict[str, dict[str, Any]] = {
        names[0]: {"acc": 1.0}, names[1]: {"acc": 1.5}, names[2]: {"": "its program failed"},
    }  # fmt: skip
    scores = read.headline_of(study, values, {names[3]: "cut off"})
    assert scores.values[0] == 1.0
    assert np.isnan(scores.values[1:]).all()
    assert scores.reasons.tolist()[:5] == [
        "", read.NOT_A_SHARE, "its program failed", "cut off", read.NOT_A_SHARE,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("file", "condition", "limit", "reason"),
    [
        ("choice.yaml", HEADLINE, 8, NO_ANSWER),
        ("choice.yaml", NO_QUESTION, 8, read.NOT_ASKED),
        (
            "written.yaml", NO_QUESTION, 8,
            "only prompts with options after them are asked without the question",
        ),
        ("choice.yaml", OTHER_QUESTION, 8, read.NOT_ASKED),
        ("choice.yaml", OTHER_QUESTION, 1, read.NO_OTHER),  # a single document
    ],
)  # fmt: skip
def test_a_document_without_an_answer_has_the_conditions_reason(
    file: str, condition: str, limit: int, reason: str
) -> None:
    study = study_of([FILES / file], limit=limit)
    item = study.items[0]
    assert read._why_not(study, item, condition, {}) == reason
    assert read._why_not(study, item, condition, {item.name: []}) == ""


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (None, NO_ANSWER),
        ([Completion("", "refusal", 1, 0)] * 2, REFUSED),
        ([Completion("", "refusal", 1, 0), Completion("rice", "stop", 1, 1)], ""),
        ([Completion(" ", "stop", 1, 1)] * 2, EMPTY),
        ([Completion("rice", "stop", 1, 1)], ""),
    ],
)
def test_an_answer_is_lost_if_all_its_texts_are_refused_or_empty(
    answers: list[Completion] | None, reason: str
) -> None:
    assert read._lost(answers) == reason


@pytest.mark.parametrize("sampler", ["default", "first_n"])
@pytest.mark.parametrize(
    "splits",
    [
        {"test_split": "test"},
        {"test_split": None, "validation_split": "test"},
        {"test_split": None, "validation_split": "test", "fewshot_split": "test"},
        {"test_split": "test", "fewshot_split": "test"},
    ],
)
def test_a_document_is_never_among_its_own_examples(
    tmp_path: Path, sampler: str, splits: dict[str, Any]
) -> None:
    file = written(tmp_path, num_fewshot=4, fewshot_config={"sampler": sampler}, **splits)
    study = study_of([file])
    for item in study.items:
        context = study.asked(item, HEADLINE).pairs[0].context
        assert context.count(item.task.documents[item.doc]["question"]) == 1
        assert context.count("Question:") == 5
    assert "4-shot (from the evaluated documents, never the document itself)" in EVALUATION.size(study)
    with pytest.raises(ValueError, match=r"there are 7$|exceeds the 7 that are available"):
        study_of([written(tmp_path, num_fewshot=8, fewshot_config={"sampler": "first_n"}, **splits)])


@pytest.mark.parametrize("change", [str.upper, lambda text: f"{text} ", lambda text: text.replace(" ", "  ")])
def test_a_copy_of_a_document_is_never_among_its_examples(
    tmp_path: Path, change: Callable[[str], str]
) -> None:
    copy = ITEMS[0] | {"question": change(ITEMS[0]["question"]), "id": 9}
    file = written(tmp_path, num_fewshot=6, fewshot_config={"sampler": "first_n"}, test_split="test")
    (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, [ITEMS[0], copy, *ITEMS[1:]])))
    study = study_of([file])
    for item in study.items[:2]:
        context = " ".join(study.asked(item, HEADLINE).pairs[0].context.casefold().split())
        assert context.count(ITEMS[0]["question"].casefold()) == 1


def test_a_first_label_that_is_no_option_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot be built: .*is its label one of its options, from 0 on\?"):
        labelled(tmp_path, [9, 1, 1])


def test_page_and_plan_say_where_examples_come_from(tmp_path: Path) -> None:
    files = write_tasks(tmp_path, ["first_shots", "shots_of_itself", "plain"])
    study = study_of(list(files.values()))
    assert "invented_first_shots: 8 documents, 3-shot (from the split 'train'), each" in EVALUATION.size(
        study
    )
    answers = read.read(study, lambda request: {}, None)
    made = rows.model_rows(study, answers, rows.NullModels(study, {}))
    assert [row.value for row in made if row.metric == "examples_evaluated"] == [pytest.approx(1 / 3)]
    written_by_hand = written(
        tmp_path, num_fewshot=1,
        fewshot_config={"sampler": "first_n", "samples": [ITEMS[0] | {"question": "Which?"}]},
    )  # fmt: skip
    assert "(from examples written in the task)" in EVALUATION.size(study_of([written_by_hand]))


FROM_1 = "labels count from 1, and those of the harness count from 0"


def labelled(folder: Path, labels: list[Any], limit: int | None = None, **fields: Any) -> Any:
    """Return the study of the plain task with these labels. limit: of documents that are asked."""
    file = written(folder, **fields)
    field = "several" if isinstance(labels[0], list) else "answer"
    lines = [json.dumps(item | {field: label}) for item, label in zip(ITEMS, labels, strict=False)]
    (folder / "test.jsonl").write_text("\n".join(lines))
    return study_of([file], limit=limit)


@pytest.mark.parametrize(("labels", "is_from_1"), [([1, 1, 3], True), ([2, 1, 3], True), ([1, 1, 0], False)])
def test_labels_from_1_are_seen_in_documents_that_are_not_asked(
    tmp_path: Path, labels: list[int], is_from_1: bool
) -> None:
    study = labelled(tmp_path, labels, limit=2)
    (task,) = study.tasks.values()
    assert len(task.documents) == 2
    assert task.wrong_labels == (dict.fromkeys(task.documents, FROM_1) if is_from_1 else {})


@pytest.mark.parametrize(
    ("labels", "fields", "reasons"),
    [
        ([0, 1, 3], {}, {2: "its label 3 is none of its 3 options"}),
        ([0, -1, 2], {}, {1: "its label -1 is none of its 3 options"}),
        (["Peru", "x", "y"], {"doc_to_target": "answer"}, {
            i: f"its label {label!r} is none of its 3 options" for i, label in enumerate(["Peru", "x", "y"])
        }),
        ([1, 2, 3], {}, dict.fromkeys(range(3), FROM_1)),
        ([[0, 3], [1], [2]], {"doc_to_target": "{{several}}"}, {
            0: "its label [0, 3] is none of its 3 options",
        }),
    ],
)  # fmt: skip
def test_a_label_that_is_no_option_is_unscored_with_its_reason(
    tmp_path: Path, labels: list[Any], fields: dict[str, Any], reasons: dict[int, str]
) -> None:
    study = labelled(tmp_path, labels, **fields)
    (task,) = study.tasks.values()
    assert task.wrong_labels == reasons
    of_nulls = [
        values for by_task in read.nulls(study).values() for ways in by_task.values() for values in ways
    ]
    assert len(of_nulls) == 4 + 3
    for values in (*of_nulls, read_of(study)):
        scores = read.headline_of(study, values)
        assert {place: why for place, why in enumerate(scores.reasons) if why} == reasons
        assert np.isnan(scores.values[list(reasons)]).all()
    assert f"{len(reasons)} of 3 documents will be unscored" in EVALUATION.size(study)


def read_of(study: Any) -> Any:
    """Return the values of a model that takes the first option."""
    (task,) = study.tasks.values()
    scored = task.scored({doc: [(0.0, True), (-1.0, False), (-2.0, False)] for doc in task.documents})
    return {item.name: scored[item.doc] for item in study.items}


def test_a_filter_that_fails_on_some_answers_leaves_those_unscored(tmp_path: Path) -> None:
    (file,) = write_tasks(tmp_path, ["written"]).values()
    pattern = {"function": "regex", "regex_pattern": "([a-z]+)", "group_select": 1}
    own = {"filter_list": [{"name": "second", "filter": [pattern, {"function": "take_first"}]}]}
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | own), encoding="utf-8")
    study = study_of([file])
    (task,) = study.tasks.values()
    scored = task.scored({0: [["barley soup"]], 1: [["soup"]], 2: [["7"]]})
    assert scored[1] == {"": "the task's filter fails: list index out of range"}
    assert scored[0].keys() == scored[2].keys() == {"exact_match"}
    own["filter_list"][0]["filter"][0]["group_select"] = 9
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | own), encoding="utf-8")
    assert "its filter 'second' fails on 8 of 8 right answers" in EVALUATION.size(study_of([file]))


def test_the_index_of_the_library_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes seconds if its own thousands of files are read, which only names of tasks need."""
    import lm_eval.tasks

    study_of([written(tmp_path)])
    monkeypatch.delattr(lm_eval.tasks, "TaskManager")
    assert study_of([written(tmp_path)]).items
    own = lambda include_defaults: include_defaults  # noqa: E731
    monkeypatch.setattr(lm_eval.tasks, "TaskManager", own, raising=False)
    assert [library._manager.__wrapped__(with_all) for with_all in (True, False)] == [True, False]


@pytest.mark.parametrize("group", ["1", [0], None, True, 1.0])
def test_a_group_that_is_no_whole_number_is_refused(tmp_path: Path, group: Any) -> None:
    (file,) = write_tasks(tmp_path, ["written"]).values()
    pattern = {"function": "regex", "regex_pattern": "([a-z]+)", "group_select": group}
    own = {"filter_list": [{"name": "own", "filter": [pattern, {"function": "take_first"}]}]}
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | own), encoding="utf-8")
    with pytest.raises(ValueError, match="group_select: Input should be a valid integer"):
        study_of([file])
