"""Declares what the CURE page shows; figures 2 to 4 follow Vo and Koyejo 2025."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from tasks.evaluations.cure.params import METRICS, MODES, metric_of
from tasks.evaluations.cure.published.cues import KINDS
from tasks.metrics.comparison import paired_test, spread
from tasks.report import Badge, Frames, Row, value_of, view
from tasks.report.bars import Bars, Legend, bar_of
from tasks.report.cells import BREAK, cell, col, isolated, left, name, names, put, td, th, words
from tasks.report.forest import Chart, picture
from tasks.report.heatmaps import Cell, Matrix
from tasks.report.judges import judge_lines, judge_table, validated
from tasks.report.marks import Kind, MarkLine, Marks
from tasks.report.page import Report
from tasks.report.parts import Figure, Fold, Page, Part, Section, Text, prose, say
from tasks.report.svg import ACCENT, NEUTRAL, NULL, PALE
from tasks.report.tables import MODEL, Column, Numbers, by_model, is_null, table
from tasks.report.text import listed, number, plural, sentence, short

BENCHMARKS = {"normad": "NormAd", "casa": "CASA", "culturebank": "CultureBank", "specnorm": "SpecNorm"}
"""Titles of the benchmarks, in the order of every table."""
NULLS = {"shuffled": "another item’s", "generic": "a generic one", "empty": "an empty one"}
"""Sources of null explanations."""
MOST_COUNTRIES = 12
"""Most countries in the figure; it shows those with the most labels."""
_JUDGE_NOTE = "If another item’s explanation gets the same score, the judge does not look at the item."
_NULL_NOTE = "The null is the best-scored of three explanations that know nothing of the item."
_MODES = {"thin": Kind("ringed", "thin: the label alone", PALE), "thick": Kind("ringed", "thick: with an explanation", ACCENT)}
_NULLS = {"null:majority": Kind("line", "null: the commonest label", NULL), "null:prior": Kind("dashed", "null: random labels", NULL)}
_BOX = Kind("box", "quartiles, median, range (from four models)", NEUTRAL)
_PROFILE = Legend(
    ("score by the judge, 0 to 1",), "null: the best of another item’s, a generic and an empty explanation", end=1.0,
    notes=("▲ shown to score higher than another item’s explanation (95 %)",),
)  # fmt: skip


def title_of(benchmark: str) -> str:
    """Return a benchmark's title; a pack's title is that of its published model and its own name."""
    kind, _, own = benchmark.partition("-")
    return f"{BENCHMARKS.get(kind, kind)} {own}".strip()


def metric_title(benchmark: str, beside: Iterable[str]) -> str:
    """Return the title of a benchmark's metric, with the benchmark if others share the metric."""
    metric = metric_of(benchmark)
    return f"{metric} ({title_of(benchmark)})" if sum(metric_of(other) == metric for other in beside) > 1 else metric


