"""Rectified means of every judged evaluation, from people's ratings in the app's own database."""

from __future__ import annotations

import pytest

from deployments.show import rectified_tables
from deployments.show.boards import leaderboard, rectified_lines, sql_variables
from deployments.show.rectified import rectified
from deployments.show.rectified_tables import compared
from flows.comparison import ComparedRuns, chosen_pairs, differences
from flows.runs import every_finished
from tasks.metrics.ppi import NOT_DRAWN
from tests.golden.conftest import Homes
from tests.golden.harness import run
from tests.golden.rating import rate
from warehouse import Warehouse

JUDGED = {
    "cure": {"coverage", "specificity", "connotation", "coherence"},
    "culturall": {"accuracy"},
    "explication": {"apr", "interaction", "instruction_following"},
    "fmlama": {"mes"},
    "proverbs": {"accuracy"},
}
"""Evaluation -> its headlines of judges."""


NULLS = {
    ("cure", metric): {"shuffled", "generic", "empty"}
    for metric in ("coverage", "specificity", "connotation", "coherence")
} | {
    ("explication", "apr"): {"shuffled", "empty", "generic", "fixed"},
    ("explication", "interaction"): {"generic", "fixed"},
    ("fmlama", "mes"): {"common-of-origin"},
    ("proverbs", "accuracy"): {"generic", "empty", "other-answer"},
}
"""Evaluation and headline -> the null texts that it is compared with."""


FIRST_IS_WORST = dict.fromkeys(JUDGED, False) | {"explication": True}
_NULL_VALUES = """
SELECT substr(model, 6), metric, value FROM metric_value
WHERE starts_with(model, 'null:') AND slice_kind = 'overall' AND value IS NOT NULL
"""
_RANGES = "SELECT metric, range_low, range_high FROM metric WHERE evaluation = ?"


@pytest.mark.slow
@pytest.mark.parametrize("evaluation", JUDGED)
def test_with_all_answers_rated_a_judge_has_no_part_and_no_row_changes(
    finished: Homes, evaluation: str
) -> None:
    """All ratings are the best verdict, so that a mean is short of the best by its lost answers alone."""
    warehouse = Warehouse.open(finished(evaluation))
    before = warehouse.query("FROM metric_value ORDER BY ALL")
    assert rectified(warehouse) == []
    rate(warehouse, "best", 0)
    estimates = rectified(warehouse)
    own = [each for each in estimates if not each.row.source]
    assert {each.row.metric.removesuffix("_rectified") for each in own} == JUDGED[evaluation]
    nulls = {
        (model, f"{metric}_rectified"): value for model, metric, value in warehouse.query(_NULL_VALUES).rows()
    }
    for row in (each.row for each in estimates):
        if row.source and (row.source, row.metric) in nulls:
            assert row.raw_value == pytest.approx(nulls[row.source, row.metric])
    for each in own:
        wanted = NULLS.get((evaluation, each.row.metric.removesuffix("_rectified")), set())
        beside = {one.row.source for one in estimates if one.row.metric == each.row.metric}
        assert wanted <= beside
        assert (each.row.null_value is None) == (not wanted)
    ranges = {m: (low, high) for m, low, high in warehouse.query(_RANGES, [evaluation]).rows()}
    for each in estimates:
        row = each.row
        low, high = ranges[row.metric.removesuffix("_rectified")]
        assert row.value is not None, row
        best, worst = (low, high) if FIRST_IS_WORST[evaluation] else (high, low)
        assert each.mean is not None
        lost = 0 if row.source else sum(point == low for point in each.mean.points.tolist())
        if evaluation != "explication":
            n = len(each.units)
            assert row.value == pytest.approx(((n - lost) * best + lost * worst) / n)
        else:
            assert row.value == pytest.approx(best)
        assert row.unscored_reason is not None  # too few labels
        assert row.ci_low is None
    assert warehouse.query("FROM metric_value ORDER BY ALL").equals(before)


@pytest.mark.slow
def test_old_ratings_are_of_convenience_and_a_new_rating_is_a_new_number(finished: Homes) -> None:
    warehouse = Warehouse.open(finished("proverbs"))
    rate(warehouse, "drawn", 0, n=12)
    (first, *_) = rectified(warehouse)
    assert NOT_DRAWN not in str(first.row.unscored_reason)
    rate(warehouse, "more", -1, n=16, seed=1)
    (second, *_) = rectified(warehouse)
    assert second.row.ratings != first.row.ratings
    assert second.row.value != first.row.value
    with warehouse.write() as connection:
        connection.execute("UPDATE study_item SET chance = NULL, population = NULL")
    (old, *_) = rectified(warehouse)
    assert (old.row.unscored_reason, old.row.ci_low) == (NOT_DRAWN, None)
    with warehouse.write() as connection:
        connection.execute("UPDATE study_item SET chance = 0.5, population = 'of other answers'")
    assert rectified(warehouse)[0].row.unscored_reason == NOT_DRAWN


