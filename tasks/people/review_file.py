"""Review files: pending items for people as CSV, and their decisions read back. Knows no evaluation.

A row has fixed columns, texts that a reviewer may change with the decision "revise", and the columns
decision, reviewer and note to fill in.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tasks.data import TableError
from tasks.data import rows as table
from tasks.identity import digest

Decision = Literal["accept", "revise", "reject"]
DECISIONS: tuple[Decision, ...] = ("accept", "revise", "reject")

ASKED = ("decision", "reviewer", "note")


class ReviewError(ValueError):
    """A review file that cannot be used; the message names the file, the line and the column."""


@dataclass(frozen=True)
class Decided:
    """A row with a decision.

    ``cells``: all columns but ``ASKED`` as the reviewer left them; ``where``: the line.
    """

    where: str
    cells: Mapping[str, str]
    decision: Decision
    reviewer: str
    note: str


@dataclass(frozen=True)
class Decisions:
    """The decided rows of a file, in its order, and the number of open rows."""

    decided: tuple[Decided, ...]
    n_pending: int


@dataclass(frozen=True)
class ReviewFile:
    """The columns of a file.

    Attributes:
        key: the column of ``given`` that identifies a row; unique. given: columns that must not change,
            ``text_hash`` among them, which shows whether the texts were changed. texts: columns that a
            reviewer may change.
    """

    key: str
    given: tuple[str, ...]
    texts: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The header."""
        return (*self.given, *self.texts, *ASKED)

    def text_hash(self, cells: Mapping[str, str]) -> str:
        """Return a hash of the texts; other cells do not count."""
        # A prefix, because a spreadsheet may read bare hex digits as a number.
        return f"text-{digest([cells[name] for name in self.texts])}"

    def write(self, path: Path, rows: Iterable[Mapping[str, str]]) -> None:
        """Write one line per row of fixed cells and texts, in UTF-8 with a byte order mark for spreadsheets.

        Raises:
            FileExistsError: the file exists and may hold decisions.
        """
        with path.open("x", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, self.columns)
            writer.writeheader()
            for row in rows:
                writer.writerow({"text_hash": self.text_hash(row), **row, **dict.fromkeys(ASKED, "")})

    def read(self, path: Path) -> Decisions:
        """Read a file back. A row whose decision is empty is pending.

        A decision needs a reviewer; "revise" and "reject" need a note. "revise" needs a changed text, the
        other decisions unchanged texts.

        Raises:
            ReviewError: not readable, a column is missing, a cell has an unknown value or breaks a rule
                above, or a key occurs twice.
        """
        try:
            rows = list(self._rows(path))
        except TableError as error:
            raise ReviewError(str(error)) from error
        decided = tuple(row for row in rows if row)
        return Decisions(decided, len(rows) - len(decided))

    def _rows(self, path: Path) -> Iterator[Decided | None]:
        """Yield each line's decision, None if it is pending."""
        first: dict[str, str] = {}
        for place, cells in table(path, needed=self.columns):
            where = f"{path}, {place}"
            row = {name: (cell or "").strip() for name, cell in cells.items()}
            if (before := first.setdefault(row[self.key], place)) != place:
                raise ReviewError(f"{where}, column {self.key}: on {before} already: keep one of the two")
            yield self._decided(where, row)

    def _decided(self, where: str, row: dict[str, str]) -> Decided | None:
        decision = _decision(where, row)
        if decision is None:
            return None
        if not row["reviewer"]:
            raise ReviewError(f"{where}, column reviewer: empty: say who decided {decision!r}")
        if decision != "accept" and not row["note"]:
            raise ReviewError(f"{where}, column note: empty: say why you decided {decision!r}")
        changed = self.text_hash(row) != row["text_hash"]
        if changed and decision != "revise":
            raise ReviewError(
                f"{where}, column decision: {decision!r}, but the texts were changed: write 'revise'"
            )
        if decision == "revise" and not changed:
            raise ReviewError(
                f"{where}, column decision: 'revise', but no text was changed: change it, or reject"
            )
        cells = {name: row[name] for name in (*self.given, *self.texts)}
        return Decided(where, cells, decision, row["reviewer"], row["note"])


def check_new(path: Path, option: str = "--queue") -> None:
    """Raise ReviewError if a new review file cannot be written. option: the option that names the file."""
    if path.exists():
        raise ReviewError(f"{path} exists and may hold decisions: name another file with {option}")
    if not path.parent.is_dir():
        raise ReviewError(f"{path}: there is no folder {path.parent}: create it, or name another file")


def _decision(where: str, row: dict[str, str]) -> Decision | None:
    """Return the decision in our spelling, None if the cell is empty."""
    word = row["decision"].casefold()
    decision = next((decision for decision in DECISIONS if decision == word), None)
    if word and decision is None:
        menu = ", ".join(DECISIONS)
        raise ReviewError(f"{where}, column decision: {row['decision']!r} is not one of {menu}, or empty")
    return decision
