"""Sources of items: topic lists, questions of other benchmarks, excerpts of pages.

Pure but for ``read_pages``; files are read with ``tasks.packs.published.read_rows``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from bs4 import BeautifulSoup
from pydantic import BeforeValidator, Field

from tasks.builders.culturall.language import identify
from tasks.builders.culturall.prompts import TOPIC_LIST
from tasks.evaluations.culturall.items import CulturallItemRow
from tasks.evaluations.culturall.matching import LETTERS, options, plain
from tasks.evaluations.culturall.retrieval import read_documents
from tasks.identity import digest
from tasks.packs.published import PublishedRow, Row, Text, column, validate
from tasks.parsing import parse_json

SOURCE_CHARS = 2000
"""Most characters of an excerpt, or of a question with its options."""

_FIRST_OPTION = re.compile(r"(?<![^\W_])A\s*[.):、]")


@dataclass(frozen=True)
class Topic:
    """A topic with its description and examples of subjects."""

    name: str
    description: str
    examples: tuple[str, ...]


@dataclass(frozen=True)
class ItemSource:
    """The source of one item.

    Attributes:
        name: file and row, or document and passage. language: ISO 639-1. region: ISO 3166-1 alpha-2, or None.
        text: the question, or the excerpt.
        choices, answer, background: of a dataset; the answer to multiple choice is a letter.
    """

    origin: Literal["dataset", "page"]
    name: str
    language: str
    region: str | None
    text: str
    choices: tuple[str, ...] = ()
    answer: str = ""
    background: str = ""

    @property
    def hash(self) -> str:
        """Identifies the content, wherever it lies."""
        return digest([self.origin, self.language, self.text, list(self.choices), self.answer])


@dataclass(frozen=True)
class Sources:
    """Sources by hash, each once, and how many rows were left out, by reason."""

    sources: tuple[ItemSource, ...]
    dropped: Mapping[str, int]


def load_topics(rows: Sequence[Row]) -> list[Topic]:
    """Return the topics of a sheet: name, description, then examples, below a header that begins with Field
    or Topic.

    The header may be the first row of cells instead of the sheet's own. Without rows, returns the 16 topics.

    Raises:
        ValueError: there is no such header, a topic comes twice, or none has a description.
    """
    if not rows:
        return [Topic(name, text, ()) for name, text in TOPIC_LIST.items()]
    lines = [list(map(str, rows[0])), *([_cell(value) for value in row.values()] for row in rows)]
    start = next((n for n, line in enumerate(lines) if column(line[0]) in ("field", "topic")), None)
    if start is None:
        raise ValueError("topics: no header row: it begins with Field or Topic, then Description")
    topics = [
        Topic(line[0], line[1], tuple(filter(None, line[2:])))
        for line in lines[start + 1 :]
        if len(line) > 1 and line[0] and line[1]
    ]
    names = Counter(topic.name.casefold() for topic in topics)
    if twice := [name for name, n in names.items() if n > 1]:
        raise ValueError(f"topics: {', '.join(twice)} occurs twice: keep one")
    if not topics:
        raise ValueError("topics: no row has a name and a description")
    return topics


def _letters(cell: Any) -> Any:
    """Options as a list: they may be a list, its JSON, or lines."""
    if not isinstance(cell, str):
        return cell
    try:
        read = parse_json(cell)
    except ValueError:
        read = None
    return read if isinstance(read, list) else [line for line in cell.splitlines() if line.strip()]


class BenchmarkQuestionRow(PublishedRow):
    """A question of another benchmark. Options stand in one column, or in a to d, or in option_a to
    option_d."""

    question: Text
    answer: Text
    options: Annotated[list[str], BeforeValidator(_letters)] = Field(default_factory=list)
    a: str = ""
    b: str = ""
    c: str = ""
    d: str = ""
    option_a: str = ""
    option_b: str = ""
    option_c: str = ""
    option_d: str = ""
    language: str = ""
    region: str = ""
    explanation: str = ""


class ExcerptRow(PublishedRow):
    """An excerpt of a page."""

    text: Text
    source: str = ""
    language: str = ""
    region: str = ""


class WrittenRow(CulturallItemRow):
    """An item that a person wrote, after the item ``inspired_by`` if that is given."""

    author: Text
    inspired_by: str = ""


def load_datasets(files: Mapping[str, Sequence[Row]], language: str | None, region: str | None) -> Sources:
    """The questions of all files; language and region: of rows that do not name theirs.

    Rows are left out where they do not fit, and as ``options_not_four``, ``answer_no_option``, ``too_long``,
    ``no_language`` or ``duplicate``.

    Raises:
        BenchmarkError: no row of a file fits.
    """
    dropped: Counter[str] = Counter()
    read: list[ItemSource | str] = []
    for file, rows in files.items():
        valid, bad = validate(file, rows, BenchmarkQuestionRow)
        dropped += bad
        read += [_question(f"{file}#{n}", row, language, region) for n, row in enumerate(valid, 1)]
    return _gathered(read, dropped)


def load_excerpts(
    excerpts: Iterable[tuple[str, Mapping[str, str]]], language: str | None, region: str | None
) -> Sources:
    """Excerpts (name, cells of ``ExcerptRow``); left out as in ``load_datasets``."""
    read: list[ItemSource | str] = []
    for name, cells in excerpts:
        text = " ".join(cells["text"].split())[:SOURCE_CHARS]
        code = _language(cells.get("language") or language, text)
        known = (cells.get("region") or region or "").upper() or None
        read.append(ItemSource("page", name, code, known, text) if code else "no_language")
    return _gathered(read, Counter())


def excerpt_rows(file: str, rows: Sequence[Row]) -> list[tuple[str, dict[str, str]]]:
    """The excerpts of a file with the column text; raises BenchmarkError if it has none."""
    valid, _ = validate(file, rows, ExcerptRow)
    return [(row.source or f"{file}#{n}", row.model_dump()) for n, row in enumerate(valid, 1)]


def read_pages(folder: str) -> list[tuple[str, dict[str, str]]]:
    """Return the passages of a folder's documents: plain text files, and the visible text of HTML.

    Raises:
        ValueError: there is no such folder, or no document in it.
    """
    root = Path(folder)
    pages = sorted(path for path in root.rglob("*") if path.suffix in (".html", ".htm") and path.is_file())
    texts = [(path.relative_to(root).as_posix(), {"text": _seen(path.read_bytes())}) for path in pages]
    if pages and not any(path.suffix in (".txt", ".md") for path in root.rglob("*")):
        return texts
    passages = read_documents(folder)
    return texts + [(f"{p.document}#{p.number}", {"text": p.text}) for p in passages]


def chosen(sources: Sequence[ItemSource], n: int | None, seed: int) -> list[ItemSource]:
    """Return a draw of the sources; a smaller draw is a subset of a larger one, whatever the order."""
    return sorted(sources, key=lambda source: digest([seed, source.hash]))[:n]


def _seen(content: bytes) -> str:
    soup = BeautifulSoup(content, "lxml")
    for tag in soup(["script", "style", "noscript", "template", "nav", "footer"]):
        tag.decompose()
    return soup.get_text(" ", strip=True)


def _question(
    name: str, row: BenchmarkQuestionRow, language: str | None, region: str | None
) -> ItemSource | str:
    """Return a source, or why the row is unusable."""
    question, choices = row.question, row.options
    columns = [row.a or row.option_a, row.b or row.option_b, row.c or row.option_c, row.d or row.option_d]
    choices = [str(text).strip() for text in choices] or [text for text in columns if text]
    if not choices and (within := options(question)):
        choices, question = list(within.values()), _FIRST_OPTION.split(question)[0]
    if choices and len(choices) != len(LETTERS):
        return "options_not_four"
    answer = _letter(row.answer, choices) if choices else row.answer
    if not answer:
        return "answer_no_option"
    if len(question) + sum(map(len, choices)) > SOURCE_CHARS:
        return "too_long"
    code = _language(row.language or language, f"{question} {' '.join(choices)}")
    if not code:
        return "no_language"
    known = (row.region or region or "").upper() or None
    return ItemSource("dataset", name, code, known, question.strip(), tuple(choices), answer, row.explanation)


def _letter(answer: str, choices: Sequence[str]) -> str:
    """The letter of the right option, which may be given by letter, number from 0 or text; "" if none is."""
    letter = answer.strip(" .()").upper()
    if letter in LETTERS:
        return letter
    if letter in ("0", "1", "2", "3") and letter not in map(plain, choices):
        return LETTERS[int(letter)]
    same = [mark for mark, text in zip(LETTERS, choices, strict=True) if plain(text) == plain(answer)]
    return same[0] if len(same) == 1 else ""


def _language(declared: str | None, text: str) -> str:
    return declared.casefold().strip() if declared else identify(text)[0]


def _gathered(read: Iterable[ItemSource | str], dropped: Counter[str]) -> Sources:
    by_hash: dict[str, ItemSource] = {}
    for source in read:
        if isinstance(source, str):
            dropped[source] += 1
        elif source.hash in by_hash:
            dropped["duplicate"] += 1
        else:
            by_hash[source.hash] = source
    return Sources(tuple(by_hash[name] for name in sorted(by_hash)), dict(sorted(dropped.items())))


def _cell(value: object) -> str:
    return "" if value is None else str(value).strip()
