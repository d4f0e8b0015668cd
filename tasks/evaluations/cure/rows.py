"""Makes rows of ``metric_value`` from the numbers of all models of a configuration. Pure.

Slices: ("benchmark", "normad"), ("benchmark_mode", "normad:thin"), ("benchmark_mode_country",
"normad:thin:IN"), ("benchmark_country", "normad:IN"), for SpecNorm the same with "cue" ("specnorm:age") and
"specificity" ("specnorm:low"), ("benchmark_judge", "normad:judge"), ("null", "normad:shuffled"),
("metric_pair", "coverage:specificity"), ("benchmark_reason", "normad:thin:why", where "judged" stands for the
explanation), ("overall", "all") for headlines, over the items of all benchmarks that have the metric. An
unscored slice gets every row that a scored one has, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tasks.evaluations.cure.params import BENCHMARKS, metric_of
from tasks.evaluations.cure.read import CureScores, Explained, Labelled
from tasks.evaluations.cure.study import CureStudy
from tasks.judging.controls import NULLS, REAL, SHUFFLED, best_null, preference_row, refusals, separation_row
from tasks.loop.rows import (
    OVERALL,
    Metric,
    Reasons,
    Slice,
    difference_row,
    item_points,
    main_reason,
    mean_of,
    mean_row,
    scored,
    unscored,
)  # fmt: skip
from tasks.metrics.agreement import pearson
from tasks.metrics.classification import LOST, commonest, f1_left_out, label_scores, random_baseline
from tasks.metrics.comparison import mcnemar, spread
from tasks.metrics.intervals import (
    CORRELATION,
    SHARE,
    jackknife_interval,
    mean_interval,
)  # fmt: skip
from tasks.metrics.types import FloatArray, IntArray, Interval

MAJORITY, PRIOR = "null:majority", "null:prior"
SCORES = ("exact_match", "f1_micro", "f1_macro")

MIN_COUNTRIES = 5
"""Least number of countries to correlate two metrics."""

LONE = "a spread needs items of two countries"
LONE_VOTE = "one vote per explanation: nobody could disagree"
FEW_COUNTRIES = f"fewer than {MIN_COUNTRIES} countries have both metrics"
CONSTANT = "a metric is the same in all countries"

Part = tuple[str, ...]
"""(benchmark, mode)"""


def model_rows(
    study: CureStudy, models: Mapping[str, CureScores], candidates: Mapping[str, str]
) -> dict[str, list[Metric]]:
    """Return model -> its rows, which depend on no other model.

    Args:
        candidates: model -> its name in the engine's spec.
    """
    return {
        model: [*label_rows(study, scores), *judged_rows(study, scores, candidates[model])]
        for model, scores in models.items()
    }


def null_rows(study: CureStudy) -> dict[str, list[Metric]]:
    """Return rows of the null models: always the commonest label, and random labels at their frequencies."""
    return {MAJORITY: list(majority_rows(study)), PRIOR: list(prior_rows(study))}


def label_rows(study: CureStudy, scores: CureScores) -> Iterator[Metric]:
    """Yield exact_match, f1_micro, f1_macro, exact_match_prior, answered and unscored_answers of one model;
    with both modes also thin_thick_difference and its _p.
    """
    yield _exact_match_row(study, scores.labelled)
    for part, labelled in scores.labelled.items():
        where, known = ("benchmark_mode", ":".join(part)), (labelled.reasons == "").astype(np.float64)
        yield from _part_rows(study, part, labelled)
        yield mean_row("answered", where, known, "", study.clusters(part[0]), SHARE)
        yield from _reason_rows(":".join(part), labelled.reasons)
        yield from _spread_rows(study, part, labelled.hits(_golds(study, part[0])))
    if len(study.modes) == 2:
        for benchmark in study.benchmarks:
            parts = (scores.labelled[benchmark, mode] for mode in study.modes)
            yield from _difference_rows(study, benchmark, *parts)


def majority_rows(study: CureStudy) -> Iterator[Metric]:
    """Yield the scores of always giving the benchmark's commonest label."""
    labelled = {part: _majority(study, part[0]) for part in study.parts}
    yield _exact_match_row(study, labelled)
    for part in study.parts:
        yield from _part_rows(study, part, labelled[part])


