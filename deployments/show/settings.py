"""Compare a run's settings with its paper's, for a dry run and for a stored configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from deployments.show.display import print_table, say

if TYPE_CHECKING:
    from tasks.evaluations.contract import Params
    from tasks.evaluations.settings import ComparedSetting
    from tasks.packs.shape import PackContent
    from warehouse import Warehouse

COLUMNS = ("setting", "this run", "the paper", "where", "same")
_RUN = """
SELECT model, params FROM run WHERE evaluation = ? AND config_hash = ? AND NOT is_null
ORDER BY started_at, run_id LIMIT 1
"""


def show(
    evaluation: str,
    params: Params,
    packs: Sequence[PackContent],
    kinds: Set[str] = frozenset(),
    *,
    is_whole: bool = True,
) -> None:
    """Print how many settings of a run differ from its paper's; nothing if it is not from a paper.

    Args:
        kinds: the kinds of the run's engines, which some settings do not concern.
        is_whole: whether to print every setting beside the paper's.
    """
    from tasks.evaluations.settings import OwnPack, compared, settings

    own = [OwnPack(pack.pack, pack.rows) for pack in packs]
    table = compared(settings(evaluation), params, own, params.profile, kinds)
    if not table:
        return
    same = {True: "yes", False: "NO"}
    rows = [
        (row.setting, row.ours, row.paper, row.section, "unknown" if row.is_open else same[row.is_equal])
        for row in table
    ]
    differ = [row for row in table if not row.may_be_equal]
    n_open = sum(row.is_open for row in table)
    if is_whole:
        print_table(COLUMNS, rows, f"{evaluation}: this run and its paper", stderr=True, breaks_words=True)
    others = [row for row in differ if not row.is_model]
    beside = ", and so does the model" if len(others) < len(differ) else ""
    note = f"{len(others)} of {len(table)} settings differ from the paper's{beside}" if others else ""
    more = "" if is_whole or not (note or n_open) else ": --settings lists them"
    unverified = (
        f"{n_open} of {len(table)} {'are' if n_open > 1 else 'is'} the authors' only if your folder is: no "
        "hash of their content is here"
    )
    whole = f"every {'other ' * bool(n_open)}setting is the paper's{' but the model' if beside else ''}"
    parts = [note or whole, *([unverified] if n_open else [])]
    say(f"{'; '.join(parts)}{more}", style="")


def stored(warehouse: Warehouse, evaluation: str, config: str) -> list[ComparedSetting]:
    """Return a stored configuration's settings beside the paper's; empty if it is not from a paper."""
    from tasks.evaluations.settings import OwnPack, compared, settings
    from warehouse import read_pack

    rows = settings(evaluation)
    runs = warehouse.rows(_RUN, [evaluation, config]).rows if rows else []
    if not runs:
        return []
    model, values = runs[0]
    knobs = _params(evaluation, model, values, {row.field for row in rows if row.field})
    pinned = [name.partition("@") for name in knobs.pack]
    packs = [OwnPack(name, read_pack(warehouse, key) or {}) for name, _, key in pinned]
    return compared(rows, knobs, packs, knobs.profile)


def _params(
    evaluation: str, model: str, stored: str | Mapping[str, Any], fields: Set[str]
) -> Params | SimpleNamespace:
    """Return the params of a run, which may be older than some options.

    Args:
        fields: the fields needed. If the run stored all of them, the evaluation (and SciPy with it) is not
            imported.
    """
    from tasks.parsing import parse_json

    values = parse_json(stored) if isinstance(stored, str) else stored
    own = {"models": [model], **values}
    if own.keys() >= {*fields, "pack", "profile"}:
        return SimpleNamespace(**own)
    from deployments.evaluations import params

    kind = params(evaluation)
    return kind(**{name: value for name, value in own.items() if name in kind.model_fields})
