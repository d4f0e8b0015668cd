"""Culturescope from Python: frames are polars, and no server is started.

    import culturescope as cs

    cs.connect("results", create=True)  # default: $CULTURESCOPE_HOME
    cs.run("spectral", models=["smollm2-135m"], profile="smoke")
    cs.leaderboard("spectral")
    cs.compare("smollm2-135m", "gemma3-270m")
    cs.sql("SELECT * FROM model_scores")

Its packages have plain names: tasks, flows and so on. They are loaded from beside this one, whatever else of
these names there is on the path, and from then on `import tasks` is Culturescope's in this process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from warehouse import Warehouse

__all__ = ["compare", "connect", "leaderboard", "run", "sql"]

_OF_THE_SHELL = frozenset({"again", "probe", "no_server", "replicas", "ray", "verbose"})
"""Options of ``culturescope run`` that are no knobs of an evaluation."""

_ROOT = Path(__file__).resolve().parent.parent


def _load_ours() -> None:
    """Put our packages where `import` looks first; raises ImportError if a namesake is there already."""
    for name in ("warehouse", "scrapers", "tasks", "flows", "deployments"):
        file = _ROOT / name / "__init__.py"
        if name in sys.modules:
            loaded = getattr(sys.modules[name], "__file__", None)
            if loaded is None or Path(loaded).resolve() != file:
                raise ImportError(
                    f"culturescope has a package {name!r}, and another one is imported already, from "
                    f"{loaded or 'a folder'}: import culturescope before it, in a new process"
                )
            continue
        spec = spec_from_file_location(name, file, submodule_search_locations=[str(file.parent)])
        if spec is None or spec.loader is None or not file.exists():
            raise ImportError(f"culturescope is not whole: {file} is missing; install it again")
        module = module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)


_load_ours()


def connect(home: str | Path | None = None, create: bool = False) -> Warehouse:
    """Return the warehouse of a home folder, which everything here uses from then on.

    Args:
        home: default $CULTURESCOPE_HOME, else ``.culturescope`` in the checkout, or in the working directory
            of an installed package.
        create: make it if there is none, as ``run`` does.

    Raises:
        WarehouseError: there is none, and none is to be made.
    """
    from warehouse import Warehouse

    folder = None if home is None else Path(home).expanduser().resolve()
    opened = Warehouse.open(folder) if create else Warehouse.existing(folder)
    if folder is not None:
        os.environ["CULTURESCOPE_HOME"] = str(folder)
    return opened


def sql(query: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None) -> pl.DataFrame:
    """The rows of a query, also while runs write. Raises WarehouseError for what DuckDB refuses."""
    return connect().query(query, parameters)


def run(
    evaluation: str,
    models: Sequence[str] | None = None,
    profile: str = "demo",
    dry_run: bool = False,
    **options: Any,
) -> pl.DataFrame:
    """Run an evaluation in this process; only what is missing is done. Returns its leaderboard.

    Args:
        models: names of the catalogue, Hugging Face ids or folders; default: those of the evaluation.
        dry_run: run nothing, and return the plan: a row per model and engine with the work left, its time and
            its cost.
        options: as on the command line, with underscores: ``max_items=60``.

    Raises:
        ValueError: there is no such evaluation, profile or option.
        EngineError: models or judges failed; what the others answered is stored.
    """
    from deployments.cli.choices import labelled
    from deployments.cli.options import validated
    from deployments.evaluations import doors, params, unknown
    from deployments.evaluations import evaluation as of
    from deployments.evaluations import profile as values
    from deployments.serve.server import configure

    if evaluation not in doors():
        raise ValueError(unknown(evaluation))
    if shell := sorted(options.keys() & _OF_THE_SHELL):
        raise ValueError(f"{shell[0]} is an option of the command line alone: culturescope run {evaluation}")
    configure(connect(create=True).home)  # before Prefect is imported
    from flows.evaluation import evaluate

    chosen = list(models or doors()[evaluation].models)
    knobs = {"models": chosen} | labelled(values(evaluation, profile, chosen), options) | options
    checked = validated(params(evaluation), knobs)
    if dry_run:
        from deployments.show.plan import Estimate
        from flows.session import prepare

        return Estimate.of_session(prepare(of(evaluation), checked)).frame()
    return leaderboard(evaluation, evaluate(of(evaluation), checked))


def leaderboard(
    evaluation: str | None = None,
    config: str | None = None,
    occasion: str | None = None,
    published: bool = False,
) -> pl.DataFrame:
    """The leaderboard of one configuration, by place; defaults: of the newest run, newest of each model.

    Args:
        published: measured numbers and those of the papers instead, long and not ranked.

    Raises:
        WarehouseError: nothing has finished that fits; says what there is.
    """
    from deployments.show import report

    warehouse = connect()
    name, chosen, _ = report.configuration(warehouse, evaluation, config)
    if published:
        return report.beside_published(warehouse, name, chosen)
    return report.leaderboard(warehouse, name, chosen, occasion)


def compare(first: str, second: str | None = None, **which: str) -> pl.DataFrame:
    """Paired differences of every headline of two models, or of one on two occasions.

    Args:
        which: evaluation, occasion, against, config, against_config, as of ``culturescope compare``.

    Raises:
        WarehouseError: there are no two finished runs to compare; says what there is.
    """
    from deployments.serve.server import configure

    warehouse = connect()
    configure(warehouse.home)
    from flows import comparison, runs

    pairs = comparison.chosen_pairs(runs.every_finished(warehouse), comparison.Wanted(first, second, **which))
    return comparison.differences(warehouse, pairs)
