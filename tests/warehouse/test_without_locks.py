"""A home on a file system without locks is read, and not written."""

from __future__ import annotations

import errno
import fcntl
import os
from typing import Any

import pytest

from tests.warehouse.rows import logprobs, make_run
from warehouse import Warehouse, WarehouseError, save_run, write_part
from warehouse.claims import at_work


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_without_locks_a_home_is_read_and_not_written(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with warehouse.write() as connection:
        save_run(connection, make_run("r1"))
    warehouse.register(write_part(warehouse.home, "item_logprob", "p", logprobs()))

    def refuse(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    monkeypatch.setattr(fcntl, "lockf", refuse)
    reader = Warehouse.existing(warehouse.home)
    assert reader.query("FROM item_logprob").height == logprobs().height
    assert at_work(reader.store) == []
    with pytest.raises(WarehouseError, match=r"has no locks.*CULTUREMETER_HOME"), reader.write():
        pass
    with pytest.raises(WarehouseError, match="has no locks"), reader.store.jobs("x").locked():
        pass
