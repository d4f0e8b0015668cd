"""Figure: what ``run --until`` saves, how often it is wrong, and what a year of weekly looks needs.

``until`` plays the code that runs (``tasks.loop.until``) on the clusters of real item sets. Scores of a
cluster's items are drawn around the cluster's own mean, which varies with a given intraclass correlation.
``until_looks`` compares, over 52 weekly looks at a model, equal shares of the level with confidence
sequences.
"""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.populations import Generator
from benchmarks.process import Result, measure, show
from benchmarks.sizes import Sizes
from tasks.loop.until import Order, Rule, is_decided, look, stop
from tasks.metrics.comparison import mean_difference
from tasks.metrics.confidence_sequences import log_capital
from tasks.metrics.types import FloatArray

REFERENCE = Path(__file__).resolve().parents[1] / "warehouse" / "reference"
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
"""Published files beside the checkout, which are not shipped; without them their sets are left out."""
NULL, RHO = 0.3, 0.1
LEVEL, LOOKS = 0.05, 52
GAPS = (0.1, 0.2, 0.3)
WIDTHS = (0.2, 0.1, 0.05)


def until(sizes: Sizes) -> None:
    """Print the tables of docs/until.md."""
    draws = max(4, sizes.simulations * 3 // 20)
    bar = measure(the_bar, draws=max(4, sizes.simulations // 2))["result"]
    show("1,000 items, right in 60 % against a null of 30 %: {:.3f} of them sent, {:.3f} wrong".format(*bar))
    show("| set | items | clusters | null + 0.1 | + 0.2 | + 0.3 | wrong at the null |", "| --- " * 7 + "|")
    for name, n, k, sent, decided, wrong in measure(beyond, draws=draws)["lines"]:
        cells = " | ".join(f"{s:.2f} ({d:.2f})" for s, d in zip(sent, decided, strict=True))
        show(f"| {name} | {n:,} | {k} | {cells} | {wrong:.3f} |")
    show("| set | difference 0.05 | 0.1 | 0.2 | wrong at 0 |", "| --- " * 5 + "|")
    for name, sent, decided, wrong in measure(separates, draws=draws)["lines"]:
        cells = " | ".join(f"{s:.2f} ({d:.2f})" for s, d in zip(sent, decided, strict=True))
        show(f"| {name} | {cells} | {wrong:.3f} |")
    show("| set | width 0.2 | 0.1 | 0.05 | without the mean |", "| --- " * 5 + "|")
    for name, sent, missed in measure(widths, draws=draws)["lines"]:
        show(f"| {name} | {' | '.join(f'{s:.2f}' for s in sent)} | {missed:.3f} |")
    show("| clusters | sizes | correlation | means rise with size | interval misses at its end | draws |")
    show("| --- " * 6 + "|")
    for line in measure(coverage, draws=max(4, sizes.simulations // 5))["lines"]:
        show("| {} | {} | {} | {} | {:.3f} | {} |".format(*line))


def until_looks(sizes: Sizes) -> None:
    """Print the table of docs/intervals.md on 52 weekly looks."""
    show(
        "| weekly look | wrong in a year | a drop of 0.15 in week 26 is found in its week | within a month |"
    )
    show("| --- " * 4 + "|")
    for name, *shares in measure(year, draws=max(4, sizes.simulations // 4))["lines"]:
        show(f"| {name} | {' | '.join(f'{share:.3f}' for share in shares)} |")


def sets() -> Iterator[tuple[str, list[int]]]:
    """Yield real item sets: name, and the sizes of their clusters."""
    for name, table, column in (
        ("culturall, regions", "culturall_item", "region"),
        ("cure's items, countries", "cure_item", "country"),
    ):  # fmt: skip
        paths = sorted((REFERENCE / table).glob("*.csv"))
        files = (csv.DictReader(path.open(encoding="utf-8", newline="")) for path in paths)
        yield name, sorted(Counter(row[column] for rows in files for row in rows).values())
    if (facts := SHARED / "culturall_facts.json").is_file():
        yield "CulturALL as published, regions", sorted(json.loads(facts.read_text())["regions"].values())
    if (SHARED / "click").is_dir():
        click = [
            item
            for path in sorted((SHARED / "click").glob("*.json"))
            for item in json.loads(path.read_text())
        ]
        yield "CLIcK (a part), items", [1] * len(click)
    yield "1,000 items of their own", [1] * 1000
    yield "57 subjects of 50", [50] * 57
    yield "12 countries of 100", [100] * 12


def _order(own: list[int], seed: int, by_cluster: bool = True) -> Order:
    clusters = [f"{n}" for n, size in enumerate(own) for _ in range(size)]
    return Order([f"{n}" for n in range(len(clusters))], clusters, seed, by_cluster)


def _chances(rng: Generator, own: list[int], share: float, rho: float = RHO) -> FloatArray:
    """Return [items] the chance of each item's cluster; single items have no cluster to vary with."""
    if max(own) == 1 or not rho:
        return np.full(sum(own), share)
    of_clusters = rng.beta(share * (1 - rho) / rho, (1 - share) * (1 - rho) / rho, len(own))
    return np.repeat(of_clusters, own)


def _scores(rng: Generator, own: list[int], share: float) -> FloatArray:
    return (rng.random(sum(own)) < _chances(rng, own, share)).astype(np.float64)


def the_bar(draws: int) -> Result:
    """Return the mean share sent and the share of wrong decisions for 1,000 items."""
    rng, rule, sent, wrong = np.random.default_rng(0), Rule("beyond-null"), 0.0, 0
    for seed in range(draws):
        order = _order([1] * 1000, seed)
        sent += stop(order, rule, _scores(rng, [1] * 1000, 0.6), NULL) / 1000
        wrong += is_decided(order, rule, _scores(rng, [1] * 1000, NULL), 1000, NULL)
    return {"result": (sent / draws, wrong / draws)}


def beyond(draws: int) -> Result:
    """Return for each set the share sent and decided by the distance to the null, and wrong decisions."""
    lines, rule = [], Rule("beyond-null")
    for name, own in sets():
        rng, n = np.random.default_rng(1), sum(own)
        sent, decided = np.zeros(len(GAPS)), np.zeros(len(GAPS))
        for seed in range(draws):
            order = _order(own, seed)
            for place, gap in enumerate(GAPS):
                scores = _scores(rng, own, NULL + gap)
                sent[place] += stop(order, rule, scores, NULL) / n / draws
                decided[place] += is_decided(order, rule, scores, n, NULL) / draws
        wrong = np.mean(
            [is_decided(_order(own, s), rule, _scores(rng, own, NULL), n, NULL) for s in range(draws)]
        )
        lines.append((name, n, len(own), sent.tolist(), decided.tolist(), float(wrong)))
    return {"lines": lines}


def separates(draws: int) -> Result:
    """Return for each set the share sent and decided by the difference of two models, and wrong decisions.

    Both score 0.6 on average, around the same clusters' means; items are as hard for one as for the other,
    so that their scores correlate by about a half.
    """
    lines, rule, gaps = [], Rule("separates", other="other"), (0.05, 0.1, 0.2)
    for name, own in sets():
        rng, n = np.random.default_rng(2), sum(own)

        def half(gap: float, rng: Generator = rng, own: list[int] = own) -> FloatArray:
            chance = np.clip(_chances(rng, own, 0.6), 0.2, 0.8)
            is_same = rng.random(chance.size) < 0.5
            one = rng.random(chance.size)
            other = np.where(is_same, one, rng.random(chance.size))
            return ((one < chance + gap / 2).astype(float) - (other < chance - gap / 2) + 1) / 2

        sent, decided, wrong = np.zeros(len(gaps)), np.zeros(len(gaps)), 0.0
        for seed in range(draws):
            order = _order(own, seed)
            for place, gap in enumerate(gaps):
                scores = half(gap)
                sent[place] += stop(order, rule, scores, 0.5) / n / draws
                decided[place] += is_decided(order, rule, scores, n, 0.5) / draws
            wrong += is_decided(order, rule, half(0.0), n, 0.5) / draws
        lines.append((name, sent.tolist(), decided.tolist(), wrong))
    return {"lines": lines}


def widths(draws: int) -> Result:
    """Return for each set the share sent by width, and how often the last interval lacks the set's mean."""
    lines = []
    for name, own in sets():
        rng, sent, missed = np.random.default_rng(3), np.zeros(len(WIDTHS)), 0
        for seed in range(max(4, draws // 4)):
            order, scores = _order(own, seed, by_cluster=False), _scores(rng, own, 0.6)
            for place, width in enumerate(WIDTHS):
                rule = Rule("width", width)
                n = stop(order, rule, scores)
                found = look(order, rule, scores, n).interval
                assert found is not None
                missed += not found[0] - 1e-9 <= scores.mean() <= found[1] + 1e-9
                sent[place] += n / sum(own)
        times = max(4, draws // 4)
        lines.append((name, (sent / times).tolist(), missed / times / len(WIDTHS)))
    return {"lines": lines}


def coverage(draws: int) -> Result:
    """Return how often the interval at the end of a run lacks the mean of the population of clusters.

    The run ends by its rule against a null of 0.3, and the mean is 0.45, so that runs end at all lengths.
    Means may rise with the size of a cluster; the population's mean is over items.
    """
    lines, rule = [], Rule("beyond-null")
    for k, sizes, rho, rises in [
        (6, "50", 0.1, False), (12, "50", 0.1, False), (12, "50", 0.3, False), (30, "1 to 60", 0.1, False),
        (30, "1 to 60", 0.1, True), (100, "10", 0.1, False), (100, "1 to 30", 0.3, True),
        (400, "1", 0.0, False),
    ]:  # fmt: skip
        rng, missed = np.random.default_rng(4), 0
        low, _, high = sizes.partition(" to ")
        sizes_of = np.arange(int(low), int(high or low) + 1)
        slope = 0.3 / sizes_of.max() if rises else 0.0
        mean = float((sizes_of * (0.45 + slope * (sizes_of - sizes_of.mean()))).sum() / sizes_of.sum())
        for seed in range(draws):
            own = rng.choice(sizes_of, k).tolist()
            shares = 0.45 + slope * (np.array(own) - sizes_of.mean())
            chances = np.concatenate(
                [_chances(rng, [size], share, rho) for size, share in zip(own, shares, strict=True)]
            )
            order, scores = _order(own, seed), (rng.random(sum(own)) < chances).astype(np.float64)
            found = look(order, rule, scores, stop(order, rule, scores, NULL), NULL).interval
            missed += found is not None and not found[0] <= mean <= found[1]
        lines.append((k, sizes, rho, "yes" if rises else "no", missed / draws, draws))
    return {"lines": lines}


def year(draws: int, n: int = 100) -> Result:
    """Return for five ways to look each week: the chance of a wrong alarm in a year, and of a right one in
    the week of a drop and within four weeks of it.

    A look compares a week's answers to 100 items with those of the week before, which is what ``drift`` does.
    The sequences bet on the items' differences, in one capital for the year, or in one begun anew each week,
    of which each has an equal share. The last way compares a week with the means of all weeks before.
    """
    ways = (
        "each week alone, 5 %", "each week alone, 5 % / 52", "one sequence for the year", "52 sequences",
        "against all weeks before, 5 % / 52",
    )  # fmt: skip
    rng, found = np.random.default_rng(5), np.zeros((len(ways), 3))
    for _ in range(draws):
        chance = rng.beta(2, 1, n)
        for drop in (0.0, 0.15):
            alarms = np.zeros((len(ways), LOOKS), dtype=bool)
            before, differences = (rng.random(n) < chance).astype(float), list[FloatArray]()
            total = before.copy()
            for week in range(LOOKS):
                own = np.clip(chance - (drop if week >= LOOKS // 2 else 0.0), 0, 1)
                after = (rng.random(n) < own).astype(float)
                differences.append((after - before + 1) / 2)
                p, of_all = (
                    1.0 if (own_p := mean_difference(after, earlier).p_value) is None else own_p
                    for earlier in (before, total / (week + 1))
                )
                alarms[[0, 1, 4], week] = p < LEVEL, p < LEVEL / LOOKS, of_all < LEVEL / LOOKS
                alone = max(log_capital(x, 0.5).max() for x in (differences[-1], 1 - differences[-1]))
                alarms[3, week] = alone >= math.log(2 * LOOKS / LEVEL)
                before, total = after, total + after
            both = np.concatenate(differences)
            for x in (both, 1 - both):
                over = log_capital(x, 0.5).reshape(LOOKS, n).max(axis=1) >= math.log(2 / LEVEL)
                alarms[2] |= over
            here = LOOKS // 2
            if not drop:
                found[:, 0] += alarms.any(axis=1)
            else:
                is_first = ~alarms[:, :here].any(axis=1)
                found[:, 1] += alarms[:, here] & is_first
                found[:, 2] += alarms[:, here : here + 4].any(axis=1) & is_first
    return {"lines": [(name, *shares) for name, shares in zip(ways, (found / draws).tolist(), strict=True)]}
