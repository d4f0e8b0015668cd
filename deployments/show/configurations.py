"""Choose the configuration of an evaluation to show.

Unless a profile or a configuration is named, it is that of shipped content with the most answers
(``report_configuration.place``). A smaller run, or a pack's, never takes its place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from warehouse import Warehouse, WarehouseError

if TYPE_CHECKING:
    from flows.comparison import ComparedRuns
    from flows.runs import FinishedRun

_CONFIGURATIONS = """
SELECT evaluation, configuration, profile, n_models, n_answers FROM report_configuration
WHERE n_models > 0 ORDER BY evaluation, place
"""


_PARAMS = """
SELECT config_hash, arg_max(params::VARCHAR, finished_at) FROM run
WHERE evaluation = ? AND status = 'finished' AND NOT is_null GROUP BY config_hash
"""
_MOST = 5
"""Most other configurations that are listed under a leaderboard, and most settings of one."""
_LONGEST = 40
"""Most signs of a setting's value."""


class Configuration(NamedTuple):
    """A configuration with finished runs of models. profile: its profiles, separated by commas."""

    evaluation: str
    config_hash: str
    profile: str
    n_models: int
    n_answers: int


def configurations(warehouse: Warehouse, evaluation: str | None = None) -> list[Configuration]:
    """Return every configuration with models, by evaluation, the shown one first."""
    rows = [Configuration(*row) for row in warehouse.rows(_CONFIGURATIONS).rows]
    return [row for row in rows if evaluation in (None, row.evaluation)]


def shown_configuration(
    warehouse: Warehouse, evaluation: str, profile: str | None = None, config: str | None = None
) -> str:
    """Return the config_hash of an evaluation's shown configuration.

    Args:
        profile: only configurations of this profile; of several, the one with the most answers.
        config: the hash, or a beginning that only one hash has.

    Raises:
        WarehouseError: no finished run fits, or several hashes begin with ``config``; lists the known ones.
    """
    return chosen(configurations(warehouse, evaluation), evaluation, profile, config).config_hash


def chosen(
    known: list[Configuration], evaluation: str, profile: str | None = None, config: str | None = None
) -> Configuration:
    """Return the shown one of ``configurations``; arguments and errors as of ``shown_configuration``."""
    if not known:
        raise WarehouseError(
            f"no finished run of {evaluation} to show; start one with: culturemeter run {evaluation}"
        )
    fitting = [row for row in known if profile is None or profile in row.profile.split(", ")]
    if not fitting:
        profiles = ", ".join(sorted({row.profile for row in known}))
        raise WarehouseError(
            f"no finished run of {evaluation} has the profile {profile!r}; known: {profiles}"
        )
    if config is None:
        return fitting[0]
    exact = [row for row in fitting if row.config_hash == config]
    begun = exact or [row for row in fitting if config and row.config_hash.startswith(config)]
    if len(begun) == 1:
        return begun[0]
    keys = ", ".join(row.config_hash for row in begun or fitting)
    if begun:
        raise WarehouseError(f"several configurations of {evaluation} begin with {config!r}: {keys}")
    raise WarehouseError(f"no finished run of {evaluation} has the configuration {config!r}; known: {keys}")


_COHORT = "SELECT cohort, model FROM report_cohort WHERE evaluation = ? AND config_hash = ? ORDER BY place"


def cohort_line(warehouse: Warehouse, evaluation: str, config: str, effect: str) -> str | None:
    """Return what is said about a configuration's cohort; None without an effect on other models' rows."""
    from tasks.report.sentences import cohort_sentence  # imports polars

    members = warehouse.rows(_COHORT, [evaluation, config]).rows if effect else []
    return cohort_sentence(members[0][0], [model for _, model in members], effect) if members else None


