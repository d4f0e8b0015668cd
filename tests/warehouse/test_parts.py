"""Parts: written whole, checked, registered once, recovered after kills and damage."""

import errno
import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path

import duckdb
import polars as pl
import pytest

from warehouse import (
    CorruptPart,
    Warehouse,
    WarehouseError,
    part_path,
    read_part,
    register_orphans,
    register_parts,
    verify_parts,
    write_part,
)
from warehouse.storage import is_disk_full

LogprobRows = Callable[..., pl.DataFrame]
StartPython = Callable[[str, Path], "subprocess.Popen[str]"]

KIND = "item_logprob"
SHOWN = "SELECT country, item, logprob, part, run_id FROM item_logprob ORDER BY ALL"

FULL_DISK = """
import pathlib, resource, signal, sys
import polars as pl
from warehouse import WarehouseError, write_part
frame = pl.DataFrame({
    "request_hash": "q", "run_id": "r", "model": "m", "domain": "d", "question": "q", "country": "FR",
    "item": pl.Series([str(hash(str(i))) for i in range(50_000)]), "logprob": -1.0, "n_tokens": 1})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    write_part(pathlib.Path(sys.argv[1]), "item_logprob", "big", frame)
except WarehouseError as error:
    print(error)
"""


def write(warehouse: Warehouse, name: str, frame: pl.DataFrame) -> Path:
    """A part that is not registered."""
    return part_path(warehouse.home, KIND, write_part(warehouse.home, KIND, name, frame)["part"][0])


def store(warehouse: Warehouse, name: str, frame: pl.DataFrame, *, replace: bool = False) -> Path:
    """A registered part."""
    units = write_part(warehouse.home, KIND, name, frame)
    with warehouse.write() as connection:
        register_parts(connection, [units], replace=replace)
    return part_path(warehouse.home, KIND, units["part"][0])


def plain(parts: Iterable[str]) -> list[str]:
    """Names of parts without the hash of their content."""
    return [part.split("-")[0] for part in parts]


def corrupt(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3 : len(content) // 2] = os.urandom(len(content) // 2 - len(content) // 3)
    path.write_bytes(content)


def test_a_part_comes_back_as_it_was_written(warehouse: Warehouse, logprobs: LogprobRows) -> None:
    frame = logprobs()
    path = write(warehouse, "p1", frame.reverse().select(sorted(frame.columns)))
    back = read_part(warehouse.home, KIND, path.stem)
    assert path.stem == f"p1-{hashlib.sha256(path.read_bytes()).hexdigest()[:32]}"
    assert back["part"].to_list() == [path.stem] * 4
    assert back.drop("part").reverse().equals(frame.cast({"logprob": pl.Float32, "n_tokens": pl.Int16}))


def test_parts_are_compressed_and_texts_dictionary_encoded(
    warehouse: Warehouse, logprobs: LogprobRows
) -> None:
    path = write(warehouse, "p1", logprobs())
    facts = duckdb.execute(
        "SELECT path_in_schema, compression, encodings FROM parquet_metadata(?)", [str(path)]
    )
    for column, compression, encodings in facts.fetchall():
        assert compression == "ZSTD"
        assert "DICTIONARY" in encodings or column == "logprob", column


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop("item"), "columns are"),
        (lambda f: f.clear(), "has no rows"),
        (lambda f: f.with_columns(logprob=pl.lit(float("nan"))), "column logprob: .*empty or NaN"),
        (lambda f: f.with_columns(item=pl.lit(None)), "column item: .*empty or NaN"),
        (lambda f: f.with_columns(logprob=pl.lit("much")), "cannot be cast"),
        (lambda f: f.with_columns(run_id=f["country"]), "column run_id: all rows of a part must have"),
        (lambda f: pl.concat([f, f]), r"rows repeat at \['FR', 'euro'\]"),
    ],
)
def test_frames_that_are_not_of_the_kind_are_refused(
    warehouse: Warehouse, logprobs: LogprobRows, change: "LogprobRows", message: str
) -> None:
    with pytest.raises(WarehouseError, match=f"part item_logprob/p1.*{message}"):
        write_part(warehouse.home, KIND, "p1", change(logprobs()))
    assert os.listdir(warehouse.home / "parts" / KIND) == ["_empty.parquet"]


@pytest.mark.parametrize("name", ["_empty", "../p", "", ".p"])
def test_names_stay_in_the_folder(warehouse: Warehouse, logprobs: LogprobRows, name: str) -> None:
    with pytest.raises(WarehouseError, match="not a valid part name"):
        write_part(warehouse.home, KIND, name, logprobs())


def test_unknown_kind(warehouse: Warehouse, logprobs: LogprobRows) -> None:
    with pytest.raises(WarehouseError, match="unknown part kind 'verse'; known: candidate_score, "):
        write_part(warehouse.home, "verse", "p1", logprobs())


