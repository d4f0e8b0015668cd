"""Merging another home: what is taken over, what stays, and that a repeated or killed merge is harmless."""

from __future__ import annotations

import random
import shutil
import signal
import stat
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from tests.warehouse.rows import logprobs, make_run, metrics, start_python
from warehouse import (
    Warehouse,
    WarehouseError,
    archive,
    finish_run,
    freeze_cohort,
    run_checks,
    save_items,
    save_metrics,
    save_pack,
    save_ranking,
    save_recipe,
    save_run,
    save_run_requests,
    verify_parts,
    write_part,
)
from warehouse.local_store import LocalStore
from warehouse.merging import merge
from warehouse.people import save_study

KIND = "item_logprob"
TABLES = (
    "run", "run_request", "part_unit_base", "metric_value", "cohort", "item_list", "item", "user_rank",
    "pack", "pack_row", "study", "human_answer", "judge_validation", "evaluation_item", "recipe_metric",
)  # fmt: skip


@pytest.fixture
def homes(copied_home: Callable[[], Path]) -> Callable[[], Warehouse]:
    """A function that returns another new warehouse."""
    return lambda: Warehouse.open(copied_home())


def add_run(
    warehouse: Warehouse,
    model: str,
    *,
    requests: str = "",
    base: float = -1.0,
    cohort: tuple[str, ...] = (),
    status: Any = "finished",
    value: float = 0.5,
) -> str:
    """Store a run of a model with one answer to each request, and a frozen cohort; return its id."""
    run = f"run-{model}"
    names = (requests or f"request-{model}").split()
    parts = [
        write_part(
            warehouse.store, KIND, name, logprobs("FR IT", name, run, base).with_columns(model=pl.lit(model))
        )
        for name in names
    ]
    for part in parts:
        warehouse.register(part)
    with warehouse.write() as connection:
        save_run(connection, make_run(run, model))
        save_run_requests(
            connection, run, pl.DataFrame({"request_hash": names, "topic": "currency", "label": "1"})
        )
        if status == "finished":
            save_metrics(connection, run, metrics(value=value, model=model))
        if status != "running":
            finish_run(connection, run, status)
        if cohort:
            freeze_cohort(connection, "c", "first", cohort)
    return run


def state(warehouse: Warehouse) -> dict[str, list[Any]]:
    """Return the rows of all tables, without the times at which they came."""
    with warehouse.write():
        pass  # registrations in the log are folded
    rows = {}
    for table in TABLES:
        frame = warehouse.query(f'FROM "{table}"')
        kept = [n for n in frame.columns if n not in ("written_at", "added_at", "loaded_at", "pulled_at")]
        rows[table] = sorted(frame.select(kept).rows(), key=repr)
    return rows


def signs(home: Path) -> dict[str, str]:
    """Return the content of every file below a home."""
    return {str(p): sha256(p.read_bytes()).hexdigest() for p in sorted(home.rglob("*")) if p.is_file()}


def alone(evaluation: str) -> bool:
    return False


def test_a_merge_takes_what_a_dry_run_says_and_its_repetition_nothing(
    warehouse: Warehouse, homes: Callable[[], Warehouse]
) -> None:
    one, two = homes(), homes()
    add_run(one, "a", cohort=("run-a",))
    add_run(two, "b", cohort=("run-b",))
    here, there = signs(warehouse.home), signs(one.home)
    dry = merge(warehouse, one.store, alone, is_dry=True)
    assert signs(warehouse.home) == here
    merged = merge(warehouse, one.store, alone)
    assert dry.taken.equals(merged.taken)
    assert dict(merged.taken.select("what", "n_taken").rows()) == {"runs": 1, "answers": 2, "cohorts": 1}
    assert (merged.conflicts, merged.damaged, merged.n_waiting) == ((), (), 0)
    assert signs(one.home) == there
    here, version = signs(warehouse.home), warehouse.store.version()
    assert merge(warehouse, one.store).taken["n_taken"].sum() == 0
    assert warehouse.store.version() == version  # nothing was published
    assert signs(warehouse.home) == here
    merge(warehouse, two.store, alone)
    assert warehouse.query("SELECT run_id FROM run ORDER BY ALL")["run_id"].to_list() == ["run-a", "run-b"]
    of_models = "SELECT model, count(*) AS n FROM item_logprob GROUP BY ALL ORDER BY ALL"
    assert warehouse.query(of_models).rows() == [("a", 4), ("b", 4)]
    assert warehouse.query("SELECT run_id, value FROM metric_value ORDER BY ALL").rows() == [
        ("run-a", 0.5), ("run-b", 0.5),
    ]  # fmt: skip
    assert warehouse.query("SELECT run_id FROM cohort").rows() == [("run-a",)]
    assert not verify_parts(warehouse).height
    assert (
        run_checks(warehouse)
        .filter(pl.col("n_violations") > 0, pl.col("check") != "metric_not_in_catalogue")
        .is_empty()
    )


