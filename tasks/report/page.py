"""The page: frames and templates in, one HTML document out that needs nothing from the network."""

from __future__ import annotations

from functools import partial
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined

from tasks.report import cells
from tasks.report.data import Frames
from tasks.report.text import FILTERS

_GLOBALS = {
    "cell": cells.cell, "null": cells.null, "axis": cells.axis, "name": cells.name, "counts": cells.counts,
    "isolated": cells.isolated,
}  # fmt: skip


def render_page(package: str, data: Frames, context: dict[str, Any]) -> str:
    """``templates/page.html`` of a package, which extends ``kit/page.html``.

    All texts are escaped, figures and style sheet are inline, and there is no script. The same input gives
    the same bytes.

    Args:
        package: of the evaluation's report, such as "tasks.evaluations.cure.report".
        data: what the frame shows: runs, sources, metrics, what is unscored.
        context: what else the templates show. They also have data, params, find (``Frames.find``), head (a
            column's heading: metric, label, text below) and the functions of ``cells``.
    """
    kit = PrefixLoader({"kit": PackageLoader("tasks.report", "templates")})
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, "templates"), kit]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= FILTERS
    environment.globals |= _GLOBALS | {"head": partial(cells.head, data.catalogue)}
    shown = {"data": data, "params": data.params, "find": data.find, **context}
    return environment.get_template("page.html").render(shown)
