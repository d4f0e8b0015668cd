"""Imported logs as users see them; ``culturemeter import`` fills it, and nothing can be run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.evaluations.about import About, Column, interval


def _value(r: Mapping[str, Any], name: str) -> str | None:
    """Return the score, or the loss of a log that has no score; None for the other of the two."""
    is_loss = r["score"] is None and r["loss"] is not None
    return interval(r[name], r["ci_low"], r["ci_high"]) if is_loss == (name == "loss") else None


_BOARD = (
    Column("model", "model"),
    Column("loss [95 %]", lambda r: _value(r, "loss")),
    Column("score [95 %]", lambda r: _value(r, "score")),
    Column("null", "null_value"),
    Column("n", "n_scored"),
    Column("lost", "n_unscored", "items without a number"),
    Column("answered", "coverage", digits=2),
    Column("stderr", "stderr"),
    Column("from", lambda r: " ".join(filter(None, (r["harness"], r["harness_version"]))) or "–"),
    Column("date", lambda r: r["occasion"] or "–"),
    Column("stated", lambda r: "yes" if r["is_stated"] else "–",
           "yes: somebody said with --model-as which model it is; the log does not name its weights"),
)  # fmt: skip

ABOUT = About(
    title="What do the logs of other programs say?",
    models=("smollm2-135m",),
    examples=("--help",),
    caption="Score: mean over items of the log's own scores. null: a model that reads no question, where the "
    "log has options or right answers. Intervals are over clusters (--cluster), else over items.",
    board=_BOARD,
    in_all=False,
    is_served=False,
    profiles={
        # Nothing can be run: `culturemeter import` makes the runs, and a run's profile is the name of its
        # task.
        "smoke": {},
        "demo": {},
        "full": {},
    },
)
