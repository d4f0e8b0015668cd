"""Numbers of benchmarks beyond their recipes, by hand from invented answers; whole runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from deployments.cli.app import app
from deployments.evaluations import evaluation, sound, with_items
from tasks.engines.specs import EngineSpec
from tasks.evaluations.contract import Cohort
from tasks.evaluations.recipe.rows import cluster_means
from tasks.loop.items import OptionLogprobs
from tasks.loop.prompts import Completion
from tasks.loop.requests import Engine
from tasks.loop.rows import Metric
from tests.golden.harness import write_engine
from tests.published import invented
from warehouse import Warehouse

ENGINES = {"m": Engine.of(EngineSpec(name="m", kind="fake", model="m"))}
runner = CliRunner()


def rows_of(name: str, data: Path, answer: Callable[[Any], Any], **knobs: Any) -> dict[Any, Metric]:
    """Return (model, metric, slice kind, slice) -> row of a model m, whose requests ``answer`` answers."""
    getattr(invented, name)(data)
    return run_of(name, data, answer, **knobs)


def run_of(name: str, data: Path, answer: Callable[[Any], Any], **knobs: Any) -> dict[Any, Metric]:
    """Return what ``rows_of`` returns, of data that are there."""
    made = evaluation(name)
    study = made.study(made.params(models=["m"], data=str(data), **knobs), {}, ENGINES)
    read = made.read(study, answer, None)
    tables = made.rows(study, Cohort({"m": read}, {"m": read}, ENGINES), None)
    return {(m, r.metric, r.slice_kind, r.slice): r for m, rows in tables.metrics.items() for r in rows}


def picking(text: Callable[[str], str]) -> Callable[[Any], Any]:
    """Choose the option text(question) of each question, wherever it stands."""

    def answer(request: Any) -> Any:
        return {
            q.id: OptionLogprobs(
                np.array([-1.0 if o == text(q.text) else -2.0 for o in q.options]),
                np.ones(len(q.options), int),
            )
            for q in request.questions
        }

    return answer


def choosing(place: Callable[[Any], int]) -> Callable[[Any], Any]:
    """Choose option place(question) of each question."""

    def answer(request: Any) -> Any:
        return {
            q.id: OptionLogprobs(
                np.where(np.arange(len(q.options)) == place(q), -1.0, -2.0), np.ones(len(q.options), int)
            )
            for q in request.questions
        }

    return answer


def writing(texts: dict[str, str], finish: str = "stop") -> Callable[[Any], Any]:
    """Write, for each prompt, the text of the first key in it."""

    def answer(request: Any) -> Any:
        found = {}
        for prompt in request.prompts:
            question = prompt.conversation[-1]["content"]
            text = next((text for key, text in texts.items() if key in question), "")
            found[prompt.id] = Completion(text, finish, 1, 1)
        return found

    return answer


def test_bias_of_kobbq_is_counted_in_ambiguous_contexts_by_hand(tmp_path: Path) -> None:
    """The model always answers the old person: the biased answer to questions bsd, the other one to cnt."""
    old, young, unknown = "the old one", "the young one", "not known"
    rows = rows_of("kobbq", tmp_path, picking(lambda text: old))
    assert rows["m", "diff_bias", "overall", "all"].value == 0
    assert rows["m", "diff_bias", "overall", "all"].n_scored == 12
    assert ("m", "diff_bias", "context", "towards the stereotype") not in rows
    biased = rows_of("kobbq", tmp_path / "2", picking(lambda text: young if "Who cnt" in text else old))
    row = biased["m", "diff_bias", "context", "ambiguous"]
    assert (row.value, row.null_value, row.n_unscored) == (1, 0, 0)
    rows = rows_of("kobbq", tmp_path / "3", picking(lambda text: unknown))
    assert rows["m", "diff_bias", "overall", "all"].value == 0
    assert rows["m", "accuracy", "context", "ambiguous"].value == 1


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_model_that_prefers_a_position_guesses_in_every_context_of_kobbq(
    tmp_path: Path, place: int
) -> None:
    rows = rows_of("kobbq", tmp_path, choosing(lambda text: place))
    contexts = [
        row for (m, metric, kind, _), row in rows.items() if (m, metric, kind) == ("m", "accuracy", "context")
    ]
    assert [row.value for row in contexts] == [pytest.approx(1 / 3)] * 3
    assert rows["m", "diff_bias", "overall", "all"].value == 0
    assert all(row.null_value >= 1 / 3 - 1e-9 for row in contexts)


def test_null_of_a_slice_is_the_best_there_and_never_below_chance(tmp_path: Path) -> None:
    rows = rows_of("kobbq", tmp_path, choosing(lambda text: 0), orders="given")
    own = {(kind, of): row for (m, metric, kind, of), row in rows.items() if (m, metric) == ("m", "accuracy")}
    for where, row in own.items():
        nulls = [
            r.value
            for (m, metric, *at), r in rows.items()
            if m.startswith("null:") and metric == "accuracy" and tuple(at) == where
        ]
        assert len(nulls) == 5
        assert row.null_value == max(value for value in nulls if value is not None) >= 1 / 3 - 1e-9
    assert len({row.null_value for row in own.values()}) > 1


def _choices(right: list[int], folder: Path) -> Path:
    """Write questions with these right options in CulturalBench's easy format."""
    names = [f"prompt_option_{letter}" for letter in "abcd"]
    questions = [
        {
            "data_idx": n,
            "question_idx": n,
            "prompt_question": f"Q{n}?",
            "answer": "ABCD"[place],
            "country": f"c{n % 9}",
        }
        | {name: f"{name[-1]}{n}" for name in names}
        for n, place in enumerate(right)
    ]
    invented.write(folder / "CulturalBench-Easy.csv", questions)
    return folder


