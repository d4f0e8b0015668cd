"""Figures: rate of documents with four options, 0-shot and 5-shot, against lm-evaluation-harness and vLLM;
and time to plan an evaluation of the recipe ``choice``, from its files to the parts to send.

All sides score the same pairs with the same tokens. The number of token positions of each side is printed
first. The harness runs one sequence for all options that differ only in their last token. With prefix caching
vLLM would run a prefix once, but it returns no prompt log-probabilities of cached tokens.
"""

from __future__ import annotations

import csv
import io
import os
import random
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import torch

from benchmarks import inputs
from benchmarks.process import Result, WorkerError, measure, peak, show
from benchmarks.sizes import Sizes
from tasks.engines import load, pairs
from tasks.engines.local import speed
from tasks.engines.local.trie import build_trie
from tasks.engines.protocols import TextPair
from tasks.engines.specs import EngineSpec
from warehouse import Warehouse, home

BARS = {0: 3.0, 5: 15.0}
"""Required speed by number of examples, as a multiple of lm-evaluation-harness's."""
BATCHES = (1, 8, 32)
OPTIONS, CLUSTERS = 4, 50
PLAN_BAR_S = 1.0
WORDS = (40, 150)
"""Minimum and maximum words of a question; with the text around it, 60 to 200 tokens."""
_WORDS = (
    "rice bread festival wedding river king music people usually eat drink custom village guest winter dance "
    "the a of in and when often is was to with their on for first day year song market mother old new house"
)

DEFINITION = """
recipe = "choice"
title = "A benchmark"
items = "items.csv"
prompt = "{{ question }}"
options = ["a", "b", "c", "d"]
answer = "answer"
question = ["question"]
cluster = "country"

[metric]
name = "accuracy"
bounds = [0, 1]
null = "best"

[profiles.all]
"""


def choices(sizes: Sizes) -> None:
    """Print the speed at both numbers of examples in bfloat16, then differences of scores in float32."""
    for shots, bar in BARS.items():
        part: dict[str, Any] = {"shots": shots, "n": sizes.choice_sample}
        ours = measure(
            scored, engine="packed_trie", dtype="bfloat16", repeats=sizes.repeats, shots=shots,
            n=sizes.choice_documents,
        )  # fmt: skip
        n, share = ours["n"], ours["flops"] / ours["reachable"]
        show(
            f"{shots}-shot, {n} documents: {ours['theirs'] / n:,.0f} positions a document where every option "
            f"is a sequence, {ours['own'] / n:,.0f} in one trie: tokens alone allow "
            f"{ours['theirs'] / ours['own']:.1f} x",
            f"packed_trie {ours['rate']:.2f} documents/s {peak(ours)}, {ours['flops'] / 1e9:,.0f} GFLOP/s, "
            f"{share:.0%} of plain products, load {ours['load']:.1f}",
        )
        _against(ours, "lm_eval", "lm_eval (HF)", [{"batch_size": size} for size in BATCHES], part, bar)
        _against(ours, "vllm", "vLLM", [{}], part)
        exact = [measure(scored, engine=e, dtype="float32", **part) for e in ("packed_trie", "lm_eval")]
        apart = max(abs(a - b) for a, b in zip(exact[0]["scores"], exact[1]["scores"], strict=True))
        show(f"log-likelihoods in float32 differ by {apart:.1e} nats at most")


def _against(
    ours: Result, engine: str, name: str, variants: list[dict[str, int]], part: dict[str, Any],
    bar: float | None = None,
) -> None:  # fmt: skip
    """Print our speed as a multiple of the peer's best speed."""
    try:
        results = [measure(scored, engine=engine, dtype="bfloat16", **part, **each) for each in variants]
    except WorkerError as error:
        show(f"{name}: not measured: {error}")
        return
    best = max(range(len(results)), key=lambda place: results[place]["rate"])
    peer, ratio = results[best], ours["rate"] / results[best]["rate"]
    met = f"; bar {bar:.0f} x: {'met' if ratio >= bar else 'missed'}" if bar else ""
    with_ = "".join(f", {key} {value}" for key, value in variants[best].items())
    show(
        f"{name} {peer['rate']:.2f} documents/s {peak(peer)}, {peer['n']} of them{with_}",
        f"packed_trie vs {name}: {ratio:.1f} x{met}",
    )


