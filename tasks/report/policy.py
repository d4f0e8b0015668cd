"""Limits of a page: it loads only the style and the script that its template has, by their hashes.

So a page cannot be made to run or fetch anything, even if a text of a model got into it as markup.
"""

from __future__ import annotations

import base64
import re
from hashlib import sha256
from pathlib import Path

_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_HEAD = re.compile(r'<meta charset="utf-8">\n')
_SCRIPTS = tuple(sorted(Path(__file__).with_name("templates").glob("*.js")))
"""Scripts of templates, each alone in an element of its own."""
HEADER = "Content-Security-Policy"
PRIVATE = "frame-ancestors 'none'; sandbox allow-scripts allow-downloads allow-popups"
"""Directives that a server with an API adds, so that the page is of no origin."""


def policy(page: str, *others: str) -> str:
    """Return a page's Content-Security-Policy. others: directives in place of those of scripts."""
    head = page.partition("</head>")[0]
    style = " ".join(_hash(text) for text in _STYLE.findall(head)) or "'none'"
    directives = [
        "default-src 'none'",
        f"style-src-elem {style}",
        "style-src-attr 'unsafe-inline'",  # places and colours of marks
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        *(others or [f"script-src {_of_scripts(page)}"]),
    ]
    return "; ".join(directives)


def with_policy(page: str, *others: str) -> str:
    """Return a page with its policy in its head. others: as for ``policy``."""
    meta = f'<meta http-equiv="{HEADER}" content="{policy(page, *others)}">\n'
    return _HEAD.sub(lambda found: found[0] + meta, page, count=1)


def _of_scripts(page: str) -> str:
    """Return the hashes of the scripts in a page that are the templates'; 'none' if there is none."""
    known = {file.read_text(encoding="utf-8").strip() for file in _SCRIPTS}
    own = dict.fromkeys(_hash(text) for text in _SCRIPT.findall(page) if text.strip() in known)
    return " ".join(own) or "'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"
