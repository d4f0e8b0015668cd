"""How well labels match the gold ones, thin beside thick, and what guessing reaches. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tasks.evaluations.cure.benchmarks.common import BenchmarkItem
from tasks.evaluations.cure.benchmarks.cues import KINDS, specificity
from tasks.evaluations.cure.materials import country_of, pair_of
from tasks.evaluations.cure.params import kind_of
from tasks.evaluations.cure.requests import Study
from tasks.evaluations.cure.scores import Labelled, Scored
from tasks.loop.replies import is_lost
from tasks.loop.rows import OVERALL, Metric, Reasons, Slice, main_reason, mean_of, mean_row, scored, unscored
from tasks.metrics.classification import LOST, commonest, f1_left_out, label_scores, random_baseline
from tasks.metrics.comparison import mcnemar, spread
from tasks.metrics.intervals import CORRELATION, SHARE, jackknife_interval, mean_interval
from tasks.metrics.types import FloatArray, IntArray, Interval

SCORES = ("exact_match", "f1_micro", "f1_macro")
LONE = "a spread needs items of two countries"


def by_country(study: Study, benchmark: str) -> dict[str, IntArray]:
    """Code -> positions of its items, codes in order; items without a country are in none."""
    places: dict[str, list[int]] = {}
    for place, item in enumerate(study.items(benchmark)):
        if item.country is not None:
            places.setdefault(item.country, []).append(place)
    return {country: np.array(places[country], dtype=np.intp) for country in sorted(places)}


def by_slice(study: Study, benchmark: str) -> Iterator[tuple[Slice, IntArray, np.ndarray]]:
    """What results of a benchmark are broken down by, ("country", "IN"); the positions of the items there;
    and of all items what varies as one. SpecNorm, and what is made like it, also by ("cue", "age"), of which
    an item may have several, and by ("specificity", "low"), how many cues it has."""
    of_items = clusters(study, benchmark, is_one_country=True)
    for country, places in by_country(study, benchmark).items():
        yield ("country", country), places, of_items
    if kind_of(benchmark) != "specnorm":
        return
    of_items = clusters(study, benchmark)
    groups: dict[Slice, list[int]] = {("cue", kind): [] for kind in KINDS}
    groups |= {("specificity", specificity(n)): [] for n in range(1, 5)}
    for place, item in enumerate(study.items(benchmark)):
        names = [("cue", kind) for kind in kinds_of(item)]
        for name in [*names, ("specificity", specificity(len(item.cues)))] if item.cues else []:
            groups[name].append(place)
    for name, rows in groups.items():
        if rows:
            yield name, np.array(rows, dtype=np.intp), of_items


def kinds_of(item: BenchmarkItem) -> set[str]:
    """The kinds of an item's cues: {"age", "ethnicity"}; a pack's may be of none."""
    return {cue.partition(":")[0].strip().replace(" ", "_") for cue in item.cues} & set(KINDS)


def clusters(study: Study, benchmark: str, is_one_country: bool = False) -> np.ndarray:
    """[items] what varies as one for intervals: the pair or story of an item, else its country.

    Within a country each item that is of no pair varies by itself.
    """
    names = []
    for item in study.items(benchmark):
        pair, is_alone = pair_of(item), pair_of(item) == item.item
        names.append((country_of(item) if is_alone and not is_one_country else "") or pair)
    return np.array(names)


def label_rows(study: Study, answers: Scored) -> Iterator[Metric]:
    """exact_match, f1_micro, f1_macro, exact_match_prior, answered and unscored_answers of one model; and
    where both modes are asked thin_thick_difference and _p."""
    yield _overall_row(study, answers.labelled)
    for part, labelled in answers.labelled.items():
        yield from _part_rows(study, part, labelled)
        yield from _count_rows(study, part, labelled.reasons)
        yield from _spread_rows(study, part, _hits(study, part[0], labelled))
    if len(study.modes) == 2:
        for benchmark in study.benchmarks:
            yield from _difference_rows(
                study, benchmark, *(answers.labelled[benchmark, mode] for mode in study.modes)
            )


def majority_rows(study: Study) -> Iterator[Metric]:
    """What always giving the benchmark's commonest label scores."""
    labelled = {part: _majority(study, part[0]) for part in study.parts()}
    yield _overall_row(study, labelled)
    for part in study.parts():
        yield from _part_rows(study, part, labelled[part])