def other_configurations(warehouse: Warehouse, evaluation: str, config: str) -> list[str]:
    """Return a line for each other configuration of an evaluation that can be shown: how it differs."""
    others = [row for row in configurations(warehouse, evaluation) if row.config_hash != config]
    params = (
        {key: json.loads(text) for key, text in warehouse.rows(_PARAMS, [evaluation]).rows} if others else {}
    )
    lines = []
    for row in others[:_MOST]:
        models = f"{row.n_models} model{'s' * (row.n_models != 1)}"
        differ = _differences(params.get(row.config_hash, {}), params.get(config, {}))
        how = "; ".join(differ[:_MOST]) + (f"; {len(differ) - _MOST} more" if len(differ) > _MOST else "")
        how = how or "other content, or another version of the scores"
        lines.append(f"Also: --config {row.config_hash}, profile {row.profile}, {models}: {how}.")
    if len(others) > _MOST:
        lines.append(
            f"{len(others) - _MOST} more configurations: culturemeter runs --evaluation {evaluation}"
        )
    return lines


_PROMPTS = """
SELECT count(*), count(*) FILTER (one.input IS DISTINCT FROM two.input)
FROM sample_text AS one JOIN sample_text AS two USING (sample)
WHERE one.run_id = $first AND two.run_id = $second
"""
_OF_RUN = "SELECT params::VARCHAR FROM run WHERE run_id = ?"


def apart(warehouse: Warehouse, row: dict[str, Any]) -> list[str]:
    """Return lines on how the configurations of two compared runs differ; none if they have the same.

    row: of ``comparison.SCHEMA``.
    """
    if row["first_config"] == row["second_config"]:
        return []
    runs = {side: row[f"{side}_run"] for side in ("first", "second")}
    first, second = (json.loads(warehouse.rows(_OF_RUN, [run]).rows[0][0]) for run in runs.values())
    how = [f"{name}: A {one}, B {two}" for name, one, two in _differing(first, second)]
    lines = [f"The configurations differ. {'; '.join(how)}." if how else ""]
    ((n, n_other),) = warehouse.rows(_PROMPTS, runs).rows
    lines.append(f"{n_other:,} of {n:,} common items have another prompt." if n_other else "")
    return [line for line in lines if line]


def _differences(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """Return the settings in which two configurations differ."""
    return [f"{name} {one}, here {two}" for name, one, two in _differing(there, here)]


def _differing(there: dict[str, Any], here: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return name and both values of the settings in which two configurations differ."""
    from tasks.evaluations.contract import GenerationParams  # slow, and only needed for several

    there, here = _flat(there), _flat(here)
    unhashed = {"models", "occasion", "dtype", "profile", *GenerationParams.__annotations__}
    return [
        (name, _value(there.get(name)), _value(here.get(name)))
        for name in sorted(there.keys() | here.keys())
        if name not in unhashed and there.get(name) != here.get(name)
    ]


def _flat(params: dict[str, Any]) -> dict[str, Any]:
    """Return params in which each field of a mapping stands for itself."""
    flat: dict[str, Any] = {}
    for name, value in params.items():
        flat |= (
            {f"{name} {key}": each for key, each in value.items()}
            if isinstance(value, dict)
            else {name: value}
        )
    return flat


def _value(value: Any) -> str:
    """Return a setting's value as people write it."""
    listed = ", ".join(map(str, value)) if isinstance(value, list) else value
    text = "none" if listed in (None, "") else str(listed)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def of_shown(
    warehouse: Warehouse, finished: Sequence[FinishedRun], wanted: ComparedRuns, profile: str | None
) -> list[FinishedRun]:
    """Return the runs to compare: for each evaluation those of the shown configuration if both models have
    runs of it, else all.

    Raises:
        WarehouseError: no evaluation has a run of the profile.
    """
    names = {wanted.first, wanted.second or wanted.first}
    runs: list[FinishedRun] = []
    for evaluation in dict.fromkeys(run.evaluation for run in finished):
        of_evaluation = [run for run in finished if run.evaluation == evaluation]
        of_profile = [run for run in of_evaluation if profile in (None, run.profile)]
        if not of_profile:
            continue
        key = shown_configuration(warehouse, evaluation, profile)
        own = [run for run in of_evaluation if run.config_hash == key]
        is_of_both = {run.model.partition("#")[0] for run in own} >= {n.partition("#")[0] for n in names}
        runs += own if is_of_both else of_profile
    if finished and not runs:
        known = ", ".join(sorted({run.profile for run in finished}))
        raise WarehouseError(f"no finished run has the profile {profile!r}; known: {known}")
    return runs