def prior_rows(study: CureStudy) -> Iterator[Metric]:
    """Yield the expected scores of labels drawn at random with the frequencies of the gold labels."""
    golds = [_golds(study, benchmark) for benchmark, _ in study.parts]
    n = [len(gold) for gold in golds]
    priors, majorities = (
        [random_baseline(gold).exact_match for gold in golds],
        [gold.count(commonest(gold)) / len(gold) for gold in golds],
    )
    value, null = (float(np.average(of, weights=n)) for of in (priors, majorities))
    yield scored("exact_match", OVERALL, value, (sum(n), 0), None, null)
    for (benchmark, mode), gold in zip(study.parts, golds, strict=True):
        expected, majority = random_baseline(gold), label_scores(gold, [commonest(gold)] * len(gold))
        where = ("benchmark_mode", f"{benchmark}:{mode}")
        for metric, value, null in zip(SCORES, expected, majority, strict=True):
            yield scored(metric, where, value, (len(gold), 0), None, null)
        yield _prior_row(study, (benchmark, mode))
        share = {label: count / len(gold) for label, count in Counter(gold).items()}
        for (kind, name), places, _ in study.by_slice(benchmark):
            there = [gold[place] for place in places]
            value = float(np.mean([share[label] for label in there]))
            where = (f"benchmark_mode_{kind}", f"{benchmark}:{mode}:{name}")
            null = there.count(commonest(gold)) / len(there)
            yield scored("exact_match", where, value, (len(there), 0), None, null)


def _golds(study: CureStudy, benchmark: str) -> list[str]:
    return [item.label for item in study.items(benchmark)]


def _majority(study: CureStudy, benchmark: str) -> Labelled:
    gold = _golds(study, benchmark)
    return Labelled((commonest(gold),) * len(gold), np.full(len(gold), "", dtype=object))


def _exact_match_row(study: CureStudy, labelled: Mapping[Part, Labelled]) -> Metric:
    """Return exact match over all benchmarks' items in all modes; the null is always the commonest labels."""
    benchmarks, parts = [benchmark for benchmark, _ in study.parts], study.parts
    hits = np.concatenate([labelled[part].hits(_golds(study, part[0])) for part in parts])
    guesses = np.concatenate([_majority(study, b).hits(_golds(study, b)) for b in benchmarks])
    reasons = np.concatenate([labelled[part].reasons for part in parts])
    names = [":".join(key) for key in study.prompts]
    null = mean_of(guesses if np.isnan(hits).all() else guesses[~np.isnan(hits)])
    return mean_row("exact_match", OVERALL, hits, reasons, study.clusters(*benchmarks), SHARE, null, names)


def _part_rows(study: CureStudy, part: Part, labelled: Labelled) -> Iterator[Metric]:
    """Yield rows of a benchmark in a mode, and of each of its countries, cues and specificities."""
    (benchmark, _), name = part, ":".join(part)
    everything, of_items = np.arange(len(labelled.labels)), study.clusters(benchmark)
    yield from _score_rows(study, part, labelled, everything, ("benchmark_mode", name), SCORES, of_items)
    yield _prior_row(study, part)
    for (kind, value), places, of_items in study.by_slice(benchmark):
        where = (f"benchmark_mode_{kind}", f"{name}:{value}")
        yield from _score_rows(study, part, labelled, places, where, SCORES[:1], of_items)


def _score_rows(
    study: CureStudy, part: Part, labelled: Labelled, places: IntArray, where: Slice, metrics: Sequence[str],
    of_items: np.ndarray,
) -> Iterator[Metric]:  # fmt: skip
    """Yield scores of the items at some positions; the null is the majority label on the same items.

    A lost label is wrong; an item that was not sent is left out.
    """
    every, answers = _golds(study, part[0]), labelled.answers
    answered = [place for place in places if answers[place] is not None]
    gold = [every[place] for place in answered or places]
    null = label_scores(gold, [commonest(every)] * len(gold))
    if not answered:
        reason = main_reason(labelled.reasons[places])
        for metric in metrics:
            yield unscored(metric, where, reason, len(places), getattr(null, metric))
        return
    labels = [answers[place] or LOST for place in answered]
    scores, known = label_scores(gold, labels), of_items[answered]
    hits = (np.array(gold) == np.array(labels)).astype(np.float64)
    intervals: dict[str, Interval] = dict.fromkeys(metrics, mean_interval(hits, known, SHARE))
    if len(metrics) > 1:
        rest = f1_left_out(gold, labels, known.tolist())
        intervals["f1_macro"] = jackknife_interval(scores.f1_macro, rest.macro, SHARE)
        if LOST in labels:  # with one label per item, F1 micro equals exact match
            intervals["f1_micro"] = jackknife_interval(scores.f1_micro, rest.micro, SHARE)
    for metric in metrics:
        counts = (len(answered), len(places) - len(answered))
        yield scored(metric, where, getattr(scores, metric), counts, intervals[metric], getattr(null, metric))


