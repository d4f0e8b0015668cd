"""Declares what the WorldWise page shows: by culture and by model, each number with its null."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any

import polars as pl
from markupsafe import Markup

from tasks.evaluations.worldwise.frames import BASELINE, DECISIONS, MOST_CULTURES, WorldwiseData, known
from tasks.report import Badge, Row, gain_sign, value_of
from tasks.report.bars import Bar, Bars, Legend, Stack, Stacks, bar_of
from tasks.report.cells import (
    BREAK,
    axis,
    cell,
    col,
    ends,
    isolated,
    left,
    name,
    null,
    put,
    small,
    td,
    th,
    words,
)
from tasks.report.forest import picture
from tasks.report.heatmaps import Cell, Matrix
from tasks.report.marks import Kind, MarkLine, Marks
from tasks.report.page import Report
from tasks.report.parts import Drawable, Figure, Fold, Page, Part, Section, Text, prose, say
from tasks.report.ranks import best
from tasks.report.sentences import cohort_of_page
from tasks.report.svg import NULL
from tasks.report.tables import MODEL, Column, Numbers, by_model, is_null, table
from tasks.report.text import number, percent, plural, short

ALL = "all"
NULLS = {
    "zero": "all-zero profile", "global_mean": "mean of all targets", "scenario_text": "scenario text as the answer",
    "shuffled": "own answers, personas exchanged", "unprompted": "own answers without a persona",
}  # fmt: skip
"""Null models in the order that breaks ties between them."""
MOST_SCENARIOS = 20
"""Most scenarios in the figure: half are the easiest, half the hardest."""
MOST_VALUES = 12
"""Most values in the heatmap; it shows the most frequent ones."""
TOP_VALUES, TOP_PAIRS = 3, 10

_ALIGNMENT = Legend(("alignment, 0 to 10",), "null: the model’s best null model", 10.0, notes=("▲ ▼ whole interval of the gain above, below 0",))
_SHIFT = Legend(("shift, percentage points",), "null: noise floor of permuted personas", digits=1, notes=("* permutation p < 0.05",))
_SPOKES = Legend(("share of the metric’s range",), "null: the same metric without knowledge of the culture", 1.0)
_STACKED = "null: where A and B end without a persona (pale bar)"
_LADDER = {
    "own": Kind("dot", "with personas"), "link": Kind("link", "gain of the personas"), "interval": Kind("interval", "95 % interval"),
    **{null: Kind(shape, f"null: {text}", NULL) for (null, text), shape in zip(NULLS.items(), ("line", "x", "^", "s", "D"), strict=True)},
}  # fmt: skip
_BOXES = {
    "box": Kind("box", "cultures: quartiles, median, range (from four)"), "own": Kind("small", "each culture"), "null": Kind("line", "null: chance", NULL),
}  # fmt: skip
_SCENARIOS = {
    "mean": Kind("dot", "mean of models"), "each": Kind("small", "each model"), "null": Kind("line", "null: each model’s best null model, mean", NULL),
}  # fmt: skip


def figures(data: WorldwiseData) -> dict[str, Drawable | None]:
    """Return the figures by key."""
    if not data.models:
        return {}
    named = {ALL: "ALL cultures", **data.shown_cultures}
    categories = {c: data.name("category", c) for c in data.slices("alignment", "category")}
    return {
        "cultures": Bars([_aligned(data, m, "culture", c) for m in data.models for c in named], named, _ALIGNMENT),
        "categories": Bars([_aligned(data, m, "category", c) for m in data.models for c in categories], categories, _ALIGNMENT),
        "shift": Bars([_shift(data, m, c) for m in data.models for c in named], named, _SHIFT),
        "values": _values(data), "errors": _errors_figure(data),
        "decisions": Stacks({m: [
            Stack("no persona", data.shares(m, BASELINE), is_null=True),
            *(Stack(label, data.shares(m, c), data.shares(m, BASELINE)) for c, label in data.shown_cultures.items()),
        ] for m in data.models}, DECISIONS, _STACKED),
        "patterns": Stacks({"All cultures together": [stack for m in data.models for stack in (
            Stack(short(m), data.pooled_shares(m), data.shares(m, BASELINE)), Stack("without a persona", data.shares(m, BASELINE), is_null=True),
        )]}, DECISIONS, _STACKED),
        "stereotypes": _recognition(data), "baseline": _ladder(data), "scenarios": _scenarios(data), "profile": _profile(data),
    }  # fmt: skip


def _aligned(data: WorldwiseData, model: str, kind: str, where: str) -> Bar:
    kind = "overall" if where == ALL else kind
    mark = {1: "▲", 0: "", -1: "▼"}[gain_sign(data.find(model, "alignment_gain", kind, where))]
    return bar_of(model, where, data.find(model, "alignment", kind, where), mark)


def _shift(data: WorldwiseData, model: str, culture: str) -> Bar:
    where = ("overall" if culture == ALL else "culture", culture)
    p = data.value(model, "value_shift_p", *where)
    return bar_of(model, culture, data.find(model, "value_shift", *where), "*" if p is not None and p < 0.05 else "", 100.0)


def _values(data: WorldwiseData) -> Matrix:
    """Return shares of the most frequent values; the framed column is the null, answers without a persona."""
    columns = {BASELINE: "no persona", **data.shown_cultures}
    rows = {v: data.name("value", v) for v in data.frequent_values[:MOST_VALUES]}

    def change(row: Row | None) -> str:
        if row is None or row["value"] is None or row["null_value"] is None:
            return ""
        return number(round(row["value"] - row["null_value"], 2) + 0.0, 2, True)  # avoids -0

    of = [(m, v, c, data.find(m, "value_share", "culture_value", f"{c}:{v}")) for m, v, c in product(data.models, rows, columns)]
    return Matrix([Cell(m, v, c, value_of(row), "" if c == BASELINE else change(row), c == BASELINE) for m, v, c, row in of], rows, columns, digits=2)


def _errors_figure(data: WorldwiseData) -> Matrix:
    """Return mean absolute error by culture and dimension, framed if it is below the all-zero profile's."""
    columns = {d: data.name("dimension", d) for d in data.dimensions_in_order(data.slices("hofstede_mae", "dimension"))}

    def square(model: str, culture: str, dimension: str) -> Cell:
        row = data.find(model, "hofstede_mae", "culture_dimension", f"{culture}:{dimension}")
        value, null = value_of(row), row["null_value"] if row else None
        is_better = value is not None and null is not None and value < null
        return Cell(model, culture, dimension, value, "" if null is None else f"null {null:.2f}", is_better)

    return Matrix([square(*key) for key in product(data.models, data.shown_cultures, columns)], data.shown_cultures, columns, digits=2)


