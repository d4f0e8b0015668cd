"""Connections of our web servers: one that waits for its client ends in time, and no address holds them all.

uvicorn waits for ever for a head or a body that is half sent, for a client that does not read its response,
and for the first message of a WebSocket. A thousand such connections use up the process's files, so nobody
else gets in. Here a connection that waits for its client makes room for a newer one.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from collections import Counter
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.protocols.websockets.auto import AutoWebSocketsProtocol

HEAD_S = 10.0
"""Seconds within which the head of a request must arrive."""
REST_S = 90.0
"""Seconds within which its body must arrive, and within which a client must read some of a response."""
OF_ONE_ADDRESS = 256
"""Most connections of one address. A proxy before the server counts as one."""
IN_ALL = 1024


class _Room:
    """Connections of one server: how many, of which address, and which of them wait for their clients."""

    def __init__(self, of_one_address: int, in_all: int) -> None:
        self.of_one_address, self.in_all = of_one_address, in_all
        self.by_address: Counter[str] = Counter()
        self.idle: dict[_Counted, None] = {}  # in the order in which they began to wait

    def enter(self, new: _Counted) -> bool:
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

    def leave(self, old: _Counted) -> None:
        """Count a connection no more."""
        self.idle.pop(old, None)
        self.by_address[old.address] -= 1
        if self.by_address[old.address] <= 0:
            del self.by_address[old.address]


class _Counted:
    """A connection in a server's ``room``. Subclasses are also a protocol of uvicorn."""

    room: _Room
    transport: Any
    loop: asyncio.AbstractEventLoop
    client: tuple[str, int] | None
    address = ""
    is_counted = False
    awaited = ""
    timer: asyncio.TimerHandle | None = None

    def enter(self, what: str, seconds: float | None) -> None:
        """Begin to wait for the client, if there is room; end the connection otherwise."""
        self.address = self.client[0] if self.client else ""
        self.is_counted = True
        if self.room.enter(self):
            self.wait(what, seconds)
        else:
            self.end()

    def wait(self, what: str, seconds: float | None) -> None:
        """Wait for something of the client's, at most for these seconds since the wait for it began."""
        if what == self.awaited:
            return
        self.work()
        self.awaited = what
        self.room.idle[self] = None
        if seconds is not None:
            self.timer = self.loop.call_later(seconds, self.end)

    def work(self) -> None:
        """Stop waiting: the server has to do something now."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        self.awaited = ""
        self.room.idle.pop(self, None)

    def end(self) -> None:
        """Close the connection at once."""
        self.leave()
        self.transport.abort()

    def leave(self) -> None:
        """Count it no more."""
        if self.is_counted:
            self.is_counted = False
            self.work()
            self.room.leave(self)


class Patient(_Counted, AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """uvicorn's protocol of HTTP with a limit of time and of connections."""

    head_s, rest_s = HEAD_S, REST_S

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.enter("head", self.head_s)

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a head or body, or for nothing once both are whole."""
        super().data_received(data)
        self._look("head", self.head_s)

    def handle_websocket_upgrade(self, *event: Any) -> None:
        """Let the protocol of WebSockets count the connection."""
        self.leave()
        super().handle_websocket_upgrade(*event)

    def on_response_complete(self) -> None:
        """Let a connection that is kept open make room for others."""
        super().on_response_complete()
        self._look("next request", None)

    def pause_writing(self) -> None:
        """Wait for a client that does not read."""
        super().pause_writing()
        self._look("next request", None)

    def resume_writing(self) -> None:
        """Go on with the response."""
        super().resume_writing()
        self._look("next request", None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it no more."""
        self.leave()
        super().connection_lost(exc)

    def _look(self, without_request: str, seconds: float | None) -> None:
        """Wait for what the client has to do next; without a request that is given."""
        if not self.is_counted:
            return
        if self.flow.write_paused:
            self.wait("reading", self.rest_s)
        elif self.cycle is None or self.cycle.response_complete:
            self.wait(without_request, seconds)
        elif self.cycle.more_body:
            self.wait("body", self.rest_s)
        else:
            self.work()


def bounded(
    head_s: float = HEAD_S,
    rest_s: float = REST_S,
    of_one_address: int = OF_ONE_ADDRESS,
    in_all: int = IN_ALL,
) -> dict[str, Any]:
    """Return the protocols of one server, arguments of ``uvicorn.Config``.

    It holds at most ``in_all`` connections, and at most half of the files that this process may open.
    """
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files != resource.RLIM_INFINITY:
        in_all = min(in_all, files // 2)
    room = _Room(min(of_one_address, in_all), in_all)
    protocols: dict[str, Any] = {
        "http": type("Bounded", (Patient,), {"room": room, "head_s": head_s, "rest_s": rest_s}),
        "ws": "none",
    }
    if AutoWebSocketsProtocol is not None:
        protocols["ws"] = type("BoundedSocket", (_socket_of(AutoWebSocketsProtocol),), {"room": room})
    return protocols


def _socket_of(protocol: Any) -> type[_Counted]:
    """Return uvicorn's protocol of WebSockets with a limit of connections; it waits for its client always."""

    class Socket(_Counted, protocol):  # type: ignore[misc]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.enter("message", None)

        def connection_lost(self, exc: Exception | None) -> None:
            self.leave()
            super().connection_lost(exc)

    return Socket


def main() -> None:
    """Serve an application that a factory makes; arguments: MODULE:FACTORY HOST --port PORT."""
    factory, host, _, port = sys.argv[1:5]
    uvicorn.run(
        factory, factory=True, host=host, port=int(port), log_level="warning", timeout_keep_alive=30,
        **bounded(),
    )  # fmt: skip