def prior_rows(study: Study) -> Iterator[Metric]:
    """What labels drawn at random, as often as they are right, are expected to score."""
    golds = [_gold(study, benchmark) for benchmark, _ in study.parts()]
    n = [len(gold) for gold in golds]
    value, null = (
        float(np.average([score(gold) for gold in golds], weights=n))
        for score in (
            lambda gold: random_baseline(gold).exact_match,
            lambda gold: gold.count(commonest(gold)) / len(gold),
        )
    )
    yield scored("exact_match", OVERALL, value, (sum(n), 0), None, null)
    for benchmark, mode in study.parts():
        gold = _gold(study, benchmark)
        expected, majority = random_baseline(gold), label_scores(gold, [commonest(gold)] * len(gold))
        where = ("benchmark_mode", f"{benchmark}:{mode}")
        for metric, value, null in zip(SCORES, expected, majority, strict=True):
            yield scored(metric, where, value, (len(gold), 0), None, null)
        yield _prior_row(study, (benchmark, mode))
        share = {label: count / len(gold) for label, count in Counter(gold).items()}
        for (kind, name), places, _ in by_slice(study, benchmark):
            there = [gold[place] for place in places]
            value = float(np.mean([share[label] for label in there]))
            where = (f"benchmark_mode_{kind}", f"{benchmark}:{mode}:{name}")
            null = there.count(commonest(gold)) / len(there)
            yield scored("exact_match", where, value, (len(there), 0), None, null)


def reason_rows(name: str, reasons: Reasons) -> Iterator[Metric]:
    """How many items are unscored for each reason."""
    for reason, count in sorted(Counter(reasons[reasons != ""].tolist()).items()):
        where = ("benchmark_reason", f"{name}:{reason}")
        yield scored("unscored_answers", where, count, (reasons.size, 0))


def _majority(study: Study, benchmark: str) -> Labelled:
    gold = _gold(study, benchmark)
    return Labelled((commonest(gold),) * len(gold), np.full(len(gold), "", dtype=object))


def _overall_row(study: Study, labelled: Mapping[tuple[str, str], Labelled]) -> Metric:
    """Exact match over the items of all benchmarks in all modes; beside it always the commonest labels."""
    parts = study.parts()
    hits = np.concatenate([_hits(study, part[0], labelled[part]) for part in parts])
    commonest_hits = np.concatenate([_hits(study, part[0], _majority(study, part[0])) for part in parts])
    reasons = np.concatenate([labelled[part].reasons for part in parts])
    of_items = np.concatenate([clusters(study, benchmark) for benchmark, _ in parts])
    names = [
        f"{benchmark}:{mode}:{item.item}" for benchmark, mode in parts for item in study.items(benchmark)
    ]
    null = mean_of(commonest_hits if np.isnan(hits).all() else commonest_hits[~np.isnan(hits)])
    return mean_row("exact_match", OVERALL, hits, reasons, of_items, SHARE, null, names)


def _part_rows(study: Study, part: tuple[str, str], labelled: Labelled) -> Iterator[Metric]:
    """A benchmark in a mode, and each country, cue and specificity of it."""
    benchmark, mode = part
    everything = np.arange(len(labelled.labels))
    name = f"{benchmark}:{mode}"
    of_items = clusters(study, benchmark)
    yield from _score_rows(study, part, labelled, everything, ("benchmark_mode", name), SCORES, of_items)
    yield _prior_row(study, part)
    for (kind, value), places, of_items in by_slice(study, benchmark):
        where = (f"benchmark_mode_{kind}", f"{name}:{value}")
        yield from _score_rows(study, part, labelled, places, where, SCORES[:1], of_items)