def _recognition(data: WorldwiseData) -> Marks | None:
    """Return how well cultures are recognised by their wording, by model; a box is over cultures."""
    of = {m: known(data.value(m, "persona_recognition", "culture", c) for c in data.cultures) for m in data.models}
    lines = [MarkLine(short(m), {"box": shares, "own": shares, "null": [0.0]}, is_scored=bool(shares)) for m, shares in of.items()]
    return Marks(lines, _BOXES) if any(of.values()) else None


def _ladder(data: WorldwiseData) -> Marks:
    """Return alignment with personas, joined to the model's own alignment without one, among other nulls."""
    lines = []
    for model in data.models:
        own = data.find(model, "alignment")
        if own is None or own["value"] is None:
            lines.append(MarkLine(short(model), {}, is_scored=False))
            continue
        nulls = {null: known([data.value(model, "alignment", "null", null)]) for null in NULLS}
        gain = data.value(model, "alignment_gain", "null", "unprompted")
        marks = {"own": [own["value"]], "interval": known([own["ci_low"], own["ci_high"]]), **nulls, "link": [*nulls["unprompted"], own["value"]]}
        lines.append(MarkLine(short(model), marks, "" if gain is None else number(gain, 2, True)))
    return Marks(lines, _LADDER, height=0.4)


def _scenarios(data: WorldwiseData) -> Marks | None:
    """Return the easiest and hardest scenarios by mean over models."""
    lines = []
    for scenario in data.slices("alignment", "scenario"):
        rows = [row for model in data.models if (row := data.find(model, "alignment", "scenario", scenario))]
        values, nulls = known(row["value"] for row in rows), known(row["null_value"] for row in rows)
        if values:
            marks = {"mean": [fmean(values)], "each": values, "null": [fmean(nulls)] if nulls else []}
            lines.append(MarkLine(data.name("scenario", scenario), marks, number(fmean(values))))
    half, cut = MOST_SCENARIOS // 2, None
    if len(lines) > MOST_SCENARIOS:
        lines, cut = lines[:half] + lines[-half:], half
    return Marks(lines, _SCENARIOS, height=0.22, cut=cut) if lines else None


