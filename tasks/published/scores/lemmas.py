"""The lemmatisers of BLEnD's published evaluation that are Python packages. None is installed with this
program.

Five languages have no lemmatiser here: Amharic and Spanish need Spark NLP, Greek a model of CLTK, Azerbaijani
and Sundanese unpackaged repositories. The error names the package to install, or states that none exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from tasks.published.scores.blend import Lemmas


class Package(NamedTuple):
    """The source of a language's lemmatiser.

    Attributes:
        names: names of its distributions, to install. make: the function below that loads it.
    """

    names: tuple[str, ...]
    make: str


PACKAGES = {
    "en": Package(("spacy", "en_core_web_sm"), "_english"),
    "zh": Package(("jieba",), "_chinese"),
    "ko": Package(("konlpy",), "_korean"),
    "ha": Package(("hausastemmer",), "_hausa"),
    "id": Package(("nlp-id",), "_indonesian"),
    "fa": Package(("hazm",), "_persian"),
    "ar": Package(("qalsadi",), "_arabic"),
    "as": Package(("indic-nlp-library",), "_assamese"),
}
"""By language code."""


def missing(language: str) -> str:
    """Return the packages to install for a language's lemmas: "" if installed, "-" if no package exists."""
    if language not in PACKAGES:
        return "-"
    return " ".join(name for name in PACKAGES[language].names if not _version(name))


def described(language: str) -> str:
    """Return the packages with their versions, because other versions make other lemmas."""
    return ", ".join(f"{name} {_version(name)}" for name in PACKAGES[language].names)


@cache
def lemmas_of(language: str) -> Lemmas:
    """Return the function from a text to its lemmas, as the published evaluation makes them."""
    lemmas: Lemmas = globals()[PACKAGES[language].make]()
    return lemmas


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _load(module: str) -> Any:
    return import_module(module)


def _english() -> Lemmas:
    pipeline = _load("spacy").load("en_core_web_sm")
    return lambda text: [token.lemma_ for token in pipeline(text)]


def _chinese() -> Lemmas:
    cut = _load("jieba").lcut
    return lambda text: list(cut(text))


def _korean() -> Lemmas:
    okt = _load("konlpy.tag").Okt()

    def lemmas(text: str) -> Sequence[str]:
        without_particles = " ".join(word for word, kind in okt.pos(text) if kind != "Josa")
        return list(okt.morphs(without_particles, stem=True))

    return lemmas


def _hausa() -> Lemmas:
    stem = _load("hausastemmer").stem
    return lambda text: [stem(term.strip("-")) for term in text.split()]


def _indonesian() -> Lemmas:
    lemmatizer = _load("nlp_id.lemmatizer").Lemmatizer()
    return lambda text: lemmatizer.lemmatize(text).split()


def _persian() -> Lemmas:
    lemmatizer = _load("hazm").Lemmatizer()
    return lambda text: [lemmatizer.lemmatize(term) for term in text.split()]


def _arabic() -> Lemmas:
    lemmatizer = _load("qalsadi.lemmatizer").Lemmatizer()
    return lambda text: list(lemmatizer.lemmatize(text))


def _assamese() -> Lemmas:
    tokenize = _load("indicnlp.tokenize.indic_tokenize").trivial_tokenize
    return lambda text: list(tokenize(text))