@dataclass(frozen=True, kw_only=True)
class CureData(Frames):
    """The frames of one configuration."""

    differences: pl.DataFrame = view("cure_thin_vs_thick")
    verdicts: pl.DataFrame = view("report_judge")
    validation: pl.DataFrame = view("report_validation")

    @cached_property
    def models(self) -> list[str]:
        """Return the models without nulls, highest mean exact match first."""
        own = self.leaderboard.filter(~pl.col("is_null"))
        mean = own.group_by("model").agg(mean=pl.mean_horizontal("thin_em", "thick_em").mean())
        return mean.sort("mean", "model", descending=[True, False], nulls_last=True)["model"].to_list()

    @cached_property
    def benchmarks(self) -> list[str]:
        """Return the benchmarks of the run."""
        benchmarks = set(self.leaderboard["benchmark"]) - {"all"}  # a run that ended early has no parts
        return [*(b for b in BENCHMARKS if b in benchmarks), *sorted(benchmarks - set(BENCHMARKS))]

    @cached_property
    def modes(self) -> list[str]:
        """Return the modes of the run."""
        own = set(self.values.filter(slice_kind="benchmark_mode")["slice"].str.split(":").list.last())
        return [mode for mode in MODES if mode in own]

    @cached_property
    def family(self) -> list[str]:
        """Return the models of the judge's own family."""
        return sorted(set(self.leaderboard.filter("self_preference")["model"]))

    @cached_property
    def is_judged(self) -> bool:
        """Return whether any explanation has a score."""
        return not self.leaderboard["value"].is_null().all()

    @cached_property
    def kinds(self) -> list[str]:
        """Return what every slice has: exact match in each mode, and the explanations' metric if judged."""
        return [*self.modes, *(["explanations"] if self.is_judged else [])]

    @cached_property
    def all_countries(self) -> dict[str, str]:
        """Return code -> name, easiest first by all models' share of right labels, unscored last."""
        ranked = self._by_country.sort("right", "country", descending=[True, False], nulls_last=True)
        return {code: self.country_names.get(code, code) for code in ranked["country"]}

    @cached_property
    def shown_countries(self) -> dict[str, str]:
        """Return the countries with the most labels, since those with few items are extreme by chance."""
        ranked = self._by_country.sort("n", "country", descending=[True, False])
        most = set(ranked["country"].head(MOST_COUNTRIES))
        return {code: name for code, name in self.all_countries.items() if code in most}

    @cached_property
    def _by_country(self) -> pl.DataFrame:
        """Return country, n (labels that could be read), right (share of these that are right)."""
        own = self.values.filter(~pl.col("is_null"), metric="exact_match", slice_kind="benchmark_mode_country")
        n = pl.col("n_scored").sum()
        right = (pl.col("value") * pl.col("n_scored")).sum() / pl.when(n > 0).then(n)
        return own.with_columns(country=pl.col("slice").str.split(":").list.last()).group_by("country").agg(n=n, right=right)

    def label_score(self, model: str, metric: str, benchmark: str, mode: str) -> Row | None:
        """Return a score of labels in one mode."""
        return self.find(model, metric, "benchmark_mode", f"{benchmark}:{mode}")

    def explained(self, model: str, metric: str, benchmark: str) -> Row | None:
        """Return a score of explanations."""
        return self.find(model, metric, "benchmark", benchmark)

    def beats_shuffled(self, model: str, benchmark: str) -> float | None:
        """Return 1 if a model's explanations are distinguished from shuffled ones, else 0; None if too few."""
        return value_of(self.explained(model, "tells_real_from_shuffled", benchmark))

    def in_slice(self, model: str, benchmark: str, what: str, kind: str, name: str) -> Row | None:
        """Return exact match in a mode, or the explanations' metric, of one country, cue or specificity."""
        if what in MODES:
            return self.find(model, "exact_match", f"benchmark_mode_{kind}", f"{benchmark}:{what}:{name}")
        return self.find(model, metric_of(benchmark), f"benchmark_{kind}", f"{benchmark}:{name}")


def _modes_figure(data: CureData, metric: str) -> Marks | None:
    """Return a label score over models: a dot per model in each mode, thin above thick, joined by a line."""
    lines: list[MarkLine] = []
    joined: list[tuple[tuple[int, float], tuple[int, float]]] = []
    for benchmark in data.benchmarks:
        first, of_modes = len(lines), {}
        nulls = {null: value_of(data.label_score(null, metric, benchmark, data.modes[0])) for null in _NULLS}
        for place, mode in enumerate(data.modes):
            rows = {m: value_of(data.label_score(m, metric, benchmark, mode)) for m in data.models}
            of_modes[mode] = known = {model: score for model, score in rows.items() if score is not None}
            scores = list(known.values())
            marks = {mode: scores, "box": scores} | {null: [x] for null, x in nulls.items() if x is not None}
            space = 0.55 if first and not place else 0.0
            lines.append(MarkLine(f"{title_of(benchmark)}, {mode}", marks, is_scored=bool(known), space=space))
        if len(of_modes) == 2:
            thin, thick = of_modes.values()
            joined += [((first, thin[m]), (first + 1, thick[m])) for m in thin if m in thick]
    if not any(line.is_scored for line in lines):
        return None
    same = {"joined": Kind("joined", "the same model")} if len(data.modes) == 2 else {}
    kinds = {mode: _MODES[mode] for mode in data.modes} | same | _NULLS | {"box": _BOX}
    return Marks(lines, kinds, height=0.3, unit=True, joined=joined)


def _profile(data: CureData) -> Bars:
    """Return every model's reasoning profile: its explanations' metrics over the best null explanation."""
    rows = {b: f"{metric_of(b).capitalize()}, {title_of(b)}" for b in data.benchmarks}
    return Bars([
        bar_of(m, b, data.explained(m, metric_of(b), b), "▲" if data.beats_shuffled(m, b) else "")
        for m in data.models for b in data.benchmarks
    ], rows, _PROFILE)  # fmt: skip


