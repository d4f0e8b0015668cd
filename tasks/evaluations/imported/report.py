"""Declares what the page of an imported task shows: models, slices, lost answers, published values and hardest items."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl
from markupsafe import Markup

from tasks.report import Frames, Row, view
from tasks.report.cells import (
    ARROWS,
    against_null,
    cell,
    isolated,
    left,
    name,
    names,
    put,
    small,
    td,
    words,
)
from tasks.report.forest import picture
from tasks.report.page import Report
from tasks.report.parts import Page, Part, Section, Text, prose, say
from tasks.report.tables import MODEL, Column, Numbers, by_model, hardest, is_null, table
from tasks.report.text import cut, number, plural

SCORE, LOSS, TASK = "score", "loss", "task"
_OURS = {SCORE, LOSS, "stderr", "coverage", "unanswered"}


@dataclass(frozen=True, kw_only=True)
class ImportedData(Frames):
    """The frames of one configuration.

    Attributes:
        answers: model, item, cluster, answer, target, value: every model's answer, hardest item first.
        against: model, metric, is_beyond_null, doubt.
        published: metric, slice_kind, slice, model, value, paper, difference, note: of every task.
    """

    answers: pl.DataFrame = view("recipe_answer")
    against: pl.DataFrame = view("report_against_null")
    published: pl.DataFrame = view("imported_published", "")


def _logs(data: ImportedData) -> dict[str, Row]:
    """Return model -> the program and version that made its log, its date, and whether somebody named it."""
    logs: dict[str, Row] = {}
    for row in data.runs.filter(~pl.col("is_null")).to_dicts():
        params, engine = json.loads(row["params"]), json.loads(row["engine"])
        logs[row["model"]] = {
            "program": " ".join(filter(None, (params.get("harness"), params.get("harness_version")))),
            "source": engine.get("model") or "",
            "revision": engine.get("revision") or "",
            "is_stated": row["model"] in (params.get("stated") or ()),
            "date": row.get("occasion") or "",
        }
    return logs


def _log(log: Row | None) -> Markup:
    """Return the cell on where a model's answers come from."""
    if log is None:
        return words(None)
    at = f" at {log['revision'][:12]}" if log["revision"] else ""
    date = f", {log['date']}" if log["date"] else ""
    return words(put("{}{}{}", isolated(log["program"]), date, small(put("{}{}", isolated(log["source"]), at), below=True)))


def _unknown(row: Row | None) -> str:
    """Return why it is not known whether a number is beyond its null."""
    return "no null" if row and row["null_value"] is None else "no interval"


def _lost_by(data: ImportedData) -> dict[str, str]:
    """Return model -> its lost answers by reason, in words."""
    rows = data.values.filter(pl.col("value").is_not_null(), metric="unanswered", slice_kind="reason")
    of: dict[str, list[str]] = {}
    for row in rows.to_dicts():
        of.setdefault(row["model"], []).append(f"{row['slice']} {round(row['value'] * row['n_scored'])}")
    return {model: ", ".join(reasons) for model, reasons in of.items()}


def _slices(data: ImportedData, metric: str, models: list[str]) -> list[Section]:
    sections = []
    for at, kind in enumerate(data.params.get("by") or [], 1):
        places = sorted(set(data.values.filter(pl.col("slice_kind") == kind)["slice"]))
        if not places:
            continue
        columns: list[Column] = [
            (left(kind.capitalize()), name),
            *by_model(models, lambda m, place, kind=kind: cell(data.find(m, metric, kind, place), null=True, n=True)),  # type: ignore[misc]
        ]
        caption = f"{data.label(metric)} by {kind}: 95 % interval, null and counts"
        sections.append(Section(f"by-{at}", f"By {kind}", [table(caption, columns, places, id=f"by-{at}-table", is_long=True)]))
    return sections


def _published(data: ImportedData) -> list[Section]:
    rows = data.published.filter(slice_kind=TASK, slice=str(data.params.get("task", ""))).to_dicts()
    shown = table("Values that others state of this task, without answers of items: never ranked (◇)", [
        (left("Model"), lambda row: name(row["model"])), (put("<th>Value</th>"), lambda row: td(f"◇ {number(row['value'], 3)}")),
        (left("Where"), lambda row: words(isolated(row["source"]))),
        (left("What it is"), lambda row: words("; ".join(filter(None, (row["difference"], row["note"]))))),
    ], rows, id="published-table")  # fmt: skip
    return [Section("published", "Published values", [shown])] if rows else []


def _further(data: ImportedData, models: list[str]) -> list[Section]:
    main, of = data.params["metric"], Numbers(data)
    metrics = [metric for metric in sorted(set(data.overall["metric"]) - _OURS) if data.label(metric) != main[:60]]
    shown = table("Means over items, with 95 % intervals; nothing is ranked by them", [
        MODEL, *(of(metric, data.label(metric)) for metric in metrics),
    ], models, id="further-table", is_long=True)  # fmt: skip
    return [Section("further", "Further metrics of the log", [shown])] if metrics else []


