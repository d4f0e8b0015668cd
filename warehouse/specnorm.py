"""SpecNorm under construction: drafts, what reviewers decided, and the items that are published."""

from collections.abc import Mapping, Sequence

import polars as pl

from warehouse.connection import Warehouse

__all__ = ["save_drafts", "save_reviews"]

Rows = Sequence[Mapping[str, object]]

_NO_DRAFTS = "SELECT * FROM specnorm_draft LIMIT 0"
_NO_ITEMS = "SELECT * FROM specnorm_item LIMIT 0"
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
_PUBLISH = "INSERT INTO specnorm_item BY NAME SELECT * FROM published"


def save_drafts(warehouse: Warehouse, drafts: Rows) -> None:
    """Store drafts and what the checks said of them, in one transaction.

    drafts: columns of specnorm_draft; those left out are NULL. A draft that the checks rejected earlier is
    stored anew; one that is queued or decided stays as it is.
    """
    with warehouse.write() as connection:
        schema = connection.execute(_NO_DRAFTS).pl().schema
        connection.register("incoming", pl.DataFrame(drafts, schema=schema))
        connection.execute(_DROP_REJECTED)
        connection.execute(_PUT_DRAFTS)
        connection.unregister("incoming")


def save_reviews(warehouse: Warehouse, decisions: Rows, items: Rows) -> None:
    """Store decisions, and make `items` all that is published of the drafts decided on, in one transaction.

    decisions: draft, status, reviewer, note, reviewed_at; items: columns of specnorm_item. An item whose
    draft is rejected now is withdrawn.
    """
    with warehouse.write() as connection:
        drafts = connection.execute(_NO_DRAFTS).pl().schema
        connection.register("incoming", pl.DataFrame(decisions, schema=drafts))
        connection.execute(_DECIDE)
        connection.execute(_WITHDRAW)
        connection.unregister("incoming")
        published = connection.execute(_NO_ITEMS).pl().schema
        connection.register("published", pl.DataFrame(items, schema=published))
        connection.execute(_PUBLISH)
        connection.unregister("published")
