"""A warehouse with runs of two evaluations, null models, occasions and people, for tests of its site."""

from __future__ import annotations

from tests.deployments.test_overview import store_occasion
from tests.evaluations.spectral.report import example_run as spectral
from tests.evaluations.worldwise.report.example_run import store_study
from tests.report.pages import HOSTILE
from tests.warehouse.rows import in_one_write
from warehouse import Warehouse

PRIVATE = "what-one-person-wrote"
_PEOPLE = f"""
INSERT INTO human_answer VALUES ('s', 'h', 'i', 'ih', 'anna', 'f', 'e', '{PRIVATE}', 1, now()::TIMESTAMP,
    now()::TIMESTAMP, 1, 'complete', 't', '1');
INSERT INTO study_item
    VALUES ('s', 'i', 'ih', '{PRIVATE}', 'en', 'x', NULL, NULL, '{PRIVATE}', NULL, false, NULL, NULL);
INSERT INTO human_exclusion VALUES ('s', '{PRIVATE}', 'r');
"""


@in_one_write
def fill(warehouse: Warehouse, with_nulls: bool = True) -> None:
    """Store runs of spectral on two occasions and answers of people in a study.

    with_nulls: also store worldwise with null models and a model without a value; its page takes seconds.
    """
    spectral.store(warehouse, "model-a", "newer")
    store_occasion(warehouse, "2026-w48", 0.75)
    if with_nulls:
        store_study(warehouse, {"good": 0.4, HOSTILE: None}, ["IN", "JP"])
    with warehouse.write() as connection:
        connection.execute(_PEOPLE)
