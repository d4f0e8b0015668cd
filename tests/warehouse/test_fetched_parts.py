"""A shared store whose servers are dictionaries: the parts that a query fetches, keeps and refuses."""

from __future__ import annotations

import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from warehouse import CorruptPart, Warehouse, WarehouseError, read_part, write_part
from warehouse.copying import copy
from warehouse.local_store import LocalStore
from warehouse.needed import _narrowed
from warehouse.part_kinds import EMPTY_PART, part_path
from warehouse.recovery import verify_parts

pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
pytest.importorskip("obstore", reason="the extra `shared` is not installed")
from tests.warehouse.memory_store import InMemory, Things, Versions
from warehouse.shared import cache as cache_module
from warehouse.shared.database import Version
from warehouse.shared.store import SharedStore

KIND = "item_logprob"
NO_HASH = "0" * 32
P = f"p-{NO_HASH}"


class Servers(NamedTuple):
    """The state that machines share. parts: request -> the part with its answers."""

    objects: Things
    database: Versions
    log: Path
    parts: dict[str, str]


@pytest.fixture(scope="module")
def servers(blank: Path, tmp_path_factory: pytest.TempPathFactory) -> Servers:
    """A warehouse with reference data, and with three parts that another machine wrote."""
    folder = tmp_path_factory.mktemp("servers")
    objects, database, log = Things(), Versions(), folder / "log"
    log.mkdir()
    home = Path(shutil.copytree(blank, folder / "local"))
    store = InMemory(folder / "machine", objects, database, log)
    copy(Warehouse(LocalStore(home)), store)
    warehouse, parts = Warehouse.open(store), {}
    for request, run in (("q1", "r1"), ("q2", "r1"), ("q3", "r2")):
        units = write_part(store, KIND, request, logprobs("FR IT", request, run))
        warehouse.register(units)
        parts[request] = str(units["part"][0])
    return Servers(objects, database, log, parts)


@pytest.fixture
def store(servers: Servers, tmp_path: Path) -> InMemory:
    """A new machine, on copies of the servers."""
    objects, database = Things(), Versions()
    objects.update(servers.objects)
    database.versions = list(servers.database.versions)
    log = Path(shutil.copytree(servers.log, tmp_path / "log"))
    return InMemory(tmp_path / "machine", objects, database, log)


@pytest.fixture
def warehouse(store: InMemory) -> Warehouse:
    return Warehouse.open(store)


@pytest.fixture
def parts(servers: Servers) -> dict[str, str]:
    """Map request -> its part; this machine has fetched none of them."""
    return servers.parts


def logprobs(countries: str, request: str, run: str = "r") -> pl.DataFrame:
    """Return one item of each country."""
    same = {"request_hash": request, "run_id": run, "model": "m", "domain": "d", "question": "d-1"}
    frame = pl.DataFrame({"country": countries.split()})
    return frame.with_columns(
        **{name: pl.lit(value) for name, value in same.items()},
        item=pl.lit("euro"), logprob=pl.lit(-1.0), n_tokens=pl.lit(1),
    )  # fmt: skip


def path_of(store: SharedStore, part: str) -> Path:
    return part_path(store.folder, KIND, part)


def fetched(store: InMemory, parts: dict[str, str]) -> set[str]:
    """Return the requests whose parts were fetched since the last look."""
    of = {part: request for request, part in parts.items()}
    names = {of[Path(name).stem] for name in store.objects.read if name.startswith("parts/")}
    store.objects.read.clear()
    return names


