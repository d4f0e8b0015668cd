"""Read results of finished runs: a leaderboard's rows and a report's page.

An evaluation has a page if its folder has a module ``report`` with a ``REPORT`` (``tasks.report``).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

import polars as pl

from deployments.evaluations import doors, sound, unknown
from deployments.packs import recipes
from deployments.show import boards, settings
from deployments.show.configurations import chosen, configurations
from deployments.show.display import interval, number
from deployments.show.losses import sent_and_lost
from tasks import registry
from tasks.report import Frames, RankSets, Row
from tasks.report.forest import name_of, setting_of
from tasks.report.policy import with_policy
from warehouse import Warehouse, WarehouseError
from warehouse.storage import written_whole

if TYPE_CHECKING:
    from tasks.evaluations.settings import ComparedSetting
    from tasks.report.page import Report

FIRST = "spectral"
"""Evaluation suggested to newcomers: it needs neither a judge nor vLLM."""
OVERVIEW = "report-all.html"
"""Default file of the overview in the home folder."""

PAGES = "reports"
"""Folder beside the overview, with a folder for each configuration."""
_NEWEST = "SELECT evaluation FROM run WHERE status = 'finished' AND NOT is_null ORDER BY finished_at DESC"


def configuration(
    warehouse: Warehouse,
    evaluation: str | None,
    config: str | None,
    known: Sequence[str] | None = None,
    profile: str | None = None,
) -> tuple[str, str, str]:
    """Return the evaluation, the configuration and its profiles.

    Args:
        evaluation: None: that of the newest finished run that fits the configuration.
        config, profile: as for ``shown_configuration``; None: the configuration with the most answers.
        known: evaluations to choose from; None: all.

    Raises:
        WarehouseError: no such evaluation, or no finished run of it; lists the known ones.
    """
    names = [name for name in known or sound() if evaluation in (None, name)]
    if not names:
        if evaluation is not None and evaluation in doors():
            recipes.evaluation(evaluation)  # raises the faults of its pack
        raise WarehouseError(unknown(evaluation))
    finished = [row for row in configurations(warehouse) if row.evaluation in names]
    if not finished:
        first = FIRST if FIRST in names else names[0]
        others = ", ".join(name for name in names if name != first)
        needed = f"{first} --data FOLDER" if first in registry.benchmarks() else first
        start = f"no finished run to show; start one with:\n\n  culturemeter run {needed} --profile smoke"
        raise WarehouseError(start + (f"\n\nor, in place of {first}, any of {others}" if others else ""))
    if evaluation is None:
        fitting = {row.evaluation for row in finished if config is None or row.config_hash.startswith(config)}
        if not fitting:
            keys = ", ".join(row.config_hash for row in finished)
            raise WarehouseError(f"no finished run has the configuration {config!r}; known: {keys}")
        newest = warehouse.rows(_NEWEST).rows
        evaluation = next(name for (name,) in newest if name in fitting)
    page_run = chosen([row for row in finished if row.evaluation == evaluation], evaluation, profile, config)
    return page_run.evaluation, page_run.config_hash, page_run.profile


_PUBLISHED = """
WITH printed AS MATERIALIZED (FROM leaderboard_published WHERE evaluation = $evaluation),
measured AS MATERIALIZED (
    FROM report_value WHERE evaluation = $evaluation AND config_hash = $config AND value IS NOT NULL
), chosen AS (
    SELECT any_value(params) AS params FROM run
    WHERE evaluation = $evaluation AND config_hash = $config AND NOT is_null
), setting AS (
    -- Whether the runs have the option's value that the paper's definition needs.
    SELECT DISTINCT p.setting, c.params ->> split_part(p.setting, '=', 1) AS own,
        own IS NOT DISTINCT FROM split_part(p.setting, '=', 2) AS is_equal
    FROM printed AS p, chosen AS c
    WHERE p.setting IS NOT NULL
), published AS MATERIALIZED ( -- only rows beside a measured number
    SELECT p.* EXCLUDE (definition, difference, setting),
        if(coalesce(s.is_equal, p.setting IS NULL), p.definition, 'near') AS definition,
        if(coalesce(s.is_equal, p.setting IS NULL), p.difference,
            concat('the paper has ', p.setting, ', not ', coalesce(s.own, 'unknown'), '; ', p.difference)
        ) AS difference
    FROM printed AS p
    LEFT JOIN setting AS s USING (setting)
    SEMI JOIN measured USING (evaluation, metric, slice_kind, slice)
)
SELECT metric, label, slice_kind, slice, source, model, value, ci_low, ci_high, null_value, n_scored,
    n_unscored, definition, difference, coalesce(is_detail, false) AS is_detail, cited, condition, printed,
    unit, note
