"""The parts of a page as values: sentences, tables, figures, folds and sections, and how each is drawn."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from markupsafe import Markup, escape

from tasks.report.cache import drawn_once
from tasks.report.cells import put
from tasks.report.downloads import table_link
from tasks.report.forest import Chart
from tasks.report.text import clean, listed, plural

_INLINE: Final = (
    (re.compile(r"\*\*(.+?)\*\*", re.DOTALL), r"<strong>\1</strong>"),
    (re.compile(r"\*(.+?)\*", re.DOTALL), r"<em>\1</em>"),
    (re.compile(r"`(.+?)`", re.DOTALL), r"<code>\1</code>"),
    (re.compile(r"\[(.+?)\]\((#[\w-]+)\)", re.DOTALL), r'<a href="\2">\1</a>'),
)


class Drawable(Protocol):
    """A figure as a value; ``drawn`` draws it once for equal values."""

    def draw(self, name: str, description: str) -> Markup:
        """Return the figure, or "" if nothing in it was scored. name, description: as in ``svg.to_svg``."""


@dataclass(frozen=True)
class Text:
    """A paragraph, or an element of another tag. kind: its classes in the style sheet."""

    text: Markup
    kind: str = ""
    tag: str = "p"


@dataclass(frozen=True)
class Line:
    """A row of a table. kind: null, first or block; is_first: whether another body of the table begins."""

    cells: Sequence[Markup]
    kind: str = ""
    is_first: bool = False


@dataclass(frozen=True)
class Table:
    """A table that can be saved as CSV.

    Attributes:
        caption: what it shows. head, rows: cells (``cells``). id: of its element. kind: leaderboard, few or
            errors. is_long: whether its box has a limited height.
    """

    caption: str
    head: Sequence[Markup]
    rows: Sequence[Sequence[Markup] | Line]
    id: str = ""
    kind: str = ""
    is_long: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure with its caption; without scores, a line that says so.

    Attributes:
        key: letters, digits and hyphens: its id, and the name of its files. title: also what people hear who
            cannot see it, unless ``about`` says more; "" shows the drawing alone. aside: the paper's figure.
    """

    key: str
    title: str
    drawing: Drawable | None
    caption: Markup = field(default=Markup(""))
    aside: str = ""
    about: str = ""


@dataclass(frozen=True)
class Fold:
    """Parts that are shown on demand."""

    summary: object
    parts: Sequence[Part]
    is_open: bool = False


@dataclass(frozen=True)
class Box:
    """Parts in an element of their own. kind: warning, or maps, whose boxes stand beside each other."""

    kind: str
    parts: Sequence[Part]
    tag: str = "div"
    id: str = ""


Part = Text | Table | Figure | Fold | Box


@dataclass(frozen=True)
class Section:
    """A question, and the parts that answer it. id: of its heading."""

    id: str
    title: str
    parts: Sequence[Part]


@dataclass(frozen=True, kw_only=True)
class Page:
    """The content of one evaluation's page; the frame adds runs, licences and unscored numbers.

    Attributes:
        title: of the window. heading: the question. lead: the answer, as parts. picture: the first chart.
        facts: name -> value. resampled: what intervals are over. board: leaderboard. sections: everything
            else, in order. made: how numbers are computed. lost: lost answers. details: further tables at
            the end. differing: settings that configurations differ in. made_from: views and sources.
    """

    title: str
    heading: str
    lead: Sequence[Part]
    picture: Chart | None
    facts: Mapping[str, object]
    resampled: str
    board: Sequence[Part]
    sections: Sequence[Section] = ()
    made: Sequence[Part] = ()
    lost: Sequence[Part] = ()
    details: Sequence[Part] = ()
    differing: str
    made_from: str


def say(text: str, **values: object) -> Markup:
    """Return a sentence with **strong**, *emphasised* and `code` words, [links](#id), and {values}.

    Only the sentence itself is read for marks: values are escaped, and markup stays as it is.
    """
    marked = str(escape(text))
    for mark, html in _INLINE:
        marked = mark.sub(html, marked)
    return put(marked, **values)


