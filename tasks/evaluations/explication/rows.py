"""From all conversations of a model to its rows of ``metric_value``. Pure.

Slices: ("overall", "all"), ("condition", "control"), ("task_condition", "gift:control"),
("persona_condition", "heena-ahmedabad:control"), ("null", "shuffled"), ("metric", "apr") of effects,
("metric_part", "apr:persona") of variance, ("condition_end", "control:turn limit"). What is resampled is the
persona: the repetitions and tasks of one persona are alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from tasks.evaluations.explication.judge import Grades, apr
from tasks.evaluations.explication.scores import (
    COUNTS,
    GRADES,
    NOT_RECOMMENDED,
    TEN,
    UNKNOWN_DISH,
    Held,
    effects,
    null_grades,
)
from tasks.evaluations.explication.study import FIXED, GENERIC, SHUFFLED, SILENT, Key, Study
from tasks.evaluations.explication.task import cut_short, sections_of
from tasks.judging.controls import best_null, preference_row, told_apart_row, too_few
from tasks.judging.verdicts import NO_JUDGE
from tasks.loop.rows import (
    OVERALL,
    Metric,
    Reasons,
    Slice,
    difference_row,
    main_reason,
    mean_of,
    mean_row,
    scored,
    unscored,
)
from tasks.metrics.comparison import holm
from tasks.metrics.intervals import MIN_FLIPPED, SHARE, jackknife, sign_flip_p_two_sided
from tasks.metrics.types import BoolArray, FloatArray, IntArray
from tasks.metrics.variance_split import variance_split

HEADLINES = ("apr", "interaction", "instruction_following")
COMPARED = (*HEADLINES, "facts_elicited", "questions")
"""Control against treatment; Holm's correction is over these."""
BY_PERSONA = (*HEADLINES, "facts_elicited", "facts_used", "violated")
NULLS = {"apr": (SHUFFLED, SILENT, GENERIC, FIXED), "interaction": (GENERIC, FIXED)}
"""Metric -> null conversations that it is held against: the best of them is its null value."""

FEW_PERSONAS = too_few("personas")
ONE_CONDITION = "only one condition was held"
NO_SPREAD = "fewer than two personas or repetitions have grades, or they do not vary"
ONE_JUDGE = "one judge alone"
FEW_RECOMMENDED = "fewer than two recommendations to different personas"


def model_rows(held: Held, shared: Mapping[Key, Grades], candidate: str) -> Iterator[Metric]:
    """All rows of one model.

    Args:
        shared: grades of the null recommenders. candidate: the model's name in its engine's spec.
    """
    columns = {name: held.graded(name) for name in GRADES}
    columns |= {name: held.counted(count, missing) for name, (count, _, missing) in COUNTS.items()}
    bounds = {**GRADES, **{name: limits for name, (_, limits, _) in COUNTS.items()}}
    nulls = {
        name: [null_grades(held.study, held, shared, source, name) for source in sources]
        for name, sources in NULLS.items()
    }
    for name, (values, reasons) in columns.items():
        for where, places in _slices(held, name in BY_PERSONA):
            null = best_null(scores[places] for scores in nulls.get(name, ()))
            items = held.names if where == OVERALL and name in HEADLINES else None  # for paired comparisons
            own, why, personas = values[places], reasons[places], held.personas[places]
            yield mean_row(name, where, own, why, personas, bounds[name], null, items)
    yield from _cuisine_rows(held)
    yield from _null_rows(held, shared)
    yield from _gain_rows(held, columns["apr"])
    yield from _effect_rows(held, {name: columns[name] for name in COMPARED})
    yield from _variance_rows(held)
    yield from _diversity_rows(held)
    yield from _end_rows(held)
    yield preference_row(held.study.judges.values(), candidate)


def null_rows(study: Study, shared: Mapping[Key, Grades]) -> dict[str, list[Metric]]:
    """The recommenders that adapt to nobody: at once, and after a fixed list of questions."""
    rows: dict[str, list[Metric]] = {}
    for source in (GENERIC, FIXED):
        keys = [Key(source, task, persona, "", 0) for task in study.tasks for persona in study.personas]
        personas = np.array([key.persona for key in keys])
        own = [shared.get(key) for key in keys]
        reason = NO_JUDGE if not study.judges else "no judge has answered, or the simulator has not"
        values = {
            "apr": np.array([np.nan if g is None else apr(g.values) for g in own]),
            "interaction": np.array(
                [np.nan if g is None else g.values.get("interaction", np.nan) for g in own]
            ),
        }
        rows[f"null:{source}"] = [
            mean_row(name, OVERALL, column, reason, personas, TEN) for name, column in values.items()
        ]
    return rows


