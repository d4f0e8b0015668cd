"""What the numbers allow to say: is a model distinguished from guessing, and from a look-up in a list?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from tasks.report.cells import Badge

LOOK_UP = "null:list-frequency"
SHUFFLED = "null:shuffled("


@dataclass(frozen=True)
class Verdict:
    """Why one model's macro-F1 may be no finding. Empty lists: nothing speaks against it."""

    guessing: list[str]
    look_up: list[str]

    @property
    def reasons(self) -> list[str]:
        return [*self.guessing, *self.look_up]

    @property
    def badges(self) -> list[Badge]:
        """What to write beside the model's name."""
        doubts: list[Badge] = [("warn", "not distinguishable from guessing")] if self.guessing else []
        if self.look_up:
            doubts.append(("warn", "no better than a list look-up"))
        return doubts or [("good", "better than guessing")]


def verdicts(leaderboard: pl.DataFrame) -> dict[str, Verdict]:
    """A verdict on every model that is no null model.

    leaderboard: rows of one configuration. Shuffled copies of a model are left out: they have their model's
    categories by construction (``shuffled_copies``).
    """
    rows = leaderboard.to_dicts()
    nulls = [r for r in rows if r["is_null"] and not r["model"].startswith(SHUFFLED)]
    return {row["model"]: _verdict(row, nulls) for row in rows if not row["is_null"]}


def shuffled_copies(leaderboard: pl.DataFrame) -> list[str]:
    """The models whose copy with countries shuffled has the same macro-F1 or more."""
    value = dict(leaderboard.select("model", "macro_f1").rows())
    return [
        model
        for model, own in value.items()
        if own is not None and (copy := value.get(f"{SHUFFLED}{model})")) is not None and copy >= own
    ]


def _verdict(row: dict[str, Any], nulls: list[dict[str, Any]]) -> Verdict:
    own, low, high, expected = (row[name] for name in ("macro_f1", "ci_low", "ci_high", "null_macro_f1"))
    if own is None:
        return Verdict(["it has no macro-F1"], [])
    guessing: list[str] = []
    look_up: list[str] = []
    if low is None:
        guessing.append("its macro-F1 has no interval")
    elif expected is not None and low <= expected:
        guessing.append(
            f"its 95 % interval is {low:.2f} to {high:.2f}, and guessing scores {expected:.2f} on average"
        )
    for null in nulls:
        value, top = null["macro_f1"], null["ci_high"]
        reasons = look_up if null["model"] == LOOK_UP else guessing
        if value is not None and value >= own:
            reasons.append(f"{null['model']} scores {value:.2f}, the model {own:.2f}")
        elif top is not None and top >= own and null["model"] != LOOK_UP:
            reasons.append(f"{null['model']} reaches {top:.2f} in 2.5 % of its draws, the model {own:.2f}")
    return Verdict(guessing, look_up)
