"""Which configuration of an evaluation is shown where none is named in full."""

from __future__ import annotations

from warehouse import Warehouse, WarehouseError

# A run of shipped content names no pack. Answers count for every configuration that asked for them.
_CONFIGURATIONS = """
SELECT r.config_hash, list(DISTINCT r.profile) AS profiles, max(r.finished_at) AS finished,
    bool_or(len(coalesce(json_extract_string(r.params, '$.pack[*]'), [])) = 0) AS is_shipped,
    count(DISTINCT (u.request_hash, u.unit)) AS answers
FROM run AS r
LEFT JOIN run_request AS q USING (run_id)
LEFT JOIN part_unit AS u USING (request_hash)
WHERE r.evaluation = ? AND r.status = 'finished' AND NOT r.is_null
GROUP BY r.config_hash ORDER BY is_shipped DESC, answers DESC, finished DESC, config_hash
"""


def shown_configuration(
    warehouse: Warehouse, evaluation: str, profile: str | None = None, config: str | None = None
) -> str:
    """Return the configuration that is shown: of shipped content, the one with the most answers.

    So a smaller run, or one with a pack, never hides a larger one.

    Args:
        profile: only configurations with runs of this profile. config: the beginning of a config_hash.

    Raises:
        WarehouseError: no configuration fits, or several have the beginning; says which there are.
    """
    rows = warehouse.query(_CONFIGURATIONS, [evaluation]).rows()
    fits = [
        (key, labels)
        for key, labels, *_ in rows
        if (profile is None or profile in labels) and (config is None or key.startswith(config))
    ]
    keys = ", ".join(key for key, *_ in fits or rows) or "none"
    if config and len(fits) > 1 and config != fits[0][0]:
        raise WarehouseError(f"several configurations of {evaluation} begin with {config!r}: {keys}")
    if not fits and config is not None:
        raise WarehouseError(
            f"no finished run of {evaluation} has the configuration {config!r}; there are: {keys}"
        )
    if not fits:
        labels = ", ".join(sorted({label for _, own, *_ in rows for label in own})) or "none"
        raise WarehouseError(
            f"no finished run of {evaluation} has the profile {profile!r}; there are: {labels}"
        )
    return str(fits[0][0])
