"""Declares what the explication page shows, and figures 3 and 4 of the paper with nulls."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from tasks.evaluations.explication.meta import HEADLINES, asked, correlations, differences
from tasks.evaluations.explication.params import CONDITIONS, ExplicationParams
from tasks.metrics.comparison import holm_or_reason
from tasks.metrics.intervals import MIN_FLIPPED, least_flip_p, sign_flip_p_two_sided
from tasks.report import Badge, Frames, Row, view
from tasks.report.bars import Bars, Legend, bar_of
from tasks.report.cells import BREAK, cell, col, ends, isolated, left, name, names, put, small, td, th, words
from tasks.report.forest import Chart, picture
from tasks.report.judges import judge_lines, judge_table
from tasks.report.page import Report
from tasks.report.parts import Figure, Fold, Page, Part, Section, Text, prose, say
from tasks.report.ranks import best, nulls, scored
from tasks.report.tables import MODEL, Column, Numbers, by_model, is_null, table
from tasks.report.text import number, percent, plural

FIGURES = (
    ("meta", {"apr": "APR", "interaction": "INT"}, 10.0, "APR and INT, control and treatment", "anonymous authors 2025, figure 4",
     "Orange marks are nulls: the best grade of a conversation that ignores the user. For APR these are another persona’s recommendation, a user who tells nothing, and the same recommendation for everybody; for INT, the same conversation for everybody, without questions or with fixed ones."),
    ("instructions", {"instruction_following": "Instruction following"}, 5.0, "Instruction following", "anonymous authors 2025, figure 3",
     "If models differ in INT but not in this figure, INT measures more than following instructions."),
    ("counted", {"facts_elicited": "Facts elicited", "facts_used": "Facts used", "violated": "Violated"}, 1.0, "Counts without a judge", "not in the paper",
     "A program finds phrases and ingredients. Undecided cases are left out."),
)  # fmt: skip
"""Key of a figure, metrics with their titles, end of the axis, title, the paper's figure, and caption."""
NULLS = {
    "shuffled": "another persona’s recommendation", "silent": "a user who tells nothing",
    "generic": "the same for all, no question", "fixed": "the same for all, fixed questions",
}  # fmt: skip
COUNTS = (
    "recommended", "cut_short", "questions", "question_kinds", "new_questions", "dish_requests", "facts_elicited", "facts_used", "violated", "decided",
    "sections", "exact_labels", "near_length", "own_cuisine", "distinct_dishes", "likeness_across", "likeness_within", "role_confusion", "repetition",
)  # fmt: skip
OF_USER = ("user_contradictions", "user_dishes", "user_unasked", "user_too_long", "user_confusion")


@dataclass(frozen=True, kw_only=True)
class ExplicationData(Frames):
    """The frames of one configuration."""

    personas: pl.DataFrame = view("explication_by_persona")
    transcripts: pl.DataFrame = view("explication_transcript")
    meta: pl.DataFrame = view("meta_explication")
    verdicts: pl.DataFrame = view("report_judge")
    validation: pl.DataFrame = view("report_validation")
    people: pl.DataFrame = view("explication_people")

    @cached_property
    def conditions(self) -> list[str]:
        """Return the conditions of the conversations."""
        held = set(self.leaderboard["condition"])
        return [condition for condition in CONDITIONS if condition in held]

    def checked(self, tells: bool | None) -> list[str]:
        """Return the models for which the judges pass their check, fail it, or have too few personas for it."""
        own = self.leaderboard.filter(~pl.col("is_null"), pl.col("tells_real_from_shuffled").eq_missing(tells))
        return sorted(set(own["model"]))

    def under(self, model: str, metric: str, condition: str) -> Row | None:
        """Return a metric under one condition."""
        return self.find(model, metric, "condition", condition)


def badge_of(row: Row) -> Badge:
    """Return the trust badge of the grades of a leaderboard row."""
    if row["is_null"]:
        return "plain", "null recommender"
    if row["tells_real_from_shuffled"] is None:
        return "plain", "too few personas for the judges’ check"
    return ("good", "beats another persona’s recommendation") if row["tells_real_from_shuffled"] else ("warn", "not shown to beat another persona’s recommendation")


