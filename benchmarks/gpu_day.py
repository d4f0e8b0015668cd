"""Measures this project on a GPU in at most nine minutes: prints a page and writes its numbers as JSON.

It is the first thing to run on a machine with a GPU, and needs Python 3.11 or later, torch, transformers,
numpy, scipy and psutil there. Wheels that may be missing travel along, 6 MB in all: pydantic, pydantic-core,
annotated-types, typing-inspection and rapidfuzz. lm-eval and vLLM are measured where they are installed.
Once, here, in the repository's root (the tokenizer is SmolLM2's; pydantic names the version of its core)::

    echo /.day/ >> .git/info/exclude && mkdir -p .day
    cp .culturemeter/models/smollm2-135m/{*token*,chat_template*,config*} .day/
    for n in 2014 _2_17 _2_27 _2_28; do platforms="$platforms --platform manylinux${n}_x86_64"; done
    python3 -m pip download --no-deps --only-binary=:all: --python-version 3.12 --implementation cp \\
        $platforms -d .day pydantic==2.14.4 pydantic-core==2.50.5 annotated-types==0.8.0 \\
        typing-inspection==0.4.5 rapidfuzz==3.14.6

There, in one call, with ``.day`` carried::

    python3 -m pip install -q --no-index --no-deps --no-compile --target /tmp/site .day/*.whl &&
    PYTHONPATH=/tmp/site:. python3 -m benchmarks.gpu_day --tokenizer .day --out $OUT/gpu_day.json

``--cpu`` runs the same on a processor with tiny shapes. A part that fails or takes too long is reported with
its reason and the others go on; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import gpu_parts as parts
from benchmarks.process import Result, WorkerError, measure, show

BUDGET = 540.0
"""Most seconds in all."""
SHARE = 0.75
"""Required speed of an 8B model in bfloat16, as a share of plain products of its matrices."""
N_FULL = 19_657_950
"""Log-probabilities of the profile ``full``: 170 countries times all items, over all questions."""
STARTING = 20.0
"""Seconds that a process takes to start and import, beyond those for its work."""
UNHURRIED = 10
"""Times as long as a part may take on a processor, where tests run beside others."""
LEAST = 15.0
"""Seconds below which a part is not begun."""


class Day:
    """The parts of a run, each with a share of the time that is left."""

    def __init__(self, device: str, folder: str, budget: float, only: str = "") -> None:
        """device: "cuda" or "cpu". folder: of the tokenizer. budget: seconds. only: letters of parts."""
        self.only = only
        self.device, self.folder, self.is_tiny = device, folder, device == "cpu"
        self.end = time.perf_counter() + budget
        self.report: Result = {"n_full": N_FULL, "bar": SHARE, "parts": {}}

    def part(
        self, title: str, most: float, work: Callable[[float], Result], say: Callable[[Result], str]
    ) -> None:
        """Measure a part in at most ``most`` seconds, print its lines and keep its numbers.

        work: takes the seconds that it may use.
        """
        if self.only and title[0] not in self.only:
            return
        start = time.perf_counter()
        seconds = min(most * (UNHURRIED if self.is_tiny else 1), self.end - start)
        try:
            if seconds < LEAST:
                raise WorkerError("no time left")
            found = work(seconds)
            line = found["skipped"] if "skipped" in found else say(found)
        except WorkerError as error:
            found, line = {"failed": str(error)}, f"FAILED: {error}"
        found["took"] = time.perf_counter() - start
        self.report["parts"][title] = found
        show(f"{title} ({found['took']:.0f} s): {line}")

    def measured(self, function: Callable[..., Result], seconds: float, **arguments: object) -> Result:
        """Return the result of a measurement on the device, with the tokenizer's folder."""
        return measure(function, timeout=seconds, device=self.device, folder=self.folder, **arguments)

    def matrix(self, dtype: str) -> Callable[[float], Result]:
        """Return the part that compares architectures with plain passes on the CPU (``architectures``)."""
        n = 1 if self.is_tiny else min(12, os.cpu_count() or 1)

        def work(seconds: float) -> Result:
            own: dict[str, Any] = {"n_shares": n, "device": self.device, "dtype": dtype}
            own |= {"seconds": max(1.0, seconds - 2 * STARTING)}
            with ThreadPoolExecutor(n) as threads:
                calls = [
                    threads.submit(measure, parts.matrix, timeout=seconds, share=i, **own) for i in range(n)
                ]
                shares = [call.result() for call in calls]
            rows = [row for share in shares for row in share["rows"]]
            return {"rows": rows, "n": sum(share["n"] for share in shares)}

        return work

    def scored(self, name: str, dtype: str) -> Callable[[float], Result]:
        """Return the part that scores the dish list with a shape."""
        sizes = {"prefixes": 2, "limit": 200, "repeats": 1} if self.is_tiny else {"prefixes": 8, "repeats": 2}

        def work(seconds: float) -> Result:
            sized: dict[str, Any] = {"limit": None} | sizes
            ours = self.measured(parts.scored, seconds, name=self.shape(name), dtype=dtype, **sized)
            return ours | parts.projected(ours, N_FULL, SHARE)

        return work

    def shape(self, name: str) -> str:
        return "tiny" if self.is_tiny else name

    def harness(self, seconds: float) -> Result:
        """Compare with HFLM."""
        if find_spec("lm_eval") is None:
            return {"skipped": "lm-eval is not installed"}
        sizes = {"limit": 100, "sample": 8, "batches": [4]} if self.is_tiny else {
            "limit": None, "sample": 512, "batches": [16, 64, 256]}  # fmt: skip
        dtype = "float32" if self.is_tiny else "bfloat16"
        return self.measured(parts.harness, seconds, name=self.shape("llama-8b"), dtype=dtype, **sizes)

    def vllm(self, function: Callable[..., Result], **sizes: object) -> Callable[[float], Result]:
        """Return a part that needs vLLM."""

        def work(seconds: float) -> Result:
            if find_spec("vllm") is None:
                return {"skipped": "vLLM is not installed"}
            return self.measured(function, seconds, name=self.shape("llama-8b"), **sizes)

        return work

    def two(self, seconds: float) -> Result:
        """Place two models on one device."""
        sizes: dict[str, Any] = (
            {"limit": 100, "prefixes": 2} if self.is_tiny else {"limit": None, "prefixes": 8}
        )
        dtype = "float32" if self.is_tiny else "bfloat16"
        return self.measured(parts.two_at_once, seconds, dtype=dtype, **sizes)


