"""Sources of items: topic lists, questions of other benchmarks, excerpts of pages.

Pure, except for ``read_pages``; files are read with ``tasks.packs.published.read_rows``.
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
from tasks.data.folders import files_in
from tasks.evaluations.culturall.items import CulturallItemRow
from tasks.evaluations.culturall.matching import plain
from tasks.evaluations.culturall.matching.choices import LETTERS, options
from tasks.evaluations.culturall.retrieval import read_documents
from tasks.identity import digest
from tasks.packs.published import PublishedRow, Row, Text, column, validate
from tasks.parsing import parse_json

SOURCE_CHARS = 2000
"""Maximum characters of an excerpt, or of a question with its options."""

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
        name: file and row, or document and passage.
        language: ISO 639-1 code.
        region: ISO 3166-1 alpha-2 code, or None.
        text: question or excerpt.
        choices, answer, background: those of a dataset's question; with choices the answer is a letter.
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
        """Return a hash of the content; the source's name does not change it."""
        return digest([self.origin, self.language, self.text, list(self.choices), self.answer])


@dataclass(frozen=True)
class Sources:
    """Sources in the order of their hashes, each once, and the number of rows left out by reason."""

    sources: tuple[ItemSource, ...]
    dropped: Mapping[str, int]


def load_topics(rows: Sequence[Row]) -> list[Topic]:
    """Return the topics of a sheet, the 16 topics of prompts.toml without rows.

    The header row begins with Field or Topic; the columns are name, description, then examples. Rows above
    the header are ignored.

    Raises:
        ValueError: the header is missing, a topic occurs twice, or no topic has a description.
    """
    if not rows:
        return [Topic(name, text, ()) for name, text in TOPIC_LIST.items()]
    lines = [list(map(str, rows[0])), *([_cell(value) for value in row.values()] for row in rows)]
    start = next((n for n, line in enumerate(lines) if column(line[0]) in ("field", "topic")), None)
    if start is None:
        raise ValueError(
            "topics: the header row is missing: add one that begins with Topic (or Field), Description"
        )
    topics = [
        Topic(line[0], line[1], tuple(filter(None, line[2:])))
        for line in lines[start + 1 :]
        if len(line) > 1 and line[0] and line[1]
    ]
    names = Counter(topic.name.casefold() for topic in topics)
    if repeated := [name for name, n in names.items() if n > 1]:
        raise ValueError(f"topics: {', '.join(repeated)} occurs twice: keep one")
    if not topics:
        raise ValueError("topics: no row has a name and a description: add some below the header")
    return topics


def _option_list(cell: Any) -> Any:
    """Return a cell of options as a list if it is text: JSON of a list, or one option per line."""
    if not isinstance(cell, str):
        return cell
    try:
        options = parse_json(cell)
    except ValueError:
        options = None
    return options if isinstance(options, list) else [line for line in cell.splitlines() if line.strip()]


class BenchmarkQuestionRow(PublishedRow):
    """A question of another benchmark. Its options are in the column options, or in a to d or option_a to
    option_d."""

    question: Text
    answer: Text
    options: Annotated[list[str], BeforeValidator(_option_list)] = Field(default_factory=list)
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
    """An item that a person wrote, maybe inspired by another item (``inspired_by``)."""

    author: Text
    inspired_by: str = ""


def load_datasets(files: Mapping[str, Sequence[Row]], language: str | None, region: str | None) -> Sources:
    """Return the questions of all files as sources.

    Rows without the required columns are left out, and also those counted as ``options_not_four``,
    ``answer_no_option``, ``too_long``, ``no_language`` and ``duplicate``.

    Args:
        language, region: those of rows that name none.

    Raises:
        TableError: no row of a file has the required columns.
    """
    dropped: Counter[str] = Counter()
    results: list[ItemSource | str] = []
    for file, rows in files.items():
        valid, bad_rows = validate(file, rows, BenchmarkQuestionRow)
        dropped += bad_rows
        results += [_question(f"{file}#{n}", row, language, region) for n, row in enumerate(valid, 1)]
    return _unique_sources(results, dropped)