def _bars(data: ExplicationData, metrics: dict[str, str], end: float) -> Bars:
    return Bars([
        bar_of(title, model, data.under(model, metric, condition), series=place)
        for metric, title in metrics.items() for model in data.models for place, condition in enumerate(data.conditions)
    ], {model: model for model in data.models}, Legend(tuple(data.conditions), "null: best conversation that ignores the user", end=end), per_row=3)  # fmt: skip


def model_pairs(data: ExplicationData) -> list[dict[str, Any]]:
    """Return every pair of models on the headline (``meta.asked``): difference over shared personas, p,
    Holm-adjusted p over these pairs, or holm_reason.

    All pairs are one family. A family of each model against the best one would be smaller, but the best is
    chosen by the same grades: equal models would differ in 6 % (six models) to 18 % (20) of studies.
    """
    scored = [
        (metric, condition)
        for metric, condition in product(HEADLINES, data.conditions)
        if data.personas.filter(pl.col("condition") == condition)[metric].count()
    ]
    metric, condition = asked(scored)
    own = data.personas.filter(pl.col("condition") == condition).drop_nulls(metric)
    means: dict[str, dict[str, float]] = {
        model: dict(own.filter(pl.col("model") == model).select("persona", metric).iter_rows())
        for model in data.models
    }
    pairs: list[dict[str, Any]] = []
    for first, second in combinations(data.models, 2):
        shared = sorted(means[first].keys() & means[second].keys())
        gaps = np.array([means[first][p] - means[second][p] for p in shared])
        line = {"metric": metric, "condition": condition, "first": first, "second": second}
        p_value = sign_flip_p_two_sided(gaps) if len(shared) >= MIN_FLIPPED else None
        pairs.append(line | {"n": len(shared), "difference": float(gaps.mean()) if shared else None, "p_value": p_value})
    sizes = [line["n"] for line in pairs]
    outcomes = holm_or_reason([line["p_value"] for line in pairs], [least_flip_p(n) for n in sizes], [f"{n} personas" for n in sizes])
    return [line | {"p_holm": p, "holm_reason": reason} for line, (p, reason) in zip(pairs, outcomes, strict=True)]


def _picture(data: ExplicationData) -> Chart | None:
    """Return how well recommendations suit the user, next to the best null that ignores the user."""
    def lines(metric: str) -> list[tuple[str, str, Row | None]]:
        return [(m, condition, data.under(m, metric, condition)) for condition in data.conditions for m in data.models]

    note = "The null is the best of another persona’s recommendation, a silent user and the same recommendation for all."
    grades = picture("APR: how well the recommendation suits the user, 1 to 10", lines("apr"), note, doubted=data.checked(False))
    return grades or picture("Share of the user’s facts that the model elicits, counted without a judge", lines("facts_elicited"))


def _lead(data: ExplicationData) -> list[Part]:
    own, params = scored(data, "apr"), data.params
    flagged, unchecked = data.checked(False), data.checked(None)
    if not data.verdicts.height and not own:
        grades = ": appropriateness (APR) and interaction (INT) are not scored." if params.get("judges") else ", because there was no judge.** Name one with `--judges` for appropriateness (APR) and interaction (INT)."
        text = ("**No conversation has grades**" if params.get("judges") else "**The conversations have no grades") + grades + " The counts below need no judge."
    else:
        text = (
            "**The judges fail their check for {flagged}: they are not shown to grade a recommendation higher than another persona’s**, so appropriateness (APR) says nothing about the user there. " if flagged
            else "**It is not known whether the judges look at the user**: there are too few graded personas to check this for {unchecked}. " if unchecked
            else "For every model, the judges grade a recommendation higher than another persona’s. ")  # fmt: skip
        if not own:
            text += "**No model’s recommendations have grades**: see [what could not be scored](#unscored)."
        else:
            text += "{best}; a conversation that ignores the user scores {null}. **{clear} shown to take the user into account.**" if nulls(own) else "{best}."
    clear = [row for row in own if row["ci_low"] is not None and row["null_value"] is not None and row["ci_low"] > row["null_value"] and row["model"] not in flagged + unchecked]
    verdict = say(
        text, flagged=names(flagged), unchecked=names(unchecked), best=best(data, "apr", "appropriateness (APR, 1 to 10) over all conditions"), null=nulls(own),
        clear=f"{len(clear)} of {plural(len(own), 'model')} {'is' if len(clear) == 1 else 'are'}" if clear else "No model is",
    )  # fmt: skip
    parts: list[Part] = [Text(verdict, "lead verdict")]
    if family := sorted(set(data.leaderboard.filter("self_preference")["model"])):
        parts += prose("A judge may favour its own family: {family}.", "lead", family=names(family))
    both = [(m, data.value(m, "apr"), data.value(m, "apr_if_left_failed")) for m in data.models]
    if left := [put("{} from {} to {}", isolated(m), number(grade), number(failed)) for m, grade, failed in both if grade and failed and failed < grade]:
        parts += prose("Conversations that the user left without a recommendation are not in APR. If they counted with the worst grade, APR would fall: {left}.", "lead", left=Markup(", ").join(left))
    if cut := [put("{} of the conversations of {}", percent(share), isolated(m)) for m in data.models if (share := data.value(m, "cut_short"))]:
        parts += prose("Cut short by the turn limit ({turns} here), the token budget or a silent user: {cut}. These have no grades, because their outcome is not known.", "lead", turns=params.get("max_turns", "–"), cut=Markup(", ").join(cut))
    return parts