def _countries(data: CureData) -> Matrix:
    """Return exact match and the explanations' metric by country, framed if above the null."""
    rows, cells = {}, []
    for b in data.benchmarks:
        for model in data.models:
            for what in data.kinds:
                rows[f"{model}\n{what}"] = what if what == "explanations" else f"{short(model)}, {what}"
                for country in data.shown_countries:
                    if (row := data.in_slice(model, b, what, "country", country)) is not None:
                        value, null = row["value"], row["null_value"]
                        is_above = value is not None and null is not None and value > null
                        cells.append(Cell(title_of(b), f"{model}\n{what}", country, value, "" if null is None else f"null {null:.2f}", is_above))
    return Matrix(cells, rows, data.shown_countries, digits=2)


def _badge(line: Row, score: Row | None) -> Badge:
    """Return the trust badge of a row's explanations. score: the number that the badge is next to."""
    if line["is_null"]:
        return "plain", "null model"
    if value_of(score) is None or line["tells_real_from_shuffled"] is None:
        return "plain", "explanations not scored" if value_of(score) is None else "too few explanations for a test against another item’s"
    return ("good", "explanations beat another item’s") if line["tells_real_from_shuffled"] else ("warn", "explanations not shown to beat another item’s")


@dataclass(frozen=True)
class Separation:
    """The models whose explanations of one benchmark say something about its items.

    Attributes:
        scored, judged, known, separated: models with the metric, with a gain, with enough explanations for
            the sign-flip test, and those that the test distinguishes from shuffled explanations.
        validated: whether its judges were compared with people (None: no judge).
    """

    metric: str
    scored: list[str]
    judged: list[str]
    known: list[str]
    separated: list[str]
    validated: bool | None


def separations(data: CureData) -> list[Separation]:
    """Return what is shown on every benchmark, in the order of tables."""
    def scored(metric: str, benchmark: str) -> list[str]:
        return [m for m in data.models if value_of(data.explained(m, metric, benchmark)) is not None]

    checks = []
    for b in data.benchmarks:
        validated = data.leaderboard.filter(benchmark=b)["validated"].drop_nulls()
        tests = {m: data.beats_shuffled(m, b) for m in data.models}
        checks.append(Separation(
            metric_title(b, data.benchmarks), scored(metric_of(b), b), scored("explanation_gain", b),
            [m for m, test in tests.items() if test is not None], [m for m, test in tests.items() if test == 1],
            bool(validated.all()) if validated.len() else None,
        ))  # fmt: skip
    return checks


def mode_pairs(data: CureData) -> list[dict[str, Any]]:
    """Return F1 micro and macro over models: of every benchmark, then of each model's mean over benchmarks.

    Only the n models with the score in both modes count. thin, thick: mean, iqr and variance; difference: of
    the means; p: Wilcoxon's signed-rank test over paired models, None for too few.
    """
    def both(metric: str, benchmark: str) -> dict[str, Any]:
        pairs = {m: [value_of(data.label_score(m, metric, benchmark, mode)) for mode in MODES] for m in data.models}
        return {model: pair for model, pair in pairs.items() if None not in pair}

    def over_models(values: Sequence[float]) -> dict[str, float | None]:
        width = spread(list(values))
        return {"mean": fmean(values) if len(values) else None, "iqr": width.iqr if width else None, "variance": width.variance if width else None}

    rows = []
    for metric in ("f1_micro", "f1_macro"):
        scores = {title_of(b): both(metric, b) for b in data.benchmarks}
        if len(scores) > 1:
            everywhere = [m for m in data.models if all(m in pairs for pairs in scores.values())]
            scores["mean of all"] = {m: [fmean(x) for x in zip(*(of[m] for of in scores.values()), strict=True)] for m in everywhere}
        for label, pairs in scores.items():
            thin, thick = np.array(list(pairs.values())).reshape(-1, 2).T
            test = paired_test(thick, thin) if pairs else None
            numbers = {"n": test.n, "difference": test.mean_difference, "p": test.p_value} if test else {"n": 0, "difference": None, "p": None}
            rows.append({"label": label, "metric": metric, "thin": over_models(thin.tolist()), "thick": over_models(thick.tolist())} | numbers)
    return rows


