"""The frame of every page, and the least code that an evaluation needs for one."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path

import polars as pl
import pytest
from bs4 import BeautifulSoup

from tasks.report import Frames, Report, gain_sign, in_order_of, view
from tasks.report.page import render_page
from tests.report.pages import HOSTILE, check_page, parsed, section, text_of
from tests.report.stored import around, row

TEMPLATE = """
{% extends "kit/page.html" %}
{% from "kit/macros.html" import table, figure %}
{% set title, heading = "short", "Does it work?" %}
{% set resampled, differing, made_from = "items", "items", "the view leaderboard_invented." %}
{% block lead %}<p class="lead">Yes.</p>{% endblock %}
{% block content %}
{% call table("Accuracy", id="board", kind="leaderboard") %}<tbody>
{% for line in data.leaderboard.iter_rows(named=True) %}
<tr>{{ name(line.model) }}{{ cell(find(line.model, "accuracy"), null=true) }}</tr>{% endfor %}
</tbody>{% endcall %}
{% call figure({}, "bars", "Bars") %}{% endcall %}
{% endblock %}
{% block made %}<p>By counting.</p>{% endblock %}
"""
PARAMS = '{"bootstrap": 99}'
FINISHED = datetime(2026, 1, 2, 3, 4)


@dataclass(frozen=True, kw_only=True)
class Data(Frames):
    leaderboard: pl.DataFrame = field(metadata=view("leaderboard_invented"))


@pytest.fixture(name="template")
def _template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The template in an importable package with a unique name, because modules outlive a test."""
    package = tmp_path / f"report_of_{tmp_path.name}"
    (package / "templates").mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    template = package / "templates" / "page.html"
    template.write_text(TEMPLATE, encoding="utf-8")
    return template


@pytest.fixture(name="report")
def _report(template: Path) -> Report[Data]:
    package = template.parent.parent.name
    return Report("report-invented.html", Data, lambda data: render_page(package, data, {}))


def frame(columns: str, *rows: tuple[object, ...]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=columns.split(), orient="row")


def example() -> Data:
    cells = row("accuracy", ("overall", "all"), 0.5, **around(0.5, 0.1, null_value=0.25))
    return Data(
        config_hash="ff00",
        leaderboard=frame("model is_null", (HOSTILE, False)),
        values=pl.DataFrame([{"model": HOSTILE, "is_null": False, **cells}]),
        metrics=frame(
            "metric label unit direction description null_baseline unscored_when source",
            ("accuracy", "Accuracy", "share", "higher", "Share of right answers.", "chance", "never", "ours"),
        ),
        runs=frame(
            "run_id model is_null profile code_version engine params boundary_rule started_at finished_at "
            "evaluation",
            ("r1", HOSTILE, False, "demo", "0.1", '{"kind": "fake"}', PARAMS, "rule", *[FINISHED] * 2, "e"),
        ),
        unscored=frame(
            "model metric slice_kind slice unscored_reason n_unscored",
            (HOSTILE, "accuracy", "language", ", ".join(f"l{i}" for i in range(12)), "refused", 7),
        ),
        countries=frame("country name region", ("PH", "Philippines", "Asia")),
        sources=frame(
            "file source version licence retrieved build notes",
            ("country.csv", "UN", "1", "CC0-1.0", date(2026, 1, 1), "by hand", None),
        ),
        configurations=frame(
            "configuration profile n_models finished_at",
            *(("ff00", "demo", 1, FINISHED), ("aa11", "full", 2, FINISHED)),
        ),
    )


def test_every_page_has_facts_unscored_and_provenance(report: Report[Data]) -> None:
    page = parsed(report, example())
    check_page(page)
    assert text_of(page.title) == "Culturemeter: short (demo, ff00)"
    assert text_of(page.select_one("#board tbody tr")) == f"{HOSTILE} 0.50 0.40 to 0.60 null 0.25"
    assert "95 %, over items" in text_of(page.select_one(".facts"))
    assert "culturemeter browse e --config ff00" in text_of(page.select_one(".facts"))
    assert text_of(page.select_one("p#figure-bars")).startswith("Bars: ")
    assert "By counting." in section(page, "made")
    assert "l7 and 4 more refused 7" in section(page, "unscored")
    provenance = section(page, "provenance")
    for words in ("CC0-1.0", "Share of right answers.", '"kind": "fake"', "aa11"):
        assert words in provenance
    assert "leaderboard_invented" in text_of(page.footer)


def test_equal_frames_give_equal_bytes(report: Report[Data]) -> None:
    assert report.render(example()) == report.render(example())


def test_a_template_without_a_required_word_is_an_error(report: Report[Data], template: Path) -> None:
    template.write_text(TEMPLATE.replace("resampled, differing, made_from", "resampled, other, made_from"))
    with pytest.raises(Exception, match="differing"):
        report.render(example())


def test_values_are_found_by_model_metric_and_slice() -> None:
    data = example()
    assert data.value(HOSTILE, "accuracy") == 0.5
    assert data.find(HOSTILE, "accuracy", "language", "en") is None
    assert data.value("other", "accuracy") is None
    assert data.params == {"bootstrap": 99}
    assert data.country_names == {"PH": "Philippines"}


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.01, 0.2, 1), (0.0, 0.2, 0), (-0.1, 0.0, 0), (-0.2, -0.01, -1), (None, None, 0)],
)
def test_gain_sign_is_nonzero_only_beyond_the_interval(
    low: float | None, high: float | None, expected: int
) -> None:
    assert gain_sign({"ci_low": low, "ci_high": high}) == expected
    assert gain_sign(None) == 0


def test_rows_follow_the_order_of_models() -> None:
    rows = frame("model n", ("a", 1), ("x", 2), ("b", 3), ("a", 4))
    assert in_order_of(rows, ["b", "a"])["n"].to_list() == [3, 1, 4, 2]


def test_a_hostile_name_is_shown_as_text(report: Report[Data]) -> None:
    assert HOSTILE in BeautifulSoup(report.render(example()), "lxml").get_text()