def _profile(data: WorldwiseData) -> Bars:
    """Return five metrics of every model as shares of their ranges."""
    bars = []
    for model in data.models:
        within = [data.find(model, f"accuracy_{band}") for band in ("excellent", "good")]
        sums = [sum(scored) if len(scored := known(row[side] if row else None for row in within)) == 2 else None for side in ("value", "null_value")]
        decided, unprompted = ((1 - shares[2] if shares else None) for shares in (data.pooled_shares(model), data.shares(model, BASELINE)))
        for panel, metric, top in (("Alignment", "alignment", 10.0), ("Recognised", "persona_recognition", 1.0), ("Values shift", "value_shift", 1.0)):
            row = data.find(model, metric)
            bar = bar_of(panel, model, row, times=1 / top, text=f"{number(value_of(row))} of {top:g}")
            bars.append(bar._replace(low=None, high=None, value=None if bar.value is None else max(0.0, bar.value)))
        bars.append(Bar("Error below 1", model, sums[0], null=sums[1], text=percent(sums[0])))
        bars.append(Bar("Decides", model, decided, null=unprompted, text=percent(decided)))
    order = ("Alignment", "Error below 1", "Recognised", "Values shift", "Decides")
    return Bars(sorted(bars, key=lambda bar: order.index(bar.panel)), {m: short(m) for m in data.models}, _SPOKES, per_row=5)


def _badge(row: Row, gain: Row | None) -> Badge:
    """Return the trust badge of a model's gain."""
    if row["is_null"]:
        return "plain", "null model"
    if row["alignment_gain"] is None:
        return "warn", "not scored"
    if gain is None or gain["ci_low"] is None:
        return "plain", "no interval"
    verdicts: dict[int, Badge] = {1: ("good", "beats its best null"), 0: ("warn", "not shown to beat its best null"), -1: ("warn", "worse than its best null")}
    return verdicts[gain_sign(gain)]


def _best_null(row: Row) -> str:
    return NULLS.get(row["best_null"], row["best_null"] or "–")


def _lead(data: WorldwiseData) -> list[Part]:
    gains = {row["model"]: (row, data.find(row["model"], "alignment_gain")) for row in data.leaderboard.to_dicts() if not row["is_null"]}
    signs, n = {m: gain_sign(gain) for m, (_, gain) in gains.items()}, len(gains)
    lost = [m for m, (row, _) in gains.items() if row["alignment_gain"] is None]
    unclear = [m for m, (_, gain) in gains.items() if m not in lost and (gain is None or gain["ci_low"] is None)]
    above, below = [m for m in gains if signs[m] > 0], [m for m in gains if signs[m] < 0]

    def beats(model: str) -> Markup:
        row, gain = gains[model]
        between = f" ({ends(gain, 2, True)})" if gain and gain["ci_low"] is not None else ""
        return put("{} by {} points{} over the {}", isolated(model), number(value_of(gain), 2, True), between, _best_null(row))

    if len(lost) == n:
        text, shown = "**No model could be scored.**", ""
    elif above:
        text = "**{n} of {models} beat{s} {its} best null model** (95 % interval of the gain above 0): {shown}. "
        shown = Markup("; ").join(map(beats, above))
    elif len(unclear) + len(lost) == n:
        text, shown = "**Whether a model beats its best null model is not known: no gain has an interval.**", ""
    else:
        text = f"**No model is shown to beat its best null model{', so the order of models is not a finding' if n > 1 else ''}.** {{shown}}. "
        shown = best(data, "alignment_gain", "gain in points", partial(number, sign=True))
    if unclear and len(unclear) + len(lost) < n:
        text += f"{len(unclear)} of {n} gains {'has' if len(unclear) == 1 else 'have'} no interval. "
    if below:
        text += f"{len(below)} of {n} models {'is' if len(below) == 1 else 'are'} shown to be worse than {'its' if len(below) == 1 else 'their'} best null model. "
    if lost and len(lost) < n:
        text += f"{len(lost)} could not be scored."
    verdict = say(text, n=len(above), models=plural(n, "model"), s="s" if len(above) == 1 else "", its="its" if len(above) == 1 else "their", shown=shown)
    return [Text(verdict, "lead verdict"), *prose("Raw alignment alone misleads: on the data of WorldWiseAI (2024), which this evaluation follows, a profile of zeros scores 6.92, more than the 6.63 of the paper’s four models.", "lead")]


