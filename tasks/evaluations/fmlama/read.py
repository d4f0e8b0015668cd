"""Makes one model's precision, similarity and errors of every dish from candidate scores. Pure.

It scores one template at a time, so that at most one dishes x candidates matrix is in memory, and keeps two
numbers per dish and the columns of the top predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.evaluations.contract import Completions
from tasks.evaluations.fmlama.judge import JudgedDish
from tasks.evaluations.fmlama.params import POOLINGS
from tasks.evaluations.fmlama.study import FmlamaStudy, Probe, Template
from tasks.evaluations.fmlama.study import ranking as ranking_request
from tasks.loop.rows import main_reason
from tasks.metrics import false_predictions, ranking, similarity
from tasks.metrics.types import BoolArray, FloatArray

ScoreTables = Callable[[Probe, Template], FloatArray | Mapping[str, FloatArray] | str]
"""Returns [dishes, candidates] scores, NaN for a candidate that the model cannot spell, or the reason why
there are none. A model has one table per pooling.
"""

TopColumns = Sequence[Sequence[int] | str]
"""[dishes] columns of a dish's top-l predictions, or the reason why it has none"""

NO_RANKING = "only the first predictions of each dish are published, which is no ranking"

Cosines = Mapping[str, FloatArray | str]
"""condition slug -> [candidates, candidates] cosines (NaN without a vector), or why there are none"""


@dataclass(frozen=True)
class Expected:
    """Values expected by chance for each dish of a probe, which are the nulls of its rows for every model.

    Attributes:
        ap: [dishes] expected average precision of a random ranking.
        ws: [dishes] expected word similarity of random predictions, NaN where unscored.
        foreign: [dishes] share of foreign candidates among wrong ones, NaN for a dish that is the only one of
            its origin, where no local candidate is known.
        local: [dishes, candidates] whether a candidate is an ingredient of the dish's origin.
    """

    ap: FloatArray
    ws: FloatArray
    foreign: FloatArray
    local: BoolArray


@dataclass(frozen=True)
class ProbeScore:
    """One model's scores under one condition.

    Attributes:
        templates: [t] the templates that could be scored.
        unscored: template -> why it could not be.
        ap: [t, dishes] average precision.
        ap_by_pooling: average precision under every pooling of the same scores; equal for a baseline.
        ws: [t, dishes] word similarity, NaN where unscored; ``ws_reason`` says why all of it is.
        top: [t, predictions] columns of the top-l predictions of each dish, l being the number of its
            references: best first, dish after dish (``Probe.dish_of_top``); -1 for a dish without any.
        n_unspellable: candidates that the model cannot spell under some template; they rank last.
        ap_reason: why all average precisions are unscored, if they are.
        dish_reasons: [dishes] why a dish has no predictions, "" where it has; empty: all have.
    """

    probe: Probe
    expected: Expected
    templates: tuple[Template, ...]
    unscored: Mapping[str, str]
    ap: FloatArray
    ap_by_pooling: Mapping[str, FloatArray]
    ws: FloatArray
    ws_reason: str | None
    top: NDArray[np.intp]
    n_unspellable: int
    ap_reason: str | None = None
    dish_reasons: tuple[str, ...] = ()

    @property
    def n_wordings(self) -> int:
        """Return the number of wordings that should have answers."""
        return 1 if self.ap_reason else len(self.probe.templates)

    def why_none(self, members: NDArray[np.intp]) -> str:
        """Return the main reason why none of some dishes has predictions; "" if one has."""
        reasons = np.array(self.dish_reasons or [""])[members if self.dish_reasons else [0]]
        return main_reason(reasons) if all(reasons) else ""

    def predicted(self, members: NDArray[np.intp]) -> BoolArray:
        """Return [t, members, candidates] the top-l predictions of some dishes, each given once by
        its row.
        """
        place = np.full(len(self.probe.dishes), -1)
        place[members] = np.arange(len(members))
        row = place[self.probe.dish_of_top]
        mask = np.zeros((len(self.templates), len(members), len(self.probe.candidates)), dtype=np.bool_)
        for number, columns in enumerate(self.top):
            chosen = (row >= 0) & (columns >= 0)
            mask[number, row[chosen], columns[chosen]] = True
        return mask


