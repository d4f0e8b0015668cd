"""Writes the queue for reviewers as a file and reads their decisions. Pure.

One shape for both queues: harder versions of easy drafts, and drafts before they are published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tasks.builders.culturall.checks import ItemFault, draft_faults
from tasks.builders.culturall.drafts import TEXTS, item_of
from tasks.identity import digest
from tasks.people.review_file import Decided, ReviewError, ReviewFile

QUEUE = ReviewFile(
    key="draft",
    given=(
        "draft",
        "stage",
        "language",
        "form",
        "origin",
        "technique",
        "author",
        "solved",
        "doubts",
        "text_hash",
    ),
    texts=("region", "topic", *TEXTS[:3], "variants", *TEXTS[3:]),
)


@dataclass(frozen=True)
class CulturallReview:
    """Contents of a review file.

    Attributes:
        decisions: rows of culturall_review. revisions: rows of culturall_draft.
        faulty: revised rows that the checks reject; neither of the others has them.
    """

    decisions: list[dict[str, Any]]
    revisions: list[dict[str, Any]]
    faulty: tuple[tuple[Decided, tuple[ItemFault, ...]], ...]


def queue_row(row: Mapping[str, Any], stage: str, doubts: Sequence[str]) -> dict[str, str]:
    """A line of a queue.

    Args:
        row: of culturall_draft, with n_right and n_models of culturall_draft_state. doubts: in words.
    """
    solved = f"{row['n_right']} of {row['n_models']}" if row["n_models"] else ""
    cells = {name: str(row.get(name) or "") for name in (*QUEUE.given, *QUEUE.texts)}
    own = {"stage": stage, "solved": solved, "doubts": "; ".join(doubts)}
    return cells | own | {"text_hash": QUEUE.text_hash(cells)}


def compare(
    decided: Sequence[Decided], waiting: Mapping[tuple[str, str], Mapping[str, str]], now: datetime
) -> CulturallReview:
    """Compare decisions with the queue, and check revised texts again.

    Args:
        waiting: (stage, draft) -> its present ``queue_row``, for all drafts that wait or are decided.

    Raises:
        ReviewError: there is no such draft, a column that is not the reviewer's was changed, or the
        reviewer is
            the author.
    """
    decisions, revisions, faulty = [], [], []
    for row in decided:
        line = waiting.get((row.cells["stage"], row.cells["draft"]))
        if line is None or line["text_hash"] != row.cells["text_hash"]:
            raise ReviewError(
                f"{row.where}: no such draft waits in this warehouse: do not change draft, stage and "
                "text_hash, and set CULTURESCOPE_HOME to the home in which the queue was written"
            )
        if row.reviewer.casefold() == line["author"].casefold():
            raise ReviewError(
                f"{row.where}, column reviewer: {row.reviewer} is the author: somebody else must decide"
            )
        if row.decision == "revise":
            revision = _revision(row, line)
            if faults := tuple(f for f in draft_faults(item_of(revision)) if not f.is_doubt):
                faulty.append((row, faults))
                continue
            revisions.append(revision | {"made_at": now})
        decisions.append(
            {
                "draft": row.cells["draft"],
                "stage": row.cells["stage"],
                "decision": row.decision,
                "reviewer": row.reviewer,
                "note": row.note or None,
                "reviewed_at": now,
            }
        )
    return CulturallReview(decisions, revisions, tuple(faulty))


def _revision(row: Decided, line: Mapping[str, str]) -> dict[str, Any]:
    """The revised texts as a draft whose author is the reviewer."""
    texts = {name: row.cells[name] or None for name in QUEUE.texts}
    region = (row.cells["region"] or "").upper() or None
    return {
        **texts,
        "draft": digest(["revision", line["draft"], row.reviewer, *texts.values()]),
        "origin": "revision",
        "parent": line["draft"],
        "region": region,
        "topic": (row.cells["topic"] or "").capitalize() or None,
        "source": f"draft {line['draft']}",
        "source_hash": digest(["revision", line["draft"]]),
        "source_text": "",
        "language": line["language"],
        "form": line["form"],
        "author": row.reviewer,
        "author_kind": "person",
        "faults": [],
        "fault_details": [],
    }
