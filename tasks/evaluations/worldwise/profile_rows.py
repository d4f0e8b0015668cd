"""Where answers lie on all dimensions, how stereotyped they are, and how many could be scored. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from tasks.evaluations.worldwise.groups import Group, culture_groups, mean_row
from tasks.evaluations.worldwise.requests import Study
from tasks.evaluations.worldwise.scores import Scored, Space, scenario_text
from tasks.loop.rows import OVERALL, Metric, main_reason, mean_of, scored, unscored
from tasks.metrics.intervals import SHARE, mean_interval
from tasks.metrics.recognition import persona_recognition
from tasks.metrics.stereotypes import bare_words, stereotype_scores

PERMUTATIONS = 99
"""Of personas, for the p-value of recognition: each takes as long as the number itself."""

TOO_FEW = "two cultures need answers to five scenarios, and so does each that is recognised"
OWN_LANGUAGES = "personas are asked in their own languages, which give them away"


def projection_rows(study: Study, space: Space, answers: Scored) -> Iterator[Metric]:
    """Mean score of each culture's answers on every dimension of every framework, whatever they were asked;
    beside it the scenarios' own texts."""
    for d, dimension in enumerate(study.content.dimensions):
        null = mean_of(space.scenario_scores[:, d])
        for group in culture_groups(study):
            where = ("culture_dimension", f"{group.where[1]}:{dimension.dimension}")
            placed = group._replace(where=where)
            yield mean_row("projection", placed, answers.scores[..., d], answers.reasons, null)


def recognition_rows(study: Study, answers: Scored) -> Iterator[Metric]:
    """How well explanations give their persona away, names of places left out, and how varied they are."""
    texts = answers.explanations[1:]
    culture, scenario, _ = at = np.nonzero(texts != "")
    result, reason = None, OWN_LANGUAGES
    if study.params.persona_language == "en":
        words = bare_words(texts[at].tolist(), study.content.place_names)
        result = persona_recognition(words, culture, scenario, PERMUTATIONS, study.params.seed)
        reason = TOO_FEW if culture.size else main_reason(answers.reasons[1:])
    rows = {int(c): row for row, c in enumerate(result.cultures, start=1)} if result else {}
    slices = [(OVERALL, texts.size, 0 if result else None)]
    slices += [(g.where, texts[0].size, rows.get(c)) for c, g in enumerate([*culture_groups(study)][1:])]
    for where, size, row in slices:
        p_value = ["persona_recognition_p"] if where == OVERALL else []
        if result is None or row is None:
            for metric in ("persona_recognition", "answer_variety", *p_value):
                yield unscored(metric, where, reason, size)
            continue
        n = int(result.n[row - 1] if row else result.n.sum())
        counts, value, variety = (n, size - n), float(result.value[row]), float(result.variety[row])
        between = float(result.between[row])
        yield scored("persona_recognition", where, value, counts, result.intervals[row], 0.0)
        yield scored("answer_variety", where, variety, counts, result.variety_intervals[row], between)
        for metric in p_value:
            yield scored(metric, where, result.p_value, counts)


def stereotype_rows(study: Study, answers: Scored) -> Iterator[Metric]:
    """Listed phrases, where they are to be counted: mean over explanations, those without a persona too;
    beside it the scenarios' own texts."""
    m, rule = study.content, study.params.stereotype_rule
    if rule == "off":
        return
    texts = answers.explanations.ravel().tolist() + [scenario_text(scenario) for scenario in m.scenarios]
    scores = stereotype_scores(texts, m.stereotypes, rule)
    points = np.array([np.nan if score is None else score.score for score in scores])
    own, null = points[: answers.explanations.size], mean_of(points[answers.explanations.size :])
    everything = Group(OVERALL, np.arange(len(m.cultures)), np.arange(len(m.scenarios)))
    for group in (everything, *culture_groups(study)):
        values = own.reshape(answers.explanations.shape)
        yield mean_row("stereotype_score", group, values, answers.reasons, null)


def count_rows(study: Study, answers: Scored) -> Iterator[Metric]:
    """How many answers could be scored, why others could not, how many were cut by the embedder, tokens."""
    n = answers.reasons.size
    is_scored = (answers.reasons == "").astype(np.float64)
    scenarios = np.broadcast_to(np.arange(answers.reasons.shape[1])[None, :, None], answers.reasons.shape)
    interval = mean_interval(is_scored.ravel(), scenarios.ravel(), SHARE)
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
