"""Logs that the real programs make here are imported to their own numbers."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.deployments.commands import call
from tests.exchange import logs
from warehouse import Warehouse

pytestmark = pytest.mark.slow

CHOICE = """
task: dishes
dataset_path: json
dataset_kwargs: {data_files: FOLDER/dishes.jsonl}
test_split: train
output_type: multiple_choice
doc_to_text: "Q: {{question}}\\nA:"
doc_to_choice: "{{choices}}"
doc_to_target: "{{label}}"
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]
metadata: {version: 2.0}
"""
WRITTEN = """
task: staples
dataset_path: json
dataset_kwargs: {data_files: FOLDER/dishes.jsonl}
test_split: train
output_type: generate_until
doc_to_text: "Q: {{question}}\\nA:"
doc_to_target: "{{country}}"
generation_kwargs: {until: ["\\n"], max_gen_toks: 4}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
filter_list:
  - {name: strict, filter: [{function: regex, regex_pattern: "([A-Z]{2})"}, {function: take_first}]}
  - {name: loose, filter: [{function: take_first}]}
"""


def test_a_log_of_the_harness_has_its_own_accuracy_and_standard_error(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program runs in this process, and does without what takes longer than what it does here: its own
    tasks, a list of what is installed, and the hub, which it would ask for a tokenizer."""
    program = pytest.importorskip("lm_eval.__main__")
    import lm_eval.tasks

    logs.write_lines(tmp_path / "dishes.jsonl", logs.documents(60))
    for name, text in (("dishes", CHOICE), ("staples", WRITTEN)):
        (tmp_path / f"{name}.yaml").write_text(text.replace("FOLDER", str(tmp_path)))
    tasks = f"{tmp_path}/dishes.yaml,{tmp_path}/staples.yaml"
    monkeypatch.chdir(tmp_path)
    options = ["--tasks", tasks, "--log_samples", "--output_path", "out"]
    monkeypatch.setattr(sys, "argv", ["lm_eval", "run", "--model", "dummy", *options])
    monkeypatch.setattr(program, "setup_logging", lambda: None)
    index = partial(lm_eval.tasks.TaskManager, include_defaults=False)
    monkeypatch.setattr(lm_eval.tasks, "TaskManager", index)
    monkeypatch.setattr("torch.utils.collect_env.get_pretty_env_info", lambda: "")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")  # which the program sets
    program.cli_evaluate()
    (file,) = (tmp_path / "out").rglob("results_*.json")
    own = json.loads(file.read_text())["results"]
    call("import", tmp_path / "out", "--cluster", "doc.country")
    board = {
        row["task"]: row
        for row in warehouse.query("SELECT * FROM leaderboard_imported WHERE NOT is_null").to_dicts()
    }
    assert board["dishes"]["score"] == pytest.approx(own["dishes"]["acc,none"])
    assert board["dishes"]["stderr"] == pytest.approx(own["dishes"]["acc_stderr,none"])
    assert board["dishes"]["n_scored"] == 60
    assert board["staples"]["score"] == own["staples"]["exact_match,strict"] == 0
    assert board["staples"]["coverage"] == 0, "the filter finds no country in what the dummy model writes"


def test_logs_of_inspect_have_its_own_accuracy_in_all_forms(warehouse: Warehouse, tmp_path: Path) -> None:
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.log import read_eval_log, write_eval_log
    from inspect_ai.log._recorders.chunked import convert_eval_logs_to_chunked
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import match

    docs = logs.documents(20)
    samples = [
        Sample(
            input=doc["question"] * (50 if i == 3 else 1),  # a long text is an attachment of its own
            target=doc["country"],
            id=i,
            metadata={"country": doc["country"]},
        )
        for i, doc in enumerate(docs)
    ]
    outputs = [
        ModelOutput.from_content("mockllm/model", doc["country"] if i % 3 else "" if i % 2 else "nowhere")
        for i, doc in enumerate(docs)
    ]
    for output in outputs:  # or tokens are counted, with a file from the network
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    task = inspect_ai.Task(dataset=MemoryDataset(samples), scorer=match(location="exact"), name="where")
    model = get_model("mockllm/model", custom_outputs=outputs)
    (done,) = inspect_ai.eval(task, model=model, log_dir=str(tmp_path / "a"), display="none", max_samples=1)
    (score,) = done.results.scores
    (file,) = (tmp_path / "a").glob("*.eval")
    call("import", file, "--cluster", "country", "--by", "metadata.country")
    (row,) = warehouse.query("SELECT * FROM leaderboard_imported WHERE NOT is_null").to_dicts()
    assert row["score"] == pytest.approx(score.metrics["accuracy"].value)
    assert row["stderr"] == pytest.approx(score.metrics["stderr"].value)
    assert (row["task"], row["harness"], row["harness_version"]) == (
        "where",
        "inspect",
        inspect_ai.__version__,
    )
    n_empty = sum(not output.completion for output in outputs)
    assert row["coverage"] == pytest.approx(1 - n_empty / 20)
    as_json = tmp_path / "b" / "log.json"
    write_eval_log(read_eval_log(str(file)), str(as_json), format="json")
    assert (
        "already there" in call("import", as_json, "--cluster", "country", "--by", "metadata.country").stderr
    )
    convert_eval_logs_to_chunked(str(file), str(tmp_path / "c"))
    (chunked,) = (tmp_path / "c").glob("*.eval")
    assert (
        "already there" in call("import", chunked, "--cluster", "country", "--by", "metadata.country").stderr
    )
