"""Declares what the CulturALL page shows; its figures are numbered as in Lin et al. 2026."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from tasks.evaluations.culturall.params import CONDITIONS
from tasks.evaluations.culturall.rows import DIFFERENCES, LEVELS
from tasks.report import Badge, Frames, Row, view
from tasks.report.bars import Bar, Bars, Legend, bar_of
from tasks.report.cells import badge, cell, col, isolated, left, name, put, td, th, words
from tasks.report.forest import picture
from tasks.report.heatmaps import Cell, Matrix
from tasks.report.page import Report
from tasks.report.parts import Box, Figure, Fold, Page, Part, Section, Text, prose, say
from tasks.report.ranks import best, nulls, scored
from tasks.report.sentences import cohort_of_page
from tasks.report.tables import MODEL, Numbers, by_model, is_null, table
from tasks.report.text import cut, percent, plural, short

KINDS = ("topic", "language", "region")
"""Kinds of slices whose items are counted, in the order of figure 4 of Lin et al. 2026."""

LANGUAGES = {
    "ar": "Arabic", "be": "Belarusian", "bn": "Bengali", "en": "English", "es": "Spanish", "ja": "Japanese",
    "kk": "Kazakh", "km": "Khmer", "ko": "Korean", "ms": "Malay", "ru": "Russian", "sr": "Serbian",
    "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip

MATCHING = Path(__file__).with_name("matching.csv")
"""Matching held against answers that were labelled before it read them (blind.csv of its tests): by language,
right answers and those refused, wrong ones and those accepted, and those that it did not read.
"""

MOST_REGIONS = 51
"""Number of regions of the published benchmark; a figure shows no more bars."""

_CONDITIONS = Legend(("accuracy, native", "accuracy without the scenario"), "null: guessing", end=1.0)
_COLUMNS = {"english": "In English ↑", "question": "No scenario", "retrieval": "With passages ↑"}
_FIRST_CONTACT = (
    ("Right ones refused ↓", "refused", "n_right"), ("Wrong ones accepted ↓", "accepted", "n_wrong"),
    ("Short ones not read", "short_unread", "n_short"), ("Sentences not read", "prose_unread", "n_prose"),
)  # fmt: skip
_YES_NO = {True: "yes", False: "no", None: "–"}
_CHECKED: dict[bool | None, Badge] = {True: ("warn", "fails"), None: ("plain", "not scored"), False: ("good", "passes")}


@dataclass(frozen=True, kw_only=True)
class CulturallData(Frames):
    """The frames of one configuration."""

    judges: pl.DataFrame = view("culturall_judge")
    languages: pl.DataFrame = view("culturall_by_language")
    solved: pl.DataFrame = view("culturall_solved")
    examples: pl.DataFrame = view("culturall_example")
    cohort: pl.DataFrame = view("report_cohort")

    @cached_property
    def n_items(self) -> dict[str, dict[str, int]]:
        """Return kind of slice -> slice -> its number of items, most first, then by shown name."""
        rows = self.values.filter(pl.col("slice_kind").is_in(KINDS), metric="accuracy", is_null=False)
        counts = rows.with_columns(n=pl.col("n_scored") + pl.col("n_unscored"))
        slices = counts.select("slice_kind", "slice", "n").unique().rows()
        by_kind: dict[str, dict[str, int]] = {kind: {} for kind in KINDS}
        for kind, place, n in sorted(slices, key=lambda row: (-row[2], self.shown(*row[:2]))):
            by_kind[kind][place] = n
        return by_kind

    def by_name(self, kind: str) -> list[str]:
        """Return the slices of a kind, sorted by shown name."""
        return sorted(self.n_items[kind], key=lambda place: self.shown(kind, place))

    def shown(self, kind: str, place: str) -> str:
        """Return the shown name of a slice."""
        return {"language": LANGUAGES, "region": self.country_names}.get(kind, {}).get(place, place)

    @cached_property
    def claimed(self) -> str:
        """Return the metric that claims rest on: accuracy by match if a judge fails its check."""
        return "accuracy_matched" if True in self.leaderboard["judge_flagged"] else "accuracy"

    def is_above_null(self, model: str, kind: str = "overall", place: str = "all") -> bool:
        """Return whether the whole interval lies above the score of guessing."""
        row = self.find(model, self.claimed, kind, place)
        return row is not None and row["ci_low"] is not None and row["ci_low"] > (row["null_value"] or 0.0)

    @cached_property
    def conditions(self) -> dict[str, str]:
        """Return condition of the run -> its metric."""
        metrics = {c: "accuracy" if c == "native" else f"accuracy_{c}" for c in CONDITIONS}
        return {condition: metric for condition, metric in metrics.items() if self.has(metric)}

    def has(self, metric: str) -> bool:
        """Return whether there are rows of a metric."""
        return not self.values.filter(pl.col("metric") == metric, ~pl.col("is_null")).is_empty()


def _items(data: CulturallData, kind: str) -> Bars | None:
    """Return the number of items by topic, language or region (figure 4)."""
    counts = dict(list(data.n_items[kind].items())[:MOST_REGIONS])
    bars = [Bar(f"{kind.capitalize()} ({len(counts)})", place, float(n)) for place, n in counts.items()]
    return Bars(bars, {place: data.shown(kind, place) for place in counts}, Legend(("items",), "", digits=0))


def _languages(data: CulturallData) -> Matrix:
    """Return the accuracy of every model in every language, framed if above guessing (figure 5)."""
    cells, counts = [], data.n_items["language"]
    for model in data.models:
        for language in data.by_name("language"):
            if (row := data.find(model, "accuracy", "language", language)) is not None:
                note = "" if row["null_value"] is None else f"null {row['null_value']:.2f}"
                is_above = data.is_above_null(model, "language", language)
                cells.append(Cell("Accuracy", model, language, row["value"], note, is_above))
    columns = {each: f"{data.shown('language', each)} ({counts[each]})" for each in data.by_name("language")}
    return Matrix(cells, {model: short(model) for model in data.models}, columns, digits=2)


def _solved(data: CulturallData) -> Matrix:
    """Return the number of items of each language by the number of models that solve them (figure 13)."""
    columns, languages = {str(n): str(n) for n in range(len(data.models) + 1)}, data.by_name("language")
    counts = {(row["language"], str(row["n_solved"])): row["n_items"] for row in data.solved.to_dicts()}
    cells = [Cell("Items", each, n, float(counts.get((each, n), 0))) for each in languages for n in columns]
    return Matrix(cells, {each: data.shown("language", each) for each in languages}, columns, digits=0)


def _scenario(data: CulturallData) -> Bars | None:
    """Return the accuracy that remains without the scenario."""
    if not {"native", "question"} <= data.conditions.keys() or not any(data.value(m, "accuracy") is not None for m in data.models):
        return None
    of = [(m, series, data.find(m, metric)) for m in data.models for series, metric in enumerate(("accuracy", "accuracy_question"))]
    bars = [bar_of("All items", model, row, series=series) for model, series, row in of]
    return Bars(bars, {model: short(model) for model in data.models}, _CONDITIONS)


def _lead(data: CulturallData) -> list[Part]:
    rows, first = scored(data, data.claimed), data.leaderboard.row(0, named=True)
    above, by_match = list(filter(data.is_above_null, data.models)), ", by match" if data.claimed != "accuracy" else ""
    claim = f"{len(above)} of {plural(len(data.models), 'model')} {'is' if len(above) == 1 else 'are'}" if above else "No model is"
    nothing = "No answer was scored" if not by_match else "Nothing can be claimed: the judge fails its check, and matching reads too few answers"
    verdict = say(f"**{nothing}.**") if not rows else say(
        "**{claim} shown to solve more than guessing{by_match}.** {best}; guessing solves {null}.",
        claim=claim, by_match=by_match, best=best(data, data.claimed, f"accuracy{by_match.lstrip(',')}", percent), null=nulls(rows, percent) or "–",
    )  # fmt: skip
    parts: list[Part] = [Text(verdict, "lead verdict")]
    if first["n_not_checked"]:
        parts += prose("**{n} of {of} items were not checked by people.** If a gold answer is wrong, a model that knows the right one is marked wrong.", "lead", n=first["n_not_checked"], of=first["n_items"])
    if not first["judge"]:
        return parts + prose("There was no judge: an answer is right if it matches the gold answer or a variant of it.", "lead")
    check = {
        True: "**It fails its check**: overall or in one language, it accepts under 90 % of gold answers, or refuses under 90 % of other items’ answers or of empty ones ([see the table](#judges)){rests}.",
        None: "Its check could not be scored.", False: "It passes its check.",
    }[first["judge_flagged"]]  # fmt: skip
    return parts + prose(f"Judge: {{judge}}. {check} {'Validated' if first['validated'] else 'Not validated'} against people.", "lead", judge=isolated(first["judge"]), rests=". So the finding above rests on accuracy by match" if rows else "")


def _badges(line: Row) -> list[Badge]:
    """Return the trust badges of a row's accuracy."""
    own: Badge = ("good", "judge passes its check")
    if line["is_null"]:
        own = ("plain", "null model")
    elif line["judge"] is None:
        own = ("plain", "matched, not judged")
    elif line["judge_flagged"] is not False:
        own = ("warn", "judge fails its check" if line["judge_flagged"] else "judge not checked")
    return [own, ("warn", "own family judges")] if line["self_preference"] else [own]


