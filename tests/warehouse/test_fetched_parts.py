"""A shared store whose servers are dictionaries: what a query fetches, what is kept, and what is damaged."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from warehouse import Warehouse, WarehouseError, write_part
from warehouse.copying import copy
from warehouse.local_store import LocalStore
from warehouse.needed import _narrowed
from warehouse.part_kinds import EMPTY_PART, part_path
from warehouse.registrations import Registrations

pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
pytest.importorskip("obstore", reason="the extra `shared` is not installed")
from warehouse.shared import cache as cache_module
from warehouse.shared.database import Version
from warehouse.shared.store import SharedStore

LogprobRows = Callable[..., pl.DataFrame]

KIND = "item_logprob"


class Things(dict[str, bytes]):
    """Objects by name; reads are counted."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []
        self.broken_lines = 0

    def put(self, name: str, content: bytes | memoryview) -> None:
        self.setdefault(name, bytes(content))

    def get(self, name: str) -> bytes:  # type: ignore[override]
        self.read.append(name)
        if name not in self:
            raise FileNotFoundError(name)
        if self.broken_lines:
            self.broken_lines -= 1
            return self[name][:-1]
        return self[name]

    def sizes(self, folder: str) -> dict[str, int]:
        inside = (name for name in self if name.startswith(f"{folder}/"))
        return {name.removeprefix(f"{folder}/"): len(self[name]) for name in inside}

    def delete(self, names: list[str]) -> None:
        for name in names:
            self.pop(name, None)


class Versions:
    """Which file is the newest."""

    place = "memory"

    def __init__(self) -> None:
        self.versions: list[Version] = []
        self.outdated: list[Version] = []

    def newest(self) -> Version | None:
        return self.versions[-1] if self.versions else None

    @contextmanager
    def lock(self, name: str, patience_s: float = 0.0) -> Iterator[None]:
        yield

    def publish(self, held: None, version: Version, size: int, folded: int) -> None:
        assert version.number == len(self.versions) + 1
        self.versions.append(version)

    def old(self) -> list[Version]:
        return self.outdated

    def forget(self, old: list[Version]) -> None:
        self.outdated = []


class InMemory(SharedStore):
    """A machine of its own on servers that several share."""

    def __init__(self, home: Path, objects: Things, database: Versions, log: Path) -> None:
        super().__init__(home, "postgresql://nowhere/x", "s3://bucket/parts")
        self.objects, self.database, self.of_log = objects, database, log  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        raise TypeError("it stays here")

    @property
    def log(self) -> Any:
        return Registrations(self.of_log)


@pytest.fixture(scope="module")
def servers(blank: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Things, Versions]:
    """A warehouse with nothing but reference data in it."""
    folder = tmp_path_factory.mktemp("servers")
    objects, database = Things(), Versions()
    home = Path(shutil.copytree(blank, folder / "local"))
    copy(Warehouse(LocalStore(home)), InMemory(folder / "machine", objects, database, folder))
    return objects, database


@pytest.fixture
def store(servers: tuple[Things, Versions], tmp_path: Path) -> InMemory:
    """A new machine, on copies of the servers."""
    objects, database = Things(), Versions()
    objects.update(servers[0])
    database.versions = list(servers[1].versions)
    (tmp_path / "log").mkdir()
    return InMemory(tmp_path / "machine", objects, database, tmp_path / "log")


@pytest.fixture
def warehouse(store: InMemory) -> Warehouse:
    return Warehouse.open(store)


@pytest.fixture
def parts(warehouse: Warehouse, store: InMemory, logprobs: LogprobRows) -> dict[str, str]:
    """Request -> its part; another machine wrote them all, and this one has fetched none."""
    made = {}
    for request, run in (("q1", "r1"), ("q2", "r1"), ("q3", "r2")):
        units = write_part(store, KIND, request, logprobs("FR IT", request, run))
        warehouse.register(units)
        made[request] = str(units["part"][0])
        path_of(store, made[request]).unlink()
    store.objects.read.clear()
    return made


