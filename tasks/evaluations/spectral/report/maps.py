"""For every domain and model: the clustered countries, each country's neighbours and its competence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl
from markupsafe import Markup

from tasks.evaluations.spectral.report.data import Data
from tasks.report.clusters import MOST_LABELS, Matrix, cluster, matrix_of, neighbours, similarity_heatmap

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

    model: str
    figure: Markup | None
    remark: str | None
    order: list[str] = field(default_factory=list)
    rows: list[Neighbours] = field(default_factory=list)


def country_maps(data: Data) -> dict[str, list[CountryMap]]:
    """Label of a domain -> a map of each model, best model first."""
    pairs = data.similarity.partition_by("domain", "model", as_dict=True)
    maps: dict[str, list[CountryMap]] = {}
    for d, (domain, label) in enumerate(data.domains.select("domain", "label").iter_rows()):
        lowest = _lowest(data.similarity.filter(domain=domain)["similarity"])
        for m, model in enumerate(data.models):
            matrix = matrix_of(pairs.get((domain, model), data.similarity.clear()))
            if isinstance(matrix, str):
                own = CountryMap(model, None, f"No map: {matrix}")
            else:
                loadings = data.competence.get((model, domain), {})
                own = _map(data, matrix, loadings, lowest, model, f"map-{d}-{m}")
            maps.setdefault(label, []).append(own)
    return maps


def _map(
    data: Data, matrix: Matrix, loadings: Mapping[str, float | None], lowest: float, model: str, name: str
) -> CountryMap:
    names = data.country_names
    regions = dict(data.asked.select("country", "region").iter_rows())
    tree = cluster(matrix)
    figure = similarity_heatmap(matrix, tree, regions, lowest, name)
    unnamed = tree.order if len(matrix.codes) > MOST_LABELS else []
    rows = [
        Neighbours(names.get(c, c), loadings.get(c), [(names.get(o, o), v) for o, v in near])
        for c, near in neighbours(matrix)
    ]
    order = [names.get(matrix.codes[i], matrix.codes[i]) for i in unnamed]
    return CountryMap(model, figure, _remark(matrix), order, sorted(rows, key=lambda row: row.country))


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
