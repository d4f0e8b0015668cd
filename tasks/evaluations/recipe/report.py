"""Declares what the page of any evaluation from a recipe shows: numbers by slice, controls, nulls, and single items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from tasks.report import Frames, view
from tasks.report.cells import (
    ARROWS,
    against_null,
    cell,
    left,
    name,
    names,
    put,
    words,
)
from tasks.report.forest import picture
from tasks.report.page import Report
from tasks.report.parts import Page, Part, Section, Text, prose, say
from tasks.report.tables import Numbers, by_model, hardest, is_null, table
from tasks.report.text import number, plural


@dataclass(frozen=True, kw_only=True)
class RecipeData(Frames):
    """The frames of one configuration. answers: every model's answer, hardest item first."""

    answers: pl.DataFrame = view("recipe_answer")
    against: pl.DataFrame = view("report_against_null", "config_hash")


def report_of(name: str, about: Mapping[str, Any]) -> Report[RecipeData]:
    """Return the report of an evaluation. about: ``About.page``."""
    return Report(
        f"report-{name}.html",
        RecipeData,
        lambda data: _page(data, {"averaged": False, "rotated": False, **about}),
    )


def _left_out(data: RecipeData) -> list[Part]:
    """Return a sentence for each unit of the data: how many there are, and for each reason how many are left out."""
    rows = data.values.filter((pl.col("metric") == "left_out") & (pl.col("slice_kind") == "reason"))
    units: dict[str, tuple[int, list[str]]] = {}
    for slice_, share, n in rows.select("slice", "value", "n_scored").unique("slice").sort("slice").rows():
        unit, _, reason = str(slice_).partition(": ")
        units.setdefault(unit, (int(n), []))[1].append(f"{round(share * n)} {reason}")
    return [
        part
        for unit, (n, reasons) in units.items()
        for part in prose(
            "Left out of the data’s {n} {unit}: {reasons}.", n=n, unit=unit, reasons=", ".join(reasons)
        )
    ]


def _scored(data: RecipeData, about: Mapping[str, Any]) -> pl.DataFrame:
    """Return the answers that the headline is of, in the first repetition."""
    is_last = pl.col("turn") == pl.col("turn").max().over("condition", "item", "model")
    own = data.answers.filter(pl.col("turn").is_null() | is_last, pl.col("repetition").fill_null(1) == 1)
    return own.filter(pl.col("condition") == about.get("condition", ""))


def _best_nulls(data: RecipeData, headline: str) -> dict[tuple[str, str], str]:
    """Return slice kind and slice -> the null models whose value is the slice's null, by name."""
    values = data.values.filter(metric=headline)
    own = values.filter(~pl.col("is_null")).select("slice_kind", "slice", "null_value")
    nulls = values.filter("is_null").select("slice_kind", "slice", "model", "value")
    pairs = nulls.join(own, on=["slice_kind", "slice"]).filter(pl.col("value") == pl.col("null_value"))
    names: dict[tuple[str, str], set[str]] = {}
    for kind, of, model in pairs.select("slice_kind", "slice", "model").rows():
        names.setdefault((kind, of), set()).add(model.removeprefix("null:"))
    return {where: ", ".join(sorted(those)) for where, those in names.items()}


def _slices(data: RecipeData, about: Mapping[str, Any], models: list[str]) -> list[Section]:
    kinds, headline = about["slices"], about["headline"]
    if kinds is None:  # the slices requested by the run
        kinds = sorted(set(data.values["slice_kind"]) - {"overall", "reason", "judge"})
    best = _best_nulls(data, headline)

    def section(kind: str) -> Section:
        places = sorted(set(data.values.filter((pl.col("slice_kind") == kind) & ~pl.col("is_null"))["slice"]))
        shown = table(f"{data.label(headline)} by {kind}: 95 % interval, null and counts", [
            (left(kind.capitalize()), name), (left("Null model"), lambda place: words(best.get((kind, place)))),
            *by_model(models, lambda m, place: cell(data.find(m, headline, kind, place), null=True, n=True)),
        ], places, id=f"by-{kind}-table", is_long=True)  # fmt: skip
        return Section(f"by-{kind}", f"By {kind}", [shown] if places else [])

    return [each for each in map(section, kinds) if each.parts]