def say_matrix(found: Result) -> str:
    """Return counts of outcomes, and each wrong or crashed architecture."""
    rows, counts = found["rows"], Counter(row[2] for row in found["rows"])
    worst = max((row[3] for row in rows if row[2] == "equal"), default=0.0)
    lines = [
        f"{len(rows)} of {found['n']}: {', '.join(f'{n} {what}' for what, n in counts.most_common())}; equal "
        f"ones differ by {worst:.1e} nats at most"
    ]
    lines += [f"  {row[2]}: {row[1]} ({row[0]}) {row[3]:.1e} {row[4]}" for row in rows if is_bad(row)]
    return "\n".join(lines)


def is_bad(row: list[Any]) -> bool:
    """Return whether an architecture's row is a fault of ours."""
    return row[2] in ("wrong", "crashed")


def say_scored(found: Result) -> str:
    """Return rate, share of plain products, memory, and minutes of the profile ``full``."""
    layers = " and ".join(map(str, found["measured_layers"]))
    whole = found["measured_layers"] == [found["layers"]]
    depth = "" if whole else f", extrapolated from {layers} of {found['layers']} layers"
    return (
        f"{found['rate']:,.0f} items/s in {found['dtype']}, {found['n_items']:,} dishes, "
        f"{found['n_prefixes']} countries{depth}\n  {found['share']:.0%} of plain products of its matrices "
        f"({found['reachable'] / 1e12:,.1f} TFLOP/s; a large product reaches {found['peak'] / 1e12:,.1f}); "
        f"weights {found['weight_bytes'] / 2**30:,.1f} GiB, peak {found['gpu_peak_bytes'] / 2**30:,.1f} GiB\n"
        f"  profile full ({found['full_exaflop']:.2f} EFLOP): {found['full_minutes']:,.1f} min; at "
        f"{SHARE:.0%} of plain products it is {found['bar_minutes']:,.1f} min"
    )