QUERIES = {
    f"FROM {KIND}": "q1 q2 q3",
    "SELECT count(*) FROM part_unit": "",
    "SELECT count(*) FROM country JOIN verdict ON verdict.model = country.country": "",
    f"FROM {KIND} WHERE request_hash = 'q2'": "q2",
    f"FROM {KIND} WHERE request_hash IN ('q2', 'q3') AND logprob < 9": "q2 q3",
    f"FROM {KIND} WHERE run_id = 'r1'": "q1 q2",
    f"FROM {KIND} WHERE country = 'FR'": "q1 q2 q3",
    f"FROM {KIND} WHERE request_hash = 'q1' OR country = 'IT'": "q1 q2 q3",
    f"FROM {KIND} WHERE request_hash <> 'q1'": "q1 q2 q3",
    f"SELECT count(*) FROM {KIND} a, {KIND} b WHERE a.request_hash = 'q1'": "q1 q2 q3",
    f"SELECT count(*) FROM {KIND} WHERE country = 'x\nrequest_hash=''q1''\n'": "q1 q2 q3",
    f"PIVOT {KIND} ON country IN ('FR', 'IT') USING count(*) GROUP BY request_hash": "q1 q2 q3",
    f"FROM {KIND} WHERE request_hash = 'q1' UNION ALL FROM {KIND} WHERE request_hash = 'q3'": "q1 q3",
    f"FROM {KIND} WHERE request_hash = 'q1' UNION ALL FROM {KIND} WHERE country = 'FR'": "q1 q2 q3",
    f"FROM {KIND} WHERE request_hash = 'q1' UNION ALL FROM {KIND} WHERE run_id = 'r2'": "q1 q2 q3",
}


def test_a_query_fetches_the_parts_it_may_read_once(
    warehouse: Warehouse, store: InMemory, parts: dict[str, str]
) -> None:
    for sql, needs in QUERIES.items():
        for part in parts.values():
            path_of(store, part).unlink(missing_ok=True)
        first = warehouse.query(sql)
        assert fetched(store, parts) == set(needs.split()), sql
        assert first.height
        if "request_hash" in first.columns:
            assert set(first["request_hash"]) <= set(needs.split())
        assert warehouse.query(sql).sort(pl.all()).equals(first.sort(pl.all()))
        assert fetched(store, parts) == set(), sql
    pivoted = warehouse.query(f"PIVOT {KIND} ON country IN ('FR', 'IT') USING count(*) GROUP BY request_hash")
    assert sorted(pivoted.rows()) == [("q1", 1, 1), ("q2", 1, 1), ("q3", 1, 1)]


def test_parameters_narrow_the_parts_of_a_query(
    warehouse: Warehouse, store: InMemory, parts: dict[str, str]
) -> None:
    assert warehouse.query(f"FROM {KIND} WHERE request_hash = ?", ["q3"]).height == 2
    assert fetched(store, parts) == {"q3"}


def test_a_query_without_parts_fetches_none(
    warehouse: Warehouse, store: InMemory, parts: dict[str, str]
) -> None:
    assert warehouse.query("SELECT count(*) FROM country").item()
    assert not fetched(store, parts)
    with pytest.raises(Exception, match="nowhere"):
        warehouse.query("FROM nowhere")
    assert not fetched(store, parts)


def test_more_than_a_hundred_parts_are_looked_up_in_their_folder(
    warehouse: Warehouse, store: InMemory
) -> None:
    units = [write_part(store, KIND, f"p{n}", logprobs("FR", f"p{n}")) for n in range(98)]
    warehouse.register(pl.concat(units))
    count = f"SELECT count(*) FROM {KIND}"
    assert warehouse.query(count).item() == 98 + 3 * 2
    name = str(units[0]["part"][0])
    del store.objects[f"parts/{KIND}/{name}.parquet"]
    path_of(store, name).unlink()
    assert warehouse.query(count).item() == 97 + 3 * 2  # the part is missing; other parts can still be read


SCAN = {"name": "READ_PARQUET ", "extra_info": {"Filters": "request_hash='q1'"}}