def _board(data: WorldwiseData) -> list[Part]:
    of, rows = Numbers(data), {row["model"]: row for row in data.leaderboard.to_dicts()}
    gains = [gain for m in data.models if (gain := data.find(m, "alignment_gain")) and gain["value"] is not None]
    end = max([0.01, *(abs(gain[side] or 0.0) for gain in gains for side in ("value", "ci_low", "ci_high"))])

    def closest(model: str) -> Markup:
        code = rows[model]["closest_culture"]
        return words(data.name("culture", code) + small(number(rows[model]["closest_distance"]), below=True) if code else None)

    def answered(model: str) -> Markup:
        row = data.find(model, "answered")
        n = small(f"n {row['n_scored'] + row['n_unscored']}", below=True) if row else ""
        return td(percent(rows[model]["answered"]) + n)

    def strongest(model: str) -> Markup:
        row = rows[model]
        return words(put("{}{}{}", _best_null(row) if row["best_null"] else "", BREAK if row["best_null"] else "", small(number(row["null_alignment"]))))

    board = table("Models are sorted by their gain over the best null model; null models come last. Under a number are its 95 % interval and n, the number of answers. ↑: higher is better; ↓: lower is better; –: not scored. The end of the page has counts and reasons for every number.", [
        (left("Model"), lambda m: name(m, _badge(rows[m], data.find(m, "alignment_gain")))), *of.ranks(), of("alignment_gain", "Gain ↑", "over best null", sign=True, strong=True, n=True),
        (left(f"−{number(end)} to +{number(end)}", "orange: no gain"), lambda m: axis(None if rows[m]["is_null"] else data.find(m, "alignment_gain"), -end, end)),
        (left("Best null", "and its alignment"), strongest), of("alignment", "Alignment ↑", "± sd, 0 to 10", sd="alignment_sd", n=True), of("hofstede_mae", "Error ↓", "null: all zero", null=True),
        of("value_shift", "Values shift", "points; null: noise", digits=1, null=True, times=100), of("persona_recognition", "Recognised", "by wording; 0: chance"),
        of("answer_variety", "Variety ↑", "null: between cultures", digits=3, null=True), (left("Closest", "without a persona"), closest),
        (col("Declines"), lambda m: td(percent(rows[m]["decline_share"]))), (data.head("answered", "Answered ↑", "of answers"), answered),
    ], rows, id="board", kind="leaderboard", line=is_null)  # fmt: skip
    cohort = cohort_of_page(data.cohort)
    return [board, *(prose("Numbers that compare models are over the models of a cohort. Here: {cohort}.", "note", cohort=isolated(cohort)) if cohort else [])]


def _slices(data: WorldwiseData, kind: str, keys: Sequence[str], label: str, caption: str) -> Part:
    of = Numbers(data, lambda key: (key[1], kind, key[0]))
    return table(caption, [
        (left(label), lambda key: th(data.name(kind, key[0]))), (left("Model"), lambda key: words(isolated(key[1]))), of("alignment_gain", "Gain ↑", "over best null", sign=True, n=True),
        of("alignment", "Alignment ↑", "± sd", sd="alignment_sd", n=True), of.null("alignment", below="best null model"), of("hofstede_mae", "Error ↓", "mean absolute", n=True), of.null("hofstede_mae", below="zero profile"),
        of("hofstede_median_error", "Median ↓", "error", n=True), of("hofstede_bias", "Bias", "score minus target", sign=True, n=True), of.null("hofstede_bias", below="zero profile"),
    ], [(key, m) for key in keys for m in data.models], id="all-cultures" if kind == "culture" else "", is_long=True)  # fmt: skip


def _with_nulls(models: Sequence[str], draw: Any, nulls: Any, below: str) -> list[Column]:
    """Return a column for every model's number, and one for its null."""
    return [column for m in models for column in (
        (col(isolated(m), below), lambda key, m=m: draw(m, key)), (col("Null"), lambda key, m=m: nulls(m, key)),
    )]  # fmt: skip


def _dimensions(data: WorldwiseData, drawn: Any) -> list[Part]:
    find, models = data.find, data.models
    dimensions = data.dimensions_in_order(data.slices("alignment", "dimension"))
    scenarios, categories = data.slices("alignment", "scenario"), data.slices("alignment", "category")

    def gain(model: str, dimension: str) -> Markup:
        row = find(model, "alignment", "dimension", dimension)
        note = f"{number(value_of(row))}, null {number(row['null_value'] if row else None)}"
        return cell(find(model, "alignment_gain", "dimension", dimension), sign=True, strong=True, line=True, note=note)

    keys = [*(("category", c) for c in categories), *(("scenario", s) for s in scenarios)]
    cut = f"; of {len(scenarios)} scenarios, the {MOST_SCENARIOS // 2} easiest are above the dashed line and the {MOST_SCENARIOS // 2} hardest below it" if len(scenarios) > MOST_SCENARIOS else ""
    return [
        table("Gain over the best null model, by dimension. Under it are the alignments of the model and of that null model.", [
            (left("Dimension"), lambda d: th(data.name("dimension", d))), *by_model(models, gain, "gain ↑; alignment, null"),
        ], dimensions, id="by-dimension", kind="few" if len(models) < 3 else ""),
        Fold("Errors and bias by dimension", [_slices(data, "dimension", dimensions, "Dimension", "Every dimension and model, with nulls")]),
        drawn("categories", "Alignment by category of scenarios", 6, "The orange mark is the model’s best null model in the same category. Categories differ in their share of each dimension, so dimensions may explain part of a difference."),
        drawn("scenarios", "Scenarios from easy to hard", 9, f"Sorted by mean alignment over models{cut}. If the orange mark moves with the dots, a scenario is easy because of its dimension’s targets, not because models know more."),
        Fold("All scenarios and categories", [table("Alignment by category, then by scenario, from easy to hard", [
            (left("Scenario or category"), lambda key: th(data.name(*key))),
            *_with_nulls(models, lambda m, key: cell(find(m, "alignment", *key), sd=find(m, "alignment_sd", *key), n=True), lambda m, key: null(find(m, "alignment", *key)), "alignment ± sd"),
        ], keys, is_long=True)]),
    ]  # fmt: skip