def _score_rows(
    study: Study,
    part: tuple[str, str],
    labelled: Labelled,
    places: IntArray,
    where: Slice,
    metrics: Sequence[str],
    of_items: np.ndarray,
) -> Iterator[Metric]:
    """Scores of the items at some places; beside them those of the majority label on the same items. A label
    that was lost is wrong; an item that was not asked is left out."""
    every = _gold(study, part[0])
    asked = [place for place in places if _given(labelled, place) is not None]
    gold = [every[place] for place in asked or places]
    null = label_scores(gold, [commonest(every)] * len(gold))
    if not asked:
        reason = main_reason(labelled.reasons[places])
        for metric in metrics:
            yield unscored(metric, where, reason, len(places), getattr(null, metric))
        return
    given = [_given(labelled, place) or LOST for place in asked]
    scores, known = label_scores(gold, given), of_items[asked]
    hits = (np.array(gold) == np.array(given)).astype(np.float64)
    intervals: dict[str, Interval] = dict.fromkeys(metrics, mean_interval(hits, known, SHARE))
    if len(metrics) > 1:
        rest = f1_left_out(gold, given, known.tolist())
        intervals["f1_macro"] = jackknife_interval(scores.f1_macro, rest.macro, SHARE)
        if LOST in given:  # else F1 micro is exact match
            intervals["f1_micro"] = jackknife_interval(scores.f1_micro, rest.micro, SHARE)
    for metric in metrics:
        counts = (len(asked), len(places) - len(asked))
        yield scored(metric, where, getattr(scores, metric), counts, intervals[metric], getattr(null, metric))


def _prior_row(study: Study, part: tuple[str, str]) -> Metric:
    gold = _gold(study, part[0])
    value = random_baseline(gold).exact_match
    return scored("exact_match_prior", ("benchmark_mode", ":".join(part)), value, (len(gold), 0))


def _count_rows(study: Study, part: tuple[str, str], reasons: Reasons) -> Iterator[Metric]:
    """How many labels could be read, and why others could not."""
    where, known = ("benchmark_mode", ":".join(part)), (reasons == "").astype(np.float64)
    yield mean_row("answered", where, known, "", clusters(study, part[0]), SHARE)
    yield from reason_rows(":".join(part), reasons)


def _given(labelled: Labelled, place: int) -> str | None:
    """The label of an item, LOST where it was lost, None where the item was not asked."""
    return LOST if is_lost(labelled.reasons[place]) else labelled.labels[place]


def _hits(study: Study, benchmark: str, labelled: Labelled) -> FloatArray:
    """[items] 1 where the label is right, 0 where it is wrong or lost, NaN where the item was not asked."""
    given = [_given(labelled, place) for place in range(len(labelled.labels))]
    pairs = zip(study.items(benchmark), given, strict=True)
    return np.array([np.nan if label is None else float(label == item.label) for item, label in pairs])


def _difference_rows(study: Study, benchmark: str, *parts: Labelled) -> Iterator[Metric]:
    """Thick less thin exact match over items that were asked in both modes, and McNemar's test."""
    where = ("benchmark", benchmark)
    thin, thick = (_hits(study, benchmark, part) for part in parts)
    reasons = np.where(parts[0].reasons == "", parts[1].reasons, parts[0].reasons)
    of_items = clusters(study, benchmark)
    yield mean_row("thin_thick_difference", where, thick - thin, reasons, of_items, CORRELATION, 0.0)
    both = ~(np.isnan(thin) | np.isnan(thick))
    if not both.any():
        yield unscored("thin_thick_p", where, main_reason(reasons), thin.size)
        return
    test = mcnemar(thin[both] == 1, thick[both] == 1)
    yield scored("thin_thick_p", where, test.p_value, (test.n, thin.size - test.n))


def _spread_rows(study: Study, part: tuple[str, str], hits: FloatArray) -> Iterator[Metric]:
    """Interquartile range and variance of exact match over countries."""
    places = by_country(study, part[0])
    shares = [values[~np.isnan(values)] for values in (hits[rows] for rows in places.values())]
    means = [float(known.mean()) for known in shares if known.size]
    spreads = spread(means)
    where = ("benchmark_mode", ":".join(part))
    for name in ("iqr", "variance"):
        if spreads is None:
            yield unscored(f"exact_match_{name}", where, LONE, max(len(places), 1))
        else:
            counts = (spreads.n, len(places) - spreads.n)
            yield scored(f"exact_match_{name}", where, getattr(spreads, name), counts)


def _gold(study: Study, benchmark: str) -> list[str]:
    return [item.label for item in study.items(benchmark)]
