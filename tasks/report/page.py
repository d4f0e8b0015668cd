"""Renders a page: frames and templates become one HTML document that needs nothing from the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined

from tasks.report import Frames, Row
from tasks.report.downloads import table_link
from tasks.report.text import FILTERS, clean

CELLS = ("cell", "null", "axis", "name", "counts", "isolated", "head")
"""The macros of ``cells.html`` that every template has."""


def render_page(package: str, data: Frames, context: dict[str, Any]) -> str:
    """Return the page of a package: its ``templates/page.html``, which extends ``kit/page.html``.

    All texts are escaped, figures and style sheet are inline, and there is no script. The same input gives
    the same bytes.

    Args:
        package: the evaluation's report, such as "tasks.evaluations.cure.report".
        data: frames that every page shows: runs, sources, metrics, unscored numbers.
        context: further values of the templates, which also have data, params, find (``Frames.find``) and
            ``CELLS``.
    """
    fields = {"data": data, "params": data.params, "find": data.find, **context}
    return environment(data.catalogue, package).get_template("page.html").render(fields)


def environment(catalogue: Mapping[str, Row], package: str = "tasks.report") -> Environment:
    """Return the templates of a package, and those of the kit under ``kit/``. catalogue: as
    ``Frames.catalogue``.
    """
    kit = PrefixLoader({"kit": PackageLoader("tasks.report", "templates")})
    templates = Environment(
        loader=ChoiceLoader([PackageLoader(package, "templates"), kit]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=clean,
    )
    templates.filters |= FILTERS | {"table_link": table_link}
    templates.globals["catalogue"] = catalogue
    cells = templates.get_template("kit/cells.html").module
    templates.globals |= {macro: getattr(cells, macro) for macro in CELLS}
    return templates
