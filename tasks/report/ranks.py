"""Says of the order of models what the data allow: no model is called the best unless no other can be."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from markupsafe import Markup

from tasks.report import Frames, Row
from tasks.report.cells import isolated
from tasks.report.parts import say
from tasks.report.text import number, span


def scored(data: Frames, metric: str) -> list[Row]:
    """Return the models' numbers over everything that have a value, lowest first."""
    rows = [data.find(model, metric) for model in data.models]
    return sorted((row for row in rows if row and row["value"] is not None), key=lambda row: row["value"])


def best(data: Frames, metric: str, label: str, shown: Callable[[float], str] = number) -> Markup:
    """Return a sentence, without its full stop, on the best value of a metric of which higher is better.

    It names a model only if the first rank is the only one that the data allow it, or if no other is scored;
    else it has the range of all values. "" without a value.
    """
    rows = scored(data, metric)
    if not rows:
        return Markup("")
    top, ranks = rows[-1], data.ranks
    if len(rows) == 1:
        text = "The {label} of {model} is **{value}**{between}"
    elif ranks.metric == metric and ranks.sets.get(top["model"]) == (1, 1):
        text = "The best {label} is **{value}**{between}, by {model}"
    else:
        text = "No model is shown to have the best {label}: the values are **{values}**"
    ends = [shown(top[side]) for side in ("ci_low", "ci_high") if top[side] is not None]
    return say(
        text, label=label, model=isolated(top["model"]), value=shown(top["value"]),
        between=f" (95 % interval {' to '.join(ends)})" if ends else "",
        values=span((row["value"] for row in rows), shown),
    )  # fmt: skip


def nulls(rows: Iterable[Row], shown: Callable[[float], str] = number) -> str:
    """Return what null models score in these numbers' places: a value, or a range; "" without any."""
    return span((row["null_value"] for row in rows if row["null_value"] is not None), shown)
