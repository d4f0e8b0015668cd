"""What an answer that is not a result means: which error, and what to do about it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import unescape
from urllib.parse import urljoin

from scrapers.model import ScrapeError, TransientError
from scrapers.wikidata.transport import Answer, TooSlowError

USER_AGENT_POLICY = "https://foundation.wikimedia.org/wiki/Policy:Wikimedia_Foundation_User-Agent_Policy"
TIMED_OUT = b"java.util.concurrent.TimeoutException"
"""Blazegraph, which runs the Wikidata Query Service, says so with status 500, or within a result that it had
begun to send with status 200."""
SHOWN = 200


def check(url: str, answer: Answer) -> None:
    """Return if the answer may be read as a result.

    Raises:
        TooSlowError: the endpoint ended the query for its time; a smaller one may do.
        TransientError: overloaded, throttled or broken for the moment.
        ScrapeError: asking again gives the same.
    """
    status, said = answer.status, excerpt(answer.content)
    if TIMED_OUT in answer.content and status in (200, 500):
        raise TooSlowError(f"{url}: the endpoint ended the query because it took too long")
    if status == 200:
        return
    if 300 <= status < 400:
        target = urljoin(url, answer.headers.get("Location", "(no address)"))
        raise ScrapeError(
            f"{url} redirects ({status}) to {target}. A redirected query may lose its body: if you "
            f"trust that address, give it as the endpoint"
        )
    if status == 403:
        raise ScrapeError(
            f"{url} refuses this client (403): {said}. Check that the User-Agent names the program "
            f"and a contact: {USER_AGENT_POLICY}"
        )
    if status in (408, 429) or status >= 500:
        wish = retry_after(answer.headers.get("Retry-After"), datetime.now(UTC))
        wait = "" if wish is None else f" It asks to wait {wish:.0f} s."
        raise TransientError(f"{url}: status {status}: {said}.{wait}", wish)
    if status == 400:
        lines = "\n".join(answer.content.decode(errors="replace").strip().splitlines()[:5])
        raise ScrapeError(f"{url} does not accept the query (400):\n{lines}")
    raise ScrapeError(f"{url}: status {status}: {said}. Check the address of the endpoint")


def not_a_result(url: str, answer: Answer) -> TransientError:
    """Status 200 without a SPARQL result in JSON: an overloaded service's page, or an answer cut short."""
    kind = answer.headers.get("Content-Type", "no Content-Type")
    return TransientError(
        f"{url} answered {len(answer.content):,} bytes ({kind}) that are no SPARQL result in JSON: "
        f"{excerpt(answer.content)}"
    )


def excerpt(content: bytes) -> str:
    """The first words that a reader would see."""
    text = re.sub(r"(?is)<(script|style)\b.*?</\1>|<[^>]*>", " ", content[:20_000].decode(errors="replace"))
    return " ".join(unescape(text).split())[:SHOWN] or "(empty)"


def retry_after(header: str | None, now: datetime) -> float | None:
    """Seconds >= 0 that a Retry-After header asks for, as a number or a date; None if it says neither."""
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return None
    if date.tzinfo is None:  # "-0000": UTC, of unknown place
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - now).total_seconds())
