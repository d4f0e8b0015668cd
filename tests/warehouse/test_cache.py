"""The cache of a shared store, tested on a folder: the files it deletes, and those a reader keeps."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest

from warehouse import WarehouseError
from warehouse.part_kinds import EMPTY_PART
from warehouse.shared import cache as module
from warehouse.shared.cache import Cache
from warehouse.storage import CACHE_GB, CacheSize

BYTES = 100
LONG_AGO_S = 10_000


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """Room for ten files; it looks at all files each time."""
    monkeypatch.setenv(CACHE_GB, str(10 * BYTES / 1e9))
    monkeypatch.setattr(module, "_SCAN_EVERY", 0)
    monkeypatch.setattr(module, "_states", {})
    return Cache(tmp_path / "shared")


def path_of(cache: Cache, name: str, kind: str = "item_logprob") -> Path:
    return cache.folder / "store" / "parts" / kind / f"{name}.parquet"


def put(cache: Cache, name: str, age_s: float = 0, size: int = BYTES) -> Path:
    """Return a file that was last touched this long ago, without the cache's knowledge."""
    path = path_of(cache, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    at = time.time() - age_s
    os.utime(path, (at, at))
    return path


def names(cache: Cache) -> list[str]:
    return sorted(path.stem for path in cache.folder.glob("store/parts/*/*.parquet"))


def test_nothing_is_deleted_up_to_the_limit(cache: Cache) -> None:
    for n in range(9):
        put(cache, f"p{n}", 100 - n)
    cache.keep(path_of(cache, "p9"), b"x" * BYTES)
    assert len(names(cache)) == 10
    assert cache.cache_size() == CacheSize(10, 10 * BYTES, 10 * BYTES)


def test_a_file_beyond_the_limit_frees_a_tenth_of_it(cache: Cache) -> None:
    for n in range(9):
        put(cache, f"p{n}", 100 - n)
    put(cache, "small", size=1)
    cache.keep(path_of(cache, "new"), b"x" * BYTES)
    assert names(cache) == ["new", *(f"p{n}" for n in range(2, 9)), "small"]  # at most 900 of 1,000 bytes


def test_empty_parts_and_other_files_are_not_deleted(cache: Cache) -> None:
    put(cache, EMPTY_PART, LONG_AGO_S, 100 * BYTES)
    note = path_of(cache, "p").with_suffix(".txt")
    note.write_bytes(b"x" * 100 * BYTES)
    put(cache, "p1", LONG_AGO_S)
    cache.trim()
    assert names(cache) == sorted([EMPTY_PART, "p1"])
    assert note.exists()
    assert cache.cache_size().n_files == 1


def test_files_touched_within_a_reading_stay_until_it_ends(cache: Cache) -> None:
    old = [put(cache, f"p{n}", 100 - n) for n in range(10)]
    with cache.reading():
        assert cache.touch([*old[:2], path_of(cache, "gone")]) == [path_of(cache, "gone")]
        assert old[0].stat().st_mtime > time.time() - 60
        for name in ("a", "b", "c"):
            cache.keep(path_of(cache, name), b"x" * BYTES)
        assert {"p0", "p1", "a", "b", "c"} <= set(names(cache))
        assert "p2" not in names(cache)
        put_more = [put(cache, f"q{n}", -60) for n in range(9)]
        cache.trim()
        assert {path.stem for path in put_more} <= set(names(cache))  # above the limit, all in use
        assert cache.cache_size().bytes > cache.limit
    assert cache.cache_size().bytes <= cache.limit  # the reading that used the files has ended
    assert list((cache.folder / ".reading").iterdir()) == []


def test_files_are_listed_only_after_a_number_of_new_bytes(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SCAN_EVERY", 10 * BYTES)
    looks: list[int] = []
    trim = Cache.trim
    monkeypatch.setattr(Cache, "trim", lambda self: (looks.append(1), trim(self))[1])
    with cache.reading():
        pass
    assert not looks  # no file was cached yet
    for n in range(12):
        cache.keep(path_of(cache, f"p{n}"), b"x" * BYTES)
    # The first look is at once, since the folder's content is unknown; the next after ten further files.
    assert len(looks) == 2


def test_marks_of_killed_readers_are_removed_and_keep_no_file(cache: Cache) -> None:
    put(cache, "old", 50, 20 * BYTES)
    marks = cache.folder / ".reading"
    with cache.reading():
        pass
    mark = marks / "killed"
    mark.write_bytes(b"")
    os.utime(mark, (time.time() - LONG_AGO_S,) * 2)
    cache.trim()
    assert not mark.exists()
    assert names(cache) == []


def test_the_oldest_of_several_readings_decides(cache: Cache) -> None:
    assert cache._oldest_reading() == module._NOBODY
    with cache.reading():
        first = cache._oldest_reading()
        with cache.reading():
            assert cache._oldest_reading() == first
        assert cache._oldest_reading() == first <= time.time_ns()
    assert cache._oldest_reading() == module._NOBODY


def test_one_thread_at_a_time_trims(cache: Cache) -> None:
    put(cache, "old", 50, 20 * BYTES)
    with cache._state.turn:
        cache.trim()
        assert names(cache) == ["old"]
    cache.trim()
    assert names(cache) == []


def test_the_lock_of_a_reading_is_released(cache: Cache) -> None:
    with cache.reading():
        pass
    with (cache.folder / ".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_caches_of_one_folder_share_their_state(cache: Cache, tmp_path: Path) -> None:
    assert Cache(cache.folder)._state is cache._state
    assert Cache(tmp_path / "other")._state is not cache._state


@pytest.mark.parametrize(
    ("replaced_s", "is_read", "stays"), [(30, False, True), (700, False, False), (700, True, False)]
)
def test_a_replaced_published_file_is_deleted_after_ten_minutes(
    cache: Cache, replaced_s: int, is_read: bool, stays: bool
) -> None:
    store = cache.folder / "store"
    store.mkdir(parents=True)
    for version, age_s in ((1, 5_000), (2, replaced_s)):
        path = store / f"{version:08}-x.duckdb"
        path.write_bytes(b"x")
        os.utime(path, (time.time() - age_s,) * 2)
    if is_read:  # by a reader that began after the file was replaced
        with cache.reading():
            cache.remove_replaced(store)
    cache.remove_replaced(store)
    assert [path.name for path in sorted(store.glob("*.duckdb"))][-1] == "00000002-x.duckdb"
    assert (store / "00000001-x.duckdb").exists() == stays


def test_a_replaced_published_file_stays_for_earlier_readers(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FILES_STAY_S", 0)
    store = cache.folder / "store"
    store.mkdir(parents=True)
    old, new = store / "00000001-x.duckdb", store / "00000002-x.duckdb"
    old.write_bytes(b"x")
    os.utime(old, (time.time() - 50,) * 2)
    with cache.reading():
        (mark,) = (cache.folder / ".reading").iterdir()
        os.utime(mark, (time.time() - 20,) * 2)
        new.write_bytes(b"x")
        os.utime(new, (time.time() - 10,) * 2)
        cache.remove_replaced(store)
        assert old.exists()
    cache.trim()
    assert not old.exists()
    assert new.exists()


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new" / "file"
    module.write_anew(path, b"first")
    module.write_anew(path, b"second")
    assert path.read_bytes() == b"second"

    def fail(self: Path, target: Path) -> Path:
        raise OSError("the machine is tired")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="tired"):
        module.write_anew(path, b"third")
    assert [file.name for file in path.parent.iterdir()] == ["file"]
    assert path.read_bytes() == b"second"


@pytest.mark.parametrize(
    ("text", "limit"), [("0", 0), ("0.5", 500_000_000), ("", 20 * 10**9), (None, 20 * 10**9)]
)
def test_the_limit_is_in_gigabytes_with_a_default_of_20(
    text: str | None, limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(CACHE_GB, raising=False)
    if text is not None:
        monkeypatch.setenv(CACHE_GB, text)
    assert Cache(tmp_path).limit == limit


@pytest.mark.parametrize("text", ["-1", "inf", "nan", "many"])
def test_a_wrong_limit_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_GB, text)
    with pytest.raises(WarehouseError, match=f"{CACHE_GB} is '{text}': set it to"):
        Cache(Path())