def _board(data: ExplicationData) -> Part:
    of = Numbers(data, lambda line: (line["model"],) if line["is_null"] else (line["model"], "condition", line["condition"]))
    grades = ("apr", "interaction")

    def column(metric: str, label: str, below: str, **options: Any) -> Column:
        heading, draw = of(metric, label, below, **options)
        plain = of(metric, label)[1]
        return heading, lambda line: draw(line) if not line["is_null"] else plain(line) if metric in grades else td(None)

    def line_kind(line: Row) -> str:
        return is_null(line["model"]) or ("first" if (line["condition"], line["model"]) in first else "")

    rows = data.leaderboard.to_dicts()
    first = {(row["condition"], row["model"]) for before, row in pairwise(rows) if row["condition"] != before["condition"]}
    return table("One block for each condition. Models whose recommendations get higher grades than another persona’s come first, then the others by APR; null recommenders come last. Under a number are its 95 % interval and its null. –: not scored. The end of the page has counts and reasons for every number.", [
        (left("Model"), lambda line: name(line["model"], badge_of(line))), *of.ranks(), (left("Condition"), lambda line: words(line["condition"])),
        column("apr", "APR ↑", "1 to 10", null=True, strong=True, n=True), column("interaction", "INT ↑", "1 to 10", null=True, strong=True),
        column("apr_gain", "Gain ↑", "over another persona’s", sign=True), column("instruction_following", "Instructions ↑", "1 to 5"),
        column("facts_elicited", "Elicited ↑", "of the facts", share=True), column("violated", "Violated ↓", "of limits", share=True),
        column("recommended", "Recommended ↑", "conversations", share=True),
    ], rows, id="board", kind="leaderboard", line=line_kind)  # fmt: skip


def _effects(data: ExplicationData) -> list[Part]:
    of_metric = Numbers(data, lambda key: (key[0], "metric", key[1]))
    keys = [(m, metric) for m in data.models for metric in ("apr", "interaction", "instruction_following", "facts_elicited", "questions")]
    parts: list[Part] = [table("Treatment minus control, paired by task, persona and repetition. p: sign-flip test over personas (all flips for up to 14 personas, else 19,999). APR is the question and is tested alone; the other numbers of a model are Holm-adjusted together.", [
        (left("Model"), lambda key: name(key[0])), (left("Number"), lambda key: words(data.label(key[1]))),
        of_metric("treatment_effect", "Difference", "null: 0", sign=True, line=True), of_metric("treatment_p", "p", "sign flips", digits=3), of_metric("treatment_p_holm", "p", "Holm", digits=3),
    ], keys, id="effects-table")]  # fmt: skip
    if pairs := model_pairs(data):
        parts.append(table("Differences between all pairs of models over their common personas, on the headline alone. p: sign-flip test over personas, Holm-adjusted over this table. No p: so few personas cannot show any of so many pairs. Other numbers: culturemeter compare.", [
            (left("Models"), lambda row: th(put("{} minus {}", isolated(row["first"]), isolated(row["second"])))), (left("Number"), lambda row: words(data.label(row["metric"]))),
            (left("Condition"), lambda row: words(row["condition"])), (col("Difference"), lambda row: td(number(row["difference"], 2, True))), (col("Personas"), lambda row: td(row["n"])),
            (col("p"), lambda row: td(number(row["p_value"], 3))), (col("p", "Holm"), lambda row: td(small(row["holm_reason"]) if row["holm_reason"] else number(row["p_holm"], 3))),
        ], pairs, id="pairs", is_long=True))  # fmt: skip
    parts.append(table("Sources of the grades’ variance: shares, mean over tasks and conditions", [
        (left("Model"), lambda key: name(key[0])), (left("Grade"), lambda key: words(data.label(key[1]))),
        *((col(part), lambda key, part=part: cell(data.find(key[0], "variance_share", "metric_part", f"{key[1]}:{part}"), share=True)) for part in ("persona", "repetition", "judge", "rest")),
    ], [(m, metric) for m in data.models for metric in ("apr", "interaction")], id="variance"))  # fmt: skip
    return parts


