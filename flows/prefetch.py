"""Fetches all that runs need on a node without network into one folder, and says what a node lacks.

    prefetched.json   the runs, by evaluation and params
    offline.sh        to be sourced on the node: caches of this folder, no network, links in the home
    models/ hub/ …    embedded models, models and data sets of the hub
    engines/ packs/   the home's own

A run's own steps fetch: planning reads its data sets, and loading an engine gets its weights. So nothing is
listed twice, and what the check looks for is what a run will look for.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from flows.session import RunSession, prepare
from tasks.engines import content, embedders, load
from tasks.engines.protocols import EngineError
from tasks.evaluations.contract import Evaluation
from tasks.loop.requests import Engine
from tasks.parsing import parse_json
from warehouse import Warehouse, WarehouseError, part_path

ABOUT, SCRIPT, MODELS = "prefetched.json", "offline.sh", "models"
OWN = ("engines", "packs")
"""Folders of the home that travel."""
CACHES = {
    "HF_HUB_CACHE": "hub", "HF_DATASETS_CACHE": "datasets", "HF_EVALUATE_CACHE": "evaluate",
    "HF_MODULES_CACHE": "modules",
}  # fmt: skip
"""Variable -> its folder. HF_HOME stays, because it holds the user's token."""
WITHOUT_NETWORK = (
    content.OFFLINE, "HF_DATASETS_OFFLINE", "HF_EVALUATE_OFFLINE", "TRANSFORMERS_OFFLINE",
    "VLLM_NO_USAGE_STATS",
)  # fmt: skip
_ANSWERS = "SELECT DISTINCT kind, part FROM part_unit WHERE request_hash IN (SELECT unnest(?::VARCHAR[]))"
_SCRIPT = """\
# Source this in bash on the node: . offline.sh. Written by culturemeter prefetch; the folder may be moved.
here="$(cd "$(dirname "${{BASH_SOURCE[0]}}")" && pwd)"
{caches}
export {offline}
export CULTUREMETER_HOME="${{CULTUREMETER_HOME:-${{TMPDIR:-/tmp}}/culturemeter-$(id -u)}}"
mkdir -p -m 700 "$CULTUREMETER_HOME"
for each in {linked}; do
  if [ -e "$here/$each" ] && [ ! -e "$CULTUREMETER_HOME/$each" ]; then
    ln -s "$here/$each" "$CULTUREMETER_HOME/$each"
  fi
done
"""
MODULES = dict.fromkeys(("packed_trie", "masked", "seq2seq"), ("torch", "transformers")) | {"vllm": ("vllm",)}
"""Kind of engine -> modules that run it."""
FAULTS = (EngineError, WarehouseError, ValueError, OSError, ImportError)
"""Errors of a plan or an engine for which something is missing."""


def caches_in(folder: Path) -> dict[str, str]:
    """Return the variables by which libraries keep what they fetch in a folder."""
    return {name: str(folder.absolute() / own) for name, own in CACHES.items()}


def fetch(sessions: Sequence[RunSession], folder: Path, report: Callable[[str], None]) -> list[str]:
    """Fetch what runs need beside their data sets, which planning has fetched; returns what cannot travel.

    Raises:
        EngineError: a model cannot be fetched; what has arrived is kept.
    """
    notes = list[str]()
    every = [each for one in sessions for each in (*one.candidates.values(), *one.engines.values())]
    for engine in {each.hash: each for each in every}.values():
        report(engine.name)
        if engine.spec and engine.spec.is_served:
            notes.append(f"{engine.name} is behind a server, which the node must reach")
        elif engine.spec and content.is_folder(engine.spec.model):
            notes.append(f"{engine.name}: copy {engine.spec.model} to the same path")
        _whole(engine, folder / MODELS)
    take_along(sessions, folder, with_answers=False)
    new = [
        {"evaluation": one.evaluation.name, "params": one.params.model_dump(mode="json")} for one in sessions
    ]
    runs = [*(run for run in runs_in(folder) if run not in new), *new]
    (folder / ABOUT).write_text(json.dumps(runs, indent=1, ensure_ascii=False), encoding="utf-8")
    caches = "\n".join(f'export {name}="$here/{own}"' for name, own in CACHES.items())
    offline = " ".join(f"{name}=1" for name in WITHOUT_NETWORK)
    linked = " ".join((*OWN, MODELS, ABOUT))
    (folder / SCRIPT).write_text(
        _SCRIPT.format(caches=caches, offline=offline, linked=linked), encoding="utf-8"
    )
    return notes


def take_along(sessions: Sequence[RunSession], folder: Path, *, with_answers: bool = True) -> None:
    """Copy the home's engine specs and packs to the folder, and parts with stored answers to its runs."""
    warehouse = Warehouse.open()
    for name in OWN:
        if (warehouse.home / name).is_dir():
            shutil.copytree(warehouse.home / name, folder / name, dirs_exist_ok=True)
    wanted = {each.request_hash for one in sessions for each in one.wanted} if with_answers else set()
    for kind, part in warehouse.query(_ANSWERS, [[*wanted]]).rows():
        target = part_path(folder, kind, part)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(warehouse.store.part(kind, part))


def runs_in(folder: Path) -> list[dict[str, Any]]:
    """Return evaluation and params of the runs that a folder was filled for."""
    try:
        return list(parse_json((folder / ABOUT).read_bytes()))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise EngineError(f"{folder / ABOUT} cannot be read ({error}): prefetch again") from error


def lacking(evaluation: Callable[[str], Evaluation[Any, Any, Any]]) -> Iterator[tuple[str, str]]:
    """Yield each thing that the home's prefetched runs need here, and what is wrong with it, or "".

    Raises:
        EngineError: the home has no such folder.
    """
    home = Warehouse.open().home
    if not (runs := runs_in(home)):
        raise EngineError(
            f"there is no {home / ABOUT}: prefetch where there is network, and here: . FOLDER/{SCRIPT}"
        )
    yield (
        "no network is tried",
        "" if content.is_offline() else f"{content.OFFLINE} is not set: . FOLDER/{SCRIPT}",
    )
    seen = set[str]()
    for run in runs:
        own = evaluation(run["evaluation"])
        try:
            session = prepare(own, own.params(**run["params"]))
        except FAULTS as error:
            yield f"plan of {own.name}", _line(error)
            continue
        yield f"plan of {own.name}", ""
        for engine in (*session.candidates.values(), *session.engines.values()):
            if engine.hash not in seen:
                seen.add(engine.hash)
                yield f"{engine.kind} {engine.name}", _fault(engine, home / MODELS)


def _fault(engine: Engine, models: Path) -> str:
    """Return why an engine cannot run here, in one line; "" if it can."""
    modules = MODULES.get(engine.kind, ())
    if engine.kind == "embedder" and Path(engine.name).suffix not in embedders.WORD_VECTORS:
        modules = ("sentence_transformers",)
    if absent := [module for module in modules if find_spec(module) is None]:
        return f"{', '.join(absent)} is not installed here"
    try:
        _whole(engine, models)
    except FAULTS as error:
        return _line(error)
    return ""


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _whole(engine: Engine, models: Path) -> None:
    """Get all files of an engine, or raise EngineError."""
    if engine.spec is None:
        load.embedder(engine.name, models)
    elif not engine.spec.is_served:
        load.whole(engine.spec, models)
