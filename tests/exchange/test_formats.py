"""Each reader recognises its format by content and yields the same records of the same answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.exchange import Log, Mapped, Refused, found
from tests.exchange import logs

HITS = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]


def table(folder: Path, hits: list[float]) -> Path:
    rows = [{"model": "org/model-a", "item": f"q{i}", "score": hit} for i, hit in enumerate(hits)]
    return logs.write_lines(folder / "dishes.jsonl", rows)


WRITERS: dict[str, Callable[[Path, list[float]], Path]] = {
    "lm-evaluation-harness": lambda folder, hits: logs.lm_eval(folder / "lm", hits),
    "helm": lambda folder, hits: logs.helm(folder / "helm", hits),
    "eee": lambda folder, hits: logs.eee(folder / "eee", hits),
    "eee 0.2": lambda folder, hits: logs.eee(folder / "eee", hits, "0.2.2"),
    "table": table,
}


def only(path: Path, mapped: Mapped | None = None) -> Log:
    """Return the single log of a path."""
    (log,) = found([path], mapped)
    assert isinstance(log, Log), log
    return log


@pytest.mark.parametrize("kind", WRITERS)
def test_every_format_gives_the_scores_of_its_answers(kind: str, tmp_path: Path) -> None:
    log = only(WRITERS[kind](tmp_path, HITS))
    assert log.samples is not None
    samples = list(log.samples())
    metric = log.header.metrics[0].name
    assert [sample.scores[metric] for sample in samples] == HITS
    assert len({sample.item for sample in samples}) == len(HITS)
    assert [s.scores for s in log.samples()] == [s.scores for s in samples], "the stream opens again"
    assert log.header.task
    assert log.header.model.name


def test_a_log_of_the_harness_states_program_model_task_and_settings(tmp_path: Path) -> None:
    config = {"model_args": "pretrained=org/m,peft=org/p,api_key=sk-secret", "model_sha": "a" * 40}
    header = only(logs.lm_eval(tmp_path, HITS, shots=3, model="org/m", config=config)).header
    assert (header.harness, header.harness_version) == ("lm-evaluation-harness", "0.4.13")
    assert (header.task, header.version, header.date) == ("dishes", "1.0", "2026-09-21T14:13:20Z")
    assert header.settings["shots"] == "3"
    assert header.aggregates["acc"].value == pytest.approx(sum(HITS) / len(HITS))
    assert (header.model.source, header.model.commit) == ("org/m", "a" * 40)
    assert header.model.settings == {"peft": "org/p"}
    assert "sk-secret" not in repr(header), "arguments of a model may hold keys"


def test_right_options_of_the_harness_fit_its_own_accuracy(tmp_path: Path) -> None:
    log = only(logs.lm_eval(tmp_path, HITS))
    assert log.samples is not None
    for sample, doc in zip(log.samples(), logs.documents(len(HITS)), strict=True):
        assert sample.right == doc["label"]
        assert sample.target == [doc["choices"][doc["label"]]]


def test_a_target_that_may_be_index_or_text_is_what_fits_the_accuracy(tmp_path: Path) -> None:
    doc = {"question": "How many moons has Venus?", "choices": ["1", "0"], "label": 1, "country": "BR"}
    path = logs.lm_eval(tmp_path, [1.0], docs=[doc])
    (file,) = tmp_path.glob("samples_*.jsonl")
    file.write_text(file.read_text().replace('"target": "1"', '"target": "0"'))  # the text, not the index
    log = only(path)
    assert log.samples is not None
    (sample,) = log.samples()
    assert (sample.right, sample.target) == (1, ["0"])


def test_a_log_of_0_4_3_has_no_list_of_metrics_and_lists_of_arguments(tmp_path: Path) -> None:
    path = logs.lm_eval(tmp_path, HITS)
    (file,) = tmp_path.glob("samples_*.jsonl")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for row in rows:
        del row["metrics"], row["filter"]
        row["arguments"] = [list(each.values()) for each in row["arguments"].values()]
    logs.write_lines(file, rows)
    log = only(path)
    assert log.samples is not None
    samples = list(log.samples())
    assert [sample.scores["acc"] for sample in samples] == HITS
    assert samples[0].choices == logs.documents(1)[0]["choices"]


def test_a_file_of_samples_stands_for_its_log(tmp_path: Path) -> None:
    logs.lm_eval(tmp_path, HITS)
    (file,) = tmp_path.glob("samples_*.jsonl")
    assert only(file).header.task == "dishes"
    file.with_name(f"results_{logs.STAMP}.json").unlink()
    (refused,) = found([file])
    assert isinstance(refused, Refused)
    assert "not beside it" in refused.why


def test_helm_leaves_out_other_splits_and_perturbations(tmp_path: Path) -> None:
    folder = logs.helm(tmp_path / "run", HITS)
    state = json.loads((folder / "scenario_state.json").read_text())
    state["request_states"][0]["instance"]["split"] = "valid"
    state["request_states"][1]["instance"]["perturbation"] = {"name": "typos"}
    (folder / "scenario_state.json").write_text(json.dumps(state))
    log = only(folder)
    assert log.samples is not None
    samples = list(log.samples())
    assert len(samples) == len(HITS) - 2
    assert [metric.name for metric in log.header.metrics] == ["exact_match"], "no counts, no times"
    doc = logs.documents(3)[2]
    assert (samples[0].right, samples[0].target) == (doc["label"], [doc["choices"][doc["label"]]])


def test_a_folder_holds_logs_of_several_programs(tmp_path: Path) -> None:
    for kind in ("lm-evaluation-harness", "helm", "eee"):
        WRITERS[kind](tmp_path, HITS)
    (tmp_path / "notes.json").write_text('{"anything": 1}')
    (tmp_path / "scores.csv").write_text("model,item,score\nm,a,1\n")
    found_in = [log for log in found([tmp_path]) if isinstance(log, Log)]
    assert sorted(log.header.harness for log in found_in) == [
        "helm",
        "lm-evaluation-harness",
        "lm-evaluation-harness",
    ]
    assert len([*found([tmp_path], Mapped({}))]) == 4, "tables are read if their columns are named"


def test_a_table_says_which_column_is_missing_and_which_item_is_there_twice(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("system,q,right\na,1,yes\na,2,no\nb,1,0\n")
    (refused,) = found([file])
    assert isinstance(refused, Refused)
    assert "no column 'model'" in refused.why
    assert "--model COLUMN" in refused.why
    mapped = Mapped({"model": "system", "item": "q", "score": "right"})
    one, two = (log for log in found([file], mapped) if isinstance(log, Log))
    assert one.samples
    assert two.samples
    assert [s.scores for s in one.samples()] == [{"right": 1.0}, {"right": 0.0}]
    assert [(s.scores, s.lost) for s in two.samples()] == [({"right": 0.0}, ""), ({}, "missing")]
    file.write_text("system,q,right\na,1,1\na,1,0\n")
    (refused,) = found([file], mapped)
    assert isinstance(refused, Refused)
    assert "there twice" in refused.why


def test_an_empty_cell_of_a_column_of_outputs_is_a_lost_answer(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("model,item,score,output\na,1,1,tea\na,2,0,\n")
    log = only(file)
    assert log.samples is not None
    assert [sample.lost for sample in log.samples()] == ["", "empty"]


def test_an_aggregate_that_breaks_the_schema_is_refused_with_its_field(tmp_path: Path) -> None:
    path = logs.eee(tmp_path, HITS)
    own = json.loads(path.read_text())
    del own["model_info"]["additional_details"]["deployment_type"]
    path.write_text(json.dumps(own))
    (refused,) = found([path])
    assert isinstance(refused, Refused)
    assert "model_info.additional_details" in refused.why
    own["schema_version"] = "9.9"
    path.write_text(json.dumps(own))
    (refused,) = found([path])
    assert isinstance(refused, Refused)
    assert "schema version '9.9'" in refused.why
