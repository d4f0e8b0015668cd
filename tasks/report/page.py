"""Draws a page: frames and parts become one HTML document that needs nothing from the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined

from tasks.report import Frames, Row, cells
from tasks.report.downloads import table_link
from tasks.report.parts import Page, together
from tasks.report.text import FILTERS, clean

CELLS = ("cell", "null", "axis", "name", "counts", "isolated")
"""The functions of ``cells`` that every template has, beside ``head``."""

F = TypeVar("F", bound=Frames)


@dataclass(frozen=True)
class Report(Generic[F]):
    """The page of one evaluation; a module ``tasks.evaluations.<name>.report`` has it as REPORT.

    Attributes:
        file: usual name of the page under the home folder. data: class of its frames; the fields' metadata
            name their views (``view``). page: pure function from frames to what the page shows.
    """

    file: str
    data: type[F]
    page: Callable[[F], Page]

    def render(self, data: F) -> str:
        """Return one HTML document; equal frames give equal bytes.

        All texts are escaped, figures and style sheet are inline, and there is no script.
        """
        template = environment(data.catalogue).get_template("page.html")
        return template.render(data=data, page=self.page(data))


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
    templates.filters |= FILTERS | {"table_link": table_link, "together": together}
    templates.globals |= {each: getattr(cells, each) for each in CELLS}
    templates.globals["head"] = partial(cells.head, catalogue)
    return templates