def say_bar(found: Result) -> str:
    """Return the same with the bar of an 8B model."""
    return f"{say_scored(found)}\n  bar {SHARE:.0%}: {'met' if found['share'] >= SHARE else 'missed'}"


def say_harness(found: Result) -> str:
    return (
        f"ours {found['rate']:,.0f} items/s, HFLM {found['peer']:,.1f} with its best batch {found['best']}: "
        f"{found['ratio']:.1f} x; scores differ by {found['nats']:.1e} nats at most"
    )


def say_two(found: Result) -> str:
    ratio = found["alone"] / found["at_once"]
    return (
        f"on {found['devices']}: one after the other {found['alone']:.1f} s, at once "
        f"{found['at_once']:.1f} s ({ratio:.2f} x); scores differ by {found['nats']:.1e} nats"
    )


def run(device: str, folder: str, budget: float, only: str = "") -> Result:
    """Run all parts and return the report; the most important come first."""
    day = Day(device, folder, budget, only)
    day.part("machine", 60, lambda seconds: measure(parts.machine, timeout=seconds), str)
    precise = "float32" if day.is_tiny else "bfloat16"
    day.part("a. architectures, float32", 150, day.matrix("float32"), say_matrix)
    day.part("b. 8B shape", 120, day.scored("llama-8b", precise), say_scored if day.is_tiny else say_bar)
    day.part("d. two models at once", 80, day.two, say_two)
    day.part("b. 70B shape", 80, day.scored("llama-70b", precise), say_scored)
    day.part("c. against lm-eval", 90, day.harness, say_harness)
    day.part("a. architectures, bfloat16", 120, day.matrix("bfloat16"), say_matrix)
    few = {"sample": 8} if day.is_tiny else {"sample": 512}
    rate = "{rate:,.1f} items/s".format_map
    day.part("c. vLLM's prompt log-probabilities", 120, day.vllm(parts.vllm_scores, **few), rate)
    sizes = {"conversations": 3, "tokens": 8, "repeats": 1} if day.is_tiny else {
        "conversations": 170, "tokens": 256, "repeats": 1}  # fmt: skip
    written = "{rate:,.0f} tokens/s, {conversations} conversations at once".format_map
    day.part("e. generation", 120, day.vllm(parts.generation, **sizes), written)
    return day.report


def faults(report: Result) -> Iterator[str]:
    """Yield what has to be mended: parts that failed, and architectures that are wrong."""
    for title, found in report["parts"].items():
        if "failed" in found:
            yield f"{title}: {found['failed']}"
        for row in filter(is_bad, found.get("rows", [])):
            yield f"{title}: {row[1]} {row[2]}: {row[4]}"


def main() -> None:
    """Run, print, write the JSON, and exit with 1 if something has to be mended."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cpu", action="store_true", help="on a processor, with tiny shapes")
    parser.add_argument("--tokenizer", metavar="FOLDER", help="default: of the embedded smollm2-135m")
    parser.add_argument("--out", type=Path, default=Path("culturemeter-gpu.json"))
    parser.add_argument("--seconds", type=float, default=BUDGET, help="most seconds in all")
    parser.add_argument("--parts", default="", metavar="LETTERS", help="only these, such as ad; default: all")
    options = parser.parse_args()
    folder = options.tokenizer
    if folder is None:
        from benchmarks import inputs

        folder = inputs.model_folder()
    report = run(
        "cpu" if options.cpu else "cuda", str(Path(folder).resolve()), options.seconds, options.parts
    )
    options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    bad = list(faults(report))
    show(f"to mend: {len(bad)}", *bad)
    raise SystemExit(bool(bad))


if __name__ == "__main__":
    main()