def _slices(held: Held, by_persona: bool) -> Iterator[tuple[Slice, IntArray]]:
    study = held.study
    yield OVERALL, np.arange(len(held.keys))
    for condition in study.conditions:
        yield ("condition", condition), held.places(condition=condition)
        if len(study.tasks) > 1:
            for task in study.tasks:
                places = held.places(task=task, condition=condition)
                yield ("task_condition", f"{task}:{condition}"), places
        for persona in study.personas if by_persona else ():
            places = held.places(persona=persona, condition=condition)
            yield ("persona_condition", f"{persona}:{condition}"), places


def _null_rows(held: Held, shared: Mapping[Key, Grades]) -> Iterator[Metric]:
    for name, sources in NULLS.items():
        for source in sources:
            values = null_grades(held.study, held, shared, source, name)
            # The same null conversation stands in for several real ones: each persona counts it once.
            once = np.array([mean_of(values[held.personas == p]) or np.nan for p in held.study.personas])
            reason = NO_JUDGE if not held.study.judges else "not judged"
            names = np.array(list(held.study.personas))
            yield mean_row(name, ("null", source), once, reason, names, TEN)


def _gain_rows(held: Held, real: tuple[FloatArray, Reasons]) -> Iterator[Metric]:
    """Real less shuffled, and whether that is above 0: else nothing shows that judges look at the fit."""
    null, seed = held.graded("apr", SHUFFLED), held.study.params.seed
    for where, places in _slices(held, by_persona=False):
        own, other = ((values[places], reasons[places]) for values, reasons in (real, null))
        yield difference_row("apr_gain", where, own, other, held.personas[places])
    yield told_apart_row(OVERALL, real, null, held.personas, "personas", seed)


def _effect_rows(held: Held, columns: Mapping[str, tuple[FloatArray, Reasons]]) -> Iterator[Metric]:
    """Treatment less control, paired by task, persona and repetition; p by flipping personas' signs."""
    tests: dict[str, tuple[float, tuple[int, int]]] = {}
    for name, (values, reasons) in columns.items():
        where, (differences, personas) = ("metric", name), effects(held, values)
        if not differences.size:
            yield unscored("treatment_effect", where, ONE_CONDITION, values.size, 0.0)
            yield unscored("treatment_p", where, ONE_CONDITION, values.size)
            yield unscored("treatment_p_holm", where, ONE_CONDITION, values.size)
            continue
        why, of = main_reason(reasons), np.array(personas)
        yield mean_row("treatment_effect", where, differences, why, of, null=0.0)
        known = ~np.isnan(differences)
        if np.unique(of[known]).size < MIN_FLIPPED:
            for metric in ("treatment_p", "treatment_p_holm"):
                yield unscored(metric, where, FEW_PERSONAS if known.any() else why, differences.size)
            continue
        seed = held.study.params.seed
        counts = (int(known.sum()), int((~known).sum()))
        tests[name] = (sign_flip_p_two_sided(differences[known], of[known], seed), counts)
    for (name, (p, counts)), adjusted in zip(
        tests.items(), holm([p for p, _ in tests.values()]), strict=True
    ):
        yield scored("treatment_p", ("metric", name), p, counts)
        yield scored("treatment_p_holm", ("metric", name), float(adjusted), counts)


def _variance_rows(held: Held) -> Iterator[Metric]:
    """Shares of the variance of grades between personas, repetitions and judges; mean over conditions."""
    study, judges = held.study, list(held.study.judges.values())
    parts = ("persona", "repetition", "judge", "rest")
    for name in ("apr", "interaction"):
        splits = []
        for task in study.tasks:
            for condition in study.conditions:
                table = np.full((len(study.personas), study.params.repetitions, max(1, len(judges))), np.nan)
                for place in held.places(task=task, condition=condition):
                    key = held.keys[place]
                    own = held.grades.get(key)
                    for column, judge in enumerate(judges):
                        grades = own.by_judge.get(judge.name, {}) if own else {}
                        row = list(study.personas).index(key.persona)
                        value = apr(grades) if name == "apr" else grades.get(name, np.nan)
                        table[row, key.repetition, column] = value
                if (split := variance_split(table)) is not None:
                    splits.append(split)
        for part, shares in zip(parts, list(zip(*splits, strict=True)) or [()] * 4, strict=False):
            where, known = ("metric_part", f"{name}:{part}"), [s for s in shares if s is not None]
            if known:
                n = sum(split.n_persons for split in splits)
                wanted = len(study.personas) * len(study.tasks) * len(study.conditions)
                yield scored("variance_share", where, float(np.mean(known)), (n, wanted - n))
            else:
                reason = NO_JUDGE if not judges else ONE_JUDGE if splits else NO_SPREAD
                yield unscored("variance_share", where, reason, len(held.keys))


