"""The outbox keeps finished parts on the disk until they are sent, and sends none twice."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
from warehouse.part_kinds import KINDS
from warehouse.shared.outbox import Outbox

CONTENT = b"a finished part"
PART = f"p-{sha256(CONTENT).hexdigest()[:32]}"
KIND = next(iter(KINDS))
Sent = list[tuple[str, str, bytes]]


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    return Outbox(tmp_path / "unsent")


def sent(outbox: Outbox) -> Sent:
    """Send everything that waits, and return it."""
    there = Sent()
    outbox.send(lambda kind, part, content: there.append((kind, part, content)))
    return there


def fail_to_send(outbox: Outbox) -> None:
    with pytest.raises(ConnectionError), outbox.sending(KIND, PART, memoryview(CONTENT)):
        raise ConnectionError


def test_part_is_on_the_disk_while_it_is_sent_and_no_other_thread_sends_it(outbox: Outbox) -> None:
    with outbox.sending(KIND, PART, memoryview(CONTENT)):
        (file,) = outbox.folder.rglob("*.parquet")
        assert file.read_bytes() == CONTENT
        assert sent(outbox) == []
    assert not file.exists()
    assert sent(outbox) == []


def test_part_whose_sending_failed_waits_and_is_sent_once(outbox: Outbox) -> None:
    fail_to_send(outbox)
    assert list(outbox.waiting()) == [(KIND, PART)]
    assert sent(outbox) == [(KIND, PART, CONTENT)]
    assert sent(outbox) == []


def test_part_waits_on_if_it_cannot_be_sent_again(outbox: Outbox) -> None:
    def fail(kind: str, part: str, content: bytes) -> None:
        raise ConnectionError

    fail_to_send(outbox)
    with pytest.raises(ConnectionError):
        outbox.send(fail)
    assert list(outbox.waiting()) == [(KIND, PART)]


def test_damaged_part_is_deleted_and_not_sent(outbox: Outbox) -> None:
    fail_to_send(outbox)
    (file,) = outbox.folder.rglob("*.parquet")
    file.write_bytes(b"cut off")
    assert sent(outbox) == []
    assert not file.exists()
