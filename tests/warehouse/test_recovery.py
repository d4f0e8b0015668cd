"""Bit rot is detected, never read as data and never a panic; many parts become few."""

import os
import random
import shutil
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest

import warehouse.connection as connection_module
import warehouse.parts as parts_module
import warehouse.recovery as recovery_module
from tests.warehouse.rows import logprobs, make_run, one_write, store_part
from warehouse import (
    CorruptPart,
    Run,
    Warehouse,
    WarehouseError,
    compact_parts,
    finish_run,
    part_path,
    read_answers,
    read_part,
    register_orphans,
    register_parts,
    run_checks,
    save_run,
    verify_parts,
    write_part,
)
from warehouse.part_kinds import KINDS, empty_part

KIND = "item_logprob"
COLUMNS = ("request_hash", "country", "item", "logprob", "n_tokens", "run_id")
SHOWN = f"SELECT {', '.join(COLUMNS)} FROM item_logprob ORDER BY ALL"


def finished(warehouse: Warehouse, run: Run) -> None:
    with warehouse.write() as connection:
        save_run(connection, run)
        finish_run(connection, run.run_id)


def files(warehouse: Warehouse) -> set[str]:
    return {file.stem for file in (warehouse.home / "parts" / KIND).glob("[!_]*.parquet")}


# --- bit rot


@pytest.mark.heavy
def test_a_flipped_bit_anywhere_in_a_part_is_an_error(warehouse: Warehouse) -> None:
    """Flips 300 single bits, anywhere in the file; without the hash about 60 were read as other numbers."""
    codes = warehouse.query("SELECT country FROM country")["country"]
    path = store_part(warehouse, logprobs(" ".join(codes)))
    content, times = path.read_bytes(), path.stat()
    where = random.Random(11)
    for _ in range(300):
        rotten = bytearray(content)
        rotten[where.randrange(len(content))] ^= 1 << where.randrange(8)
        path.write_bytes(rotten)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # bit rot does not change the file's times
        with pytest.raises(CorruptPart, match="does not match the hash in its name"):
            read_answers(warehouse, KIND, "q1", ["FR"], ["logprob"])
        assert not path.exists()
    path.write_bytes(content)
    assert read_answers(warehouse, KIND, "q1", ["FR"], ["logprob"]).height == 2


def test_verify_finds_a_flipped_bit(warehouse: Warehouse) -> None:
    good, path = store_part(warehouse, logprobs("FR")), store_part(warehouse, logprobs("IT"), "rotten")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    assert verify_parts(warehouse).select("part", "n_units").rows() == [(path.stem, 1)]
    assert (warehouse.home / "quarantine" / KIND / path.name).exists()
    assert warehouse.query("SELECT part FROM part_unit")["part"].to_list() == [good.stem]


def test_a_damaged_empty_part_is_written_again(warehouse: Warehouse) -> None:
    """Every view reads an empty part, so nothing could be opened without it."""
    path = empty_part(warehouse.home, KINDS[KIND])
    content = path.read_bytes()
    path.write_bytes(b"PAR1" + bytes(len(content)))
    connection_module._current.clear()  # as in a new process
    assert Warehouse.open(warehouse.home).query(f"SELECT count(*) FROM {KIND}").item() == 0
    assert path.read_bytes() == content


class Panic(BaseException):
    """As pyo3's PanicException: no Exception."""