def closest(data: WorldwiseData, model: str) -> list[tuple[str, Row]]:
    """Return cultures by their distance from the model's unprompted answers, closest first."""
    rows = [(c, data.find(model, "baseline_distance", "culture", c)) for c in data.cultures]
    return sorted(((c, row) for c, row in rows if row is not None and row["value"] is not None), key=lambda pair: (pair[1]["value"], pair[0]))


def _closest(data: WorldwiseData) -> list[Part]:
    ranked = {m: closest(data, m) for m in data.models}

    def at(model: str, place: int) -> Markup:
        if len(ranked[model]) <= (place if place >= 0 else 3):
            return words(None)
        code, row = ranked[model][place]
        null = small(f"(null {number(row['null_value'])})") if row["null_value"] is not None else ""
        return words(put("{} {} {}{}", data.name("culture", code), number(row["value"]), null, small(ends(row), below=True) if ends(row) else ""))

    def distance(model: str, culture: str) -> Row | None:
        return data.find(model, "baseline_distance", "culture", culture)

    names = data.values.filter(~pl.col("is_null"), metric="projection")["slice"].unique().sort()
    pairs = [place.split(":", 1) for place in names]
    cultures = [c for c in (BASELINE, *data.cultures) if c in {culture for culture, _ in pairs}]
    dimensions = data.dimensions_in_order({dimension for _, dimension in pairs})
    def shown(model: str, culture: str, dimension: str) -> Row | None:
        return data.find(model, "projection", "culture_dimension", f"{culture}:{dimension}")

    def projection(m: str) -> Part:
        return table(f"{m}: −2 is like the low example statements, +2 like the high ones. Scenarios of all dimensions count. Null: the scenarios’ own texts.", [
            (left("Dimension"), lambda d: th(data.name("dimension", d))), (col("Null"), lambda d: null(shown(m, (cultures or [""])[0], d))),
            *((col(data.name("culture", c)), lambda d, c=c: td(number(value_of(shown(m, c, d)), 2, True))) for c in cultures),
        ], dimensions, is_long=True)  # fmt: skip

    return [
        table("Root mean square distance of the answers without a persona to each culture’s target (0: the same; 4: the other end of the scale). A culture near the middle of all scales is close to any answer. So compare a distance with the all-zero profile’s, in brackets: only a clearly smaller one is a resemblance.", [
            MODEL, *((left(label), lambda m, place=place: at(m, place)) for label, place in (("Closest", 0), ("Second", 1), ("Third", 2), ("Farthest", -1))),
        ], data.models, id="closest-table"),
        Fold("Distances to all cultures", [table("Distance of the answers without a persona; null: the zero profile’s", [
            (left("Culture"), lambda c: th(data.name("culture", c))), *_with_nulls(data.models, lambda m, c: cell(distance(m, c), n=True), lambda m, c: null(distance(m, c)), "distance ↓"),
        ], data.cultures, is_long=True)]),
        *([Fold("Mean scores on all dimensions, of every framework", [projection(m) for m in data.models])] if dimensions else []),
    ]  # fmt: skip


