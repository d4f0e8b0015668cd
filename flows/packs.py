"""A run's tables: the warehouse's rows and the rows of its packs.

A pack is named by its folder's name, or pinned to one content as ``name@hash``. Pinned content is read from
the folder, or from the warehouse if the folder was edited after a run used it.
"""

from __future__ import annotations

import re
from typing import Any

from tasks.evaluations.contract import Evaluation, Params
from tasks.evaluations.until import OTHER_TABLE
from tasks.loop.until import SEPARATES, Rule
from tasks.packs import check
from tasks.packs.folder import folder_of
from tasks.packs.shape import ByName, PackContent, Shape
from warehouse import Warehouse, WarehouseError, read_pack, read_points
from warehouse.names import shown_name

_RUNS = """
SELECT r.run_id, r.model, r.config_hash, list(m.metric) AS headlines
FROM run AS r JOIN metric AS m ON m.evaluation = r.evaluation AND m.is_headline
WHERE r.evaluation = ? AND NOT r.is_null AND r.status = 'finished'
GROUP BY r.run_id, r.model, r.config_hash, r.finished_at ORDER BY r.finished_at, r.run_id
"""


def tables_of(evaluation: Evaluation[Any, Any, Any], params: Params) -> ByName:
    """Return the rows of each of an evaluation's SELECTs; a $name in one is the param of that name. With them
    are the points of the model that a run is to be separate from.
    """
    warehouse = Warehouse.open()
    knobs = {
        name: {knob: getattr(params, knob) for knob in re.findall(r"\$([a-z_]+)", sql)}
        for name, sql in evaluation.tables.items()
    }
    own = {name: warehouse.query(sql, knobs[name]).to_dicts() for name, sql in evaluation.tables.items()}
    if params.until.startswith(SEPARATES):
        other = shown_name(warehouse, Rule.parsed(params.until).other)
        runs = warehouse.query(_RUNS, [evaluation.name]).to_dicts()
        found = read_points(
            warehouse, {run["run_id"]: run["headlines"] for run in runs if run["model"] == other}
        )
        points = {run_id: frame.to_dicts() for run_id, frame in found.items()}
        own[OTHER_TABLE] = [
            {"model": run["model"], "config_hash": run["config_hash"], **point}
            for run in runs
            for point in points.get(run["run_id"]) or [{"value": None}]
        ]
    return own


def with_packs(
    evaluation: Evaluation[Any, Any, Any], params: Params, tables: ByName
) -> tuple[Params, ByName, tuple[PackContent, ...]]:
    """Return the params with their packs pinned, the tables with the packs' rows, and the packs.

    Raises:
        PackError: a pack has faults. ValueError: a pack is unknown or has nothing for this evaluation.
    """
    if not params.pack:
        return params, tables, ()
    if evaluation.pack is None:
        raise ValueError(f"--pack: {evaluation.name} uses no packs: leave the option out")
    packs: list[PackContent] = []
    for name in dict.fromkeys(params.pack):
        pack = _content(name, evaluation.name, evaluation.pack, tables)
        packs.append(pack)
        tables = evaluation.pack.added(pack.rows, tables)
    return params.model_copy(update={"pack": [pack.pinned for pack in packs]}), tables, tuple(packs)


def _content(reference: str, evaluation: str, shape: Shape, tables: ByName) -> PackContent:
    """Return the content that ``name`` or ``name@hash`` refers to."""
    name, _, pinned = reference.partition("@")
    try:
        folder = folder_of(name, Warehouse.open().home)
        if not (folder.path / evaluation).is_dir():
            raise ValueError(
                f"--pack: the pack {name!r} has no folder {evaluation}/: it adds nothing to this evaluation"
            )
        content = check.load(folder, evaluation, shape, tables)
        if not pinned or content.hash == pinned:
            return content
    except ValueError:
        if not pinned:
            raise
    if (stored := read_pack(Warehouse.open(), pinned)) is None:
        raise WarehouseError(
            f"--pack: the pack {name!r} has changed since {pinned}, and no run has stored that content: "
            "name the pack without its hash to use its present content"
        )
    return PackContent(name, evaluation, stored)
