"""The shared store on real servers: the same answers as the local one, each part fetched once if needed."""

import os
import pickle
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from tests.shared_store import PASSWORD, SECRET_KEY
from tests.warehouse.rows import logprobs, make_run
from warehouse import (
    Warehouse,
    WarehouseError,
    compact_parts,
    finish_run,
    read_part,
    register_orphans,
    save_recipe,
    save_run,
    verify_parts,
    write_part,
)
from warehouse.prune import prunable, prune

pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
from warehouse.shared.store import SharedStore

pytestmark = pytest.mark.slow


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
    """Return requests of the parts that this machine has fetched."""
    folder = warehouse.store.folder / "parts" / KIND
    return sorted(file.stem.split("-")[0] for file in folder.glob("[!_]*.parquet"))


def another_machine(warehouse: Warehouse, home: Path) -> Warehouse:
    """Return the same warehouse, opened from an empty home."""
    os.environ["CULTUREMETER_HOME"] = str(home)  # the fixture's patch restores it
    return Warehouse.open()


def test_a_write_of_one_machine_shows_on_another_at_once(shared: Warehouse, tmp_path: Path) -> None:
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


def test_a_damaged_object_is_set_aside_and_replaced(shared: Warehouse) -> None:
    name, store = part(shared, logprobs("FR", "q1"), "q1"), store_of(shared)
    store.objects.delete([f"parts/{KIND}/{name}.parquet"])
    store.objects.put(f"parts/{KIND}/{name}.parquet", b"PAR1 and nothing else")
    # This machine's copy is read; only a check reads the damaged original.
    assert read_part(store, KIND, name).height == 2
    (problem,) = verify_parts(shared).rows()
    assert problem[:3] == (KIND, name, 1)
    assert "corrupt" in problem[3]
    assert (shared.home / "quarantine" / KIND / f"{name}.parquet").read_bytes().startswith(b"PAR1 and")
    assert shared.query(SHOWN).is_empty()
    assert register_orphans(shared, KIND) == ([], [])
    assert part(shared, logprobs("FR", "q1"), "q1") == name
    assert verify_parts(shared).is_empty()
    assert shared.query(SHOWN).height == 2


def test_orphans_are_registered_compacted_and_pruned_on_a_shared_store(
    shared: Warehouse, monkeypatch: pytest.MonkeyPatch
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


def test_a_cache_may_be_deleted(shared: Warehouse) -> None:
    part(shared, logprobs("FR", "q1"), "q1")
    shutil.rmtree(shared.home / "shared")
    assert Warehouse.open().query(SHOWN).height == 2


def test_secrets_are_neither_stored_nor_shown(
    shared: Warehouse, monkeypatch: pytest.MonkeyPatch, shared_environment: dict[str, str]
) -> None:
    part(shared, logprobs("FR", "q1"), "q1")
    with shared.write():
        pass
    secrets, url = (PASSWORD, SECRET_KEY), shared_environment["CULTUREMETER_WAREHOUSE"]
    shown = [repr(shared.store), shared.store.place, str(pickle.dumps(shared)), str(vars(shared))]
    for name, wrong in (
        ("CULTUREMETER_WAREHOUSE", url.replace(PASSWORD, "not-this-one")),
        ("CULTUREMETER_WAREHOUSE", f"postgresql://me:{PASSWORD}@[/broken"),
        ("CULTUREMETER_WAREHOUSE", f"postgresql://me:{PASSWORD}@127.0.0.1/x?no_such_option=1"),
        ("CULTUREMETER_PARTS", "s3://warehouse/another"),
        ("CULTUREMETER_PARTS", "https://warehouse"),
        ("CULTUREMETER_PARTS", ""),
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


def test_wrong_keys_and_endpoints_end_in_a_one_line_error(shared: Warehouse) -> None:
    """Runs in a separate process, because a client keeps its first keys."""
    code = f"""from warehouse.store import store_at
store_at().put_part('item_logprob', 'p-{"0" * 32}', memoryview(b''))"""
    for name, value, message in (
        ("AWS_SECRET_ACCESS_KEY", "another-secret", "SignatureDoesNotMatch"),
        (
            "CULTUREMETER_PARTS_ENDPOINT",
            "http://127.0.0.1:9",
            "The task was to write parts/item_logprob/p-00000000000000000000000000000000.parquet",
        ),
        ("AWS_ACCESS_KEY_ID", "", "there are no keys. Set AWS_ACCESS_KEY_ID"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"CULTUREMETER_PATIENCE_S": "0", name: value},
            capture_output=True, text=True,
        )  # fmt: skip
        last = done.stderr.strip().splitlines()[-1]
        assert message in last
        assert "Look at CULTUREMETER_PARTS" in last or not value
        assert "another-secret" not in done.stderr


def test_without_the_libraries_the_error_names_the_extra(
    shared_environment: dict[str, str], tmp_path: Path
) -> None:
    code = "import sys; sys.modules['psycopg'] = None; from warehouse import Warehouse; Warehouse.open()"
    env = os.environ | shared_environment | {"CULTUREMETER_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert "pip install '.[shared]'" in done.stderr.splitlines()[-1]


def test_the_leaderboard_of_a_recipe_is_created_on_a_shared_store(shared: Warehouse) -> None:
    words = dict.fromkeys(("unit", "description", "null_baseline", "unscored_when", "source"), "w")
    metric = {"metric": "accuracy", "label": "Accuracy", "is_headline": True, "direction": "higher", **words}
    with shared.write() as connection:
        save_recipe(connection, shared.store, "mine", [metric], {})
    assert shared.query("FROM leaderboard_mine").is_empty()
