"""Parts with hostile names and contents: none is shown, stops a command or leads outside."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest

from tests.warehouse.rows import logprobs, store_part
from warehouse import Warehouse, WarehouseError, part_path
from warehouse.copying import copy
from warehouse.local_store import LocalStore
from warehouse.recovery import compact_parts, register_orphans, run_checks, verify_parts

KIND, OTHER = "item_logprob", "verdict"
SHOWN = "SELECT * EXCLUDE (part) FROM item_logprob ORDER BY ALL"


@pytest.fixture(name="good")
def _good(warehouse: Warehouse) -> Path:
    """A registered part."""
    return store_part(warehouse, logprobs("FR"), "good")


def bytes_of(frame: pl.DataFrame) -> bytes:
    content = BytesIO()
    frame.write_parquet(content)
    return content.getvalue()


def hashed(name: str, content: bytes) -> str:
    return f"{name}-{sha256(content).hexdigest()[:32]}.parquet"


def folder(path: Path, good: Path) -> None:
    path.mkdir()
    (path / "inner.parquet").write_bytes(good.read_bytes())


def link(to: str) -> Callable[[Path, Path], None]:
    return lambda path, good: path.symlink_to(to)


NO_FILES: dict[str, Callable[[Path, Path], None]] = {
    "folder": folder,
    "pipe": lambda path, good: os.mkfifo(path),
    "link to nothing": link("/nowhere/at/all"),
    "link to itself": lambda path, good: path.symlink_to(path),
    "link to a secret": link("/etc/passwd"),
    "link to a folder": link("/etc"),
}


def forged(good: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> dict[str, bytes]:
    """Return a part of invented rows under its own hash."""
    frame = change(pl.read_parquet(good, glob=False).with_columns(request_hash=pl.lit("forged")))
    content = bytes_of(frame)
    return {hashed("forged", content): content}


FORGED: dict[str, Callable[[Path], dict[str, bytes]]] = {
    "another part's name": lambda good: {good.name.replace("good", "evil"): good.read_bytes() + b"\0"},
    "a wrong hash": lambda good: {f"evil-{'0' * 32}.parquet": good.read_bytes()},
    "NaN": lambda good: forged(good, lambda rows: rows.with_columns(logprob=pl.lit(float("nan")))),
    "empty cells": lambda good: forged(good, lambda rows: rows.with_columns(item=pl.lit(None, pl.String))),
    "texts for numbers": lambda good: forged(
        good, lambda rows: rows.with_columns(logprob=pl.lit("1; DROP TABLE run"))
    ),
    "rows twice": lambda good: forged(good, lambda rows: pl.concat([rows, rows])),
    "two runs": lambda good: forged(good, lambda rows: rows.with_columns(run_id=pl.Series(["a", "b"]))),
    "no rows": lambda good: forged(good, lambda rows: rows.clear()),
    "a column more": lambda good: forged(good, lambda rows: rows.with_columns(extra=pl.lit(1))),
    "a column less": lambda good: forged(good, lambda rows: rows.drop("logprob")),
    "no name of a part": lambda good: {
        name: good.read_bytes()
        for name in ("a b.parquet", "p*[x]?.parquet", "x' OR 1=1 --.parquet", "\x1b[2J.parquet", "-.parquet")
    },
}


@pytest.mark.nets(2)
@pytest.mark.parametrize("hostile", [*NO_FILES, *FORGED])
def test_a_hostile_file_among_the_parts_is_never_registered(
    warehouse: Warehouse, good: Path, hostile: str
) -> None:
    before = warehouse.query(SHOWN)
    if hostile in NO_FILES:
        NO_FILES[hostile](good.with_name(f"evil-{'0' * 32}.parquet"), good)
        NO_FILES[hostile](good.with_name("evil.parquet"), good)
    else:
        for name, content in FORGED[hostile](good).items():
            good.with_name(name).write_bytes(content)
    for kind in (KIND, OTHER):
        assert not register_orphans(warehouse, kind).registered
    compact_parts(warehouse)
    verify_parts(warehouse)
    assert warehouse.query(SHOWN).equals(before)
    assert not run_checks(warehouse)["n_violations"].sum()
    assert set(warehouse.store.part_sizes(KIND)) == set(warehouse.query("SELECT part FROM part_unit")["part"])


def test_a_part_of_another_kind_is_never_registered(warehouse: Warehouse, good: Path) -> None:
    moved = part_path(warehouse.home, OTHER, good.stem)
    moved.write_bytes(good.read_bytes())
    assert register_orphans(warehouse, OTHER) == ([], [good.stem])
    assert warehouse.query(f"FROM {OTHER}").is_empty()


@pytest.mark.nets(2)
@pytest.mark.parametrize("hostile", NO_FILES)
@pytest.mark.parametrize("is_hashed", [True, False])
def test_a_registered_part_without_its_file_is_reported_and_set_aside(
    warehouse: Warehouse, good: Path, hostile: str, is_hashed: bool
) -> None:
    if not is_hashed:
        good = good.rename(good.with_stem("good"))
        with warehouse.write() as connection:
            connection.execute("UPDATE part_unit_base SET part = 'good'")
    outside = Path("/etc/passwd").read_bytes()
    kept = good.rename(good.with_name(".kept"))
    NO_FILES[hostile](good, kept)
    message = "culturemeter check"
    try:
        assert warehouse.query(SHOWN).is_empty()
    except WarehouseError as error:
        message = str(error)
    assert "culturemeter check" in message
    assert "root:" not in message
    assert verify_parts(warehouse)["part"].to_list() == [good.stem]
    assert warehouse.query(SHOWN).is_empty()
    store_part(warehouse, logprobs("FR"), "good")  # the lost units are completed again
    assert warehouse.query(SHOWN).height == 2
    assert Path("/etc/passwd").read_bytes() == outside


NAMES = ["../../../evil", "/tmp/evil", "_empty", "a\0b"]
MORE_NAMES = [pytest.param(name, marks=pytest.mark.heavy) for name in ("a/b", "..", "x" * 5000)]


def outside(home: Path, target: Path, own: Path) -> set[Path]:
    """Return the parts beside two homes, and where absolute names lead."""
    found = {*home.parent.rglob("*.parquet"), *own.rglob("*.parquet"), *Path("/tmp").glob("evil-*")}
    return {path for path in found if not {home, target} & {*path.parents}}


@pytest.mark.nets(2)
@pytest.mark.parametrize("name", [*NAMES, *MORE_NAMES])
def test_part_names_in_a_database_lead_to_no_file_outside(
    warehouse: Warehouse, good: Path, tmp_path: Path, name: str
) -> None:
    """The author of a warehouse that is copied, checked or queried may have written any name into it."""
    content = good.read_bytes()
    evil = f"{name}-{sha256(content).hexdigest()[:32]}"
    with warehouse.write() as connection:
        connection.execute("UPDATE part_unit_base SET part = ?", [evil])
    for path in (good.parent / f"{evil}.parquet", good.parent.parent / f"{evil}.parquet"):
        if name in ("../../../evil", "a/b"):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
    target = LocalStore(tmp_path / "target" / "deep" / "home")
    there = outside(warehouse.home, target.home, tmp_path)
    with pytest.raises(WarehouseError):
        copy(warehouse, target)
    assert warehouse.query("SELECT count(*) FROM item_logprob").item() == 0
    assert verify_parts(warehouse)["problem"].to_list() == ["the file is missing"]
    assert outside(warehouse.home, target.home, tmp_path) == there
    for touch in (warehouse.store.part, warehouse.store.delete_part, warehouse.store.set_part_aside):
        with pytest.raises(WarehouseError, match="is not a valid part name"):
            touch(KIND, evil)
