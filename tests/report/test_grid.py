"""The overview as a figure for print: nulls, ticks, published values, and colours for everybody."""

from __future__ import annotations

import io
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from bs4 import BeautifulSoup
from matplotlib.colors import to_rgb
from PIL import Image

from tasks.report.grid import SIDES, Grid, GridColumn
from tasks.report.svg import ACCENT, GROUP_COLOURS, LIGHT, MUTED, NEUTRAL, NULL, PALE, SURFACE
from tests.report.pages import HOSTILE, shown

MODELS = {"h1": "a", "h2": HOSTILE, "h3": "lost", "h4": "elsewhere"}


def number(*values: Any) -> dict[str, Any]:
    return dict(zip(SIDES, values, strict=True))


def grid(**more: Any) -> Grid:
    rows = {
        "h1": number(0.6, 0.5, 0.7, 0.25, True), "h2": number(0.3, 0.2, 0.4, 0.25, False),
        "h3": number(None, None, None, 0.25, None),
    }  # fmt: skip
    column = GridColumn("first", "F1 ↑", rows, 0.25)
    return Grid(MODELS, [column._replace(**more), GridColumn("second", "Error ↓", {}, None)])


def drawn(of: Grid) -> BeautifulSoup:
    return BeautifulSoup(of.draw("overview", "Every model"), "lxml")


def test_every_row_has_its_number_or_the_reason_and_each_column_its_ticks() -> None:
    texts = shown(drawn(grid()))
    assert {"a", HOSTILE, "lost", "elsewhere", "first", "F1 ↑", "0.2", "0.4", "0.6"} <= set(texts)
    assert texts.count("not scored") == 1
    assert texts.count("not run") == 1 + len(MODELS)
    assert Grid(MODELS, [GridColumn("e", "F1", {}, None)]).draw("overview", "x") == ""


def test_published_values_are_one_row_on_the_axis_of_the_same_number() -> None:
    assert "as published" not in shown(drawn(grid()))
    with_them = drawn(grid(published=[0.4, 0.41, 0.9], cited="Who 2025"))
    assert "as published" in shown(with_them)
    saved = str(with_them.select("a[download$=csv]")[0]["href"])
    assert saved.count("as%20published") + saved.count("as published") == 3


def test_a_null_of_each_row_is_drawn_in_the_row() -> None:
    shared, own = (str(drawn(each)).count("var(--null)") for each in (grid(), grid(null=None)))
    assert shared == 2  # the line, and its legend
    assert own == 3  # two rows with a value, and the legend


def test_the_picture_for_print_has_300_dots_an_inch_and_equal_bytes() -> None:
    picture = Image.open(io.BytesIO(grid().png()))
    assert round(float(picture.info["dpi"][0])) == 300
    assert picture.getpixel((0, 0))[:3] == (255, 255, 255)  # type: ignore[index]
    colours = {colour[:3] for _, colour in picture.convert("RGB").getcolors(1 << 24) or []}  # type: ignore[index]
    for stand_in in (ACCENT, NULL):
        assert tuple(round(255 * x) for x in to_rgb(LIGHT[stand_in])) in colours
        assert tuple(round(255 * x) for x in to_rgb(stand_in)) not in colours
    assert grid().png() == grid().png()


# Machado, Oliveira and Fernandes 2009: full protanopia, deuteranopia and tritanopia, on linear RGB.
VISION = {
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protan": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "deutan": [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    "tritan": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}
TO_XYZ = [[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]]


def lab(colour: str, vision: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a colour as people of a vision see it, in CIE L*a*b* (D65)."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(VISION[vision]) @ linear, 0, 1)
    x, y, z = np.array(TO_XYZ) @ seen / (0.95047, 1.0, 1.08883)
    fx, fy, fz = (np.cbrt(t) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


@pytest.mark.parametrize("vision", VISION)
def test_colours_of_figures_can_be_told_apart_by_everybody(vision: str) -> None:
    """A distance of 10 in L*a*b* is plainly visible; groups of maps need less, since they have names."""
    used = [LIGHT[each] for each in (ACCENT, NULL, MUTED, NEUTRAL, PALE, SURFACE)]
    for one, other in combinations(used, 2):
        assert np.linalg.norm(lab(one, vision) - lab(other, vision)) > 10, (one, other)
    for one, other in combinations(GROUP_COLOURS, 2):
        assert np.linalg.norm(lab(one, vision) - lab(other, vision)) > 5, (one, other)


def test_red_and_green_of_equal_light_would_be_found() -> None:
    assert np.linalg.norm(lab("#c2571a", "deutan") - lab("#7a7a00", "deutan")) < 10
    assert np.linalg.norm(lab("#c2571a", "normal") - lab("#7a7a00", "normal")) > 30