def test_a_panic_of_the_reader_sets_the_part_aside(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store_part(warehouse, logprobs())

    def panic(*_: object, **__: object) -> pl.DataFrame:
        raise Panic("range end index 9 out of range")

    monkeypatch.setattr(parts_module.pl, "scan_parquet", panic)
    problems = verify_parts(warehouse)
    assert problems["part"].to_list() == [path.stem]
    assert "range end index" in problems["problem"].item()


@pytest.mark.parametrize(
    "error",
    [
        KeyboardInterrupt(),
        MemoryError(),
        OSError(24, "Too many open files"),
        OSError(5, "Input/output error"),
    ],
)
def test_only_a_read_error_of_the_disk_makes_a_part_corrupt(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    path = store_part(warehouse, logprobs())

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Path, "read_bytes", fail)
    is_damage = isinstance(error, OSError) and error.errno == 5
    with pytest.raises(CorruptPart if is_damage else type(error)):
        read_part(warehouse.home, KIND, path.stem)
    assert path.exists() != is_damage


# --- many parts made few


def many(warehouse: Warehouse, n: int, run_id: str = "r1") -> list[Path]:
    """Write n parts, each of another request of one run, with two countries each."""
    paths = []
    with one_write(warehouse):
        for number in range(n):
            frame = logprobs("FR IT", request=f"{run_id}-{number:03}", run_id=run_id, base=-1.0 - number)
            paths.append(store_part(warehouse, frame, f"{run_id}{number:03}"))
    return paths


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four parts are many already."""
    monkeypatch.setattr(recovery_module, "_MANY", 4)


@pytest.mark.usefixtures("few")
def test_parts_of_a_finished_run_become_one(warehouse: Warehouse) -> None:
    many(warehouse, 5)
    many(warehouse, 3, "r2")
    many(warehouse, 5, "running")
    for run_id in ("r1", "r2"):
        finished(warehouse, make_run(run_id))
    before = warehouse.query(SHOWN)
    with warehouse.read() as old:
        assert compact_parts(warehouse) == []
        assert old.execute("SELECT count(*) FROM item_logprob").fetchone() == (before.height,)
    assert warehouse.query(SHOWN).equals(before)
    by_run = "SELECT run_id, count(DISTINCT part) AS n FROM part_unit GROUP BY ALL ORDER BY ALL"
    assert warehouse.query(by_run).rows() == [("r1", 1), ("r2", 3), ("running", 5)]
    answers = read_answers(warehouse, KIND, "r1-003", ["IT"], ["country", "logprob"])
    assert answers.rows() == [("IT", -4.0), ("IT", -5.0)]
    assert verify_parts(warehouse).is_empty()
    assert run_checks(warehouse)["n_violations"].sum() == 0
    version = warehouse.path.stat().st_ino
    assert compact_parts(warehouse) == []
    assert register_orphans(warehouse, KIND) == ([], [])
    assert warehouse.path.stat().st_ino == version  # the second call changes nothing


@pytest.mark.heavy
@pytest.mark.usefixtures("few")
def test_replaced_part_files_stay_for_a_day(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    old = {path.stem for path in many(warehouse, 4)}
    finished(warehouse, make_run())
    compact_parts(warehouse)
    assert old < files(warehouse)
    monkeypatch.setattr(recovery_module, "SUPERSEDED_STAY", -recovery_module.SUPERSEDED_STAY)
    shown = warehouse.query(SHOWN)
    compact_parts(warehouse)
    assert files(warehouse) == set(warehouse.query("SELECT part FROM part_unit")["part"])
    assert warehouse.query("FROM superseded_part").is_empty()
    assert warehouse.query(SHOWN).equals(shown)


@pytest.mark.heavy
@pytest.mark.usefixtures("few")
def test_compaction_takes_registered_rows_only(warehouse: Warehouse) -> None:
    many(warehouse, 4)
    store_part(warehouse, logprobs("FR", request="r1-001", run_id="r2", base=-50.0), "other", replace=True)
    finished(warehouse, make_run())
    before = warehouse.query(SHOWN)
    compact_parts(warehouse)
    assert warehouse.query(SHOWN).equals(before)
    together = warehouse.query("SELECT DISTINCT part FROM part_unit WHERE run_id = 'r1'").item()
    assert read_part(warehouse.home, KIND, together).height == before.height - 2


@pytest.mark.usefixtures("few")
def test_compaction_sets_a_rotten_part_aside(warehouse: Warehouse) -> None:
    rotten = many(warehouse, 5)[2]
    rotten.write_bytes(rotten.read_bytes()[:-9])
    finished(warehouse, make_run())
    assert compact_parts(warehouse) == [rotten.stem]
    assert warehouse.query("SELECT count(*) FROM part_unit").item() == 8
    assert warehouse.query(SHOWN).height == 16


@pytest.mark.heavy
@pytest.mark.usefixtures("few")
def test_a_compaction_killed_before_moving_is_completed_by_the_next(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(warehouse, 4)
    finished(warehouse, make_run())
    before = warehouse.query(SHOWN)
    with monkeypatch.context() as patch:
        fails = "SELECT * FROM no_such_table WHERE $into = $written_at OR $kind"
        patch.setattr(recovery_module, "_MOVE", fails)
        with pytest.raises(Exception, match="no_such_table"):
            compact_parts(warehouse)
    assert warehouse.query(SHOWN).equals(before)
    assert register_orphans(warehouse, KIND) == ([], [])  # the large part has no new units
    compact_parts(warehouse)
    assert warehouse.query(SHOWN).equals(before)
    assert warehouse.query("SELECT count(DISTINCT part) FROM part_unit").item() == 1
    registered = "SELECT count(*) FROM superseded_part SEMI JOIN part_unit USING (kind, part)"
    assert warehouse.query(registered).item() == 0


@pytest.mark.heavy
@pytest.mark.usefixtures("few")
def test_the_old_parts_are_registered_again_if_the_large_one_rots(warehouse: Warehouse) -> None:
    many(warehouse, 4)
    finished(warehouse, make_run())
    before = warehouse.query(SHOWN)
    compact_parts(warehouse)
    large = warehouse.query("SELECT DISTINCT part FROM part_unit").item()
    part_path(warehouse.home, KIND, large).write_bytes(b"")
    assert verify_parts(warehouse)["n_units"].item() == 8
    assert len(register_orphans(warehouse, KIND).registered) == 4
    assert warehouse.query(SHOWN).equals(before)


def test_a_lost_database_is_restored_from_its_parts(warehouse: Warehouse, few: None) -> None:
    many(warehouse, 5)
    finished(warehouse, make_run())
    before = warehouse.query(SHOWN)
    compact_parts(warehouse)
    warehouse.path.rename(warehouse.home / "damaged")
    again = Warehouse.open(warehouse.home)
    register_orphans(again, KIND)
    assert again.query(SHOWN).equals(before)


# --- restored from a copy, then checked

DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "no Parquet": lambda content: b"<html>not found</html>",
    "zeros": lambda content: bytes(len(content)),
    "footer": lambda content: content[:-12] + bytes(8) + content[-4:],
    "a bit": lambda content: content[:40] + bytes([content[40] ^ 1]) + content[41:],
    "other columns": lambda content: parquet(pl.DataFrame({"x": [1]})),
}


def parquet(frame: pl.DataFrame) -> bytes:
    content = BytesIO()
    frame.write_parquet(content)
    return content.getvalue()


def rows_of(kind: str) -> pl.DataFrame:
    """Return one row of any kind."""
    columns = {name: type_ for name, type_ in KINDS[kind].columns.items() if name != "part"}
    texts = {"request_hash": "q", "run_id": "r"}
    cells = {n: [texts.get(n, "x") if t == pl.String else None] for n, t in columns.items()}
    frame = pl.DataFrame(cells, schema=columns)
    numbers = [n for n, t in columns.items() if t.is_numeric() or t == pl.Boolean]
    lists = [n for n, t in columns.items() if t.is_nested()]
    return frame.with_columns(
        *(pl.lit(0).cast(columns[name]).alias(name) for name in numbers),
        *(pl.Series(name, [[]], dtype=columns[name]) for name in lists),
    )


@pytest.mark.nets(1)
@pytest.mark.parametrize(
    ("damage", "is_moved"),
    [
        ("footer", True),
        *(
            pytest.param(damage, damage != "a bit", marks=pytest.mark.heavy)
            for damage in DAMAGE
            if damage != "footer"
        ),
        pytest.param("no Parquet", False, marks=pytest.mark.heavy),
    ],
)
def test_a_restored_home_with_damaged_parts_is_opened_and_checked(
    warehouse: Warehouse, tmp_path: Path, damage: str, is_moved: bool
) -> None:
    """One registered and one unregistered part of every kind is damaged."""
    units = {
        kind: [write_part(warehouse.home, kind, n, rows_of(kind)) for n in ("p1", "p2")] for kind in KINDS
    }
    with warehouse.write() as connection:  # the second part is not registered, since the first has its units
        register_parts(connection, [first for first, _ in units.values()])
    home = tmp_path / "elsewhere"
    shutil.copytree(warehouse.home, home)
    if not is_moved:
        shutil.rmtree(warehouse.home)
        home = home.rename(warehouse.home)
    names = {(kind, each["part"][0]) for kind, both in units.items() for each in both}
    for kind, part in names:
        path = part_path(home, kind, part)
        path.write_bytes(DAMAGE[damage](path.read_bytes()))
    connection_module._current.clear()  # as in a new process
    restored = Warehouse.open(home)
    assert restored.query("SELECT count(*) FROM country").item() > 100
    for kind in KINDS:
        with pytest.raises(WarehouseError, match="culturemeter check"):
            restored.query(f"FROM {kind}")
    problems = verify_parts(restored)
    assert set(problems.select("kind", "part").rows()) == names
    assert {path.stem for path in (home / "quarantine").rglob("*.parquet")} == {part for _, part in names}
    for kind in KINDS:
        assert restored.query(f"FROM {kind}").is_empty()
    assert not run_checks(restored)["n_violations"].sum()
