"""The steps on a real warehouse with fake models and a fake judge: nothing is asked or counted twice."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
import pytest

from tasks import steps as shared
from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import EngineError, Generation
from tasks.engines.specs import EngineSpec
from tasks.evaluations.fmlama import steps
from tests.evaluations.fmlama.finished_run import CONDITIONS, WORDS, Finished, finished_run, params, scored
from warehouse import run_checks


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    with finished_run(tmp_path_factory.mktemp("home")) as run:
        yield run


def test_every_sentence_is_scored_once(finished: Finished) -> None:
    warehouse, study, _ = finished
    assert {p.condition.slug for p in study.probes} == CONDITIONS
    # Per model: six conditions, two templates, five names of six dishes, four candidates. With the
    # country too the two pizzas have one sentence, both being of Italy.
    stored = warehouse.query("SELECT model, count(*) AS n FROM candidate_score GROUP BY model")
    assert dict(stored.rows()) == {"fake-a": 6 * 2 * 5 * 4, "fake-b": 6 * 2 * 5 * 4}
    for spec in map(shared.spec_of, ("fake-a", "fake-b")):
        assert not steps.plan(study, spec)
    assert run_checks(warehouse)["n_violations"].sum() == 0
    assert warehouse.query("SELECT DISTINCT status FROM run")["status"].to_list() == ["finished"]


def test_two_dishes_with_one_sentence_get_the_same_answer(finished: Finished) -> None:
    warehouse, study, _ = finished
    probe = study.probes[0]
    spec = shared.spec_of("fake-a")
    table = steps._answers(study, spec, probe, probe.templates[0])
    assert not isinstance(table, str)
    assert [probe.names[i] for i in (0, 5)] == ["pizza", "pizza"]
    assert table[0].tolist() == table[5].tolist() != table[1].tolist()
    row = warehouse.query(
        "SELECT candidate, probability FROM candidate_score WHERE model = 'fake-a' AND prompt = ? "
        "AND template = ? ORDER BY candidate",
        [probe.prompts(probe.templates[0])[1], probe.templates[0].template],
    )
    assert row["candidate"].to_list() == list(probe.candidates)
    assert row["probability"].to_list() == pytest.approx(table[1].tolist())


def test_a_sentence_without_an_answer_is_a_reason(finished: Finished) -> None:
    _, study, _ = finished
    unknown = EngineSpec(name="c", kind="fake", model="c")
    probe = study.probes[0]
    found = steps._answers(study, unknown, probe, probe.templates[0])
    assert found == "5 of 5 sentences have no answer"


def test_nothing_is_done_twice(finished: Finished) -> None:
    warehouse, study, asked = finished
    before = warehouse.query("SELECT * EXCLUDE (run_id) FROM metric_value ORDER BY ALL")
    assert len(asked) == len(set(asked)) > 0
    n_asked = len(asked)
    assert scored(study) == 0
    assert len(asked) == n_asked
    assert warehouse.query("SELECT * EXCLUDE (run_id) FROM metric_value ORDER BY ALL").equals(before)
    # Other parts, the same answers; and refresh asks the candidates again, not the judge.
    again = steps.build(params(warehouse.home, refresh=True, dishes_per_part=3))
    assert scored(again, ("fake-a",)) == 6 * 2 * 2  # five sentences in parts of three
    assert len(asked) == n_asked
    assert warehouse.query("SELECT * EXCLUDE (run_id) FROM metric_value ORDER BY ALL").equals(before)
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_the_judge_is_asked_each_question_once(finished: Finished) -> None:
    warehouse, _, asked = finished
    # Three origins, a dish each, two models and two baselines: 12 at most, fewer where predictions agree.
    assert 3 <= len(asked) <= 12
    stored = warehouse.query("SELECT conversation, text, model FROM response")
    assert sorted(json.dumps(json.loads(c)) for c in stored["conversation"]) == sorted(asked)
    assert set(stored["model"]) == {"fake-b"}
    verdicts = warehouse.query("SELECT * FROM verdict")
    judged = verdicts.group_by("model").agg(pl.col("item").n_unique())
    assert dict(judged.rows()) == dict.fromkeys(
        ("fake-a", "fake-b", "null:common", "null:common-of-origin"), 3
    )
    assert set(verdicts["judge"]) == {"fake-b"}
    assert verdicts["value"].is_between(0, 1).all()


def test_mes_is_what_the_verdicts_say(finished: Finished) -> None:
    warehouse, _, _ = finished
    by_hand = warehouse.query(
        "SELECT model, avg(value) AS mes FROM (SELECT model, item, avg(value) AS value FROM verdict "
        "GROUP BY ALL) GROUP BY model"
    )
    shown = warehouse.query(
        "SELECT model, mes, null_mes FROM leaderboard_fmlama WHERE main_language = 'en' AND "
        "subject_language = 'en' AND NOT country_mentioned"
    )
    both = shown.join(by_hand, on="model", suffix="_hand")
    assert both.height == 4
    assert both["mes"].to_list() == pytest.approx(both["mes_hand"].to_list())
    # The null of a model is the baseline of its origins under the same judge.
    of_origin = dict(by_hand.rows())["null:common-of-origin"]
    for model in ("fake-a", "fake-b"):
        assert shown.filter(model=model)["null_mes"][0] == pytest.approx(of_origin)


def test_unread_verdicts_are_null_with_a_reason(finished: Finished, monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse, _, _ = finished

    def rambles(self: FakeEngine, conversations: Sequence[Any], *more: Any) -> list[Generation]:
        return [Generation("I would rather not say.", "stop", 1, 1, 0) for _ in conversations]

    (warehouse.home / "engines" / "rambler.toml").write_text('kind = "fake"\nmodel = "rambler"\n')
    monkeypatch.setattr(FakeEngine, "generate", rambles)
    study = steps.build(params(warehouse.home, judge="rambler"))
    scored(study, ("fake-a",))
    verdicts = warehouse.query("SELECT * FROM verdict WHERE judge = 'rambler'")
    assert verdicts.height > 0
    assert verdicts["value"].is_null().all()
    assert verdicts["verdict"].is_null().all()
    assert (verdicts["unscored_reason"].str.len_chars() > 0).all()
    board = warehouse.query("SELECT * FROM leaderboard_fmlama WHERE config_hash = ?", [study.config_hash()])
    assert board["mes"].is_null().all()
    reasons = warehouse.query(
        "SELECT DISTINCT unscored_reason FROM metric_value JOIN run USING (run_id) "
        "WHERE metric LIKE 'mes%' AND config_hash = ?",
        [study.config_hash()],
    )
    assert reasons["unscored_reason"].to_list() == ["the judge gave no verdict that could be read"]
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_a_model_that_can_spell_nothing_is_one_clear_error(
    finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, study, _ = finished
    spec = EngineSpec(name="blind", kind="fake", model="blind")
    score = FakeEngine.score

    def blind(self: FakeEngine, *arguments: Any) -> Any:
        return score(self, *arguments) * float("nan")

    monkeypatch.setattr(FakeEngine, "score", blind)
    with pytest.raises(
        EngineError, match="can spell none of the candidates in 'en': leave that language out"
    ):
        steps.score_unit.fn(spec, ("r", "blind"), steps.plan(study, spec)[0], "label", 1, False)


def test_word_vectors_of_each_language(finished: Finished) -> None:
    warehouse, _, _ = finished
    (warehouse.home / "words-en{.vec").write_text(WORDS)
    study = steps.build(params(warehouse.home, word_vectors=f"{warehouse.home}/words-{{language}}{{.vec",
                               languages=["en"], code_switching=False))  # fmt: skip
    found = steps.cosines(study)["en:en:no"]
    assert not isinstance(found, str)
    assert found[2, :2].tolist() == pytest.approx([0.6, 0.8])  # rice to cheese and flour
    english = steps.build(params(warehouse.home, word_vectors="embedded:x", languages=["zh"],
                                 code_switching=False))  # fmt: skip
    assert "no word vectors for 'zh'" in str(steps.cosines(english)["zh:zh:no"])


def test_the_judge_is_in_the_configuration(finished: Finished) -> None:
    warehouse, study, _ = finished
    path = warehouse.home / "engines" / "fake-b.toml"
    before = path.read_text()
    path.write_text('kind = "fake"\nmodel = "another"\n')
    try:
        assert steps.build(study.params).config_hash() != study.config_hash()
    finally:
        path.write_text(before)
