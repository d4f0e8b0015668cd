"""Our items as tasks of lm-evaluation-harness, for what can be asked there with the same result.

A task has the prompt, options and right answers of our own run. What the harness would score otherwise is
left out, with the reason, so that nobody takes another number for ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from flows.session import build
from tasks.engines.prompting import COMPLETION_CUE, plain_prompt
from tasks.engines.protocols import Message
from tasks.evaluations.contract import Evaluation, Params, comparable
from tasks.evaluations.culturall.items import CulturallItem
from tasks.evaluations.culturall.matching.choices import options as choices
from tasks.evaluations.culturall.study import CulturallStudy
from tasks.evaluations.cure.params import kind_of
from tasks.evaluations.cure.published import LABELS
from tasks.evaluations.cure.study import CureStudy, country_of
from tasks.evaluations.fmlama.study import FmlamaStudy
from tasks.evaluations.recipe.definition import LETTERS, ROTATED
from tasks.evaluations.recipe.items import Item
from tasks.evaluations.recipe.normal import USUAL
from tasks.evaluations.recipe.options import ChoiceStudy
from tasks.evaluations.recipe.short_answers import ShortAnswerStudy
from tasks.evaluations.recipe.study import RecipeStudy
from tasks.exchange.lm_eval_out import MARKS, Doc, Exported, Task, accepted, task_name
from warehouse import Warehouse, WarehouseError

OPTION = "the option of the highest log-probability"
_NAMED = "the right letter, option or both, as the whole text; ours reads sentences and parts too"
_LICENCES = "SELECT file, source, licence FROM source WHERE file LIKE ? ORDER BY file"


def exported(evaluation: Evaluation[Any, Any, Any], params: Params) -> Exported:
    """Return an evaluation's tasks, with what is left out.

    Raises:
        WarehouseError: nothing of the evaluation can be asked in the harness; says why.
    """
    study, _, packs = build(evaluation, params)
    make = next((make for kind, make in _KINDS.items() if isinstance(study, kind)), None)
    if make is None:
        known = "cure, culturall, fmlama, and recipes choice and short_answer"
        raise WarehouseError(f"{evaluation.name} has nothing that the harness could ask: {known} have")
    tasks, left_out = make(study)
    if not tasks:
        why = "; ".join(f"{what}: {reason}" for what, reason in left_out.items())
        raise WarehouseError(f"{evaluation.name}: the harness could ask none of its items: {why}")
    licences = [
        *_licences(evaluation.name, study),
        *(f"pack {pack.pinned}: see its pack.toml" for pack in packs),
    ]
    title = evaluation.about.title if evaluation.about else f"Culturemeter: {evaluation.name}"
    return Exported(title, tasks, licences, left_out, comparable(study))


def _licences(name: str, study: Any) -> Iterator[str]:
    if isinstance(study, RecipeStudy):
        definition = study.definition
        parts = (definition.licence, definition.source, definition.citation)
        yield from filter(None, [", ".join(filter(None, parts))])
    else:
        for row in Warehouse.open().query(_LICENCES, [f"{name}%"]).to_dicts():
            yield f"{row['file']}: {row['licence']} ({row['source']})"


Made = tuple[list[Task], dict[str, str]]


def _of_judged_recipe(study: RecipeStudy) -> Made:
    return [], {study.definition.recipe: "judges or groups of words are no task of the harness"}


def _of_choice(study: ChoiceStudy) -> Made:
    definition, name = study.definition, task_name(study.loaded.name)
    left_out = {"controls and null models": "they are numbers of our own run"}
    differences = _differences(study)
    if study.is_written:
        rights = [study.right(item) for item in study.items]
        docs = [
            _doc(
                item.name,
                study.prompt(item),
                accepted(LETTERS[right], [study.options(item)[right]]),
                fields=_fields(study, item),
            )
            for item, right in zip(study.items, rights, strict=True)
        ]
        ours = f"{definition.metric.name}: {_NAMED}{differences}"
        return [Task(name, docs, ours, "exact_match", ignored=MARKS)], left_out
    if definition.length == "tokens":
        return [], {name: 'length = "tokens": the harness divides by characters or by nothing'}
    docs = []
    for item in study.items:
        text = "\n\n".join(message["content"] for message in study.prompt(item))
        own, right = study.options(item), study.right(item)
        prompt = text + COMPLETION_CUE
        docs.append(Doc(item.name, prompt, right, text, options=own, fields=_fields(study, item)))
    metric = "acc_norm" if definition.length == "characters" else "acc"
    return [Task(name, docs, f"{definition.metric.name}: {OPTION}{differences}", metric)], left_out


def _of_short_answer(study: ShortAnswerStudy) -> Made:
    definition, name = study.definition, task_name(study.loaded.name)
    has_turns = any(wording.then for wording in study.wordings.values())
    steps = {step for own in definition.normalise.values() for step in own} - set(USUAL)
    if definition.match == "contains":
        return [], {name: 'match = "contains": exact_match of the harness compares the whole text'}
    if definition.weights or study.loaded.score or study.loaded.code or steps or has_turns:
        what = (
            "weights"
            if definition.weights
            else ", ".join(sorted(steps)) or "a score of its own, or a second turn"
        )
        return [], {name: f"{what}: exact_match of the harness has no such thing"}
    docs = [
        _doc(item.name, study.prompt(item), definition.right(item.fields), fields=_fields(study, item))
        for item in study.items
    ]
    ours = (
        f"{definition.metric.name}: the whole text, without case and ASCII punctuation{_differences(study)}"
    )
    most = min(getattr(study.params, "max_tokens", 64), 64)
    task = Task(name, docs, ours, "exact_match", max_tokens=most)
    return [task], {"controls and null models": "they are numbers of our own run"}


def _differences(study: RecipeStudy) -> str:
    """Return how our number's mean differs from the harness's, in words."""
    definition = study.definition
    parts = [
        f"ours runs from {definition.metric.bounds[0]:g} to {definition.metric.bounds[1]:g}"
        if definition.metric.bounds != (0, 1)
        else "",
        "ours is the mean over clusters" if definition.average == "clusters" else "",
        f"ours has {len(study.conditions)} conditions, of which this is the first"
        * (len(study.conditions) > 1),
        "each order of the options is an item" if getattr(study.params, "orders", "") == ROTATED else "",
    ]
    return "".join(f"; {part}" for part in parts if part)


def _fields(study: RecipeStudy, item: Item) -> dict[str, str]:
    return {"cluster": item.cluster} | {name: item.fields[name] for name in study.definition.slices}


def _doc(name: str, sent: Sequence[Message], answer: Any, fields: Mapping[str, str], **more: Any) -> Doc:
    """Return a document whose prompts are those that our engines send for a conversation."""
    of_role = {message["role"]: message["content"] for message in sent}
    system = of_role.get("system", "")
    return Doc(name, plain_prompt(sent), answer, of_role["user"], system, fields=fields, **more)


def _of_culturall(study: CulturallStudy) -> Made:
    free = sum(item.form == "free" for item in study.items)
    left_out = {
        f"{free} free answers": "ours accepts dates, numbers, units and case endings in any form; "
        "exact_match of the harness would count them wrong",
        "judged answers": "the harness has no judge",
    }
    tasks = []
    for condition in study.conditions:
        docs = [
            _doc(
                item.item,
                study.prompts[condition, item.item].conversation,
                accepted(item.native.answer, _texts(item)),
                fields={"language": item.language, "region": item.region, "topic": item.topic},
            )
            for item in study.items
            if item.form == "choice" and (condition, item.item) in study.prompts
        ]
        ours = f"correct by match, condition {condition}, of multiple choice: {_NAMED}"
        if docs:
            name = task_name("culturall_choice", condition)
            tasks.append(Task(name, docs, ours, "exact_match", ignored=MARKS))
    return tasks, left_out


def _texts(item: CulturallItem) -> list[str]:
    """Return the text of the right option in the item's language and in English."""
    questions = [item.native.question, *([item.english.question] if item.english else [])]
    return [own[item.native.answer] for own in map(choices, questions) if own]


