"""Tables 1 and 2 of CURE (Vo and Koyejo 2025), and the numbers of its text. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scrapers.countries import CountryCodes
from tasks.evaluations.cure.benchmarks import LOADERS, Loaded
from tasks.metrics.agreement import cohen_kappa, fleiss_kappa, pearson
from tasks.metrics.classification import LOST, label_scores, random_baseline
from tasks.metrics.krippendorff_alpha import krippendorff_alpha
from tasks.metrics.types import FloatArray
from tasks.papers.cure.files import SOURCES, Content, CureReproduced, Result
from tasks.papers.reproduction import Printed, Recomputed, Rows, Tools, model_names

JUDGED = {
    "Coverage": "normad",
    "Specificity": "specnorm",
    "Connotation": "casa",
    "Coherence": "culturebank",
}
"""Metric -> the benchmark that it is of."""
JUDGE, NULL = "judge", "null"
NO_FILE = "no published file holds it"


def cells(
    content: Content, options: CureReproduced, tools: Tools, printed: Sequence[Printed]
) -> list[Recomputed]:
    """A number for each printed cell; options that are tried have one value."""
    tables = _Tables(
        content, options, tools.tables["country"], [cell.model for cell in tools.printed if cell.model]
    )
    return [tables.cell(cell) for cell in printed]


def further(content: Content, options: CureReproduced, tools: Tools) -> list[tuple[Printed, Recomputed]]:
    """F1 of every model, benchmark and setting, and the judged score: the paper's figures 2 to 4."""
    tables = _Tables(content, options, tools.tables["country"], [])
    rows = []
    for (model, benchmark, setting), group in tables.groups.items():
        where = {"benchmark": benchmark, "setting": setting}
        for metric, figure in (("F1-Micro", "Figure 2"), ("F1-Macro", "Figure 3")):
            own = tables.f1(group, metric)
            rows.append((Printed(figure, model, where, metric, "", None, "score"), own))
        for metric, of in JUDGED.items():
            if (of, setting) == (benchmark, "thick"):
                about = Printed("Figure 4", model, {}, metric, "", None, "score")
                rows.append((about, tables.judged(model, metric)))
    return rows