def _cue_rows(data: CureData) -> list[tuple[str, str, str]]:
    """Return (benchmark, "cue" or "specificity", name) of every slice of SpecNorm's items, in order."""
    own = data.values.filter(pl.col("slice_kind").str.contains("^benchmark(_mode)?_(cue|specificity)$"))
    pairs = own.select("slice", "slice_kind").iter_rows()
    present = {(name.split(":")[0], kind.rpartition("_")[2], name.rpartition(":")[2]) for name, kind in pairs}
    order = (*KINDS, "low", "medium", "high")
    return sorted(present, key=lambda row: (row[0], row[1], order.index(row[2])))


def _lost(data: CureData, model: str) -> Markup:
    """Return the cell with a model's lost answers: benchmark, mode or "judged", reason, count; most first."""
    rows = data.values.filter(pl.col("value") > 0, metric="unscored_answers", model=model).sort(-pl.col("value"), "slice")
    parts = [(*row["slice"].split(":", 2), int(row["value"])) for row in rows.to_dicts()]
    lines = [put("{}, {}: {}: {}", title_of(b), mode, reason, n) for b, mode, reason, n in parts]
    return words(BREAK.join(lines) or "none")


def _lead(data: CureData) -> list[Part]:
    if not data.benchmarks:
        return [Text(say("**This run ended early, so it has one number for each model**: its exact match, beside what was sent."), "lead verdict")]
    checks, n = separations(data), len(data.models)
    always, never = [t for t in checks if t.separated], [t for t in checks if t.known and not t.separated]
    unknown, bare = [t for t in checks if t.judged and not t.known], [t for t in checks if t.scored and not t.judged]
    missing = [t for t in checks if not t.scored]

    def these(of: list[Separation]) -> str:
        return sentence(listed([each.metric for each in of]))

    if "thick" not in data.modes:
        text = ["**This run has no explanations**, so this page is about labels only."]
    elif not data.is_judged:
        text = ["**No explanation was scored**" + (", because there was no judge. Name one with `--judges`." if not data.verdicts.height else ".")]
    else:
        counts = [f"{t.metric} for {len(t.separated)} of {n if at else plural(n, 'model')}" for at, t in enumerate(always)]
        text = [
            f"**The judge scores a model’s own explanations higher than another item’s on {', '.join(counts)}.**" if always
            else "**The judge is not shown to score any model’s own explanations higher than another item’s.**" if never
            else "**It is not known whether the judge scores a model’s own explanations higher than another item’s.**",
            f"{these(never)}: no model’s gain is shown to be above 0 (sign-flip test, 2.5 %), so {'this score says' if len(never) == 1 else 'these scores say'} nothing about the items." if never else "",
            f"{these(unknown)} {'has' if len(unknown) == 1 else 'have'} too few explanations for a test of the gain." if unknown else "",
            f"{these(bare)} {'is' if len(bare) == 1 else 'are'} scored, but another item’s explanation is not, so there is no gain." if bare else "",
            f"{these(missing)} could not be scored." if missing else "",
        ]  # fmt: skip
    parts: list[Part] = [Text(say(" ".join(filter(None, text)).replace("{", "{{").replace("}", "}}")), "lead verdict")]
    if data.verdicts.height:
        judges, family = data.verdicts["judge"].unique().sort().to_list(), data.family
        people, nobody = [[t.metric for t in checks if t.validated is known] for known in (True, False)]
        said = "**Not validated against people**: it is not known whether {they} explanations as people do." if not people else (
            "**Validated against people** on {people}; see [their agreement](#judges)." if not nobody
            else "**Validated against people on {people} only**, not on {nobody}.")  # fmt: skip
        kin = f" It may favour {{family}}, {'a model' if len(family) == 1 else 'models'} of its own family." if family else ""
        parts += prose(f"Judge{'s' if len(judges) > 1 else ''}: {{judges}}. {said}{kin}", "lead", judges=names(judges), family=names(family),
                       they="they grade" if len(judges) > 1 else "it grades", people=listed(people), nobody=listed(nobody))
    own = data.values.filter(~pl.col("is_null"), metric="exact_match", slice_kind="benchmark_mode")
    beating = own.filter(pl.col("ci_low") > pl.col("null_value")).height
    return parts + prose("Labels: exact match is shown to beat always giving the commonest label in {n} of {of} combinations of model, benchmark and mode.", "lead", n=beating, of=own.height)


