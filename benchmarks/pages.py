"""Figure: seconds to generate the pages of many models and occasions, for the first time and again."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from benchmarks.process import Result, measure, peak, show
from benchmarks.sizes import Sizes
from warehouse import (
    Run,
    Warehouse,
    finish_run,
    register_parts,
    save_metrics,
    save_run,
    save_run_requests,
    write_part,
)

COUNTRIES = ("AU", "BR", "CN", "DE", "EG", "ET", "FR", "IN", "IT", "JP", "MX", "NG", "TR", "US")
BARS_S = {"report": 15.0, "all": 20.0, "publish": 20.0}


def pages(sizes: Sizes) -> None:
    """Print the seconds of spectral's page, of the overview with all pages, and of a site."""
    with TemporaryDirectory(prefix="culturemeter-bench-") as home:
        measure(build, home=home, models=sizes.page_models, occasions=sizes.page_occasions)
        timings = [measure(draw, home=home, time_of=what) for what in ("first", "again")]
        measure(build, home=home, models=1, occasions=1, first=sizes.page_models)
        timings.append(measure(draw, home=home, time_of="one model more"))
    for timing in timings:
        times = ", ".join(
            f"{name} {timing[name]:.1f} s ({timing[name + '_cpu']:.1f} s of processor)" for name in BARS_S
        )
        missed = [name for name, bar in BARS_S.items() if timing[name] > bar]
        show(
            f"pages, {timing['what']}: {times} {peak(timing)}; bars "
            + (f"missed by {missed}" if missed else "met")
        )


def draw(home: str, time_of: str) -> Result:
    """Return seconds of ``report``, ``report --all`` and ``publish``, by the clock and of the processor."""
    from deployments.publish.data import SiteAbout
    from deployments.publish.site import publish
    from deployments.show.overview import write_all
    from deployments.show.report import write_report

    warehouse, about = Warehouse.open(Path(home)), SiteAbout("Bench", "CC0-1.0", "bench")
    times: dict[str, Callable[[], object]] = {
        "report": partial(write_report, warehouse, Path(home, "one.html")),
        "all": partial(write_all, warehouse, Path(home, "all.html")),
        "publish": partial(publish, warehouse, Path(home, "site"), about),
    }
    seconds = {}
    for name, do in times.items():
        start = time.perf_counter(), time.process_time()
        do()
        seconds[name] = time.perf_counter() - start[0]
        seconds[f"{name}_cpu"] = time.process_time() - start[1]
    return {"what": time_of, **seconds}


def build(home: str, models: int, occasions: int, first: int = 0) -> Result:
    """Store finished runs of spectral: ``models`` on one occasion, the first of them on ``occasions``."""
    warehouse = Warehouse.open(Path(home))
    questions = warehouse.query("SELECT question, domain FROM question ORDER BY question").rows()
    pairs = pl.DataFrame(list(combinations(COUNTRIES, 2)), schema=["country_a", "country_b"], orient="row")
    domains = sorted({domain for _, domain in questions})
    runs = [(first + n, "") for n in range(models)] + [(first, f"w{n:02d}") for n in range(1, occasions)]
    for number, occasion in runs:
        rng = np.random.default_rng([number, len(occasion), int(occasion[1:] or 0)])
        run = Run(
            run_id=f"run-{number:02d}{occasion}", evaluation="spectral", model=f"model-{number:02d}",
            is_null=False, profile="benchmark", config_hash="benchmark", engine_hash=f"engine-{number:02d}",
            params={"max_items": 40, "normalisation": "sum"}, engine={"kind": "fake"}, item_lists={},
            boundary_rule="none", code_version="none", occasion=occasion,
        )  # fmt: skip
        similarities = pl.concat(
            pairs.with_columns(
                similarity=rng.uniform(0.3, 1.0, pairs.height), domain=pl.lit(domain),
                run_id=pl.lit(run.run_id), model=pl.lit(run.model), request_hash=pl.lit(run.run_id),
            )
            for domain in domains
        )  # fmt: skip
        units = write_part(warehouse.home, "country_similarity", f"pairs-{run.run_id}", similarities)
        requests = pl.DataFrame(
            [(f"{run.run_id}/{question}", domain, question) for question, domain in questions],
            schema=["request_hash", "topic", "label"],
            orient="row",
        )
        with warehouse.write() as connection:
            save_run(connection, run)
            save_run_requests(connection, run.run_id, requests)
            register_parts(connection, [units])
            save_metrics(connection, run.run_id, _metrics(run.model, rng, questions, domains))
            finish_run(connection, run.run_id)
    return {"n": len(runs)}


def _metrics(
    model: str, rng: np.random.Generator, questions: list[tuple[str, str]], domains: list[str]
) -> pl.DataFrame:
    """Return the rows of metric_value that the page needs."""
    rows = [(metric, "overall", "all") for metric in ("macro_f1", "f1_LH", "f1_HL", "f1_HH", "f1_LL")]
    rows += [
        (metric, "overall", "all") for metric in ("rank_spearman", "reference_mass", "er_sr_correlation")
    ]
    rows += [("reference_mass", "domain", domain) for domain in domains]
    rows += [
        (metric, "question", question)
        for metric in ("effective_rank", "spectral_gap_ratio")
        for question, _ in questions
    ]
    rows += [("competence", "domain_country", f"{d}/{c}") for d in domains for c in COUNTRIES]
    value = rng.uniform(0.2, 0.8, len(rows))
    ratios = ("effective_rank", "spectral_gap_ratio")
    scale = np.array([3.0 if metric in ratios else 0.0 for metric, *_ in rows])
    frame = pl.DataFrame(rows, schema=["metric", "slice_kind", "slice"], orient="row")
    return frame.with_columns(
        model=pl.lit(model), value=value + scale, unscored_reason=pl.lit(None, pl.String),
        n_scored=pl.lit(27), n_unscored=pl.lit(0), null_value=pl.lit(0.2),
        ci_low=value + scale - 0.1, ci_high=value + scale + 0.1,
    )  # fmt: skip
