"""The addresses that may be fetched, and the only code that opens a connection to one."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Callable, Iterable
from typing import Any

import httpcore
import httpx

from scrapers.model import ScrapeError

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# Forms of IPv4 in IPv6 that public name servers never return, translation inside a network, and old
# site-local addresses.
_NEVER_PUBLIC = [
    ipaddress.IPv6Network(network)
    for network in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "fec0::/10")
]
_DEFAULT_PORTS = {"http": 80, "https": 443}


def checked_url(text: str) -> httpx.URL:
    """Return the address without its fragment.

    Raises ScrapeError unless it is http or https, names a host and has no user name or password. The message
    repeats no part that may be a password, and no address that cannot be parsed.
    """
    try:
        url = httpx.URL(text).copy_with(fragment=None)
    except httpx.InvalidURL:
        raise ScrapeError("an address cannot be read as a URL: correct it in the source's settings") from None
    if url.userinfo:
        raise ScrapeError(f"the address of {url.host} holds a user name or password: remove it")
    if url.scheme not in _DEFAULT_PORTS or not url.host or not 0 < _port(url) < 65536:
        raise ScrapeError(
            f"{without_query(url)} is not a valid URL: give http:// or https://, a host and a path"
        )
    return url


def checked_redirect(origin: httpx.URL, location: str) -> httpx.URL:
    """Return a redirect's target if it is allowed.

    Scheme, host and port must stay the same; only http to https on the same host is also allowed. Raises
    ScrapeError for any other redirect, naming both addresses.
    """
    try:
        target = checked_url(str(origin.join(location)))
    except httpx.InvalidURL:
        raise ScrapeError(
            f"{without_query(origin)} redirects to an address that cannot be read as a URL"
        ) from None
    upgraded = (origin.scheme, _port(origin), target.scheme, _port(target)) == ("http", 80, "https", 443)
    unchanged = (origin.scheme, _port(origin)) == (target.scheme, _port(target))
    if origin.host != target.host or not (upgraded or unchanged):
        raise ScrapeError(
            f"{without_query(origin)} redirects to {without_query(target)}, which is another host, port or "
            "scheme: such redirects are not followed. If the source has moved, configure its new address"
        )
    return target


def without_query(url: httpx.URL) -> str:
    """Return the address for a message, without its query, which may contain a key."""
    return str(url.copy_with(query=None)) + ("?..." if url.query else "")


def is_public(address: str) -> bool:
    """Return whether an IP address is public; an IPv4 address within an IPv6 address is also checked."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        if any(ip in network for network in _NEVER_PUBLIC):
            return False
        wrapped = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else ip.sixtofour
        if wrapped is not None:
            return is_public(str(wrapped))
    return ip.is_global and not ip.is_multicast


class CheckedBackend(httpcore.NetworkBackend):
    """Opens connections only to public addresses, and limits every operation by the deadline.

    A name is resolved once, all its addresses are checked, and the connection goes to one of them, so that a
    second answer of the name server cannot replace them (DNS rebinding). Host header, SNI and certificate
    check still use the name. The time of name resolution itself is limited only by the system's resolver.

    Args:
        seconds_left: returns the seconds that one operation may take now; raises when time is up.
        allow_private: do not check addresses (for tests and for a server of one's own).
    """

    def __init__(self, seconds_left: Callable[[], float], allow_private: bool) -> None:
        self._seconds_left = seconds_left
        self._allow_private = allow_private
        self._network = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first of the host's addresses that accepts; the deadline replaces `timeout`."""
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in self._addresses(host, port):
            try:
                stream = self._network.connect_tcp(
                    address, port, self._seconds_left(), local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return _BoundedStream(stream, self._seconds_left)
        raise failure

    def _addresses(self, host: str, port: int) -> list[str]:
        """Return the host's checked IP addresses, each once, in the resolver's order."""
        try:
            resolved = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore.ConnectError(f"the name {host} cannot be resolved ({error})") from error
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in resolved))
        for address in addresses:
            if not (self._allow_private or is_public(address)):
                raise ScrapeError(f"{host} has the address {address}, which is not public: refused")
        return addresses


class _BoundedStream(httpcore.NetworkStream):
    """A connection on which each read and write takes at most the seconds left until the deadline."""

    def __init__(self, stream: httpcore.NetworkStream, seconds_left: Callable[[], float]) -> None:
        self._stream = stream
        self._seconds_left = seconds_left

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._seconds_left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._seconds_left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        secured = self._stream.start_tls(ssl_context, server_hostname, self._seconds_left())
        return _BoundedStream(secured, self._seconds_left)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _port(url: httpx.URL) -> int:
    return url.port if url.port is not None else _DEFAULT_PORTS.get(url.scheme, 0)