@pytest.mark.parametrize(("right", "orders", "share"), [
    ([2] * 40, "given", 1.0), ([0, 1, 2, 3] * 10, "given", None), ([2] * 40, "rotated", None),
    ([2] * 3, "given", None), ([2] * 24 + [0, 1, 3, 3] * 4, "given", 0.6),
])  # fmt: skip
def test_right_options_at_one_position_are_a_doubt(
    tmp_path: Path, right: list[int], orders: str, share: float | None
) -> None:
    made = evaluation("culturalbench_easy")
    data = str(_choices(right, tmp_path))
    study = made.study(made.params(models=["m"], data=data, orders=orders), {}, ENGINES)
    read = made.read(study, choosing(lambda text: 0), None)
    tables = made.rows(study, Cohort({"m": read}, {"m": read}, ENGINES), None)
    rows = {r.slice_kind: r for r in tables.metrics["m"] if r.metric == "unmixed_positions"}
    assert (rows["overall"].value if rows else None) == share


def test_mean_over_clusters_is_not_that_of_items(tmp_path: Path) -> None:
    values = np.array([1.0, 1, 1, np.nan, 0, np.nan])
    means, names = cluster_means(values, np.array(["a", "a", "a", "a", "b", "c"]))
    assert (means.tolist(), names.tolist()) == ([1.0, 0.0], ["a", "b"])


def test_what_is_left_out_is_a_share_of_its_own_unit(tmp_path: Path) -> None:
    """BLEnD: of each place's four questions one has too few answers; its two languages are one question."""
    rows = rows_of("blend", tmp_path, writing({}))
    row = rows["m", "left_out", "overall", "all"]
    assert (row.value, row.n_scored) == (2 / 8, 8)
    ((_, _, _, reason),) = [key for key in rows if key[1:3] == ("left_out", "reason")]
    assert reason == "questions: without enough annotators who answered, as in the published evaluation"