def _counts(data: ExplicationData) -> list[Part]:
    judged, few = ("apr_if_left_failed",) if data.verdicts.height or data.leaderboard["apr"].count() else (), "few" if len(data.models) < 3 else ""
    label = (left("Number"), lambda metric: th(data.label(metric)))
    return [
        table("Counts without a judge, both conditions together, and APR if a conversation that the user left counted with the worst grade. Under a number are its interval and its null.", [
            label, *by_model(data.models, lambda m, metric: cell(data.find(m, metric), null=True)),
        ], (*judged, *COUNTS), id="counts", is_long=True, kind=few),
        table("Does the simulated user keep to its persona and its instructions?", [
            label, *((col(put("with {}", isolated(m))), lambda metric, m=m: cell(data.find(m, metric))) for m in data.models),
        ], OF_USER, id="user", kind=few),
        Fold("Persona by persona", [table("Means over tasks and repetitions; each has few conversations", [
            (left("Persona"), lambda row: th(isolated(row["persona_name"] or row["persona"]))), (left("Cuisine"), lambda row: words(row["cuisine"])),
            (left("Condition"), lambda row: words(row["condition"])), (left("Model"), lambda row: words(isolated(row["model"]))),
            (col("APR"), lambda row: td(number(row["apr"]))), (col("INT"), lambda row: td(number(row["interaction"]))),
            (col("Elicited"), lambda row: td(percent(row["facts_elicited"]))), (col("Violated"), lambda row: td(percent(row["violated"]))), (col("n"), lambda row: td(row["n_conversations"])),
        ], data.personas.to_dicts(), id="by-persona", is_long=True)]),
    ]  # fmt: skip


def _transcripts(data: ExplicationData) -> list[Part]:
    parts = prose("These are the best and the worst by APR and INT, and the most disputed one. With several judges, that is the one on which they differ most; with one judge, the best-graded recommendation that violates a limit.")
    for t in data.transcripts.to_dicts():
        told = prose(
            "Ended by {ended}. Facts told: {told} ({n} of {of} elicited). Violated: {violated}{undecided}. With another persona’s recommendation: APR {shuffled}.", "small",
            ended=t["ended_by"] or "a failure", told=t["facts_told"] or "none", n="–" if t["n_elicited"] is None else t["n_elicited"], of="–" if t["n_facts"] is None else t["n_facts"],
            violated=t["violations"] or "nothing", undecided=f"; undecided: {t['undecided']}" if t["undecided"] else "", shuffled=number(t["apr_shuffled"]),
        )  # fmt: skip
        summary = put("{}: {} ({}, {}, {}, {}): APR {}, INT {}", isolated(t["model"]), t["why"], t["persona_name"], t["cuisine"], t["task"], t["condition"], number(t["apr"]), number(t["interaction"]))
        parts.append(Fold(summary, [*told, Text(isolated(t["transcript"]), "transcript", "pre")]))
    return parts if data.transcripts.height else [*parts, *prose("No conversation is stored.")]


