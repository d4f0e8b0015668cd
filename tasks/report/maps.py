"""For every domain and model: the clustered countries, each country's neighbours and its competence."""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl
from markupsafe import Markup

from tasks.report.clusters import MOST_LABELS, Matrix, cluster, matrix_of, neighbours, similarity_heatmap
from tasks.report.data import ReportData

_NEARLY_ALIKE = 0.999


@dataclass(frozen=True)
class Neighbours:
    """One country: its loading on the shared pattern, and the countries that are answered most like it."""

    country: str
    competence: float | None
    nearest: list[tuple[str, float]]


@dataclass(frozen=True)
class CountryMap:
    """One model in one domain. figure is None where there is nothing to draw, and remark says why.

    order: names of the countries in the order of the figure, if the figure does not name them.
    """

    label: str
    model: str
    figure: Markup | None
    remark: str | None
    order: list[str]
    rows: list[Neighbours]


def country_maps(data: ReportData) -> list[CountryMap]:
    """All maps: domains in the order of ``data.items``, models in the order of the leaderboard."""
    models = data.leaderboard.filter(~pl.col("is_null"))["model"].to_list()
    pairs = data.similarity.partition_by("domain", "model", as_dict=True)
    maps: list[CountryMap] = []
    for d, (domain, label) in enumerate(data.items.select("domain", "label").iter_rows()):
        lowest = _lowest(data.similarity.filter(domain=domain)["similarity"])
        loadings = data.competence.filter(domain=domain)
        for m, model in enumerate(models):
            matrix = matrix_of(pairs.get((domain, model), data.similarity.clear()))
            if isinstance(matrix, str):
                maps.append(CountryMap(label, model, None, f"No map: {matrix}", [], []))
            else:
                competence = dict(loadings.filter(model=model).select("country", "value").iter_rows())
                known = _Known(data.countries, competence, lowest)
                maps.append(_map(known, matrix, label, model, f"map-{d}-{m}"))
    return maps


@dataclass(frozen=True)
class _Known:
    """What a map shows besides its matrix."""

    countries: pl.DataFrame
    competence: dict[str, float | None]
    lowest: float


def _map(known: _Known, matrix: Matrix, label: str, model: str, name: str) -> CountryMap:
    names = dict(known.countries.select("country", "name").iter_rows())
    regions = dict(known.countries.select("country", "region").iter_rows())
    tree = cluster(matrix)
    figure = similarity_heatmap(matrix, tree, regions, known.lowest, name)
    unnamed = tree.order if len(matrix.codes) > MOST_LABELS else []
    rows = [
        Neighbours(names.get(c, c), known.competence.get(c), [(names.get(o, o), v) for o, v in near])
        for c, near in neighbours(matrix)
    ]
    order = [names.get(matrix.codes[i], matrix.codes[i]) for i in unnamed]
    return CountryMap(label, model, figure, _remark(matrix), order, sorted(rows, key=_alphabetically))


def _remark(matrix: Matrix) -> str | None:
    """A warning where the order of the figure rests on next to nothing."""
    least = float(matrix.values.min())
    if least < _NEARLY_ALIKE:
        return None
    return f"No groups to see: any two countries get nearly the same answer (least cosine {least:.7f})"


def _lowest(cosines: pl.Series) -> float:
    """Where the colours of a domain begin, the same for all models: its least cosine, rounded down."""
    least = cosines.min()
    return min(math.floor(float(least) * 10) / 10, 0.9) if isinstance(least, float) else 0.0


def _alphabetically(row: Neighbours) -> str:
    return row.country.removeprefix("the ")