def _picture(data: CureData) -> Chart | None:
    """Return explanations' gain over another item's; without a judge, labels next to the commonest label."""
    if not data.is_judged:
        return picture("Exact match of labels", [
            (m, f"{title_of(b)}, {mode}", data.label_score(m, "exact_match", b, mode)) for b in data.benchmarks for m in data.models for mode in data.modes
        ])  # fmt: skip
    of = [(m, f"{metric_of(b)}, {title_of(b)}", b) for b in data.benchmarks for m in data.models]
    gains = [(m, text, data.explained(m, "explanation_gain", b)) for m, text, b in of]
    scores = [(m, text, data.explained(m, metric_of(b), b)) for m, text, b in of]
    return picture("Judge’s score of explanations, minus that of another item’s", gains, _JUDGE_NOTE) or picture("Judge’s score of explanations", scores, _NULL_NOTE)


def _board(data: CureData) -> Part:
    sides = pl.max_horizontal(pl.col("explanation_gain", "gain_low", "gain_high").abs())
    end = data.leaderboard.select(sides.max()).item()
    end = None if end is None else float(end or 0.01)
    gain = Numbers(data, lambda line: (line["model"], "benchmark", line["benchmark"]))

    def in_mode(mode: str) -> Numbers:
        return Numbers(data, lambda line: (line["model"], "benchmark_mode", f"{line['benchmark']}:{mode}"))

    def named(line: Row) -> Markup:
        is_marked = data.is_judged or line["is_null"]
        return name(line["model"], *([_badge(line, data.explained(line["model"], metric_of(line["benchmark"]), line["benchmark"]))] if is_marked else []))

    def judge(line: Row) -> Markup:
        if line["is_null"] or line["judge"] is None:
            return words(None)
        family = put('{}<span class="badge">own family</span>', BREAK) if line["self_preference"] else ""
        return words(put("{}{}{}{}", isolated(line["judge"]), BREAK, validated(line), family))

    def own_gain(line: Row) -> Markup:
        return Markup("<td></td>") if line["is_null"] else gain.axis("explanation_gain", -(end or 0), end or 0)[1](line)

    judged: list[Column] = [] if not data.is_judged else [
        (col("Explanations ↑", "null: best null text"), lambda line: cell(data.explained(line["model"], metric_of(line["benchmark"]), line["benchmark"]), null=True)),
        gain("explanation_gain", "Gain ↑", "over another item’s", sign=True, strong=True, n=True),
        *([(left(f"−{number(end)} to +{number(end)}", "orange: no gain"), own_gain)] if end else []),
        (left("Judge", "validated?"), judge),
    ]  # fmt: skip
    boards = data.leaderboard.partition_by("benchmark", as_dict=True)
    return table("One block for each benchmark. Models whose own explanations score higher than another item’s come first, then the others by score; null models come last. Under a number are its 95 % interval and its null. –: not run or not scored. The end of the page has counts and reasons for every number.", [
        (left("Model"), named), *gain.ranks(),
        *(in_mode(mode)(metric, f"{mode} {label} ↑", "null: commonest label", null=True) for mode in data.modes for metric, label in (("exact_match", "EM"), ("f1_macro", "F1 macro"))),
        *judged,
    ], [line for b in data.benchmarks for line in boards[b,].to_dicts()], id="board", kind="leaderboard", line=lambda line: is_null(line["model"]),
        block_of=lambda line: title_of(line["benchmark"]) + (f": {metric_of(line['benchmark'])}" if data.is_judged else ""))  # fmt: skip


