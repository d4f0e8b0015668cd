"""From the scores of all models of one configuration to rows of ``metric_value``. Pure.

Categories compare models with each other: high and low are relative to the medians over all questions and
models (section 3.3), so one model more can change every model's categories, and rows are made for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tasks.evaluations.spectral.requests import Question, Study
from tasks.evaluations.spectral.scores import (
    FloatArray,
    ModelScore,
    QuestionScore,
    domain_competence,
)
from tasks.metrics import agreement, bootstrap, classification, consensus, nulls
from tasks.metrics.spectral import er_sr_category
from tasks.metrics.types import CATEGORIES

UNIFORM_DRAWS = 10_000


class Metric(NamedTuple):
    """One row of ``metric_value``, without the run."""

    metric: str
    slice_kind: str
    slice: str
    value: float | None
    unscored_reason: str | None
    n_scored: int
    n_unscored: int
    ci_low: float | None = None
    ci_high: float | None = None
    null_value: float | None = None


class Split(NamedTuple):
    """High or low, for the estimate (row 0) and for every bootstrap replicate (rows 1 …)."""

    er_high: FloatArray
    sr_high: FloatArray


Interval = tuple[float, float] | None


def splits(
    scores: Mapping[str, ModelScore], against: Mapping[str, ModelScore]
) -> dict[str, dict[str, Split]]:
    """Median split of every question of ``scores`` at the pooled medians of the models in ``against``.

    Replicate b is split at the medians of everybody's replicate b: the same countries were drawn for all.
    """
    pool = [q for s in against.values() for q in s.questions.values()]
    if not pool:
        return {model: {} for model in scores}
    er_median = _lower_median(np.array([_columns(q.er, q.er_replicates) for q in pool]))
    sr_median = _lower_median(np.array([_columns(q.sr, q.sr_replicates) for q in pool]))
    return {
        model: {
            name: Split(
                _columns(q.er, q.er_replicates) > er_median,
                _columns(q.sr, q.sr_replicates) > sr_median,
            )
            for name, q in score.questions.items()
        }
        for model, score in scores.items()
    }


def model_rows(study: Study, score: ModelScore, split: Mapping[str, Split]) -> list[Metric]:
    """All metric rows of one model."""
    return [
        *question_rows(study, score, split),
        *category_rows(study, score, split),
        *correlation_rows(study, score),
        *rank_rows(study, score),
        *mass_rows(study, score),
        *country_rows(study, score),
        *paraphrase_rows(score),
    ]


def constant_rows(study: Study, model: str) -> list[Metric]:
    """Rows of the predictors that see nothing at all: uniform categories, and LH everywhere."""
    truth, per_domain, counts = _truth(study)
    n = len(truth)
    if model == "null:always-LH":
        value = nulls.constant_category_macro_f1(truth, "LH")
        each = classification.f1_per_class(truth, ["LH"] * n)
        rows = [Metric("macro_f1", "overall", "", value, None, n, 0, value, value, value)]
        return rows + [Metric(f"f1_{c}", "overall", "", f1, None, n, 0, f1, f1, f1) for c, f1 in each.items()]
    drawn = nulls.uniform_category_macro_f1(per_domain, counts, UNIFORM_DRAWS, study.params.seed)
    return [Metric("macro_f1", "overall", "", drawn.mean, None, n, 0, drawn.low, drawn.high, drawn.mean)]


def question_rows(study: Study, score: ModelScore, split: Mapping[str, Split]) -> Iterator[Metric]:
    """ER, SR and their halves of every question; a uniform model has ER 1 and an infinite SR."""
    n = len(study.countries)
    for name, reason in score.unscored.items():
        for metric in ("effective_rank", "spectral_gap_ratio", "er_high", "sr_high"):
            yield Metric(metric, "question", name, None, reason, 0, n)
    for name, q in score.questions.items():
        er_ci = bootstrap.log_normal_interval(q.er, q.er_replicates, bounds=(1.0, float(n)))
        sr_ci = bootstrap.log_normal_interval(q.sr, q.sr_replicates)
        yield Metric("effective_rank", "question", name, q.er, None, n, 0, *_ends(er_ci), 1.0)
        yield Metric("spectral_gap_ratio", "question", name, q.sr, None, n, 0, *_ends(sr_ci), float("inf"))
        for metric, high in zip(("er_high", "sr_high"), split[name], strict=True):
            ci = bootstrap.percentile_interval(high[1:].astype(np.float64))
            yield Metric(metric, "question", name, float(high[0]), None, n, 0, *_ends(ci), 0.5)


def category_rows(study: Study, score: ModelScore, split: Mapping[str, Split]) -> Iterator[Metric]:
    """Macro-F1 and per-class F1 against the human categories, and what a median split can reach at all."""
    truth, per_domain, counts = _truth(study)
    n_unscored = len(score.unscored)
    asked = [q for q in study.questions if q.question in score.questions]
    if not asked:
        yield Metric("macro_f1", "overall", "", None, "no question was scored", 0, n_unscored)
        return
    human = [q.human_category for q in asked]
    labels = np.array([_categories(split[q.question]) for q in asked])  # [questions, 1 + replicates]
    drawn = nulls.uniform_category_macro_f1(per_domain, counts, UNIFORM_DRAWS, study.params.seed)
    macro = np.array([classification.macro_f1(human, list(column)) for column in labels.T])
    ci = bootstrap.percentile_interval(macro[1:])
    yield Metric(
        "macro_f1", "overall", "", float(macro[0]), None, len(asked), n_unscored, *_ends(ci), drawn.mean
    )
    each = [classification.f1_per_class(human, list(column)) for column in labels.T]
    expected = _uniform_f1(study)
    for c in CATEGORIES:
        values = np.array([f[c] for f in each])
        ci = bootstrap.percentile_interval(values[1:])
        yield Metric(
            f"f1_{c}", "overall", "", float(values[0]), None, len(asked), n_unscored, *_ends(ci), expected[c]
        )
    if len(truth) > 1:
        ceiling = classification.median_split_ceiling([q.human_category for q in study.questions])  # type: ignore[misc]
        yield Metric("macro_f1_ceiling", "overall", "", ceiling, None, len(truth), 0, ceiling, ceiling)


def correlation_rows(study: Study, score: ModelScore) -> Iterator[Metric]:
    """Correlation of ER and SR over questions (Table 4); 0 for unrelated numbers."""
    asked = list(score.questions.values())
    n_unscored = len(score.unscored)
    if not asked:
        return
    found = agreement.er_sr_correlation([q.er for q in asked], [q.sr for q in asked])
    if found.value is None:
        yield Metric("er_sr_correlation", "overall", "", None, found.reason, 0, n_unscored + len(asked))
        return
    replicates = [
        agreement.er_sr_correlation(
            [q.er_replicates[b] for q in asked], [q.sr_replicates[b] for q in asked]
        ).value
        for b in range(study.params.bootstrap)
    ]
    ci = _interval(replicates)
    yield Metric(
        "er_sr_correlation", "overall", "", found.value, None, found.n_used, n_unscored, *_ends(ci), 0.0
    )


def rank_rows(study: Study, score: ModelScore) -> Iterator[Metric]:
    """Agreement of the order of domains by SR with people's, per phrasing and averaged; 0 for a random order."""
    by_variant: dict[int, list[QuestionScore]] = {}
    for q in score.questions.values():
        by_variant.setdefault(q.question.variant, []).append(q)
    found: list[tuple[FloatArray, int]] = []
    for variant, asked in sorted(by_variant.items()):
        human = [q.question.human_score for q in asked]
        pairs = [
            agreement.rank_agreement([_with_estimate(q.sr, q.sr_replicates)[b] for q in asked], human)
            for b in range(1 + study.params.bootstrap)
        ]
        if pairs[0] is None:
            reason = f"{len(asked)} domains: fewer than 3 distinct ranks"
            yield from _rank_metrics("variant", str(variant), None, reason, len(asked))
            continue
        values = np.array([p if p is not None else (np.nan, np.nan) for p in pairs])
        found.append((values, len(asked)))
        yield from _rank_metrics("variant", str(variant), values, None, len(asked))
    if not found:
        yield from _rank_metrics(
            "overall", "", None, "no phrasing has 3 distinct domains", len(score.questions)
        )
        return
    mean = np.mean([values for values, _ in found], axis=0)
    yield from _rank_metrics("overall", "", mean, None, sum(n for _, n in found))


