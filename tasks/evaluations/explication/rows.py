"""Makes rows of ``metric_value`` from all conversations of a model, and tables of conversations and verdicts
for SQL and the report. Pure.

Slices: ("overall", "all"), ("condition", "control"), ("task_condition", "gift:control"),
("persona_condition", "heena-ahmedabad:control"), ("null", "shuffled"), ("metric", "apr") of effects,
("metric_part", "apr:persona") of variance, ("condition_end", "control:turn limit"). Resampling draws
personas, since repetitions and tasks of one persona are related.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from tasks.evaluations.contract import Detail, comparable
from tasks.evaluations.explication.materials import cut_short, sections_of
from tasks.evaluations.explication.measures import COUNTS, NOT_RECOMMENDED
from tasks.evaluations.explication.read import (
    GRADES,
    TEN,
    ConversationJudgeCall,
    Conversations,
    Grades,
    effects,
    grade_of,
    grades_of,
)  # fmt: skip
from tasks.evaluations.explication.study import (
    FIXED,
    GENERIC,
    SHUFFLED,
    SILENT,
    ConversationKey,
    ExplicationStudy,
)  # fmt: skip
from tasks.judging.controls import EMPTY, best_null, preference_row, separation_row, too_few
from tasks.judging.panel import AllOpinions, VerdictSubject
from tasks.judging.verdicts import NO_JUDGE
from tasks.loop.dialogue import transcript
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
)  # fmt: skip
from tasks.metrics.comparison import holm_or_reason
from tasks.metrics.intervals import MIN_FLIPPED, SHARE, jackknife, least_flip_p, sign_flip_p_two_sided
from tasks.metrics.types import BoolArray, FloatArray, IntArray
from tasks.metrics.variance import nested_variance

HEADLINES = ("apr", "interaction", "instruction_following")
COMPARED = (*HEADLINES, "facts_elicited", "questions")
"""Metrics of control against treatment. The first is the question, the others are a second family."""
BY_PERSONA = (*HEADLINES, "facts_elicited", "facts_used", "violated")
NULLS = {"apr": (SHUFFLED, SILENT, GENERIC, FIXED), "interaction": (GENERIC, FIXED)}
"""Metric -> kinds of null conversations; the best of them is its null value."""

FEW_PERSONAS = too_few("personas")
ONE_CONDITION = "there is only one condition"
NO_SPREAD = "fewer than two personas or repetitions have grades, or they do not vary"
ONE_JUDGE = "one judge alone"
FEW_RECOMMENDED = "fewer than two recommendations to different personas"
UNKNOWN_DISH = "the warehouse knows no dish of that name"

_TEXTS = (
    "config_hash", "task", "persona", "persona_name", "country", "cuisine", "condition", "description",
    "transcript", "ended_by", "title", "dish", "violations", "undecided", "facts_told", "unscored_reason",
)  # fmt: skip
_MEASURED = {
    "n_questions": "questions", "n_question_kinds": "question_kinds", "n_facts": "facts",
    "n_elicited": "elicited", "n_used": "used", "n_confused": "confused", "n_repeated": "repeated",
    "n_user_contradictions": "contradicted", "n_user_dishes": "divulged", "n_user_unasked": "unasked",
}  # fmt: skip
"""Column -> field of ``Measures``."""
_COUNTS = ("repetition", "seed", "n_turns", "n_tokens", *_MEASURED)
_NUMBERS = (
    "apr", "interaction", "instruction_following", "cultural_depth", "constraint_awareness",
    "personalisation", "apr_shuffled", "disagreement",
)  # fmt: skip
SCHEMA = pl.Schema(
    {name: pl.String() for name in _TEXTS}
    | {name: pl.Int32() for name in _COUNTS}
    | {name: pl.Float64() for name in _NUMBERS}
)


def model_rows(
    of: Conversations, shared: Mapping[ConversationKey, Grades], candidate: str
) -> Iterator[Metric]:
    """Yield all rows of one model.

    Args:
        shared: grades of the null recommenders. candidate: the model's name in its engine's spec.
    """
    columns = {name: of.graded(name) for name in grades_of(of.study)} | {
        name: of.counted(name) for name in COUNTS
    }
    if of.study.judges:
        columns["apr_if_left_failed"] = of.counting_left(*columns["apr"])
    bounds = {
        "apr_if_left_failed": TEN,
        **GRADES,
        **{name: limits for name, (_, limits, _) in COUNTS.items()},
    }
    nulls = {(name, source): of.null_grades(shared, source, name) for name in NULLS for source in NULLS[name]}
    for name, (values, reasons) in columns.items():
        for where, places in _slices(of, name in BY_PERSONA):
            null = best_null(scores[places] for (of_name, _), scores in nulls.items() if of_name == name)
            items = of.names if where == OVERALL and name in HEADLINES else None  # for paired comparisons
            own, why, personas = values[places], reasons[places], of.personas[places]
            yield mean_row(name, where, own, why, personas, bounds[name], null, items)
    yield from _cuisine_rows(of)
    names = np.array(list(of.study.personas))
    for (name, source), scores in nulls.items():
        # Several real conversations share a null conversation; each persona counts it once.
        once = np.array([mean_of(scores[of.personas == persona]) or np.nan for persona in names])
        yield mean_row(
            name, ("null", source), once, "not judged" if of.study.judges else NO_JUDGE, names, TEN
        )
    yield from _gain_rows(of, columns["apr"])
    yield from _effect_rows(of, {name: columns[name] for name in COMPARED})
    yield from _variance_rows(of)
    yield from _diversity_rows(of)
    yield from _end_rows(of)
    yield preference_row(of.study.judges.values(), candidate)


def null_rows(study: ExplicationStudy, shared: Mapping[ConversationKey, Grades]) -> dict[str, list[Metric]]:
    """Return rows of the null recommenders: at once, and after a fixed list of questions."""
    reason = "no judge has answered, or no simulated user" if study.judges else NO_JUDGE
    rows: dict[str, list[Metric]] = {}
    for source in (GENERIC, FIXED):
        keys = [
            ConversationKey(source, task, persona, "", 0)
            for task in study.tasks
            for persona in study.personas
        ]
        personas, own = np.array([key.persona for key in keys]), [shared.get(key) for key in keys]
        columns = {name: np.array([grade_of(each, name) for each in own]) for name in NULLS}
        rows[f"null:{source}"] = [
            mean_row(name, OVERALL, column, reason, personas, TEN) for name, column in columns.items()
        ]
    return rows


def _slices(of: Conversations, by_persona: bool) -> Iterator[tuple[Slice, IntArray]]:
    study = of.study
    yield OVERALL, np.arange(len(of.keys))
    for condition in study.conditions:
        yield ("condition", condition), of.places(condition=condition)
        if len(study.tasks) > 1:
            for task in study.tasks:
                places = of.places(task=task, condition=condition)
                yield ("task_condition", f"{task}:{condition}"), places
        for persona in study.personas if by_persona else ():
            places = of.places(persona=persona, condition=condition)
            yield ("persona_condition", f"{persona}:{condition}"), places


def _gain_rows(of: Conversations, real: tuple[FloatArray, Reasons]) -> Iterator[Metric]:
    """Yield real less shuffled grades and a test above 0; only then do judges demonstrably
    consider the fit.
    """
    null, seed = of.graded("apr", SHUFFLED), of.study.params.seed
    for where, places in _slices(of, by_persona=False):
        own, other = ((values[places], reasons[places]) for values, reasons in (real, null))
        yield difference_row("apr_gain", where, own, other, of.personas[places])
    yield separation_row(OVERALL, real, null, of.personas, "personas", seed)


def _effect_rows(of: Conversations, columns: Mapping[str, tuple[FloatArray, Reasons]]) -> Iterator[Metric]:
    """Yield treatment less control, paired by task, persona and repetition; p by flipping
    personas' signs. APR is tested alone, the other metrics are adjusted together.
    """
    tests: dict[Slice, tuple[float, int, tuple[int, int]]] = {}
    for name, (values, reasons) in columns.items():
        where, (differences, of_pair) = ("metric", name), effects(of, values)
        known, personas, why = ~np.isnan(differences), np.array(of_pair), main_reason(reasons)
        if not differences.size:
            yield unscored("treatment_effect", where, ONE_CONDITION, values.size, 0.0)
            why = ONE_CONDITION
        else:
            yield mean_row("treatment_effect", where, differences, why, personas, null=0.0)
        if np.unique(personas[known]).size < MIN_FLIPPED:
            for metric in ("treatment_p", "treatment_p_holm"):
                n = differences.size or values.size
                yield unscored(metric, where, FEW_PERSONAS if known.any() else why, n)
            continue
        p = sign_flip_p_two_sided(differences[known], personas[known], of.study.params.seed)
        n_personas = np.unique(personas[known]).size
        tests[where] = (p, n_personas, (int(known.sum()), int((~known).sum())))
    headline = ("metric", COMPARED[0])
    for family in ({w: t for w, t in tests.items() if (w == headline) is own} for own in (True, False)):
        sizes = [n for _, n, _ in family.values()]
        floors, labels = [least_flip_p(n) for n in sizes], [f"{n} personas" for n in sizes]
        outcomes = holm_or_reason([p for p, _, _ in family.values()], floors, labels)
        for (where, (p, _, counts)), (p_holm, reason) in zip(family.items(), outcomes, strict=True):
            yield scored("treatment_p", where, p, counts)
            if p_holm is None:
                yield unscored("treatment_p_holm", where, str(reason), sum(counts))
            else:
                yield scored("treatment_p_holm", where, p_holm, counts)


def _variance_rows(of: Conversations) -> Iterator[Metric]:
    """Yield shares of the variance of grades between personas, repetitions and judges, averaged over
    conditions.
    """
    study, judges = of.study, [judge.name for judge in of.study.judges.values()]
    shape = (len(study.personas), study.params.repetitions, max(1, len(judges)))
    for name in ("apr", "interaction"):
        splits = []
        for task, condition in product(study.tasks, study.conditions):
            table = np.full(shape, np.nan)
            for place in of.places(task=task, condition=condition):
                key = of.keys[place]
                if own := of.grades.get(key):
                    row = list(study.personas).index(key.persona)
                    grades = [grade_of(own, name, judge) for judge in judges]
                    table[row, key.repetition, : len(judges)] = grades
            if (split := nested_variance(table)) is not None:
                splits.append(split)
        for place, part in enumerate(("persona", "repetition", "judge", "rest")):
            where = ("metric_part", f"{name}:{part}")
            known = [share for split in splits if (share := split[place]) is not None]
            if known:
                n = sum(split.n_persons for split in splits)
                wanted = len(study.personas) * len(study.tasks) * len(study.conditions)
                yield scored("variance_share", where, float(np.mean(known)), (n, wanted - n))
            else:
                reason = NO_JUDGE if not judges else ONE_JUDGE if splits else NO_SPREAD
                yield unscored("variance_share", where, reason, len(of.keys))


def _cuisine_rows(of: Conversations) -> Iterator[Metric]:
    """Yield the share of recommendations from the persona's own cuisine; the null shuffles the
    same dishes.
    """
    known = {n: set(m.dish_countries) for n, m in enumerate(of.measures) if m and m.dish_countries}
    own = {name: set(p.cuisine_countries) for name, p in of.study.personas.items()}
    values, reasons = of.measured(
        lambda m: None if m.recommendation is None or not m.dish_countries else 0.0, UNKNOWN_DISH
    )
    for place, countries in known.items():
        values[place] = float(not countries.isdisjoint(own[of.keys[place].persona]))
    for where, places in _slices(of, by_persona=False):
        dishes = [known[n] for n in places.tolist() if n in known]
        to = [own[of.keys[n].persona] for n in places.tolist() if n in known]
        chance = [not dish.isdisjoint(cuisine) for dish in dishes for cuisine in to]
        null = float(np.mean(chance)) if chance else None
        yield mean_row(
            "own_cuisine", where, values[places], reasons[places], of.personas[places], SHARE, null
        )


def _diversity_rows(of: Conversations) -> Iterator[Metric]:
    """Yield rows of the overlap in words between two recommendations, to different personas and to one
    persona.
    """
    texts = [m.recommendation if m else None for m in of.measures]
    for where, places in _slices(of, by_persona=False):
        some = [n for n in places.tolist() if texts[n] is not None]
        if len(some) < 2:
            for name in ("distinct_dishes", "likeness_across", "likeness_within"):
                yield unscored(name, where, FEW_RECOMMENDED if some else NOT_RECOMMENDED, places.size)
            continue
        counts = (len(some), places.size - len(some))
        distinct = len({_title(of, n) for n in some}) / len(some)
        yield scored("distinct_dishes", where, distinct, counts, null=1 / len(some))
        table = _likenesses([frozenset((texts[n] or "").casefold().split()) for n in some])
        personas = of.personas[some]
        slots = np.array([f"{of.keys[n].task}:{of.keys[n].condition}" for n in some])
        alike = (slots[:, None] == slots) & ~np.eye(len(some), dtype=bool)
        same = personas[:, None] == personas
        for name, pairs in (("likeness_across", alike & ~same), ("likeness_within", alike & same)):
            if not pairs.any():
                yield unscored(name, where, FEW_RECOMMENDED, places.size, 1.0)
                continue
            interval = jackknife(partial(_mean_within, table, pairs), personas, SHARE)
            yield scored(name, where, float(table[pairs].mean()), counts, interval, 1.0)


def _mean_within(table: FloatArray, pairs: BoolArray, members: IntArray) -> float | None:
    """Return the mean over the members' pairs."""
    grid = np.ix_(members, members)
    return float(table[grid][pairs[grid]].mean()) if pairs[grid].any() else None