def _example(data: CulturallData) -> list[Part]:
    if not data.examples.height:
        return []
    first, rows = data.examples.row(0, named=True), data.examples.to_dicts()
    text = prose(
        "**Scenario** ({language}, {region}, {topic}): {scenario}{br}**Question:** {question}{br}**Gold answer:** {gold}", br=put("<br>"),
        language=data.shown("language", first["language"]), region=data.shown("region", first["region"]), topic=first["topic"],
        **{each: isolated(first[each]) for each in ("scenario", "question", "gold")},
    )  # fmt: skip
    title = put('An item and the models’ answers <span class="aside">Lin et al. 2026, figure 2</span>')
    answers = table("Answers to this item, in its own language", [
        (left("Model"), lambda row: name(row["model"])),
        (left("Answer"), lambda row: words(put('<span class="small">{}</span>', row["unscored_reason"]) if row["answer"] is None else isolated(cut(row["answer"])))),
        (left("Right"), lambda row: words(_YES_NO[row["correct"]])), (left("Matches"), lambda row: words(_YES_NO[row["matched"]])),
    ], rows, id="example")  # fmt: skip
    return [Box("", [Text(title, tag="h3"), *text, answers], "section", "figure-example")]


def _by_level(data: CulturallData, kind: str, caption: str, id: str) -> Part:
    columns = [(col(level.capitalize()), lambda m, level=level: cell(data.find(m, "accuracy", kind, level), null=True, n=True)) for level in LEVELS]
    return table(caption, [MODEL, *columns], data.models, id=id)


