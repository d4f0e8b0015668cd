"""A private copy of a store's database file with all its registrations, made without a write to the store."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import duckdb
import polars as pl

from warehouse.local_store import LocalStore, copy_published
from warehouse.migrate import refuse_older, refuse_other_schema
from warehouse.outside import patiently, until_whole
from warehouse.part_kinds import KINDS, is_part_name
from warehouse.parts import CorruptPart, read_content, register_parts, units_of
from warehouse.published import damaged
from warehouse.registrations import Registrations, fold_in, folded
from warehouse.storage import WarehouseError
from warehouse.store import Store

_KNOWN = "SELECT DISTINCT kind, part FROM part_unit_base UNION SELECT kind, part FROM superseded_part"


def snapshot(store: Store, folder: Path) -> Path:
    """Return a copy of a store's file in `folder` (empty, private), with the registrations until now.

    The store is only read: it may be read-only, and others may write to it meanwhile. Raises WarehouseError,
    in one line, if nothing is published there, the schema is another one, or the file is damaged.
    """
    refuse_absent(store)
    place = store.place
    if isinstance(store, LocalStore):
        # Copied in this order, so that the log has every registration that the file lacks.
        Registrations(store.home).copy_to(folder)
        copy = LocalStore(folder)
        patiently(store.path, partial(copy_published, store.path, copy.path))
        store = copy
    file = folder / "snapshot.duckdb"
    try:
        until_whole(place, partial(_is_whole, store, file, place))
    except duckdb.Error as error:
        raise damaged(place, error) from error
    return file


def refuse_absent(store: Store) -> None:
    """Raise WarehouseError if nothing is published in a store, or only a file before version 0.2.0."""
    if store.version() is None:
        refuse_older(store.folder)
        raise WarehouseError(f"there is no warehouse at {store.place}.")


def _is_whole(store: Store, file: Path, place: str) -> bool:
    """Copy the published file to `file` and fold the log into it; return whether no registration lacks."""
    with store.reading():
        published = store.published()
        if published is None:
            raise WarehouseError(f"there is no warehouse at {place}.")
        shutil.copyfile(published, file)
        # The file may be a stranger's: nothing in it may reach for other files.
        with duckdb.connect(str(file), config={"threads": 1, "enable_external_access": False}) as connection:
            refuse_other_schema(connection, place)
            tail = store.log.after(folded(connection))
            if not tail.is_whole or tail.published not in (None, published.name):
                return False
            fold_in(tail, connection)
            connection.execute("CHECKPOINT")
    return True


def content_of(store: Store, kind: str, part: str) -> bytes:
    """Return a part's content, unchecked. Raises CorruptPart if there is none, or it cannot be read."""
    if not is_part_name(part):
        raise CorruptPart("its name is not that of a part")
    try:
        return store.part(kind, part, anew=True)
    except FileNotFoundError:
        raise CorruptPart("the file is missing") from None
    except (OSError, WarehouseError) as error:
        raise CorruptPart(str(error)) from error


def register_unregistered(store: Store, file: Path) -> dict[tuple[str, str], str]:
    """Register in a snapshot the parts that a killed run, or a damaged log, left unregistered in its store.

    It is what ``register_orphans`` does in the store itself. Returns (kind, part) of damaged ones -> fault.
    """
    faults: dict[tuple[str, str], str] = {}
    found: list[pl.DataFrame] = []
    with duckdb.connect(str(file), config={"threads": 1, "enable_external_access": False}) as connection:
        known = set(connection.execute(_KNOWN).fetchall())
        for kind in (name for name, declared in KINDS.items() if not declared.moved):
            for part in sorted(store.part_sizes(kind)):
                if (kind, part) not in known:
                    try:
                        found.append(
                            units_of(kind, part, read_content(kind, part, content_of(store, kind, part)))
                        )
                    except CorruptPart as error:
                        faults[kind, part] = str(error).splitlines()[0]
        connection.begin()
        register_parts(connection, found)
        connection.commit()
        connection.execute("CHECKPOINT")
    return faults
