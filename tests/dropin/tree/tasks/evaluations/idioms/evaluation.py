"""The idioms evaluation as the loop sees it: what does a saying mean, and does a judge agree?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tasks.engines.protocols import Sampling
from tasks.evaluations.contract import Cohort, Completions, Detail, Evaluation, Rows, Tables
from tasks.evaluations.idioms.params import IdiomsParams
from tasks.generation.prompts import Prompt, Prompts
from tasks.identity import digest
from tasks.judging.conversation import conversation
from tasks.judging.rubric import Rubric, load_rubric
from tasks.judging.verdict_rows import VerdictRow, verdict_frame
from tasks.judging.verdicts import Verdict, answer_schema, parse_verdicts
from tasks.metric_rows import OVERALL, Metric, mean_row, scored
from tasks.metrics.intervals import SHARE
from tasks.requests import Engine, Later, Request

RUBRIC = Path(__file__).parent / "rubrics" / "meaning.toml"
KEY = "answer"
NO_VERDICT = "the judge gave no verdict"


@dataclass(frozen=True)
class Study:
    """Sayings, and who judges what models take them to mean."""

    params: IdiomsParams
    sayings: tuple[Mapping[str, Any], ...]
    judge: Engine
    rubric: Rubric

    @cached_property
    def materials(self) -> dict[str, str]:
        """See ``contract.Study``."""
        return {"idiom": digest([dict(saying) for saying in self.sayings])}

    def config_hash(self) -> str:
        """See ``contract.Study``."""
        knobs = self.params.hashed({"max_tokens", "seed"})
        return digest(["idioms", knobs, self.materials, self.judge.hash, self.rubric.hash()])


@dataclass(frozen=True)
class Answers:
    """What one model takes each saying to mean, and the verdict on it."""

    texts: Mapping[str, str]
    verdicts: Mapping[str, Verdict | None]


def study(params: IdiomsParams, tables: Mapping[str, Rows], engines: Mapping[str, Engine]) -> Study:
    """Choose the sayings.

    Raises:
        ValueError: none is left.
    """
    languages = params.languages or sorted({row["language"] for row in tables["idiom"]})
    chosen = tuple(row for row in tables["idiom"] if row["language"] in languages)
    if not chosen:
        raise ValueError(f"no saying is in {', '.join(languages)}")
    return Study(params, chosen, engines[params.judge], load_rubric(RUBRIC))


def ask(study: Study, completions: Completions) -> Sequence[Request[Any]]:
    """Every saying; then the judge about every answer that is there."""
    asked = _candidate(study)
    return [asked, _judge(study, _texts(study, completions))]


def read(study: Study, completions: Completions, shared: Any) -> Answers:
    """The verdicts that are there."""
    texts = _texts(study, completions)
    judged = completions(_judge(study, texts))
    verdicts: dict[str, Verdict | None] = {}
    for saying in study.sayings:
        name = saying["idiom"]
        completion = judged.get(_judge_prompt(study, saying, texts[name]).id) if name in texts else None
        parsed = parse_verdicts(completion.text, [KEY], study.rubric).verdicts if completion else ()
        verdicts[name] = parsed[0] if parsed else None
    return Answers(texts, verdicts)


def make_rows(study: Study, cohort: Cohort[Answers], shared: Any) -> Tables:
    """Accuracy of every model, and of guessing at random between the two verdicts."""
    metrics = {model: [_accuracy(study, answers)] for model, answers in cohort.models.items()}
    metrics["null:coin"] = [scored("accuracy", OVERALL, 0.5, (len(study.sayings), 0), None, 0.5)]
    details = {model: _details(study, answers) for model, answers in cohort.models.items()}
    return Tables(metrics, details)


def _candidate(study: Study) -> Prompts:
    prompts = [_prompt(saying) for saying in study.sayings]
    sampling = Sampling(max_tokens=study.params.max_tokens)
    return Prompts(
        topic="idioms", label="sayings", batch=study.params.batch, prompts=prompts, sampling=sampling
    )


def _prompt(saying: Mapping[str, Any]) -> Prompt:
    return Prompt([{"role": "user", "content": f"What does this saying mean? {saying['text']}"}])


def _texts(study: Study, completions: Completions) -> dict[str, str]:
    answered = completions(_candidate(study))
    prompts = {saying["idiom"]: _prompt(saying).id for saying in study.sayings}
    return {name: answered[prompt].text for name, prompt in prompts.items() if prompt in answered}


def _judge(study: Study, texts: Mapping[str, str]) -> Prompts:
    prompts = [_judge_prompt(study, s, texts[s["idiom"]]) for s in study.sayings if s["idiom"] in texts]
    return Prompts(
        role="judge",
        engine=study.params.judge,
        topic="idioms",
        label="verdicts",
        batch=study.params.batch,
        prompts=prompts,
        sampling=Sampling(max_tokens=128),
    )


def _judge_prompt(study: Study, saying: Mapping[str, Any], text: str) -> Prompt:
    inputs = {"saying": saying["text"], "meaning": saying["meaning"], "answer": text}
    return Prompt(conversation(study.rubric, inputs), answer_schema(study.rubric, [KEY]))


def _accuracy(study: Study, answers: Answers) -> Metric:
    verdicts = answers.verdicts.values()
    known = [v.value for v in verdicts if v is not None and v.value is not None]
    values = np.array(known + [np.nan] * (len(study.sayings) - len(known)))
    return mean_row("accuracy", OVERALL, values, NO_VERDICT, bounds=SHARE, null=0.5)


def _details(study: Study, answers: Answers) -> list[Detail]:
    rubric = f"{study.rubric.name} {study.rubric.hash()}"
    rows, shown = [], []
    for saying in study.sayings:
        verdict = answers.verdicts[saying["idiom"]]
        item = (saying["idiom"], saying["text"], saying["language"])
        value = verdict.value if verdict else None
        reason = (verdict.unscored_reason if verdict else NO_VERDICT) if value is None else None
        word = verdict.verdict if verdict else None
        row = VerdictRow(study.judge.name, study.judge.hash, rubric, *item, KEY, word, value=value)
        rows.append(row._replace(unscored_reason=reason, judged_text=answers.texts.get(saying["idiom"])))
        shown.append({"config_hash": study.config_hash(), "idiom": saying["idiom"], "correct": value})
    schema_overrides = {"correct": pl.Float64}
    return [
        Detail("verdict", verdict_frame(rows), study.judge.name),
        Detail("idiom_answer", pl.DataFrame(shown, schema_overrides=schema_overrides)),
    ]


EVALUATION = Evaluation(
    "idioms", IdiomsParams, {"idiom": "SELECT * FROM idiom ORDER BY idiom"}, study, ask, read, make_rows,
    engines=lambda params: {params.judge: "judge"},
    later=lambda study: [Later("judge", study.params.judge, len(study.sayings), 600)],
    size=lambda study: f"{len(study.sayings)} sayings",
)  # fmt: skip