def test_a_run_compared_with_another_cohort_is_a_conflict_and_its_answers_come(
    warehouse: Warehouse, homes: Callable[[], Warehouse]
) -> None:
    other = homes()
    add_run(warehouse, "a", cohort=("run-a",))
    add_run(other, "b", cohort=("run-b",))
    for _ in range(2):
        merged = merge(warehouse, other.store)
        (conflict,) = merged.conflicts
        assert conflict.startswith("run run-b (spectral, b) is not taken over: its numbers compare models")
    assert warehouse.query("FROM run")["run_id"].to_list() == ["run-a"]
    assert warehouse.query("SELECT run_id FROM cohort").rows() == [("run-a",)]
    assert sorted(warehouse.query("SELECT DISTINCT model FROM item_logprob")["model"]) == ["a", "b"]
    assert warehouse.query("FROM metric_value")["run_id"].to_list() == ["run-a"]


def test_a_cohort_without_one_of_its_runs_does_not_come(
    warehouse: Warehouse, homes: Callable[[], Warehouse]
) -> None:
    other = homes()
    warehouse.register(write_part(warehouse.store, KIND, "q", logprobs("FR", "request-a", "x", -5.0)))
    add_run(other, "a")
    add_run(other, "b", cohort=("run-a", "run-b"))
    merged = merge(warehouse, other.store)
    assert [line.split(": ")[1] for line in merged.conflicts] == [
        "this home had other answers to its requests first",
        "its numbers compare models with the cohort first, which has other models here",
    ]
    assert warehouse.query("FROM cohort").is_empty()
    assert warehouse.query("FROM run").is_empty()
    of_country = (
        "SELECT country, max(logprob) AS l FROM item_logprob WHERE request_hash = 'request-a' GROUP BY ALL"
    )
    assert dict(warehouse.query(of_country).rows()) == {"FR": -5.0, "IT": -1.0}  # the first answer stays
    merged = merge(warehouse, other.store, alone)  # evaluations that compare nothing need no cohort
    assert warehouse.query("FROM run")["run_id"].to_list() == ["run-b"]
    assert warehouse.query("FROM cohort").is_empty()


def test_equal_answers_of_both_homes_are_no_conflict(
    warehouse: Warehouse, homes: Callable[[], Warehouse]
) -> None:
    other = homes()
    add_run(warehouse, "a", requests="q1 q2")
    add_run(other, "b", requests="q1 q2 q3")
    merged = merge(warehouse, other.store)
    assert merged.conflicts == ()
    assert dict(merged.taken.select("what", "n_taken").rows()) == {"runs": 1, "answers": 2}
    assert dict(merged.taken.select("what", "n_left").rows()) == {"runs": 0, "answers": 4}