def mass_rows(study: Study, score: ModelScore) -> Iterator[Metric]:
    """Probability on the country's own listed items, per domain and overall; null: another country's row."""
    groups: dict[tuple[str, str], list[QuestionScore]] = {}
    for q in score.questions.values():
        if q.question.domain != "house_numbers":  # the only list that names no country
            groups.setdefault(("domain", q.question.domain), []).append(q)
            groups.setdefault(("overall", ""), []).append(q)
    resamples = bootstrap.country_resamples(len(study.countries), study.params.bootstrap, study.params.seed)
    for (kind, name), asked in groups.items():
        own = _country_mean([q.mass for q in asked])
        other = _country_mean([q.mass_null for q in asked])
        known = ~np.isnan(own)
        if not known.any():
            reason = "no chosen country has an item of its own on the list"
            yield Metric("reference_mass", kind, name, None, reason, 0, len(own))
            continue
        ci = _interval([_mean(own[drawn]) for drawn in resamples])
        yield Metric(
            "reference_mass", kind, name, float(own[known].mean()), None,
            int(known.sum()), int((~known).sum()), *_ends(ci), float(other[known].mean()),
        )  # fmt: skip


def country_rows(study: Study, score: ModelScore) -> Iterator[Metric]:
    """Each country's competence per domain (Cultural Consensus Theory); 1 throughout for a uniform model."""
    for domain, loadings in domain_competence(score).items():
        for i, code in enumerate(study.countries):
            name = f"{domain}/{code}"
            if loadings is None:
                reason = "no single pattern leads: the two largest eigenvalues coincide"
                yield Metric("competence", "domain_country", name, None, reason, 0, 1)
            else:
                value = float(loadings[i])
                yield Metric("competence", "domain_country", name, value, None, 1, 0, None, None, 1.0)


