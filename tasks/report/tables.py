"""Tables from columns: a heading and the cell of a row's key, mostly a metric's number."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from tasks.report import Frames, Row, cells
from tasks.report.parts import Line, Table, block

Column = tuple[Markup, Callable[[Any], Markup]]
"""Heading, and key of a row -> cell."""


def model_of(key: Any) -> tuple[str, ...]:
    """Return where the numbers of a row are that is about one model: over everything."""
    return (key,)


@dataclass(frozen=True)
class Numbers:
    """Makes columns of metrics.

    Attributes:
        at: key of a row -> model, or model, kind of slice and slice.
    """

    data: Frames
    at: Callable[[Any], tuple[str, ...]] = model_of

    def row(self, metric: str, key: Any) -> Row | None:
        """Return a metric's number in a row."""
        model, *where = self.at(key)
        return self.data.find(model, metric, *where)

    def __call__(self, metric: str, label: str, below: str = "", **options: Any) -> Column:
        """Return the column of a metric. options: of ``cells.cell``; sd: the metric of its deviation."""
        deviation = options.pop("sd", None)

        def draw(key: Any) -> Markup:
            sd = self.row(deviation, key) if deviation else None
            return cells.cell(self.row(metric, key), sd=sd, **options)

        return self.data.head(metric, label, below), draw

    def null(self, metric: str, label: object = "Null", below: object = "", digits: int = 2) -> Column:
        """Return the column of a metric's null."""
        return cells.col(label, below), lambda key: cells.null(self.row(metric, key), digits)

    def ranks(self) -> list[Column]:
        """Return the column of the ranks that the data allow a model; none if the board has no ranks."""
        ranks = self.data.ranks
        heading = cells.col("Ranks", "possible", ranks.note(self.data.label(ranks.metric)))
        return [(heading, lambda key: cells.td(ranks.of(self.at(key)[0])))] if ranks.sets else []

    def axis(
        self, metric: str, low: float, high: float, label: str = "", below: str = "orange: null"
    ) -> Column:
        """Return the column that draws a metric on a line; null models are muted."""

        def draw(key: Any) -> Markup:
            return cells.axis(self.row(metric, key), low, high, self.at(key)[0].startswith("null:"))

        return cells.left(label or f"{low:g} to {high:g}", below), draw


MODEL: Column = (cells.left("Model"), cells.name)


def table(
    caption: str, columns: Iterable[Column], keys: Iterable[Any], *, id: str = "", kind: str = "",
    is_long: bool = False, line: Callable[[Any], str] | None = None,
    block_of: Callable[[Any], Hashable] | None = None,
) -> Table:  # fmt: skip
    """Return a table with a row for every key.

    Args:
        keys: of rows. line: key -> class of its row: null, or "". block_of: key -> what stands above all
            rows that share it.
    """
    shown = list(columns)
    rows: list[Line] = []
    last: Hashable = None
    for key in keys:
        if block_of is not None and (above := block_of(key)) != last:
            rows.append(block(last := above, len(shown)))
        rows.append(Line([draw(key) for _, draw in shown], line(key) if line else ""))
    return Table(caption, [heading for heading, _ in shown], rows, id, kind, is_long)


def is_null(model: str) -> str:
    """Return the class of a null model's row."""
    return "null" if model.startswith("null:") else ""


def by_model(models: Sequence[str], draw: Callable[[str, Any], Markup], below: object = "") -> list[Column]:
    """Return a column for every model. draw: model and key -> cell."""
    return [(cells.col(cells.isolated(m), below), lambda key, m=m: draw(m, key)) for m in models]  # type: ignore[misc]
