"""Prepares what the template of the spectral page shows; the loop and the command line use only
``REPORT``.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from markupsafe import Markup

from tasks.evaluations.spectral.report.data import (
    SHUFFLED,
    SpectralData,
    own_items,
    panel,
    shuffled_copies,
    verdicts,
)
from tasks.evaluations.spectral.report.figures import rank_scatter, spectrum_heatmap
from tasks.evaluations.spectral.report.maps import MOST_MODELS, country_maps
from tasks.report import Report, in_order_of
from tasks.report.bars import Legend, bar_of, bar_panels
from tasks.report.cohort import cohort_of_page
from tasks.report.forest import Chart, picture
from tasks.report.page import render_page
from tasks.report.text import short

_PANELS = {
    "macro_f1": "Macro-F1\nmean of the four",
    "f1_LH": "LH\nfew patterns, shared",
    "f1_HL": "HL\nmany, not shared",
    "f1_HH": "HH\nmany, shared core",
    "f1_LL": "LL\nfew, in blocks",
}
CHOICE_NAMES = {
    "sum": "sum over an item’s tokens",
    "per_token": "mean over its tokens", "per_byte": "mean over its bytes",
    "pmi": "corrected by the item’s mean over countries", "half_list": "half of each item list",
}  # fmt: skip
"""Choice of the panel -> its words; of "without MODEL" they are its own."""
_F1 = Legend(("model",), "what guessing scores on average", end=1.0)


def _context(data: SpectralData) -> dict[str, Any]:
    models = data.leaderboard.filter(~pl.col("is_null"))
    by_model = verdicts(data)
    scored = models.filter(pl.col("macro_f1").is_not_null()).to_dicts()
    n_items = sorted(set(data.domains["n_items"].drop_nulls()))
    known = own_items(data)
    return {
        "known": known,
        "picture": known and _picture(data, known.model),
        "lines": data.leaderboard.to_dicts(),
        "models": models.to_dicts(),
        "verdicts": by_model,
        "distinguished": [model for model, verdict in by_model.items() if not verdict.reasons],
        "random_order": data.doubts.filter(metric="rank_spearman").to_dicts(),
        "panel": panel(data),
        "choice_names": CHOICE_NAMES,
        "shuffled": shuffled_copies(data.leaderboard),
        "best": scored[0] if scored else None,
        "item_range": " to ".join(f"{n:,}" for n in n_items[:: max(len(n_items) - 1, 1)]) or "–",
        "figures": _figures(data),
        "maps": country_maps(data),
        "most_maps": MOST_MODELS,
        "varied": _most_varied(data),
        "questions": _questions(data),
        "ranked_by": _ranked_by(data.domains["human_n"]),
        "ranked_by_all": data.domains["human_n"].null_count() == 0,
        "cohort": cohort_of_page(data.cohort),
        "infinite": bool(data.by_question["spectral_gap_ratio"].is_infinite().any()),
    }


def _picture(data: SpectralData, model: str) -> Chart | None:
    """Draw the probability on a country's own items by domain, next to the null of another
    country's answer.
    """
    lines = [
        (domain["label"], "", data.find(model, "reference_mass", "domain", domain["domain"]))
        for domain in data.domains.iter_rows(named=True)
    ]
    scored = [line for line in lines if line[2] is not None and line[2]["value"] is not None]
    scored.sort(key=lambda line: -line[2]["value"] if line[2] else 0.0)
    title = f"{short(model)}: probability on the country’s own items, by domain"
    return picture(title, scored, "The null model’s answer is another country’s.")


def _ranked_by(n_people: pl.Series) -> str | None:
    """Return the number of people who ranked the domains, in words; None if nobody did."""
    known = sorted(set(n_people.drop_nulls()))
    return f"{' to '.join(map(str, dict.fromkeys((known[0], known[-1]))))} participants" if known else None


def _figures(data: SpectralData) -> dict[str, Markup]:
    """Draw the figures without shuffled copies, whose ER, SR and categories equal their model's."""
    order = data.leaderboard["model"].to_list()
    by_question = in_order_of(data.by_question.filter(~_is_shuffled()), order)
    own = by_question.filter(~pl.col("is_null"))
    figures = {"f1": _category_bars(data)}
    if own.height:
        figures["er"] = spectrum_heatmap(by_question, "effective_rank")
        figures["sr"] = spectrum_heatmap(by_question, "spectral_gap_ratio")
        figures["ranks"] = rank_scatter(own, data.leaderboard.filter(~pl.col("is_null")))
    return {key: figure for key, figure in figures.items() if figure is not None}


def _category_bars(data: SpectralData) -> Markup | None:
    """Draw the F1 of every category and their mean, with the score of guessing in orange."""
    lines = data.leaderboard.filter(~_is_shuffled()).select("model", "is_null").rows()
    bars = [
        bar_of(title, model, row, is_null=is_null)
        for metric, title in _PANELS.items()
        for model, is_null in lines
        if (row := data.find(model, metric))
    ]
    rows = {model: short(model) for model, _ in lines}
    text = f"F1 of each category for {len(lines)} models and null models"
    return bar_panels(bars, rows, _F1, "category-f1", text, per_row=len(_PANELS))


def _most_varied(data: SpectralData) -> str | None:
    """Return the label of the domain whose similarities between countries vary most; its map comes first."""
    spread = data.similarity.group_by("domain").agg(pl.col("similarity").std().fill_null(0.0))
    labels = spread.join(data.domains, on="domain").sort("similarity", "label", descending=True)["label"]
    return labels[0] if labels.len() else None


def _questions(data: SpectralData) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the questions of every model, then those of null models except the shuffled copies."""
    order = data.leaderboard.filter(~_is_shuffled())["model"]
    tables = [(model, data.by_question.filter(model=model).to_dicts()) for model in order]
    return [(model, rows) for model, rows in tables if rows]


def _is_shuffled() -> pl.Expr:
    return pl.col("model").str.starts_with(SHUFFLED)


REPORT = Report("report.html", SpectralData, lambda data: render_page(__name__, data, _context(data)))
