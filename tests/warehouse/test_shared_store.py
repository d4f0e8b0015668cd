"""The shared store on real servers: the same answers as the local one, each part fetched once if needed."""

import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from tests.shared_store import PASSWORD, SECRET_KEY
from warehouse import (
    CorruptPart,
    Run,
    Warehouse,
    WarehouseError,
    compact_parts,
    finish_run,
    read_answers,
    read_part,
    register_orphans,
    run_checks,
    save_recipe,
    save_run,
    verify_parts,
    write_part,
)
from warehouse.local_store import LocalStore
from warehouse.prune import prunable, prune

pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
from warehouse.shared.objects import Objects
from warehouse.shared.store import SharedStore

pytestmark = pytest.mark.slow

LogprobRows = Callable[..., pl.DataFrame]

KIND = "item_logprob"
_NO_TIME = timedelta(days=-1)
SHOWN = "SELECT request_hash, country, item, logprob, part FROM item_logprob ORDER BY ALL"


def store_of(warehouse: Warehouse) -> SharedStore:
    assert isinstance(warehouse.store, SharedStore)
    return warehouse.store


def part(warehouse: Warehouse, frame: pl.DataFrame, name: str) -> str:
    units = write_part(warehouse.store, KIND, name, frame)
    warehouse.register(units)
    return str(units["part"][0])


def cached(warehouse: Warehouse) -> list[str]:
    """Requests of the parts that this machine has fetched."""
    folder = warehouse.store.folder / "parts" / KIND
    return sorted(file.stem.split("-")[0] for file in folder.glob("[!_]*.parquet"))


def another_machine(warehouse: Warehouse, home: Path) -> Warehouse:
    """The same warehouse from a home that has nothing yet."""
    os.environ["CULTURESCOPE_HOME"] = str(home)  # the fixture's patch puts it back
    return Warehouse.open()


def test_both_stores_give_the_same(warehouse: Warehouse, shared: Warehouse, logprobs: LogprobRows) -> None:
    local = Warehouse(LocalStore(warehouse.home))
    for each in (local, shared):
        part(each, logprobs("FR IT", "q1"), "q1")
        part(each, logprobs("IT JP", "q1", base=-5.0), "q1b")  # IT is answered already
        part(each, logprobs("US", "q2"), "q2")
        assert each.query(SHOWN).height == 8
    for sql in (
        SHOWN,
        "SELECT * EXCLUDE written_at FROM part_unit ORDER BY ALL",
        "FROM country ORDER BY ALL",
    ):
        assert shared.query(sql).equals(local.query(sql))
    answers = [
        read_answers(each, KIND, "q1", ["FR", "JP"], ["country", "logprob"]) for each in (local, shared)
    ]
    assert answers[0].equals(answers[1])
    assert answers[0].height == 4
    assert run_checks(shared)["n_violations"].sum() == 0


@pytest.mark.parametrize(
    ("sql", "fetched"),
    [
        ("SELECT count(*) FROM part_unit", ""),
        ("SELECT count(*) FROM country JOIN verdict ON verdict.model = country.country", ""),
        ("SELECT count(*) FROM item_logprob WHERE request_hash = 'q1'", "q1"),
        ("SELECT count(*) FROM item_logprob WHERE request_hash IN ('q1', 'q3') AND logprob < 9", "q1 q3"),
        ("SELECT count(*) FROM item_logprob WHERE run_id = 'r2'", "q3"),
        ("SELECT count(*) FROM item_logprob WHERE request_hash = 'q1' OR country = 'US'", "q1 q2 q3"),
        ("SELECT count(*) FROM item_logprob WHERE request_hash <> 'q1'", "q1 q2 q3"),
        ("SELECT count(*) FROM item_logprob a, item_logprob b WHERE a.request_hash = 'q1'", "q1 q2 q3"),
        ("SELECT count(*) FROM item_logprob WHERE country = 'x\nrequest_hash=''q1''\n'", "q1 q2 q3"),
        ("PIVOT item_logprob ON country USING sum(logprob) GROUP BY request_hash", "q1 q2 q3"),
    ],
)
def test_a_query_fetches_what_it_needs_and_once(
    shared: Warehouse,
    logprobs: LogprobRows,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sql: str,
    fetched: str,
) -> None:
    for request, run in (("q1", "r1"), ("q2", "r1"), ("q3", "r2")):
        part(shared, logprobs("FR", request, run), request)
    expected = shared.query(sql)
    reader = another_machine(shared, tmp_path / "other")
    assert reader.query(sql).sort(pl.all()).equals(expected.sort(pl.all()))
    assert cached(reader) == fetched.split()
    monkeypatch.setattr(Objects, "get", lambda self, name: pytest.fail(f"fetched {name} again"))
    assert reader.query(sql).height == expected.height


