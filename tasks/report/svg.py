"""Sets the style of all figures and turns matplotlib figures into SVG for HTML pages."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, NamedTuple

import matplotlib as mpl
import polars as pl
from markupsafe import Markup, escape
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from tasks.report.downloads import as_csv, download_links

# Stand-ins that `to_svg` replaces by the style sheet's variables, which differ between light and dark.
INK: Final = "#010203"
MUTED: Final = "#040506"
RULE: Final = "#070809"
SURFACE: Final = "#0a0b0c"
ACCENT: Final = "#0d0e0f"
"""Models."""
PALE: Final = "#101112"
"""Colour of the second of two conditions."""
NULL: Final = "#131415"
"""Colour of null models and chance."""
NEUTRAL: Final = "#161718"
"""Colour of null models' own bars, baselines, and a third kind."""
_VARIABLES: Final = {
    INK: "ink", MUTED: "muted", RULE: "rule", SURFACE: "surface", ACCENT: "accent", PALE: "pale",
    NULL: "null", NEUTRAL: "neutral",
}  # fmt: skip

_CSS: Final = Path(__file__).with_name("templates") / "page.css"
_LIGHT: Final = dict(reversed(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", _CSS.read_text(encoding="utf-8"))))
"""The style sheet's variables in the light scheme, the first in the file."""

LIGHT: Final = {stand_in: _LIGHT[variable] for stand_in, variable in _VARIABLES.items()}
"""Stand-in -> colour of the light scheme, for figures that are pixels."""

GROUP_COLOURS: Final = ("#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#0072B2", "#D55E00", "#F0E442")
"""Okabe and Ito's palette, which people of every common colour vision can read."""

SMALL: Final = 7.0
"""Least size of letters in points, 9.3 pixels, since figures are never scaled down."""

_STYLE: Final[Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "culturemeter",
    "svg.image_inline": True,
    "text.parse_math": False,  # a model's name may be "$x$"
    "font.family": "DejaVu Sans",
    "font.size": 8.0,
    "text.color": INK,
    "axes.edgecolor": RULE,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 8.0,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "figure.facecolor": "none",
    "grid.color": RULE,
    "grid.linewidth": 0.5,
    "hatch.linewidth": 0.6,
    "xtick.color": RULE,
    "xtick.labelcolor": MUTED,
    "ytick.color": RULE,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 8.0,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
}


class Drawn(NamedTuple):
    """A figure as separate files. description: text for people who cannot see it."""

    description: str
    svg: str
    pdf: bytes
    csv: str


_COLLECTED: ContextVar[dict[str, Drawn] | None] = ContextVar("collected", default=None)


@contextmanager
def collected_figures() -> Iterator[dict[str, Drawn]]:
    """Collect the figures that are drawn within the block, by name."""
    figures: dict[str, Drawn] = {}
    token = _COLLECTED.set(figures)
    try:
        yield figures
    finally:
        _COLLECTED.reset(token)


def collect_figures(figures: Mapping[str, Drawn]) -> bool:
    """Add figures from the cache to those of ``collected_figures``; returns whether figures are collected."""
    if (drawings := _COLLECTED.get()) is None:
        return False
    drawings.update(figures)
    return True


def styled(colours: Mapping[str, str] | None = None) -> AbstractContextManager[None]:
    """Return the context in which figures must be both made and written. colours: ``LIGHT``, or none."""
    return mpl.rc_context({name: (colours or {}).get(value, value) for name, value in _STYLE.items()})


def to_svg(figure: Figure, name: str, description: str, numbers: pl.DataFrame) -> Markup:
    """Return the figure as an ``<svg>`` element without prolog, dates or namespaces, and links that save it.

    Equal input gives equal bytes. The width is fixed, so that letters stay legible; the box around a figure
    that does not fit scrolls.

    Args:
        name: letters, digits and hyphens; prefix of every id, so that figures of one page do not clash.
        description: text for people who cannot see the figure.
        numbers: the drawn numbers, for the link to CSV.
    """
    buffer, extent = io.StringIO(), _extent(figure)
    figure.savefig(buffer, format="svg", bbox_inches=extent, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text).replace("xlink:href=", "href=")
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
    assert size is not None  # matplotlib always writes it
    head = f'{size[0]} width="{float(size[1]) * 96 / 72:.0f}" role="img" aria-label="{escape(description)}">'
    drawn = coloured = text[text.index(">") + 1 :]
    for stand_in, variable in _VARIABLES.items():
        drawn = drawn.replace(stand_in, _LIGHT[variable])
        coloured = coloured.replace(stand_in, f"var(--{variable})")
    alone = f'<svg xmlns="http://www.w3.org/2000/svg" style="background: {_LIGHT["surface"]}" {head}{drawn}'
    table = as_csv([numbers.columns, *numbers.rows()])
    if (drawings := _COLLECTED.get()) is not None:
        drawings[name] = Drawn(description, alone, _to_pdf(figure, extent), table)
    return Markup(f"<svg {head}{coloured}") + download_links(name, {"svg": alone, "csv": table})


def _extent(figure: Figure) -> Bbox:
    """Return the box around everything drawn, in inches, with a margin.

    ``bbox_inches="tight"`` gives the same after drawing the whole figure once more, which takes as long as
    writing it.
    """
    figure.set_dpi(72)  # in which both formats are written
    width, height = figure.get_size_inches() * 72
    renderer: Any = RendererSVG
    return figure.get_tightbbox(renderer(width, height, io.StringIO())).padded(0.04)


def _to_pdf(figure: Figure, extent: Bbox) -> bytes:
    """Return the figure as PDF in the light scheme.

    Without compression, colours are text: three numbers in a row. Replacements are padded with spaces, since
    the file stores the positions of its parts.
    """
    buffer = io.BytesIO()
    with mpl.rc_context({"pdf.compression": 0}):
        figure.savefig(buffer, format="pdf", bbox_inches=extent, metadata={"CreationDate": None})
    content = buffer.getvalue()
    for stand_in, variable in _VARIABLES.items():
        old, new = _shares(stand_in, 10), _shares(_LIGHT[variable], 4)
        anywhere = rb"\s".join(map(re.escape, old))  # lines are broken at spaces
        content = re.sub(anywhere, b" ".join(new).ljust(len(b" ".join(old))), content)
    return content


def _shares(colour: str, digits: int) -> list[bytes]:
    """Return red, green and blue, 0 to 1, in the form of a PDF; matplotlib writes ten digits."""
    shares = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return [f"{share:.{digits}f}".rstrip("0").rstrip(".").encode() for share in shares]
