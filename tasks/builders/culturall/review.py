"""The queue for reviewers and their decisions as a file. Pure.

Both queues have the same columns: harder versions of easy drafts, and drafts before they are published.
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
        decisions: rows of culturall_review.
        revisions: rows of culturall_draft.
        faulty: revised rows that the checks reject, with their faults; decisions and revisions lack them.
    """

    decisions: list[dict[str, Any]]
    revisions: list[dict[str, Any]]
    faulty: tuple[tuple[Decided, tuple[ItemFault, ...]], ...]


def queue_row(row: Mapping[str, Any], stage: str, doubts: Sequence[str]) -> dict[str, str]:
    """Return a draft's row of a queue file.

    Args:
        row: row of culturall_draft, with n_right and n_models of culturall_draft_state.
        doubts: messages of doubts.
    """
    solved = f"{row['n_right']} of {row['n_models']}" if row["n_models"] else ""
    cells = {name: str(row.get(name) or "") for name in (*QUEUE.given, *QUEUE.texts)}
    queue_cells = {"stage": stage, "solved": solved, "doubts": "; ".join(doubts)}
    return cells | queue_cells | {"text_hash": QUEUE.text_hash(cells)}


def compare(
    decided: Sequence[Decided], waiting: Mapping[tuple[str, str], Mapping[str, str]], now: datetime
) -> CulturallReview:
    """Match decisions with the drafts they are about, and check revised texts again.

    Args:
        waiting: present ``queue_row`` of every draft that waits or is decided, by stage and draft.

    Raises:
        ReviewError: the draft is unknown, a column that reviewers must not change was changed, or the
            reviewer is the author.
    """
    decisions, revisions, faulty = [], [], []
    for row in decided:
        line = waiting.get((row.cells["stage"], row.cells["draft"]))
        if line is None or line["text_hash"] != row.cells["text_hash"]:
            raise ReviewError(
                f"{row.where}: no such draft waits in this warehouse: restore draft, stage and text_hash as "
                "they were written, and set CULTUREMETER_HOME to the home in which the queue was written"
            )
        if row.reviewer.casefold() == line["author"].casefold():
            raise ReviewError(
                f"{row.where}, column reviewer: {row.reviewer} is the author: another reviewer must decide"
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
    """Return the revised texts as a draft whose author is the reviewer."""
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
