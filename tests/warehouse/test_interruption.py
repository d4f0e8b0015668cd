"""After Ctrl-C nothing is written, even if a library has swallowed the interruption."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import suppress

import pytest
import typer

from deployments.cli.common import errors
from tests.warehouse.rows import logprobs
from warehouse import Warehouse, interruption, write_part

KIND = "item_logprob"


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    interruption.forget()


def test_after_an_interruption_no_part_is_written(warehouse: Warehouse) -> None:
    interruption.note()
    with pytest.raises(KeyboardInterrupt):
        write_part(warehouse.home, KIND, "p", logprobs())
    assert not warehouse.store.part_sizes(KIND)
    interruption.forget()
    assert write_part(warehouse.home, KIND, "p", logprobs()).height


def test_after_an_interruption_no_part_is_registered(warehouse: Warehouse) -> None:
    units = write_part(warehouse.home, KIND, "p", logprobs())
    interruption.note()
    with pytest.raises(KeyboardInterrupt):
        warehouse.register(units)
    interruption.forget()
    assert warehouse.query("FROM part_unit").is_empty()


def test_after_an_interruption_no_transaction_is_committed(warehouse: Warehouse) -> None:
    interruption.note()
    with pytest.raises(KeyboardInterrupt), warehouse.write() as connection:
        connection.execute("CREATE TABLE t (i INTEGER)")
    assert warehouse.query("FROM duckdb_tables() WHERE table_name = 't'").is_empty()


def test_an_interruption_that_a_library_swallows_ends_the_command_with_130(
    warehouse: Warehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    def command() -> None:
        with errors():
            with suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            write_part(warehouse.home, KIND, "p", logprobs())

    with pytest.raises(typer.Exit) as ended:
        command()
    assert ended.value.exit_code == 130
    assert "interrupted: run again to resume" in capsys.readouterr().err
    assert write_part(warehouse.home, KIND, "p", logprobs()).height  # the next command can write