def test_full_disk_leaves_no_part(warehouse: Warehouse, start_python: StartPython) -> None:
    process = start_python(FULL_DISK, warehouse.home)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "no room to write" in output
    assert os.listdir(warehouse.home / "parts" / KIND) == ["_empty.parquet"]


def test_what_counts_as_a_full_disk() -> None:
    assert is_disk_full(OSError(errno.ENOSPC, "x"))
    assert is_disk_full(duckdb.IOException(f"Could not write: {os.strerror(errno.ENOSPC)}"))
    assert not is_disk_full(OSError(errno.EACCES, "x"))


def test_unregistered_rows_never_show(warehouse: Warehouse, logprobs: LogprobRows) -> None:
    write_part(warehouse.home, KIND, "p1", logprobs())
    assert warehouse.query(SHOWN).height == 0


def test_first_registration_keeps_its_units(warehouse: Warehouse, logprobs: LogprobRows) -> None:
    store(warehouse, "p1", logprobs("FR IT"))
    store(warehouse, "p2", logprobs("IT JP", base=-5.0))
    shown = warehouse.query(SHOWN)
    by_country = shown.select("country", "part").unique().sort("country")
    assert by_country["country"].to_list() == ["FR", "IT", "JP"]
    assert plain(by_country["part"]) == ["p1", "p1", "p2"]


def test_refresh_replaces_without_duplicates(warehouse: Warehouse, logprobs: LogprobRows) -> None:
    store(warehouse, "p1", logprobs("FR IT"))
    store(warehouse, "p2", logprobs("IT", base=-5.0, run_id="r2"), replace=True)
    shown = warehouse.query(SHOWN)
    assert shown.filter(country="IT")["logprob"].to_list() == [-5.0, -6.0]
    assert plain(shown.filter(country="FR")["part"]) == ["p1", "p1"]


@pytest.mark.parametrize("replace", [False, True])
def test_of_parts_that_come_together_one_answers_a_unit(
    warehouse: Warehouse, logprobs: LogprobRows, replace: bool
) -> None:
    both = [logprobs("FR IT", base=-1.0), logprobs("IT JP", base=-5.0)]
    units = [write_part(warehouse.home, KIND, f"p{n}", frame) for n, frame in enumerate(both)]
    with warehouse.write() as connection:
        register_parts(connection, units, replace=replace)
    highest = "SELECT country, max(logprob) FROM item_logprob GROUP BY ALL ORDER BY ALL"
    italy = -5.0 if replace else -1.0
    assert warehouse.query(highest).rows() == [("FR", -1.0), ("IT", italy), ("JP", -5.0)]


def test_a_part_never_overwrites_another(warehouse: Warehouse, logprobs: LogprobRows) -> None:
    first = store(warehouse, "p1", logprobs("FR"))
    with warehouse.read() as old:
        second = store(warehouse, "p1", logprobs("FR", run_id="r2", base=-3.0), replace=True)
        assert old.execute("SELECT DISTINCT part, logprob FROM item_logprob ORDER BY 2").fetchall() == [
            (first.stem, -2.0),
            (first.stem, -1.0),
        ]
    assert warehouse.query("SELECT DISTINCT part, logprob FROM item_logprob ORDER BY 2").rows() == [
        (second.stem, -4.0),
        (second.stem, -3.0),
    ]
    assert warehouse.query("SELECT run_id FROM part_unit").item() == "r2"


def test_similarity_shows_each_pair_once_and_five_neighbours(warehouse: Warehouse) -> None:
    codes = ["DE", "ES", "FR", "GB", "IT", "JP", "US"]
    rows = [(a, b, 1 / (1 + j - i)) for i, a in enumerate(codes) for j, b in enumerate(codes) if i < j]
    frame = pl.DataFrame(rows, schema=["country_a", "country_b", "similarity"], orient="row").with_columns(
        request_hash=pl.lit("q"), run_id=pl.lit("r"), model=pl.lit("m"), domain=pl.lit("currency")
    )
    with warehouse.write() as connection:
        register_parts(connection, [write_part(warehouse.home, "country_similarity", "s1", frame)])
    assert warehouse.query("SELECT * FROM country_similarity").height == 7 * 6 / 2
    neighbours = warehouse.query(
        "SELECT rank, neighbour FROM country_neighbour WHERE country = 'ES' ORDER BY rank"
    )
    assert neighbours.rows() == [(1, "DE"), (2, "FR"), (3, "GB"), (4, "IT"), (5, "JP")]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not parquet at all, and rather longer than that"])
def test_corrupt_part_is_set_aside_and_the_rest_is_readable(
    warehouse: Warehouse, logprobs: LogprobRows, content: bytes
) -> None:
    store(warehouse, "p1", logprobs("FR"))
    broken = store(warehouse, "p2", logprobs("IT"))
    broken.write_bytes(content)
    with pytest.raises(CorruptPart, match=r"p2-\w+\.parquet is corrupt.*quarantine/.*culturescope check"):
        read_part(warehouse.home, KIND, broken.stem)
    assert (warehouse.home / "quarantine" / KIND / broken.name).read_bytes() == content
    assert warehouse.query(SHOWN)["country"].to_list() == ["FR", "FR"]


