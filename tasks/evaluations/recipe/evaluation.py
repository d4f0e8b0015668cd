"""Makes evaluations of definitions: study, the four functions of the contract, samples for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from tasks.evaluations.about import About
from tasks.evaluations.contract import (
    Cohort,
    Completions,
    Detail,
    Evaluation,
    Params,
    Rows,
    Shared,
    Tables,
    comparable,
)  # fmt: skip
from tasks.evaluations.recipe import kept, rows
from tasks.evaluations.recipe.definition import (
    CHOICE,
    GIVEN,
    JUDGED,
    PREFERENCE,
    ROTATED,
    SCORER,
    SHORT,
    WRITER,
    Wording,
)
from tasks.evaluations.recipe.groups import PreferenceStudy
from tasks.evaluations.recipe.items import LoadedRecipe
from tasks.evaluations.recipe.judged import JudgedStudy
from tasks.evaluations.recipe.options import ChoiceStudy
from tasks.evaluations.recipe.short_answers import ShortAnswerStudy
from tasks.evaluations.recipe.study import HEADLINE, RecipeAnswers, RecipeStudy, params_of
from tasks.evaluations.until import ItemMean, stoppable
from tasks.judging.controls import preference_row
from tasks.judging.panel import Opinions

STUDIES: Mapping[str, type[RecipeStudy]] = {
    CHOICE: ChoiceStudy, JUDGED: JudgedStudy, SHORT: ShortAnswerStudy, PREFERENCE: PreferenceStudy,
}  # fmt: skip
"""The class of each recipe's study."""

MEAN = ItemMean(
    metric=lambda study: (study.definition.metric.name, study.definition.metric.bounds),
    items=lambda study: list(zip(study.names.tolist(), study.clusters.tolist(), strict=True)),
    only=lambda study, places: study.of_headline([study.items[place] for place in places]),
    ask=lambda study, completions: study.ask_headline(completions),
    scores=lambda study, answers: answers.scores[HEADLINE].reasoned,
    null=lambda study, shared: rows.null_of(
        study, study.definition.metric, study.nulls(shared or {})[study.definition.metric.name],
        np.full(len(study.items), True),
    ),
    refused=lambda study: study.whole_reason(),
    is_lower=lambda study: study.definition.metric.direction == "lower",
)  # fmt: skip
"""The headline as a mean over items."""

_EXAMPLE = "-m ./mine.toml --limit 100 --dry-run"


def evaluation_of(
    loaded: LoadedRecipe,
    bring: Callable[[Params], LoadedRecipe] | None = None,
    knobs: Mapping[str, Any] | None = None,
) -> Evaluation[Any, RecipeStudy, RecipeAnswers]:
    """Return the evaluation of a definition with its files.

    Args:
        bring: params -> the same with the user's items; raises ValueError.
        knobs: name -> (type, field) of further params.
    """
    study = STUDIES[loaded.definition.recipe]
    is_judged = loaded.definition.is_judged
    own: Evaluation[Any, RecipeStudy, RecipeAnswers] = Evaluation(
        loaded.name,
        params_of(study, loaded, knobs),
        {},
        lambda params, tables, engines: study.of(bring(params) if bring else loaded, params, engines),
        lambda study, completions: study.ask(completions),
        lambda study, completions, shared: study.read(completions),
        _rows,
        settled=partial(study.settled, loaded.definition),
        engines=lambda params: dict.fromkeys(getattr(params, "judges", ()), "judge"),
        shared=Shared(_ask_shared, _read_shared) if is_judged else None,
        later=lambda study: study.later(),
        refused=lambda study: study.refused(),
        size=_size,
        compares=False,
        samples=lambda study, completions: study.samples(completions),
        about=about(loaded),
        content=kept.content,
        restored=partial(restored, loaded, knobs),
    )
    return stoppable(own, MEAN)


def restored(
    own: LoadedRecipe | None, knobs: Mapping[str, Any] | None, name: str, rows: Rows
) -> Evaluation[Any, RecipeStudy, RecipeAnswers]:
    """Return the evaluation of stored content.

    Args:
        own, knobs: the content and further params of the evaluation that has this name now; None if none has.

    Raises:
        ValueError: the rows are no content of an evaluation.
    """
    loaded = kept.loaded_of(name, rows, own)
    return evaluation_of(loaded, lambda params: loaded, knobs)


def about(loaded: LoadedRecipe) -> About:
    """Return the evaluation's description for doors, warehouse and page."""
    definition = loaded.definition
    usual = (SCORER if definition.scorer else WRITER,)
    profiles = definition.profiles or definition.usual_profiles
    data = "" if loaded.items else "--data FOLDER "
    metrics = [row._asdict() for row in rows.catalogue(loaded)]
    headline = definition.metric.name
    return About(
        title=definition.title,
        models=definition.models or usual,
        profiles=profiles,
        examples=tuple(f"{data}{each}" for each in (f"--profile {next(iter(profiles))}", _EXAMPLE)),
        caption=f"{metrics[0]['label']}: {metrics[0]['description']}",
        judged=str(metrics[0]["label"]).lower() if definition.is_judged else "",
        metrics=metrics,
        doubts={f"{control}_gain": headline for control in definition.controls},
        items=_item_rows,
        page=_page(loaded, metrics),
        preview=_preview(loaded) if loaded.items else (),
        rubric=loaded.rubric,
        published=loaded.published,
    )


