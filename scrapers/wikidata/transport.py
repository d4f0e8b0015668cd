"""One HTTP request that ends when it must: in time, in size, and where it was sent.

urllib's timeout is for each read, so that an answer which drips lasts for ever; its default handlers follow
redirects and turn a redirected POST into a GET without a body. Here a timer shuts the socket, every status
comes back as a value, and the proxies of the environment still hold.
"""

from __future__ import annotations

import socket
import zlib
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from threading import Timer
from urllib.request import (
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
    build_opener,
)

from scrapers.model import ScrapeError, TransientError

CHUNK = 1 << 20


class TooSlowError(TransientError):
    """The time for a request was over before its answer was."""


@dataclass(frozen=True)
class Answer:
    """A whole answer of any status, gzip undone. SPARQLWrapper calls ``info`` and ``read``."""

    status: int
    headers: Message
    content: bytes

    def info(self) -> Message:
        """The headers."""
        return self.headers

    def read(self) -> bytes:
        """The content."""
        return self.content


class _Line:
    """The socket of one request, which another thread may shut."""

    def __init__(self) -> None:
        self.cut_off = False
        self._socket: socket.socket | None = None

    def opened(self, opened: socket.socket) -> None:
        self._socket = opened
        if self.cut_off:
            self.cut()

    def cut(self) -> None:
        self.cut_off = True
        if self._socket is not None:
            with suppress(OSError):  # it may have been closed meanwhile
                self._socket.shutdown(socket.SHUT_RDWR)


def send(request: Request, seconds: float, max_bytes: int) -> Answer:
    """Send a request and read its whole answer within ``seconds``, from connecting to the last byte.

    Raises:
        TooSlowError: it took longer.
        TransientError: no connection, or one that broke before the answer was complete.
        ScrapeError: more than ``max_bytes``, as sent or after content-encoding is undone.
    """
    where = request.full_url
    line = _Line()
    timer = Timer(seconds, line.cut)
    timer.daemon = True
    timer.start()
    try:
        with _opener(line).open(request, timeout=seconds) as response:
            raw = _read(response, where, max_bytes)
            answer = Answer(response.status, response.headers, _decoded(response, raw, where, max_bytes))
    except (OSError, HTTPException, TransientError) as error:
        if line.cut_off or isinstance(error, TimeoutError):
            raise TooSlowError(_too_slow(where, seconds)) from error
        if isinstance(error, TransientError):
            raise
        raise TransientError(f"{where}: no answer: {error or type(error).__name__}") from error
    finally:
        timer.cancel()
    if line.cut_off:
        raise TooSlowError(_too_slow(where, seconds))
    return answer


def _opener(line: _Line) -> OpenerDirector:
    """An opener that tells ``line`` its socket and hands back every status as it came."""

    class Plain(HTTPConnection):
        def connect(self) -> None:
            super().connect()
            line.opened(self.sock)

    class Secure(HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            line.opened(self.sock)

    class Http(HTTPHandler):
        def http_open(self, req: Request) -> HTTPResponse:
            return self.do_open(Plain, req)

    class Https(HTTPSHandler):
        def https_open(self, req: Request) -> HTTPResponse:
            return self.do_open(Secure, req)

    class AnyStatus(HTTPErrorProcessor):
        def http_response(self, request: Request, response: HTTPResponse) -> HTTPResponse:
            return response

        https_response = http_response

    return build_opener(Http, Https, AnyStatus)


def _read(response: HTTPResponse, where: str, max_bytes: int) -> bytes:
    """The body as sent. http.client takes a body that ends before its Content-Length for a whole one."""
    announced = response.length
    content = bytearray()
    while chunk := response.read(CHUNK):
        content += chunk
        if len(content) > max_bytes:
            raise ScrapeError(_too_large(where, max_bytes))
    if announced is not None and len(content) < announced:
        raise TransientError(f"{where}: the answer broke off after {len(content)} of {announced} bytes")
    return bytes(content)


def _decoded(response: HTTPResponse, raw: bytes, where: str, max_bytes: int) -> bytes:
    """Undo gzip or deflate, which some servers send although only identity was asked for."""
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding in ("", "identity"):
        return raw
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise ScrapeError(f"{where}: Content-Encoding {coding!r} was not asked for and is not known here")
    inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # 32: gzip or zlib, by the header
    try:
        content = inflate.decompress(raw, max_bytes + 1)
    except zlib.error as error:
        raise TransientError(f"{where}: broken {coding}: {error}") from error
    if len(content) > max_bytes:
        raise ScrapeError(_too_large(where, max_bytes))
    if not inflate.eof:
        raise TransientError(f"{where}: the {coding} answer broke off after {len(raw)} bytes")
    return content


def _too_slow(where: str, seconds: float) -> str:
    return f"{where}: no complete answer within {seconds:.1f} s"


def _too_large(where: str, max_bytes: int) -> str:
    return f"{where}: the answer is larger than {max_bytes:,} bytes; ask for less (a smaller batch)"