def _likenesses(words: list[frozenset[str]]) -> FloatArray:
    """Return [n, n] Jaccard similarities of the words."""
    table = np.eye(len(words))
    for i, one in enumerate(words):
        for j in range(i):
            both = len(one & words[j])
            table[i, j] = table[j, i] = both / max(1, len(one) + len(words[j]) - both)
    return table


def _title(of: Conversations, place: int) -> str:
    measures, task = of.measures[place], of.study.tasks[of.keys[place].task]
    if measures is None or measures.recommendation is None:
        return ""
    name = measures.title or next(iter(sections_of(task, measures.recommendation).values()), "")
    return " ".join(name.casefold().split())


def _end_rows(of: Conversations) -> Iterator[Metric]:
    """Yield rows of the shares of conversations by reason of their end."""
    for condition in of.study.conditions:
        places = of.places(condition=condition)
        talks = [of.talks[n] for n in places.tolist()]
        ends = Counter(cut_short(talk) or talk.ended_by for talk in talks)
        over = places.size - ends.pop(None, 0)
        for reason, count in sorted(ends.items(), key=str):
            where = ("condition_end", f"{condition}:{reason}")
            yield scored("ended_by", where, count / over, (over, places.size - over))


def details(of: Conversations, calls: Sequence[ConversationJudgeCall], opinions: AllOpinions) -> list[Detail]:
    """Return the tables of every conversation, and of the verdicts by rubric and judge."""
    conversations = Detail("explication_conversation", conversation_frame(of))
    return [conversations, *_verdicts(of.study, calls, opinions)]