def _cuisine_rows(held: Held) -> Iterator[Metric]:
    """Share of recommendations from the persona's own cuisine; null: the same dishes, dealt out at random."""
    known = {n: set(m.dish_countries) for n, m in enumerate(held.measures) if m and m.dish_countries}
    own = {name: set(p.cuisine_countries) for name, p in held.study.personas.items()}
    values, reasons = held.counted(
        lambda m: None if m.recommendation is None or not m.dish_countries else 0.0, UNKNOWN_DISH
    )
    for place, countries in known.items():
        values[place] = float(not countries.isdisjoint(own[held.keys[place].persona]))
    for where, places in _slices(held, by_persona=False):
        dishes = [known[n] for n in places.tolist() if n in known]
        to = [own[held.keys[n].persona] for n in places.tolist() if n in known]
        chance = [not dish.isdisjoint(cuisine) for dish in dishes for cuisine in to]
        null = float(np.mean(chance)) if chance else None
        yield mean_row(
            "own_cuisine", where, values[places], reasons[places], held.personas[places], SHARE, null
        )


def _diversity_rows(held: Held) -> Iterator[Metric]:
    """How alike recommendations are, to different personas and to one: words that two have in common."""
    texts = [m.recommendation if m else None for m in held.measures]
    words = [None if text is None else frozenset(text.casefold().split()) for text in texts]
    for where, places in _slices(held, by_persona=False):
        given = [n for n in places.tolist() if words[n] is not None]
        n_lost = places.size - len(given)
        titles = {_title(held, n) for n in given}
        if len(given) < 2:
            for name in ("distinct_dishes", "likeness_across", "likeness_within"):
                yield unscored(name, where, FEW_RECOMMENDED if given else NOT_RECOMMENDED, places.size)
            continue
        yield scored(
            "distinct_dishes", where, len(titles) / len(given), (len(given), n_lost), null=1 / len(given)
        )
        table = _likenesses([words[n] or frozenset() for n in given])
        of, task = held.personas[given], np.array([held.keys[n].task for n in given])
        condition = np.array([held.keys[n].condition for n in given])
        alike = (task[:, None] == task) & (condition[:, None] == condition) & ~np.eye(len(given), dtype=bool)
        same = of[:, None] == of
        for name, pairs in (("likeness_across", alike & ~same), ("likeness_within", alike & same)):
            if not pairs.any():
                yield unscored(name, where, FEW_RECOMMENDED, places.size, 1.0)
                continue

            interval = jackknife(partial(_mean_within, table, pairs), of, SHARE)
            yield scored(name, where, float(table[pairs].mean()), (len(given), n_lost), interval, 1.0)


def _mean_within(table: FloatArray, pairs: BoolArray, kept: IntArray) -> float | None:
    """The mean over pairs of what is kept."""
    grid = np.ix_(kept, kept)
    return float(table[grid][pairs[grid]].mean()) if pairs[grid].any() else None


def _likenesses(words: list[frozenset[str]]) -> FloatArray:
    """[n, n] Jaccard's likeness of the words."""
    table = np.eye(len(words))
    for i, one in enumerate(words):
        for j in range(i):
            both = len(one & words[j])
            table[i, j] = table[j, i] = both / max(1, len(one) + len(words[j]) - both)
    return table


def _title(held: Held, place: int) -> str:
    measures, task = held.measures[place], held.study.tasks[held.keys[place].task]
    if measures is None or measures.recommendation is None:
        return ""
    name = measures.title or next(iter(sections_of(task, measures.recommendation).values()), "")
    return " ".join(name.casefold().split())


def _end_rows(held: Held) -> Iterator[Metric]:
    """What ended conversations: shares by reason."""
    for condition in held.study.conditions:
        places = held.places(condition=condition)
        talks = [held.talks[n] for n in places.tolist()]
        ends = Counter(cut_short(talk) or talk.ended_by for talk in talks)
        over = places.size - ends.pop(None, 0)
        for reason, count in sorted(ends.items(), key=str):
            where = ("condition_end", f"{condition}:{reason}")
            yield scored("ended_by", where, count / over, (over, places.size - over))
