"""Choose the configuration of an evaluation to show.

Unless a profile or a configuration is named, it is that of shipped content with the most answers
(``report_configuration.place``). A smaller run, or a pack's, never takes its place.
"""

from __future__ import annotations

from typing import NamedTuple

from warehouse import Warehouse, WarehouseError

_CONFIGURATIONS = """
SELECT evaluation, configuration, profile, n_models, n_answers FROM report_configuration
WHERE n_models > 0 ORDER BY evaluation, place
"""


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
    from tasks.report.cohort import cohort_sentence  # imports polars

    members = warehouse.rows(_COHORT, [evaluation, config]).rows if effect else []
    return cohort_sentence(members[0][0], [model for _, model in members], effect) if members else None
