"""Sizes of the samples that each figure measures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Amounts of work: those of ``FULL``; ``QUICK`` only shows that everything runs.

    Attributes:
        repeats: timings of which the median is taken.
        dishes: items of the list that the packed trie scores; None: all.
        sample: items of the same list that slow peers score.
        probe_templates: FmLAMA templates, half of them with the country.
        sentences: sentences of each that the packed trie scores; slow peers score one.
        candidates: in every sentence; of them ``compared`` for the comparison of scores.
        matrices, matrix_items: answers of one model, each 170 countries x matrix_items.
        resamples: half-samples of the countries, for the intervals.
        stored_items: items a question and country in the warehouse of the query timings.
        registered_units, metric_values: rows of history where the registration of a part is timed.
        flow_items: items of each list in the flow.
        talk_repetitions: seeds of each conversation.
        choices: items of a choice that is planned.
        gpu_prefixes: countries that the GPU scores the whole list for.
        gpu_conversations: answered at once on the GPU, ``gpu_tokens`` tokens each.
        people, people_seconds: who save at once in the web app of a study, and for how long.
        tasks, settings: items of CulturALL, and models that have answered them; drafts: of a build of it.
        shared_parts: parts in a shared store.
        simulations: samples for the coverage of each interval, a tenth or so for slow ones.
    """

    repeats: int = 3
    dishes: int | None = None
    sample: int = 200
    probe_templates: int = 2
    sentences: int = 16
    candidates: int = 873
    compared: int = 100
    matrices: int = 27
    matrix_items: int = 3750
    resamples: int = 200
    stored_items: int = 2180
    registered_units: int = 1_000_000
    metric_values: int = 10_000_000
    flow_items: int = 2500
    talk_repetitions: int = 10
    choices: int = 2000
    choice_documents: int = 500
    choice_sample: int = 32
    gpu_prefixes: int = 16
    gpu_conversations: int = 170
    gpu_tokens: int = 256
    simulations: int = 2000
    people: int = 100
    people_seconds: float = 300.0
    tasks: int = 2610
    settings: int = 15
    drafts: int = 5000
    shared_parts: int = 13_500


FULL = Sizes()
QUICK = Sizes(
    repeats=1,
    shared_parts=80,
    people=5,
    people_seconds=5.0,
    dishes=300,
    sample=20,
    probe_templates=2,
    sentences=2,
    candidates=20,
    compared=20,
    matrices=2,
    matrix_items=200,
    resamples=20,
    stored_items=20,
    registered_units=2_000,
    metric_values=2_000,
    flow_items=10,
    talk_repetitions=1,
    choices=40,
    choice_documents=8,
    choice_sample=4,
    gpu_prefixes=1,
    gpu_conversations=2,
    gpu_tokens=8,
    simulations=20,
    tasks=60,
    settings=2,
    drafts=400,
)
