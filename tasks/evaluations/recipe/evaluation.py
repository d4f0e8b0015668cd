"""Makes evaluations of definitions: study, the four functions of the contract, samples for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import polars as pl

from tasks.evaluations.contract import (
    Cohort,
    Completions,
    Described,
    Detail,
    Evaluation,
    Params,
    Rows,
    Shared,
    Tables,
    comparable,
)  # fmt: skip
from tasks.evaluations.recipe import groups, kept, options, rows, texts
from tasks.evaluations.recipe.definition import (
    GIVEN,
    LETTERS,
    ROTATED,
    Choice,
    Judged,
    Preference,
    TextRecipe,
    controls,
    null_names,
)  # fmt: skip
from tasks.evaluations.recipe.items import LoadedRecipe
from tasks.evaluations.recipe.prompted import ConditionScores
from tasks.evaluations.recipe.study import HEADLINE, RecipeStudy, build_study, params_of
from tasks.judging.controls import preference_row
from tasks.judging.panel import Call, Opinions, VerdictSubject
from tasks.loop.items import OptionLogprobs
from tasks.loop.prompts import Completion
from tasks.loop.requests import Engine, Later, Request
from tasks.loop.samples import Sample, Score, listed, question, sample
from tasks.metrics.types import FloatArray

WRITER, SCORER = "smollm2-135m-vllm", "smollm2-135m"
"""Embedded models that are evaluated if a definition names none."""

_EXAMPLE = "-m ./mine.toml --limit 100 --dry-run"

SMALL, FEW_TOKENS = 10, 64
"""Number of items and tokens in the profile smoke, if a definition has no profiles."""


@dataclass(frozen=True)
class RecipeAnswers:
    """One model's scores by condition, and the judges' opinions of its texts."""

    scores: Mapping[str, ConditionScores]
    opinions: Opinions
    written: texts.Written


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
    is_judged = isinstance(loaded.definition, Judged)
    return Evaluation(
        loaded.name,
        params_of(loaded, knobs),
        {},
        partial(_study, bring or (lambda params: loaded)),
        _ask,
        _read,
        _rows,
        engines=lambda params: dict.fromkeys(getattr(params, "judges", ()), "judge"),
        shared=Shared(_ask_shared, _read_shared) if is_judged else None,
        later=_later,
        size=_size,
        compares=False,
        samples=samples,
        described=described(loaded),
        content=kept.content,
        restored=partial(restored, loaded, knobs),
    )


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


def described(loaded: LoadedRecipe) -> Described:
    """Return the evaluation's description for doors, warehouse and page."""
    definition = loaded.definition
    usual = (SCORER if isinstance(definition, Preference) or _scores_options(definition) else WRITER,)
    judges: dict[str, Any] = {"judges": [WRITER]} if isinstance(definition, Judged) else {}
    short = {"max_tokens": FEW_TOKENS} if isinstance(definition, TextRecipe) else {}
    profiles = definition.profiles or {"smoke": {"limit": SMALL, **judges, **short}, "demo": judges}
    data = "" if loaded.items else "--data FOLDER "
    metrics = [row._asdict() for row in rows.catalogue(loaded)]
    headline = definition.metric.name
    return Described(
        title=definition.title,
        models=definition.models or usual,
        profiles=profiles,
        examples=tuple(f"{data}{each}" for each in (f"--profile {next(iter(profiles))}", _EXAMPLE)),
        caption=f"{metrics[0]['label']}: {metrics[0]['description']}",
        judged=str(metrics[0]["label"]).lower() if isinstance(definition, Judged) else "",
        metrics=metrics,
        doubts={f"{control}_gain": headline for control in controls(definition)},
        items=_item_rows,
        page=_page(loaded, metrics),
        preview=_preview(loaded) if loaded.items else (),
        rubric=loaded.rubric,
        published=loaded.published,
    )