def test_values_of_a_query_narrow_it_too(shared: Warehouse, logprobs: LogprobRows, tmp_path: Path) -> None:
    for request in ("q1", "q2"):
        part(shared, logprobs("FR", request), request)
    reader = another_machine(shared, tmp_path / "other")
    rows = reader.query(
        "SELECT item FROM item_logprob WHERE request_hash = $asked ORDER BY 1", {"asked": "q2"}
    )
    assert rows["item"].to_list() == ["euro", "yen"]
    assert cached(reader) == ["q2"]


def test_what_one_machine_writes_another_sees_at_once(
    shared: Warehouse, logprobs: LogprobRows, tmp_path: Path, make_run: Callable[..., Run]
) -> None:
    other = another_machine(shared, tmp_path / "other")
    part(shared, logprobs("FR", "q1"), "q1")
    assert other.query(SHOWN).height == 2
    with shared.write() as connection:
        save_run(connection, make_run("r9"))
    assert other.query("SELECT run_id FROM run")["run_id"].to_list() == ["r9"]
    with pytest.raises(WarehouseError, match="unknown run 'r11'"), other.write() as connection:  # noqa: PT012
        save_run(connection, make_run("r10"))
        finish_run(connection, "r11")
    assert shared.query("SELECT run_id FROM run")["run_id"].to_list() == ["r9"]


def test_a_damaged_object_is_set_aside_and_answered_anew(shared: Warehouse, logprobs: LogprobRows) -> None:
    name, store = part(shared, logprobs("FR", "q1"), "q1"), store_of(shared)
    store.objects.delete([f"parts/{KIND}/{name}.parquet"])
    store.objects.put(f"parts/{KIND}/{name}.parquet", b"PAR1 and nothing else")
    assert read_part(store, KIND, name).height == 2  # from here; that it is damaged there only a check sees
    (problem,) = verify_parts(shared).rows()
    assert problem[:3] == (KIND, name, 1)
    assert "corrupt" in problem[3]
    assert (shared.home / "quarantine" / KIND / f"{name}.parquet").read_bytes().startswith(b"PAR1 and")
    assert shared.query(SHOWN).is_empty()
    assert register_orphans(shared, KIND) == ([], [])
    assert part(shared, logprobs("FR", "q1"), "q1") == name
    assert verify_parts(shared).is_empty()
    assert shared.query(SHOWN).height == 2


def test_a_damaged_object_shows_in_no_query(shared: Warehouse, logprobs: LogprobRows, tmp_path: Path) -> None:
    name, store = part(shared, logprobs("FR", "q1"), "q1"), store_of(shared)
    store.objects.delete([f"parts/{KIND}/{name}.parquet"])
    store.objects.put(f"parts/{KIND}/{name}.parquet", b"PAR1 and nothing else")
    reader = another_machine(shared, tmp_path / "other")
    assert reader.query(SHOWN).is_empty()
    assert cached(reader) == []
    with pytest.raises(CorruptPart, match=f"{name}.parquet is corrupt"):
        read_part(reader.store, KIND, name)


def test_a_damaged_copy_here_is_fetched_again(shared: Warehouse, logprobs: LogprobRows) -> None:
    name = part(shared, logprobs("FR", "q1"), "q1")
    here = shared.store.folder / "parts" / KIND / f"{name}.parquet"
    here.write_bytes(b"PAR1")
    assert read_part(shared.store, KIND, name).height == 2
    here.write_bytes(b"PAR1")
    with pytest.raises(WarehouseError, match="culturescope check"):
        shared.query(SHOWN)
    assert verify_parts(shared).is_empty()
    assert shared.query(SHOWN).height == 2


