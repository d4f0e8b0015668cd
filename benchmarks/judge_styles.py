"""Compares both styles of judging on texts for the shipped items that are known to be right or wrong.

    .venv/bin/python -c 'from benchmarks.judge_styles import main; main()' --items 24

Prints a line for each rubric, style and kind of text: number of scores, their mean, and number of accepted
texts. Run it with ``-c``, because vLLM's workers import the main module again, and numba fails in that
import.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from statistics import fmean

from tasks.engines.load import load
from tasks.engines.protocols import Sampling
from tasks.engines.specs import load_spec
from tasks.evaluations.culturall.params import CulturallParams
from tasks.evaluations.culturall.study import build_study as build_culturall
from tasks.evaluations.cure.params import CureParams
from tasks.evaluations.cure.read import ExplanationJudgeCall
from tasks.evaluations.cure.study import WORDS, build_study, family
from tasks.judging.controls import ACCEPTED_FROM, EMPTY, GENERIC, GOLD, SHUFFLED, shuffled
from tasks.judging.panel import Judgeable
from tasks.judging.rubric import JudgeStyle
from tasks.judging.verdicts import read_opinions
from tasks.loop.prompts import Prompts
from warehouse import Warehouse

STYLES: tuple[JudgeStyle, ...] = ("direct", "reasoned")
EVASION = "That depends on local customs and on the people who are involved."
"""An answer without content, for every question of CulturALL."""


def main() -> None:
    """Let the judge score texts for the shipped items in both styles, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judge", default="smollm2-135m-vllm")
    parser.add_argument("--items", type=int, default=24, help="number of items per rubric")
    parser.add_argument("--max-tokens", type=int, default=256, help="maximum tokens of a judge's answer")
    parser.add_argument(
        "--show", type=int, default=0, help="number of judge's answers per kind of text to print in full"
    )
    options = parser.parse_args()
    warehouse = Warehouse.open()
    judge = load(load_spec(options.judge), warehouse.home / "models", "generate")
    print("rubric style text n scored mean accepted seconds")
    for style in STYLES:
        for rubric, texts in rubrics(warehouse, options.judge, style, options.items):
            for source, calls in texts.items():
                start = time.monotonic()
                sampling = Sampling(max_tokens=options.max_tokens)
                request = Prompts(
                    role="judge", engine=options.judge, topic="", label="", batch=32, sampling=sampling,
                    prompts=[call.prompt for call in calls],
                )  # fmt: skip
                completions = request.decode(request.compute(judge, request.units, lambda n: None))
                opinions = [
                    read_opinions(completions.get(call.prompt.id), call.keys, call.rubric)[0]
                    for call in calls
                ]
                scores = [opinion.score for opinion in opinions if opinion.score is not None]
                mean = f"{fmean(scores):.2f}" if scores else "-"
                accepted = sum(score >= ACCEPTED_FROM for score in scores)
                seconds = time.monotonic() - start
                print(
                    rubric,
                    style,
                    source,
                    len(calls),
                    len(scores),
                    mean,
                    accepted,
                    f"{seconds:.0f}",
                    flush=True,
                )
                for call in calls[: options.show]:
                    print("   ", repr(completions[call.prompt.id].text), flush=True)


def rubrics(
    warehouse: Warehouse, judge: str, style: JudgeStyle, n: int
) -> Iterator[tuple[str, dict[str, list[Judgeable]]]]:
    """Yield each rubric with the judge's calls by kind of text."""
    rows = {
        table: warehouse.query(f"FROM {table}").to_dicts()
        for table in ("cure_item", "country", "culturall_item")
    }
    cure = build_study(
        CureParams.model_validate({"models": ["m"], "judge_style": style, "items_per_benchmark": n}),
        rows,
        {},
        {},
    )
    for benchmark in cure.benchmarks:
        items = {item.item: item for item in cure.items(benchmark) if not item.not_judged}
        golds = {name: item.gold for name, item in items.items()}
        swapped = shuffled(golds, {name: family(item) for name, item in items.items()}, benchmark)
        generic = dict.fromkeys(items, WORDS[benchmark]["generic"])
        sources = {GOLD: golds, SHUFFLED: swapped, GENERIC: generic, EMPTY: dict.fromkeys(items, "")}
        yield (
            cure.rubrics[benchmark][0].name,
            {
                source: [
                    ExplanationJudgeCall(
                        items[name], source, 0, text, cure.rubrics[benchmark][0], Sampling(max_tokens=256)
                    )
                    for name, text in texts.items()
                ]
                for source, texts in sources.items()
            },
        )
    params = CulturallParams.model_validate({"models": ["m"], "judge_style": style, "conditions": ["native"]})
    culturall = build_culturall(params, rows["culturall_item"], {})
    chosen = culturall.items[:: max(1, len(culturall.items) // n)][:n]
    golds = {item.item: item.native.answer for item in chosen}
    swapped = shuffled(golds, {item.item: frozenset({item.native.answer}) for item in chosen}, "culturall")
    sources = {
        GOLD: golds, SHUFFLED: swapped, GENERIC: dict.fromkeys(golds, EVASION),
        EMPTY: dict.fromkeys(golds, ""),
    }  # fmt: skip
    yield (
        culturall.panel.rubric.name,
        {
            source: [culturall.call("native", name, text) for name, text in texts.items()]
            for source, texts in sources.items()
        },
    )


if __name__ == "__main__":
    main()
