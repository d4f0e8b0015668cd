"""Judged answers for people to rate: draws a sample, writes the file to fill in, and reads it back."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
)

from tasks.data import TableError
from tasks.data import rows as table
from tasks.judging.rubric import Rubric, normal

AUDIT_COLUMNS = ("item", "group", "question", "answer", "criteria", "dimension", "annotator", "rating")
"""Columns of the annotators' file; ``read_ratings`` reads the completed file."""
RATING_COLUMNS = ("item", "annotator", "dimension", "rating")
"""Columns that the completed file must have."""

Menus = Mapping[str, Mapping[str, float]]
"""Maps dimension -> verdict -> value: the words that a rating may be."""

_Name = TypeVar("_Name", str, tuple[str, str])

# A spreadsheet runs a cell that begins with one of these as a formula, and models write the answers.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class JudgedAnswer:
    """One answer that a judge has scored on one dimension.

    Attributes:
        dimension: name of the rubric, such as "specificity".
        item: the item that the answer is about; ``question`` shows it to people.
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
        """The code in the annotators' column "item", which hides the model: "a" and 12 hex digits.

        It depends only on model, dimension, item and the answer's words, so a rating belongs to the words
        that people saw. Audits can be joined without a key file, because the codes can be recomputed from the
        answers.
        """
        return "a" + _digest(self.model, self.dimension, self.item, self.answer)[:12]


def stratified_sample(answers: Iterable[JudgedAnswer], n: int, seed: int) -> list[JudgedAnswer]:
    """Return n answers, spread over models, dimensions and groups.

    The sample is proportional over the pairs of model and dimension, with at least one answer each, and
    within a pair over its groups. It depends on the answers and the seed, not on the answers' order. A larger
    n adds answers to it, so an audit can be continued. With at most n answers, all are returned. The order is
    shuffled, so that no annotator reads one model's answers in a row.

    Seats go to the pairs one by one, each to the pair with the highest share per seat, size / (2 * seats + 1)
    (Sainte-Lague's method).

    Raises:
        ValueError: n is below 1 or below the number of pairs.
    """
    pairs: dict[tuple[str, str], list[JudgedAnswer]] = defaultdict(list)
    for answer in answers:
        pairs[answer.model, answer.dimension].append(answer)
    if n < max(1, len(pairs)):
        raise ValueError(
            f"a sample of {n} cannot hold one answer for each of {len(pairs)} pairs of model and dimension: "
            f"ask for at least {max(1, len(pairs))}"
        )
    seats = _seats({pair: len(members) for pair, members in pairs.items()}, n)
    chosen = [answer for pair, members in pairs.items() for answer in _spread(members, seed)[: seats[pair]]]
    return sorted(chosen, key=lambda answer: _rank(answer, seed))


@dataclass(frozen=True)
class DrawnAnswer:
    """An answer that was drawn at random.

    Attributes:
        chance: of being drawn, the same for all answers of the stratum. population: hash of these answers.
    """

    answer: JudgedAnswer
    stratum: str
    chance: float
    population: str


def random_sample(strata: Mapping[str, Iterable[JudgedAnswer]], n: int, seed: int) -> list[DrawnAnswer]:
    """Return n answers, drawn at random within strata in proportion to their sizes, at least one of each.

    All orders of a stratum are equally likely, by a hash of seed and code, so that every answer of a stratum
    has the same chance. Equal answers about one item are one. A larger n adds answers. The order is shuffled.

    Raises:
        ValueError: n is below 1 or below the number of strata.
    """
    own = {name: {answer.code: answer for answer in answers} for name, answers in strata.items()}
    if n < max(1, len(own)):
        raise ValueError(
            f"a sample of {n} cannot hold one answer for each of {len(own)} strata (model, dimension, source "
            f"and language): ask for at least {max(1, len(own))}"
        )
    seats = _seats({name: len(of) for name, of in own.items()}, n)
    chosen = [
        DrawnAnswer(of[code], name, seats[name] / len(of), population_of(of))
        for name, of in own.items()
        for code in sorted(of, key=lambda code: _digest(str(seed), code))[: seats[name]]
    ]
    return sorted(chosen, key=lambda drawn: _rank(drawn.answer, seed))


def population_of(codes: Iterable[str]) -> str:
    """Return a hash of the answers that a sample was drawn from; their order has no effect."""
    return _digest(*sorted(set(codes)))[:16]


def criteria(rubric: Rubric) -> str:
    """Return the rules and the permitted ratings: verdicts and, unless these are numbers, 0 to 1."""
    is_scale = has_numbers(rubric.verdicts)
    menu = f"Rating: {', '.join(rubric.verdicts)}{'' if is_scale else ', or a number from 0 to 1'}."
    return f"{rubric.rules}\n\n{menu}"


def annotation_rows(sample: Sequence[JudgedAnswer], criteria: Mapping[str, str]) -> list[dict[str, str]]:
    """Return rows of ``AUDIT_COLUMNS`` for a CSV file, one per answer; annotator and rating are empty.

    A text that a spreadsheet would run as a formula gets an apostrophe in front.

    Args:
        criteria: dimension -> criteria by which an answer is judged.
    """
    cells = (
        (a.code, *map(_as_text, (a.group, a.question, a.answer, criteria[a.dimension])), a.dimension, "", "")
        for a in sample
    )
    return [dict(zip(AUDIT_COLUMNS, own, strict=True)) for own in cells]


def _seats(sizes: Mapping[_Name, int], n: int) -> Counter[_Name]:
    """Return the number of seats per stratum: one each, then by highest average; the first name wins ties.

    No stratum gets more seats than answers: then its average falls below 1/2, and all others are above.
    """
    seats, pairs = Counter(dict.fromkeys(sizes, 1)), sorted(sizes)
    for _ in range(min(n, sum(sizes.values())) - len(sizes)):
        seats[max(pairs, key=lambda pair: sizes[pair] / (2 * seats[pair] + 1))] += 1
    return seats


def _spread(members: Iterable[JudgedAnswer], seed: int) -> list[JudgedAnswer]:
    """Return a pair's answers in an order whose every prefix holds the groups in proportion.

    A group's answers, ordered by a hash, are placed at even distances between 0 and 1. The start is a hash
    too, so each answer has the same chance of an early place.
    """
    groups: dict[str, list[JudgedAnswer]] = defaultdict(list)
    for answer in sorted(members, key=lambda answer: _rank(answer, seed)):
        groups[answer.group].append(answer)
    placed = []
    for group, answers in groups.items():
        start = int(_digest(str(seed), group, answers[0].model, answers[0].dimension)[:8], 16) / 16**8
        placed += [((place + start) / len(answers), group, a) for place, a in enumerate(answers)]
    return [answer for _, _, answer in sorted(placed, key=lambda entry: entry[:2])]


def _rank(answer: JudgedAnswer, seed: int) -> str:
    return _digest(str(seed), answer.code)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _as_text(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


class RatingsError(ValueError):
    """A file of ratings that cannot be used; the message names the file, the line and the column."""


def has_numbers(menu: Iterable[str]) -> bool:
    """Return whether verdicts are numbers, such as 1 to 10: a rating from 0 to 1 would be ambiguous."""
    return all(re.fullmatch(r"\d+", word.strip()) for word in menu)


def _number(cell: str, info: ValidationInfo) -> float:
    """Return a number, or the value of a word on the dimension's menu.

    A menu of numbers allows no other number.
    """
    menu: Mapping[str, float] = (info.context or {}).get(info.data.get("dimension"), {})
    is_scale = bool(menu) and has_numbers(menu)
    words: Mapping[str, float] = menu if is_scale else {"yes": 1.0, "no": 0.0, **menu}
    for word, value in words.items():
        if normal(word) == normal(cell):
            return value
    if is_scale:
        raise ValueError(f"{cell!r} is not one of {', '.join(words)}: rate this dimension on its own scale")
    try:
        return float(cell)
    except ValueError:
        raise ValueError(f"{cell!r} is neither a number nor one of {', '.join(words)}") from None


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Name = Annotated[Text, BeforeValidator(normal)]


class Rating(BaseModel):
    """One rating in [0, 1]; annotator and dimension in the form of ``rubric.normal``.

    ``written`` is the rating's word in that form, because two words may have the same value.
    """

    model_config = ConfigDict(frozen=True)

    item: Text
    annotator: Name
    dimension: Name
    rating: Annotated[float, BeforeValidator(_number), Field(ge=0, le=1)]
    written: str = ""


def read_ratings(paths: Sequence[Path], menus: Menus | None = None) -> tuple[list[Rating], int]:
    """Return the ratings in CSV files, and the number of lines without a rating.

    The files are UTF-8 with a header and have one rating per line. Other columns are ignored. A line without
    a rating was left out by its annotator.

    Args:
        paths: files in the form of ``annotation_rows``, one for all annotators or one each.
        menus: permitted ratings besides yes, no and a number from 0 to 1; compared under ``normal``.

    Raises:
        RatingsError: a file is not readable or lacks a column, a cell is empty or out of range, an annotator
            rated one dimension of an item twice, or there is no rating.
    """
    rows: list[Rating] = []
    seen: dict[tuple[str, str, str], str] = {}
    n_empty = 0
    for path in paths:
        for place, cells in _lines(path):
            where = f"{path}, {place}"
            if not cells["rating"].strip():
                n_empty += 1
                continue
            try:
                written = {**cells, "written": normal(cells["rating"])}
                rating = Rating.model_validate(written, context=menus or {})
            except ValidationError as error:
                raise RatingsError(f"{where}, {'; '.join(map(_fault, error.errors()))}") from error
            first = seen.setdefault((rating.item, rating.annotator, rating.dimension), where)
            if first != where:
                raise RatingsError(
                    f"{where}, column item: {rating.annotator!r} rated {rating.dimension} of {rating.item!r} "
                    f"already at {first}: keep one of the two"
                )
            rows.append(rating)
    if not rows:
        files = ", ".join(map(str, paths)) or "no file"
        raise RatingsError(f"no ratings in {files}: fill in the column rating")
    return rows, n_empty


def _lines(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each line's place and its unchanged cells of ``RATING_COLUMNS``.

    Raises:
        RatingsError: not readable, not UTF-8, not CSV, or a column is missing; names the line.
    """
    try:
        for place, cells in table(path, needed=RATING_COLUMNS):
            yield place, {column: cells[column] or "" for column in RATING_COLUMNS}
    except TableError as error:
        raise RatingsError(str(error)) from error


def _fault(error: Any) -> str:
    """Return a message for pydantic's error on one cell."""
    column, kind = error["loc"][0], error["type"]
    if kind == "string_too_short":
        return f"column {column}: the cell is empty"
    if kind == "value_error":
        return f"column {column}: {error['ctx']['error']}"
    return f"column {column}: {error['input']!r} is not between 0 and 1: bring the scale to 0 to 1"
