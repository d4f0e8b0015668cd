"""Tables of a SpecNorm build: drafts, decisions of reviewers, and published items."""

from __future__ import annotations

import polars as pl

from warehouse.connection import Warehouse
from warehouse.storage import Records, columns_of, execute_with, insert

_DROP_REJECTED = """
DELETE FROM specnorm_draft WHERE status = 'rejected_by_checks' AND draft IN (SELECT draft FROM incoming)
"""
_DECIDE = """
UPDATE specnorm_draft
SET status = i.status, reviewer = i.reviewer, note = i.note, reviewed_at = i.reviewed_at
FROM incoming AS i
WHERE specnorm_draft.draft = i.draft
"""
_WITHDRAW = "DELETE FROM specnorm_item WHERE draft IN (SELECT draft FROM incoming)"


def save_drafts(warehouse: Warehouse, drafts: Records) -> None:
    """Store drafts with the results of their checks, in one transaction.

    drafts: columns of specnorm_draft; missing ones become NULL. A draft that the checks rejected earlier is
    replaced; a draft that is queued or decided stays as it is.
    """
    with warehouse.write() as connection:
        incoming = pl.DataFrame(drafts, schema=columns_of(connection, "specnorm_draft"))
        execute_with(connection, incoming, _DROP_REJECTED)
        insert(connection, "specnorm_draft", drafts, "draft")


def save_reviews(warehouse: Warehouse, decisions: Records, items: Records) -> None:
    """Store decisions, and replace the published items of these drafts by `items`, in one transaction.

    decisions: draft, status, reviewer, note, reviewed_at; items: columns of specnorm_item. An item whose
    draft is rejected now is withdrawn.
    """
    with warehouse.write() as connection:
        decided = pl.DataFrame(decisions, schema=columns_of(connection, "specnorm_draft"))
        execute_with(connection, decided, _DECIDE)
        execute_with(connection, decided, _WITHDRAW)
        insert(connection, "specnorm_item", items)
