"""Studies in which people answer an evaluation's prompts, and the human ceiling of their answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from deployments.evaluations import evaluation as evaluation_of
from deployments.people.draw import Drawn, Wishes
from deployments.people.results import StudyResults, of_ranking
from deployments.show.display import interval
from tasks.identity import digest
from tasks.papers.importing import toml_text
from tasks.people.asked import AskedItem, pages, reply
from tasks.people.assignment import item_code, stratified
from tasks.people.study import PeopleItem, Private, StudyError
from warehouse import Warehouse
from warehouse.people import save_ceilings

_HALVES = "one half of the people held against the other"
KIND, RANKING = "item-answers", "spectral-ranking"

_LANGUAGES = """
SELECT DISTINCT prompt, more->'metadata'->>'language' AS language FROM sample
WHERE run_id = ? AND prompt IS NOT NULL AND more->'metadata'->>'language' IS NOT NULL
"""
_COMPARED = """
SELECT config_hash FROM run WHERE evaluation = 'spectral' AND NOT is_null
    AND split_part(params->>'human', ':', 1) = ?
ORDER BY finished_at DESC LIMIT 1
"""
_BOUNDS = "SELECT metric, range_low, range_high FROM metric WHERE evaluation = ?"
_LINES = """
SELECT c.study, coalesce(m.label, c.metric) AS label, c.* EXCLUDE (study)
FROM human_ceiling AS c LEFT JOIN metric AS m USING (evaluation, metric)
WHERE c.config_hash = ? ORDER BY c.study, m.is_headline DESC NULLS LAST, c.metric, c.slice_kind, c.slice
"""


def draw_items(warehouse: Warehouse, wishes: Wishes) -> Drawn:
    """Draw prompts at random within the requests that are wished for, so many for people of each language:
    prompts in that language, where the run's samples state one.

    Raises:
        StudyError: no prompt can be answered by people, or none is in a language.
    """
    run, asked = _asked(wishes)
    stated = dict(warehouse.query(_LANGUAGES, [run.run_id]).rows())
    drawn: Drawn = []
    for language in wishes.languages:
        things = {}
        for label, every in asked.items():
            own = [each for each in every if stated.get(each.unit, language) == language]
            if not own:
                there = ", ".join(sorted({stated[each.unit] for each in every}))
                raise StudyError(f"{label}: no prompt is in {language}; --languages: {there}")
            chance = min(1.0, wishes.n_items / len(asked) / len(own))
            for each in own:
                code = item_code(KIND, wishes.name, label, each.unit, language)
                item = PeopleItem(item=code, page=each.page, language=language, content=each.content)
                hidden = Private(
                    item=code, stratum=label, code=each.unit, condition=label, chance=chance,
                    population=run.config_hash,
                )  # fmt: skip
                things[code] = (label, (item, hidden))
        drawn += stratified(things, wishes.n_items, wishes.seed)
    return drawn


def page_texts(warehouse: Warehouse, wishes: Wishes, items: Sequence[PeopleItem], kind: str) -> str:
    """Return the kind's text with a page for each form of answer that the drawn prompts need."""
    drawn = {item.page for item in items}
    asked = [each for own in _asked(wishes)[1].values() for each in own if each.page in drawn]
    lines = [kind.partition("# A page for each form")[0]]
    for page in pages(asked):
        fields = page.pop("fields")
        lines += ["[[pages]]", toml_text(page)]
        for field in fields:
            lines += ["[[pages.fields]]", toml_text(field)]
    return "\n".join(lines)


