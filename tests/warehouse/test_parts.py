"""Parts: written whole, checked, registered once, recovered after kills and damage."""

import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path

import duckdb
import polars as pl
import pytest

from tests.warehouse.rows import logprobs, start_python, store_part
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

KIND = "item_logprob"
BROKEN = f"broken-{'0' * 32}"
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
    """Return the file of a part that is not registered."""
    return part_path(warehouse.home, KIND, write_part(warehouse.home, KIND, name, frame)["part"][0])


def plain(parts: Iterable[str]) -> list[str]:
    """Return names of parts without the hash of their content."""
    return [part.split("-")[0] for part in parts]


def test_a_part_is_read_as_written_and_named_by_its_content(warehouse: Warehouse) -> None:
    frame = logprobs()
    path = write(warehouse, "p1", frame.reverse().select(sorted(frame.columns)))
    read = read_part(warehouse.home, KIND, path.stem)
    assert path.stem == f"p1-{hashlib.sha256(path.read_bytes()).hexdigest()[:32]}"
    assert read["part"].to_list() == [path.stem] * 4
    assert read["prompt"].null_count() == read.height  # a column that may be left out
    assert (
        read.drop("part", "prompt")
        .reverse()
        .equals(frame.cast({"logprob": pl.Float32, "n_tokens": pl.Int16}))
    )


def test_parts_are_compressed_and_texts_dictionary_encoded(warehouse: Warehouse) -> None:
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
    warehouse: Warehouse, change: Callable[..., pl.DataFrame], message: str
) -> None:
    with pytest.raises(WarehouseError, match=f"part item_logprob/p1.*{message}"):
        write_part(warehouse.home, KIND, "p1", change(logprobs()))
    assert os.listdir(warehouse.home / "parts" / KIND) == ["_empty.parquet"]


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        *((KIND, name, "not a valid part name") for name in ("_empty", "../p", "", ".p")),
        ("verse", "p1", "unknown part kind 'verse'; known: answer_loss, candidate_score, "),
    ],
)
def test_wrong_names_of_parts_and_unknown_kinds_are_refused(
    warehouse: Warehouse, kind: str, name: str, message: str
) -> None:
    with pytest.raises(WarehouseError, match=message):
        write_part(warehouse.home, kind, name, logprobs())


def test_error_on_a_missing_part_names_the_file(warehouse: Warehouse) -> None:
    with pytest.raises(WarehouseError, match=r"there is no part .*p9-0*\.parquet.*culturemeter check"):
        read_part(warehouse.home, KIND, f"p9-{'0' * 32}")


def test_full_disk_leaves_no_part(warehouse: Warehouse) -> None:
    process = start_python(FULL_DISK, warehouse.home)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "no room to write" in output
    assert os.listdir(warehouse.home / "parts" / KIND) == ["_empty.parquet"]


def test_a_full_disk_is_distinguished_from_other_errors() -> None:
    assert is_disk_full(OSError(errno.ENOSPC, "x"))
    assert is_disk_full(duckdb.IOException(f"Could not write: {os.strerror(errno.ENOSPC)}"))
    assert not is_disk_full(OSError(errno.EACCES, "x"))


def test_the_first_registration_of_a_unit_wins(warehouse: Warehouse) -> None:
    write(warehouse, "p0", logprobs("FR", base=-9.0))
    assert warehouse.query(SHOWN).is_empty(), "a part that is not registered shows no row"
    store_part(warehouse, logprobs("FR IT"), "p1")
    store_part(warehouse, logprobs("IT JP", base=-5.0), "p2")
    shown = warehouse.query(SHOWN)
    by_country = shown.select("country", "part").unique().sort("country")
    assert by_country["country"].to_list() == ["FR", "IT", "JP"]
    assert plain(by_country["part"]) == ["p1", "p1", "p2"]


def test_registering_with_replace_replaces_without_duplicates(warehouse: Warehouse) -> None:
    store_part(warehouse, logprobs("FR IT"), "p1")
    store_part(warehouse, logprobs("IT", base=-5.0, run_id="r2"), "p2", replace=True)
    shown = warehouse.query(SHOWN)
    assert shown.filter(country="IT")["logprob"].to_list() == [-5.0, -6.0]
    assert plain(shown.filter(country="FR")["part"]) == ["p1", "p1"]


@pytest.mark.parametrize("replace", [False, True])
def test_parts_registered_together_give_each_unit_once(warehouse: Warehouse, replace: bool) -> None:
    both = [logprobs("FR IT", base=-1.0), logprobs("IT JP", base=-5.0)]
    units = [write_part(warehouse.home, KIND, f"p{n}", frame) for n, frame in enumerate(both)]
    with warehouse.write() as connection:
        register_parts(connection, units, replace=replace)
    highest = "SELECT country, max(logprob) FROM item_logprob GROUP BY ALL ORDER BY ALL"
    italy = -5.0 if replace else -1.0
    assert warehouse.query(highest).rows() == [("FR", -1.0), ("IT", italy), ("JP", -5.0)]


