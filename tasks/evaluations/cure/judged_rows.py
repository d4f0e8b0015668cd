"""How good explanations are, and whether judge and metric tell them from worthless ones. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, combinations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tasks.evaluations.cure.label_rows import by_country, by_slice, clusters, reason_rows
from tasks.evaluations.cure.params import BENCHMARKS
from tasks.evaluations.cure.requests import Study
from tasks.evaluations.cure.rubrics import metric_of
from tasks.evaluations.cure.scores import Judged, Scored, is_at_equal_length
from tasks.judging.controls import NULLS, REAL, SHUFFLED, best_null, preference_row, refusals, told_apart_row
from tasks.loop.rows import (
    OVERALL,
    Metric,
    Reasons,
    difference_row,
    item_points,
    main_reason,
    mean_of,
    mean_row,
    resampled_points,
    scored,
    unscored,
)
from tasks.metrics.agreement import pearson
from tasks.metrics.intervals import (
    CORRELATION,
    SHARE,
    UNBOUNDED,
    jackknife_groups,
    jackknife_interval,
)
from tasks.metrics.types import FloatArray, IntArray

MIN_COUNTRIES = 5
"""From how many countries on two metrics are correlated."""

LONE_VOTE = "one vote per explanation: nobody could disagree"
FEW_COUNTRIES = f"fewer than {MIN_COUNTRIES} countries have both metrics"
CONSTANT = "a metric is the same in all countries"
NO_SLOPE = "explanations do not differ in length"


def judged_rows(study: Study, answers: Scored, candidate: str) -> Iterator[Metric]:
    """All rows of one model's explanations, as ``equal_lengths`` gives them.

    candidate: the model's name in its engine's spec, for its family.
    """
    if not answers.judged:
        return
    for benchmark in study.benchmarks:
        of_source = {source: answers.judged[benchmark, source] for source in (REAL, *NULLS)}
        yield from _metric_rows(study, benchmark, of_source)
        yield from _gain_rows(study, benchmark, of_source)
        yield _disagreement_row(study, benchmark, of_source[REAL])
        yield from _check_rows(study, benchmark, of_source)
        yield from reason_rows(f"{benchmark}:judged", _missing(of_source[REAL]))
        if is_at_equal_length(benchmark):
            yield from _length_rows(study, benchmark, of_source[REAL], answers.slopes.get(benchmark))
    for metric in dict.fromkeys(map(metric_of, study.benchmarks)):
        yield _overall_row(study, metric, answers)
    yield from _correlation_rows(study, answers)
    yield preference_row(study.judges.values(), candidate)


def coherence_kept(study: Study) -> list[dict[str, IntArray]]:
    """What stays of each benchmark whose explanations are compared at equal length when a group of clusters
    is left out: benchmark -> positions of items. None where clusters are too few."""
    benchmarks = [benchmark for benchmark in study.benchmarks if is_at_equal_length(benchmark)]
    if not benchmarks:
        return []
    of_items = _clusters(study, benchmarks)
    ends = list(accumulate(len(study.items(benchmark)) for benchmark in benchmarks))
    codes = np.split(np.unique(of_items, return_inverse=True)[1], ends[:-1])
    return [
        {b: np.flatnonzero(np.isin(code, group)) for b, code in zip(benchmarks, codes, strict=True)}
        for group in _groups(study, of_items)
    ]


def _clusters(study: Study, benchmarks: Sequence[str]) -> np.ndarray:
    return np.concatenate([clusters(study, benchmark) for benchmark in benchmarks])


def _groups(study: Study, of_items: np.ndarray) -> list[IntArray]:
    """Which clusters of items stay when a group of them is left out; none where they are too few."""
    n = np.unique(of_items).size
    return jackknife_groups(n, study.params.seed) if n >= MIN_COUNTRIES else []


def _bounds(benchmark: str) -> tuple[float, float]:
    """At equal length single values may leave 0 to 1."""
    return UNBOUNDED if is_at_equal_length(benchmark) else SHARE


def _metric_rows(study: Study, benchmark: str, of_source: Mapping[str, Judged]) -> Iterator[Metric]:
    """The benchmark's metric; beside it the best null on those of the same items whose nulls are judged, on
    all such where a slice has none. Then each null by itself."""
    metric, real, of_items = metric_of(benchmark), of_source[REAL], clusters(study, benchmark)
    bounds, scores = _bounds(benchmark), {source: judged.scores for source, judged in of_source.items()}
    best = _best_null(scores, np.arange(real.scores.size))
    yield mean_row(metric, ("benchmark", benchmark), real.scores, real.reasons, of_items, bounds, best)
    for (kind, name), places, of_slice in by_slice(study, benchmark):
        where, there = (f"benchmark_{kind}", f"{benchmark}:{name}"), _best_null(scores, places)
        values, reasons = real.scores[places], real.reasons[places]
        beside = best if there is None else there
        yield mean_row(metric, where, values, reasons, of_slice[places], bounds, beside)
    for source in NULLS:
        null, where = of_source[source], ("null", f"{benchmark}:{source}")
        yield mean_row(metric, where, null.scores, null.reasons, joined(of_items, null.questions), bounds)


def _overall_row(study: Study, metric: str, answers: Scored) -> Metric:
    """A metric over the items of all benchmarks that have it: a published one, and those made like it."""
    benchmarks = [benchmark for benchmark in study.benchmarks if metric_of(benchmark) == metric]
    scores = {
        source: np.concatenate([answers.judged[benchmark, source].scores for benchmark in benchmarks])
        for source in (REAL, *NULLS)
    }
    reasons = np.concatenate([answers.judged[benchmark, REAL].reasons for benchmark in benchmarks])
    of_items, best = _clusters(study, benchmarks), _best_null(scores, np.arange(reasons.size))
    row = mean_row(metric, OVERALL, scores[REAL], reasons, of_items, _bounds(benchmarks[0]), best)
    if row.value is None:
        return row
    if is_at_equal_length(
        benchmarks[0]
    ):  # no mean of its items: the metric without one group of clusters each
        names = np.unique(of_items).tolist()
        return row._replace(
            points=resampled_points("left_out", names, _groups(study, of_items), answers.left_out)
        )
    names = [
        item.item if len(benchmarks) == 1 else f"{benchmark}:{item.item}"
        for benchmark in benchmarks
        for item in study.items(benchmark)
    ]
    return row._replace(points=item_points(names, scores[REAL], of_items))


def _best_null(scores: Mapping[str, FloatArray], places: IntArray) -> float | None:
    """The highest mean of a null, on the items where the real explanation is scored (all, if none is).

    scores: source -> [items].
    """
    known = places[~np.isnan(scores[REAL][places])]
    rows = known if known.size else places
    return best_null(scores[source][rows] for source in NULLS)


def _gain_rows(study: Study, benchmark: str, of_source: Mapping[str, Judged]) -> Iterator[Metric]:
    """Real less shuffled, item by item, and whether that is above 0 by flipping signs of clusters."""
    pair = [(judged.scores, judged.reasons) for judged in (of_source[REAL], of_source[SHUFFLED])]
    where, of_items = ("benchmark", benchmark), clusters(study, benchmark)
    yield difference_row("explanation_gain", where, pair[0], pair[1], of_items)
    yield told_apart_row(where, pair[0], pair[1], of_items, "independent explanations", study.params.seed)


def _missing(real: Judged) -> Reasons:
    """[items] why an explanation is unscored or was lost."""
    reasons: Reasons = np.where(real.reasons == "", real.lost, real.reasons)
    return reasons


def joined(of_items: np.ndarray, questions: Sequence[str]) -> np.ndarray:
    """[items] clusters, those as one in which judges were asked the same of an item.

    Null explanations are a few texts, so that items of one norm get one question and share its votes: they
    are one observation of the judge, whatever countries they are of.

    Args:
        of_items: [items] clusters as they are; questions: [items] what was asked, "" where nothing.
    """
    names, cluster = np.unique(of_items, return_inverse=True)
    rows = [place for place, question in enumerate(questions) if question]
    question = len(names) + np.unique([questions[place] for place in rows], return_inverse=True)[1]
    size = len(names) + len(rows)
    links = coo_array((np.ones(len(rows)), (cluster[rows], question)), shape=(size, size))
    return connected_components(links, directed=False)[1][cluster].astype(str)


def _disagreement_row(study: Study, benchmark: str, real: Judged) -> Metric:
    """Mean over explanations of the votes' standard deviation."""
    reasons = _missing(real)
    reasons = np.where(reasons == "", LONE_VOTE, reasons)
    where = ("benchmark", benchmark)
    return mean_row(
        "judge_disagreement", where, real.disagreement, reasons, clusters(study, benchmark), SHARE
    )


