"""A failure is reported and loses only its own rows, which the next run adds; for every evaluation.

Each test disturbs the run of an evaluation's net (``nets/``) and compares its rows with those of an
undisturbed run. Stored work is never repeated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tasks.engines.protocols import EngineError
from tests.engines.served import Scripted
from tests.golden.conftest import Homes
from tests.golden.harness import (
    EVALUATIONS,
    SERVED,
    Rows,
    differences,
    label,
    metric_rows,
    n_parts,
    net,
    of_models,
    part_files,
    run,
    run_and_die,
    stored,
    write_engine,
    write_served,
)
from tests.ports import nobody
from warehouse import CorruptPart, Warehouse

pytestmark = pytest.mark.slow


def disturbed(names: Sequence[str], *usual: str) -> list[Any]:
    """Return the evaluations of a test: `make test` disturbs the usual ones, `make test-all` all."""
    return [name if name in usual else pytest.param(name, marks=pytest.mark.heavy) for name in names]


JUDGED = [name for name in EVALUATIONS if net(name).judged]
GENERATING = [name for name in EVALUATIONS if net(name).budget]
UNSCORED_COUNTS = "unscored_answers"


def assert_nothing_twice(home: Path, evaluation: str) -> None:
    """Assert that no request has two stored answers in any parts."""
    for kind, columns in net(evaluation).keys.items():
        requests = stored(home, kind, columns)
        assert requests.height > 0
        assert not requests.is_duplicated().any(), kind


def answers(home: Path, evaluation: str) -> dict[str, int]:
    """Return the part files with results of engines."""
    return part_files(home, list(net(evaluation).keys))


def without(rows: Rows, pattern: str | None) -> Rows:
    """Return the rows whose labels do not match."""
    return [row for row in rows if pattern is None or not re.search(pattern, label(row))]


@pytest.mark.parametrize("evaluation", disturbed(EVALUATIONS, "money"))
def test_a_failing_model_loses_its_own_rows_only(fresh: Homes, undisturbed: Homes, evaluation: str) -> None:
    """One model cannot be loaded; if text is generated, another model's server cannot be reached."""
    reference = metric_rows(undisturbed(evaluation), evaluation)
    home, models = fresh(evaluation), net(evaluation).models
    write_engine(home, "fake-x", delay=-1)
    failing = ["fake-x"]
    with nobody() as address:
        if evaluation in GENERATING and SERVED in models:
            write_served(home, "gone", f"http://{address}/v1")
            failing.append("gone")
        with pytest.raises(EngineError) as error:
            run(evaluation, home, models=[*failing, *models])
    assert all(name in str(error.value) for name in failing)
    assert differences(reference, metric_rows(home, evaluation)) == []

    before = answers(home, evaluation)
    write_engine(home, "fake-x")
    run(evaluation, home, models=["fake-x", *models])
    assert before.items() <= answers(home, evaluation).items()
    assert_nothing_twice(home, evaluation)
    after = metric_rows(home, evaluation)
    assert {row["metric"] for row in of_models(after, ["fake-x"])} >= {
        row["metric"] for row in of_models(reference, models[:1]) if row["metric"] != UNSCORED_COUNTS
    }


@pytest.mark.parametrize("evaluation", disturbed(JUDGED, "proverbs"))
def test_a_failing_judge_loses_the_judged_rows_only(
    fresh: Homes, undisturbed: Homes, evaluation: str
) -> None:
    reference, judged = metric_rows(undisturbed(evaluation), evaluation), net(evaluation).judged
    assert judged is not None
    home = fresh(evaluation)
    write_engine(home, "fake-j", delay=-1)
    with pytest.raises(EngineError, match="fake-j"):
        run(evaluation, home)
    rows = metric_rows(home, evaluation)
    assert differences(without(reference, judged), without(rows, judged)) == []
    scored = {label(row) for row in reference if re.match(judged, row["metric"]) and row["value"]}
    now = {label(row): row for row in rows}
    assert scored <= now.keys()
    assert not [name for name in scored if now[name]["value"] or not now[name]["unscored_reason"]]

    before = answers(home, evaluation)
    write_engine(home, "fake-j")
    run(evaluation, home)
    assert before.items() <= answers(home, evaluation).items()
    assert_nothing_twice(home, evaluation)
    assert differences(reference, metric_rows(home, evaluation)) == []


