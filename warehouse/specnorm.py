"""Tables of a SpecNorm build: drafts, decisions of reviewers, and published items."""

from __future__ import annotations

import polars as pl

from warehouse.connection import Warehouse
from warehouse.storage import Records, columns_of, execute_with

_DROP_REJECTED = """
DELETE FROM specnorm_draft WHERE status = 'rejected_by_checks' AND draft IN (SELECT draft FROM incoming)
"""
_PUT_DRAFTS = """
INSERT INTO specnorm_draft BY NAME SELECT * FROM incoming ANTI JOIN specnorm_draft USING (draft)
"""
_DECIDE = """
UPDATE specnorm_draft
SET status = i.status, reviewer = i.reviewer, note = i.note, reviewed_at = i.reviewed_at
FROM incoming AS i
WHERE specnorm_draft.draft = i.draft
"""
_WITHDRAW = "DELETE FROM specnorm_item WHERE draft IN (SELECT draft FROM incoming)"
_PUBLISH = "INSERT INTO specnorm_item BY NAME SELECT * FROM incoming"


def save_drafts(warehouse: Warehouse, drafts: Records) -> None:
    """Store drafts with the results of their checks, in one transaction.

    drafts: columns of specnorm_draft; missing ones become NULL. A draft that the checks rejected earlier is
    replaced; a draft that is queued or decided stays as it is.
    """
    with warehouse.write() as connection:
        incoming = pl.DataFrame(drafts, schema=columns_of(connection, "specnorm_draft"))
        execute_with(connection, incoming, _DROP_REJECTED)
        execute_with(connection, incoming, _PUT_DRAFTS)


def save_reviews(warehouse: Warehouse, decisions: Records, items: Records) -> None:
    """Store decisions, and replace the published items of these drafts by `items`, in one transaction.

    decisions: draft, status, reviewer, note, reviewed_at; items: columns of specnorm_item. An item whose
    draft is rejected now is withdrawn.
    """
    with warehouse.write() as connection:
        decided = pl.DataFrame(decisions, schema=columns_of(connection, "specnorm_draft"))
        execute_with(connection, decided, _DECIDE)
        execute_with(connection, decided, _WITHDRAW)
        published = pl.DataFrame(items, schema=columns_of(connection, "specnorm_item"))
        execute_with(connection, published, _PUBLISH)