def _page(data: RecipeData, about: Mapping[str, Any]) -> Page:
    headline, controls, of = about["headline"], about["controls"], Numbers(data)
    known, cluster, null = data.catalogue[headline], about["cluster"], about["null"]
    label = str(known["label"])
    overall = data.values.filter((pl.col("metric") == headline) & (pl.col("slice_kind") == "overall"))
    falls = known["direction"] != "lower"
    ordered = overall.sort("is_null", "value", "model", descending=[False, falls, False], nulls_last=True)
    models = ordered.filter(~pl.col("is_null"))["model"].to_list()
    against = {row["model"]: row for row in data.against.to_dicts() if row["metric"] == headline}
    beyond = [m for m in models if against.get(m, {}).get("is_beyond_null")]
    n = f"{len(beyond)} of {plural(len(models), 'model')} {'is' if len(beyond) == 1 else 'are'}"
    verdict = say("**No answer was scored.**") if not models else say(
        "**{n} shown to beat the null on {label}**: {models}." if beyond else "**No model is shown to beat the null on {label}.**",
        n=n, label=label.lower(), models=names(beyond),
    )  # fmt: skip
    judges = sorted(set(data.values.filter(pl.col("slice_kind") == "judge")["slice"]))
    checks = [] if not judges else [Section("judges", "Does the judge pass its check?", [table(
        "Shares of right texts that a judge accepts, and of null texts that it refuses. A judge with under 90 % in either fails its check.",
        [(left("Judge"), name), *(Numbers(data, lambda judge: (models[0], "judge", judge))(metric, data.label(metric), n=True) for metric in about["checks"] if models)],
        judges, id="judge-check")])]  # fmt: skip
    return Page(
        title=about["page_title"], heading=about["page_title"], resampled=f"clusters ({cluster})",
        differing="items, prompt, options or judges",
        made_from=f"the view leaderboard_{data.runs['evaluation'][0]}; single answers are in item_answer, verdicts in verdict.",
        lead=[Text(verdict, "lead verdict")], facts=about["facts"],
        picture=picture(label, [(m, "", data.find(m, headline)) for m in models], direction=known["direction"],
                        doubted=set(data.against.filter(~pl.col("is_beyond_null"), metric=headline)["model"])),
        board=[table(f"Models by {label.lower()}, then null models. Under a number are its 95 % interval and its null. –: not run or not scored. The end of the page has counts and reasons for every number.", [
            (left("Model"), name), *of.ranks(), of(headline, label + ARROWS[known["direction"]], f"null: {null}", null=True, strong=True, n=True),
            of.axis(headline, known["range_low"], known["range_high"], f"{number(known['range_low'], 0)} to {number(known['range_high'], 0)}"),
            *(of(other, data.label(other), f"null: {data.catalogue[other]['null_baseline']}", null=True, n=True) for other in about.get("also", ())),
            *(column for control, gain in controls.items() for column in (of(control, data.label(control)), of(gain, "Gain", "null: 0", sign=True))),
            *(column for value, difference in about.get("conditions", {}).items() for column in (of(value, data.label(value), null=True), of(difference, data.label(difference), "null: 0", sign=True))),
            of("coverage", "Answered", share=True), (left("Against its null"), lambda m: against_null(against.get(m))),
        ], ordered["model"], id="board", kind="leaderboard", line=is_null)],
        sections=[*_slices(data, about, models), *checks, *hardest(_scored(data, about), lambda row: row["item"], lambda row: row["target"] or "–")],
        made=[
            *prose("{description} An answer that is {lost} gets the worst value. Items of the same {cluster} are related, so intervals are clustered by {cluster}.", description=known["description"], lost=about["lost"], cluster=cluster),
            *prose("The null is {null}{best}. A model is beyond its null if its whole interval is beyond the null, if no judge fails its check, and if it is shown to score more than with each control{controls}", null=null,
                   best=" null model, overall and in each slice" if null == "best" else "",
                   controls=": " + " ".join(str(data.catalogue[each]["description"]).lower() for each in controls) if controls else "."),
            *_left_out(data),
            *(prose("Each item is asked once for each of its options in the first place, unless the run says `--orders given`.") if about["rotated"] else []),
            *(prose("Every number is the mean over {cluster} of the mean over its items, so that no {cluster} counts more than another.", cluster=cluster) if about["averaged"] else []),
            *(prose("The board’s number is of the condition {first}; each other condition is compared with it, item by item.", first=about["condition"]) if about.get("conditions") else []),
            *prose("The prompt is this template, filled with an item’s columns:"), Text(put("{}", about["prompt"]), tag="pre"),
        ],
    )  # fmt: skip
