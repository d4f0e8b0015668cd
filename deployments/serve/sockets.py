"""Connections of our web servers: a request's head must arrive in time, and no address holds them all.

uvicorn waits for ever for a head that is half sent. A thousand such connections use up the process's files,
so nobody else gets in. Here a connection without a request makes room for a newer one.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from collections import Counter
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_S = 10.0
"""Seconds within which the head of a request must arrive."""
OF_ONE_ADDRESS = 256
"""Most connections of one address. A proxy before the server counts as one."""
IN_ALL = 1024


class _Room:
    """Connections of one server: how many, of which address, and which of them are without a request."""

    def __init__(self, of_one_address: int, in_all: int) -> None:
        self.of_one_address, self.in_all = of_one_address, in_all
        self.by_address: Counter[str] = Counter()
        self.idle: dict[Patient, None] = {}  # in the order in which they began to wait

    def enter(self, new: Patient) -> bool:
        """Count a connection, after closing the one that has waited longest if there is no room; return
        whether there is room now."""
        self.by_address[new.address] += 1
        is_many = self.by_address[new.address] > self.of_one_address
        if is_many or self.by_address.total() > self.in_all:
            for old in self.idle:
                if not is_many or old.address == new.address:
                    old.end()
                    return True
            return False
        return True

    def leave(self, old: Patient) -> None:
        """Count a connection no more."""
        self.idle.pop(old, None)
        self.by_address[old.address] -= 1
        if self.by_address[old.address] <= 0:
            del self.by_address[old.address]


class Patient(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """uvicorn's protocol with a limit of time and of connections. Subclasses have their server's ``room``."""

    room: _Room
    head_s = HEAD_S
    address = ""
    is_counted = False
    timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request, if there is room."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self.is_counted = True
        if self.room.enter(self):
            self._wait()
        else:
            self.end()

    def data_received(self, data: bytes) -> None:
        """Stop waiting once the head is whole."""
        super().data_received(data)
        if not self.is_counted:
            return
        if self not in self.connections:  # it is a WebSocket now, of another protocol
            self._leave()
        elif self.cycle is not None and not self.cycle.response_complete:
            self._stop()
            self.room.idle.pop(self, None)
        elif self.timer is None:
            self._wait()

    def on_response_complete(self) -> None:
        """Let a connection that is kept open make room for others."""
        super().on_response_complete()
        if self.is_counted and self.cycle is not None and self.cycle.response_complete:
            self.room.idle[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it no more."""
        self._leave()
        super().connection_lost(exc)

    def end(self) -> None:
        """Close the connection at once."""
        self._leave()
        self.transport.abort()

    def _wait(self) -> None:
        self.room.idle[self] = None
        self.timer = self.loop.call_later(self.head_s, self.end)

    def _stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def _leave(self) -> None:
        self._stop()
        if self.is_counted:
            self.is_counted = False
            self.room.leave(self)


def patient(
    head_s: float = HEAD_S, of_one_address: int = OF_ONE_ADDRESS, in_all: int = IN_ALL
) -> type[asyncio.Protocol]:
    """Return the protocol of one server, for ``uvicorn.Config(http=…)``.

    It holds at most ``in_all`` connections, and at most half of the files that this process may open.
    """
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files != resource.RLIM_INFINITY:
        in_all = min(in_all, files // 2)
    room = _Room(min(of_one_address, in_all), in_all)
    return type("Bounded", (Patient,), {"room": room, "head_s": head_s})


def main() -> None:
    """Serve an application that a factory makes; arguments: MODULE:FACTORY HOST --port PORT."""
    factory, host, _, port = sys.argv[1:5]
    uvicorn.run(
        factory, factory=True, host=host, port=int(port), log_level="warning", timeout_keep_alive=30,
        http=patient(),
    )  # fmt: skip