@pytest.mark.heavy
def test_a_run_that_both_homes_finished_stays_and_one_that_is_not_finished_here_is_replaced(
    warehouse: Warehouse, homes: Callable[[], Warehouse]
) -> None:
    other = homes()
    add_run(warehouse, "a", value=0.25)
    add_run(other, "a", value=0.75)
    add_run(warehouse, "b", requests="q1", status="failed")
    add_run(other, "b", requests="q1 q2")
    add_run(other, "c", status="running")
    merged = merge(warehouse, other.store)
    assert merged.conflicts == ("run run-a (spectral, a) is here with other numbers, which stay",)
    assert warehouse.query("SELECT run_id, status FROM run ORDER BY ALL").rows() == [
        ("run-a", "finished"), ("run-b", "finished"), ("run-c", "running"),
    ]  # fmt: skip
    numbers = "SELECT run_id, value FROM metric_value ORDER BY ALL"
    assert warehouse.query(numbers).rows() == [("run-a", 0.25), ("run-b", 0.5)]
    named = "SELECT request_hash FROM run_request WHERE run_id = 'run-b' ORDER BY ALL"
    assert warehouse.query(named)["request_hash"].to_list() == ["q1", "q2"]
    with other.write() as connection:
        save_metrics(connection, "run-c", metrics(model="c"))
        finish_run(connection, "run-c")
    merge(warehouse, other.store)
    assert warehouse.query(numbers).height == 3
    assert not merge(warehouse, other.store).taken["n_taken"].sum()


@pytest.mark.parametrize("at_home", [True, False])
def test_archived_numbers_come_with_their_runs(
    warehouse: Warehouse, homes: Callable[[], Warehouse], monkeypatch: pytest.MonkeyPatch, at_home: bool
) -> None:
    other = homes()
    add_run(other, "a", value=0.25)
    add_run(other, "b", value=0.75)
    monkeypatch.setattr(archive, "AT", 0)
    with (warehouse if at_home else other).write():
        pass
    monkeypatch.setattr(archive, "AT", 0 if at_home else 10)
    add_run(warehouse, "a", value=0.25)
    assert merge(warehouse, other.store).conflicts == ()
    numbers = warehouse.query("SELECT run_id, value FROM metric_value ORDER BY ALL").rows()
    assert numbers == [("run-a", 0.25), ("run-b", 0.75)]
    assert not merge(warehouse, other.store).taken["n_taken"].sum()
    assert not verify_parts(warehouse).height