def _preview(loaded: LoadedRecipe) -> list[str]:
    """Return two prompts with their right answers, and the null models."""
    kind = STUDIES[loaded.definition.recipe]
    study = kind.of(loaded, params_of(kind, loaded).model_validate({"models": ["none"]}), {})
    lines = []
    for item in study.items[:2]:
        lines += [
            f"item {item.name}{f', {study.label(each)}' * bool(study.label(each))}: {study.shown(item, each)}"
            for each in study.conditions
        ]
        lines += [f"  right: {right}"] if (right := study.target(item)) else []
    null = loaded.definition.metric.null
    own = map(rows.null_model, loaded.definition.null_models)
    named, of_model = ", ".join(own) or "none", ", ".join(loaded.definition.controls)
    return [*lines, f"null: {null}; rows of their own: {named}; controls: {of_model}"]


def _page(loaded: LoadedRecipe, metrics: Rows) -> dict[str, Any]:
    """Return the page's content beside numbers."""
    definition = loaded.definition
    clusters, headline = {item.cluster for item in loaded.items}, definition.metric.name
    is_scored = getattr(definition, "cut_off", "wrong") == "scored"
    lost = "refused or empty" if is_scored else "refused, empty or cut off"
    own: dict[str, Any] = {"Recipe": definition.recipe}
    if loaded.items:
        own |= {"Items": len(loaded.items), "Clusters": len(clusters)}
    origin = {"Source": definition.source, "Licence": definition.licence, "Citation": definition.citation}
    return {
        "page_title": definition.title,
        "headline": headline,
        "null": definition.metric.null,
        "prompt": "\n\n".join(_worded(name, own) for name, own in definition.wordings.items()),
        "condition": next(iter(definition.wordings)),
        "conditions": {f"{headline}_{c}": f"{c}_difference" for c in [*definition.conditions][1:]},
        "cluster": definition.cluster,
        "averaged": definition.average == "clusters",
        "rotated": getattr(definition, "orders", GIVEN) == ROTATED,
        "slices": definition.slices,
        "controls": {f"{definition.metric.name}_{c}": f"{c}_gain" for c in definition.controls},
        "lost": lost,
        "also": [part.name for part in definition.also],
        "checks": [row["metric"] for row in metrics if str(row["metric"]).startswith("judge_")],
        "facts": own | {name: text for name, text in origin.items() if text},
    }


def _worded(condition: str, wording: Wording) -> str:
    """Return what a condition sends, for people."""
    texts = (wording.system, wording.prompt, f"Then: {wording.then}" if wording.then else "")
    return f"{condition}: " * bool(condition) + "\n".join(filter(None, texts))


def _item_rows(study: RecipeStudy) -> Rows:
    return [
        {"item": item.name, "cluster": item.cluster, "content": dict(item.fields)} for item in study.items
    ]


def _rows(study: RecipeStudy, cohort: Cohort[RecipeAnswers], shared: Opinions | None) -> Tables:
    """Return rows of the models and null models, every answer and every verdict."""
    nulls = study.nulls(shared or {})
    metrics = rows.null_rows(study, nulls)
    checked = rows.check_rows(study, shared or {})
    details = {rows.null_model(name): own for name, own in study.null_details(shared or {}).items()}
    for model, answers in cohort.models.items():
        own = rows.model_rows(study, answers, nulls)
        judges = study.panel.judges.values() if study.panel else ()
        family = [preference_row(judges, cohort.engines[model].model)] if judges else []
        metrics[model] = [*own, *checked, *family]
        frame = study.answer_frame(answers, comparable(study))
        details[model] = [Detail("item_answer", frame), *study.details(answers)]
    return Tables(metrics, details)


def _ask_shared(study: Any, completions: Completions) -> Any:
    return study.panel.requests(study.checks)


def _read_shared(study: Any, completions: Completions) -> Any:
    return study.panel.read(study.checks, completions)


def _size(study: RecipeStudy) -> str:
    clusters = len(set(study.clusters.tolist()))
    lines = [f"{len(study.items)} items in {clusters} clusters ({study.definition.cluster})"]
    if len(study.conditions) > 1:
        lines.append(f"conditions: {', '.join(map(study.label, study.conditions))}")
    if (many := getattr(study.params, "repetitions", 1)) > 1:
        lines.append(f"{many} repetitions of each")
    if isinstance(study, ChoiceStudy) and study.is_written:
        lines.append("by letter: the option counts whose letter the model writes")
    for unit, out in study.loaded.left_out_by_unit().items():
        reasons = "; ".join(f"{n} {why}" for why, n in sorted(out.items(), key=lambda p: (-p[1], p[0])))
        n = sum(out.values())
        lines.append(f"left out of the data: {n} of {study.loaded.used.get(unit, 0) + n} {unit} ({reasons})")
    return "\n".join(lines)
