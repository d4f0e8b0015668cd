"""Returns conversations with grades, one by one, in the form that people read. Pure. The recommender is the
assistant and the persona the user, as in the recommender's prompt. Text that a voice wrote in another's name
was cut off and is in the metadata.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product

from tasks.evaluations.contract import Completions
from tasks.evaluations.explication.materials import RECOMMENDER
from tasks.evaluations.explication.measures import Measures
from tasks.evaluations.explication.read import GRADES, MEANS, Conversations, conversations, read, scaled
from tasks.evaluations.explication.study import REAL, ConversationKey, ExplicationStudy
from tasks.judging.panel import score_name, verdict_scores
from tasks.loop.dialogue import Talk, history
from tasks.loop.rows import Reasons
from tasks.loop.samples import Sample, Score
from tasks.metrics.types import FloatArray

Columns = Mapping[str, tuple[FloatArray, Reasons]]

OF_THE_DISH = ("apr", "recommended")
"""Scores that are shown with the recommended dish."""
COUNTED = ("recommended", "facts_elicited", "facts_used", "violated")
"""Counts without a judge to show."""


def samples(study: ExplicationStudy, completions: Completions) -> Iterator[Sample]:
    """Yield every conversation with a persona, with the verdicts on it and its null twins; then one
    conversation per persona with a silent user, whose grades are shown with the persona's first conversation.
    """
    answers = read(study, completions)
    stored = study.panel.stored(answers.calls, completions)
    of = conversations(study, answers.stage, answers.grades)
    columns = {name: of.graded(name) for name in GRADES} if study.judges else {}
    columns |= {name: of.counted(name) for name in COUNTED}
    verdicts: dict[ConversationKey, dict[str, Score]] = defaultdict(dict)
    for (judge, engine), call in product(study.judges.items(), answers.calls):
        source, opinions = call.conversation.source, answers.opinions[judge][call.key]
        name = score_name(call.label, engine, *([] if source == REAL else [source]))
        completion, scale = stored.get((judge, call.key)), partial(scaled, call.label)
        score = verdict_scores(engine, opinions, call.prompt, completion, scale)
        verdicts[call.conversation._replace(source=REAL)][name] = score
    for place, key in enumerate(of.keys):
        yield _sample(study, key, of.talks[place], _scores(of, columns, place) | verdicts[key])
    for silent in dict.fromkeys(map(study.silent, of.keys)):
        yield _sample(study, silent, answers.stage.talks[silent], {})


def _sample(study: ExplicationStudy, key: ConversationKey, talk: Talk, scores: dict[str, Score]) -> Sample:
    voices = talk.dialogue.voices
    own = next(voice for voice in voices if voice.name == RECOMMENDER)
    outputs = [turn.text for turn in talk.turns if turn.speaker == RECOMMENDER]
    persona = study.personas.get(key.persona)
    cut_off = {str(place): turn.written for place, turn in enumerate(talk.turns) if turn.is_confused}
    roles = {"simulator": [study.simulator.name]} if key.source == REAL else {}
    if study.judges and key.source == REAL:
        roles["judge"] = [engine.name for engine in study.judges.values()]
    return Sample(
        f"{key.source}:{key.label}",
        history(own, [], voices),
        outputs[-1] if outputs else "",
        f"{persona.name} ({persona.cuisine}): {persona.summary}" if persona else "",
        transcript=history(own, talk.turns, voices),
        finish_reason="stop" if outputs else "",
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


def _scores(of: Conversations, columns: Columns, place: int) -> dict[str, Score]:
    """Return the grades of all judges together, on the leaderboard's scales, and the counts without
    a judge.
    """
    measures = of.measures[place]
    why = _joined(of.study) | ({} if measures is None else _counted(measures))
    title = measures.title if measures else None
    scores = {}
    for name, (values, reasons) in columns.items():
        answer = title if name in OF_THE_DISH else None
        score = Score.of(float(values[place]), reasons[place], answer=answer)
        scores[name] = score if score.explanation else replace(score, explanation=why.get(name))
    return scores


def _joined(study: ExplicationStudy) -> dict[str, str]:
    """Return grade -> the parts that it averages."""
    by = ", ".join(engine.name for engine in study.judges.values())
    means = {name: f"by {by}: mean of {', '.join(parts)}" for name, parts in MEANS.items()}
    return dict.fromkeys(GRADES, f"by {by}") | means


def _counted(measures: Measures) -> dict[str, str]:
    """Return count without a judge -> what was counted."""
    broken = [name for name, is_kept in measures.kept.items() if is_kept is False]
    decided = sum(is_kept is not None for is_kept in measures.kept.values())
    is_there = measures.recommendation is not None
    return {
        "recommended": "in the required form" if is_there else "nothing was recommended",
        "facts_elicited": f"{measures.elicited} of {measures.facts} facts",
        "facts_used": f"{measures.used} of {measures.usable} facts",
        "violated": f"{', '.join(broken) or 'none'} of {decided} constraints",
    }
