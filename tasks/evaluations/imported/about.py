"""Imported logs as users see them; ``culturemeter import`` fills it, and nothing can be run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.evaluations.about import About, interval, number


def _columns(r: Mapping[str, Any]) -> dict[str, Any]:
    is_loss = r["score"] is None and r["loss"] is not None
    value = r["loss"] if is_loss else r["score"]
    return {
        "model": r["model"],
        f"{'loss' if is_loss else 'score'} [95 %]": interval(value, r["ci_low"], r["ci_high"]),
        "null": number(r["null_value"]),
        "n": "–" if r["n_scored"] is None else str(r["n_scored"]),
        "lost": "–" if r["n_unscored"] is None else str(r["n_unscored"]),
        "answered": number(r["coverage"], 2),
        "stderr": number(r["stderr"]),
        "from": " ".join(filter(None, (r["harness"], r["harness_version"]))) or "–",
        "date": r["occasion"] or "–",
        "stated": "yes" if r["is_stated"] else "–",
    }


ABOUT = About(
    title="What do the logs of other programs say?",
    models=("smollm2-135m",),
    examples=("--help",),
    caption="Score: mean over items of the log's own scores. null: a model that reads no question, where the "
    "log has options or right answers. Intervals are over clusters (--cluster), else over items.",
    columns=_columns,
    notes={
        "lost": "items without a number",
        "stated": "yes: somebody said with --model-as which model it is; the log does not name its weights",
    },
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