FROM (
    SELECT *, concat_ws(' ', paper, table_name) AS source FROM published
    UNION ALL BY NAME
    SELECT measured.* EXCLUDE (evaluation, config_hash, place, is_null), label, 'measured' AS source
    FROM measured
    JOIN metric USING (evaluation, metric)
    SEMI JOIN published USING (metric, slice_kind, slice)
)
ORDER BY metric, slice_kind, slice, source <> 'measured', source, model
"""


def beside_published(warehouse: Warehouse, evaluation: str, config: str) -> pl.DataFrame:
    """Return a configuration's measured numbers and published ones of equal or near definition, in long form.

    Within each metric and slice, measured numbers come first, then papers' by name; nothing is ranked.
    A definition is equal if the formula is, and the run has all of the paper's settings that affect the
    number; ``settings_differ`` names the other settings.

    Raises:
        WarehouseError: no paper prints a number that matches one of these.
    """
    of = {"evaluation": evaluation, "config": config}
    frame = warehouse.query(_PUBLISHED, of)
    if frame.is_empty():
        raise WarehouseError(
            f"no published number is defined like one of {evaluation}, configuration {config}; all "
            'published numbers: culturemeter sql "FROM published_result"'
        )
    rows = _with_settings(frame.to_dicts(), settings.stored(warehouse, evaluation, config))
    return pl.DataFrame(rows, schema=_with_settings_column(frame))


def _with_settings_column(frame: pl.DataFrame) -> dict[str, Any]:
    """Return the schema of a frame whose rows went through ``_with_settings``."""
    return {**frame.schema, "settings_differ": pl.String}


def _with_settings(rows: list[dict[str, Any]], table: Sequence[ComparedSetting]) -> list[dict[str, Any]]:
    """Return the rows with the settings that differ, and definitions that take them into account."""
    from tasks.evaluations.settings import differing

    differ = {
        (metric, model): ", ".join(row.label for row in differing(table, metric, model))
        for metric, model in {(row["metric"], row["model"]) for row in rows}
    }
    completed = []
    for row in rows:
        missing = differ[row["metric"], row["model"]] if row["definition"] is not None else ""
        definition = "near" if missing else row["definition"]
        completed.append({**row, "definition": definition, "settings_differ": missing or None})
    return completed


def one_published(warehouse: Warehouse, evaluation: str, config: str) -> pl.DataFrame | None:
    """Return a configuration's first headline that has published values, with these values."""
    frame = warehouse.query(_PUBLISHED, {"evaluation": evaluation, "config": config})
    rows = _one_published(warehouse, evaluation, config, frame.to_dicts())
    return pl.DataFrame(rows, schema=_with_settings_column(frame)) if rows else None


def _one_published(
    warehouse: Warehouse, evaluation: str, config: str, there: Sequence[Row]
) -> list[dict[str, Any]]:
    """Return the rows that ``one_published`` selects; empty if no paper prints such a number."""
    rows = [
        {**row, "model": _WHOLE_NAMES.get(row["model"], row["model"])}
        for row in there
        if not row["is_detail"] and row["model"] not in _NO_MODELS
    ]
    printed = Counter(_number_of(row) for row in rows if row["source"] != "measured")
    if not printed:
        return []
    headlines = [metric for (metric,) in warehouse.rows(_HEADLINES, [evaluation]).rows]
    places = {metric: at for at, metric in enumerate(headlines)}

    def rank(of: tuple[str, str, str]) -> tuple[Any, ...]:
        return places.get(of[0], len(places)), of[1] != "overall", -printed[of], of

    first = min(printed, key=rank)
    one = [row for row in rows if _number_of(row) == first]
    return _with_settings(one, settings.stored(warehouse, evaluation, config))


_NO_MODELS = ("Avg.", "Average", "Dumb Base")
"""Means and baselines that papers' tables list among the models."""
_WHOLE_NAMES = {"Bb": "BERT base", "Bl": "BERT large", "mB": "mBERT", "mB-u": "mBERT uncased"}
"""Short names of models in papers' tables -> their full names."""