def load_excerpts(
    excerpts: Iterable[tuple[str, Mapping[str, str]]], language: str | None, region: str | None
) -> Sources:
    """Return excerpts as sources.

    Left out are those counted as ``no_language`` and ``duplicate``.

    Args:
        excerpts: pairs of name and cells of ``ExcerptRow``.
        language, region: those of excerpts that name none.
    """
    results: list[ItemSource | str] = []
    for name, cells in excerpts:
        text = " ".join(cells["text"].split())[:SOURCE_CHARS]
        code = _language(cells.get("language") or language, text)
        region_code = (cells.get("region") or region or "").upper() or None
        results.append(ItemSource("page", name, code, region_code, text) if code else "no_language")
    return _unique_sources(results, Counter())


def excerpt_rows(file: str, rows: Sequence[Row]) -> list[tuple[str, dict[str, str]]]:
    """Return the excerpts in a file with the column text; raises TableError if it has none."""
    valid, _ = validate(file, rows, ExcerptRow)
    return [(row.source or f"{file}#{n}", row.model_dump()) for n, row in enumerate(valid, 1)]


def read_pages(folder: str) -> list[tuple[str, dict[str, str]]]:
    """Return the passages of a folder's documents: plain text files, and the visible text of HTML.

    Raises:
        ValueError: the folder does not exist or has no document.
    """
    root = Path(folder)
    pages = files_in(root, (".html", ".htm"))
    texts = [
        (path.relative_to(root).as_posix(), {"text": _visible_text(path.read_bytes())}) for path in pages
    ]
    if pages and not files_in(root, (".txt", ".md")):
        return texts
    passages = read_documents(folder)
    return texts + [(f"{p.document}#{p.number}", {"text": p.text}) for p in passages]


def chosen(sources: Sequence[ItemSource], n: int | None, seed: int) -> list[ItemSource]:
    """Return a random draw of ``n`` sources, all of them if it is None.

    A smaller draw is a subset of a larger one. The order of the sources does not matter.
    """
    return sorted(sources, key=lambda source: digest([seed, source.hash]))[:n]


def _visible_text(content: bytes) -> str:
    soup = BeautifulSoup(content, "lxml")
    for tag in soup(["script", "style", "noscript", "template", "nav", "footer"]):
        tag.decompose()
    return soup.get_text(" ", strip=True)


def _question(
    name: str, row: BenchmarkQuestionRow, language: str | None, region: str | None
) -> ItemSource | str:
    """Return a source, or the reason for leaving the row out."""
    question, choices = row.question, row.options
    columns = [row.a or row.option_a, row.b or row.option_b, row.c or row.option_c, row.d or row.option_d]
    choices = [str(text).strip() for text in choices] or [text for text in columns if text]
    if not choices and (embedded := options(question)):
        choices, question = list(embedded.values()), _FIRST_OPTION.split(question)[0]
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
    region_code = (row.region or region or "").upper() or None
    return ItemSource(
        "dataset", name, code, region_code, question.strip(), tuple(choices), answer, row.explanation
    )


def _letter(answer: str, choices: Sequence[str]) -> str:
    """Return the letter of the right option; "" if the answer is none of the options.

    The answer may be a letter, a number from 0 on, or the option's text.
    """
    letter = answer.strip(" .()").upper()
    if letter in LETTERS:
        return letter
    if letter in ("0", "1", "2", "3") and letter not in map(plain, choices):
        return LETTERS[int(letter)]
    matches = [mark for mark, text in zip(LETTERS, choices, strict=True) if plain(text) == plain(answer)]
    return matches[0] if len(matches) == 1 else ""


def _language(declared: str | None, text: str) -> str:
    return declared.casefold().strip() if declared else identify(text)[0]


def _unique_sources(results: Iterable[ItemSource | str], dropped: Counter[str]) -> Sources:
    by_hash: dict[str, ItemSource] = {}
    for source in results:
        if isinstance(source, str):
            dropped[source] += 1
        elif source.hash in by_hash:
            dropped["duplicate"] += 1
        else:
            by_hash[source.hash] = source
    return Sources(tuple(by_hash[name] for name in sorted(by_hash)), dict(sorted(dropped.items())))


def _cell(value: object) -> str:
    return "" if value is None else str(value).strip()