def test_verify_unregisters_what_is_missing_corrupt_or_short(
    warehouse: Warehouse, logprobs: LogprobRows
) -> None:
    store(warehouse, "good", logprobs("FR"))
    store(warehouse, "gone", logprobs("IT ES")).unlink()
    torn = store(warehouse, "torn", logprobs("JP"))
    torn.write_bytes(torn.read_bytes()[:-20])
    short = write(warehouse, "short", logprobs("US"))
    with warehouse.write() as connection:
        units = write_part(warehouse.home, KIND, "long", logprobs("US CA"))
        part_path(warehouse.home, KIND, units["part"][0]).unlink()
        register_parts(connection, [units.with_columns(part=pl.lit(short.stem))])
    problems = verify_parts(warehouse)
    assert plain(problems["part"]) == ["gone", "short", "torn"]
    assert problems["n_units"].to_list() == [2, 2, 1]
    assert problems["problem"][0] == "the file is missing"
    assert "('q1', 'CA', 2)" in problems["problem"][1]
    assert "quarantine" in problems["problem"][2]
    assert warehouse.query("SELECT unit FROM part_unit")["unit"].to_list() == ["FR"]
    assert register_orphans(warehouse, KIND).registered == [short.stem]
    assert verify_parts(warehouse).height == 0


def test_overwritten_bytes_are_found(warehouse: Warehouse, logprobs: LogprobRows) -> None:
    path = store(warehouse, "p1", logprobs("FR IT ES JP US"))
    corrupt(path)
    assert verify_parts(warehouse)["part"].to_list() == [path.stem]


def test_missing_part_says_what_to_do(warehouse: Warehouse) -> None:
    with pytest.raises(WarehouseError, match=r"there is no part .*p9\.parquet.*culturescope check"):
        read_part(warehouse.home, KIND, "p9")


def test_orphans_of_a_killed_run_are_registered(warehouse: Warehouse, logprobs: LogprobRows) -> None:
    known = store(warehouse, "known", logprobs("FR"))
    orphan = write(warehouse, "orphan", logprobs("FR IT", run_id="r2", base=-5.0))
    superseded = write(warehouse, "superseded", logprobs("FR", base=-7.0))
    rotten = write(warehouse, "rotten", logprobs("JP"))
    rotten.write_bytes(rotten.read_bytes()[:-1] + b"?")
    part_path(warehouse.home, KIND, "broken").write_bytes(b"PAR1")
    assert register_orphans(warehouse, KIND) == ([orphan.stem], ["broken", rotten.stem])
    units = warehouse.query("SELECT unit, part, run_id, n_rows FROM part_unit ORDER BY unit")
    assert units.rows() == [("FR", known.stem, "r1", 2), ("IT", orphan.stem, "r2", 2)]
    assert warehouse.query("SELECT kind, part FROM superseded_part").rows() == [(KIND, superseded.stem)]


def test_orphans_are_registered_in_one_transaction(
    warehouse: Warehouse, logprobs: LogprobRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        write(warehouse, f"p{number:02}", logprobs("FR IT", request=f"q{number // 2}"))
    n_writes = count()
    counted_write = Warehouse.write

    def counted(self: Warehouse) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        next(n_writes)
        return counted_write(self)

    monkeypatch.setattr(Warehouse, "write", counted)
    # Of two that answer the same, the first in the order of names.
    registered = register_orphans(warehouse, KIND).registered
    assert plain(registered) == [f"p{number:02}" for number in range(0, 20, 2)]
    assert next(n_writes) == 1
    assert warehouse.query("SELECT count(*) FROM part_unit").item() == 20


def test_without_orphans_nothing_is_written(warehouse: Warehouse, logprobs: LogprobRows) -> None:
    store(warehouse, "known", logprobs("FR"))
    write(warehouse, "superseded", logprobs("FR", base=-7.0))
    assert register_orphans(warehouse, KIND) == ([], [])
    before = warehouse.path.stat().st_ino
    assert register_orphans(warehouse, KIND) == ([], [])
    assert warehouse.path.stat().st_ino == before


def test_old_temporary_files_are_removed_and_new_ones_are_not(warehouse: Warehouse) -> None:
    folder = warehouse.home / "parts" / KIND
    for name, age in {".old.parquet.1.tmp": 7200, ".new.parquet.2.tmp": 0}.items():
        (folder / name).touch()
        os.utime(folder / name, (time.time() - age,) * 2)
    register_orphans(warehouse, KIND)
    assert sorted(os.listdir(folder)) == [".new.parquet.2.tmp", "_empty.parquet"]