def null_details(
    study: ExplicationStudy, calls: Sequence[ConversationJudgeCall], opinions: AllOpinions
) -> dict[str, list[Detail]]:
    """Return the null recommenders' tables of verdicts; calls: those about no model."""
    return {
        f"null:{source}": list(
            _verdicts(study, [call for call in calls if call.conversation.source == source], opinions)
        )
        for source in (GENERIC, FIXED)
    }


def _verdicts(
    study: ExplicationStudy, calls: Sequence[ConversationJudgeCall], opinions: AllOpinions
) -> Iterator[Detail]:
    for label in dict.fromkeys(call.label for call in calls):
        own = [call for call in calls if call.label == label]
        frames = study.panel.verdicts(own, opinions, partial(_about, study))
        yield from (Detail("verdict", frame, f"{judge} {label}") for judge, frame in frames.items())


def conversation_frame(of: Conversations) -> pl.DataFrame:
    """Return one row per real conversation, in the order of the study; unknown values are null."""
    reasons = of.graded("apr")[1].tolist()
    rows = [_row(of, place, reason) for place, reason in enumerate(reasons)]
    return pl.DataFrame(rows, schema=SCHEMA).fill_nan(None)


def _row(of: Conversations, place: int, reason: str) -> dict[str, Any]:
    study, key, talk, m = of.study, of.keys[place], of.talks[place], of.measures[place]
    persona, grades = study.personas[key.persona], of.grades.get(key)
    row: dict[str, Any] = dict.fromkeys(SCHEMA)
    row |= {
        "config_hash": comparable(study), "task": key.task, "persona": key.persona,
        "persona_name": persona.name, "country": persona.country, "cuisine": persona.cuisine,
        "condition": key.condition, "description": study.described[key.persona, key.task],
        "repetition": key.repetition, "seed": study.params.seed,
        "transcript": "\n\n".join(transcript(talk.turns)), "ended_by": talk.ended_by,
        "n_turns": len(talk.turns), "n_tokens": talk.tokens, "unscored_reason": reason or None,
        **{name: of.grade(key, name) for name in _NUMBERS[:6]},
        "apr_shuffled": of.grade(key._replace(source=SHUFFLED), "apr"),
    }  # fmt: skip
    if grades is not None and len(grades.by_judge) > 1:
        row["disagreement"] = float(np.std([grade_of(grades, "apr", j) for j in grades.by_judge], ddof=1))
    if m is not None:
        row |= {column: getattr(m, name) for column, name in _MEASURED.items()} | {
            "title": m.title,
            "dish": m.dish,
            "violations": _listed(name for name, is_kept in m.kept.items() if is_kept is False),
            "undecided": _listed(name for name, is_kept in m.kept.items() if is_kept is None),
            "facts_told": _listed(m.told),
        }
    return row


def _about(study: ExplicationStudy, call: ConversationJudgeCall, name: str) -> VerdictSubject:
    """Return the columns about a verdict; ``judged`` is source and dimension: "real:focus"."""
    key = call.conversation
    persona, source = study.personas[key.persona], EMPTY if key.source == SILENT else key.source
    text = f"User: {persona.name}, {persona.cuisine}. {persona.summary}"
    return VerdictSubject(
        f"{name} {call.rubric.hash()}", key.label, text, persona.country, f"{source}:{name}"
    )


def _listed(names: Iterable[str]) -> str | None:
    return ", ".join(names) or None