def _difficulty(data: CulturallData) -> list[Part]:
    parts: list[Part] = [Figure("solved", "Items by how many models solve them", _solved(data), say("A column is a number of models with the right answer, of {n}. Each cell counts items.", n=len(data.models)), "Lin et al. 2026, figure 13", "Items by language and models that solve them")]
    if data.values.filter(slice_kind="difficulty")["value"].is_null().all():
        parts += prose("Difficulty needs answers of three other models.")
    else:
        parts.append(_by_level(data, "difficulty", "Accuracy by difficulty, as defined by the other models of the cohort", "by-difficulty"))
    if cohort := cohort_of_page(data.cohort):
        parts += prose("Levels of difficulty come from the models of the cohort, without the model itself. Here: {cohort}.", "note", cohort=isolated(cohort))
    if data.values.filter(slice_kind="published_difficulty")["value"].is_not_null().any():
        parts.append(_by_level(data, "published_difficulty", "Accuracy by published difficulty: the number of the paper’s 15 settings that solve an item (Lin et al. 2026, table 2)", "by-published-difficulty"))
    return parts


def _settings(data: CulturallData) -> list[Part]:
    figure = Figure("scenario", "With and without the scenario", _scenario(data), say("Accuracy without the scenario shows how much the question alone gives away."), about="Accuracy with and without the scenario")
    rows = data.values.filter(slice_kind="model_pair").sort("metric", "model", "slice").to_dicts()
    if not rows:
        return [figure, *prose("No two models of this run differ only in reasoning or web search.")]
    return [figure, table("Settings of one model, item by item (Lin et al. 2026, table 2)", [
        (left("Setting"), lambda row: th(data.label(row["metric"]))), (left("Model"), lambda row: words(isolated(row["model"]))),
        (left("minus"), lambda row: words(isolated(row["slice"]))), (col("Difference", "null: 0"), lambda row: cell(row, sign=True, n=True)),
    ], rows, id="setting-table")]  # fmt: skip