def path_of(store: SharedStore, part: str) -> Path:
    return part_path(store.folder, KIND, part)


def fetched(store: InMemory, parts: dict[str, str]) -> set[str]:
    """The requests whose parts were fetched since the last look."""
    of = {part: request for request, part in parts.items()}
    names = {of[Path(name).stem] for name in store.objects.read if name.startswith("parts/")}
    store.objects.read.clear()
    return names


@pytest.mark.parametrize(
    ("where", "needs"),
    [
        ("", "q1 q2 q3"),
        ("WHERE request_hash = 'q2'", "q2"),
        ("WHERE request_hash IN ('q2', 'q3')", "q2 q3"),
        ("WHERE run_id = 'r1'", "q1 q2"),
        ("WHERE country = 'FR'", "q1 q2 q3"),
        ("WHERE request_hash = 'q1' UNION ALL FROM item_logprob WHERE request_hash = 'q3'", "q1 q3"),
        ("WHERE request_hash = 'q1' UNION ALL FROM item_logprob WHERE country = 'FR'", "q1 q2 q3"),
        ("WHERE request_hash = 'q1' UNION ALL FROM item_logprob WHERE run_id = 'r2'", "q1 q2 q3"),
    ],
)
def test_a_query_fetches_what_it_may_read_and_once(
    warehouse: Warehouse, store: InMemory, parts: dict[str, str], where: str, needs: str
) -> None:
    sql = f"SELECT request_hash, country FROM (FROM {KIND} {where})"
    first = warehouse.query(sql)
    assert fetched(store, parts) == set(needs.split())
    assert set(first["request_hash"]) <= set(needs.split())
    assert first.height
    assert warehouse.query(sql).sort(pl.all()).equals(first.sort(pl.all()))
    assert fetched(store, parts) == set()


def test_values_narrow_as_text_does(warehouse: Warehouse, store: InMemory, parts: dict[str, str]) -> None:
    assert warehouse.query(f"FROM {KIND} WHERE request_hash = ?", ["q3"]).height == 4
    assert fetched(store, parts) == {"q3"}


def test_what_cannot_be_planned_alone_has_all_it_reads(
    warehouse: Warehouse, store: InMemory, parts: dict[str, str]
) -> None:
    pivoted = warehouse.query(f"PIVOT {KIND} ON country USING count(*) GROUP BY request_hash")
    assert sorted(pivoted.rows()) == [("q1", 2, 2), ("q2", 2, 2), ("q3", 2, 2)]
    assert fetched(store, parts) == {"q1", "q2", "q3"}


def test_what_reads_no_part_fetches_none(
    warehouse: Warehouse, store: InMemory, parts: dict[str, str]
) -> None:
    assert warehouse.query("SELECT count(*) FROM country").item()
    assert not fetched(store, parts)
    with pytest.raises(Exception, match="nowhere"):
        warehouse.query("FROM nowhere")
    assert not fetched(store, parts)


