"""The troubleshooting page: each message once, followed by what to do."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "troubleshooting.md"


def test_every_message_is_listed_once_with_advice() -> None:
    """The wording of messages is tested with the code that raises them."""
    _, *pieces = re.split(r"^\*\*`(.+)`\*\*$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    messages, advice = pieces[::2], pieces[1::2]
    assert len(messages) >= 30
    assert len(messages) == len(set(messages))
    assert [m for m, words in zip(messages, advice, strict=True) if not words.strip()] == []
