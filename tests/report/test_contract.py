"""The contract of every evaluation's page, on made runs: it shows what was recorded, and stands any frames.

``outlines/<evaluation>.txt`` has each heading, sentence, row and figure of a page. After a wanted change,
``python -m tests.report.test_contract`` records them again; the diff then shows what readers get.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from bs4 import BeautifulSoup

from deployments.show.report import _report, read_data
from tasks.report import Frames, RankSets
from tests.deployments.commands import call
from tests.evaluations.cure.report import example_run as cure
from tests.evaluations.fmlama.report import example_run as fmlama
from tests.evaluations.spectral.report import example_run as spectral
from tests.evaluations.worldwise.report import example_run as worldwise
from tests.exchange import logs
from tests.report.pages import HOSTILE, check_downloads, check_page, outline, parsed, shown, text_of
from tests.report.stored import CONFIG
from tests.warehouse.rows import in_one_write
from warehouse import Warehouse

OUTLINES = Path(__file__).with_name("outlines")
CODES = ["IN", "JP", "US"]
CONFIGS = {
    "cure": CONFIG, "fmlama": CONFIG, "imported": None, "spectral": "newer", "worldwise": CONFIG,
}  # fmt: skip
"""Evaluation -> its recorded configuration; None: the only one."""
VARIANTS = [
    ("cure", "thin"),
    ("cure", "many"),
    ("worldwise", "one"),
    ("worldwise", "many"),
    ("spectral", "older"),
    ("spectral", "languages"),
]


@in_one_write
def store_cure(warehouse: Warehouse) -> None:
    thin = cure.PARAMS | {"modes": ["thin"], "judges": []}
    cure.store(warehouse, "thin", list(cure.label_rows("casa", "thin", 0.7, CODES, 0)), "thin", thin)
    gains = cure.gains(0.0, 0.05, -0.1, 0.02)
    six = {f"m{i}": cure.Made(0.5 + i / 20, 0.55 + i / 20, gains) for i in range(6)}
    cure.store_study(warehouse, six, many_countries(warehouse), "many", "another judge")
    good, kin = cure.gains(0.4, 0.3, 0.3, 0.05), cure.gains(0.3, 0.05, 0.2, 0.0)
    made = {"good": cure.Made(0.8, 0.85, good), HOSTILE: cure.Made(0.6, 0.5, kin, is_kin=True)}
    cure.store_study(warehouse, made, CODES)
    agreement = ("krippendorff_alpha_nominal", "cohen_kappa", "pearson_graded")
    cure.validate(warehouse, "normad", metrics=agreement)


@in_one_write
def store_spectral(warehouse: Warehouse) -> None:
    for config in (spectral.LANGUAGES, "older", "newer"):
        spectral.store(warehouse, "model-a", config)
        spectral.store(warehouse, "null:list-frequency", config)


@in_one_write
def store_worldwise(warehouse: Warehouse) -> None:
    worldwise.store_study(warehouse, {"alone": 0.2}, ["IN"], "one")
    worldwise.store_study(warehouse, {"model": 0.1}, many_countries(warehouse), "many")
    gains = {"better": 0.31, HOSTILE: 0.05, "worse": -0.29, "lost": None}
    worldwise.store_study(warehouse, gains, CODES)


@in_one_write
def store_fmlama(warehouse: Warehouse) -> None:
    for model in fmlama.MODELS:
        fmlama.store(warehouse, model)


@in_one_write
def store_imported(warehouse: Warehouse) -> None:
    """Import a table in which one model is ahead of two equal ones, and a log without answers."""
    task, cultures = f"dishes {HOSTILE}", ["<b>BR</b>", "DE", "EG", "ET", "IN", "JP", "KE", "MX"]
    columns, draw = ("model", "item", "score", "prompt", "output", "target", "country"), Random(1)
    home = str(warehouse.home)
    with TemporaryDirectory() as folder:
        lines = [
            (model, i, int(draw.random() < share), f"{i}. {HOSTILE} {{asked}} **?**\u202e",
             "" if (model, i % 10) == ("lost", 1) else f"{HOSTILE} {i}", f"<b>{i % 4}</b>", cultures[i // 10])
            for i in range(80) for model, share in (("ahead", 0.9), ("<script>alert(1)", 0.5), ("lost", 0.5))
        ]  # fmt: skip
        table = Path(folder, "scores.csv")
        pl.DataFrame(lines, columns, orient="row").write_csv(table)
        call(
            "import", table, "--task", task, "--cluster", "country", "--by", "country", CULTUREMETER_HOME=home
        )
        bare = logs.lm_eval(Path(folder, "bare"), [1.0, 0.0, 1.0], "org/<b>printed", "TASK")
        bare.write_text(bare.read_text().replace("TASK", task))
        next(bare.parent.glob("samples_*")).unlink()
        call("import", bare, CULTUREMETER_HOME=home)


def many_countries(warehouse: Warehouse) -> list[str]:
    countries: list[str] = warehouse.query("SELECT country FROM country ORDER BY country LIMIT 16")[
        "country"
    ].to_list()
    return countries


STORED = {
    "cure": store_cure, "fmlama": store_fmlama, "imported": store_imported, "spectral": store_spectral,
    "worldwise": store_worldwise,
}  # fmt: skip
"""Stores runs: several models, one without scores, one with a hostile name."""


@pytest.fixture(name="data", scope="module")
def _data(copied_home: Callable[[], Path]) -> Callable[[str, str | None], Frames]:
    @cache
    def warehouse(evaluation: str) -> Warehouse:
        own = Warehouse.open(copied_home())
        STORED[evaluation](own)
        return own

    return lambda evaluation, config: read_data(warehouse(evaluation), evaluation, config)  # type: ignore[no-any-return]


def page_of(evaluation: str, data: Frames) -> BeautifulSoup:
    return parsed(_report(evaluation), data)


def check(page: BeautifulSoup) -> None:
    """Check what holds for every page."""
    check_page(page)
    check_downloads(page)
    assert "None" not in outline(page)


@pytest.mark.parametrize("evaluation", CONFIGS)
def test_a_page_shows_what_was_recorded(data: Callable[[str, str | None], Frames], evaluation: str) -> None:
    page = page_of(evaluation, data(evaluation, CONFIGS[evaluation]))
    check(page)
    recorded = (OUTLINES / f"{evaluation}.txt").read_text(encoding="utf-8")
    assert outline(page).splitlines() == recorded.splitlines()


@pytest.mark.nets(1)
@pytest.mark.parametrize(("evaluation", "config"), VARIANTS)
def test_a_page_of_few_or_many_numbers_is_whole(
    data: Callable[[str, str | None], Frames], evaluation: str, config: str
) -> None:
    frames = data(evaluation, config)
    page = page_of(evaluation, frames)
    check(page)
    assert str(page) == str(page_of(evaluation, frames)), "equal frames give equal bytes"


def without_scores(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose numbers with decimals are all missing."""
    lost = [
        name for name, kind in frame.schema.items() if kind == pl.Float64 and not name.startswith("human")
    ]
    return frame.with_columns(pl.lit(None, pl.Float64).alias(name) for name in lost)


