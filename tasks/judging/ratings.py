"""People's ratings of judged answers, read from CSV files and checked."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
)

from tasks.judging.rubric import normal

COLUMNS = ("item", "annotator", "dimension", "rating")
YES_NO: Mapping[str, float] = {"yes": 1.0, "no": 0.0}

Menus = Mapping[str, Mapping[str, float]]
"""Dimension -> verdict -> its value: the words that a rating may be."""


class RatingsError(ValueError):
    """A file of ratings that cannot be used; the message names the file, the line and the column."""


def has_numbers(menu: Iterable[str]) -> bool:
    """Whether the verdicts are numbers, such as 1 to 10: a number from 0 to 1 would be mistaken for one."""
    return all(re.fullmatch(r"\d+", word.strip()) for word in menu)


def _number(cell: str, info: ValidationInfo) -> float:
    """A number, or the value of a word of the dimension's menu; of a menu of numbers these alone."""
    menu: Mapping[str, float] = (info.context or {}).get(info.data.get("dimension"), {})
    is_scale = bool(menu) and has_numbers(menu)
    words: Mapping[str, float] = menu if is_scale else {**YES_NO, **menu}
    for word, value in words.items():
        if normal(word) == normal(cell):
            return value
    if is_scale:
        raise ValueError(f"{cell!r} is none of {', '.join(words)}: rate this dimension on its own scale")
    try:
        return float(cell)
    except ValueError:
        raise ValueError(f"{cell!r} is neither a number nor one of {', '.join(words)}") from None


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Name = Annotated[Text, BeforeValidator(normal)]


class Rating(BaseModel):
    """One rating: annotator and dimension in the form of ``rubric.normal``, the rating in [0, 1].

    ``said`` is the rating as it was written, in that form: two words may have the same value.
    """

    model_config = ConfigDict(frozen=True)

    item: Text
    annotator: Name
    dimension: Name
    rating: Annotated[float, BeforeValidator(_number), Field(ge=0, le=1)]
    said: str = ""


@dataclass(frozen=True)
class Ratings:
    """The ratings of all files, in their order, and how many lines had no rating."""

    rows: tuple[Rating, ...]
    n_empty: int


def read_ratings(paths: Sequence[Path], menus: Menus | None = None) -> Ratings:
    """Read ratings from CSV files with a header, UTF-8, one rating per line; further columns are ignored.

    Args:
        paths: one file for all annotators or one each, such as ``audit.annotation_rows`` makes them.
        menus: what a rating may be besides yes, no and a number from 0 to 1; compared under ``normal``.

    A line without a rating is one that its annotator left out: it is counted and does no harm.

    Raises:
        RatingsError: a file is not readable, lacks a column, has a cell that is empty or out of range, or an
            annotator rated one dimension of an item twice; or there is no rating at all.
    """
    rows: list[Rating] = []
    seen: dict[tuple[str, str, str], str] = {}
    n_empty = 0
    for path in paths:
        for line, cells in _lines(path):
            where = f"{path}, line {line}"
            if not cells["rating"].strip():
                n_empty += 1
                continue
            rating = _checked(where, cells, menus or {})
            first = seen.setdefault((rating.item, rating.annotator, rating.dimension), where)
            if first != where:
                raise RatingsError(
                    f"{where}, column item: {rating.annotator!r} rated {rating.dimension} of {rating.item!r} "
                    f"at {first} already: keep one of the two"
                )
            rows.append(rating)
    if not rows:
        files = ", ".join(map(str, paths)) or "no file"
        raise RatingsError(f"no ratings in {files}: fill in the column rating")
    return Ratings(tuple(rows), n_empty)


def _lines(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The number of each line of a CSV file, and its cells of ``COLUMNS`` as written; others are ignored.

    Raises:
        RatingsError: not readable, not UTF-8, not CSV, or a column is missing; names the line.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            missing = set(COLUMNS) - set(reader.fieldnames or ())
            if missing:
                raise RatingsError(
                    f"{path}, line 1: the header lacks {sorted(missing)}; it is {reader.fieldnames}"
                )
            for cells in reader:
                if None in cells:
                    raise RatingsError(
                        f"{path}, line {reader.line_num}: more cells than the header; quote texts that hold "
                        f"a comma"
                    )
                yield reader.line_num, {column: cells[column] or "" for column in COLUMNS}
    except OSError as error:
        raise RatingsError(f"there are no readable ratings at {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RatingsError(f"{path}: not UTF-8 ({error.reason}): save it as CSV in UTF-8") from error
    except csv.Error as error:
        # The outer reader counts only the lines that it could read.
        raise RatingsError(f"{path}, line {reader.reader.line_num}: not CSV: {error}") from error


def _checked(where: str, cells: Mapping[str, str], menus: Menus) -> Rating:
    try:
        return Rating.model_validate({**cells, "said": normal(cells["rating"])}, context=menus)
    except ValidationError as error:
        raise RatingsError(f"{where}, {'; '.join(map(_fault, error.errors()))}") from error


def _fault(error: Any) -> str:
    """What pydantic found wrong with one cell, in our words."""
    column, kind = error["loc"][0], error["type"]
    if kind == "string_too_short":
        return f"column {column}: the cell is empty"
    if kind == "value_error":
        return f"column {column}: {error['ctx']['error']}"
    return f"column {column}: {error['input']!r} is not between 0 and 1: bring the scale to 0 to 1"