def _judges(data: CulturallData) -> list[Part]:
    def language(row: Row) -> str:
        return data.shown("language", row["language"]) if row["language"] else ""

    checks = [("judge_gold_accepted", "Gold accepted ↑", "gold_accepted"), ("judge_shuffled_refused", "Others’ refused ↑", "others_refused"), ("judge_empty_refused", "Empty refused ↑", "empty_refused")]
    parts: list[Part] = [table("Check of each judge: it should accept gold answers, and refuse other items’ answers and empty ones", [
        (left("Judge"), lambda row: name(row["judge"])), (left("Language"), lambda row: words(language(row) or "all")),
        *((data.head(metric, label), lambda row, key=key: td(percent(row[key]))) for metric, label, key in checks),
        (left("Check", "90 % of each"), lambda row: words(badge(_CHECKED[row["flagged"]]))),
    ], sorted(data.judges.to_dicts(), key=language), id="judge-table", is_long=data.judges["language"].count() > 14)] if data.judges.height else prose("No judge was named.")  # fmt: skip
    matching = pl.read_csv(MATCHING).filter(pl.col("language").is_in(list(data.n_items["language"]))).to_dicts()
    if matching:
        parts.append(table("Matching at first contact with answers that were written and labelled before it read them", [
            (left("Language"), lambda row: th(language(row))),
            *((col(label), lambda row, n=n, of=of: td(f"{row[n]} of {row[of]}")) for label, n, of in _FIRST_CONTACT),
        ], sorted(matching, key=language), id="matching-table"))  # fmt: skip
        parts += prose("An answer that is not read is neither right nor wrong by match. The column *Agreement* of the first table shows how far matching agrees with the judges of this run on the answers that it reads.")
    return parts


def _in_languages(data: CulturallData) -> list[Part]:
    counts, by_match = data.n_items["language"], ", by match" if data.claimed != "accuracy" else ""
    spread = sorted(data.languages.unique("language").to_dicts(), key=lambda row: data.shown("language", row["language"]))

    def over(row: Row) -> str:
        return row["no_interval_reason"] or ("over items" if row["n_regions"] in (1, counts.get(row["language"])) else "over regions")

    def by(kind: str) -> Part:
        return Fold(f"By {kind}, with intervals", [table(f"Accuracy by {kind}: 95 % interval, null and counts", [
            (left(kind.capitalize()), lambda place: th(data.shown(kind, place))),
            *by_model(data.models, lambda m, place: cell(data.find(m, "accuracy", kind, place), null=True, n=True)),
        ], data.by_name(kind), id=f"by-{kind}", is_long=True)])  # fmt: skip

    return [
        Figure("languages", "Accuracy by model and language", _languages(data), say("The number of items is in brackets. A frame means that the whole interval is above guessing{by_match}, which is the small number. A language without an interval is never framed. × is not scored.", by_match=by_match), "Lin et al. 2026, figure 5"),
        table("Languages with items from enough regions for an interval", [
            (left("Language"), lambda row: th(data.shown("language", row["language"]))), (col("Items"), lambda row: td(counts.get(row["language"]))),
            (col("Regions"), lambda row: td(row["n_regions"])), (left("Interval"), lambda row: words(over(row))),
        ], spread, id="spread"),
        *map(by, KINDS),
    ]  # fmt: skip