@pytest.mark.parametrize(
    ("filters", "requests", "runs"),
    [
        (["request_hash='q1'"], ["q1"], None),
        ([["request_hash='q1'", "run_id='r'"]], ["q1"], ["r"]),
        (["request_hash='q2'", "optional: request_hash IN ('q1', 'q2')"], ["q1", "q2"], None),
        (["request_hash='q1'", "run_id='r'"], None, None),
        (["request_hash='it''s'"], None, None),
        (["request_hash>='q1'"], None, None),
        ([[]], None, None),
    ],
)
def test_a_query_is_narrowed_only_if_all_scans_allow_it(
    filters: list[Any], requests: list[str] | None, runs: list[str] | None
) -> None:
    scans = [{"name": "READ_PARQUET ", "extra_info": {"Filters": each}} for each in filters]
    plan = [{"name": "UNION", "children": [{"name": "PROJECTION", "children": scans}]}]
    assert _narrowed(plan, len(scans)) == (requests, runs)


def test_a_plan_that_hides_a_scan_narrows_nothing() -> None:
    assert _narrowed([SCAN], 1) == (["q1"], None)
    assert _narrowed([SCAN], 2) == (None, None)
    assert _narrowed(None, 0) == _narrowed([], 1) == (None, None)


def test_a_part_is_kept_here_and_counts_as_used_when_it_is_read(
    store: InMemory, parts: dict[str, str]
) -> None:
    path = path_of(store, parts["q1"])
    content = store.part(KIND, parts["q1"])
    assert path.read_bytes() == content
    store.objects.read.clear()
    path.touch()
    before = path.stat().st_mtime_ns - 10**12
    cache_module.os.utime(path, ns=(before, before))
    assert store.part(KIND, parts["q1"]) == content
    assert path.stat().st_mtime_ns > before
    assert not store.objects.read
    assert store.part(KIND, parts["q1"], anew=True) == content
    assert store.objects.read == [f"parts/{KIND}/{parts['q1']}.parquet"]


def test_a_part_read_anew_is_not_kept(store: InMemory, parts: dict[str, str]) -> None:
    store.part(KIND, parts["q1"], anew=True)
    assert not path_of(store, parts["q1"]).exists()


def test_a_damaged_local_copy_is_fetched_again(
    warehouse: Warehouse, store: InMemory, parts: dict[str, str]
) -> None:
    content = store.part(KIND, parts["q1"])
    path_of(store, parts["q1"]).write_bytes(content[:-1])
    assert store.part(KIND, parts["q1"]) == content
    assert path_of(store, parts["q1"]).read_bytes() == content
    path_of(store, parts["q1"]).write_bytes(b"PAR1")
    query = f"FROM {KIND} WHERE request_hash = 'q1'"
    with pytest.raises(WarehouseError, match="culturemeter check"):
        warehouse.query(query)
    assert verify_parts(warehouse).is_empty()
    assert warehouse.query(query).height == 2


def test_a_damaged_download_is_tried_twice(
    warehouse: Warehouse, store: InMemory, parts: dict[str, str]
) -> None:
    store.objects.broken_lines = 1
    assert warehouse.query(f"FROM {KIND} WHERE request_hash = 'q1'").height == 2
    path_of(store, parts["q2"]).unlink(missing_ok=True)
    store.objects.broken_lines = 2
    assert warehouse.query(f"FROM {KIND} WHERE request_hash = 'q2'").height == 0
    assert not path_of(store, parts["q2"]).exists()
    store.objects.broken_lines = 2
    with pytest.raises(CorruptPart, match="is corrupt"):
        read_part(store, KIND, parts["q2"])


def test_wrong_names_of_parts_are_not_requested(store: InMemory) -> None:
    with pytest.raises(WarehouseError, match="is not a valid part name"):
        store.part(KIND, "../../published/x")
    store.fetch([(KIND, "../x"), ("no_kind", "p"), (KIND, "no-hash")])
    assert not [name for name in store.objects.read if name.startswith("parts/")]


def test_a_written_part_stays_in_the_cache_by_default(store: InMemory) -> None:
    for remember in (True, False):
        part = f"part-{remember}-{NO_HASH}"
        store.put_part(KIND, part, memoryview(b"x"), remember=remember)
        assert store.objects[f"parts/{KIND}/{part}.parquet"] == b"x"
        assert path_of(store, part).exists() == remember
    assert set(store.part_sizes(KIND)) >= {f"part-{remember}-{NO_HASH}" for remember in (True, False)}