def scored(engine: str, dtype: str, shots: int, n: int, repeats: int = 1, batch_size: int = 8) -> Result:
    """Return the median rate over ``repeats``, the scores, and the positions of a plain run and of a trie.

    For packed_trie also its operations per second and those of plain products.
    """
    folder, text_pairs = inputs.model_folder(), documents(shots, n)
    if engine == "lm_eval":
        from lm_eval.models.huggingface import HFLM

        device = "cuda" if torch.cuda.is_available() else "cpu"
        scorer: Any = HFLM(pretrained=folder, dtype=dtype, device=device, batch_size=batch_size)
    else:
        fields = {"name": inputs.MODEL, "kind": engine, "model": folder, "dtype": dtype}
        scorer = load.load(EngineSpec.model_validate(fields), home() / "models")
    token_pairs = pairs.pair_tokens(scorer.tokenizer, text_pairs, 8192)
    _score(scorer, engine, text_pairs[: 2 * OPTIONS])  # warms up kernels
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        logprobs = _score(scorer, engine, text_pairs)
        seconds.append(time.perf_counter() - start)
    result: dict[str, Any] = {
        "rate": n / median(seconds),
        "n": n,
        "scores": logprobs,
        "load": os.getloadavg()[0],
        "theirs": sum(len(pair.tokens) - 1 for pair in token_pairs),
        "own": build_trie([pair.tokens for pair in token_pairs]).n_internal,
    }
    if engine == "packed_trie":
        body, head = speed.operations_of_positions(scorer)
        read_prefixes = {
            tuple(pair.tokens[:-n_last]) for pair in token_pairs for n_last in range(1, pair.n_scored + 1)
        }
        n_operations = result["own"] * body + len(read_prefixes) * head
        result |= {"flops": n_operations / min(seconds), "reachable": speed.reachable(scorer)}
    load.unload()
    return result


def _score(scorer: Any, engine: str, text_pairs: list[TextPair]) -> list[float]:
    if engine != "lm_eval":
        return [float(value) for value in scorer.score_pairs(text_pairs).logprob]
    from lm_eval.api.instance import Instance

    requests = [Instance("loglikelihood", {}, tuple(pair), i) for i, pair in enumerate(text_pairs)]
    return [value for value, _ in scorer.loglikelihood(requests, disable_tqdm=True)]


def documents(shots: int, n: int) -> list[TextPair]:
    """Return pairs of n synthetic documents with OPTIONS options of several words, after common examples."""
    chance, words = random.Random(7), _WORDS.split()

    def text(low: int, high: int) -> str:
        return " ".join(chance.choice(words) for _ in range(chance.randint(low, high)))

    middle = sum(WORDS) // 2
    examples = "".join(f"Question: {text(middle, middle)}?\nAnswer: {text(3, 6)}.\n\n" for _ in range(shots))
    text_pairs = []
    for _ in range(n):
        context = f"{examples}Question: {text(*WORDS)}?\nAnswer:"
        text_pairs += [TextPair(context, f" {text(3, 8)}") for _ in range(OPTIONS)]
    return text_pairs


def choices_plan(sizes: Sizes) -> None:
    """Print the seconds to read the definition and to plan the first round, with null models and controls."""
    ours = measure(plan, n_items=sizes.choices)
    met = "met" if ours["plan_seconds"] < PLAN_BAR_S else "missed"
    show(
        f"{sizes.choices:,} items x {OPTIONS} options: definition {ours['read_seconds']:.2f} s, plan "
        f"{ours['plan_seconds']:.2f} s, {ours['cpu_seconds']:.2f} s of CPU in both {peak(ours)}; "
        f"{ours['n_units']:,} questions to send",
        f"bar {PLAN_BAR_S:.0f} s for the plan: {met}",
    )


def plan(n_items: int) -> Result:
    """Read and plan an evaluation of ``n_items`` items in a new warehouse, without loading an engine."""
    with TemporaryDirectory(prefix="culturemeter-bench-") as folder:
        os.environ["CULTUREMETER_HOME"] = folder
        return _plan(Path(folder), n_items)


def _plan(home: Path, n_items: int) -> Result:
    from flows.session import prepare
    from tasks.evaluations.recipe import from_toml

    (home / "engines").mkdir()
    (home / "engines" / "fake-a.toml").write_text('kind = "fake"\nmodel = "a"\n')
    Warehouse.open(home)
    files = {"evaluation.toml": DEFINITION.encode(), "items.csv": _items(n_items).encode()}
    cpu, start = time.process_time(), time.perf_counter()
    evaluation, faults = from_toml("bench", lambda name: files[name])
    assert evaluation is not None, faults
    read = time.perf_counter() - start
    start = time.perf_counter()
    session = prepare(evaluation, evaluation.params(models=["fake-a"]))
    return {
        "read_seconds": read,
        "plan_seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "n_units": sum(line.left for line in session.plan.lines),
    }


def _items(n: int) -> str:
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(["item", "country", "question", *"abcd", "answer"])
    for item in range(n):
        options = [f"option {item % 97}-{option}" for option in range(OPTIONS)]
        question = f"Which of these belongs to number {item}, where the text is of about a sentence's length?"
        rows.writerow([f"i{item}", f"c{item % CLUSTERS}", question, *options, options[item % OPTIONS]])
    return text.getvalue()