def _values_of(data: WorldwiseData, drawn: Any) -> list[Part]:
    culture, value = (pl.col("slice").str.split(":").list.get(i) for i in (0, 1))
    shares = data.values.filter(pl.col("value").is_not_null(), metric="value_share").with_columns(culture=culture, key=value)
    top = shares.sort("value", "key", descending=[True, False]).group_by("model", "culture", maintain_order=True).head(TOP_VALUES)
    of = top.partition_by("model", "culture", as_dict=True)

    def named(model: str, code: str) -> Markup:
        rows = of[model, code].to_dicts() if (model, code) in of else []
        parts = [put('{} <span class="date">{}{}</span>', data.name("value", row["key"]), percent(row["value"]),
                     put(" <small>({})</small>", percent(row["null_value"])) if row["null_value"] is not None and code != BASELINE else "") for row in rows]  # fmt: skip
        return words(BREAK.join(parts))

    return [
        drawn("shift", "Shift of values by persona", 8, "Total variation distance between the values named with and without a persona, in percentage points. The orange mark is the distance of two such sets of answers by chance alone; only a bar beyond it is a shift."),
        drawn("values", "The most frequent values by culture", 3, "Share of all values named. The framed column is the null: answers without a persona. Under the other numbers is the difference from it.", "Share of values by culture"),
        Fold("Most frequent values, by culture", [table("Values named most often; in brackets, their share without a persona", [
            (left("Culture"), lambda c: th(data.name("culture", c))), *((left(isolated(m)), lambda c, m=m: named(m, c)) for m in data.models),
        ], [BASELINE, *data.cultures], is_long=True, kind="few" if len(data.models) < 3 else "")], is_open=len(data.cultures) <= MOST_CULTURES),
    ]  # fmt: skip


def _models(data: WorldwiseData, drawn: Any) -> list[Part]:
    find, models = data.find, data.models
    parts: list[Part] = [drawn("profile", "Models compared over several metrics", 5, "Each bar is the share of its metric’s range. The metrics are: mean alignment; share of answers with an error below 1 (null: the all-zero profile); personas recognised by their wording (null: 0, chance); shift of values (null: the noise floor); share of answers that choose A or B (null: without a persona). A large shift or a high recognition is not good in itself.")]
    pairs = [(a, b) for i, a in enumerate(models) for b in models[i + 1 :] if find(a, "model_difference", "model_pair", b)]
    of_pair = Numbers(data, lambda pair: (pair[0], "model_pair", pair[1]))
    parts += [table("Every pair of models", [
        (left("Model"), lambda pair: name(pair[0])), (left("minus model"), lambda pair: words(isolated(pair[1]))), of_pair("model_difference", "Difference", "alignment; null: 0", sign=True, n=True),
        of_pair("model_difference_p", "p", "Bonferroni", digits=3), of_pair("model_cohens_d", "Cohen’s d", "null: 0", sign=True, n=True),
    ], pairs, id="model-pairs")] if pairs else prose("Only one model was scored, so there is no pair to test.")  # fmt: skip
    tests = "These tests take answers as independent of each other, as WorldWiseAI does. Answers to one scenario are not independent, so rely on the intervals." if data.params.get("reproduce") else "These tests use the scenarios’ means, since answers to one scenario are related."
    parts += prose(tests + " η² and Cohen’s d are computed from single answers.", "note")

    def anova(model: str, kind: str) -> Markup:
        p, eta = data.value(model, f"{kind}_anova_p"), data.value(model, f"{kind}_eta_squared")
        return cell(find(model, f"{kind}_anova_f"), note=f"p {number(p, 3)}, η² {number(eta, 3)}")

    def apart(model: str) -> list[tuple[str, str]]:
        own = data.values.filter(pl.col("value").is_not_null(), model=model, metric="culture_difference")
        return [(model, pair) for pair in own.sort(pl.col("value").abs(), "slice", descending=[True, False])["slice"].head(TOP_PAIRS)]

    of, of_cultures = Numbers(data), Numbers(data, lambda key: (key[0], "culture_pair", key[1]))
    bands = (("excellent", "below 0.5"), ("good", "0.5 to 1"), ("acceptable", "1 to 1.5"), ("poor", "1.5 or more"))
    return [*parts,
        table("What explains the differences between answers: F tests, and shares of the variance", [
            MODEL, *((col(f"{kind.capitalize()}s", "F, p, η²"), lambda m, kind=kind: anova(m, kind)) for kind in ("culture", "model")),
            *(of(f"variance_{part}", part, "of variance", share=True, null=True) for part in ("scenario", "persona", "model", "residual")),
        ], models),
        Fold("Pairs of cultures that differ most, within each model", [table("Difference in alignment; null: 0; p by Bonferroni", [
            (left("Model"), lambda key: name(key[0])), (left("Cultures"), lambda key: words(" minus ".join(data.name("culture", code) for code in key[1].split(":")))),
            of_cultures("culture_difference", "Difference", sign=True, n=True), of_cultures("culture_difference_p", "p", digits=3), of_cultures("culture_cohens_d", "Cohen’s d", sign=True, n=True),
        ], [key for m in models for key in apart(m)], is_long=True)]),
        Fold("Errors of single answers", [table("Share of answers by their error; null: the zero profile’s share", [
            MODEL, *(of(f"accuracy_{band}", text, "of answers", share=True, null=True) for band, text in bands),
        ], models)]),
    ]  # fmt: skip


