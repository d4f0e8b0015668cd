"""A model that reads no question is above no null, wherever the right options of a benchmark lie."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deployments.evaluations import evaluation
from tests.published import invented
from tests.published.test_numbers import choosing, run_of

Options = Sequence[str]
Place = Callable[[int, Options], int]
"""(number of the part, options) -> place of the right one"""

NEGATIVE = {"False", "unknown"}
PLACES: Mapping[str, Place] = {
    "mixed": lambda part, options: sum(map(ord, options[0])) % len(options),
    "another in each part": lambda part, options: part,
    "first": lambda part, options: 0,
    "last": lambda part, options: len(options) - 1,
    "longest": lambda part, options: int(np.argmax(list(map(len, options)))),
    "shortest": lambda part, options: int(np.argmin(list(map(len, options)))),
}


def at(place: int) -> Callable[[Options], int]:
    """Return the choice of one place, or the last where there are fewer."""
    return lambda options: min(place, len(options) - 1)


CHOICES: Mapping[str, Callable[[Options], int]] = {
    **{f"always {letter}": at(n) for n, letter in enumerate("ABCD")},
    "longest": lambda options: int(np.argmax(list(map(len, options)))),
    "shortest": lambda options: int(np.argmin(list(map(len, options)))),
    "negative": lambda options: next((n for n, text in enumerate(options) if text in NEGATIVE), 0),
}


def words(rng: random.Random, n: int) -> list[str]:
    """Return n words, all of different lengths."""
    return ["".join(rng.choices("abcdefghij", k=k)) for k in rng.sample(range(4, 15), n)]


def click(root: Path, n: int, options: list[str], part: int, right: int) -> tuple[Path, dict[str, Any]]:
    file = root / ("Society_KIIP.json", "Law_PSAT.json", "History_KHB.json")[part]
    return file, {
        "id": f"q_{n}",
        "paragraph": "",
        "question": f"Q{n}?",
        "choices": options,
        "answer": options[right],
    }


def include(root: Path, n: int, options: list[str], part: int, right: int) -> tuple[Path, dict[str, Any]]:
    language = ("Greek", "Basque", "Korean")[part]
    return root / f"{language}.jsonl", {
        "question": f"Q{n}?", "choices": options, "answer": right, "language": language, "country": "x"
    }  # fmt: skip


def culturalbench_easy(
    root: Path, n: int, options: list[str], part: int, right: int
) -> tuple[Path, dict[str, Any]]:
    cells = {f"prompt_option_{k}": text for k, text in zip("abcd", options, strict=True)}
    country = ("Peru", "Iran", "Chad")[part]
    own = {"data_idx": n, "prompt_question": f"Q{n}?", "answer": "ABCD"[right], "country": country}
    return root / "CulturalBench-Easy.csv", own | cells


def global_mmlu(root: Path, n: int, options: list[str], part: int, right: int) -> tuple[Path, dict[str, Any]]:
    cells = {f"option_{k}": text for k, text in zip("abcd", options, strict=True)}
    own = {
        "sample_id": f"h/{n}",
        "question": f"Q{n}?",
        "answer": "ABCD"[right],
        "cultural_sensitivity_label": "CS",
    }
    return root / ("en", "sw", "ko")[part] / "test-0.jsonl", own | cells


def arab_culture(
    root: Path, n: int, options: list[str], part: int, right: int
) -> tuple[Path, dict[str, Any]]:
    country = ("Egypt", "Oman", "Iraq")[part]
    return root / f"{country}.jsonl", {
        "first_statement": f"S{n}.", "country": country,
        "options": {"english_keys": [*"ABC"], "text": options},
        "answer_key": {"english_answer_key": "ABC"[right]}, "should_discard": "No",
    }  # fmt: skip


WRITERS = {click: 4, include: 4, culturalbench_easy: 4, global_mmlu: 4, arab_culture: 3}


def kobbq(root: Path) -> None:
    """Write twenty templates, with other people in each."""
    invented.kobbq(root)
    rng, rows = random.Random(5), []
    for record in invented.rows_of(root / "data/KoBBQ_test_samples.tsv"):
        for n in range(20):
            old, young = words(rng, 2)
            text = json.dumps(record).replace("the old one", old).replace("the young one", young)
            row = json.loads(text.replace("not known", "unknown").replace("age-001", f"age-{n:03d}"))
            rows.append(row | {"question": f"{row['question']} {n}"})
    invented.write(root / "data/KoBBQ_test_samples.tsv", rows)


def culturalbench_hard(root: Path) -> None:
    rows = [
        {"data_idx": 4 * q + n, "question_idx": q, "prompt_question": f"Q{q}?", "prompt_option": f"s{n} {q}",
         "answer": str(n == q % 4), "country": ("Peru", "Iran")[q % 2]}
        for q in range(40) for n in range(4)
    ]  # fmt: skip
    invented.write(root / "CulturalBench-Hard.csv", rows)


def by(choose: Callable[[Options], int]) -> Callable[[Any], Any]:
    """Return the answers of a model that chooses by the options alone."""
    return choosing(lambda question: choose(question.options))


def sets(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield (benchmark, folder): 30 questions in three parts, for every way to place the right ones."""
    for write, n_options in WRITERS.items():
        for name, place in PLACES.items():
            rng, files = random.Random(7), dict[Path, list[dict[str, Any]]]()
            folder = root / write.__name__ / name.replace(" ", "-")
            for n in range(30):
                options = words(rng, n_options)
                file, row = write(folder, n, options, n % 3, place(n % 3, options))
                files.setdefault(file, []).append(row)
            for file, rows in files.items():
                invented.write(file, rows)
            yield write.__name__, folder
    for whole in (kobbq, culturalbench_hard):
        whole(root / whole.__name__)
        yield whole.__name__, root / whole.__name__