def test_question_of_culturalbench_hard_needs_all_statements_by_hand(tmp_path: Path) -> None:
    """Always false: three of four statements, and no question."""
    never = rows_of("culturalbench_hard", tmp_path, choosing(lambda text: 1))
    assert never["m", "accuracy", "overall", "all"].value == 0.75
    assert never["m", "accuracy", "overall", "all"].null_value == 0.75
    assert never["m", "question_accuracy", "overall", "all"].value == 0
    first = rows_of(
        "culturalbench_hard",
        tmp_path / "2",
        choosing(lambda question: int("answer: s0" not in question.text)),
    )
    row = first["m", "question_accuracy", "overall", "all"]
    assert (row.value, row.null_value) == (0.5, 1 / 16)


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_hand_calculation_gives_both_scores_of_blend_with_their_nulls(tmp_path: Path, finish: str) -> None:
    """The model gives the second answer of Aa-01 in both languages, and the only one of Aa-02 in English."""
    texts = {"bebe": "café", "drunk": "Coffee,\n I think", "eaten": "bread"}
    rows = rows_of("blend", tmp_path, writing(texts, finish))
    both = rows["m", "sem_b", "overall", "all"], rows["m", "sem_w", "overall", "all"]
    assert [row.value for row in both] == [pytest.approx(5 / 9), pytest.approx((3 * 1 / 3 + 2) / 9)]
    assert {row.n_scored for row in both} == {9}
    assert rows["m", "sem_b", "place", "uk"].value == pytest.approx(2 / 3)
    assert rows["null:commonest", "sem_w", "overall", "all"].value is not None
    assert both[1].null_value == max(
        rows[f"null:{name}", "sem_w", "overall", "all"].value or 0 for name in ("commonest", "other-answer")
    )


@pytest.fixture(scope="module", name="ran")
def _ran(copied_home: Callable[[], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which a benchmark of each recipe has run on a fake model, by the command line."""
    home, data = copied_home(), tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTUREMETER_HOME", str(home))
        write_engine(home, "fake-a")
        for name in ("blend", "camel", "click"):
            getattr(invented, name)(data / name)
            words = ("run", name, "--data", str(data / name), "-m", "fake-a", "--no-server", "--no-probe")
            done = runner.invoke(app, words, env={"COLUMNS": "80"})
            assert done.exit_code == 0, done.output
        patch.chdir(data)
        again = runner.invoke(app, ["run", "click", "--data", "click", "-m", "fake-a", "--no-server"])
        assert "nothing to do" in again.stderr
    return home


def test_runs_are_on_leaderboard_and_page_and_recomputed(ran: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CULTUREMETER_HOME", str(ran))
    for name, column in {"blend": "sem_w", "camel": "cbs", "click": "accuracy"}.items():
        board = Warehouse.open().query(f"SELECT {column} FROM leaderboard_{name} WHERE NOT is_null")
        assert board.height == 1
        shown = runner.invoke(app, ["leaderboard", name], env={"COLUMNS": "80"})
        assert shown.exit_code == 0
        assert runner.invoke(app, ["report", name]).exit_code == 0
        own = evaluation(name).about
        assert own is not None
        assert own.page["facts"]["Citation"] in next(ran.glob(f"reports/*/report-{name}.html")).read_text()
    checked = runner.invoke(app, ["check", "--numbers"]).stderr
    assert sum(line.startswith("equal ") for line in checked.splitlines()) == 3


def test_changed_data_change_nothing_of_old_runs(ran: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CULTUREMETER_HOME", str(ran))
    params = json.loads(
        Warehouse.open().query("SELECT params FROM run WHERE evaluation = 'click' LIMIT 1").item()
    )
    file = next(Path(params["data"]).rglob("Society_KIIP.json"))
    before = file.read_text()
    file.write_text(before.replace("Q1?", "Another?"))
    checked = runner.invoke(app, ["check", "--numbers"]).stderr
    assert "not recomputed" not in checked
    assert "equal click" in checked
    file.write_text(before)


def test_run_without_data_is_refused_and_not_in_run_all(ran: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CULTUREMETER_HOME", str(ran))
    assert "blend" in sound()
    assert "blend" not in with_items()
    refused = runner.invoke(app, ["run", "blend", "-m", "fake-a", "--dry-run"])
    assert refused.exit_code == 1
    assert "--data: name the file or folder of the benchmark" in " ".join(refused.stderr.split())
    assert "run kobbq --data FOLDER" in runner.invoke(app, ["leaderboard", "kobbq"]).stderr
    missing = runner.invoke(app, ["run", "blend", "-m", "fake-a", "--data", "/nowhere/at/all"])
    assert "there is no such file or folder" in " ".join(missing.stderr.split())