@pytest.mark.slow
def test_sql_shows_the_rows(finished: Homes) -> None:
    warehouse = Warehouse.open(finished("proverbs"))
    sql = "SELECT model, metric, value, raw_value, n_labels FROM rectified ORDER BY ALL"
    assert warehouse.query(sql, variables=sql_variables(warehouse, sql)).is_empty()
    rate(warehouse, "best", 0)
    rows = warehouse.query(sql, variables=sql_variables(warehouse, sql)).rows()
    assert rows[0][:3] == ("fake-a", "accuracy_rectified", 1.0)


@pytest.mark.slow
def test_the_board_as_data_has_rectified_columns_once_people_rated(finished: Homes) -> None:
    warehouse = Warehouse.open(finished("proverbs"))
    config = warehouse.query("SELECT any_value(config_hash) FROM run WHERE evaluation = 'proverbs'").item()
    plain = leaderboard(warehouse, "proverbs", config)
    assert not any("rectified" in name for name in plain.columns)
    rate(warehouse, "best", 0)
    board = leaderboard(warehouse, "proverbs", config)
    assert board.select(plain.columns).equals(plain)
    own = {row["model"]: row for row in board.to_dicts()}
    assert own["fake-a"]["accuracy_rectified"] == 1.0
    assert own["fake-a"]["accuracy_rectified_labels"] == 12
    assert own["null:empty"]["accuracy_rectified"] is None


@pytest.mark.slow
def test_without_ratings_a_board_says_what_a_sample_would_give(
    finished: Homes, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = Warehouse.open(finished("proverbs"))
    config = warehouse.query("SELECT any_value(config_hash) FROM run WHERE evaluation = 'proverbs'").item()
    assert rectified_lines(warehouse, config) == []  # 12 answers are too few for an interval
    monkeypatch.setattr(rectified_tables, "MIN_LABELS", 12)
    (line,) = rectified_lines(warehouse, config)
    assert line["rectified"] == "–"
    assert line["note"].startswith(
        "nobody rated a drawn sample: 12 ratings of a model would give an interval"
    )
    rate(warehouse, "best", 0)
    rows = rectified_lines(warehouse, config)
    assert {each["labels"] for each in rows} <= {"11 of 11", "12 of 12"}
    assert all(any(each[name] != "–" for each in rows) for name in rows[0]), "columns with nothing in them"


@pytest.mark.slow
def test_people_may_change_the_order_of_two_models(finished: Homes) -> None:
    warehouse = Warehouse.open(finished("proverbs"))
    pairs = chosen_pairs(every_finished(warehouse), ComparedRuns("fake-a", "served-m", "proverbs"))
    rows = differences(warehouse, pairs)
    assert compared(warehouse, rows)[0].is_empty()
    rate(warehouse, "rated", 0, disliked="served-m")
    more, changes = compared(warehouse, rows)
    assert rows["difference"][0] < 0 < more["difference"][0]
    assert more["metric"].to_list() == ["accuracy_rectified"]
    assert changes == [
        "Accuracy: people's ratings change the order of fake-a and served-m, which may be chance"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("letter", ["b", "a"])
def test_packs_of_one_benchmark_share_a_mean_unless_items_have_one_name(fresh: Homes, letter: str) -> None:
    home = fresh("cure")
    for name, own in (("one", "a"), ("two", letter)):
        folder = home / "packs" / name
        (folder / "cure").mkdir(parents=True)
        (folder / "pack.toml").write_text(f'title = "{name}"\n')
        rows = [f"normad-{name},{own}{n},CH,Story {n} of {name}.,Is it so?,yes,Norm {n}." for n in range(4)]
        head = "benchmark,item,country,situation,question,label,gold"
        (folder / "cure" / "item.csv").write_text("\n".join([head, *rows]) + "\n")
    run("cure", home, pack=["one", "two"], files={}, benchmarks=["normad-one", "normad-two"])
    warehouse = Warehouse.open(home)
    rate(warehouse, "best", 0)
    for each in rectified(warehouse):
        if letter == "b":
            assert each.units == tuple(f"normad-{of}{n}" for of in ("one:a", "two:b") for n in range(4))
            assert each.row.value == each.row.n_labels / 8 >= 0.5  # the others are lost answers
        else:
            assert (each.row.value, each.units) == (None, ())
            assert "items of one name" in str(each.row.unscored_reason)


@pytest.mark.slow
def test_ratings_keep_the_meaning_that_the_judge_gave_their_words(finished: Homes) -> None:
    """The rubric's file has other verdicts later; a word that no judge used cannot be read any more."""
    home = finished("proverbs")
    warehouse = Warehouse.open(home)
    rate(warehouse, "best", 0)
    before = rectified(warehouse)
    rubric = home / "packs" / "proverbs" / "meaning.toml"
    rubric.write_text(rubric.read_text().replace("YES", "MAYBE").replace("NO", "YES"))
    assert [each.row for each in rectified(warehouse)] == [each.row for each in before]
    with warehouse.write() as connection:
        connection.execute("UPDATE human_answer SET value = 'FINE' WHERE value = 'YES'")
    for each in rectified(warehouse):
        assert each.row.value is None
        assert "people rated meaning with 'FINE'" in str(each.row.unscored_reason)
