"""Bytes to text, and text as pages write it to text as a list keeps it."""

from __future__ import annotations

import codecs
import re
import unicodedata

from bs4.dammit import EncodingDetector

# Soft hyphen, zero-width space, word joiner, byte order mark, and the marks that only steer the direction of
# writing. The zero-width joiner and non-joiner stay: Persian and the Indic scripts spell with them.
# JSON can spell half a surrogate pair, which cannot be stored as text.
_INVISIBLE = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff]")
_JOINERS = "\u200c\u200d"


def clean(text: str) -> str:
    """NFC without invisible marks; white space, no-break spaces too, is one space and none at the ends."""
    visible = _INVISIBLE.sub("", unicodedata.normalize("NFC", text))
    return " ".join(visible.split()).strip(_JOINERS + " ")


def decode(content: bytes, charset: str | None = None) -> str:
    """Decode a page or file, whatever its charset header says.

    Bytes that are valid UTF-8 are UTF-8: text in an older charset hardly ever is by accident, while headers
    that name the wrong charset are common. Otherwise the declaration inside the page wins over ``charset``
    (the header's); Windows-1252 is the last resort, and what it cannot read becomes U+FFFD.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", errors="replace")
    declared = EncodingDetector.find_declared_encoding(content, is_html=True)
    for encoding in filter(None, ("utf-8-sig", declared, charset)):
        try:
            return content.decode(encoding)
        except (ValueError, LookupError):  # not in this charset, or no such charset
            continue
    return content.decode("windows-1252", errors="replace")
