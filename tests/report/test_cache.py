"""Drawings are kept by their content and drawn once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from deployments.show import drawings as files
from deployments.show.drawings import CachedFiles, drawing_cache
from deployments.show.report import page
from tasks.report.cache import cached_in, digest, drawn_once
from tasks.report.svg import collected_figures, styled, to_svg
from tests.evaluations.spectral.report import example_run as spectral
from warehouse import Warehouse


@dataclass(frozen=True)
class Content:
    """Like the frames of a page."""

    rows: pl.DataFrame
    links: dict[str, str | None]


CONTENT = Content(pl.DataFrame({"model": ["a", "b"], "value": [0.5, None]}), {"other": None})


def drawing(calls: list[object]) -> object:
    def draw(content: object) -> str:
        calls.append(content)
        return f"drawn {len(calls)}"

    return draw


def test_equal_content_is_drawn_once() -> None:
    calls: list[object] = []
    draw = drawing(calls)
    store: dict[str, bytes] = {}
    with cached_in(store):
        assert drawn_once(draw, CONTENT) == "drawn 1"  # type: ignore[arg-type]
        again = replace(CONTENT, rows=pl.concat([CONTENT.rows[:1], CONTENT.rows[1:]], rechunk=False))
        assert drawn_once(draw, again) == "drawn 1"  # type: ignore[arg-type]
        for other in (
            replace(CONTENT, rows=CONTENT.rows.with_columns(value=pl.lit(0.25))),
            replace(CONTENT, rows=CONTENT.rows.rename({"model": "name"})),
            replace(CONTENT, links={"other": "x.html"}),
        ):
            before = len(calls)
            assert drawn_once(draw, other) == f"drawn {before + 1}"  # type: ignore[arg-type]
        store.update(dict.fromkeys(store, b'["torn'))
        assert drawn_once(draw, CONTENT) == "drawn 5"  # type: ignore[arg-type]
    assert drawn_once(draw, CONTENT) == "drawn 6"  # type: ignore[arg-type]  # nobody keeps


def test_the_digest_of_content_includes_types_and_shapes() -> None:
    contents = [
        ["ab", "c"],
        ["a", "bc"],
        ["abc"],
        1,
        "1",
        1.0,
        True,
        None,
        {},
        [],
        np.zeros(2),
        np.zeros((2, 1)),
    ]
    assert len({digest(content) for content in contents}) == len(contents)
    with pytest.raises(TypeError, match="object"):
        digest(object())


def test_cached_figures_are_collected_like_new_ones() -> None:
    def draw(name: str) -> str:
        with styled():
            figure = Figure(figsize=(1, 1))
            figure.add_axes((0, 0, 1, 1)).plot([0, 1])
            return to_svg(figure, name, "a line", pl.DataFrame({"x": [0, 1]}))

    store: dict[str, bytes] = {}
    with cached_in(store):
        plain = drawn_once(draw, "one")
        with collected_figures() as first:
            assert drawn_once(draw, "one") == plain
        with collected_figures() as second:
            assert drawn_once(draw, "one") == plain
    assert first == second
    assert list(first) == ["one"]
    assert first["one"].pdf.startswith(b"%PDF")
    assert len(store) == 2  # one with files and one without


def test_a_page_is_taken_from_the_cache_of_the_home(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    spectral.store(warehouse, "model-a", "newer")
    monkeypatch.setattr("tasks.evaluations.spectral.report.figures", lambda data: [])
    monkeypatch.setattr("tasks.evaluations.spectral.report.country_maps", lambda data: [])
    first = page(warehouse, "spectral")
    assert [path for path in (warehouse.home / "cache" / "drawn").rglob("*") if path.is_file()]
    monkeypatch.setattr("tasks.evaluations.spectral.report._board", lambda data: pytest.fail("drawn again"))
    assert page(warehouse, "spectral") == first


def test_old_drawings_are_deleted_and_write_errors_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST", 4)
    old = tmp_path / "cache" / "drawn" / "of-older-code"
    old.mkdir(parents=True)
    store = drawing_cache(tmp_path)
    assert isinstance(store, CachedFiles)
    assert not old.exists()
    for number in range(5):
        store[f"f{number}"] = b"x"
    assert len(store) == 2
    assert store.get("none") is None
    monkeypatch.setattr(files, "written_whole", lambda *of: (_ for _ in ()).throw(OSError("full")))
    store["more"] = b"y"
    assert store.get("more") is None