def test_a_part_that_could_not_be_sent_is_sent_with_the_next(
    store: InMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str, content: memoryview) -> None:
        raise ConnectionError

    names = [f"p-{sha256(content).hexdigest()[:32]}" for content in (b"first", b"second")]
    with monkeypatch.context() as patch:
        patch.setattr(store.objects, "put", fail)
        with pytest.raises(ConnectionError):
            store.put_part(KIND, names[0], memoryview(b"first"))
    assert store.part_sizes(KIND).keys().isdisjoint(names)
    store.put_part(KIND, names[1], memoryview(b"second"))
    assert store.part_sizes(KIND).keys() >= set(names)


def test_deleting_a_part_removes_both_copies_and_may_be_repeated(store: InMemory) -> None:
    store.put_part(KIND, P, memoryview(b"x"))
    store.delete_part(KIND, P)
    assert not path_of(store, P).exists()
    assert P not in store.part_sizes(KIND)
    store.delete_part(KIND, P)


def test_a_part_set_aside_is_in_the_local_quarantine(store: InMemory) -> None:
    store.put_part(KIND, P, memoryview(b"x"))
    moved = store.set_part_aside(KIND, P)
    assert moved.read_bytes() == b"x"
    assert moved.is_relative_to(store.home / "quarantine" / KIND)
    assert P not in store.part_sizes(KIND)
    assert store.set_part_aside(KIND, P) == moved  # another machine has already moved it


def test_every_write_is_a_version_that_others_fetch_once(
    warehouse: Warehouse, store: InMemory, tmp_path: Path
) -> None:
    n = len(store.database.versions)  # type: ignore[attr-defined]
    with warehouse.write() as connection:
        connection.execute("CREATE TABLE mine AS SELECT 7 AS seven")
    newest = store.version()
    assert newest is not None
    assert newest.number == n + 1
    other = InMemory(tmp_path / "other", store.objects, store.database, store.of_log)  # type: ignore[arg-type]
    store.objects.read.clear()
    for _ in range(2):
        assert Warehouse(other).query("SELECT seven FROM mine").item() == 7
    assert store.objects.read == [f"published/{newest.name}"]
    assert sorted(path.name for path in store.folder.glob("*.writing-*")) == []


def test_a_missing_or_changed_published_file_is_refused(store: InMemory) -> None:
    newest = store.version()
    assert newest is not None
    name = f"published/{newest.name}"
    content = store.objects.pop(name)
    with pytest.raises(WarehouseError, match="somebody deleted"):
        store.published()
    store.objects[name] = content + b"x"
    with pytest.raises(WarehouseError, match="does not match its hash"):
        store.published()
    store.objects[name] = content
    path = store.published()
    assert path
    assert path.read_bytes() == content


def test_a_file_replaced_while_it_is_fetched_is_fetched_again(store: InMemory) -> None:
    newest = store.version()
    assert newest is not None
    removed = Version(newest.number - 1, newest.sha256)
    answers = iter([removed, newest, newest])
    store.database.newest = lambda: next(answers)  # type: ignore[method-assign]
    store.objects.pop(f"published/{removed.name}", None)
    path = store.published()
    assert path
    assert path.name == newest.name


def test_publishing_deletes_outdated_files(warehouse: Warehouse, store: InMemory) -> None:
    old = store.version()
    store.database.outdated = [old]  # type: ignore[attr-defined]
    assert old is not None
    with warehouse.write():
        pass
    assert f"published/{old.name}" not in store.objects
    assert store.database.outdated == []  # type: ignore[attr-defined]


def test_an_empty_store_has_no_warehouse(tmp_path: Path) -> None:
    store = InMemory(tmp_path, Things(), Versions(), tmp_path)
    assert store.published() is None
    with pytest.raises(WarehouseError, match="there is no warehouse"):
        Warehouse(store).query("SELECT 1")
    assert EMPTY_PART not in store.part_sizes(KIND)
