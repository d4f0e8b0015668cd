"""The numbers of the cure page, looked up, and the order in which models and countries are shown."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from tasks.report.cure_data import BENCHMARKS, MODES, CureData
from tasks.report.worldwise_cells import Row

Find = Callable[..., Row | None]
"""(model, metric, slice, slice_kind = benchmark_mode) -> row of ``CureData.values``"""

MOST_COUNTRIES = 12
"""The figure shows no more: those with the most labels."""


def finder(data: CureData) -> Find:
    """A look-up of one number; None where the configuration has none."""
    rows = {
        (row["model"], row["metric"], row["slice_kind"], row["slice"]): row
        for row in data.values.iter_rows(named=True)
    }

    def find(model: str, metric: str, where: str, kind: str = "benchmark_mode") -> Row | None:
        return rows.get((model, metric, kind, where))

    return find


def models_of(data: CureData) -> list[str]:
    """The models that are no null models: highest mean exact match first."""
    own = data.leaderboard.filter(~pl.col("is_null"))
    mean = own.group_by("model").agg(pl.mean_horizontal("thin_em", "thick_em").mean().alias("mean"))
    return mean.sort("mean", "model", descending=[True, False], nulls_last=True)["model"].to_list()


def benchmarks_of(data: CureData) -> list[str]:
    """The benchmarks that were asked."""
    asked = set(data.leaderboard["benchmark"])
    return [benchmark for benchmark in BENCHMARKS if benchmark in asked]


def modes_of(data: CureData) -> list[str]:
    """The modes that were asked."""
    own = data.values.filter(slice_kind="benchmark_mode")["slice"].str.split(":").list.last()
    asked = set(own)
    return [mode for mode in MODES if mode in asked]


def is_judged(data: CureData) -> bool:
    """Whether any explanation has a score."""
    return not data.leaderboard["value"].is_null().all()


def countries_of(data: CureData) -> dict[str, str]:
    """Code -> name: easiest first, by the share of right labels of all models together; unscored last."""
    counted = _by_country(data).sort("right", "country", descending=[True, False], nulls_last=True)
    names: dict[str, str] = dict(data.countries.select("country", "name").rows())
    return {code: names.get(code, code) for code in counted["country"]}


def shown_countries(data: CureData) -> dict[str, str]:
    """Those with the most labels, in the same order: extremes of countries with one item are chance."""
    most = _by_country(data).sort("n", "country", descending=[True, False])["country"].head(MOST_COUNTRIES)
    return {code: name for code, name in countries_of(data).items() if code in set(most)}


def _by_country(data: CureData) -> pl.DataFrame:
    """country, n (labels that could be read), right (share of them)."""
    own = data.values.filter(
        ~pl.col("is_null"), metric="exact_match", slice_kind="benchmark_mode_country"
    ).with_columns(country=pl.col("slice").str.split(":").list.last())
    n = pl.col("n_scored").sum()
    right = (pl.col("value") * pl.col("n_scored")).sum() / pl.when(n > 0).then(n)
    return own.group_by("country").agg(n=n, right=right)