def prose(text: str, kind: str = "", **values: object) -> list[Part]:
    """Return the paragraphs of a text, a line each; "### " begins a heading. Else as ``say``."""
    lines = filter(None, map(str.strip, text.splitlines()))
    parts = [
        Text(say(line.removeprefix("### "), **values), *(("", "h3") if line.startswith("### ") else (kind,)))
        for line in lines
    ]
    return [part for part in parts if part.text]


def block(text: object, n_columns: int) -> Line:
    """Return the row that heads a block of a table."""
    heading = put('<th scope="rowgroup" colspan="{}">{}</th>', n_columns, text)
    return Line([heading], "block", is_first=True)


def bullets(lines: Sequence[object], kind: str = "") -> Text:
    """Return a list."""
    return Text(Markup("").join(put("<li>{}</li>", line) for line in lines), kind, "ul")


def drawn(part: Part) -> Markup:
    """Return a part as HTML."""
    match part:
        case Text(text, kind, tag):
            return put("<{}{}>{}</{}>\n", Markup(tag), _class(kind), text, Markup(tag))
        case Table():
            return _table(part)
        case Figure():
            return _figure(part)
        case Fold(summary, parts, is_open):
            opened = Markup(" open") if is_open else ""
            return put("<details{}><summary>{}</summary>\n{}</details>\n", opened, summary, together(parts))
        case Box(kind, parts, tag, id_):
            attributes = _class(kind) + (put(' id="{}"', id_) if id_ else "")
            return put("<{}{}>\n{}</{}>\n", Markup(tag), attributes, together(parts), Markup(tag))


def together(parts: Sequence[Part]) -> Markup:
    """Return parts as HTML, one after the other."""
    return Markup("").join(map(drawn, parts))


def _class(kind: str) -> Markup:
    return put(' class="{}"', kind) if kind else Markup("")


def _table(table: Table) -> Markup:
    lines = [row if isinstance(row, Line) else Line(row) for row in table.rows]
    rows = [
        put("{}<tr{}>{}</tr>\n", Markup("</tbody><tbody>") if line.is_first and at else "", _class(line.kind),
            Markup("").join(line.cells))
        for at, line in enumerate(lines)
    ]  # fmt: skip
    body = put(
        "<thead><tr>{}</tr></thead><tbody>\n{}</tbody>", Markup("").join(table.head), Markup("").join(rows)
    )
    body = clean(body)
    html = (
        '<div class="scroll{}" tabindex="0"><table{}{}>\n<caption><span>{}</span></caption>\n'
        "{}</table></div>\n{}\n"
    )
    id_ = put(' id="{}"', table.id) if table.id else ""
    long = " long" if table.is_long else ""
    return put(html, long, id_, _class(table.kind), table.caption, body, table_link(body, table.caption))


def _figure(figure: Figure) -> Markup:
    value, about = figure.drawing, figure.about or figure.title
    text = Markup("") if value is None else Markup(drawn_once(type(value).draw, value, figure.key, about))
    if not text:
        said = "{}: no figure, since nothing was scored."
        return put('<p class="small" id="figure-{}">' + said + "</p>\n", figure.key, figure.title)
    aside = put(' <span class="aside">{}</span>', figure.aside) if figure.aside else ""
    title = put("<h3>{}{}</h3>\n", figure.title, aside) if figure.title else ""
    caption = put("\n<figcaption>{}</figcaption>", figure.caption) if figure.caption else ""
    html = '<figure id="figure-{}">{}<div class="scroll" tabindex="0">{}</div>{}</figure>\n'
    return put(html, figure.key, title, text, caption)


__all__ = [
    "Box", "Drawable", "Figure", "Fold", "Line", "Page", "Part", "Section", "Table", "Text", "block",
    "bullets", "drawn", "listed", "plural", "prose", "say", "together",
]  # fmt: skip