def _of_cure(study: CureStudy) -> Made:
    tasks = []
    for benchmark in study.benchmarks if "thin" in study.modes else ():
        labels = LABELS[kind_of(benchmark)]
        docs = []
        for item in study.items(benchmark):
            sent = study.prompts[benchmark, "thin", item.item].conversation
            fields = {"country": country_of(item), "group": item.group}
            docs.append(_doc(item.item, sent, labels.index(item.label), fields))
        ours = (
            "exact match, thin: the likeliest label where the object names it; ours reads it from the text "
        )
        ours += "if an engine gives no probabilities"
        name = task_name("cure", benchmark, "thin")
        tasks.append(Task(name, docs, ours, options=labels, begun='{"label": "'))
    return tasks, {"thick mode": "explanations are judged, and the harness has no judge"}


def _of_fmlama(study: FmlamaStudy) -> Made:
    tasks = []
    for probe in study.probes:
        for template in probe.templates:
            cloze = template.cloze(())
            after = "" if study.params.cut_at_blank else cloze.after
            named = tuple(candidate + after for candidate in probe.candidates)
            rights = [[int(n) for n in row.nonzero()[0]] for row in probe.relevant]
            docs = [
                Doc(dish.url, prompt, right, fields={"origin": dish.group})
                for dish, prompt, right in zip(probe.dishes, probe.prompts(template), rights, strict=True)
            ]
            name = task_name("fmlama", probe.condition.slug, str(template.variant))
            ours = "share of dishes whose first prediction is right, with pooling sum_logprob"
            tasks.append(Task(name, docs, ours, options=named, delimiter=cloze.lead, shapes=("base",)))
    return tasks, {
        "mAP, mWS, errors": "the harness has no metric of a ranking",
        "pooling mean_probability and mean_logprob": "the harness has sums of log-probabilities alone",
    }


_KINDS: Mapping[type[Any], Callable[[Any], Made]] = {
    ChoiceStudy: cast(Any, _of_choice),
    ShortAnswerStudy: cast(Any, _of_short_answer),
    RecipeStudy: cast(Any, _of_judged_recipe),
    CulturallStudy: cast(Any, _of_culturall),
    CureStudy: cast(Any, _of_cure),
    FmlamaStudy: cast(Any, _of_fmlama),
}