def pooled(logprob: FloatArray, probability: FloatArray, n_tokens: FloatArray, pooling: str) -> FloatArray:
    """Return a candidate's score from its stored values (``FmlamaParams.pooling``); higher is likelier."""
    match pooling:
        case "mean_probability":
            return probability
        case "sum_logprob":
            return logprob
        case "mean_logprob":
            # float32, as the log-probabilities are: a difference beyond its digits is a tie.
            return (logprob / n_tokens).astype(np.float32).astype(np.float64)
    raise ValueError(f"unknown pooling {pooling!r}")


def stored_scores(
    study: FmlamaStudy, completions: Completions, probe: Probe, template: Template
) -> dict[str, FloatArray] | str:
    """Return pooling -> [dishes, candidates] stored scores of one wording (NaN for a candidate that the model
    cannot spell), or the reason why there are none.
    """
    stored = completions(ranking_request(study, probe, template))
    if isinstance(stored, str):
        return stored
    return {p: pooled(stored.logprob, stored.probability, stored.n_tokens, p) for p in POOLINGS}


def score_model(
    study: FmlamaStudy, expected: Mapping[str, Expected], answers: ScoreTables, cosines: Cosines
) -> list[ProbeScore]:
    """Score every condition of a study."""
    pooling = study.params.pooling
    return [score_probe(p, expected[p.condition.slug], answers, cosines, pooling) for p in study.probes]


def score_probe(
    probe: Probe, expected: Expected, answers: ScoreTables, cosines: Cosines, pooling: str
) -> ProbeScore:
    """Score one condition, template by template. pooling: the table of a model to rank by."""
    vectors = cosines[probe.condition.slug]
    unscored: dict[str, str] = {}
    templates, ap, ws, tops = [], [], [], []
    by_pooling: dict[str, list[FloatArray]] = {}
    unspellable = np.zeros(len(probe.candidates), dtype=np.bool_)
    for template in probe.templates:
        table = answers(probe, template)
        if isinstance(table, str):
            unscored[template.template] = table
            continue
        tables: Mapping[str, FloatArray] = (
            table if isinstance(table, Mapping) else {str(name): table for name in POOLINGS}
        )
        table = tables[pooling]
        unspellable |= np.isnan(table).any(axis=0)
        ranked = spelled(table)
        top = ranking.top_mask(ranked, probe.n_relevant)
        templates.append(template)
        ap.append(np.asarray(ranking.average_precision(ranked, probe.relevant)))
        for name, other in tables.items():
            is_chosen = other is table
            own = ap[-1] if is_chosen else ranking.average_precision(spelled(other), probe.relevant)
            by_pooling.setdefault(name, []).append(np.asarray(own))
        tops.append(_best_first(ranked, top))
        if not isinstance(vectors, str):
            ws.append(_spread(similarity.word_similarity_rows(vectors, top, probe.relevant)))
    shape = (len(templates), len(probe.dishes))
    return ProbeScore(
        probe=probe,
        expected=expected,
        templates=tuple(templates),
        unscored=unscored,
        ap=np.array(ap).reshape(shape),
        ap_by_pooling={name: np.array(own) for name, own in by_pooling.items()},
        ws=np.array(ws).reshape(shape) if ws else np.full(shape, np.nan),
        ws_reason=vectors if isinstance(vectors, str) else None,
        top=np.array(tops, dtype=np.intp).reshape(len(templates), len(probe.dish_of_top)),
        n_unspellable=int(unspellable.sum()),
    )


def score_top(
    probe: Probe, expected: Expected, template: Template, top: TopColumns, cosines: Cosines
) -> ProbeScore:
    """Score one condition whose top-l predictions alone are known: word similarity and errors, without
    average precision. template: stands for the wording.
    """
    vectors = cosines[probe.condition.slug]
    predicted = np.zeros(probe.relevant.shape, dtype=np.bool_)
    columns = np.full((1, len(probe.dish_of_top)), -1, dtype=np.intp)
    for row, own in enumerate(top):
        if not isinstance(own, str):
            predicted[row, list(own)] = True
            columns[0, probe.dish_of_top == row] = own
    ws = np.full((1, len(probe.dishes)), np.nan)
    if not isinstance(vectors, str):
        ws[0] = _spread(similarity.word_similarity_rows(vectors, predicted, probe.relevant))
    return ProbeScore(
        probe=probe,
        expected=expected,
        templates=(template,),
        unscored={each.template: NO_RANKING for each in probe.templates},
        ap=np.full(ws.shape, np.nan),
        ap_by_pooling={},
        ws=ws,
        ws_reason=vectors if isinstance(vectors, str) else None,
        top=columns,
        n_unspellable=0,
        ap_reason=NO_RANKING,
        dish_reasons=tuple(own if isinstance(own, str) else "" for own in top),
    )


