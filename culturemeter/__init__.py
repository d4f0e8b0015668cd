"""Culturemeter from Python: functions return polars frames and start no server.

    import culturemeter as cs

    cs.connect("results", create=True)  # default: $CULTUREMETER_HOME
    cs.run("spectral", models=["smollm2-135m"], profile="smoke")
    cs.leaderboard("spectral")
    cs.compare("smollm2-135m", "gemma3-270m")
    cs.sql("SELECT * FROM model_scores")

Its packages have plain names, such as tasks and flows. They are loaded from this package's folder even if
others of these names are on the path. After that, `import tasks` imports Culturemeter's in this process.
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

_SHELL_OPTIONS = frozenset({"again", "cores", "gpus", "probe", "no_server", "replicas", "ray", "verbose"})
"""Options of ``culturemeter run`` that are not options of an evaluation."""

_ROOT = Path(__file__).resolve().parent.parent


def _load_ours() -> None:
    """Load our packages before others of these names; raises ImportError if another is already loaded."""
    for name in ("warehouse", "scrapers", "tasks", "flows", "deployments"):
        file = _ROOT / name / "__init__.py"
        if name in sys.modules:
            loaded = getattr(sys.modules[name], "__file__", None)
            if loaded is None or Path(loaded).resolve() != file:
                raise ImportError(
                    f"culturemeter has a package {name!r}, and another of that name is already imported, "
                    f"from {loaded or 'a folder'}: import culturemeter before it, in a new process"
                )
            continue
        spec = spec_from_file_location(name, file, submodule_search_locations=[str(file.parent)])
        if spec is None or spec.loader is None or not file.exists():
            raise ImportError(f"culturemeter is incomplete: {file} is missing; install it again")
        module = module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)


_load_ours()


def connect(home: str | Path | None = None, create: bool = False) -> Warehouse:
    """Open the warehouse of a home folder and return it; all functions here use it afterwards.

    Args:
        home: default $CULTUREMETER_HOME, else ``.culturemeter`` in the checkout or, for an installed package,
            in the working directory.
        create: create a missing warehouse, as ``run`` does.

    Raises:
        WarehouseError: the warehouse is missing and ``create`` is false.
    """
    from warehouse import Warehouse

    folder = None if home is None else Path(home).expanduser().resolve()
    opened = Warehouse.open(folder) if create else Warehouse.existing(folder)
    if folder is not None:
        os.environ["CULTUREMETER_HOME"] = str(folder)
    return opened


def sql(query: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None) -> pl.DataFrame:
    """Return the rows of a query, even while runs write. Raises WarehouseError if DuckDB refuses it."""
    from deployments.show.boards import sql_variables

    warehouse = connect()
    return warehouse.query(query, parameters, sql_variables(warehouse, query))


def run(
    evaluation: str,
    models: Sequence[str] | None = None,
    profile: str = "demo",
    dry_run: bool = False,
    **options: Any,
) -> pl.DataFrame:
    """Run an evaluation in this process and return its leaderboard; stored answers are reused.

    Args:
        models: catalogue names, Hugging Face ids or folders; default: the evaluation's own.
        dry_run: run nothing and return the plan: a row per model and engine with remaining work, time and
            cost.
        options: those of the command line, with underscores: ``max_items=60``.

    Raises:
        ValueError: the evaluation, profile or an option is unknown.
        EngineError: models or judges failed; the answers of the others are stored.
    """
    from deployments.cli.choices import labelled
    from deployments.cli.options import validated
    from deployments.evaluations import doors as registered
    from deployments.evaluations import evaluation as evaluation_of
    from deployments.evaluations import params, unknown
    from deployments.evaluations import profile as profile_values
    from deployments.serve.server import configure

    if evaluation not in registered():
        raise ValueError(unknown(evaluation))
    if shell := sorted(options.keys() & _SHELL_OPTIONS):
        raise ValueError(f"{shell[0]} exists on the command line only: culturemeter run {evaluation}")
    configure(connect(create=True).home)  # before Prefect is imported
    from flows.evaluation import evaluate

    names = list(models or registered()[evaluation].models)
    fields = {"models": names} | labelled(profile_values(evaluation, profile, names), options) | options
    checked = validated(params(evaluation), fields)
    if dry_run:
        from deployments.show.plan import Estimate
        from flows.session import prepare

        return Estimate.of_session(prepare(evaluation_of(evaluation), checked)).frame()
    return leaderboard(evaluation, evaluate(evaluation_of(evaluation), checked))


def leaderboard(
    evaluation: str | None = None,
    config: str | None = None,
    occasion: str | None = None,
    published: bool = False,
) -> pl.DataFrame:
    """Return one configuration's leaderboard, by place.

    By default it is the configuration of the newest run, with each model's newest occasion.

    Args:
        published: return measured and published numbers instead, in long form and unranked.

    Raises:
        WarehouseError: no finished run fits; the message lists the finished runs.
    """
    from deployments.show import boards, report

    warehouse = connect()
    name, config_hash, _ = report.configuration(warehouse, evaluation, config)
    if published:
        return report.beside_published(warehouse, name, config_hash)
    return boards.leaderboard(warehouse, name, config_hash, occasion)


def compare(first: str, second: str | None = None, **which: str) -> pl.DataFrame:
    """Return paired differences of every headline of two models, or of one model on two occasions.

    Args:
        which: evaluation, occasion, against, config, against_config, as for ``culturemeter compare``.

    Raises:
        WarehouseError: no two finished runs can be compared; the message lists the finished runs.
    """
    from deployments.serve.server import configure

    warehouse = connect()
    configure(warehouse.home)
    from flows import comparison, runs
    from warehouse.names import shown_name

    first, second = shown_name(warehouse, first), second and shown_name(warehouse, second)
    pairs = comparison.chosen_pairs(
        runs.every_finished(warehouse), comparison.ComparedRuns(first, second, **which)
    )
    return comparison.differences(warehouse, pairs)