def _number_of(row: Row) -> tuple[str, str, str]:
    """Return the metric and the slice of a row."""
    return row["metric"], row["slice_kind"], row["slice"]


def under_the_line(
    warehouse: Warehouse, evaluation: str, config: str
) -> tuple[str, list[dict[str, Any]]] | None:
    """Return a title and the published values of ``one_published``, those under other settings last.

    Returns None if no paper prints a number that is measured here.
    """
    there = warehouse.rows(_PUBLISHED, {"evaluation": evaluation, "config": config}).dicts()
    rows = _one_published(warehouse, evaluation, config, there)
    if not rows:
        return None
    falls = (rows[0]["metric"],) in warehouse.rows(_FALLING, [evaluation]).rows
    printed = [row for row in rows if row["source"] != "measured"]
    printed.sort(key=lambda row: (row["definition"] != "equal", row["value"] if falls else -row["value"]))
    nulls = [row["null_value"] for row in rows if row["source"] == "measured"]
    nulls = [null for null in nulls if null is not None]
    null = (min(nulls) if falls else max(nulls)) if nulls else None
    name = name_of(rows[0]["label"], rows[0]["slice_kind"], rows[0]["slice"])
    cited = ", ".join(sorted({row["cited"] for row in printed if row["cited"]}))
    title = f"As published ({cited}), never ranked with the rest: {name}"
    title += "" if null is None else f"; a null model scores {number(null)} here"
    lines = [
        {
            "model": row["model"] or "all together",
            "value": number(row["value"]),
            "setting": setting_of(row["condition"]) or "–",
            "definition": row["definition"],
            "what differs": _differs(row),
        }
        for row in printed
    ]
    return title, lines


def _differs(row: Row) -> str:
    """Return how a published value's definition differs from ours; – if it does not."""
    setting = row["settings_differ"]
    return "; ".join(filter(None, (row["difference"], setting and f"settings: {setting}"))) or "–"


_FALLING = "SELECT metric FROM metric WHERE evaluation = ? AND direction = 'lower'"
_HEADLINES = "SELECT metric FROM metric WHERE evaluation = ? AND is_headline ORDER BY rowid"


