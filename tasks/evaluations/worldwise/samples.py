"""Dilemmas with decisions, values and reasons, one by one, as people read them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.evaluations.contract import Completions
from tasks.evaluations.worldwise.answers import Answer
from tasks.evaluations.worldwise.requests import DECISIONS, Study
from tasks.evaluations.worldwise.scores import Space, answer_texts, completed, read_completions, score_answers
from tasks.loop.samples import Sample, Score, sample

NO_TARGET = "the answer without a persona has no target"


def samples(study: Study, completions: Completions, space: Space) -> Iterator[Sample]:
    """Every culture, scenario and repetition: where the answer lies, and how near the culture's target.

    ``position`` is on the scenario's own dimension, -2 to 2; ``alignment`` is 0 to 10.
    """
    done = completed(study, completions)
    readings = read_completions(study, done)
    embedded = completions(study.vectors_of(answer_texts(study, readings), "answers"))
    scored = score_answers(study, done, readings, embedded, space)
    content, prompts = study.content, {each.key: each.prompt for each in study.samples}
    for c, culture in enumerate(content.cultures):
        for s, scenario in enumerate(content.scenarios):
            for r in range(study.params.repetitions):
                key = (culture.culture, scenario.scenario, r)
                reading, reason = readings[key], scored.reasons[c, s, r]
                decision = reading.decision if isinstance(reading, Answer) else None
                alignment, target = float(scored.alignment[c, s, r]), float(content.targets[c, s])
                yield sample(
                    f"{culture.culture}:{scenario.scenario}:{r + 1}",
                    prompts[key],
                    done.get(key),
                    choices=DECISIONS,
                    scores={
                        "alignment": Score.of(alignment, reason or NO_TARGET, answer=decision),
                        "position": Score.of(float(scored.primary[c, s, r]), reason, answer=decision),
                    },
                    metadata={
                        "culture": culture.culture,
                        "scenario": scenario.scenario,
                        "repetition": r + 1,
                        "framework": scenario.framework,
                        "dimension": scenario.dimension,
                        "category": scenario.category,
                        "target_position": target if target == target else None,
                        **_read(reading),
                    },
                    roles={"embedder": [study.params.embedder]},
                )


def _read(reading: Answer | str) -> dict[str, object]:
    """What was read out of the answer."""
    if isinstance(reading, str):
        return {"unscored": reading}
    return {
        "decision": reading.decision,
        "values": list(reading.values),
        "explanation": reading.explanation,
    }