def changed(data: Frames, change: Callable[[pl.DataFrame], pl.DataFrame], *but: str) -> Any:
    frames = {each.name: getattr(data, each.name) for each in fields(data) if "view" in each.metadata}
    return replace(data, **{name: change(frame) for name, frame in frames.items() if name not in but})


@pytest.mark.parametrize("evaluation", CONFIGS)
def test_a_page_without_any_score_says_so(data: Callable[[str, str | None], Frames], evaluation: str) -> None:
    page = page_of(
        evaluation, changed(data(evaluation, CONFIGS[evaluation]), without_scores, "metrics", "similarity")
    )
    check(page)
    assert not page.select("header figure"), "no chart of nothing"
    assert not [
        figure for figure in page.select("figure svg") if "similar" not in figure["aria-label"].lower()
    ]


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (
            {"knows": (1, 1), HOSTILE: (2, 2)},
            "The best mAP over all conditions is 0.550 (95 % interval 0.510 to 0.610), by knows .",
        ),
        (
            {"knows": (1, 2), HOSTILE: (1, 2)},
            "No model is shown to have the best mAP over all conditions: the values are 0.250 to 0.550 .",
        ),
    ],
)
def test_a_lead_names_a_best_model_only_of_rank_1_alone(
    data: Callable[[str, str | None], Frames], sets: dict[str, tuple[int, int]], said: str
) -> None:
    frames = data("fmlama", CONFIG)
    whole = frames.values.filter(metric="map", slice="en:en:no").with_columns(
        slice_kind=pl.lit("overall"), slice=pl.lit("all")
    )
    page = page_of(
        "fmlama", replace(frames, values=pl.concat([frames.values, whole]), ranks=RankSets("map", sets))
    )
    check(page)
    lead = text_of(page.select("header p.lead")[1])
    assert said in lead
    assert (
        "A random ranking scores 0.100, and the baseline null:common, which knows no dish, scores 0.300."
        in lead
    )
    ranks = [text_of(row.select("td")[0]) for row in page.select("table#board tr:not(.block)")[1:3]]
    assert ranks == [RankSets("map", sets).of(model) for model in sets]


def test_a_hostile_name_is_text_everywhere(data: Callable[[str, str | None], Frames]) -> None:
    """The other evaluations' runs have a model of such a name."""
    frames = data("spectral", "newer")

    def renamed(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(pl.col(pl.String).replace({"model-a": HOSTILE}))

    page = page_of("spectral", changed(frames, renamed))
    check(page)
    assert HOSTILE in page.select_one("table.leaderboard").get_text()  # type: ignore[union-attr]
    assert HOSTILE in shown(page)  # type: ignore[arg-type]


if __name__ == "__main__":
    for each in sys.argv[1:] or CONFIGS:
        with TemporaryDirectory() as folder:
            own = Warehouse.open(Path(folder))
            STORED[each](own)
            text = outline(page_of(each, read_data(own, each, CONFIGS[each])))
            (OUTLINES / f"{each}.txt").write_text(text, encoding="utf-8")
