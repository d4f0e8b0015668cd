"""Grounded tasks with their answers and verdicts, one by one, as people read them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.evaluations.contract import Completions
from tasks.evaluations.culturall.answers import Answer, completed, read
from tasks.evaluations.culturall.requests import Study
from tasks.loop.samples import Sample, Score, sample


def samples(study: Study, completions: Completions) -> Iterator[Sample]:
    """Every item that is asked under every condition; ``correct`` is what the leaderboard counts."""
    done, answers = completed(study, completions), read(study, completions)
    verdicts = study.panel.verdict_scores(answers.calls, answers.said, completions)
    for key, prompt in study.prompts.items():
        condition, item = key[0], study.by_id[key[1]]
        shown = item.texts(condition)
        yield sample(
            f"{condition}:{item.item}",
            prompt,
            done.get(key),
            target=list(dict.fromkeys([shown.answer, *item.accepted])),
            scores=_scores(study, answers.by_key[key]) | verdicts.get(key, {}),
            metadata={name: getattr(item, name) for name in ("language", "region", "topic", "form", "status")}
            | {"condition": condition, "item": item.item},
            roles={"judge": [engine.name for engine in study.judges.values()]} if study.judges else {},
        )


def _scores(study: Study, answer: Answer) -> dict[str, Score]:
    why = answer.reason or answer.unjudged
    correct = Score.of(answer.counts(bool(study.judges)), why, answer=answer.text)
    if not study.judges:
        return {"correct": correct}
    return {"correct": correct, "matched": Score.of(answer.counts(False), answer.reason, answer=answer.text)}
