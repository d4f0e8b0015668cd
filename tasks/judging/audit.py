"""Which judged answers people should rate, and the rows of the file that they fill in. Pure."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tasks.judging.ratings import has_numbers
from tasks.judging.rubric import Rubric

COLUMNS = ("item", "group", "question", "answer", "criteria", "dimension", "annotator", "rating")
"""Columns of the annotators' file. ``ratings.read_ratings`` reads it as it comes back."""

# A spreadsheet takes a cell that begins so for a formula, and answers are written by models.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Answer:
    """One answer that a judge has scored on one dimension.

    Attributes:
        dimension: what it is judged on: the name of the rubric, such as "specificity".
        item: what it is about; ``question`` is that item as people should see it.
        group: what results are grouped by, such as a country.
    """

    model: str
    dimension: str
    item: str
    group: str
    question: str
    answer: str

    @property
    def code(self) -> str:
        """A name for the annotators' column "item" that tells nothing of the model: "a" and 12 hex digits.

        Depends on model, dimension, item and the answer's words alone, so that a rating holds for the words
        that people saw, several audits can be joined, and no key file is needed: ratings are joined to the
        answers' codes, computed again.
        """
        return "a" + _digest(self.model, self.dimension, self.item, self.answer)[:12]


def stratified_sample(answers: Iterable[Answer], n: int, seed: int) -> list[Answer]:
    """n answers, spread over models, dimensions and groups.

    In proportion over the pairs of model and dimension, at least one of each; within a pair, over its groups.
    Depends on the answers and the seed, not on the answers' order. A larger n gives the same answers and some
    more, so that an audit can be continued. All answers where there are no more than n. They come back
    shuffled, so that no annotator meets one model's answers in a row.

    Seats are dealt to the pairs one by one, each to the pair with the highest share per seat, size / (2 *
    seats + 1) (Sainte-Lague's method).

    Raises:
        ValueError: n is below 1 or below the number of pairs.
    """
    pairs: dict[tuple[str, str], list[Answer]] = defaultdict(list)
    for answer in answers:
        pairs[answer.model, answer.dimension].append(answer)
    if n < max(1, len(pairs)):
        raise ValueError(
            f"a sample of {n} cannot hold an answer of each of {len(pairs)} pairs of model and dimension: "
            f"ask for {max(1, len(pairs))} at least"
        )
    seats = _seats({pair: len(members) for pair, members in pairs.items()}, n)
    chosen = [answer for pair, members in pairs.items() for answer in _spread(members, seed)[: seats[pair]]]
    return sorted(chosen, key=lambda answer: _rank(answer, seed))


def rules(rubric: Rubric) -> str:
    """What people are told to rate by: the judge's own rules, but for the paragraph on how to write JSON."""
    return "\n\n".join(text for text in rubric.system.strip().split("\n\n") if "JSON" not in text)


def criteria(rubric: Rubric) -> str:
    """The rules, and what a cell of the file may hold: a verdict, or a number where verdicts are none."""
    is_scale = has_numbers(rubric.verdicts)
    menu = f"Rating: {', '.join(rubric.verdicts)}{'' if is_scale else ', or a number from 0 to 1'}."
    return f"{rules(rubric)}\n\n{menu}"


def annotation_rows(sample: Sequence[Answer], criteria: Mapping[str, str]) -> list[dict[str, str]]:
    """Rows of ``COLUMNS`` for a CSV file, one per answer; annotator and rating are empty.

    A text that a spreadsheet would run as a formula has an apostrophe before it.

    Args:
        criteria: dimension -> what has to be judged of an answer.
    """
    return [
        {
            "item": answer.code,
            "group": _as_text(answer.group),
            "question": _as_text(answer.question),
            "answer": _as_text(answer.answer),
            "criteria": _as_text(criteria[answer.dimension]),
            "dimension": answer.dimension,
            "annotator": "",
            "rating": "",
        }
        for answer in sample
    ]


def _seats(sizes: Mapping[tuple[str, str], int], n: int) -> Counter[tuple[str, str]]:
    """How many answers each pair gives: one, then by the highest average; ties to the first by name.

    No pair gets more than it has: one that is used up has an average below 1/2, any other one above it.
    """
    seats, pairs = Counter(dict.fromkeys(sizes, 1)), sorted(sizes)
    for _ in range(min(n, sum(sizes.values())) - len(sizes)):
        seats[max(pairs, key=lambda pair: sizes[pair] / (2 * seats[pair] + 1))] += 1
    return seats


def _spread(members: Iterable[Answer], seed: int) -> list[Answer]:
    """A pair's answers in an order of which each beginning holds its groups in proportion.

    Systematic: a group's answers, in the order of a hash, stand at even distances between 0 and 1, from a
    start that is a hash too, so that each answer has the same chance to be early.
    """
    groups: dict[str, list[Answer]] = defaultdict(list)
    for answer in sorted(members, key=lambda answer: _rank(answer, seed)):
        groups[answer.group].append(answer)
    placed = []
    for group, answers in groups.items():
        start = int(_digest(str(seed), group, answers[0].model, answers[0].dimension)[:8], 16) / 16**8
        placed += [((place + start) / len(answers), group, a) for place, a in enumerate(answers)]
    return [answer for _, _, answer in sorted(placed, key=lambda entry: entry[:2])]


def _rank(answer: Answer, seed: int) -> str:
    return _digest(str(seed), answer.code)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _as_text(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
