"""Which configuration of an evaluation is shown.

A small run, or one of a pack, never takes the place of a larger one of shipped content: unless a profile or a
configuration is named, the one with the most answers is shown (``report_configuration.place``).
"""

from __future__ import annotations

from typing import NamedTuple

from warehouse import Warehouse, WarehouseError

_CONFIGURATIONS = """
SELECT evaluation, configuration, profile, n_models, n_answers FROM report_configuration
WHERE n_models > 0 ORDER BY evaluation, place
"""


class Configuration(NamedTuple):
    """A configuration with finished runs of models. profile: those that set its parameters, with commas."""

    evaluation: str
    config_hash: str
    profile: str
    n_models: int
    n_answers: int


def configurations(warehouse: Warehouse, evaluation: str | None = None) -> list[Configuration]:
    """Return every configuration with models, by evaluation; of each the one that is shown comes first."""
    rows = [Configuration(*row) for row in warehouse.rows(_CONFIGURATIONS).rows]
    return [row for row in rows if evaluation in (None, row.evaluation)]


def shown_configuration(
    warehouse: Warehouse, evaluation: str, profile: str | None = None, config: str | None = None
) -> str:
    """Return the config_hash of what is shown of an evaluation.

    Args:
        profile: only configurations of this profile; of several the one with the most answers.
        config: the hash, or its beginning if only one begins so.

    Raises:
        WarehouseError: no finished run fits, or several begin so; says which there are.
    """
    return chosen(configurations(warehouse, evaluation), evaluation, profile, config).config_hash


def chosen(
    there: list[Configuration], evaluation: str, profile: str | None = None, config: str | None = None
) -> Configuration:
    """Return the one of ``configurations`` that is shown; as ``shown_configuration``."""
    if not there:
        raise WarehouseError(
            f"no finished run of {evaluation} to show; start one with: culturescope run {evaluation}"
        )
    fitting = [row for row in there if profile is None or profile in row.profile.split(", ")]
    if not fitting:
        profiles = ", ".join(sorted({row.profile for row in there}))
        raise WarehouseError(
            f"no finished run of {evaluation} has the profile {profile!r}; there are: {profiles}"
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
    raise WarehouseError(
        f"no finished run of {evaluation} has the configuration {config!r}; there are: {keys}"
    )
