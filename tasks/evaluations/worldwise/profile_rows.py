"""Where answers lie on all dimensions, how stereotyped they are, and how many could be scored. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from tasks.evaluations.worldwise.groups import (
    Group,
    culture_groups,
    knobs_of,
    main_reason,
    mean_interval,
    mean_of,
    mean_row,
)
from tasks.evaluations.worldwise.projections import Space, scenario_text
from tasks.evaluations.worldwise.requests import Study
from tasks.evaluations.worldwise.scores import Scored
from tasks.metric_rows import OVERALL, Metric, scored, unscored
from tasks.metrics.stereotypes import stereotype_scores


def projection_rows(study: Study, space: Space, answers: Scored) -> Iterator[Metric]:
    """Mean score of each culture's answers on every dimension of every framework, whatever they were asked;
    beside it the scenarios' own texts."""
    for d, dimension in enumerate(study.content.dimensions):
        null = mean_of(space.scenario_scores[:, d])
        for group in culture_groups(study):
            where = ("culture_dimension", f"{group.where[1]}:{dimension.dimension}")
            placed = group._replace(where=where)
            yield mean_row(
                "projection", placed, answers.scores[..., d], answers.reasons, knobs_of(study), null
            )


def stereotype_rows(study: Study, answers: Scored) -> Iterator[Metric]:
    """Mean over explanations, those without a persona too; beside it the scenarios' own texts."""
    m = study.content
    texts = [scenario_text(scenario) for scenario in m.scenarios]
    own = stereotype_scores(texts, m.stereotypes, study.params.stereotype_rule)
    null = mean_of(np.array([np.nan if score is None else score.score for score in own]))
    everything = Group(OVERALL, np.arange(len(m.cultures)), np.arange(len(m.scenarios)))
    for group in (everything, *culture_groups(study)):
        yield mean_row("stereotype_score", group, answers.stereotype, answers.reasons, knobs_of(study), null)


def count_rows(study: Study, answers: Scored) -> Iterator[Metric]:
    """How many answers could be scored, why others could not, how many were cut by the embedder, tokens."""
    n = answers.reasons.size
    is_scored = (answers.reasons == "").astype(np.float64)
    scenarios = np.broadcast_to(np.arange(answers.reasons.shape[1])[None, :, None], answers.reasons.shape)
    interval = mean_interval(is_scored.ravel(), scenarios.ravel(), knobs_of(study))
    yield scored("answered", OVERALL, float(is_scored.mean()), (n, 0), interval)
    for reason, count in sorted(Counter(answers.reasons[answers.reasons != ""].tolist()).items()):
        yield scored("unscored_answers", ("reason", reason), count, (n, 0))
    n_read = int((answers.decisions >= 0).sum())
    reason = main_reason(answers.reasons)
    if n_read:
        yield scored("truncated_texts", OVERALL, int(answers.truncated.sum()), (n_read, n - n_read))
    else:
        yield unscored("truncated_texts", OVERALL, reason, n)
    if answers.n_tokens is None:
        yield unscored("total_tokens", OVERALL, reason, n)
    else:
        yield scored("total_tokens", OVERALL, answers.n_tokens, (n, 0))