def _check_rows(study: Study, benchmark: str, of_source: Mapping[str, Judged]) -> Iterator[Metric]:
    """Shares of null explanations that are refused, by all judges together and by each of them.

    There are no gold explanations beside the norm that judges are shown, so nothing is to be accepted.
    """
    for source in NULLS:
        null = of_source[source]
        of_items = joined(clusters(study, benchmark), null.questions).tolist()
        reason = main_reason(null.reasons)
        yield refusals(source, ("benchmark", benchmark), null.raw, reason, of_items)
        for judge, scores in null.by_judge.items():
            yield refusals(source, ("benchmark_judge", f"{benchmark}:{judge}"), scores, reason, of_items)


def _length_rows(study: Study, benchmark: str, real: Judged, slope: float | None) -> Iterator[Metric]:
    """Coherence before the adjustment, and the slope that it took out."""
    where = ("benchmark", benchmark)
    yield mean_row("coherence_raw", where, real.raw, real.reasons, clusters(study, benchmark), SHARE)
    n_known = int((~np.isnan(real.raw + real.words)).sum())
    if slope is None or not n_known:
        reason = NO_SLOPE if n_known else main_reason(real.reasons)
        yield unscored("coherence_length_slope", where, reason, real.raw.size)
    else:
        yield scored("coherence_length_slope", where, slope, (n_known, real.raw.size - n_known))