@pytest.mark.heavy
def test_damaged_and_missing_parts_are_left_out_by_name(
    warehouse: Warehouse, homes: Callable[[], Warehouse], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = homes()
    add_run(other, "a", requests="q1 q2 q3")
    monkeypatch.setattr(archive, "AT", 0)
    with other.write():
        pass
    monkeypatch.undo()
    broken, missing, _ = sorted((other.home / "parts" / KIND).glob("[!_]*.parquet"))
    (numbers,) = (other.home / "parts" / "metric_row").glob("[!_]*.parquet")
    for file in (broken, numbers):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    missing.unlink()
    before = signs(other.home)
    for is_dry in (True, False, False):
        merged = merge(warehouse, other.store, is_dry=is_dry)
        assert [line.split(":")[0] for line in merged.damaged] == [
            f"{KIND}/{broken.stem}", f"{KIND}/{missing.stem}", f"metric_row/{numbers.stem}",
        ]  # fmt: skip
        (conflict,) = merged.conflicts
        assert conflict.endswith("its numbers are in a damaged part")
    assert signs(other.home) == before
    assert warehouse.query("SELECT DISTINCT request_hash FROM item_logprob")["request_hash"].to_list() == [
        "q3"
    ]
    assert not verify_parts(warehouse).height


def test_parts_that_a_killed_run_or_a_damaged_log_left_unregistered_come_too(
    warehouse: Warehouse, homes: Callable[[], Warehouse]
) -> None:
    other = homes()
    add_run(other, "a", status="running")
    other.register(write_part(other.store, KIND, "logged", logprobs("DE", "logged", "run-a")))
    write_part(other.store, KIND, "orphan", logprobs("FR", "orphan", "run-a"))
    log = other.home / "registrations.sqlite"
    log.write_bytes(b"junk" * 3000)
    (bad := other.home / "parts" / KIND / f"bad-{'0' * 32}.parquet").write_bytes(b"junk")
    before = signs(other.home)
    for n_taken in (4, 0):
        merged = merge(warehouse, other.store)
        assert dict(merged.taken.select("what", "n_taken").rows())["answers"] == n_taken
        assert [line.split(":")[0] for line in merged.damaged] == [f"{KIND}/{bad.stem}"]
    assert signs(other.home) == before
    requests = warehouse.query("SELECT DISTINCT request_hash FROM item_logprob ORDER BY ALL")["request_hash"]
    assert requests.to_list() == ["logged", "orphan", "request-a"]


def test_rankings_ratings_packs_and_recipes_come_and_the_first_stays(
    warehouse: Warehouse, homes: Callable[[], Warehouse]
) -> None:
    other = homes()
    for home, place in ((warehouse, 1), (other, 2)):
        rank = {"model": "m", "place": place, "source": "f"}
        save_ranking(home, pl.DataFrame([{"benchmark": "both", **rank}]))
    save_ranking(other, pl.DataFrame([{"benchmark": "new", "model": "m", "place": 1, "source": "f"}]))
    study: dict[str, Any] = {"study": "s", "kind": "k", "title": "t", "study_hash": "h", "languages": ["en"]}
    study |= {"annotators_per_item": 1, "n_assigned": 1, "n_withdrawn": 0}
    save_study(other, study, [], [], [], [])
    metric = {
        "metric": "accuracy",
        "label": "Accuracy",
        "is_headline": True,
        "unit": "share",
        "range_low": 0.0,
    }
    metric |= {"range_high": 1.0, "direction": "higher", "description": "d", "null_baseline": "none"}
    metric |= {"unscored_when": "never", "source": "s"}
    with other.write() as connection:
        save_pack(connection, "hash", "mine", "cure", {}, {"item": [{"a": 1}]})
        save_recipe(connection, other.store, "own", [metric], {})
        save_items(connection, "own", "v1", [{"item": "i", "cluster": "c", "content": {"a": 1}}])
    merged = merge(warehouse, other.store)
    assert merged.conflicts == ("rankings: both is here with other content, which stays",)
    assert warehouse.query("SELECT benchmark, place FROM user_rank ORDER BY ALL").rows() == [
        ("both", 1),
        ("new", 1),
    ]
    for table in ("study", "pack", "pack_row", "evaluation_item", "recipe_metric"):
        assert warehouse.query(f"FROM {table}").height == 1
    assert warehouse.query("FROM metric WHERE evaluation = 'own'").height == 1
    assert warehouse.query("FROM leaderboard_own").is_empty()
    assert not merge(warehouse, other.store).taken["n_taken"].sum()


def test_a_read_only_home_is_merged(warehouse: Warehouse, homes: Callable[[], Warehouse]) -> None:
    other = homes()
    add_run(other, "a")
    other.register(write_part(other.store, KIND, "late", logprobs("DE", "late", "run-a")))
    before = signs(other.home)
    folders = [path for path in [other.home, *other.home.rglob("*")] if path.is_dir()]
    for folder in folders:
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        merge(warehouse, other.store)
    finally:
        for folder in folders:
            folder.chmod(stat.S_IRWXU)
    assert signs(other.home) == before
    assert warehouse.query("FROM item_logprob").height == 6


def test_homes_that_cannot_be_merged_are_refused_in_one_line(
    warehouse: Warehouse, homes: Callable[[], Warehouse], tmp_path: Path
) -> None:
    def refused(home: Path) -> str:
        with pytest.raises(WarehouseError) as error:
            merge(warehouse, LocalStore(home))
        assert "\n" not in str(error.value)
        return str(error.value)

    before = signs(warehouse.home)
    (tmp_path / "link").symlink_to(warehouse.home)
    for home in (warehouse.home, tmp_path / "link", warehouse.home / "inside"):
        assert "itself" in refused(home)
    assert "there is no warehouse" in refused(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    other = homes()
    changes = (
        ("DELETE FROM migration", "older schema"),
        ("UPDATE migration SET sha256 = 'x'", "another schema"),
        ("INSERT INTO migration VALUES (999, '999_new.sql', 'x', now())", "another schema"),
        ("DROP TABLE pack; CREATE VIEW pack AS FROM read_csv('/etc/passwd')", "older schema"),
    )
    for number, (change, reason) in enumerate(changes):
        home = Path(shutil.copytree(other.home, tmp_path / f"home-{number}"))
        with duckdb.connect(str(home / "culturemeter.duckdb")) as connection:
            connection.execute(change)
        assert reason in refused(home)
    (home := tmp_path / "junk").mkdir()
    (home / "culturemeter.duckdb").write_bytes(b"junk" * 5000)
    assert "cannot be opened" in refused(home)
    assert signs(warehouse.home) == before


_KILLED = """
import os, signal, sys
from pathlib import Path
from warehouse import Warehouse, merging
from warehouse.local_store import LocalStore, _Draft
def end(*_, **__): os.kill(os.getpid(), signal.SIGKILL)
def after(n, call):
    calls = iter(range(n))
    return lambda *a, **k: call(*a, **k) if next(calls, None) is not None else end()
{change}
merging.merge(Warehouse.open(Path(sys.argv[1])), LocalStore(Path({other!r})), lambda name: False)
"""
_CHANGES = {
    "after some parts": "LocalStore.put_part = after(2, LocalStore.put_part)",
    "before the transaction ends": "merging.register_parts = end",
    "before the file is published": "_Draft.publish = end",
}


@pytest.mark.heavy
def test_a_killed_merge_goes_on_and_ends_as_one_that_was_not(
    warehouse: Warehouse, homes: Callable[[], Warehouse]
) -> None:
    other, whole = homes(), homes()
    add_run(other, "a", requests="q1 q2 q3", cohort=("run-a",))
    add_run(other, "b", requests="q3 q4")
    merge(whole, other.store, alone)
    for change in _CHANGES.values():
        process = start_python(_KILLED.format(change=change, other=str(other.home)), warehouse.home)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert warehouse.query("FROM run").is_empty()
        assert not verify_parts(warehouse).height
    merge(warehouse, other.store, alone)
    assert state(warehouse) == state(whole)


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.heavy) for n in range(2, 8))])
def test_merges_of_any_homes_in_any_order_keep_the_first_and_end(
    homes: Callable[[], Warehouse], seed: int
) -> None:
    """All answers are there once, finished runs have their numbers, and a repetition takes nothing."""
    rng = random.Random(seed)
    target, others = homes(), [homes() for _ in range(2)]
    for home in (target, *others):
        for model in rng.sample("abc", rng.randint(1, 2)):
            requests = " ".join(rng.sample(["q1", "q2", f"own-{model}"], rng.randint(1, 3)))
            cohort = (f"run-{model}",) if rng.random() < 0.5 else ()
            status = rng.choice(["finished", "finished", "failed"])
            add_run(
                home, model, requests=requests, base=rng.choice([-1.0, -2.0]), cohort=cohort, status=status
            )
    units = "SELECT request_hash, country AS unit, max(logprob) AS logprob FROM item_logprob GROUP BY ALL"
    expected: dict[Any, float] = {}
    for home in (target, *others):
        for request, unit, logprob in home.query(units).rows():
            expected.setdefault((request, unit), logprob)
    for home in others:
        merge(target, home.store)
    assert {(request, unit): value for request, unit, value in target.query(units).rows()} == expected
    numbers = "SELECT run_id FROM run ANTI JOIN metric_value USING (run_id) WHERE status = 'finished'"
    assert target.query(numbers).is_empty()
    assert target.query("FROM cohort ANTI JOIN run USING (run_id)").is_empty()
    before = signs(target.home)
    for home in others:
        assert not merge(target, home.store).taken["n_taken"].sum()
    assert signs(target.home) == before


@pytest.mark.slow
@pytest.mark.heavy
def test_a_shared_store_is_merged_into_a_home_and_a_home_into_it(
    shared: Warehouse, homes: Callable[[], Warehouse]
) -> None:
    one, two = homes(), homes()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CULTUREMETER_WAREHOUSE")
        one, two = Warehouse(LocalStore(one.home)), Warehouse(LocalStore(two.home))
        add_run(one, "a", cohort=("run-a",))
    merge(shared, one.store)
    assert not merge(shared, one.store).taken["n_taken"].sum()
    merge(two, shared.store)
    assert state(two) == state(one)
