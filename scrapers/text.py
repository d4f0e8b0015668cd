"""Decoding of bytes, and cleaning of text from pages for item lists."""

from __future__ import annotations

import codecs
import re
import unicodedata

from bs4.dammit import EncodingDetector

# Soft hyphen, zero-width space, word joiner, byte order mark, marks of writing direction, and halves of
# surrogate pairs, which JSON can spell but text cannot store. Not the zero-width joiner and non-joiner, with
# which Persian and the Indic scripts are spelled.
_INVISIBLE = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff]")
_JOINERS = "\u200c\u200d"


def clean(text: str) -> str:
    """Return text in NFC without invisible marks.

    Each run of white space, including no-break spaces, becomes one space; there is none at the ends.
    """
    visible = _INVISIBLE.sub("", unicodedata.normalize("NFC", text))
    return " ".join(visible.split()).strip(_JOINERS + " ")


def decode(content: bytes, charset: str | None = None) -> str:
    """Return a page or file as text.

    Valid UTF-8 is read as UTF-8, whatever charset is declared: text in an older charset is hardly ever valid
    UTF-8 by chance, while wrong declarations are common. Otherwise the charset declared in the page is tried,
    then ``charset`` of the header, then Windows-1252, where undefined bytes become U+FFFD.
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