@pytest.mark.heavy
def test_no_fixed_choice_is_above_the_null_of_any_slice(tmp_path: Path) -> None:
    seen = set()
    for name, folder in sets(tmp_path):
        for how, choose in CHOICES.items():
            rows = run_of(name, folder, by(choose))
            for (model, metric, *where), row in rows.items():
                if (model, metric) == ("m", "accuracy") and row.value is not None:
                    assert row.null_value is not None
                    assert row.value <= row.null_value + 1e-9, (name, folder.name, how, where)
                    seen.add((name, *where))
    assert {name for name, *_ in seen} == {w.__name__ for w in (*WRITERS, kobbq, culturalbench_hard)}
    assert len(seen) > 20


def test_what_a_knob_does_not_draw_is_part_of_the_data(tmp_path: Path) -> None:
    """Two faulty rows of 160 stay two of 160, also where five questions are drawn."""
    culturalbench_hard(tmp_path)
    file = tmp_path / "CulturalBench-Hard.csv"
    rows = invented.rows_of(file)
    invented.write(file, [row | ({"prompt_option": ""} if n < 2 else {}) for n, row in enumerate(rows)])
    made = evaluation("culturalbench_hard")
    for questions, n_items in ((None, 156), (5, 20)):
        study: Any = made.study(made.params(models=["m"], data=str(tmp_path), questions=questions), {}, {})
        assert (len(study.items), study.loaded.used) == (n_items, {"items": 156})
        assert sum(study.loaded.left_out.values()) == 4  # the two rows, and the rest of their question


def test_entities_that_are_not_drawn_are_part_of_the_data(tmp_path: Path) -> None:
    invented.camel(tmp_path)
    made = evaluation("camel")
    for entities, n in ((None, 8), (1, 4)):
        study: Any = made.study(made.params(models=["m"], data=str(tmp_path), entities=entities), {}, {})
        assert (len(study.loaded.members), study.loaded.used["entities"]) == (n, 8)
