"""Names that people give to models: stored by model_hash, apart from the runs, and shown by every view.

A run keeps the name that it was saved with (run_base), and parts keep it too. So a model can be renamed at
any time, also while it runs; both names find it, and removing the new name shows the old one again.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from warehouse.connection import Warehouse
from warehouse.storage import WarehouseError, now

_MODELS = """
SELECT DISTINCT b.model_hash, b.model AS saved, r.model AS shown
FROM run_base AS b JOIN run AS r USING (run_id)
WHERE NOT b.is_null ORDER BY ALL
"""
_IS_TAKEN = """
SELECT model_hash FROM ({models}) WHERE model_hash <> $hash AND lower($name) IN (lower(saved), lower(shown))
UNION ALL SELECT model_hash FROM model_name WHERE model_hash <> $hash AND lower(name) = lower($name)
"""
_NAME = "INSERT OR REPLACE INTO model_name VALUES ($hash, $name, $at)"
_UNNAME = "DELETE FROM model_name WHERE model_hash = $hash"
_OTHER_NAMES = """
SELECT o.model_hash, o.name, own.name AS here FROM other.model_name AS o
LEFT JOIN model_name AS own USING (model_hash) ORDER BY o.model_hash
"""
_LEAST_HASH = 6
"""Fewest hex digits by which a model may be named."""


@dataclass(frozen=True)
class Renamed:
    """A model's new name. before: names that it was shown under; n_runs: its number of runs."""

    model_hash: str
    before: tuple[str, ...]
    name: str
    n_runs: int


def shown_name(warehouse: Warehouse, name: str) -> str:
    """Return the name that a model is shown under now, for one that its runs were saved with.

    A name that is shown, unknown or of several models is returned as it is.
    """
    rows = warehouse.query(_MODELS).rows()
    if any(shown == name for _, _, shown in rows):
        return name
    found = {shown for _, saved, shown in rows if saved == name}
    base, mark, engine = name.partition("#")
    if mark and not found:  # a longer or shorter beginning of an engine's hash
        found = {
            f"{shown.partition('#')[0]}#{engine}"
            for _, saved, shown in rows
            if saved.partition("#")[0] == base
        }
    return found.pop() if len(found) == 1 else name


def rename_model(warehouse: Warehouse, model: str, name: str) -> Renamed:
    """Show a model under another name from now on, in one transaction.

    Args:
        model: its name, or the beginning of its model_hash. name: new name, a checked one; its own earlier
            name takes the new one back.

    Raises:
        WarehouseError: no run, or runs of several models, have that name; or another model has the new one.
    """
    if not name or "#" in name:
        raise WarehouseError("a name needs letters, and no # (which stands before the hash of an engine).")
    with warehouse.write() as connection:
        rows = connection.execute(_MODELS).fetchall()
        model_hash = _hash_of(rows, model)
        own = [(saved, shown) for one, saved, shown in rows if one == model_hash]
        values = {"hash": model_hash, "name": name}
        if connection.execute(_IS_TAKEN.format(models=_MODELS), values).fetchone():
            raise WarehouseError(f"{name!r} is the name of another model: choose one that is free.")
        if {saved for saved, _ in own} == {name}:
            connection.execute(_UNNAME, {"hash": model_hash})
        else:
            connection.execute(_NAME, values | {"at": now()})
        n_runs = connection.execute("SELECT count(*) FROM run WHERE model_hash = ?", [model_hash]).fetchall()
    return Renamed(model_hash, tuple(sorted({shown for _, shown in own})), name, n_runs[0][0])


def take_names(connection: duckdb.DuckDBPyConnection) -> tuple[int, int, list[str]]:
    """Take over the names of another home, attached as `other`, for models without one here.

    Returns:
        The numbers of names that were taken over and left, and a line for each that was left.
    """
    lines, n_taken, n_same = [], 0, 0
    for model_hash, name, here in connection.execute(_OTHER_NAMES).fetchall():
        values = {"hash": model_hash, "name": name}
        if here == name:
            n_same += 1
        elif here is not None:
            lines.append(f"names of models: {name} is shown as {here} here, which stays")
        elif connection.execute(_IS_TAKEN.format(models=_MODELS), values).fetchone():
            lines.append(
                f"names of models: {name} is the name of another model here: {model_hash} keeps its own"
            )
        else:
            connection.execute(_NAME, values | {"at": now()})
            n_taken += 1
    return n_taken, n_same + len(lines), lines


def _hash_of(rows: list[tuple[str, str, str]], model: str) -> str:
    """Return the model_hash of the model that is shown or was saved under a name, or whose hash begins so."""
    for found in (
        {one for one, _, shown in rows if shown == model},
        {one for one, saved, _ in rows if saved == model},
        {one for one, _, _ in rows if len(model) >= _LEAST_HASH and one.startswith(model)},
    ):
        if len(found) > 1:
            hashes = ", ".join(sorted(one[:12] for one in found))
            raise WarehouseError(
                f"{model!r} is the name of {len(found)} models: name one by its hash: {hashes}"
            )
        if found:
            return found.pop()
    known = ", ".join(sorted({shown for _, _, shown in rows})[:10]) or "none"
    raise WarehouseError(f"no run is of a model {model!r}; known: {known}")