@dataclass(frozen=True)
class _Tables:
    content: Content
    options: CureReproduced
    countries: Rows
    models: Sequence[str]

    def cell(self, cell: Printed) -> Recomputed:
        match cell.metric:
            case "Size" | "Countries":
                return self._benchmark(cell.parts["dataset"].casefold(), cell.metric)
            case "Count" | "%":
                return self._cue(cell.parts["cue"], cell.metric)
            case "mean F1-Macro":
                return self._mean_f1(cell.parts["setting"])
        if cell.metric in JUDGED:
            return self._over_models(cell) if "models" in cell.parts else self.judged(cell.model, cell.metric)
        return self._agreement(cell) if "metric" in cell.parts else Recomputed(reason=NO_FILE)

    @cached_property
    def loaded(self) -> dict[str, Loaded]:
        codes = CountryCodes({str(row["name"]): str(row["country"]) for row in self.countries})
        return {name: LOADERS[name](files, codes) for name, files in self.content.benchmarks.items()}

    @cached_property
    def groups(self) -> dict[tuple[str, str, str], list[Result]]:
        """(model in the paper, benchmark, setting) -> results."""
        results = self.content.results
        name_of = model_names([r.model for r in results], self.models, self.options.names)
        groups: dict[tuple[str, str, str], list[Result]] = {}
        for result in results:
            groups.setdefault((name_of[result.model], result.benchmark, result.setting), []).append(result)
        return groups

    def f1(self, group: Sequence[Result], metric: str) -> Recomputed:
        """Of a model's labels; null: gold labels dealt out at random."""
        kept = [r for r in group if r.label or self.options.unread[0] == "wrong"]
        if not kept:
            return Recomputed(reason="no label could be read")
        gold = [r.gold for r in kept]
        own, null = label_scores(gold, [r.label or LOST for r in kept]), random_baseline(gold)
        field = "f1_macro" if metric == "F1-Macro" else "f1_micro"
        return Recomputed(
            getattr(own, field), null=getattr(null, field), null_name="random labels", n=len(kept)
        )

    def judged(self, model: str, metric: str) -> Recomputed:
        """Mean of the judge's scores of a model; null: those of a model named null."""
        if not self.content.results:
            return Recomputed(reason=SOURCES["results"].missing)
        scores = self._scores(metric).get(model)
        if scores is None:
            return Recomputed(reason=f"no judged answer of {model} to {JUDGED[metric]}")
        nulls = {m: float(s.mean()) for m, s in self._scores(metric).items() if m.startswith(NULL)}
        name = max(nulls, key=lambda m: nulls[m]) if nulls else ""
        return Recomputed(float(scores.mean()), null=nulls.get(name), null_name=name, n=scores.size)

    def _scores(self, metric: str) -> dict[str, FloatArray]:
        """Model -> the judge's scores of its thick answers to the metric's benchmark."""
        scores = {
            model: np.array([r.score for r in group if r.score is not None], dtype=np.float64)
            for (model, benchmark, setting), group in self.groups.items()
            if (benchmark, setting) == (JUDGED[metric], "thick")
        }
        return {model: of for model, of in scores.items() if of.size}

    def _over_models(self, cell: Printed) -> Recomputed:
        """The lowest or highest mean of any model."""
        models = [model for model in self._scores(cell.metric) if not model.startswith(NULL)]
        each = [one for model in models if (one := self.judged(model, cell.metric)).value is not None]
        if not each:
            missing = SOURCES["results"].missing if not self.content.results else "no judged answer"
            return Recomputed(reason=missing)
        pick = min if cell.parts["models"] == "lowest" else max
        return pick(each, key=lambda one: one.value or 0.0)

    def _mean_f1(self, setting: str) -> Recomputed:
        """Mean over models and benchmarks."""
        if not self.content.results:
            return Recomputed(reason=SOURCES["results"].missing)
        each = [
            self.f1(group, "F1-Macro")
            for (model, _, of), group in self.groups.items()
            if of == setting and not model.startswith(NULL)
        ]
        values, nulls = (
            [getattr(one, side) for one in each if one.value is not None] for side in ("value", "null")
        )
        if not values:
            return Recomputed(reason=f"no {setting} answer")
        return Recomputed(
            float(np.mean(values)), null=float(np.mean(nulls)), null_name="random labels", n=len(values)
        )

    def _benchmark(self, name: str, metric: str) -> Recomputed:
        loaded = self.loaded.get(name)
        if loaded is None:
            return Recomputed(reason=SOURCES[name].missing)
        n_rows = sum(len(rows) for rows in self.content.benchmarks[name].values())
        if metric == "Size":
            return Recomputed(
                float(len(loaded.items) if self.options.size[0] == "items" else n_rows), n=n_rows
            )
        places = {i.country for i in loaded.items if i.country}
        names = {i.extra.get("country_name", i.country) for i in loaded.items}
        chosen = places if self.options.countries[0] == "places" else names - {None}
        return Recomputed(float(len(chosen)), n=len(loaded.items))

    def _cue(self, cue: str, metric: str) -> Recomputed:
        """How many items of SpecNorm have a cue of a kind."""
        loaded = self.loaded.get("specnorm")
        if loaded is None:
            return Recomputed(reason=SOURCES["specnorm"].missing)
        kinds = Counter(kind for item in loaded.items for kind in {c.split(":")[0] for c in item.cues})
        n = kinds[cue.casefold()]
        return Recomputed(100 * n / len(loaded.items) if metric == "%" else float(n), n=len(loaded.items))

    def _agreement(self, cell: Printed) -> Recomputed:
        """Of people with each other, or of their mean or majority with the judge; null: none."""
        if not self.content.ratings:
            return Recomputed(reason=SOURCES["ratings"].missing)
        wanted = cell.parts["metric"].casefold()
        rated = [r for r in self.content.ratings if r.metric.casefold() == wanted]
        raters = sorted({r.rater for r in rated if r.rater.casefold() != JUDGE})
        items = sorted({r.item for r in rated})
        if not raters:
            return Recomputed(reason=f"no rating of {cell.parts['metric']} by people")
        given = {(r.item, r.rater if r.rater in raters else JUDGE): r.score for r in rated}
        people = np.array([[given.get((item, rater), np.nan) for rater in raters] for item in items])
        judge = np.array([given.get((item, JUDGE), np.nan) for item in items])
        value = self._number(cell.metric, people, judge)
        if value is None:
            return Recomputed(reason=f"too few ratings of {cell.parts['metric']}")
        return Recomputed(value, null=0.0, null_name="ratings at random", n=len(items))

    def _number(self, metric: str, people: FloatArray, judge: FloatArray) -> float | None:
        if metric == "Krippendorff's alpha":
            return krippendorff_alpha(people, self.options.alpha_level[0])
        if metric == "kappa of people":
            whole = people[~np.isnan(people).any(axis=1)]
            values = np.unique(whole)
            return (
                fleiss_kappa((whole[:, :, None] == values).sum(axis=1))
                if whole.shape[1] > 1 and whole.size
                else None
            )
        known = ~(np.isnan(people).all(axis=1) | np.isnan(judge))
        if not known.any():
            return None
        mean = np.nanmean(people[known], axis=1)
        if metric == "Pearson r":
            return pearson(mean, judge[known])
        votes = (mean > 0.5).astype(int).tolist(), (judge[known] > 0.5).astype(int).tolist()
        return cohen_kappa(*votes, classes=(0, 1))
