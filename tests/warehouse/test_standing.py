"""The version of the published file that readers share, and when it is locked, unlocked and closed."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from warehouse import WarehouseError, published
from warehouse.outside import HeldOutside

PATH = Path("file")
STORE: Any = None


class Version:
    """A published file whose locks are counted."""

    def __init__(self) -> None:
        self.file, self.readers, self.locks, self.is_closed, self.is_newest = self, 0, 1, False, True

    def is_current(self, path: Path) -> bool:
        return self.is_newest

    def close(self) -> None:
        assert not self.readers
        assert not self.is_closed
        self.is_closed, self.locks = True, 0


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Attach nothing, because DuckDB locks attached files."""

    def lock(version: Version, by: int) -> None:
        version.locks += by

    monkeypatch.setattr(published, "_attached", lambda path, store: Version())
    monkeypatch.setattr(published, "lock_shared", lambda version: lock(version, 1))
    monkeypatch.setattr(published, "unlock", lambda version: lock(version, -version.locks))
    monkeypatch.setattr(published.os, "register_at_fork", lambda **hooks: None)
    return published._SharedVersion()


def test_a_file_is_locked_only_while_it_has_readers(standing: Any) -> None:
    first = standing.enter(PATH, STORE)
    assert standing.enter(PATH, STORE) is first
    assert (first.readers, first.locks) == (2, 1)
    standing.leave(first)
    assert (first.readers, first.locks) == (1, 1)
    standing.leave(first)
    assert (first.readers, first.locks, first.is_closed) == (0, 0, False)
    assert standing.enter(PATH, STORE) is first
    assert (first.readers, first.locks) == (1, 1)


def test_a_replaced_file_stays_until_its_last_reader_leaves(standing: Any) -> None:
    old = standing.enter(PATH, STORE)
    standing.enter(PATH, STORE)
    old.is_newest = False
    new = standing.enter(PATH, STORE)
    assert new is not old
    assert (old.readers, new.readers) == (2, 1)
    standing.leave(old)
    assert (old.is_closed, old.locks) == (False, 1)
    standing.leave(old)
    assert old.is_closed
    standing.leave(new)
    assert (new.is_closed, new.locks) == (False, 0)
    new.is_newest = False
    standing.enter(PATH, STORE)
    assert new.is_closed  # closed at once, since it had no reader


@pytest.mark.parametrize("is_read", [True, False])
def test_a_forked_child_uses_no_version_of_its_parent(standing: Any, is_read: bool) -> None:
    version = standing.enter(PATH, STORE)
    if not is_read:
        standing.leave(version)
    standing._before_fork()
    assert standing._mutex.locked()
    assert version.is_closed != is_read
    standing._in_child()
    assert not standing._mutex.locked()
    assert standing._parents == [version if is_read else None]
    assert standing.enter(PATH, STORE) is not version
    assert version.is_closed != is_read


def test_a_file_replaced_while_it_is_attached_is_attached_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Version] = []

    def attach(path: Path, store: Any) -> Version:
        made.append(Version())
        made[-1].is_newest = len(made) == 3
        return made[-1]

    monkeypatch.setattr(published, "_Version", attach)
    assert published._attached(PATH, STORE) is made[2]  # type: ignore[comparison-overlap]
    assert [version.is_closed for version in made] == [True, True, False]


@pytest.mark.parametrize(
    ("words", "error"),
    [("IO Error: Could not set lock on file", HeldOutside), ("Corrupt database file", WarehouseError)],
)
def test_a_file_locked_by_another_program_is_not_reported_as_damage(
    words: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def attach(path: Path, store: Any) -> Any:
        raise duckdb.IOException(words)

    monkeypatch.setattr(published, "_Version", attach)
    with pytest.raises(error):
        published._attached(PATH, STORE)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, ValueError])
def test_what_a_signal_handler_raised_within_a_query_is_raised_as_it_was(raised: type[BaseException]) -> None:
    """DuckDB raises a RuntimeError without a cause in its place."""

    def end(*_: object) -> None:
        raise raised

    def query() -> None:
        with published.signals_as_raised():
            try:
                signal.raise_signal(signal.SIGTERM)
            except raised:
                raise RuntimeError("Query interrupted") from None

    before = signal.signal(signal.SIGTERM, end)
    try:
        with pytest.raises(raised):
            query()
        assert signal.getsignal(signal.SIGTERM) is end
    finally:
        signal.signal(signal.SIGTERM, before)


def test_another_error_of_a_query_stays() -> None:
    with pytest.raises(RuntimeError, match="own"), published.signals_as_raised():
        raise RuntimeError("own")