def _lost(data: WorldwiseData, model: str) -> Markup:
    rows = data.values.filter(pl.col("value") > 0, metric="unscored_answers", model=model).sort(-pl.col("value"), "slice")
    return words(BREAK.join(put("{}: {}", row["slice"], int(row["value"])) for row in rows.to_dicts()) or "none")


def _page(data: WorldwiseData) -> Page:
    params, cultures, of, drawings = data.params, data.cultures, Numbers(data), figures(data)
    n_scenarios, n_dimensions = len(data.slices("alignment", "scenario")), len(data.slices("alignment", "dimension"))
    rows = data.leaderboard.filter(~pl.col("is_null")).to_dicts()

    def drawn(key: str, title: str, number: int, caption: str, about: str = "") -> Figure:
        return Figure(key, title, drawings.get(key), say(caption), f"WorldWiseAI (2024), figure {number}", about)

    def over(model: str, null: str) -> Markup:
        return cell(data.find(model, "alignment_gain", "null", null), sign=True, note=f"alignment {number(data.value(model, 'alignment', 'null', null))}")

    few = f"Figures show {MOST_CULTURES} of {len(cultures)} cultures: those with the highest and those with the lowest mean alignment over models. The tables have all cultures."
    rule = params.get("stereotype_rule", "off")
    listed = f"Listed phrases: the mean over answers of 10 minus 20 times the number of listed phrases per 100 words, at least 0; {'whole words' if rule == 'words' else 'anywhere in the text, the rule of WorldWiseAI'}. The overall number includes answers without a persona." if rule != "off" else ""
    return Page(
        title="whose values models speak for", heading="Do language models reason as people of other cultures do?", resampled="scenarios",
        differing="cultures, scenarios, targets, example statements or arithmetic",
        made_from="the views leaderboard_worldwise and report_value; worldwise_by_culture, worldwise_by_dimension and worldwise_values have the same numbers for SQL. Task, metrics and the numbered figures follow WorldWiseAI (2024), “Measuring Cultural Alignment in Large Language Models”; null models, gains and intervals are added. Hofstede’s scores, the targets of alignment, may be used for research only.",
        lead=_lead(data),
        picture=picture("Alignment over each model’s best null model, in points", [(row["model"], _best_null(row), data.find(row["model"], "alignment_gain")) for row in rows]),
        facts={
            "Cultures": f"{len(cultures)}, and no persona", "Targets": params.get("targets", "–"), "Scenarios": f"{n_scenarios} on {plural(n_dimensions, 'dimension')}",
            "Repetitions": f"{params.get('repetitions', '–')}, temperature {params.get('temperature', '–')}", "Embedder": params.get("embedder", "–"),
        },
        board=_board(data),
        sections=[
            Section("reading", "How to read this", [*prose("""
A model decides everyday dilemmas as a person of a culture, names three values and gives its reasons. The similarity of that text to example statements places it on Hofstede’s dimensions. **Alignment** is 10 if the text has the culture’s published score, and 0 if it is 4 points away, which is the whole scale.
Most scores of answers, and many of countries, are near the middle. So a profile of zeros, which is the same for every culture, has a high alignment, and a high alignment alone shows nothing. The **gain** compares every answer with the best of five null models. The persona brings a model nearer to the culture only if the whole interval of its gain is above 0.
Intervals cover the choice of scenarios. They do not cover other example statements or another embedder."""), *(prose(few, "note") if len(cultures) > MOST_CULTURES else [])]),
            Section("nulls", "What do null models score?", [
                drawn("baseline", "Alignment with and without personas", 7, "The dot is the model’s answers with personas. The diamond is its own answers without a persona, compared with the same cultures. The number at the right is the paired gain of the personas over no persona. A dot left of an orange mark scores less than that null model. The axis does not always begin at 0."),
                table("Each model’s gain over every null model, and that null model’s alignment", [
                    MODEL, *((col(text, "gain over it; its alignment"), lambda m, null=null: over(m, null)) for null, text in NULLS.items()),
                ], data.models, id="null-profiles"),
            ]),
            Section("cultures", "Which cultures can models speak for?", [
                drawn("cultures", "Alignment by model and culture", 1, "The orange mark is the model’s best null model for the same culture. A bar that ends left of it scores less. Cultures are ordered by their mean over models."),
                drawn("errors", "Mean absolute error by culture and dimension", 11, "Errors are in points of the scale, 0 to 4; low is good. Under each number is the error of the all-zero profile; a frame means that the model’s error is smaller. × is not scored."),
                Fold("All cultures, with their nulls", [_slices(data, "culture", cultures, "Culture", "Every culture and model, with nulls")]),
            ]),
            Section("dimensions", "Which dimensions and scenarios are hard?", _dimensions(data, drawn)),
            Section("closest", "Which culture does a model resemble without a persona?", _closest(data)),
            Section("values", "Which values does a persona bring forward?", _values_of(data, drawn)),
            Section("decisions", "What do models decide?", [
                drawn("decisions", "Distribution of decisions by culture", 2, "Percent of answers. The order of options differs between scenarios, so an overall preference for A is about position rather than values. The pale bar is the null, the model without a persona; orange marks show where its parts end."),
                drawn("patterns", "Decisions by model", 10, "Each model’s answers with personas, all cultures together; the bar below it, without a persona, is the null."),
            ]),
            Section("stereotypes", "Do models fall into stereotypes?", [drawn("stereotypes", "Personas recognised by their wording", 4, "Can a culture be recognised from the words of an answer, without names of countries, after learning from the answers to all other scenarios? 0 is chance, 1 is always. A box is over cultures: its ends are quartiles, its whiskers the lowest and the highest. High recognition with a variety far below its null (table at the top) means that a model repeats set phrases of a culture, whatever the dilemma. A persona that expresses its culture well is recognised too.")]),
            Section("models", "Do models differ?", _models(data, drawn)),
        ],
        made=prose(_MADE, listed=listed, **{each: params.get(each, "–") for each in ("embedder", "values_weight", "order", "targets")}),
        lost=[table("Answers that could be read, and lost answers by reason", [
            MODEL, of("answered", "Answered ↑", "of all answers", share=True, null=True), (data.head("truncated_texts", "Cut off", "texts, by the embedder"), lambda m: td(number(data.value(m, "truncated_texts"), 0))),
            (data.head("total_tokens", "Tokens", "prompts and answers"), lambda m: td(None if (used := data.value(m, "total_tokens")) is None else f"{used:,.0f}")), (left("Answers lost", "by reason"), lambda m: _lost(data, m)),
        ], data.models, id="lost")],
    )  # fmt: skip


