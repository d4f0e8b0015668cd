"""A fault of the user's environment is one line that names the variable, and never its value."""

from __future__ import annotations

import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import certifi
import httpx
import pytest

from tasks.engines.protocols import EngineError, Sampling
from tasks.engines.served.connection import certificates, checked_key, no_connection
from tasks.engines.served.openai_http import OpenAIGenerator
from tasks.engines.specs import EngineSpec
from tests.engines.served import TALK, Start, completion

KEY = "sk-0123456789abcdefghij"


def spec(base_url: str) -> EngineSpec:
    options = {"max_retries": 0, "timeout": 20}
    return EngineSpec(
        name="far", kind="openai", model="m", base_url=base_url, api_key_env="FAR_API_KEY", options=options
    )


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("FAR_API_KEY", KEY)
    monkeypatch.setenv("CULTUREMETER_TRUST", "FAR_API_KEY@http://llm.example FAR_API_KEY@x.example")


def error_of(engine_spec: EngineSpec) -> str:
    with pytest.raises(EngineError) as caught:
        OpenAIGenerator(engine_spec).generate(TALK, Sampling())
    text = str(caught.value)
    assert "\n" not in text
    assert "sk-" not in text
    return text


@pytest.mark.parametrize(
    ("key", "what"),
    [(f"{KEY}\n", "a line break"), (f" {KEY}", "a blank"), (f"{KEY}\t", "a blank"),
     (f"{KEY}é", "beyond ASCII"), (f"“{KEY}”", "beyond ASCII"), (f"{KEY}\r\n", "a line break"),
     (f"{KEY}\x00", "a control character"), (f'"{KEY}"', "quotation marks"), (f"'{KEY}", "quotation marks"),
     ("$OPENAI_API_KEY", "a placeholder"), ("<your key>", "a placeholder"), ("your-api-key", "a placeholder"),
     (f"{KEY}\u00a0", "a blank or tab and a sign beyond ASCII")],
)  # fmt: skip
def test_key_with_an_odd_sign_is_named_by_its_variable(key: str, what: str) -> None:
    with pytest.raises(EngineError, match=f"variable FAR_API_KEY holds .*{what}") as caught:
        checked_key("FAR_API_KEY", key)
    assert KEY not in str(caught.value)


def test_odd_key_is_found_before_anything_is_sent(serve: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(completion("x"))
    monkeypatch.setenv("FAR_API_KEY", f"{KEY}\n")
    assert "FAR_API_KEY holds a line break" in error_of(spec(server.url))
    assert not server.received


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("ALL_PROXY", "socks5://user:sk-x@127.0.0.1:9", "ALL_PROXY is a socks5 proxy"),
        ("all_proxy", "socks5h://127.0.0.1:9", "ALL_PROXY is a socks5h proxy"),
        ("ALL_PROXY", "socks://127.0.0.1:9", r"ALL_PROXY names no proxy (socks://)"),
        ("HTTPS_PROXY", "http://[::1", "HTTPS_PROXY names no proxy"),
        ("no_proxy", "localhost,fd00::/8", "NO_PROXY has an entry that is no host"),
    ],
)
def test_proxy_that_cannot_be_used_is_named(
    variable: str, value: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    assert words in error_of(spec("http://llm.example/v1"))


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificate_file_that_cannot_be_read_is_named(
    tmp_path: Path, content: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "own.pem"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    assert f"SSL_CERT_FILE={str(file)!r} cannot be read as certificates" in error_of(
        spec("https://x.example")
    )


@pytest.fixture
def https(tmp_path: Path) -> Iterator[str]:
    """The address of a server with a certificate that nobody has signed."""
    pem = tmp_path / "own.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    subprocess.run(
        [*command, "-keyout", str(pem), "-out", str(tmp_path / "c.pem")], check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "c.pem", pem)
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"https://localhost:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_untrusted_certificate_is_named_with_its_host(https: str) -> None:
    error = error_of(spec(https))
    assert "the certificate of localhost is not trusted: self-signed certificate" in error
    assert "set SSL_CERT_FILE to a PEM file" in error
    assert "Operation not permitted" not in error


def test_server_without_tls_is_named(serve: Start) -> None:
    url = serve(completion("x")).url.replace("http://", "https://")
    error = error_of(spec(url))
    assert "no TLS with 127.0.0.1: " in error
    assert "does the server speak https on that port?" in error


def test_lost_connection_is_not_an_address_that_cannot_be_reached() -> None:
    lost = no_connection(httpx.ReadError("gone"), "http://h")
    assert (type(lost).__name__, lost.words, lost.is_transient) == ("Failed", "gone", True)
    assert not no_connection(httpx.InvalidURL("no"), "x").is_transient


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://llm.example.org/v1/chat/completions", "ends in chat/completions"),
        ("https://llm.example.org/v1/messages/", "ends in messages"),
        (" https://llm.example.org/v1", "not a valid URL"),
        ("https://llm.example.org/v1\n", "not a valid URL"),
        ("https://llm .example.org/v1", "not a valid URL"),
        ("https://[::1]llm.example.org/v1", "not a valid URL"),
        ("https://api.\u03bfpenai.com/v1", r"other than a to z.* as api\.xn--penai-qce\.com"),
        ("https://\uff41pi.openai.com/v1", r"other than a to z.* as api\.openai\.com"),
        ("https://localhost%2ellm.example.org/v1", "other than a to z"),
        ("https://localhost\u3002llm.example.org/v1", "other than a to z"),
    ],
)
def test_address_that_takes_no_path_is_refused(url: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"base_url .*{words}"):
        spec(url)


@pytest.mark.parametrize("part", ["?api-version=1&key=sk-x", "#sk-x"])
def test_address_with_a_query_is_refused(part: str) -> None:
    with pytest.raises(ValueError, match="base_url has a query") as caught:
        spec(f"https://llm.example.org/v1{part}")
    assert "sk-x" not in str(caught.value)


def test_certificates_are_read_once_until_their_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "authorities.pem"
    file.write_bytes(Path(certifi.where()).read_bytes())
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    first = certificates("a")
    assert certificates("b") is first
    file.write_text("no certificate")
    with pytest.raises(EngineError, match="no certificate in PEM form"):
        certificates("a")
    monkeypatch.delenv("SSL_CERT_FILE")
    assert certificates("a") is not first
