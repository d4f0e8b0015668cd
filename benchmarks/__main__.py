"""``python -m benchmarks [names…] [--quick]``: run the named figures, or all of them, one after another."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from importlib import import_module

from benchmarks.process import WorkerError, show
from benchmarks.sizes import FULL, QUICK

FIGURES = {
    "scoring": "scoring",
    "probing": "scoring",
    "metrics": "metrics",
    "probing_metrics": "metrics",
    "busy": "busy",
    "choices": "choices",
    "choices_plan": "choices",
    "ingest_dishes": "ingest_dishes",
    "replicas": "replicas",
    "coverage": "coverage",
    "sampled_spectra": "sampled_spectra",
    "languages": "languages",
    "paired": "paired",
    "beyond_null": "beyond_null",
    "ranks": "ranks",
    "gates": "gates",
    "until": "until",
    "until_looks": "until",
    "ppi": "ppi",
    "ceiling": "ceiling",
    "many_runs": "many_runs",
    "pages": "pages",
    "culturall": "culturall",
    "culturall_release": "culturall",
    "people": "people",
    "pending": "pending",
    "shared_store": "shared_store",
}
"""Module of each figure; the figure is a function of that name."""


def main() -> None:
    """Print each figure; if one fails, print the reason, continue, and exit with code 1.

    ``mutants`` takes an hour and has its own options, so it runs only alone and if it is named.
    """
    if sys.argv[1:2] == ["mutants"]:
        import_module("benchmarks.mutants").main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"default: all of {', '.join(FIGURES)}")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, only to check that figures run")
    parser.add_argument("--only", default="", help="coverage: only the intervals of this number")
    options = parser.parse_args()
    sizes = replace(QUICK if options.quick else FULL, only=options.only)
    if unknown := set(options.names) - set(FIGURES):
        names = ", ".join(f"'{name}'" for name in sorted(unknown))
        parser.error(f"unknown figure {names}; known: {', '.join(FIGURES)}")
    failed = False
    for name in options.names or FIGURES:
        show(f"\n## {name}")
        try:
            getattr(import_module(f"benchmarks.{FIGURES[name]}"), name)(sizes)
        except WorkerError as error:
            failed = True
            show(f"{name} failed: {error}")
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