def _judges(data: ExplicationData) -> list[Part]:
    lines, named = judge_lines(data.verdicts, data.validation), data.params.get("judges", [])
    said = "No verdict on a model’s conversation is stored. Judges of this run: {judges}." if named else "There was no judge."
    parts: list[Part] = [judge_table(lines)] if lines else prose(said, judges=names(named))
    if data.people.height:
        parts.append(table("Ratings by people who did not know the model, and the judges’ agreement with them; intervals over personas. Null: judges that know nothing. The paper has persona 4.3, misaligned 22.8 % (APR) and 16.7 % (INT), kappa 0.54 and 0.72, ρ over six models 0.83 and 0.89.", [
            (left("Study"), lambda row: th(row["study"])), (left("Rated"), lambda row: words(row["dimension"])), (left("Number"), lambda row: words(row["metric"])),
            (col("Value"), lambda row: put('<td title="{}">{}</td>', row["unscored_reason"] or "", number(row["value"]))), (col("95 %"), lambda row: td(ends(row) or "–")),
            (col("Null"), lambda row: td(number(row["null_value"]))), (col("n"), lambda row: td(row["n"])),
        ], data.people.to_dicts(), id="people", is_long=True))  # fmt: skip
    return parts


def _meta(data: ExplicationData) -> list[Section]:
    rows = correlations(data.meta.iter_rows(named=True))
    known = [row for row in rows if row["n_models"] >= 3]
    apart = [row for row in differences(data.meta.to_dicts()) if row["n_models"] >= 3]

    def around(row: Row, text: str) -> Markup:
        return td(put("{}{}", text, small(ends(row), below=True) if row["ci_low"] is not None else ""))

    def other(row: Row) -> Markup:
        if row["other_evaluation"] == "external":
            return words(isolated(row["other_metric"]) + small("external ranking", below=True))
        return words(f"{row['other_evaluation']}: {row['other_metric']}" + (f", {row['other_slice']}" if row["other_slice"] != "all" else ""))

    tested: list[Column] = [
        (col("p"), lambda row: td(number(row["p_value"], 3))), (col("p", "Holm"), lambda row: td(number(row["p_holm"], 3))), (col("Models"), lambda row: td(row["n_models"])),
        (col("Needed"), lambda row: td(row["needed"])), (left("Note"), lambda row: put('<td class="text"><small>{}</small></td>', "; ".join(filter(None, (row["unscored_reason"], row["holm_reason"]))))),
    ]  # fmt: skip
    named: list[Column] = [(left("Explication"), lambda row: th(row["metric"])), (left("Condition"), lambda row: words(row["condition"]))]
    parts: list[Part] = [] if known else prose("No correlation can be computed: fewer than three models have both numbers.")
    if known:
        parts.append(table("Correlations over the models with both numbers in this warehouse: Pearson’s r; Spearman’s ρ with its 95 % interval; p of ρ; Holm: adjusted over the tested family, the headline under one condition against the other evaluations and rankings. Needed: number of models at which a test detects such a ρ with 80 % power. The paper compares six models.", [
            *named, (left("Other number"), other), (col("r"), lambda row: td(number(row["pearson"]))), (col("ρ", "95 % interval"), lambda row: around(row, number(row["spearman"]))), *tested,
        ], known, id="meta-table", is_long=True))  # fmt: skip
        if left_out := len(rows) - len(known):
            parts += prose("Pairs with fewer than three models are left out: {n} of {of}.", "note", n=left_out, of=len(rows))
    if apart:
        parts.append(table("Is explication more correlated with the structure of knowledge than with facts? Difference: ρ with spectral’s macro-F1 minus ρ with an external ranking or with countries’ own items, over the models with all three, and its 95 % interval. p: by exchanging the models’ ranks in the two; Holm: adjusted over the rows of the headline under one condition. Needed: number of models at which a test detects such a difference with 80 % power.", [
            *named, (left("Facts"), lambda row: words(isolated(row["other_metric"]) + small("external ranking" if row["other_evaluation"] == "external" else row["other_evaluation"], below=True))),
            (col("ρ", "macro-F1"), lambda row: td(number(row["first"]))), (col("ρ", "facts"), lambda row: td(number(row["second"]))),
            (col("Difference", "95 % interval"), lambda row: around(row, number(row["difference"], 2, True))), *tested,
        ], apart, id="differences-table", is_long=True))  # fmt: skip
    return [Section("meta", "Is explication correlated with knowledge?", parts)] if rows else []