_MADE = """
### Scores
Values, explanation and decision are embedded as one text (`{embedder}`; values {values_weight} time(s), order {order}). On each dimension, h and l are the mean cosines to the high and to the low example statements, and r = (h − l)/(h + l), or 0 if h + l ≤ 0. The score is 2·tanh r, from −2 to 2. This is not Hofstede’s scale: the example statements decide where its middle is.
### Targets
`{targets}`. Published scores from 0 to 100 are mapped linearly to −2 to 2; the bucketed profiles of WorldWiseAI are used as printed.
### Alignment
One answer scores max(0, 10 − 2.5 |target − score|) on its scenario’s primary dimension. Alignment is the mean over answers with a persona; ± is the standard deviation over answers (ddof 1). WorldWiseAI computes a root mean square over a dimension in one place and a mean in another; here it is always the mean of single answers.
### Null models and gain
The *all-zero profile* scores 0 on every dimension. The *mean of all targets* gives each culture the mean over the run’s cultures. *Scenario text as the answer* embeds the dilemma and its options. *Personas exchanged* compares each answer with the targets of all other cultures and takes the mean, which is the average result of exchanging the personas. *Without a persona* uses the model’s own baseline answer to the same scenario and repetition. A model’s best null is the one with the highest alignment over all of its answers; if two tie, the first in this order. The gain is paired answer by answer; a pair with one side missing is unscored.
Choosing the best of five nulls by their scores favours the nulls a little, so the gain is conservative.
### Errors
Mean, median and standard deviation of |score − target|, and the mean of score − target (bias), on primary dimensions. Bands: below 0.5, below 1, below 1.5, and the rest.
### Without a persona
Distance: root mean square of score − target over baseline answers, on primary dimensions.
### Values
Shares of the named values. The shift is half the sum of the absolute differences between shares (total variation distance); overall it is the mean over cultures. For the noise floor and p, whole answers are exchanged between persona and baseline within their scenario.
### Decisions
Shares among the answers that name a decision, with an interval over scenarios.
### Stereotypes
Recognition: an explanation is represented by its distinct words, without names of countries and peoples; rare words weigh more. It is assigned to the culture whose summed answers to all other scenarios have the highest cosine with it. If a is the mean over k cultures of the share assigned correctly, recognition is (a − 1/k)/(1 − 1/k). Its p-value comes from permuting personas within scenarios. Variety is the mean cosine distance between answers of one culture to different scenarios; its null is this distance between answers of different cultures.
{listed}
### Intervals
Intervals are at 95 %, over scenarios with all their answers. With fewer than five scenarios there is no interval.
"""

REPORT = Report("report-worldwise.html", WorldwiseData, _page)