@pytest.mark.parametrize("evaluation", disturbed(GENERATING, "money"))
def test_a_higher_budget_completes_what_a_lower_one_stopped(
    fresh: Homes, undisturbed: Homes, evaluation: str
) -> None:
    """The first model finishes, and the budget ends in the middle of the second.

    The first model is the cohort, so its rows never change; rows that compare models differ from those of a
    joint run.
    """
    home, (first, *others) = fresh(evaluation), net(evaluation).models
    run(evaluation, home, models=[first])
    alone = of_models(metric_rows(home, evaluation), [first])
    before = answers(home, evaluation)
    with pytest.raises(EngineError, match="budget"):
        run(evaluation, home, models=[*others, first], max_total_tokens=net(evaluation).budget)
    rows = {label(row): row for row in metric_rows(home, evaluation)}
    assert differences(alone, [rows[label(row)] for row in alone if label(row) in rows]) == []
    some = answers(home, evaluation)
    everything = stored(undisturbed(evaluation), "response", ["item"])
    assert len(before) < len(some)
    assert stored(home, "response", ["item"]).height < everything.height

    run(evaluation, home, models=[*others, first], max_total_tokens=10**9)
    assert before.items() <= some.items() <= answers(home, evaluation).items()
    assert_nothing_twice(home, evaluation)
    reference, rows = metric_rows(undisturbed(evaluation), evaluation), metric_rows(home, evaluation)
    assert differences(alone, of_models(rows, [first])) == []
    assert {label(row) for row in of_models(rows, others)} == {
        label(row) for row in of_models(reference, others)
    }
    compared = net(evaluation).compared
    assert differences(without(reference, compared), without(rows, compared)) == []


@pytest.mark.parametrize("evaluation", disturbed(EVALUATIONS, "spectral"))
def test_corrupt_parts_are_set_aside_and_requested_again(
    finished: Homes, undisturbed: Homes, evaluation: str
) -> None:
    """Parts of each kind of one model are truncated or overwritten before its rows are made."""
    reference = metric_rows(undisturbed(evaluation), evaluation)
    home, (first, *others) = finished(evaluation), net(evaluation).models
    victims = damage(home, evaluation, first)
    with Warehouse.open(home).write() as connection:
        connection.execute(
            "UPDATE run_base SET status = 'running', finished_at = NULL WHERE model = ?", [first]
        )
        connection.execute("DELETE FROM metric_value_base WHERE model = ?", [first])
    message = victims[0].stem  # the part is requested again in the same run, or named by an error
    try:
        run(evaluation, home)
    except CorruptPart as error:
        message = str(error)
    assert any(victim.stem in message for victim in victims)
    for victim in victims:
        assert (home / "quarantine" / victim.parent.name / victim.name).exists()
    rows = metric_rows(home, evaluation)
    assert differences(of_models(reference, others), of_models(rows, others)) == []

    run(evaluation, home)
    assert_nothing_twice(home, evaluation)
    assert differences(reference, metric_rows(home, evaluation)) == []


def damage(home: Path, evaluation: str, model: str) -> list[Path]:
    """Damage up to two parts of each kind of a model's run: one loses its end, the other its middle."""
    run_id = Warehouse.open(home).query("SELECT run_id FROM run WHERE model = ?", [model]).item()
    victims: list[Path] = []
    for kind in net(evaluation).keys:
        files = [home / "parts" / place for place in part_files(home, [kind])]
        own = [
            file for file in files if pl.read_parquet(file, columns=["run_id"], glob=False)[0, 0] == run_id
        ]
        assert own, kind
        victims += own[:2]
    for n, victim in enumerate(victims):
        content = victim.read_bytes()
        half = len(content) // 2
        # A Parquet file begins with data and ends with the footer that locates them.
        victim.write_bytes(content[:half] if n % 2 == 0 else b"PAR1" + b"\xaa" * half + content[4 + half :])
    return victims


# tests/loop/test_kill.py kills a run that generates, tests/chaos kills runs of all flows.
@pytest.mark.parametrize("evaluation", disturbed(EVALUATIONS, "spectral"))
def test_a_killed_run_is_completed_by_the_next_one(fresh: Homes, undisturbed: Homes, evaluation: str) -> None:
    home = fresh(evaluation)
    for kind, model in net(evaluation).kills:
        seen = n_parts(home, kind, model)
        run_and_die(evaluation, home, "n_parts", kind, model, seen + 1)
        assert n_parts(home, kind, model) > seen
    before = answers(home, evaluation)
    run(evaluation, home)
    assert before.items() <= answers(home, evaluation).items()
    assert_nothing_twice(home, evaluation)
    assert differences(metric_rows(undisturbed(evaluation), evaluation), metric_rows(home, evaluation)) == []


@pytest.mark.parametrize("evaluation", disturbed(EVALUATIONS, "explication"))
def test_a_second_run_requests_nothing(finished: Homes, server: Scripted, evaluation: str) -> None:
    home = finished(evaluation)
    rows, before, n_requests = metric_rows(home, evaluation), answers(home, evaluation), len(server.requests)
    run(evaluation, home)
    assert answers(home, evaluation) == before
    assert len(server.requests) == n_requests
    assert differences(rows, metric_rows(home, evaluation)) == []


@pytest.mark.parametrize("evaluation", disturbed(EVALUATIONS, "spectral"))
def test_order_and_batch_change_no_number(fresh: Homes, undisturbed: Homes, evaluation: str) -> None:
    home, chosen = fresh(evaluation), net(evaluation)
    run(evaluation, home, models=chosen.models[::-1], **chosen.other)
    assert answers(home, evaluation).keys() != answers(undisturbed(evaluation), evaluation).keys()
    assert differences(metric_rows(undisturbed(evaluation), evaluation), metric_rows(home, evaluation)) == []