def _by_mode(data: CureData) -> list[Part]:
    parts: list[Part] = [
        Figure("f1-micro", "F1 micro, thin and thick", _modes_figure(data, "f1_micro"), say("Each dot is a model. A model left of the orange line scores less than always giving the commonest label. If no label is lost, F1 micro equals exact match."), "Vo and Koyejo 2025, figure 2", "F1 micro, thin and thick, over models"),
        Figure("f1-macro", "F1 macro, thin and thick", _modes_figure(data, "f1_macro"), say("All classes have equal weight, so always giving the commonest label scores little, and random labels (dashed) are the null to beat."), "Vo and Koyejo 2025, figure 3", "F1 macro, thin and thick, over models"),
    ]
    rows = data.differences.filter(~pl.col("is_null")).to_dicts()
    if not rows:
        return parts + prose("This run has only one mode, so there is nothing to compare.")
    if len(data.models) > 1:
        parts += [Text(say("Over models"), tag="h3"), table("Spread of the models’ scores, which Vo and Koyejo 2025 find smaller in thick mode. Only models with both scores count. p: Wilcoxon’s signed-rank test, paired by model, from six models on.", [
            (left("Benchmark"), lambda pair: th(pair["label"])), (left("Score"), lambda pair: words(pair["metric"].replace("_", " ").replace("f1", "F1"))), (col("Models"), lambda pair: td(pair["n"])),
            *((col("Mean", mode), lambda pair, mode=mode: td(number(pair[mode]["mean"]))) for mode in MODES),
            (col("Thick minus thin", "null: 0"), lambda pair: td(number(pair["difference"], 2, True))), (col("p"), lambda pair: td(number(pair["p"], 3))),
            *((col(label, mode), lambda pair, mode=mode, key=key, digits=digits: td(number(pair[mode][key], digits))) for label, key, digits in (("IQR", "iqr", 2), ("Variance", "variance", 3)) for mode in MODES),
        ], mode_pairs(data), id="over-models")]  # fmt: skip
    of = Numbers(data, lambda row: (row["model"], "benchmark", row["benchmark"]))
    parts.append(Fold("Model by model", [table(f"Difference and McNemar’s test are over the items of both modes (a lost label is wrong). IQR and variance are of exact match over countries; they are mostly noise if countries have few items. Of {len(rows)} tests, about {round(len(rows) * 0.05, 1)} would have p below 0.05 by chance.", [
        (left("Benchmark"), lambda row: th(title_of(row["benchmark"]))), (left("Model"), lambda row: words(isolated(row["model"]))),
        *((col("EM", mode), lambda row, mode=mode: td(number(row[f"{mode}_em"]))) for mode in MODES),
        of("thin_thick_difference", "Thick minus thin", "null: 0", sign=True, line=True), (data.head("thin_thick_p", "p", "McNemar"), lambda row: td(number(row["p"], 3))),
        *((data.head(f"exact_match_{key}", key.upper() if key == "iqr" else "Variance", mode), lambda row, key=key, mode=mode, digits=digits: td(number(row[f"{mode}_{key}"], digits))) for key, digits in (("iqr", 2), ("variance", 3)) for mode in MODES),
        (col("Countries"), lambda row: td(row["n_countries"])),
    ], rows, id="differences")], is_open=len(rows) <= 24))  # fmt: skip
    return parts


def _explanations(data: CureData) -> list[Part]:
    n, metrics = len(data.models), dict.fromkeys(metric_of(b) for b in data.benchmarks)
    parts: list[Part] = [Figure("profile", "Reasoning profile by model", _profile(data), say("The orange mark is the best of three null explanations, scored by the same judge. A bar without ▲ says nothing about the items, whatever its length. The table below has the numbers and counts."), "Vo and Koyejo 2025, figure 4", "Reasoning profile of every model")]
    if not data.is_judged:
        return parts
    of = Numbers(data, lambda key: (key[1], "benchmark", key[0]))
    drawn = "a random draw of items in whole pairs" if data.params["nulls"] else "every item"
    parts += [Fold("Scores of null explanations", [table(f"Scores by the same judge: each model’s own explanations, on all judged items, and three null explanations, which know nothing of the item, on {drawn}; n counts explanations", [
        (left("Metric"), lambda key: th(sentence(metric_title(key[0], data.benchmarks)))), (left("Model"), lambda key: words(isolated(key[1]))),
        (col("Its own ↑"), lambda key: cell(data.explained(key[1], metric_of(key[0]), key[0]), line=True)),
        *((col(text), lambda key, null=null: cell(data.find(key[1], metric_of(key[0]), "null", f"{key[0]}:{null}"), line=True, n=True)) for null, text in NULLS.items()),
        of("explanation_gain", "Gain ↑", "over another item’s", sign=True, line=True), of("judge_disagreement", "Disagreement", "of votes", line=True),
    ], [(b, m) for b in data.benchmarks for m in data.models], id="nulls")], is_open=n * len(data.benchmarks) <= 24), Text(say("Are the metrics correlated?"), tag="h3")]  # fmt: skip

    def correlation(model: str, pair: tuple[str, str]) -> Row | None:
        return data.find(model, "metric_correlation", "metric_pair", ":".join(pair))

    pairs = [pair for pair in combinations(metrics, 2) if any(value_of(correlation(m, pair)) is not None for m in data.models)]
    if not pairs:
        return parts + prose("No correlation: {why}.", why="it needs five countries with two metrics of published benchmarks" if len(metrics) > 1 else "there is only one metric")
    return [*parts, table("Pearson’s r over countries between the means of two metrics, from five countries on; 0: no relation. Each metric has its own benchmark, so r says whether the same countries are hard.", [
        (left("Metrics"), lambda pair: th(f"{pair[0].capitalize()} and {pair[1]}")),
        *by_model(data.models, lambda m, pair: cell(correlation(m, pair), sign=True, line=True), "r, 95 % interval"),
    ], pairs, id="correlations", kind="few" if n < 3 else "")]  # fmt: skip