def _page(data: CulturallData) -> Page:
    first, number = data.leaderboard.row(0, named=True), Numbers(data)
    badges = {line["model"]: _badges(line) for line in data.leaderboard.to_dicts()}
    return Page(
        title="can models solve grounded tasks?", heading="Can language models solve grounded tasks in many languages?",
        resampled="regions", differing="items, conditions, judges or arithmetic",
        made_from="the views leaderboard_culturall, culturall_by_language, culturall_judge, culturall_solved, culturall_example and report_value; single answers are in culturall_answer, verdicts in verdict. Task, topics and settings follow Lin et al. 2026, “CulturALL”; items, nulls, intervals, matching and judge checks are ours.",
        lead=_lead(data),
        picture=picture("Accuracy" + (", by match" if data.claimed != "accuracy" else ""), [(m, "", data.find(m, data.claimed)) for m in data.models]),
        facts={
            "Items": first["n_items"] or "–", "Languages": len(data.n_items["language"]), "Regions": len(data.n_items["region"]),
            "Topics": len(data.n_items["topic"]), "Conditions": ", ".join(data.conditions),
        },
        board=[table("Models by accuracy, then null models. Under a number are its 95 % interval and its null. –: not run or not scored. The end of the page has counts and reasons for every number.", [
            (left("Model"), lambda m: name(m, *badges[m])), *number.ranks(), number("accuracy", "Accuracy ↑", "null: guessing", null=True, strong=True, n=True),
            number.axis("accuracy", 0, 1), number("accuracy_answered", "Of answers ↑", "without lost ones", n=True),
            number("accuracy_matched", "By match ↑", "of those read"), number("match_read", "Read", "by matching", share=True),
            number("accuracy_matched_low", "At least", "not read as wrong"), number("accuracy_matched_high", "At most", "not read as right"), number("judge_match_agreement", "Agreement", "judge and match", share=True),
            *(number(metric, _COLUMNS[condition]) for condition, metric in data.conditions.items() if condition != "native"),
            *(number(metric, data.label(metric), "null: 0", sign=True) for metric in DIFFERENCES if data.has(metric)),
            number("coverage", "Answered", share=True),
        ], badges, id="board", kind="leaderboard", line=is_null)],
        sections=[
            Section("reading", "How to read this", prose("A scenario gives a case (dates, amounts, people), and the culture has the rule; the answer needs both. Compare a model with guessing, and with its own score on the question without the scenario. If the judge fails its check, read accuracy by match instead.")),
            Section("items", "What do the items look like?", [
                *_example(data), Box("maps", [Figure(f"items-{kind}", f"Items by {kind}", _items(data, kind), aside="Lin et al. 2026, figure 4") for kind in KINDS]),
                *prose("A region that is not among the warehouse’s countries appears as its code.", "note"),
            ]),
            Section("languages", "In which languages?", _in_languages(data)),
            Section("difficulty", "How hard are the items?", _difficulty(data)),
            Section("settings", "Do scenario, language, reasoning and web search matter?", _settings(data)),
            Section("judges", "Who judged?", _judges(data)),
        ],
        made=prose(_MADE),
    )  # fmt: skip


_MADE = """
### Items
An item has a scenario of everyday life, a question that arises from it, and a short objective answer: a few words, a number with its unit, a date, or a letter of four options. The shipped items were written for this project after Lin et al. 2026. Each was then answered twice without sight of its gold answer and explanation, the second time by a reader who had written none of the items; if the answers differed, the item was dropped or repaired. Nobody who lives in the region has checked an item unless its `status` says so.
### Accuracy
The share of all items with a right answer. A refused, empty or cut-off answer is wrong, as in Lin et al. 2026. The column *Of answers* leaves such answers out. With judges, an answer is right if their mean score is at least 0.5; the judge sees scenario, question, gold answer, accepted variants and explanation. Without judges, *matching* reads short answers in a plain form. One is right if it is the gold answer or a variant: as text (without case, punctuation and optional marks of the script), as a number with its unit (a bare number only if the question names the unit or it is accepted), as a date, a time, or as a letter or text of an option. It is wrong if it states another value, option or name in such a form. Every other answer (a hedge, a denial, alternatives, several sentences, words that are neither the answer nor the question) is *not read*, and unscored: the interval holds that all of them are wrong and that all are right, over 5 % are a doubt, and over half leave no number. An answer may be in the item’s language or in English under every condition. Every row has accuracy by match, the share that it reads, and its agreement with the judges. An answer that could not be measured, such as one without a verdict, is unscored.
### Nulls
Guessing gives the commonest letter for multiple choice; for other items it gives another item’s answer in the same language, and its score is the mean chance that this is right. Accuracy without the scenario is a stronger null, since it shows how much the question alone gives away.
### Difficulty
For each model, difficulty depends on how many of the cohort’s *other* models solve an item: at least 10 of 15 is easy, at least 5 of 15 is medium, fewer is hard. It needs three other models. So a model does not define its own hard items, and in these columns models are compared on different items.
### Settings
A model called `model_reasoning_web` (Lin et al. 2026, table 2) is compared item by item with the same model under less reasoning, or without web search. English minus native is such a difference too, over the items of other languages; by match it is shown only if all these items accept variants in English.
### Judges
Each judge also grades every item’s gold answer, which it should accept, and two answers that it should refuse: an empty one and, for items without options, another item’s. If it is right on under 90 % of one of the three, overall or in a language, every number that rests on it is marked. *Validated* means that its verdicts were compared with people’s.
### Intervals
Intervals are at 95 %, over regions; they are over items if all items are of one region or each has its own. With fewer than five regions of several items there is no interval; a share over items has an exact interval from one item upwards. Intervals cover the choice of items, not the choice of judge.
"""

REPORT = Report("report-culturall.html", CulturallData, _page)