def _prior_row(study: CureStudy, part: Part) -> Metric:
    gold = _golds(study, part[0])
    value = random_baseline(gold).exact_match
    return scored("exact_match_prior", ("benchmark_mode", ":".join(part)), value, (len(gold), 0))


def _reason_rows(name: str, reasons: Reasons) -> Iterator[Metric]:
    """Yield rows that count unscored items by reason."""
    for reason, count in sorted(Counter(reasons[reasons != ""].tolist()).items()):
        where = ("benchmark_reason", f"{name}:{reason}")
        yield scored("unscored_answers", where, count, (reasons.size, 0))


def _difference_rows(study: CureStudy, benchmark: str, *parts: Labelled) -> Iterator[Metric]:
    """Yield thick less thin exact match over items sent in both modes, and McNemar's test."""
    where, golds = ("benchmark", benchmark), _golds(study, benchmark)
    thin, thick = (part.hits(golds) for part in parts)
    reasons = np.where(parts[0].reasons == "", parts[1].reasons, parts[0].reasons)
    of_items = study.clusters(benchmark)
    yield mean_row("thin_thick_difference", where, thick - thin, reasons, of_items, CORRELATION, 0.0)
    both = ~(np.isnan(thin) | np.isnan(thick))
    if not both.any():
        yield unscored("thin_thick_p", where, main_reason(reasons), thin.size)
        return
    test = mcnemar(thin[both] == 1, thick[both] == 1)
    yield scored("thin_thick_p", where, test.p_value, (test.n, thin.size - test.n))


def _spread_rows(study: CureStudy, part: Part, hits: FloatArray) -> Iterator[Metric]:
    """Yield interquartile range and variance of exact match over countries."""
    countries = [mean_of(hits[places]) for places in study.by_country(part[0]).values()]
    spreads = spread([mean for mean in countries if mean is not None])
    where = ("benchmark_mode", ":".join(part))
    for name in ("iqr", "variance"):
        if spreads is None:
            yield unscored(f"exact_match_{name}", where, LONE, max(len(countries), 1))
        else:
            counts = (spreads.n, len(countries) - spreads.n)
            yield scored(f"exact_match_{name}", where, getattr(spreads, name), counts)


def judged_rows(study: CureStudy, scores: CureScores, candidate: str) -> Iterator[Metric]:
    """Yield all rows of one model's explanations.

    candidate: the model's name in its engine's spec, for its family.
    """
    if not scores.judged:
        return
    for benchmark in study.benchmarks:
        of_source = {source: scores.judged[benchmark, source] for source in (REAL, *NULLS)}
        where, real, of_items = ("benchmark", benchmark), of_source[REAL], study.clusters(benchmark)
        yield from _metric_rows(study, benchmark, of_source)
        # Real less shuffled, item by item; the p-value flips the signs of clusters.
        pair = [(judged.scores, judged.reasons) for judged in (real, of_source[SHUFFLED])]
        yield difference_row("explanation_gain", where, pair[0], pair[1], of_items)
        yield separation_row(where, pair[0], pair[1], of_items, "independent explanations", study.params.seed)
        reasons = np.where(real.missing == "", LONE_VOTE, real.missing)
        yield mean_row("judge_disagreement", where, real.disagreement, reasons, of_items, SHARE)
        yield from _check_rows(study, benchmark, of_source)
        yield from _reason_rows(f"{benchmark}:judged", real.missing)
    for metric in dict.fromkeys(map(metric_of, study.benchmarks)):
        yield _metric_row(study, metric, scores)
    yield from _correlation_rows(study, scores)
    yield preference_row(study.judges.values(), candidate)