def paraphrase_rows(score: ModelScore) -> Iterator[Metric]:
    """Do the phrasings of a domain draw the same map of countries? 0 for shuffled countries."""
    by_domain: dict[str, list[FloatArray]] = {}
    for q in score.questions.values():
        by_domain.setdefault(q.question.domain, []).append(q.similarity)
    values: list[float] = []
    for domain, matrices in by_domain.items():
        value = consensus.paraphrase_agreement(matrices) if len(matrices) > 1 else None
        reason = None if value is not None else "needs two phrasings, each telling countries apart"
        yield Metric(
            "paraphrase_agreement", "domain", domain, value, reason,
            len(matrices) if value is not None else 0, 0 if value is not None else len(matrices),
            null_value=0.0,
        )  # fmt: skip
        values += [value] if value is not None else []
    if by_domain:
        mean = float(np.mean(values)) if values else None
        reason = None if values else "no domain has two phrasings that tell countries apart"
        n = len(by_domain)
        yield Metric(
            "paraphrase_agreement", "overall", "", mean, reason, len(values), n - len(values), null_value=0.0
        )


def _truth(study: Study) -> tuple[list[str], list[Any], list[int]]:
    """Human category of every question; of every domain; and questions a domain."""
    domains: dict[str, list[Question]] = {}
    for q in study.questions:
        domains.setdefault(q.domain, []).append(q)
    per_domain = [asked[0].human_category for asked in domains.values()]
    return [q.human_category for q in study.questions], per_domain, [len(a) for a in domains.values()]


def _uniform_f1(study: Study) -> dict[str, float]:
    """Expected F1 of each class if every domain's category is drawn uniformly."""
    truth, per_domain, counts = _truth(study)
    rng = np.random.Generator(np.random.PCG64(study.params.seed))
    draws = rng.integers(0, len(CATEGORIES), size=(1000, len(per_domain)))
    human = [c for c, n in zip(per_domain, counts, strict=True) for _ in range(n)]
    total = dict.fromkeys(CATEGORIES, 0.0)
    for draw in draws:
        guess = [CATEGORIES[g] for g, n in zip(draw, counts, strict=True) for _ in range(n)]
        for c, f1 in classification.f1_per_class(human, guess).items():
            total[c] += f1 / len(draws)
    return dict(total)


def _categories(split: Split) -> list[str]:
    return [er_sr_category(bool(er), bool(sr)) for er, sr in zip(*split, strict=True)]


def _with_estimate(estimate: float, replicates: FloatArray) -> FloatArray:
    return np.concatenate([[estimate], replicates])


def _columns(estimate: float, replicates: FloatArray) -> FloatArray:
    """Estimate and replicates to 10 significant digits: what differs by rounding alone is a tie."""
    values = _with_estimate(estimate, replicates)
    rounded: FloatArray = np.array([float(f"{v:.10g}") for v in values])
    return rounded


def _lower_median(table: FloatArray) -> FloatArray:
    """[columns] the largest value that counts as low (``classification.median_split``'s rule)."""
    lower: FloatArray = np.sort(table, axis=0)[(len(table) - 1) // 2]
    return lower


def _rank_metrics(
    kind: str, name: str, values: FloatArray | None, reason: str | None, n: int
) -> Iterator[Metric]:
    for column, metric in enumerate(("rank_spearman", "rank_kendall")):
        if values is None:
            yield Metric(metric, kind, name, None, reason, 0, n)
        else:
            ci = _interval([None if np.isnan(v) else float(v) for v in values[1:, column]])
            yield Metric(metric, kind, name, float(values[0, column]), None, n, 0, *_ends(ci), 0.0)


def _country_mean(columns: Sequence[FloatArray]) -> FloatArray:
    """[n] mean over questions, NaN for a country that none of them scores."""
    table = np.array(columns)
    counted = (~np.isnan(table)).sum(axis=0)
    total = np.nansum(table, axis=0)
    return np.divide(total, counted, out=np.full(table.shape[1], np.nan), where=counted > 0)


def _mean(values: FloatArray) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def _interval(replicates: Sequence[float | None]) -> Interval:
    """Percentile interval over the replicates that have a value."""
    known = [v for v in replicates if v is not None]
    return bootstrap.percentile_interval(known) if len(known) > 1 else None


def _ends(interval: Interval) -> tuple[float | None, float | None]:
    return interval if interval else (None, None)
