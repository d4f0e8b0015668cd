"""Normal forms for comparing short answers: named steps, by language. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

_ARTICLES = {
    "en": "a an the", "de": "der die das den dem des ein eine einen einem einer",
    "fr": "le la les un une des",
    "es": "el la los las un una unos unas", "it": "il lo la i gli le un uno una", "pt": "o a os as um uma",
    "nl": "de het een",
}  # fmt: skip


def _no_punctuation(text: str) -> str:
    """Return a text with spaces for punctuation, symbols and control characters; marks of letters stay."""
    return "".join(" " if unicodedata.category(c)[0] in "PSC" else c for c in text)


def _no_diacritics(text: str) -> str:
    """Remove accents: é becomes e. Scripts that write vowels as marks lose these too."""
    result = (c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
    return unicodedata.normalize("NFC", "".join(result))


def _without(words: frozenset[str]) -> Callable[[str], str]:
    return lambda text: " ".join(word for word in text.split() if word not in words)


STEPS: Mapping[str, Callable[[str], str]] = {
    "nfkc": lambda text: unicodedata.normalize("NFKC", text),
    "casefold": str.casefold,
    "punctuation": _no_punctuation,
    "diacritics": _no_diacritics,
    "spaces": lambda text: " ".join(text.split()),
    **{f"articles_{language}": _without(frozenset(words.split())) for language, words in _ARTICLES.items()},
}
"""Steps that a definition may name under ``normalise``."""

USUAL = ("nfkc", "casefold", "punctuation", "spaces")
"""Steps for every language that a definition does not name."""


def steps_of(normalise: Mapping[str, Sequence[str]], language: str) -> tuple[str, ...]:
    """Return a language's steps: those listed for it, else those listed for *, else ``USUAL``."""
    return tuple(normalise.get(language, normalise.get("*", USUAL)))


@lru_cache(maxsize=1 << 16)
def normalised(text: str, steps: tuple[str, ...]) -> str:
    """Return the text after these steps; the whole text if they leave nothing."""
    result = text
    for step in steps:
        result = STEPS[step](result)
    return result or text


def stands_in(accepted: str, text: str) -> bool:
    """Return whether a text contains an accepted answer as whole words; both are normalised.

    In scripts without spaces between words, such as Chinese or Thai, the answer may be anywhere.
    """
    if accepted not in text:  # most, for which no pattern is made
        return False
    is_spaced = not re.search(
        r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]", accepted
    )
    if not is_spaced:
        return True
    return re.search(rf"(?<!\w){re.escape(accepted)}(?!\w)", text) is not None
