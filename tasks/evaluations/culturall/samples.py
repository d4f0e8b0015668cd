"""Grounded tasks with their answers and verdicts, one by one, as people read them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.evaluations.contract import Completions
from tasks.evaluations.culturall.answers import (
    Answer,
    answer_texts,
    calls,
    completed,
    judge_request,
    read_answers,
    read_opinions,
)
from tasks.evaluations.culturall.requests import Study
from tasks.generation.samples import sample
from tasks.judging.samples import score_name, verdict_score
from tasks.samples import Sample, Score


def samples(study: Study, completions: Completions) -> Iterator[Sample]:
    """Every item that is asked under every condition; ``correct`` is what the leaderboard counts."""
    done = completed(study, completions)
    about = calls(study, answer_texts(done)) if study.judges else []
    of_key = {call.key: call for call in about}
    replies = {judge: completions(judge_request(study, judge, about)) for judge in study.judges}
    said = {judge: read_opinions(about, own) for judge, own in replies.items()}
    answers, items = read_answers(study, done, said), {item.item: item for item in study.items}
    for key, prompt in study.prompts.items():
        condition, item = key[0], items[key[1]]
        shown, answer = item.texts(condition), answers[key]
        scores = _scores(study, answer)
        for judge, engine in study.judges.items():
            if call := of_key.get(key):
                reply = replies[judge].get(call.prompt.id)
                score = verdict_score(engine, said[judge][key], call.prompt, reply)
                scores[score_name(study.rubric.name, engine)] = score
        yield sample(
            f"{condition}:{item.item}",
            prompt,
            done.get(key),
            target=list(dict.fromkeys([shown.answer, *item.accepted])),
            scores=scores,
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