def test_more_than_a_hundred_parts_are_looked_up_in_their_folder(
    warehouse: Warehouse, store: InMemory, logprobs: LogprobRows
) -> None:
    for n in range(101):
        warehouse.register(write_part(store, KIND, f"p{n}", logprobs("FR", f"q{n}")))
    count = f"SELECT count(*) FROM {KIND}"
    assert warehouse.query(count).item() == 202
    name = next(iter(store.objects.sizes(f"parts/{KIND}")))
    del store.objects[f"parts/{KIND}/{name}"]
    path_of(store, name.removesuffix(".parquet")).unlink()
    assert warehouse.query(count).item() == 200  # it is not there: others can be read all the same


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
def test_all_scans_narrow_a_query_together_or_none_does(
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


def test_what_is_read_anew_and_was_not_here_is_not_kept(store: InMemory, parts: dict[str, str]) -> None:
    store.part(KIND, parts["q1"], anew=True)
    assert not path_of(store, parts["q1"]).exists()


def test_a_damaged_copy_is_fetched_again(store: InMemory, parts: dict[str, str]) -> None:
    content = store.part(KIND, parts["q1"])
    path_of(store, parts["q1"]).write_bytes(content[:-1])
    assert store.part(KIND, parts["q1"]) == content
    assert path_of(store, parts["q1"]).read_bytes() == content


def test_a_line_that_damages_is_tried_twice(
    warehouse: Warehouse, store: InMemory, parts: dict[str, str]
) -> None:
    store.objects.broken_lines = 1
    assert warehouse.query(f"FROM {KIND} WHERE request_hash = 'q1'").height == 4
    path_of(store, parts["q2"]).unlink(missing_ok=True)
    store.objects.broken_lines = 2
    assert warehouse.query(f"FROM {KIND} WHERE request_hash = 'q2'").height == 0
    assert not path_of(store, parts["q2"]).exists()


def test_names_that_are_no_parts_are_not_looked_for(store: InMemory) -> None:
    with pytest.raises(FileNotFoundError):
        store.part(KIND, "../../published/x")
    store.fetch([(KIND, "../x"), ("no_kind", "p"), (KIND, "no-hash")])
    assert not [name for name in store.objects.read if name.startswith("parts/")]


def test_a_part_that_is_written_is_kept_unless_told_otherwise(store: InMemory) -> None:
    for remember in (True, False):
        part = f"part-{remember}"
        store.put_part(KIND, part, memoryview(b"x"), remember=remember)
        assert store.objects[f"parts/{KIND}/{part}.parquet"] == b"x"
        assert path_of(store, part).exists() == remember
    assert set(store.part_sizes(KIND)) == {"part-True", "part-False"}


def test_a_part_goes_from_both_places_and_twice_is_no_error(store: InMemory) -> None:
    store.put_part(KIND, "p", memoryview(b"x"))
    store.delete_part(KIND, "p")
    assert not path_of(store, "p").exists()
    assert not store.part_sizes(KIND)
    store.delete_part(KIND, "p")


def test_a_part_that_is_set_aside_lies_at_home(store: InMemory) -> None:
    store.put_part(KIND, "p", memoryview(b"x"))
    moved = store.set_part_aside(KIND, "p")
    assert moved.read_bytes() == b"x"
    assert moved.is_relative_to(store.home / "quarantine" / KIND)
    assert not store.part_sizes(KIND)
    assert store.set_part_aside(KIND, "p") == moved  # another machine was faster


def test_every_write_is_a_version_and_the_newest_is_fetched_once(
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


def test_a_published_file_that_is_gone_or_another_is_refused(store: InMemory) -> None:
    newest = store.version()
    assert newest is not None
    name = f"published/{newest.name}"
    content = store.objects.pop(name)
    with pytest.raises(WarehouseError, match="somebody deleted"):
        store.published()
    store.objects[name] = content + b"x"
    with pytest.raises(WarehouseError, match="is not what was published"):
        store.published()
    store.objects[name] = content
    path = store.published()
    assert path
    assert path.read_bytes() == content


def test_a_file_that_is_replaced_while_it_is_fetched_is_not_missed(store: InMemory) -> None:
    newest = store.version()
    assert newest is not None
    gone = Version(newest.number - 1, newest.sha256)
    told = iter([gone, newest, newest])
    store.database.newest = lambda: next(told)  # type: ignore[method-assign]
    store.objects.pop(f"published/{gone.name}", None)
    path = store.published()
    assert path
    assert path.name == newest.name


def test_old_files_are_deleted_by_who_publishes(warehouse: Warehouse, store: InMemory) -> None:
    old = store.version()
    store.database.outdated = [old]  # type: ignore[attr-defined]
    assert old is not None
    with warehouse.write():
        pass
    assert f"published/{old.name}" not in store.objects
    assert store.database.outdated == []  # type: ignore[attr-defined]


def test_before_the_first_file_there_is_none(tmp_path: Path) -> None:
    store = InMemory(tmp_path, Things(), Versions(), tmp_path)
    assert store.published() is None
    with pytest.raises(WarehouseError, match="there is no warehouse"):
        Warehouse(store).query("SELECT 1")
    assert EMPTY_PART not in store.part_sizes(KIND)
