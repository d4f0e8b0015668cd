"""``culturemeter report --all``: one page over all evaluations, linked to each evaluation's page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from urllib.parse import quote

import polars as pl

from deployments.evaluations import doors, sound
from deployments.show.drawings import drawing_cache
from deployments.show.losses import sent_and_lost
from deployments.show.report import one_published, ranks, reported, usual_file, usual_path, write_report
from flows import comparison
from flows.runs import FinishedRun, every_finished
from tasks.metrics.agreement import least_spearman_p, spearman_test
from tasks.metrics.comparison import holm_or_reason
from tasks.report.cache import cached_in
from tasks.report.overview import OverviewSection, grid_of, render
from tasks.report.policy import with_policy
from tasks.report.svg import collected_figures
from warehouse import Warehouse, WarehouseError
from warehouse.storage import written_whole

_NEWEST = """
SELECT evaluation, configuration, profile FROM report_configuration
WHERE n_models > 0 AND place = 1 ORDER BY evaluation
"""
_HISTORY = """
SELECT h.*, run.model_hash,
    concat_ws(
        ', ', run.engine->>'kind', nullif(run.engine->>'dtype', 'auto'), run.engine->>'revision'
    ) AS engine
FROM leaderboard_history AS h JOIN run USING (run_id)
WHERE h.evaluation = $evaluation AND h.config_hash = $config AND (h.is_null OR h.engine_hash IN (
    SELECT engine_hash FROM model_run WHERE evaluation = $evaluation AND config_hash = $config
))
"""
_AGREEMENT = """
FROM evaluation_agreement
ORDER BY other_evaluation = 'external', evaluation, other_evaluation, metric, other_metric
"""
_METRICS = "SELECT * FROM report_metric WHERE evaluation = ? ORDER BY place"


def overview(
    warehouse: Warehouse,
    links: Mapping[str, str] | None = None,
    beside: Mapping[str, str] | None = None,
    foot: str = "",
) -> str:
    """Return the page on the shown configurations of all evaluations.

    Args:
        links: evaluation -> link to its page; None: links as ``serve`` has them.
        beside: label -> link, of further pages.
        foot: text to add at the end of the page.

    Raises:
        WarehouseError: no run has finished; says which command to run.
    """
    return _drawn(warehouse, sections(warehouse, links), beside, foot)


def _drawn(
    warehouse: Warehouse,
    shown: Sequence[OverviewSection],
    beside: Mapping[str, str] | None = None,
    foot: str = "",
) -> str:
    agreements = _agreements(warehouse, {s.evaluation: s.labels[0][0] for s in shown})
    with cached_in(drawing_cache(warehouse.home)):
        return with_policy(render(shown, agreements, beside, foot))


def sections(warehouse: Warehouse, links: Mapping[str, str] | None = None) -> list[OverviewSection]:
    """Return the shown configuration of every evaluation; links, raises: as ``overview``."""
    newest = [row for row in warehouse.query(_NEWEST).rows() if row[0] in sound()]
    if not newest:
        raise WarehouseError("no finished run to show; start some with: culturemeter run all --profile smoke")
    # Relative, since a reverse proxy may give the server another path.
    served = {name: f"reports/{name}/{config}" for name, config, _ in newest if name in reported()}
    links = served if links is None else links
    runs = every_finished(warehouse)
    return [
        OverviewSection(
            evaluation=name,
            title=doors()[name].title,
            config_hash=config,
            profile=profile,
            history=history,
            differences=_differences(warehouse, runs, name, config),
            metrics=warehouse.query(_METRICS, [name]),
            link=links.get(name),
            published=one_published(warehouse, name, config),
            lost=tuple(sent_and_lost(warehouse, name, config)),
            ranks=ranks(warehouse, name, config, "run_id"),
        )
        for name, config, profile in newest
        for history in (warehouse.query(_HISTORY, {"evaluation": name, "config": config}),)
        if not history.is_empty()
    ]


def _agreements(warehouse: Warehouse, first: Mapping[str, str]) -> pl.DataFrame:
    """Return the agreement of the evaluations' first headlines with each other and with external rankings.

    Args:
        first: evaluation -> its headline.

    Returns:
        The rows of ``evaluation_agreement`` with p_value, p_holm, which is adjusted for their number, and
        holm_reason if a row with a p_value has none.
    """
    rows = [
        row
        for row in warehouse.query(_AGREEMENT).iter_rows(named=True)
        if first.get(row["evaluation"]) == row["metric"]
        and (
            row["other_evaluation"] == "external" or first.get(row["other_evaluation"]) == row["other_metric"]
        )
    ]
    tests = [spearman_test(row["ranks"], row["other_ranks"]) for row in rows]
    p_values = [test and test[1] for test in tests]
    sizes = [row["n_models"] for row in rows]
    outcomes = holm_or_reason(p_values, [least_spearman_p(n) for n in sizes], [f"{n} models" for n in sizes])
    columns = {"p_value": p_values, "p_holm": [p for p, _ in outcomes]}
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        *(pl.Series(name, values, pl.Float64) for name, values in columns.items()),
        pl.Series("holm_reason", [reason for _, reason in outcomes], pl.String),
    )


def _differences(
    warehouse: Warehouse, runs: Sequence[FinishedRun], evaluation: str, config_hash: str
) -> pl.DataFrame:
    """Return differences of every two models' newest runs of a configuration, from runs newest first."""
    newest: dict[str, FinishedRun] = {}
    for run in runs:
        if (run.evaluation, run.config_hash) == (evaluation, config_hash):
            newest.setdefault(run.engine_hash, run)
    return comparison.differences(warehouse, list(combinations(newest.values(), 2)))


def pages(warehouse: Warehouse) -> dict[str, tuple[str, str]]:
    """Return configuration and usual file of each evaluation's page, if it has one and a finished run."""
    newest = {name: config for name, config, _ in warehouse.query(_NEWEST).rows()}
    return {name: (config, usual_file(name)) for name, config in newest.items() if name in reported()}


def write_all(warehouse: Warehouse, path: Path) -> list[Path]:
    """Write the overview, its figure for print (PNG, SVG and PDF), and beside it the page of every evaluation
    in the folder of its configuration.

    Returns the files. Raises as ``overview`` and ``report.write_report`` do.
    """
    files = {name: path.parent / usual_path(name, config) for name, (config, _) in pages(warehouse).items()}
    shown = sections(warehouse, {name: str(file.relative_to(path.parent)) for name, file in files.items()})
    figures = {path: _drawn(warehouse, shown).encode(), **_for_print(shown, path)}
    for file, content in figures.items():
        with written_whole(file, len(content)) as temporary:
            temporary.write_bytes(content)
    for name, file in files.items():
        every = {"overview": path, **files}
        links = {to: quote(os.path.relpath(target, file.parent)) for to, target in every.items()}
        write_report(warehouse, file, file.parent.name, name, links)
    return [*figures, *files.values()]


def _for_print(shown: Sequence[OverviewSection], page: Path) -> dict[Path, bytes]:
    """Return the overview's figure as files beside its page; none if nothing is scored."""
    grid = grid_of(shown)
    with collected_figures() as figures:
        grid.draw("overview", "Every model on every evaluation")
    if not figures:
        return {}
    drawn = figures["overview"]
    contents = {".png": grid.png(), ".svg": drawn.svg.encode(), ".pdf": drawn.pdf}
    return {page.with_suffix(suffix): content for suffix, content in contents.items()}
