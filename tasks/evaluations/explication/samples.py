"""Conversations with grades, one by one, as people read them. Pure.

The recommender is the assistant, the persona the user, as the recommender saw them: what a voice wrote as
somebody else was cut off, and stands in the metadata.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product

from tasks.evaluations.contract import Completions
from tasks.evaluations.explication.judge import (
    INSTRUCTIONS,
    QUALITY,
    calls_about,
    grades,
    heard,
    scaled,
)
from tasks.evaluations.explication.measures import Measures
from tasks.evaluations.explication.scores import COUNTS, GRADES, Held, hold
from tasks.evaluations.explication.study import REAL, Key, Study
from tasks.evaluations.explication.task import RECOMMENDER
from tasks.judging.panel import score_name, verdict_scores
from tasks.loop.dialogue import Talk, history
from tasks.loop.samples import Sample, Score

OF_THE_DISH = ("apr", "recommended")
"""Scores beside which the recommended dish stands."""
COUNTED = ("recommended", "facts_elicited", "facts_used", "violated")
"""What is shown of all that is counted without a judge."""


def samples(study: Study, completions: Completions) -> Iterator[Sample]:
    """Every conversation with a persona, with what judges said of it and of its null twins; then those with a
    user who tells nothing, one for each persona, whose grades stand beside its first conversation."""
    stage, calls = heard(study, completions), calls_about(study, completions)
    said, written = study.panel.read_all(calls, completions), study.panel.stored(calls, completions)
    held = hold(study, stage, grades(study, calls, said))
    verdicts: dict[Key, dict[str, Score]] = defaultdict(dict)
    for (judge, engine), call in product(study.judges.items(), calls):
        source, completion = call.conversation.source, written.get((judge, call.key))
        name = score_name(call.label, engine, *([] if source == REAL else [source]))
        score = verdict_scores(
            engine, said[judge][call.key], call.prompt, completion, partial(scaled, call.label)
        )
        verdicts[call.conversation._replace(source=REAL)][name] = score
    for place, key in enumerate(held.keys):
        yield _sample(study, key, held.talks[place], _scores(held, place) | verdicts[key])
    for silent in dict.fromkeys(map(study.silent, held.keys)):
        yield _sample(study, silent, stage.talks[silent], {})


def _sample(study: Study, key: Key, talk: Talk, scores: dict[str, Score]) -> Sample:
    voices = talk.dialogue.voices
    own = next(voice for voice in voices if voice.name == RECOMMENDER)
    said = [turn.text for turn in talk.turns if turn.speaker == RECOMMENDER]
    persona = study.personas.get(key.persona)
    cut_off = {str(place): turn.written for place, turn in enumerate(talk.turns) if turn.is_confused}
    roles = {"simulator": [study.simulator.name]} if key.source == REAL else {}
    if study.judges and key.source == REAL:
        roles["judge"] = [engine.name for engine in study.judges.values()]
    return Sample(
        f"{key.source}:{key.label}",
        history(own, [], voices),
        said[-1] if said else "",
        f"{persona.name} ({persona.cuisine}): {persona.summary}" if persona else "",
        transcript=history(own, talk.turns, voices),
        finish_reason="stop" if said else "",
        tokens=(talk.tokens, 0),
        scores=scores,
        metadata={
            **key._asdict(),
            "persona_name": persona.name if persona else None,
            "country": persona.country if persona else None,
            "cuisine": persona.cuisine if persona else None,
            "ended_by": talk.ended_by,
            "n_turns": len(talk.turns),
            "n_tokens": talk.tokens,
            "cut_off": cut_off,
            "told_to_the_user": next(voice.system for voice in voices if voice is not own),
        },
        roles=roles,
    )


def _scores(held: Held, place: int) -> dict[str, Score]:
    """Grades, of all judges together and on the scales of the leaderboard; and what needs no judge."""
    scores: dict[str, Score] = {}
    if held.study.judges:
        for name in GRADES:
            values, reasons = held.graded(name)
            scores[name] = Score.of(float(values[place]), reasons[place])
    for name in COUNTED:
        count, _, missing = COUNTS[name]
        values, reasons = held.counted(count, missing)
        scores[name] = Score.of(float(values[place]), reasons[place])
    measures = held.measures[place]
    why = _joined(held.study) | ({} if measures is None else _counted(measures))
    answer = measures.title if measures else None
    return {
        name: replace(
            score,
            answer=answer if name in OF_THE_DISH else None,
            explanation=why.get(name) if score.explanation is None else score.explanation,
        )
        for name, score in scores.items()
    }


def _joined(study: Study) -> dict[str, str]:
    """Grade -> what it is the mean of."""
    by = ", ".join(engine.name for engine in study.judges.values())
    parts = {"apr": QUALITY[:3], "instruction_following": INSTRUCTIONS}
    return dict.fromkeys(GRADES, f"by {by}") | {
        name: f"by {by}: mean of {', '.join(of)}" for name, of in parts.items()
    }


def _counted(measures: Measures) -> dict[str, str]:
    """Number that needs no judge -> what was counted."""
    broken = [name for name, is_kept in measures.kept.items() if is_kept is False]
    decided = sum(is_kept is not None for is_kept in measures.kept.values())
    is_there = measures.recommendation is not None
    return {
        "recommended": "in the required form" if is_there else "nothing was recommended",
        "facts_elicited": f"{measures.elicited} of {measures.facts} facts",
        "facts_used": f"{measures.used} of {measures.usable} facts",
        "violated": f"{', '.join(broken) or 'none'} of {decided} constraints",
    }