def _hardest(data: ImportedData) -> list[Section]:
    return hardest(data.answers, lambda row: cut(row["prompt"] or row["item"]), lambda row: cut(row["target"] or "–"), "–")


def _made(data: ImportedData, metric: str, nulls: list[str], logs: Mapping[str, Row]) -> list[Part]:
    cluster, scale = data.params.get("cluster") or "", data.params.get("scale")
    if nulls:
        null = "The null is the best of these models that read no question, overall and in each slice: {nulls}. They are computed from the options and right answers that the log has."
    elif scale != "hit" or metric == LOSS:
        null = "There is no null: the log’s metric is not 1 for a right answer and 0 for a wrong one, so what a model scores that reads no question cannot be computed."
    else:
        null = "There is no null: the log does not say which answer is right to each item."
    stated = "; where a model is marked as named by the user, somebody said so with `--model-as`" if any(log["is_stated"] for log in logs.values()) else ""
    return [
        *prose("Prompts, answers and the score of each answer are those of the logs. A lost answer has the score that the program gave it; an answer without a score is unscored, with its reason."),
        *prose("Items of the same {cluster} are related, so intervals are clustered by {cluster}." if cluster else
               "Nobody said which items are related, so each is taken as independent of the others. If they are related, such as questions on one country, these intervals are too narrow: import the logs with `--cluster FIELD`.", cluster=isolated(cluster)),
        *prose(null, nulls=", ".join(nulls)),
        *prose(f"Models are compared where task, version, settings and items are equal. An item is named by the hash of its content. A model is the same as in another evaluation if its log names the commit of its weights{stated}."),
    ]  # fmt: skip


def _page(data: ImportedData) -> Page:
    params, of, logs, lost = data.params, Numbers(data), _logs(data), _lost_by(data)
    metric = LOSS if params.get("direction") == "lower" else SCORE
    known, cluster = data.catalogue[metric], params.get("cluster") or ""
    label = str(known["label"])
    models = data.values.filter(metric=metric, slice_kind="overall")
    ordered = models.sort("is_null", "value", "model", descending=[False, metric == SCORE, False], nulls_last=True)["model"].to_list()
    own = [model for model in ordered if not is_null(model)]
    nulls = [model.removeprefix("null:") for model in ordered if is_null(model)]
    against = {row["model"]: row for row in data.against.filter(metric=metric).to_dicts()}
    beyond = [model for model in own if against.get(model, {}).get("is_beyond_null")]
    if not own:
        verdict = "**No answer was scored.**"
    elif not nulls:
        verdict = "**No null can be computed here, so no number is shown to be more than chance.**"
    else:
        verdict = "**{n} shown to beat the null on {label}**: {models}." if beyond else "**No model is shown to beat the null on {label}.**"
    n = f"{len(beyond)} of {plural(len(own), 'model')} {'is' if len(beyond) == 1 else 'are'}"
    is_share = params.get("scale") in ("hit", "share")
    return Page(
        title="logs of other programs", heading=f"{params['task']}, from {'a table' if params['harness'] == 'table' else 'logs of ' + params['harness']}",
        lead=[Text(say(verdict, n=n, label=label.lower(), models=names(beyond)), "lead verdict")],
        picture=picture(label, [(model, "", data.find(model, metric)) for model in own], direction=known["direction"],
                        doubted=set(data.against.filter(~pl.col("is_beyond_null"), metric=metric)["model"])),
        facts={
            "Program": params["harness"],
            "Task": isolated(params["task"]) + (f", version {params['version']}" if params.get("version") else ""),
            "Metric of the log": isolated(params["metric"]),
            **{str(key).capitalize(): isolated(value) for key, value in (params.get("task_settings") or {}).items()},
        },
        resampled=f"clusters ({cluster})" if cluster else "items, as if they were independent",
        board=[table(f"Models by {label.lower()}, then null models. Under a number are its 95 % interval and its null. The answers and scores are the log’s; intervals and nulls are computed here. The end of the page has counts and reasons for every number.", [
            (left("Model"), lambda m: name(m, ("warn", "named by the user")) if logs.get(m, {}).get("is_stated") else name(m)), *of.ranks(),
            of(metric, label + ARROWS[known["direction"]], f"null: {', '.join(nulls) or 'none'}", null=True, strong=True, n=True),
            *([of.axis(metric, 0, 1)] if is_share else []),
            of("stderr", "Standard error", "as the program prints it", digits=3),
            (data.head("coverage", "Answered"), lambda m: cell(data.find(m, "coverage"), share=True, note=lost.get(m, ""))),
            (left("Against its null"), lambda m: against_null(against.get(m), _unknown(data.find(m, metric)))),
            (left("Log"), lambda m: _log(logs.get(m))),
        ], ordered, id="board", kind="leaderboard", line=is_null)],
        sections=[*_published(data), *_slices(data, metric, own), *_further(data, own), *_hardest(data)],
        made=_made(data, metric, nulls, logs), differing="task, version, settings, items or clusters",
        made_from="the view leaderboard_imported; single answers are in item_answer and sample_text.",
    )  # fmt: skip


REPORT = Report("report-imported.html", ImportedData, _page)