def _metric_rows(study: CureStudy, benchmark: str, of_source: Mapping[str, Explained]) -> Iterator[Metric]:
    """Yield the benchmark's metric, then each null's own.

    The metric's null is the best one on the same items, as far as their nulls are judged; a slice without
    judged nulls uses all items that have them.
    """
    metric, real, of_items = metric_of(benchmark), of_source[REAL], study.clusters(benchmark)
    scores = {source: judged.scores for source, judged in of_source.items()}
    best = _best_null(scores, np.arange(real.scores.size))
    yield mean_row(metric, ("benchmark", benchmark), real.scores, real.reasons, of_items, SHARE, best)
    for (kind, name), places, of_slice in study.by_slice(benchmark):
        where, there = (f"benchmark_{kind}", f"{benchmark}:{name}"), _best_null(scores, places)
        values, reasons = real.scores[places], real.reasons[places]
        beside = best if there is None else there
        yield mean_row(metric, where, values, reasons, of_slice[places], SHARE, beside)
    for source in NULLS:
        null, where = of_source[source], ("null", f"{benchmark}:{source}")
        yield mean_row(metric, where, null.scores, null.reasons, joined(of_items, null.questions), SHARE)


def _metric_row(study: CureStudy, metric: str, of_model: CureScores) -> Metric:
    """Return a metric over the items of all benchmarks that have it: a published one and its variants in
    packs.
    """
    benchmarks = [benchmark for benchmark in study.benchmarks if metric_of(benchmark) == metric]
    scores = {
        source: np.concatenate([of_model.judged[benchmark, source].scores for benchmark in benchmarks])
        for source in (REAL, *NULLS)
    }
    reasons = np.concatenate([of_model.judged[benchmark, REAL].reasons for benchmark in benchmarks])
    of_items, best = study.clusters(*benchmarks), _best_null(scores, np.arange(reasons.size))
    row = mean_row(metric, OVERALL, scores[REAL], reasons, of_items, SHARE, best)
    if row.value is None:
        return row
    is_one = len(benchmarks) == 1
    names = [name if is_one else f"{b}:{name}" for b in benchmarks for name in study.names(b)]
    return row._replace(points=item_points(names, scores[REAL], of_items))


def _best_null(scores: Mapping[str, FloatArray], places: IntArray) -> float | None:
    """Return the highest mean of a null over items with a scored real explanation, or over all items if no
    real explanation is scored.

    scores: source -> [items].
    """
    known = places[~np.isnan(scores[REAL][places])]
    rows = known if known.size else places
    return best_null(scores[source][rows] for source in NULLS)


def joined(of_items: np.ndarray, questions: Sequence[str]) -> np.ndarray:
    """Return [items] clusters, merging clusters whose items got equal judge prompts. Null explanations are a
    few texts, so items of one norm get one prompt and share its votes. They are one observation of the judge,
    even across countries.

    Args:
        of_items: [items] clusters before merging; questions: [items] judge prompts, "" for none.
    """
    names, cluster = np.unique(of_items, return_inverse=True)
    rows = [place for place, question in enumerate(questions) if question]
    question = len(names) + np.unique([questions[place] for place in rows], return_inverse=True)[1]
    size = len(names) + len(rows)
    links = coo_array((np.ones(len(rows)), (cluster[rows], question)), shape=(size, size))
    return connected_components(links, directed=False)[1][cluster].astype(str)


def _check_rows(study: CureStudy, benchmark: str, of_source: Mapping[str, Explained]) -> Iterator[Metric]:
    """Yield shares of null explanations that are refused, by all judges together and by each judge. The
    check has nothing to accept, since the only gold explanation is the norm that judges see anyway.
    """
    for source in NULLS:
        null = of_source[source]
        of_items = joined(study.clusters(benchmark), null.questions).tolist()
        reason = main_reason(null.reasons)
        yield refusals(source, ("benchmark", benchmark), null.scores, reason, of_items)
        for judge, scores in null.by_judge.items():
            yield refusals(source, ("benchmark_judge", f"{benchmark}:{judge}"), scores, reason, of_items)


def _correlation_rows(study: CureStudy, scores: CureScores) -> Iterator[Metric]:
    """Yield Pearson's r of two published benchmarks' metrics over countries; its interval leaves out
    countries.
    """
    means = {
        benchmark: {
            country: np.nan
            if (mean := mean_of(scores.judged[benchmark, REAL].scores[places])) is None
            else mean
            for country, places in study.by_country(benchmark).items()
        }
        for benchmark in study.benchmarks
        if benchmark in BENCHMARKS
    }
    for first, second in combinations(means, 2):
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
