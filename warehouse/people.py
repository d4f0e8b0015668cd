"""Studies with people: their items, answers and exclusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from warehouse.connection import Warehouse
from warehouse.storage import Records, WarehouseError, columns_of, execute_with, insert, now

_CHANGED = """
SELECT i.annotator, i.item, i.field, i.revision FROM incoming AS i
JOIN human_answer AS a USING (study, annotator, item, field, revision, entry)
WHERE a.value <> i.value ORDER BY ALL LIMIT 1
"""
_PUT_DOMAINS = """
INSERT OR REPLACE INTO human_domain BY NAME SELECT *, $now AS pulled_at FROM incoming
"""
_ADD = """
INSERT INTO human_answer BY NAME
SELECT * FROM incoming ANTI JOIN human_answer USING (study, annotator, item, field, revision, entry)
"""


def save_conversation_validation(warehouse: Warehouse, study: str, rows: Records) -> None:
    """Replace a study's rows of conversation_validation. rows: its columns without study and pulled_at."""
    _replace(warehouse, "conversation_validation", study, "pulled_at", rows)


def save_ceilings(warehouse: Warehouse, study: str, rows: Records) -> None:
    """Replace a study's rows of human_ceiling. rows: its columns without study and computed_at."""
    _replace(warehouse, "human_ceiling", study, "computed_at", rows)


def _replace(warehouse: Warehouse, table: str, study: str, time: str, rows: Records) -> None:
    with warehouse.write() as connection:
        connection.execute(f"DELETE FROM {table} WHERE study = $study", {"study": study})
        insert(connection, table, [{**row, "study": study, time: now()} for row in rows])


def save_study(
    warehouse: Warehouse,
    study: Mapping[str, object],
    items: Records,
    answers: Records,
    exclusions: Records,
    withdrawn: Sequence[str],
    domains: Records = (),
) -> int:
    """Store a pull of one study in one transaction, and return the number of new rows of answers.

    study, items, answers, exclusions: columns of study (without pulled_at, which is now), study_item,
    human_answer and human_exclusion. Items and exclusions are replaced; answers are only added; a ceiling of
    other answers is removed. withdrawn:
    people whose answers are deleted. domains: columns of human_domain without pulled_at; other pulls stay.

    Raises WarehouseError, and changes nothing, if a revision is stored with another value: the answer is of
    another study, or a file was edited.
    """
    name = study["study"]
    with warehouse.write() as connection:
        schema = columns_of(connection, "human_answer")
        incoming = pl.DataFrame(answers, schema=schema).filter(~pl.col("annotator").is_in(list(withdrawn)))
        changed = execute_with(connection, incoming, _CHANGED)
        if changed.height:
            raise WarehouseError(
                f"study {name}: the answer {dict(changed.row(0, named=True))} is stored with another value. "
                f"If this is a new study, give it another name; if not, a file was edited."
            )
        for person in withdrawn:
            connection.execute(
                "DELETE FROM human_answer WHERE study = $study AND annotator = $person",
                {"study": name, "person": person},
            )
        n_before = connection.execute("SELECT count(*) FROM human_answer").fetchall()[0][0]
        execute_with(connection, incoming, _ADD)
        n_after = connection.execute("SELECT count(*) FROM human_answer").fetchall()[0][0]
        if n_after != n_before or withdrawn:
            connection.execute("DELETE FROM human_ceiling WHERE study = $study", {"study": name})
        for table, rows in (
            ("study", [{**study, "pulled_at": now()}]),
            ("study_item", items),
            ("human_exclusion", exclusions),
        ):
            connection.execute(f"DELETE FROM {table} WHERE study = $study", {"study": name})
            insert(connection, table, rows)
        if domains:
            schema = columns_of(connection, "human_domain", excluded=["pulled_at"])
            execute_with(connection, pl.DataFrame(domains, schema=schema), _PUT_DOMAINS, {"now": now()})
    return int(n_after - n_before)