def score(warehouse: Warehouse, results: StudyResults) -> list[dict[str, Any]]:
    """Score people's answers under the configuration that they were drawn from, and store their means.

    People's ranking of domains is scored by how well one half of them predicts the other, for the newest
    models that were compared with it. Returns rows of ``human_ceiling``.

    Raises:
        StudyError: the study is of another kind, or has no answers that count. EngineError: a judge failed.
    """
    from flows.ceiling import ceilings
    from flows.stored import as_it_was, finished_runs

    study = results.folder.study
    if study.kind == RANKING:
        return _score_ranking(warehouse, results)
    if study.kind != KIND:
        raise StudyError(
            f"study {study.name} is of kind {study.kind}: only {KIND} and {RANKING} have answers to score"
        )
    values: dict[tuple[str, str], dict[str, str]] = {}
    for rating in results.ratings:
        values.setdefault((rating.annotator, rating.item), {})[rating.field] = rating.value
    if not values:
        raise StudyError(
            f"study {study.name} has no answers that count: culturemeter people status {study.name}"
        )
    texts: dict[str, dict[str, str]] = {}
    for (person, item), own in values.items():
        hidden = results.folder.private[item]
        page = results.folder.items[item].page
        texts.setdefault(person, {})[hidden.code] = reply(page, own)
    (config,) = {results.folder.private[item].population for _, item in values}
    run = max(finished_runs(config=config), key=lambda one: one.finished_at)
    own_evaluation = as_it_was(evaluation_of, run)
    bounds = {
        metric: (-math.inf if low is None else low, math.inf if high is None else high)
        for metric, low, high in warehouse.query(_BOUNDS, [run.evaluation]).rows()
    }
    rows = [
        {
            "study": study.name, "evaluation": run.evaluation, "config_hash": config, "metric": each.metric,
            "slice_kind": each.where[0], "slice": each.where[1], "value": each.mean.value,
            "ci_low": each.mean.interval and each.mean.interval[0],
            "ci_high": each.mean.interval and each.mean.interval[1],
            "no_interval_reason": each.mean.reason or None, "n_people": each.mean.n_people,
            "n_items": each.mean.n_items, "n_clusters": each.mean.n_clusters, "n_answers": each.n_answers,
            "answers": digest(texts),
        }
        for each in ceilings(own_evaluation, run, texts, bounds)
    ]  # fmt: skip
    save_ceilings(warehouse, study.name, rows)
    return rows


def _score_ranking(warehouse: Warehouse, results: StudyResults) -> list[dict[str, Any]]:
    name = results.folder.study.name
    compared = warehouse.query(_COMPARED, [name])
    if compared.is_empty():
        raise StudyError(f"no model is compared with {name} yet: culturemeter run spectral --human {name}")
    domains, halves, _ = of_ranking(results)
    rows = [
        {
            "study": name, "evaluation": "spectral", "config_hash": compared.item(), "metric": each.metric,
            "slice_kind": "overall", "slice": "all", "value": each.value,
            "ci_low": each.interval and each.interval[0], "ci_high": each.interval and each.interval[1],
            "no_interval_reason": None if each.interval else "too few people, or they do not vary",
            "n_people": each.n_people, "n_items": len(domains), "n_clusters": len(domains),
            "n_answers": each.n_people * len(domains), "answers": digest([asdict(one) for one in domains]),
        }
        for each in halves if each.metric in ("macro_f1", "rank_spearman") and each.value is not None
    ]  # fmt: skip
    if not rows:
        raise StudyError(f"study {name}: {halves[0].unscored_reason}")
    save_ceilings(warehouse, name, rows)
    return rows


def lines(warehouse: Warehouse, config: str) -> list[dict[str, Any]]:
    """Return people's means of a configuration's headlines for people; none without a scored study."""
    return [
        {
            "study": row["study"],
            "headline": row["label"] if row["slice_kind"] == "overall" else f"{row['label']}, {row['slice']}",
            "people [95 %]": interval(row["value"], row["ci_low"], row["ci_high"]),
            "n people": row["n_people"], "n items": row["n_items"],
            "note": "; ".join(
                filter(None, (
                    _HALVES if row["evaluation"] == "spectral" else "",
                    f"no interval: {row['no_interval_reason']}" if row["no_interval_reason"] else "",
                ))
            ),
        }
        for row in warehouse.query(_LINES, [config]).to_dicts()
    ]  # fmt: skip


def _asked(wishes: Wishes) -> tuple[Any, dict[str, list[AskedItem]]]:
    """Return the run whose configuration is asked, and its prompts by the labels that are wished for."""
    from flows.ceiling import asked_of
    from flows.stored import as_it_was, finished_runs

    run = max(finished_runs(config=wishes.config), key=lambda one: one.finished_at)
    asked = asked_of(as_it_was(evaluation_of, run), run)
    if not asked:
        raise StudyError(
            f"{run.evaluation} has no prompts that people can answer: name another run with --config"
        )
    wanted = wishes.of or tuple(asked)[:1]
    if unknown := sorted(set(wanted) - set(asked)):
        raise StudyError(
            f"{run.evaluation} asks nothing named {', '.join(unknown)}; --of: {', '.join(asked)}"
        )
    return run, {label: asked[label] for label in wanted}