def _judges(data: CureData) -> list[Part]:
    lines, family = judge_lines(data.verdicts, data.validation, [*METRICS.values()]), data.family
    if not lines:
        return prose("No judge: none was named, or no verdict is stored.")
    warning = say("**A judge may favour its own family:** {family}. Scores are not corrected for this; compare with a judge of another family.", family=names(family))
    return [*([Text(warning, "warning", "div")] if family else []), judge_table(lines)]


def _by_country(data: CureData) -> list[Part]:
    n, keys = len(data.all_countries), [(c, m) for c in data.all_countries for m in data.models]
    few = f"{MOST_COUNTRIES} of {n} countries: those with the most labels. " if n > MOST_COUNTRIES else ""
    parts: list[Part] = [
        Figure("countries", "Exact match and explanations by country", _countries(data), say(few + "A frame means that the score is above its null, the small number. For labels, the null is the commonest label on the same items; for explanations, it is the best null explanation on those items that have one (else on the benchmark’s items). Countries are ordered by exact match over all labels. Each cell has few items, so see the intervals in the table. × is not scored; an empty place has no items.")),
        Fold("All countries, with intervals", [table("Every country and model, with intervals and nulls", [
            (left("Country"), lambda key: th(data.all_countries[key[0]])), (left("Model"), lambda key: words(isolated(key[1]))),
            *((col(title_of(b), metric_of(b) if what == "explanations" else f"{what} EM"), lambda key, b=b, what=what: cell(data.in_slice(key[1], b, what, "country", key[0]), null=True)) for b in data.benchmarks for what in data.kinds),
        ], keys, id="by-country", is_long=True)]),
    ]  # fmt: skip
    if cues := _cue_rows(data):
        def named(benchmark: str, kind: str, cue: str) -> str:
            return (f"{title_of(benchmark)}, " if cues[0][0] != cues[-1][0] else "") + cue.replace("_", " ") + (" specificity" if kind == "specificity" else "")

        parts += [Text(say("Subgroups by cue and specificity"), tag="h3"), table("An item counts under each of its cues. Specificity: one cue is low, two or three medium, four or more high (Vo and Koyejo 2025, table 2). Under a number: its null.", [
            (left("Items with"), lambda key: th(named(*key[0]))), (left("Model"), lambda key: words(isolated(key[1]))),
            *((col("Specificity ↑") if what == "explanations" else col("EM", what), lambda key, what=what: cell(data.in_slice(key[1], key[0][0], what, *key[0][1:]), null=True, n=True)) for what in data.kinds),
        ], [(cue, m) for cue in cues for m in data.models], id="by-cue")]  # fmt: skip
    return parts