def published_for_people(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the main columns of ``beside_published``, without details."""
    known = pl.col("is_detail").any().over("metric", "slice_kind", "slice")
    return pl.DataFrame(
        {
            "number": row["label"] if row["slice"] == "all" else f"{row['label']}, {row['slice']}",
            "from": row["source"],
            "model": row["model"] or "all together",
            "value": interval(row["value"], row["ci_low"], row["ci_high"]),
            "definition": row["definition"] or "–",
            "what differs": "; ".join(filter(None, (_settings(row), row["difference"], row["note"]))) or "–",
        }
        for row in rows.filter(~known).to_dicts()
    )


def _settings(row: Row) -> str:
    """Return the differing settings in words."""
    names = str(row["settings_differ"] or "").split(", ")
    if names == [""]:
        return ""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"settings: {', '.join(names[:3])}{more}"


def reported() -> list[str]:
    """Return the evaluations that have a report, without importing them."""
    return [name for name in sound() if name in recipes.without_files() or _has_page(name)]


def _has_page(evaluation: str) -> bool:
    """Return whether the evaluation's folder has a report of its own."""
    return (registry.EVALUATIONS / evaluation / "report.py").is_file()


def usual_file(evaluation: str) -> str:
    """Return the name of the report's file in the folder of its configuration."""
    return _report(evaluation).file


def usual_path(evaluation: str, config: str) -> Path:
    """Return a page's path beside the overview, in a folder of its configuration's own."""
    return Path(PAGES, config, usual_file(evaluation))


def write_report(
    warehouse: Warehouse,
    path: Path,
    config_hash: str | None = None,
    evaluation: str = "spectral",
    links: Links | None = None,
) -> Path:
    """Write the HTML page on one configuration (default: the shown one) to `path`, whole or not at all.

    By default it links to existing pages of shown configurations. Raises as ``read_data`` does, and
    WarehouseError if the disk is full.
    """
    if links is None:
        chosen = configuration(warehouse, evaluation, config_hash)[1]
        top = path.parent.parent.parent if path.parts[-3:-1] == (PAGES, chosen) else path.parent
        pages = {name: top / usual_path(name, key) for name, key in _newest(warehouse).items()}
        every = {"overview": top / OVERVIEW, **pages} if (top / OVERVIEW).exists() else pages
        links = relative_links(every, path.parent)
    text = page(warehouse, evaluation, config_hash, links)
    with written_whole(path, len(text)) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def relative_links(files: Mapping[str, Path], folder: Path) -> Links:
    """Return links from a page in a folder to these files; None for a file not written yet."""
    return {
        name: quote(os.path.relpath(file, folder)) if file.exists() else None for name, file in files.items()
    }


Links = Mapping[str, str | None]
"""Evaluation -> link to its page: "" for this page, None for a page not written yet."""


def page(
    warehouse: Warehouse,
    evaluation: str,
    config: str | None = None,
    links: Links | None = None,
    foot: str = "",
) -> str:
    """Return the HTML page on one configuration, by default with links as ``serve`` has them; raises as
    ``read_data`` does. foot: see ``Frames``."""
    if links is None:
        newest = _newest(warehouse)
        links = {"overview": "../../reports"} | {name: f"../{name}/{newest[name]}" for name in newest}
    data = read_data(warehouse, evaluation, config, {**links, evaluation: ""})
    render, whole = _report(evaluation).render, replace(data, foot=foot)
    from deployments.show.drawings import drawing_cache
    from tasks.report.cache import cached_in, drawn_once  # imports Matplotlib

    # A recipe's page is not cached, since its frames do not hold all it shows, and drawing is quick.
    with cached_in(drawing_cache(warehouse.home)):
        return with_policy(drawn_once(render, whole) if _has_page(evaluation) else render(whole))


def _newest(warehouse: Warehouse) -> dict[str, str]:
    """Return the shown configuration of each evaluation with a report."""
    there = {row.evaluation: row.config_hash for row in reversed(configurations(warehouse))}
    return {name: there[name] for name in reported() if name in there}


def read_data(
    warehouse: Warehouse, evaluation: str, config_hash: str | None = None, links: Links | None = None
) -> Any:
    """Return one configuration's frames (default: the shown one) as the evaluation's ``REPORT.data``.

    Raises:
        WarehouseError: the evaluation has no report, or the configuration no finished run.
    """
    shape: type[Frames] = _report(evaluation).data
    keys = {"evaluation": evaluation, "config_hash": configuration(warehouse, evaluation, config_hash)[1]}
    frames: dict[str, Any] = {
        field.name: _frame(warehouse, field.metadata, keys)
        for field in fields(shape)
        if "view" in field.metadata
    }
    config = keys["config_hash"]
    return shape(
        config_hash=config,
        links=links or {},
        lost=tuple(sent_and_lost(warehouse, evaluation, config)),
        ranks=ranks(warehouse, evaluation, config, "model"),
        rectified=tuple(boards.rectified_lines(warehouse, config)),
        ceilings=tuple(boards.ceiling_lines(warehouse, config)),
        **frames,
    )


def ranks(warehouse: Warehouse, evaluation: str, config: str, by: Literal["model", "run_id"]) -> RankSets:
    """Return the ranks that the data allow on a board, for its models or runs."""
    if (known := boards.ranks(warehouse, evaluation, config)) is None:
        return RankSets()
    rows = list(known.sets.values())
    sets = {getattr(row, by): (row.low, row.high) for row in rows}
    return RankSets(rows[0].metric, sets, rows[0].reason or "")


def _frame(warehouse: Warehouse, of: Mapping[str, Any], keys: Mapping[str, str]) -> pl.DataFrame:
    where = " AND ".join(f"{column} = ?" for column in of["by"]) or "true"
    sql = f"SELECT * FROM {of['view'].format(keys['evaluation'])} WHERE {where} ORDER BY place"
    return warehouse.query(sql, [keys[by] for by in of["by"]])


def _report(evaluation: str) -> Report[Any]:
    if evaluation not in (known := reported()):
        raise WarehouseError(f"no report of {evaluation!r}; known: {', '.join(known)}")
    if _has_page(evaluation):
        report: Report[Any] = import_module(f"tasks.evaluations.{evaluation}.report").REPORT
        return report
    return recipes.report(evaluation)