def _correlation_rows(study: Study, answers: Scored) -> Iterator[Metric]:
    """Pearson's r of two published benchmarks' metrics over countries; its interval leaves out countries."""
    published = [benchmark for benchmark in study.benchmarks if benchmark in BENCHMARKS]
    means = {benchmark: _country_means(study, benchmark, answers) for benchmark in published}
    for first, second in combinations(published, 2):
        where = ("metric_pair", f"{metric_of(first)}:{metric_of(second)}")
        shared = sorted(means[first].keys() & means[second].keys())
        table = np.array([[means[b][country] for country in shared] for b in (first, second)])
        known = table[:, ~np.isnan(table).any(axis=0)] if shared else np.empty((2, 0))
        n, n_known = len(shared) or len(means[first].keys() | means[second].keys()) or 1, known.shape[1]
        r = pearson(*known) if n_known >= MIN_COUNTRIES else None
        if r is None:
            reason = CONSTANT if n_known >= MIN_COUNTRIES else FEW_COUNTRIES
            yield unscored("metric_correlation", where, reason, n, 0.0)
            continue
        left_out = (pearson(*np.delete(known, place, axis=1)) for place in range(n_known))
        interval = jackknife_interval(r, left_out, CORRELATION)
        yield scored("metric_correlation", where, r, (n_known, n - n_known), interval, 0.0)


def _country_means(study: Study, benchmark: str, answers: Scored) -> dict[str, float]:
    """Code -> mean score of its items, NaN where none is scored."""
    scores: FloatArray = answers.judged[benchmark, REAL].scores
    means = {c: mean_of(scores[places]) for c, places in by_country(study, benchmark).items()}
    return {country: np.nan if mean is None else mean for country, mean in means.items()}