def _page(data: CureData) -> Page:
    params, boards = data.params, data.leaderboard.partition_by("benchmark", as_dict=True)
    thick = [Section("explanations", "How good are the explanations?", _explanations(data)), Section("judges", "Who judged?", _judges(data))]
    drawn = f"on a random draw of {params['nulls']} items of each benchmark, in whole pairs and stories (on all items if there are fewer)" if params.get("nulls") else "on every item"
    return Page(
        title="can models explain norms?", heading="Can language models explain norms, or only label them?",
        resampled="pairs or stories of items, else countries", differing="items, wording, rubrics, judges or arithmetic",
        made_from="the views leaderboard_cure, cure_thin_vs_thick and report_value; single answers are in cure_answer, verdicts in verdict. Tasks and metrics follow Vo and Koyejo 2025, “CURE: Cultural Understanding & Reasoning Evaluation”; null explanations, gains, intervals and judge checks are added.",
        lead=_lead(data), picture=_picture(data),
        facts={
            "Benchmarks": ", ".join(f"{title_of(b)} ({boards[b,]['n_items'][0] or '–'} items)" for b in data.benchmarks), "Modes": ", ".join(data.modes),
            "Countries": len(data.all_countries), "Temperature": params.get("temperature", "–"),
        },
        board=[_board(data)],
        sections=[
            Section("reading", "How to read this", prose("""
A model says whether something is acceptable in a place. In **thin** mode it gives only the label. In **thick** mode it also explains the label, and a judge model grades one aspect of the explanation, which differs between benchmarks. Compare a label score with that of the commonest label. Compare the score of an explanation with that of another item’s explanation: if the judge gives both the same score, it rewards style and not content.
The judge is a model too. Its grades are a guess unless they were validated against people, and it may favour a model of its own family.""")),
            Section("modes", "Does asking for reasons change the labels?", _by_mode(data)),
            *(thick if "thick" in data.modes else []),
            Section("countries", "Where are models right?", _by_country(data)),
        ],
        made=prose(_MADE, votes=params.get("judge_samples", "several"), drawn=drawn),
        lost=[table("Labels that could be read, and lost answers by reason; “judged” stands for explanations", [
            MODEL, *((col(title_of(b), f"{mode}, labels read"), lambda m, b=b, mode=mode: cell(data.label_score(m, "answered", b, mode), share=True, null=True)) for b in data.benchmarks for mode in data.modes),
            (left("Answers lost"), lambda m: _lost(data, m)),
        ], data.models, id="lost")],
    )  # fmt: skip


_MADE = """
### Items
The shipped items were written for this project from general knowledge. Nobody from the cultures concerned has checked them.
### Thin and thick
In thin mode the model gives only the label, which is read from the labels’ probabilities if the engine gives them, else from the completion. In thick mode it gives the label, then an explanation of two to four sentences. Otherwise items, labels and wording are the same in both modes.
### Labels
Exact match is the share of items whose label is right. A label that was lost (refused, cut off, unreadable) is wrong, and counted by its reason. F1 micro is the same number if no label is lost; a lost label counts as a false negative of its class and as no false positive. F1 macro is the mean F1 of the gold classes, so a rare label counts as much as a common one. There are two nulls: always giving the commonest label, and random labels drawn with the frequencies of the gold labels.
### Explanations
A judge answers one question with yes or no. *Coverage* (NormAd): does the explanation contain every essential part of the norm? *Connotation* (CASA): does it read the symbol as its culture does? *Coherence* (CultureBank): does it connect person, situation and norm? *Specificity* (SpecNorm): is it about the subgroup’s norm and not a broad one? The score is P(yes)/(P(yes) + P(no)) if the judge’s engine gives probabilities, else 1 or 0. A lost explanation scores 0. Items to which the question does not apply are not judged, and are counted with the reason: in the published CASA, adhering queries, whose symbols are not described, and queries that do not contain their symbol. Specificity is the mean of {votes} votes of each judge, over several phrasings.
### Null explanations and gain
The same judge grades three explanations that know nothing of the item: the model’s own explanation of *another item* (shuffled), a *generic* one and an *empty* one. They are judged {drawn}. A metric’s null is the best of the three, on the drawn items where the model’s own explanation is scored. The gain is the explanation’s score minus the shuffled one’s, item by item, on the draw. If its interval reaches 0, the judge may reward the style of an explanation rather than what it says about the item.
### Thin against thick
Difference and McNemar’s exact test are over the items of both modes. Over models, each model is one pair of Wilcoxon’s signed-rank test, which needs six pairs. No p-value is corrected for the number of tests. Interquartile ranges and variances (ddof 1) are over countries in the table of single models, and over models beside figures 2 and 3.
### Judges
A judge is *validated* if its verdicts under this rubric were compared with ratings by people (`culturemeter judge validate`). A validated judge may still agree badly with people, so read the agreement. α is Krippendorff’s, among the people. κ is Cohen’s, between the verdict and people’s commonest rating. r and ρ are Pearson’s and Spearman’s, between people’s mean and the graded score (the verdict if there is none). Calibration error is the distance of a graded score from the share of people’s yes; 0 is perfect.
### Intervals
Intervals are at 95 %, clustered by pairs or stories of items, else by countries; within a country, by items. With fewer than five clusters there is no interval, except for exact match of single items. Intervals cover the choice of items, not the choice of judge.
"""

REPORT = Report("report-cure.html", CureData, _page)