def spelled(table: FloatArray) -> FloatArray:
    """Return the scores to rank by; a candidate that the model cannot spell comes last."""
    return np.where(np.isnan(table), -np.inf, table)


def top_columns(probe: Probe, table: FloatArray) -> NDArray[np.intp]:
    """Return [predictions] the columns of each dish's top-l predictions, a row of ``ProbeScore.top``.

    Args:
        table: [dishes, candidates] scores, NaN for a candidate that the model cannot spell.
    """
    ranked = spelled(table)
    return _best_first(ranked, ranking.top_mask(ranked, probe.n_relevant))


def expectations(probe: Probe, cosines: Cosines) -> Expected:
    """Return the values expected by chance for each dish."""
    vectors = cosines[probe.condition.slug]
    n_dishes, n = probe.relevant.shape
    counts = probe.n_relevant
    local = false_predictions.local_candidates(probe.relevant, probe.origins)
    shares, has_share = false_predictions.foreign_share(probe.relevant, local)
    foreign = np.full(n_dishes, np.nan)
    foreign[has_share] = shares
    foreign[~local.any(axis=1)] = np.nan
    ws = np.full(n_dishes, np.nan)
    if not isinstance(vectors, str):
        ws = _spread(similarity.expected_word_similarity(vectors, probe.relevant, counts))
    return Expected(ranking.expected_average_precision(counts, n), ws, foreign, local)


def common_ingredients(study: FmlamaStudy, of_origin: bool) -> ScoreTables:
    """Return the baseline that names the most common ingredients of all other dishes, or of the origin's
    others.
    """

    def answers(probe: Probe, template: Template) -> FloatArray:
        groups = probe.origins if of_origin else None
        return ranking.frequency_scores(probe.relevant, groups, top=study.params.baseline_top)

    return answers


def _best_first(scores: FloatArray, top: BoolArray) -> NDArray[np.intp]:
    """Return the columns of the True cells, dish by dish, each sorted by falling score and then by
    position.
    """
    row, column = np.nonzero(top)
    best: NDArray[np.intp] = column[np.lexsort((column, -scores[row, column], row))]
    return best


def _spread(scored: similarity.WordSimilarities) -> FloatArray:
    """Return [dishes] the values at their dishes, NaN elsewhere."""
    out = np.full(len(scored.n_scored), np.nan)
    out[scored.n_scored > 0] = scored.values
    return out


def judged_dishes(probe: Probe, table: FloatArray) -> list[JudgedDish]:
    """Return every dish of a probe with its top predictions.

    Args:
        table: [dishes, candidates] scores under one wording, NaN for a candidate that cannot be spelled.
    """
    columns = np.split(top_columns(probe, table), np.cumsum(probe.n_relevant)[:-1])
    return [
        JudgedDish(dish.url, name, dish.group, dish.ingredients, tuple(probe.candidates[c] for c in top))
        for dish, name, top in zip(probe.dishes, probe.names, columns, strict=True)
    ]


def prediction_rows(scores: Sequence[ProbeScore]) -> pl.DataFrame:
    """Return one row per condition, template, dish and rank: candidate and outcome (correct, local or
    foreign).
    """
    frames = [_template_rows(score, number) for score in scores for number in range(len(score.templates))]
    return pl.concat(frames) if frames else pl.DataFrame()


def _template_rows(score: ProbeScore, number: int) -> pl.DataFrame:
    probe = score.probe
    is_there = score.top[number] >= 0
    dish, column = probe.dish_of_top[is_there], score.top[number][is_there]
    first = np.searchsorted(dish, dish)
    outcome = np.where(score.expected.local[dish, column], "local", "foreign")
    outcome = np.where(probe.relevant[dish, column], "correct", outcome)
    return pl.DataFrame(
        {
            "condition": [probe.condition.slug] * len(dish),
            "template": [score.templates[number].template] * len(dish),
            "dish": [probe.dishes[i].url for i in dish],
            "dish_name": [probe.names[i] for i in dish],
            "origin": [probe.dishes[i].group for i in dish],
            "rank": np.arange(len(dish)) - first + 1,
            "candidate": [probe.candidates[i] for i in column],
            "outcome": outcome.tolist(),
        }
    )
