"""Published predictions appear on the leaderboard as a separate run, without running a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deployments.evaluations import evaluation
from flows.session import prepare
from tasks.engines.load import check_ability
from tasks.engines.protocols import EngineError
from tasks.engines.published import published_answers
from tasks.engines.specs import find_spec, model_hash
from tasks.evaluations.fmlama.evaluation import EVALUATION
from tests.evaluations.fmlama.finished_run import empty_home, params, run
from warehouse import Warehouse, run_checks

FILE = "English_human_evaluation.json"
ROWS = "SELECT slice, value, n_scored, n_unscored, null_value, unscored_reason FROM metric_value"
PUBLISHED = f"{ROWS} WHERE model = 'Llama3 (published)' AND metric = ? AND slice_kind = ? ORDER BY slice"


def record(url: str, predicted: Any, **more: Any) -> dict[str, Any]:
    return {"url": url, "origin": "x", "dish": url, "gold_ingredient": [], "image": []} | more | {
        "predicted_ingredient": predicted
    }  # fmt: skip


PREDICTED = {
    "Italy": [
        record("Q1", ["cheese", "rice"]),  # one of cheese, flour
        record("Q2", ["flour", "cheese"]),  # two predictions for one ingredient
        record("Q6", ["salt", "cheese"]),
    ],
    "Japan": [record("Q3", ["rice"]), record("Q4", ["rice", "soy"]), {"dish": "without a URL"}],
    "Mexico": [record("Q5", ["rice"]), record("Q5", ["flour"])],
    "Peru": None,
}


@pytest.fixture
def warehouse(copied_home: Callable[[], Path]) -> Iterator[Warehouse]:
    with empty_home(copied_home()) as warehouse:
        yield warehouse


def written(folder: Path, content: Any = PREDICTED, encoding: str = "utf-8") -> Path:
    path = folder / FILE
    path.write_text(json.dumps(content, ensure_ascii=False), encoding=encoding)
    return path


def chosen(warehouse: Warehouse, **more: Any) -> Any:
    models = [str(written(warehouse.home))]
    return params(warehouse.home, models=models, languages=["en"], code_switching=False, **more)


def test_published_predictions_have_the_rows_of_a_run(warehouse: Warehouse) -> None:
    """Q1, Q3 and Q6 have their top l. Cosines: cheese and flour 0, rice with cheese 0.6, with flour 0.8; salt
    has no vector. Q1: cheese 1, flour max(0, 0.8); Q3: 1; Q6: cheese 1, and salt is left out.
    """
    run(chosen(warehouse, judges=["fake-b"], judged_dishes_per_origin=3))
    by_slice = {row[0]: row[1:] for row in warehouse.query(PUBLISHED, ["mws", "condition"]).rows()}
    value, n, lacking, chance, reason = by_slice["en:en:no"]
    assert (value, n, lacking, reason) == (pytest.approx((0.9 + 1 + 1) / 3), 3, 3, None)
    null = warehouse.query(
        "SELECT null_value FROM metric_value WHERE model = 'null:common' AND metric = 'mws' "
        "AND slice = 'en:en:no'"
    )
    assert chance == null.item()
    assert "without the country" in by_slice["en:en:yes"][-1]
    of_origin = {row[0]: row[1:] for row in warehouse.query(PUBLISHED, ["mws", "condition_origin"]).rows()}
    assert of_origin["en:en:no:Mexico"][-1] == "the file has two different lists of predictions of this dish"
    (precision,) = warehouse.query(PUBLISHED, ["map", "overall"]).rows()
    assert precision[1:4] == (None, 0, 6)
    assert "which is no ranking" in precision[-1]
    judged = {row[0]: row[2:4] for row in warehouse.query(PUBLISHED, ["mes", "condition"]).rows()}
    assert judged["en:en:no"] == (3, 3)
    board = warehouse.query("SELECT * FROM leaderboard_fmlama WHERE NOT is_null AND NOT country_mentioned")
    assert board.select("model", "mws_n", "map").rows() == [("Llama3 (published)", 3, None)]
    doubted = warehouse.query("SELECT metric FROM fmlama_doubt")["metric"].to_list()
    assert "map" not in doubted, "a metric without a value is not doubted"
    stored = warehouse.query(
        "SELECT dish, rank, candidate, outcome FROM prediction WHERE model LIKE 'Llama3%'"
    )
    assert set(stored.rows()) == {
        ("Q1", 1, "cheese", "correct"), ("Q1", 2, "rice", "foreign"), ("Q3", 1, "rice", "correct"),
        ("Q6", 1, "salt", "correct"), ("Q6", 2, "cheese", "correct"),
    }  # fmt: skip
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_content_of_the_file_identifies_the_engine(warehouse: Warehouse, tmp_path: Path) -> None:
    """A copy of the file is the same engine and repeats no request; other content is another engine."""
    own = chosen(warehouse, judges=[])
    run(own)
    answers = "SELECT count(*) FROM response"
    assert warehouse.query(answers).item() == 6
    (engine,) = warehouse.query("SELECT engine_hash, engine->>'sha256' FROM run WHERE NOT is_null").rows()
    copy = own.model_copy(update={"models": [str(written(tmp_path))]})
    session = prepare(EVALUATION, copy)
    (again,) = session.candidates.values()
    assert (again.hash, session.plan.left) == (engine[0], 0)
    spec = find_spec(str(written(tmp_path)), None)
    assert spec.described()["sha256"] == engine[1]
    before = model_hash(spec)
    written(tmp_path, {"Japan": PREDICTED["Japan"]})
    assert (spec.hash() == engine[0], model_hash(spec) == before) == (False, False)


def test_published_predictions_have_no_other_ability(tmp_path: Path) -> None:
    spec = find_spec(str(written(tmp_path)), None)
    check_ability(spec, "published")
    for ability in ("generate", "score", "candidates"):
        with pytest.raises(EngineError, match="which only fmlama scores"):
            check_ability(spec, ability)
    assert evaluation("fmlama") is EVALUATION


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_a_file_is_read_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    content = [record(" Q1 ", ["crème"])]
    assert published_answers(written(tmp_path, content, encoding)) == {"Q1": ("crème",)}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "not JSON"),
        ("[]", "no record has url and predicted_ingredient"),
        ('{"Italy": [{"url": "Q1"}]}', "no record has url and predicted_ingredient"),
        ('[{"url": "Q1", "predicted_ingredient": ["a", 1]}]', "no record has url and predicted_ingredient"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_another_file_is_refused_in_one_line(tmp_path: Path, content: str, complaint: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(EngineError, match=complaint) as refused:
        check_ability(find_spec(str(tmp_path / FILE), None), "published")
    assert "\n" not in str(refused.value)
    assert FILE in str(refused.value)


def test_name_comes_from_the_file_or_the_spec(tmp_path: Path) -> None:
    other = tmp_path / "mine.json"
    other.write_text(json.dumps(PREDICTED))
    assert find_spec(str(other), None).name == "mine (published)"
    toml = tmp_path / "named.toml"
    toml.write_text(f'name = "Llama3, 2024"\nkind = "published"\nmodel = "{other}"\n')
    assert find_spec(str(toml), None).hash() == find_spec(str(other), None).hash()
    with pytest.raises(EngineError, match="or a file of published predictions"):
        find_spec(str(tmp_path / "absent.json"), None)
