"""Which judged answers people should rate, and the rows of the file that they fill in. Pure."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

COLUMNS = ("item", "question", "answer", "criteria", "dimension", "annotator", "rating")
"""Columns of the annotators' file. ``ratings.read_ratings`` reads it as it comes back."""

# A spreadsheet takes a cell that begins so for a formula, and answers are written by models.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Answer:
    """One answer that a judge has scored.

    Attributes:
        item: name of the question within its benchmark.
        question: what the model was asked, as people should see it.
        criteria: dimension to what has to be judged of it, such as "specificity" to its rubric's text.
    """

    model: str
    benchmark: str
    item: str
    question: str
    answer: str
    criteria: Mapping[str, str]

    @property
    def code(self) -> str:
        """A name for the annotators' column "item" that tells nothing of the model: "a" and 12 hex digits.

        Depends on model, benchmark and item alone, so that several audits of one answer can be joined, and
        needs no key file: ratings are joined to the answers' codes, computed again.
        """
        return "a" + _digest(self.model, self.benchmark, self.item)[:12]


def stratified_sample(answers: Iterable[Answer], n: int, seed: int) -> list[Answer]:
    """n answers, spread over models and benchmarks in proportion, at least one of each pair that has any.

    Depends on the answers and the seed, not on the answers' order. A larger n gives the same answers and some
    more, so that an audit can be continued. All answers where there are no more than n. They come back
    shuffled, so that no annotator meets one model's answers in a row.

    Seats are dealt to the pairs one by one, each to the pair with the highest share per seat, size / (2 *
    seats + 1) (Sainte-Lague's method); within a pair answers are taken by the rank of a hash.

    Raises:
        ValueError: n is below 1 or below the number of pairs, or two answers have model, benchmark and item
            in common.
    """
    strata: dict[tuple[str, str], list[Answer]] = defaultdict(list)
    for answer in answers:
        strata[answer.model, answer.benchmark].append(answer)
    _check(strata, n)
    seats = _seats({pair: len(members) for pair, members in strata.items()}, n)
    chosen = [
        answer
        for pair, members in strata.items()
        for answer in sorted(members, key=lambda a: _rank(a, seed))[: seats[pair]]
    ]
    return sorted(chosen, key=lambda a: _rank(a, seed))


def annotation_rows(sample: Sequence[Answer]) -> list[dict[str, str]]:
    """Rows of ``COLUMNS`` for a CSV file: one for each answer and dimension; annotator and rating are empty.

    A text that a spreadsheet would run as a formula has an apostrophe before it.
    """
    return [
        {
            "item": answer.code,
            "question": _as_text(answer.question),
            "answer": _as_text(answer.answer),
            "criteria": _as_text(criteria),
            "dimension": dimension,
            "annotator": "",
            "rating": "",
        }
        for answer in sample
        for dimension, criteria in answer.criteria.items()
    ]


def _check(strata: Mapping[tuple[str, str], Sequence[Answer]], n: int) -> None:
    if n < max(1, len(strata)):
        raise ValueError(
            f"a sample of {n} cannot hold an answer of each of {len(strata)} pairs of model and benchmark: "
            f"ask for {max(1, len(strata))} at least, or for fewer models or benchmarks"
        )
    for (model, benchmark), members in strata.items():
        item, count = Counter(answer.item for answer in members).most_common(1)[0]
        if count > 1:
            raise ValueError(
                f"{model} has {count} answers to {item!r} of {benchmark}: give one (one mode, the latest run)"
            )


def _seats(sizes: Mapping[tuple[str, str], int], n: int) -> Counter[tuple[str, str]]:
    """How many answers each pair gives: one, then by the highest average; ties to the first by name.

    No pair gets more than it has: one that is used up has an average below 1/2, any other one above it.
    """
    seats, pairs = Counter(dict.fromkeys(sizes, 1)), sorted(sizes)
    for _ in range(min(n, sum(sizes.values())) - len(sizes)):
        seats[max(pairs, key=lambda pair: sizes[pair] / (2 * seats[pair] + 1))] += 1
    return seats


def _rank(answer: Answer, seed: int) -> str:
    return _digest(str(seed), answer.model, answer.benchmark, answer.item)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _as_text(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
