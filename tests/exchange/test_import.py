"""Imported logs are ordinary runs: boards, comparisons, drift, pages, removal; and nothing half imported."""

from __future__ import annotations

import json
import random
import zipfile
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tasks.metrics.comparison import LEVEL, holm, mean_difference
from tests.deployments.commands import call, refused
from tests.exchange import logs
from warehouse import Warehouse

BOARD = "SELECT * FROM leaderboard_imported WHERE NOT is_null ORDER BY model, profile"
N = 40


def hits(share: float, n: int = N, seed: int = 1) -> list[float]:
    """Return n scores of which about a share is 1."""
    draw = random.Random(seed)
    return [float(draw.random() < share) for _ in range(n)]


def board(warehouse: Warehouse) -> list[dict[str, Any]]:
    return warehouse.query(BOARD).to_dicts()


def test_a_log_becomes_a_run_with_its_own_mean_and_standard_error(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    own = hits(0.6)
    call("import", logs.lm_eval(tmp_path, own), "--cluster", "doc.country", "--by", "country")
    (row,) = board(warehouse)
    assert row["score"] == pytest.approx(sum(own) / N)
    assert row["stderr"] == pytest.approx(logs.spread(own))
    assert (row["n_scored"], row["n_unscored"], row["coverage"]) == (N, 0, 1.0)
    assert row["ci_low"] < row["score"] < row["ci_high"]
    assert (row["harness"], row["harness_version"], row["task"]) == (
        "lm-evaluation-harness",
        "0.4.13",
        "dishes",
    )
    values = """SELECT slice, value, null_value, n_scored FROM metric_value
    WHERE run_id = ? AND slice_kind = 'country'"""
    by = {where: rest for where, *rest in warehouse.query(values, [row["run_id"]]).rows()}
    docs = logs.documents(N)
    for country in logs.COUNTRIES:
        scores = [hit for hit, doc in zip(own, docs, strict=True) if doc["country"] == country]
        assert by[country][0] == pytest.approx(sum(scores) / len(scores))
        assert by[country][2] == len(scores)


def test_nulls_are_computed_from_stored_options_and_right_answers(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    docs = logs.documents(N)
    for doc in docs[:25]:
        doc["label"] = 2
    docs[0]["choices"] = ["short", "a much longer one", "mid one", "x"]
    for doc in docs[30:]:  # one text that is an option of many items, and right in them
        doc["choices"][doc["label"]] = "none"
    call("import", logs.lm_eval(tmp_path, hits(0.5), docs=docs))
    sql = (
        "SELECT model, value FROM report_value WHERE is_null AND metric = 'score' AND slice_kind = 'overall'"
    )
    nulls = dict(warehouse.query(sql).rows())
    right = [doc["label"] for doc in docs]
    assert nulls.keys() == {
        f"null:{name}" for name in ("chance", "position", "longest", "shortest", "popular")
    }
    assert nulls["null:chance"] == pytest.approx(0.25)
    assert nulls["null:position"] == pytest.approx(max(map(right.count, range(4))) / N)
    equally_long = 0.25 * 29  # all options but those of the first document and the last ten
    assert N == 40
    assert nulls["null:longest"] == pytest.approx((0 + equally_long + 0) / N)
    assert nulls["null:shortest"] == pytest.approx((0 + equally_long + 10) / N)
    assert nulls["null:popular"] == pytest.approx((0.25 * 30 + 10) / N)
    (row,) = board(warehouse)
    assert row["null_value"] == pytest.approx(max(nulls.values()))


def test_free_answers_have_the_commonest_target_as_null_and_others_none(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    rows = [
        {
            "model": "m",
            "item": f"q{i}",
            "score": i % 2,
            "output": "tea" if i % 2 else "",
            "target": ["tea", "rice", "Tea"][i % 3],
        }
        for i in range(30)
    ]
    call("import", logs.write_lines(tmp_path / "free.jsonl", rows))
    graded = [{"model": "m", "item": f"q{i}", "score": i / 30, "target": "tea"} for i in range(30)]
    call("import", logs.write_lines(tmp_path / "graded.jsonl", graded))
    free, other = board(warehouse)
    assert free["null_value"] == pytest.approx(2 / 3)
    assert free["coverage"] == 0.5, "15 outputs are empty"
    assert other["null_value"] is None
    page = tmp_path / "page.html"
    call("report", "imported", "--config", other["config_hash"], "--out", page)
    assert "There is no null: the log’s metric is not 1 for a right answer" in page.read_text()
    assert "items, as if they were independent" in page.read_text()
    sql = "SELECT slice, value FROM metric_value WHERE run_id = ? AND metric = 'unanswered'"
    assert warehouse.query(sql, [free["run_id"]]).rows() == [("empty", 0.5)]


def test_the_same_log_twice_is_harmless_and_other_scores_of_it_are_refused(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    path = logs.lm_eval(tmp_path / "a", hits(0.6))
    call("import", path)
    before = warehouse.query("SELECT run_id, finished_at FROM run ORDER BY ALL").rows()
    assert "already there" in call("import", path).stderr
    copy = logs.lm_eval(tmp_path / "b", hits(0.6))
    assert "already there" in call("import", copy).stderr
    assert warehouse.query("SELECT run_id, finished_at FROM run ORDER BY ALL").rows() == before
    other = logs.lm_eval(tmp_path / "c", hits(0.3, seed=2))
    assert "another log of this model, task and date is stored" in refused("import", other)
    assert warehouse.query("SELECT run_id, finished_at FROM run ORDER BY ALL").rows() == before


def test_a_dry_run_stores_nothing(warehouse: Warehouse, tmp_path: Path) -> None:
    said = call("import", logs.lm_eval(tmp_path, hits(0.6)), "--dry-run").stderr
    assert "would be imported: model-a, dishes: 40 samples" in said
    assert warehouse.query("SELECT * FROM run").is_empty()


def test_an_import_can_be_taken_back(warehouse: Warehouse, tmp_path: Path) -> None:
    call("import", logs.lm_eval(tmp_path, hits(0.6)))
    (row,) = board(warehouse)
    call("runs", "rm", row["run_id"], "--delete")
    assert not board(warehouse)
    kinds = "SELECT DISTINCT kind FROM part_unit WHERE run_id = ?"
    assert warehouse.query(kinds, [row["run_id"]]).is_empty()
    call("import", logs.lm_eval(tmp_path / "again", hits(0.6)))
    assert len(board(warehouse)) == 1


def test_models_are_compared_in_pairs_and_dates_are_occasions(warehouse: Warehouse, tmp_path: Path) -> None:
    better, worse = hits(0.9), hits(0.4, seed=5)
    call(
        "import",
        logs.lm_eval(tmp_path / "a", better, "org/good"),
        logs.lm_eval(tmp_path / "b", worse, "org/bad"),
    )
    rows = pl.read_csv(call("compare", "good", "bad", "-f", "csv").stdout.encode()).to_dicts()
    (score,) = [row for row in rows if row["metric"] == "score"]
    assert score["difference"] == pytest.approx((sum(better) - sum(worse)) / N)
    assert score["n_common"] == N
    assert score["p_holm"] < 0.05 < score["detectable"]
    later = logs.lm_eval(tmp_path / "c", worse, "org/good", date=1_791_000_000.0)
    call("import", later)
    assert "1 of 1 headlines moved" in call("drift").stderr
    assert len(board(warehouse)) == 2, "a board shows the newest log of each model"


def test_other_settings_are_another_configuration_and_items_stay_the_same(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    call(
        "import",
        logs.lm_eval(tmp_path / "a", hits(0.9), "org/m"),
        logs.lm_eval(tmp_path / "b", hits(0.4), "org/m", shots=5),
    )
    one, two = sorted({row["config_hash"] for row in board(warehouse)})
    rows = call("compare", "m", "--config", one, "--against-config", two, "-f", "csv").stdout.splitlines()
    assert f",{N}," in rows[1], "every item is paired"


def test_logs_of_two_programs_are_compared_in_pairs_by_question_and_right_answer(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    one, two = hits(0.9), hits(0.3, seed=4)
    docs = [{**doc, "choices": doc["choices"]} for doc in logs.documents(N)]
    call(
        "import",
        logs.lm_eval(tmp_path / "a", one, "org/m", docs=docs),
        logs.helm(tmp_path / "b", two, "org/m"),
    )
    by_program = {row["harness"]: row["config_hash"] for row in board(warehouse)}
    config, other = by_program["lm-evaluation-harness"], by_program["helm"]
    done = call("compare", "m", "--config", config, "--against-config", other)
    assert "harness: A lm-evaluation-harness, B helm" in done.stderr
    csv = call("compare", "m", "--config", config, "--against-config", other, "-f", "csv").stdout
    (row,) = pl.read_csv(csv.encode()).to_dicts()
    assert row["n_common"] == N
    assert row["difference"] == pytest.approx((sum(one) - sum(two)) / N)


def test_another_prompt_of_the_same_items_is_named(warehouse: Warehouse, tmp_path: Path) -> None:
    call(
        "import",
        logs.lm_eval(tmp_path / "a", hits(0.9), "org/m"),
        logs.lm_eval(tmp_path / "b", hits(0.4), "org/m", prompt="Question: {}\nAnswer:"),
    )
    one, two = sorted({row["config_hash"] for row in board(warehouse)})
    said = call("compare", "m", "--config", one, "--against-config", two).stderr
    assert f"{N} of {N} common items have another prompt" in said


def test_a_model_is_that_of_other_runs_by_its_commit_or_by_what_somebody_says(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    from tasks.engines.specs import EngineSpec, model_hash

    commit = "c" * 40
    config = {"model": "hf", "model_args": "pretrained=org/m", "model_sha": commit}
    call("import", logs.lm_eval(tmp_path / "a", hits(0.5), "org/m", config=config))
    ours = model_hash(EngineSpec(name="m", model="org/m", content=f"commit:{commit}"))
    assert warehouse.query("SELECT model_hash FROM model_run").item() == ours
    call(
        "run",
        "spectral",
        "--profile",
        "smoke",
        "-m",
        "fake-a",
        "--no-server",
        "--countries",
        "BR,DE,JP",
        "--max-items",
        "6",
        "--half-samples",
        "20",
    )
    call("import", logs.lm_eval(tmp_path / "b", hits(0.5), "org/x", task="other"), "--model-as", "fake-a")
    hashes = warehouse.query("SELECT DISTINCT model_hash FROM model_run WHERE model = 'fake-a'")[
        "model_hash"
    ].to_list()
    assert len(hashes) == 1
    (row,) = [row for row in board(warehouse) if row["profile"] == "other"]
    assert row["is_stated"]
    page = tmp_path / "page.html"
    call("report", "imported", "--config", row["config_hash"], "--out", page)
    assert "named by the user" in page.read_text()


def test_a_log_with_a_part_of_its_samples_is_a_run_and_a_published_value(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    path = logs.lm_eval(tmp_path, hits(0.6))
    own = json.loads(path.read_text())
    own["n-samples"]["dishes"]["effective"] = 5000
    path.write_text(json.dumps(own))
    assert "the log counts 5,000 samples, and holds only these" in call("import", path).stderr
    assert len(board(warehouse)) == 1
    assert warehouse.query("SELECT count(*) FROM imported_published").item() == 1


def test_a_log_without_samples_is_a_published_value_and_never_ranked(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    call("import", logs.lm_eval(tmp_path / "a", hits(0.6), "org/m"))
    bare = logs.lm_eval(tmp_path / "b", hits(0.9), "org/other")
    next(bare.parent.glob("samples_*")).unlink()
    assert "published value" in call("import", bare).stderr
    assert "already there" in call("import", bare).stderr
    (row,) = board(warehouse)
    assert row["model"] == "m"
    shown = call("leaderboard", "imported").output
    assert "never ranked" in shown
    assert "other" in shown
    page = tmp_path / "page.html"
    call("report", "imported", "--out", page)
    assert "◇" in page.read_text()
    call("import", logs.lm_eval(tmp_path / "c", hits(0.6), "org/third"))
    assert warehouse.query("SELECT count(*) FROM imported_published").item() == 1, "a later import keeps it"


def damaged(folder: Path, what: str) -> Path:
    """Return a log with a fault."""
    path = logs.lm_eval(folder, hits(0.6))
    (samples,) = folder.glob("samples_*.jsonl")
    lines = samples.read_text().splitlines()
    match what:
        case "a truncated line":
            samples.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:50])
        case "no number":
            samples.write_text(
                "\n".join(
                    line.replace('"acc": 1.0', '"acc": NaN').replace('"acc": 0.0', '"acc": NaN')
                    for line in lines
                )
            )
        case "truncated results":
            path.write_text(path.read_text()[:200])
        case "deep nesting":
            samples.write_text("[" * 5000 + "]" * 5000 + "\n")
        case "a name with marks of direction":
            path.write_text(path.read_text().replace("org/model-a", "org/mod\\u202eel"))
        case "a name of a null model":
            path.write_text(path.read_text().replace("org/model-a", "null:chance"))
        case "no samples":
            samples.write_text("")
        case "an unknown field":
            pass
    return path


FAULTS = {
    "a truncated line": "line 40",
    "no number": "number",
    "truncated results": "not JSON",
    "deep nesting": "line 1",
    "a name with marks of direction": "U+202E",
    "a name of a null model": "null",
    "no samples": "no sample",
    "an unknown field": "no field 'doc.planet'",
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_damaged_log_is_one_line_and_leaves_nothing(
    what: str, warehouse: Warehouse, tmp_path: Path
) -> None:
    path = damaged(tmp_path / "bad", what)
    good = logs.lm_eval(tmp_path / "good", hits(0.6), "org/good")
    field = ["--cluster", "doc.planet"] if what == "an unknown field" else []
    said = call("import", path, *field, code=1).stderr
    (line,) = [line for line in said.splitlines() if line.startswith("refused:")]
    assert FAULTS[what] in line
    assert warehouse.query("SELECT * FROM run").is_empty()
    assert warehouse.query("SELECT * FROM part_unit").is_empty()
    if not field:
        call("import", path, good, code=1)
        assert [row["model"] for row in board(warehouse)] == ["good"], "the others are imported"


def test_scores_that_are_no_numbers_are_unscored_with_the_reason(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    own = hits(0.6)
    path = logs.lm_eval(tmp_path, own)
    (samples,) = tmp_path.glob("samples_*.jsonl")
    first, *rest = samples.read_text().splitlines()
    samples.write_text("\n".join([first.replace(f'"acc": {own[0]}', '"acc": NaN'), *rest]))
    call("import", path)
    (row,) = board(warehouse)
    assert (row["n_scored"], row["n_unscored"]) == (N - 1, 1)
    assert row["score"] == pytest.approx(sum(own[1:]) / (N - 1))
    reasons = "SELECT unscored_reason FROM item_answer WHERE value IS NULL"
    assert warehouse.query(reasons).item() == "its score is no finite number"


def test_hostile_texts_reach_no_page_and_no_terminal(warehouse: Warehouse, tmp_path: Path) -> None:
    docs = logs.documents(N)
    docs[0] |= {"question": "<script>alert(1)</script> \ud800 \x1b[31m\x00", "country": "<b>BR</b>\u202e"}
    path = logs.lm_eval(tmp_path, hits(0.0), docs=docs, task="dishes")
    text = path.read_text().replace('"dishes"', '"<i>dishes, all"')
    path.write_text(text)
    next(tmp_path.glob("samples_*")).rename(tmp_path / f"samples_<i>dishes, all_{logs.STAMP}.jsonl")
    done = call("import", path, "--cluster", "doc.country", "--by", "country")
    assert "\x1b[31m" not in done.output
    page = tmp_path / "page.html"
    call("report", "imported", "--out", page)
    shown = page.read_text()
    assert "<script>alert" not in shown
    assert "<b>BR" not in shown
    assert "<i>dishes" not in shown
    assert "\u202e" not in shown


def test_a_zip_bomb_is_refused_by_its_directory(warehouse: Warehouse, tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    path = tmp_path / "bomb.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"eval": {}}))
        archive.writestr("samples/1_epoch_1.json", b"0" * (300 << 20))
    assert "would unpack to" in refused("import", path)


def test_a_file_of_10_gb_is_refused_before_it_is_read(warehouse: Warehouse, tmp_path: Path) -> None:
    path = logs.lm_eval(tmp_path, hits(0.6))
    (samples,) = tmp_path.glob("samples_*.jsonl")
    with samples.open("ab") as file:
        file.truncate(10 << 30)  # a file with a hole, which takes no disk
    assert "10,240 MiB are more than 2,048 MiB" in refused("import", path)
    assert warehouse.query("SELECT * FROM run").is_empty()


def test_imported_rows_can_be_recomputed_from_what_is_stored(warehouse: Warehouse, tmp_path: Path) -> None:
    from deployments.evaluations import evaluation
    from flows.stored import recomputed

    call("import", logs.lm_eval(tmp_path, hits(0.6)), "--cluster", "doc.country", "--by", "country")
    (done,) = recomputed(evaluation)
    assert done.reason == ""
    assert done.n_rows > 5
    assert list(done.differences) == []


def test_what_was_sent_and_came_back_can_be_read(warehouse: Warehouse, tmp_path: Path) -> None:
    from flows.runs import every_finished
    from flows.stored import samples

    own = hits(0.6)
    call("import", logs.lm_eval(tmp_path, own))
    (run,) = every_finished(warehouse)
    read = list(samples(run))
    docs = {doc["question"]: doc for doc in logs.documents(N)}
    assert len(read) == N
    for sample in read:
        doc = docs[sample.input[0]["content"].removeprefix("Q: ").removesuffix("\nA:")]
        assert sample.target == doc["choices"][doc["label"]]
        assert list(sample.choices) == doc["choices"]
        assert sample.scores["score"].value in (0.0, 1.0)


DRAWS, MODELS, ITEMS, CLUSTERS = 200, 10, 120, 24


@pytest.mark.heavy
def test_ten_equal_models_are_separated_in_at_most_5_percent_of_200_draws() -> None:
    """Items differ in difficulty, and those of a cluster share some of it; all models are equally good."""
    draw = np.random.default_rng(47)
    clusters = np.repeat(np.arange(CLUSTERS), ITEMS // CLUSTERS)
    separated = 0
    for _ in range(DRAWS):
        shared = draw.normal(0, 1, CLUSTERS)[clusters] + draw.normal(0, 1, ITEMS)
        taste = draw.normal(0, 0.7, (MODELS, CLUSTERS))[:, clusters]
        answers = (draw.random((MODELS, ITEMS)) < 1 / (1 + np.exp(-shared - taste))).astype(float)
        p_values = [mean_difference(a, b, clusters).p_value for a, b in combinations(answers, 2)]
        adjusted = holm([p for p in p_values if p is not None])
        separated += bool((np.array(adjusted) < LEVEL).any())
    assert separated <= 0.05 * DRAWS


def test_a_table_of_several_models_is_one_board_in_the_order_of_their_quality(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    draw = np.random.default_rng(3)
    rows = [
        {
            "model": f"model-{m}",
            "item": f"q{i}",
            "score": int(draw.random() < 0.2 + 0.3 * m),
            "country": f"C{i % 12}",
        }
        for m in range(3)
        for i in range(240)
    ]
    call("import", logs.write_lines(tmp_path / "quiz.jsonl", rows), "--cluster", "country", "--task", "quiz")
    board = warehouse.query(
        "SELECT model, place FROM leaderboard_imported WHERE NOT is_null ORDER BY place"
    ).rows()
    assert [model for model, _ in board] == ["model-2", "model-1", "model-0"]
    for better, worse in ((2, 1), (1, 0)):
        csv = call("compare", f"model-{better}", f"model-{worse}", "-f", "csv").stdout.splitlines()
        row = dict(zip(csv[0].split(","), csv[1].split(","), strict=False))
        assert float(row["difference"]) > 0
        assert float(row["p_holm"]) < LEVEL