def test_a_part_never_overwrites_another(warehouse: Warehouse) -> None:
    first = store_part(warehouse, logprobs("FR"), "p1")
    by_part = "SELECT DISTINCT part, logprob FROM item_logprob ORDER BY 2"
    with warehouse.read() as old:
        second = store_part(warehouse, logprobs("FR", run_id="r2", base=-3.0), "p1", replace=True)
        assert old.execute(by_part).fetchall() == [(first.stem, -2.0), (first.stem, -1.0)]
    assert warehouse.query(by_part).rows() == [(second.stem, -4.0), (second.stem, -3.0)]
    assert warehouse.query("SELECT run_id FROM part_unit").item() == "r2"


def test_similarity_shows_each_pair_once_and_five_neighbours(warehouse: Warehouse) -> None:
    codes = ["DE", "ES", "FR", "GB", "IT", "JP", "US"]
    rows = [(a, b, 1 / (1 + j - i)) for i, a in enumerate(codes) for j, b in enumerate(codes) if i < j]
    frame = pl.DataFrame(rows, schema=["country_a", "country_b", "similarity"], orient="row").with_columns(
        request_hash=pl.lit("q"), run_id=pl.lit("r"), model=pl.lit("m"), domain=pl.lit("currency")
    )
    store_part(warehouse, frame, "s1", "country_similarity")
    assert warehouse.query("SELECT * FROM country_similarity").height == 7 * 6 / 2
    neighbours = warehouse.query(
        "SELECT rank, neighbour FROM country_neighbour WHERE country = 'ES' ORDER BY rank"
    )
    assert neighbours.rows() == [(1, "DE"), (2, "FR"), (3, "GB"), (4, "IT"), (5, "JP")]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not parquet at all, and rather longer than that"])
def test_corrupt_part_is_set_aside_and_the_rest_is_readable(warehouse: Warehouse, content: bytes) -> None:
    store_part(warehouse, logprobs("FR"), "p1")
    broken = store_part(warehouse, logprobs("IT"), "p2")
    broken.write_bytes(content)
    with pytest.raises(CorruptPart, match=r"p2-\w+\.parquet is corrupt.*quarantine/.*culturemeter check"):
        read_part(warehouse.home, KIND, broken.stem)
    assert (warehouse.home / "quarantine" / KIND / broken.name).read_bytes() == content
    assert warehouse.query(SHOWN)["country"].to_list() == ["FR", "FR"]


def test_missing_files_of_parts_are_told_once(warehouse: Warehouse, caplog: pytest.LogCaptureFixture) -> None:
    warehouse.register(write_part(warehouse.home, KIND, "here", logprobs("FR", "q1")))
    units = write_part(warehouse.home, KIND, "gone", logprobs("IT ES", "q2"))
    warehouse.register(units)
    assert warehouse.query(f"FROM {KIND}").height == 6
    assert not caplog.records
    part_path(warehouse.home, KIND, units["part"][0]).unlink()
    for _ in range(2):
        assert warehouse.query(f"FROM {KIND}").height == 2
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1
    assert "1 part is missing, and queries lack its rows" in told[0]


def test_verify_unregisters_missing_corrupt_and_short_parts(warehouse: Warehouse) -> None:
    store_part(warehouse, logprobs("FR"), "good")
    store_part(warehouse, logprobs("IT ES"), "gone").unlink()
    torn = store_part(warehouse, logprobs("JP"), "torn")
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


def test_orphans_of_a_killed_run_are_registered(warehouse: Warehouse) -> None:
    known = store_part(warehouse, logprobs("FR"), "known")
    orphan = write(warehouse, "orphan", logprobs("FR IT", run_id="r2", base=-5.0))
    superseded = write(warehouse, "superseded", logprobs("FR", base=-7.0))
    rotten = write(warehouse, "rotten", logprobs("JP"))
    rotten.write_bytes(rotten.read_bytes()[:-1] + b"?")
    part_path(warehouse.home, KIND, BROKEN).write_bytes(b"PAR1")
    assert register_orphans(warehouse, KIND) == ([orphan.stem], [BROKEN, rotten.stem])
    units = warehouse.query("SELECT unit, part, run_id, n_rows FROM part_unit ORDER BY unit")
    assert units.rows() == [("FR", known.stem, "r1", 2), ("IT", orphan.stem, "r2", 2)]
    assert warehouse.query("SELECT kind, part FROM superseded_part").rows() == [(KIND, superseded.stem)]


def test_orphans_are_registered_in_one_transaction(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        write(warehouse, f"p{number:02}", logprobs("FR IT", request=f"q{number // 2}"))
    n_writes = count()
    counted_write = Warehouse.write

    def counted(self: Warehouse) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        next(n_writes)
        return counted_write(self)

    monkeypatch.setattr(Warehouse, "write", counted)
    # Of two parts with the same units, the first by name is registered.
    registered = register_orphans(warehouse, KIND).registered
    assert plain(registered) == [f"p{number:02}" for number in range(0, 20, 2)]
    assert next(n_writes) == 1
    assert warehouse.query("SELECT count(*) FROM part_unit").item() == 20


def test_registering_no_orphans_writes_nothing(warehouse: Warehouse) -> None:
    store_part(warehouse, logprobs("FR"), "known")
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


def test_a_part_behind_a_broken_link_has_no_bytes(warehouse: Warehouse, tmp_path: Path) -> None:
    path = store_part(warehouse, logprobs(), "whole")
    path.with_stem(BROKEN).symlink_to(tmp_path / "nowhere")
    sizes = warehouse.store.part_sizes(KIND)
    assert (sizes[BROKEN], sizes[path.stem]) == (0, path.stat().st_size)
