"""The review queue: drafts to a CSV file, people's decisions back, and the rows to publish."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tasks.evaluations.cure.specnorm.drafting import STANCES, Draft, read_written
from tasks.evaluations.cure.specnorm.seeds import join_cues, parse_cues, specificity
from tasks.identity import digest

Decision = Literal["accept", "revise", "reject"]
DECISIONS: tuple[Decision, ...] = ("accept", "revise", "reject")

TEXTS = ("persona", "situation", "question", "label", "norm")
"""What a reviewer may change, with the decision "revise"."""

_GIVEN = ("seed", "country", "cues", "statement", "stance", "model", "prompt_hash", "text_hash")
_ASKED = ("decision", "reviewer", "note")
COLUMNS = (*_GIVEN, *TEXTS, *_ASKED)
"""Header of a queue file. ``text_hash`` shows whether the texts were changed since."""


class ReviewError(ValueError):
    """A review file that cannot be used; the message names the file, the line and the column."""


@dataclass(frozen=True)
class Review:
    """A decision on a draft. ``draft`` holds the texts as the reviewer left them, ``text_hash`` is of those
    that the model wrote."""

    draft: Draft
    model: str
    prompt_hash: str
    text_hash: str
    decision: Decision
    reviewer: str
    note: str


@dataclass(frozen=True)
class Reviews:
    """The decided rows of a file, in its order, and how many are still open."""

    decided: tuple[Review, ...]
    n_pending: int


def write_queue(path: Path, drafts: Sequence[Draft], model: str, prompt_hash: str) -> None:
    """One line a draft, UTF-8 with a byte order mark so that spreadsheets read it; decisions are empty.

    Raises:
        FileExistsError: there is a file already: it may hold decisions.
    """
    with path.open("x", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for draft in drafts:
            texts = draft.written.model_dump()
            given = {
                "seed": draft.seed,
                "country": draft.country,
                "cues": join_cues(draft.cues),
                "statement": draft.statement,
                "stance": draft.stance,
                "model": model,
                "prompt_hash": prompt_hash,
                "text_hash": text_hash(texts),
            }
            writer.writerow(given | texts | dict.fromkeys(_ASKED, ""))


def read_reviews(path: Path) -> Reviews:
    """Read a queue file back. A row whose decision is empty is pending.

    A decision needs a reviewer, "revise" and "reject" need a note, "revise" needs a changed text, and the
    others texts as they were.

    Raises:
        ReviewError: not readable, a column is missing, a cell is off the menu or breaks a rule above, or a
            seed is there twice.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reviews = list(_rows(path, csv.DictReader(file, strict=True)))
    except OSError as error:
        raise ReviewError(f"there is no readable review file at {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ReviewError(f"{path}: not UTF-8 ({error.reason}): save it as CSV in UTF-8") from error
    decided = tuple(review for review in reviews if review)
    return Reviews(decided, len(reviews) - len(decided))


def published(reviews: Sequence[Review]) -> list[dict[str, str]]:
    """The accepted and revised rows with their provenance, as ``benchmarks.specnorm`` reads them."""
    return [
        {
            "country": review.draft.country,
            **review.draft.written.model_dump(),
            "cues": join_cues(review.draft.cues),
            "specificity": specificity(len(review.draft.cues)),
            "seed": review.draft.seed,
            "model": review.model,
            "prompt_hash": review.prompt_hash,
            "decision": review.decision,
            "reviewer": review.reviewer,
        }
        for review in reviews
        if review.decision != "reject"
    ]


def text_hash(texts: Mapping[str, str]) -> str:
    """Identifies the texts of a draft, by field; others in the mapping do not count."""
    # Not bare hex digits, which a spreadsheet may take for a number.
    return f"text-{digest([texts[name] for name in TEXTS])}"


def _rows(path: Path, reader: csv.DictReader[str]) -> Iterator[Review | None]:
    """Each line's review, None where it is pending."""
    missing = set(COLUMNS) - set(reader.fieldnames or ())
    if missing:
        raise ReviewError(f"{path}, line 1: the header lacks the columns {', '.join(sorted(missing))}")
    lines: dict[str, int] = {}
    try:
        for cells in reader:
            where = f"{path}, line {reader.line_num}"
            if None in cells or None in cells.values():
                raise ReviewError(f"{where}: not as many cells as columns: quote texts that hold a comma")
            row = {name: cell.strip() for name, cell in cells.items()}
            first = lines.setdefault(row["seed"], reader.line_num)
            if first != reader.line_num:
                raise ReviewError(f"{where}, column seed: on line {first} already: keep one of the two")
            yield _review(where, row)
    except csv.Error as error:
        raise ReviewError(f"{path}, line {reader.reader.line_num}: not CSV: {error}") from error


def _review(where: str, row: dict[str, str]) -> Review | None:
    decision = _decision(where, row)
    if decision is None:
        return None
    if not row["reviewer"]:
        raise ReviewError(f"{where}, column reviewer: empty: say who decided {decision!r}")
    if decision != "accept" and not row["note"]:
        raise ReviewError(f"{where}, column note: empty: say why you decided {decision!r}")
    changed = text_hash(row) != row["text_hash"]
    if changed and decision != "revise":
        raise ReviewError(
            f"{where}, column decision: {decision!r}, but the texts were changed: write 'revise'"
        )
    if decision == "revise" and not changed:
        raise ReviewError(
            f"{where}, column decision: 'revise', but no text was changed: change it, or reject"
        )
    return Review(
        draft=_draft(where, row),
        model=row["model"],
        prompt_hash=row["prompt_hash"],
        text_hash=row["text_hash"],
        decision=decision,
        reviewer=row["reviewer"],
        note=row["note"],
    )


def _decision(where: str, row: dict[str, str]) -> Decision | None:
    """The decision in our spelling, None where the cell is empty."""
    given = row["decision"].casefold()
    decision = next((decision for decision in DECISIONS if decision == given), None)
    if given and decision is None:
        menu = ", ".join(DECISIONS)
        raise ReviewError(f"{where}, column decision: {row['decision']!r} is not one of {menu}, or empty")
    return decision


def _draft(where: str, row: dict[str, str]) -> Draft:
    try:
        written = read_written({name: row[name] for name in TEXTS})
        cues = parse_cues(row["cues"])
    except ValueError as error:
        raise ReviewError(f"{where}: {error}") from error
    stance = next((stance for stance in STANCES if stance == row["stance"]), None)
    if stance is None:
        raise ReviewError(
            f"{where}, column stance: {row['stance']!r} is neither yes nor no: do not change it"
        )
    return Draft(row["seed"], row["country"], row["statement"], cues, stance, written)
