"""Tables from columns: a heading and the cell of a row's key, mostly a metric's number."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup

from tasks.report import Frames, Row, cells
from tasks.report.cells import isolated, left, put, small, td, words
from tasks.report.parts import Line, Section, Table, block
from tasks.report.text import cut, number

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


HARDEST = 12
"""Number of items that a page shows; they are those with the lowest scores."""


def hardest(
    answers: pl.DataFrame, item: Callable[[Row], object], target: Callable[[Row], object], nothing: str = ""
) -> list[Section]:
    """Return the section of the hardest items; none without answers.

    Args:
        answers: item, cluster, model, answer, value, unscored_reason, lost; hardest item first.
        item, target: row -> text of the item and of its right answer.
        nothing: text of an answer that is not there for no reason.
    """
    rows = []
    for name in answers["item"].unique(maintain_order=True).head(HARDEST):
        own = answers.filter(pl.col("item") == name).to_dicts()
        for at, row in enumerate(own):
            asked = put("{}{}", isolated(item(row)), small(isolated(row["cluster"]), below=True))
            first = [
                put('<th scope="row" rowspan="{}">{}</th>', len(own), asked),
                put('<td class="text" rowspan="{}">{}</td>', len(own), isolated(target(row))),
            ]
            lost = put('<span class="small">{}</span>', row["unscored_reason"] or row["lost"] or nothing)
            answer = lost if row["answer"] is None else isolated(cut(row["answer"]))
            cells = [words(isolated(row["model"])), words(answer), td(number(row["value"]))]
            rows.append(Line([*([] if at else first), *cells], is_first=not at))
    head = [*map(left, ("Item", "Right answer", "Model", "Answer")), put("<th>Score</th>")]
    shown = Table(
        "Items with the models’ lowest scores, and their answers", head, rows, "hardest", is_long=True
    )
    return [Section("items", "Which items are hardest?", [shown])] if rows else []
