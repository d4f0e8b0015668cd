"""One measurement, printed as a line of JSON: ``python -m benchmarks.worker <what> [arguments]``."""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys

WORKERS = {
    "packed_trie": "scoring_engines",
    "lm_eval": "scoring_engines",
    "vllm": "scoring_engines",
    "probe_packed_trie": "probing_engines",
    "probe_lm_eval": "probing_engines",
    "probe_vllm": "probing_engines",
    "score_questions": "metrics_work",
    "naive_bootstrap": "metrics_work",
    "probing_metrics": "probing_metrics_work",
    "build_warehouse": "queries_work",
    "query": "queries_work",
    "polars_scan": "queries_work",
    "flow": "orchestration_work",
    "ingest_dishes": "ingest_dishes_work",
    "llama_8b": "gpu_work",
}
"""Function and the module that it is in."""


def main() -> None:
    """Call the function named on the command line and add the peak memory to what it returns.

    The peak is this process's and the largest of its ended children's. Whatever libraries print to standard
    output goes to standard error.
    """
    what, arguments = sys.argv[1], json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    result = getattr(importlib.import_module(f"benchmarks.{WORKERS[what]}"), what)(**arguments)
    kib = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps(result | {"peak_bytes": kib * 1024}), file=answer, flush=True)


if __name__ == "__main__":
    main()