def _ends(data: ExplicationData, model: str) -> Markup:
    """Return the cell with what ended a model's conversations: condition, reason and share."""
    own = data.values.filter(pl.col("slice_kind") == "condition_end", ~pl.col("is_null"), pl.col("model") == model)
    return words(BREAK.join(put("{}: {}: {}", *row["slice"].partition(":")[::2], percent(row["value"])) for row in own.to_dicts()))


def _page(data: ExplicationData) -> Page:
    params, usual = data.params, ExplicationParams.model_fields["max_turns"].default
    turns = params.get("max_turns")
    return Page(
        title="does a model ask before it recommends?", heading="Does a language model ask before it recommends?", resampled="personas",
        differing="tasks, personas, prompts, rubrics, simulator, judges, sampling or arithmetic",
        made_from="the views leaderboard_explication, explication_by_persona, explication_transcript and meta_explication; every conversation is in explication_conversation, every verdict in verdict. Set-up and grades follow “Measuring meta-cultural competency”, section 5, in our own words; personas, nulls, intervals, limits and counts without a judge are ours.",
        lead=_lead(data), picture=_picture(data),
        facts={
            "Tasks": ", ".join(params.get("tasks", [])), "Simulator": isolated(params.get("simulator", "–")), "Repetitions": params.get("repetitions", "–"),
            "Turns at most": put("{}{}", turns or "–", small(f" (usually {usual})") if turns and turns < usual else ""), "Temperature": params.get("temperature", "–"),
        },
        board=[_board(data)],
        sections=[
            Section("reading", "How to read this", prose("A simulated user plays a persona and wants a recommendation from the model, which may ask questions first. In **treatment** the model is reminded that preferences are individual; in **control** it is not. Judges grade the conversation: **APR** (appropriateness) is how well the recommendation suits the user, **INT** (interaction) is how well the model asked. A program counts questions, facts that the user tells, facts that the recommendation uses, and limits that it violates. If another persona’s recommendation gets the same grade, the judge does not look at the user.")),
            Section("grades", "APR and INT", [
                *(Figure(key, title, _bars(data, metrics, end), say(caption), aside) for key, metrics, end, title, aside, caption in FIGURES),
                Text(say("Grades of null conversations"), tag="h3"), table("Grades by the same judges for conversations that ignore the user", [
                    MODEL, (col("APR", "its own"), lambda m: cell(data.find(m, "apr"), line=True)),
                    *((col("APR", text), lambda m, key=key: cell(data.find(m, "apr", "null", key), line=True)) for key, text in NULLS.items()),
                    (col("INT", "its own"), lambda m: cell(data.find(m, "interaction"), line=True)), (col("INT", "fixed questions"), lambda m: cell(data.find(m, "interaction", "null", "fixed"), line=True)),
                ], data.models, id="nulls"),
            ]),
            Section("effects", "Does the reminder change anything?", _effects(data)), Section("counted", "Questions, facts and recommendations", _counts(data)),
            Section("transcripts", "Conversations to read", _transcripts(data)), Section("judges", "Who judged?", _judges(data)), *_meta(data),
        ],
        made=prose("The simulator gets the persona, with the instruction to answer only what the model asks, in at most 100 words, and to name no dish. A conversation ends with a recommendation whose sections can be read, whatever their labels, or with the user’s farewell; the paper’s conversations end with a recommendation. The models do not know the turn limit or the token budget; a conversation that one of these ends is counted and not graded. A conversation that the user leaves without a recommendation has no grades, and counts in the denominator of “recommended”. Every sampled turn has its own seed: no two conversations share one, not even for the opening. If a model goes on as another speaker, that text is cut off and counted. Judges read transcripts as quoted data. A failure that a judge finds caps its grade at 4; the paper gives no number."),
        lost=[table("What ended conversations", [MODEL, (left("Condition: reason: share of conversations"), lambda m: _ends(data, m))], data.models, id="ends")],
    )  # fmt: skip


REPORT = Report("report-explication.html", ExplicationData, _page)
