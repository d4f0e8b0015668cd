"""Sizes of the samples that each figure measures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Amounts of work. ``FULL`` has the defaults; ``QUICK`` only checks that everything runs.

    Attributes:
        repeats: number of timings, of which the median is reported.
        dishes: number of items of the list that the packed trie scores; None: all.
        sample: number of items of the same list that slow peers score.
        probe_templates: number of FmLAMA templates, half of them with the country.
        sentences: number of sentences per template that the packed trie scores; slow peers score one.
        candidates: number of candidates in every sentence.
        compared: number of candidates for the comparison of scores.
        matrices, matrix_items: number of one model's matrices, each 170 countries x matrix_items.
        resamples: number of half-samples of the countries, for the intervals.
        busy_answers: number of answers per evaluation for which a simulated engine waits.
        choices: number of items of a choice that is planned.
        choice_documents, choice_sample: number of documents with options, and of those that peers score.
        simulations: number of samples for the coverage of each interval, a fraction for slow ones.
        people, people_seconds: number of people who save at once in a study's web app, and for how long.
        tasks, settings: number of CulturALL's items, and of models that have answered them.
        drafts: number of drafts of a build of CulturALL.
        shared_parts: number of parts in a shared store.
        finished_runs: numbers of finished runs in a warehouse.
        page_models, page_occasions: number of models on a page, and of occasions of the first model.
        pending: number of prompts that are answered elsewhere.
        only: the number whose intervals ``coverage`` simulates; "": all.
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
    busy_answers: int = 1_000_000
    choices: int = 2000
    choice_documents: int = 500
    choice_sample: int = 32
    simulations: int = 2000
    people: int = 100
    people_seconds: float = 300.0
    tasks: int = 2610
    settings: int = 15
    drafts: int = 5000
    shared_parts: int = 13_500
    finished_runs: tuple[int, ...] = (10_000, 50_000)
    page_models: int = 50
    page_occasions: int = 20
    pending: int = 100_000
    only: str = ""


FULL = Sizes()
QUICK = Sizes(
    repeats=1,
    shared_parts=80,
    finished_runs=(40, 80),
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
    busy_answers=0,
    choices=40,
    choice_documents=8,
    choice_sample=4,
    simulations=20,
    tasks=60,
    settings=2,
    drafts=400,
    page_models=2,
    page_occasions=2,
    pending=500,
)