def _preview(loaded: LoadedRecipe) -> list[str]:
    """Return two prompts with their right answers, and the null models."""
    study = build_study(loaded, params_of(loaded).model_validate({"models": ["none"]}), {})
    lines = []
    for place, item in enumerate(study.items[:2]):
        if isinstance(loaded.definition, TextRecipe):
            messages = [message["content"] for message in texts.conversation(study, item.fields)]
        elif isinstance(loaded.definition, Choice):
            messages = [message["content"] for message in options.conversation_of(study, HEADLINE, item)]
        else:
            messages = [next(text for condition, own, text in groups.contexts(study) if own is item)]
        right = target(study, place)
        lines += [f"item {item.name}: " + "\n".join(messages), *([f"  right: {right}"] if right else [])]
    null = loaded.definition.metric.null
    own = [f"null:{name.replace('_', '-')}" for name in null_names(loaded.definition)]
    named, of_model = ", ".join(own) or "none", ", ".join(controls(loaded.definition))
    return [*lines, f"null: {null}; rows of their own: {named}; controls: {of_model}"]


def _page(loaded: LoadedRecipe, metrics: Rows) -> dict[str, Any]:
    """Return the page's content beside numbers."""
    definition = loaded.definition
    clusters = {item.cluster for item in loaded.items}
    is_scored = getattr(definition, "cut_off", "wrong") == "scored"
    lost = "refused or empty" if is_scored else "refused, empty or cut off"
    own: dict[str, Any] = {"Recipe": definition.recipe}
    if loaded.items:
        own |= {"Items": len(loaded.items), "Clusters": len(clusters)}
    origin = {"Source": definition.source, "Licence": definition.licence, "Citation": definition.citation}
    return {
        "page_title": definition.title,
        "headline": definition.metric.name,
        "null": definition.metric.null,
        "prompt": definition.prompt,
        "cluster": definition.cluster,
        "averaged": definition.average == "clusters",
        "rotated": getattr(definition, "orders", GIVEN) == ROTATED,
        "slices": definition.slices,
        "controls": {f"{definition.metric.name}_{c}": f"{c}_gain" for c in controls(definition)},
        "lost": lost,
        "also": [part.name for part in definition.also],
        "checks": [row["metric"] for row in metrics if str(row["metric"]).startswith("judge_")],
        "facts": own | {name: text for name, text in origin.items() if text},
    }


def _scores_options(definition: Any) -> bool:
    return isinstance(definition, Choice) and definition.by == "logprob"


def _item_rows(study: RecipeStudy) -> Rows:
    return [
        {"item": item.name, "cluster": item.cluster, "content": dict(item.fields)} for item in study.items
    ]


def _study(
    bring: Callable[[Params], LoadedRecipe],
    params: Params,
    tables: Mapping[str, Rows],
    engines: Mapping[str, Engine],
) -> RecipeStudy:
    return build_study(bring(params), params, engines)


def _ask(study: RecipeStudy, completions: Completions) -> Sequence[Request[Any]]:
    requests: Sequence[Request[Any]] = _by_recipe(study).ask(study, completions)
    return requests


def _read(study: RecipeStudy, completions: Completions, shared: Any) -> RecipeAnswers:
    if isinstance(study.definition, TextRecipe):
        written, opinions = texts.texts(study, completions), texts.opinions(study, completions)
        return RecipeAnswers(texts.scores(study, written, opinions), opinions, written)
    return RecipeAnswers(_by_recipe(study).read(study, completions, shared), {}, {})


def _rows(study: RecipeStudy, cohort: Cohort[RecipeAnswers], shared: Any) -> Tables:
    """Return rows of the models and null models, every answer and every verdict."""
    headline = study.definition.metric
    nulls: dict[str, rows.Nulls] = {headline.name: _nulls(study, shared), **texts.also_nulls(study)}
    metrics = rows.null_rows(study, nulls)
    checked = rows.check_rows(study, shared or {})
    for model, answers in cohort.models.items():
        own = rows.model_rows(study, answers.scores, nulls)
        judges = study.panel.judges.values() if study.panel else ()
        family = [preference_row(judges, cohort.engines[model].model)] if judges else []
        metrics[model] = [*own, *checked, *family]
    return Tables(metrics, {model: _details(study, answers) for model, answers in cohort.models.items()})