def test_parts_of_a_killed_run_are_taken_over_many_become_one_and_old_ones_go(
    shared: Warehouse, logprobs: LogprobRows, make_run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(40):
        write_part(shared.store, KIND, f"q{n}", logprobs("FR", f"q{n}"))
    assert shared.query(SHOWN).is_empty()
    assert len(register_orphans(shared, KIND).registered) == 40
    with shared.write() as connection:
        save_run(connection, make_run("r1"))
        finish_run(connection, "r1")
    before = shared.query(SHOWN).drop("part")
    assert compact_parts(shared) == []
    assert shared.query("SELECT DISTINCT part FROM part_unit").height == 1
    assert shared.query(SHOWN).drop("part").equals(before)
    assert len(shared.store.part_sizes(KIND)) == 41
    monkeypatch.setattr("warehouse.recovery.SUPERSEDED_STAY", _NO_TIME)
    monkeypatch.setattr("warehouse.prune.SUPERSEDED_STAY", _NO_TIME)
    assert prunable(shared).filter("goes")["n_files"].to_list() == [40]
    prune(shared)
    assert len(shared.store.part_sizes(KIND)) == 1
    assert shared.query(SHOWN).drop("part").equals(before)


def test_a_cache_may_be_deleted(shared: Warehouse, logprobs: LogprobRows) -> None:
    part(shared, logprobs("FR", "q1"), "q1")
    shutil.rmtree(shared.home / "shared")
    assert Warehouse.open().query(SHOWN).height == 2


def test_secrets_are_neither_stored_nor_shown(
    shared: Warehouse,
    logprobs: LogprobRows,
    monkeypatch: pytest.MonkeyPatch,
    shared_environment: dict[str, str],
) -> None:
    part(shared, logprobs("FR", "q1"), "q1")
    with shared.write():
        pass
    secrets = (PASSWORD, SECRET_KEY)
    shown = [repr(shared.store), shared.store.place, str(pickle.dumps(shared)), str(vars(shared))]
    for name, wrong in (
        (
            "CULTURESCOPE_WAREHOUSE",
            shared_environment["CULTURESCOPE_WAREHOUSE"].replace(PASSWORD, "not-this-one"),
        ),
        ("CULTURESCOPE_WAREHOUSE", f"postgresql://me:{PASSWORD}@[/broken"),
        ("CULTURESCOPE_WAREHOUSE", f"postgresql://me:{PASSWORD}@127.0.0.1/x?no_such_option=1"),
        ("CULTURESCOPE_PARTS", "s3://warehouse/another"),
        ("CULTURESCOPE_PARTS", "https://warehouse"),
        ("CULTURESCOPE_PARTS", ""),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(name, wrong)
            with pytest.raises(WarehouseError) as error:
                Warehouse.open()
        shown.append(str(error.value))
    assert not [text for text in shown if any(secret in text for secret in secrets)]
    assert "not-this-one" not in "".join(shown)
    assert pickle.loads(pickle.dumps(shared)).query(SHOWN).height == 2
    stored = [file for file in shared.home.rglob("*") if file.is_file()]
    assert len(stored) > 3
    assert not [file for file in stored if any(secret.encode() in file.read_bytes() for secret in secrets)]


def test_wrong_keys_and_a_bucket_that_is_not_there_are_one_line(
    shared: Warehouse, logprobs: LogprobRows
) -> None:
    """In a process of its own: a client keeps the keys that it began with."""
    code = "from warehouse.store import store_at; store_at().put_part('item_logprob', 'p', memoryview(b''))"
    for name, value, said in (
        ("AWS_SECRET_ACCESS_KEY", "another-secret", "SignatureDoesNotMatch"),
        (
            "CULTURESCOPE_PARTS_ENDPOINT",
            "http://127.0.0.1:9",
            "The task was to write parts/item_logprob/p.parquet",
        ),
        ("AWS_ACCESS_KEY_ID", "", "there are no keys. Set AWS_ACCESS_KEY_ID"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"CULTURESCOPE_PATIENCE_S": "0", name: value},
            capture_output=True, text=True,
        )  # fmt: skip
        last = done.stderr.strip().splitlines()[-1]
        assert said in last
        assert "Look at CULTURESCOPE_PARTS" in last or not value
        assert "another-secret" not in done.stderr


def test_without_the_libraries_it_says_what_to_install(
    shared_environment: dict[str, str], tmp_path: Path
) -> None:
    code = "import sys; sys.modules['psycopg'] = None; from warehouse import Warehouse; Warehouse.open()"
    env = os.environ | shared_environment | {"CULTURESCOPE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert "pip install 'culturescope[shared]'" in done.stderr.splitlines()[-1]


def test_the_leaderboard_of_a_recipe_is_made_without_a_file_of_s3(shared: Warehouse) -> None:
    words = dict.fromkeys(("unit", "description", "null_baseline", "unscored_when", "source"), "w")
    metric = {"metric": "accuracy", "label": "Accuracy", "is_headline": True, "direction": "higher", **words}
    with shared.write() as connection:
        save_recipe(connection, shared.store, "mine", [metric], {})
    assert shared.query("FROM leaderboard_mine").is_empty()