def _by_recipe(study: RecipeStudy) -> Any:
    """Return the module of a study's recipe."""
    if isinstance(study.definition, TextRecipe):
        return texts
    return options if isinstance(study.definition, Choice) else groups


def _nulls(study: RecipeStudy, shared: Opinions | None) -> dict[str, FloatArray]:
    """Return null models' scores on each item."""
    if isinstance(study.definition, TextRecipe):
        return texts.nulls(study, shared or {})
    return options.nulls(study) if isinstance(study.definition, Choice) else groups.nulls(study)


def _ask_shared(study: RecipeStudy, completions: Completions) -> Sequence[Request[Any]]:
    return study.panel.requests(texts.checks(study)) if study.panel else []


def _read_shared(study: RecipeStudy, completions: Completions) -> Opinions:
    return study.panel.read(texts.checks(study), completions) if study.panel else {}


def _later(study: RecipeStudy) -> Iterable[Later]:
    """Return the most that each judge may be sent about a model: every text, and exchanged texts of drawn
    items.
    """
    if not study.panel or not study.panel.judges:
        return []
    longest = max(texts.checks(study), key=lambda call: len(str(call.prompt.conversation)), default=None)
    n = len(study.items) + int(study.drawn.sum())
    return study.panel.later(n, longest, cast(Any, study.params).max_tokens)


def _size(study: RecipeStudy) -> str:
    clusters = len(set(study.clusters.tolist()))
    lines = [f"{len(study.items)} items in {clusters} clusters ({study.definition.cluster})"]
    for unit, out in study.loaded.left_out_by_unit().items():
        reasons = "; ".join(f"{n} {why}" for why, n in sorted(out.items(), key=lambda p: (-p[1], p[0])))
        n = sum(out.values())
        lines.append(f"left out of the data: {n} of {study.loaded.used.get(unit, 0) + n} {unit} ({reasons})")
    return "\n".join(lines)


def _details(study: RecipeStudy, answers: RecipeAnswers) -> list[Detail]:
    details = [Detail("item_answer", _answer_frame(study, answers.scores))]
    if study.panel and answers.opinions:
        calls = texts.calls(study, answers.written)
        frames = study.panel.verdicts(calls, answers.opinions, _about(study, study.panel.rubric_id))
        details += [Detail("verdict", frame, judge) for judge, frame in frames.items()]
    return details


def _about(study: RecipeStudy, rubric: str) -> Callable[[Call, str], VerdictSubject]:
    """Return a function from a call to its item's texts for people, line by line, and its cluster."""
    by_name = {item.name: item for item in study.items}

    def about(call: Call, _: str) -> VerdictSubject:
        item = by_name[call.item]
        fields = "\n".join(f"{column}: {cell}" for column, cell in item.fields.items() if cell)
        return VerdictSubject(rubric, item.name, fields, item.cluster, call.source)

    return about


def _answer_frame(study: RecipeStudy, scores: Mapping[str, ConditionScores]) -> pl.DataFrame:
    """Return a row per item and condition; missing values are null."""
    n = len(study.items)
    targets = [target(study, place) for place in range(n)]
    frames = [
        pl.DataFrame(
            {
                "config_hash": [comparable(study)] * n,
                "condition": [condition] * n,
                "item": study.names.tolist(),
                "cluster": study.clusters.tolist(),
                "answer": [text or None for text in of.texts],
                "target": targets,
                "value": of.values,
                "unscored_reason": [reason or None for reason in of.reasons],
                "lost": [why or None for why in of.lost],
            },
            schema_overrides=dict.fromkeys(("answer", "target", "unscored_reason", "lost"), pl.String),
        )
        for condition, of in scores.items()
    ]
    return pl.concat(frames).with_columns(pl.col("value").fill_nan(None))


def target(study: RecipeStudy, place: int) -> str | None:
    """Return the right answer in words."""
    item = study.items[place]
    if isinstance(study.definition, Choice):
        return study.loaded.options(item)[study.loaded.right(item)]
    if isinstance(study.definition, TextRecipe):
        return " | ".join(texts.answer_of(item, study)) or None
    return None


def samples(study: RecipeStudy, completions: Completions) -> Iterator[Sample]:
    """Yield every item's sample; controls and null models are in SQL (``item_answer``, ``verdict``)."""
    if isinstance(study.definition, TextRecipe):
        return _written(study, completions)
    return (
        _chosen(study, completions)
        if isinstance(study.definition, Choice)
        else _preferred(study, completions)
    )


def _written(study: RecipeStudy, completions: Completions) -> Iterator[Sample]:
    name = study.definition.metric.name
    written, opinions = texts.texts(study, completions), texts.opinions(study, completions)
    scores = texts.scores(study, written, opinions)[HEADLINE]
    stored, prompts = completions(texts.request(study)), study.computed["prompts"]
    verdicts = (
        study.panel.verdict_scores(texts.calls(study, written), opinions, completions) if study.panel else {}
    )
    for place, item in enumerate(study.items):
        value, why = float(scores.values[place]), scores.reasons[place] or scores.lost[place] or None
        of = {name: Score.of(value, why, answer=written[item.name][0])}
        of |= verdicts.get((HEADLINE, item.name), {})
        yield sample(
            item.name, prompts[item.name], stored.get(prompts[item.name].id),
            target=texts.answer_of(item, study), scores=of, metadata=_metadata(study, place),
        )  # fmt: skip


def _chosen(study: RecipeStudy, completions: Completions) -> Iterator[Sample]:
    name = study.definition.metric.name
    stored = options.stored(study, HEADLINE, completions)
    scores = options.read(study, completions, None)[HEADLINE]
    for place, item in enumerate(study.items):
        answered, right = stored.get(item.name), study.loaded.right(item)
        choices = study.loaded.options(item)
        value, why = float(scores.values[place]), scores.reasons[place] or scores.lost[place] or None
        of = {name: Score.of(value, why, answer=scores.texts[place] or None)}
        messages = options.conversation_of(study, HEADLINE, item)
        output, reason = "", ""
        if isinstance(answered, OptionLogprobs):
            ranked = sorted(
                zip(choices, options.at_length(study, item, answered).tolist(), strict=True),
                key=lambda p: -p[1],
            )
            output, reason = listed(ranked, "log-probability"), "stop"
        elif isinstance(answered, Completion):
            output, reason = answered.text, answered.finish_reason
        yield Sample(
            item.name, messages, output, target=f"{LETTERS[right]}. {choices[right]}", choices=choices,
            finish_reason=reason, scores=of, metadata=_metadata(study, place),
        )  # fmt: skip


def _preferred(study: RecipeStudy, completions: Completions) -> Iterator[Sample]:
    name = study.definition.metric.name
    scores = groups.read(study, completions, None)[HEADLINE]
    contexts = {item.name: text for condition, item, text in groups.contexts(study) if condition == HEADLINE}
    for place, item in enumerate(study.items):
        value, why = float(scores.values[place]), scores.reasons[place] or None
        reason = "stop" if scores.texts[place] else ""
        yield Sample(
            item.name, question(contexts[item.name]), scores.texts[place], finish_reason=reason,
            scores={name: Score.of(value, why)}, metadata=_metadata(study, place),
        )  # fmt: skip


def _metadata(study: RecipeStudy, place: int) -> dict[str, str]:
    item = study.items[place]
    named = {column: item.fields[column] for column in study.definition.slices}
    return {"cluster": item.cluster, **named}
