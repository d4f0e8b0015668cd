"""Build the documentation: ``python docs/build.py [FOLDER]``; the site is FOLDER/site (build/docs/site).

Besides the pages of this folder, the site has pages generated from the code (command line, metrics, tables,
sources), which are never out of date, and documentation files from elsewhere in the repository.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
DOCS = REPOSITORY / "docs"
ELSEWHERE = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks.md",
    "deployments/cluster/README.md": "workers.md",
}
"""Documentation outside of docs/ -> its page."""
Query = Callable[[str], Any]
NOT_PROSE = (
    r"```.*?```|^ {4}[^\n]*|^#[^\n]*|^\|[^\n]*|`[^`]*`|!?\[[^\]]*\]\([^)]*\)|\*\*.*?\*\*|\*[^*\n]*\*|<[^>]+>"
)
"""Parts of a page without links of terms: code, headings, tables, links, emphasis, tags."""
NOT_LINKED = {"Run"}
"""Glossary terms that are never linked, since pages also use them as verbs."""
SHORT = {"null": "null model"}
"""Short form -> its glossary term."""
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


def build(folder: Path) -> Path:
    """Collect all pages in ``folder`` and build the site; returns its folder.

    Raises:
        SystemExit: a page cannot be built, or has a broken link or anchor.
    """
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "docs"
    shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for page in sorted(pages.rglob("*.md")):
        source = DOCS / page.relative_to(pages)
        text = linked(page.read_text(encoding="utf-8"), source, page, pages)
        if page.name != "glossary.md":
            text = with_terms(text, Path(os.path.relpath(pages / "glossary.md", page.parent)).as_posix())
        page.write_text(text, encoding="utf-8")
    for place, name in ELSEWHERE.items():
        text = (REPOSITORY / place).read_text(encoding="utf-8")
        text = linked(text, REPOSITORY / place, pages / name, pages)
        text = text if name == "changelog.md" else with_terms(text, "glossary.md")
        (pages / name).write_text(text, encoding="utf-8")
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    if unlinked := set(with_terms(readme, "docs/glossary.md").split()) - set(readme.split()):
        raise SystemExit(f"README.md: link where a glossary term first stands: {' '.join(sorted(unlinked))}")
    commands = command_line(pages)
    from_warehouse(pages)
    config = (REPOSITORY / "zensical.toml").read_text(encoding="utf-8").replace('"cli.md"', commands)
    (folder / "zensical.toml").write_text(navigable(config, pages), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | {"NO_COLOR": "1"}, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout}{done.stderr}".strip())
    return folder / "site"


def navigable(config: str, pages: Path) -> str:
    """Return the configuration, with pages missing from its navigation added under "More"."""
    listed = set(re.findall(r'"([\w/-]+\.md)"', config))
    more = sorted({page.relative_to(pages).as_posix() for page in pages.rglob("*.md")} - listed)
    return config.replace("\n]\n", f'\n  {{ "More" = {json.dumps(more)} }},\n]\n', 1) if more else config


def linked(text: str, source: Path, page: Path, pages: Path) -> str:
    """Return a page with links to files of the repository changed to those files' pages."""

    def lead(match: re.Match[str]) -> str:
        target = (source.parent / match[1]).resolve()
        place = target.relative_to(REPOSITORY).as_posix() if target.is_relative_to(REPOSITORY) else ""
        if place in ELSEWHERE:
            goal = pages / ELSEWHERE[place]
        elif target.is_relative_to(DOCS):
            goal = pages / target.relative_to(DOCS)
        else:
            return match[0]
        return f"]({Path(os.path.relpath(goal, page.parent)).as_posix()}"

    return LINK.sub(lead, text)


def with_terms(text: str, glossary: str) -> str:
    """Return a page with the first use in prose of each glossary term linked."""
    terms = re.findall(r"^### (.+)$", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.M)
    names = "|".join(sorted({*terms, *SHORT} - NOT_LINKED, key=len, reverse=True))
    seen: set[str] = set()

    def lead(match: re.Match[str]) -> str:
        if by_hand := re.search(r"glossary\.md#([\w-]+)\)$", match[0]):
            seen.add(by_hand[1].replace("-", " "))
        term = (match[1] or "").lower()
        term = SHORT.get(term, term)
        if not term or term in seen or match[1] == "NULL":
            return match[0]
        seen.add(term)
        return f"[{match[0]}]({glossary}#{term.replace(' ', '-')})"

    found = re.compile(rf"{NOT_PROSE}|(?<![\w-])({names})s?(?![\w-])", re.I | re.M | re.S)
    return found.sub(lead, text)


def command_line(pages: Path) -> str:
    """Write one page per command; returns their entry of the navigation, in TOML."""
    command = [
        sys.executable,
        "-m",
        "typer",
        "deployments.cli.app",
        "utils",
        "docs",
        "--name",
        "culturemeter",
    ]
    settings = os.environ | {"PYTHONPATH": str(REPOSITORY), "COLUMNS": "200"}
    text = subprocess.run(
        command, cwd=REPOSITORY, env=settings, capture_output=True, text=True, check=True
    ).stdout
    _, *parts = re.split(r"^#+ `culturemeter ?([\w -]*)`\n", text, flags=re.M)
    help_of = dict(zip(parts[::2], parts[1::2], strict=True))
    (pages / "cli").mkdir()
    groups: dict[str, list[str]] = {}
    for name, body in help_of.items():
        page = f"cli/{name.replace(' ', '-')}.md" if name else "cli.md"
        title = f"`culturemeter {name}`" if name else "Command line"
        (pages / page).write_text(f"# {title}\n{with_links(body, name, help_of)}", encoding="utf-8")
        groups.setdefault(name.partition(" ")[0], []).append(page)
    index, *others = (
        page if len(own) == 1 else {name: own} for name, own in groups.items() for page in own[:1]
    )
    return json.dumps([index, *others]).replace('": ', '" = ')


def with_links(body: str, name: str, help_of: dict[str, str]) -> str:
    """Return a command's help with its subcommands linked, each with the first line of its own help."""

    def lead(match: re.Match[str]) -> str:
        full = f"{name} {match[1]}".strip()
        if full not in help_of:
            return match[0]
        page = f"{'' if name else 'cli/'}{full.replace(' ', '-')}.md"
        return f"* [`{match[1]}`]({page}): {help_of[full].strip().partition(chr(10))[0]}"

    head, commands, listed = body.partition("**Commands**:")
    return head + commands + re.sub(r"^\* `([\w-]+)`:.*$", lead, listed, flags=re.M)


def from_warehouse(pages: Path) -> None:
    """Write the pages on metrics, tables and sources, as a new warehouse describes them."""
    from warehouse import Warehouse

    with tempfile.TemporaryDirectory() as home:
        query = Warehouse.open(Path(home)).query
        for name, make in {"metrics.md": metrics, "tables.md": tables, "sources.md": sources}.items():
            (pages / name).write_text("\n".join(make(query)) + "\n", encoding="utf-8")


def metrics(query: Query) -> Iterator[str]:
    """Yield the lines of the page of every number in the catalogue, by evaluation."""
    yield "# Metrics\n\nEvery number and what a null model scores. In SQL: the table `metric`."
    rows = query("SELECT * FROM metric ORDER BY evaluation, NOT is_headline, metric")
    for (evaluation,), own in rows.group_by("evaluation", maintain_order=True):
        yield f"\n## {evaluation}\n"
        yield "| metric | what it means | range, better | null | unscored when | source |\n|" + " --- |" * 6
        for r in own.iter_rows(named=True):
            name = f"`{r['metric']}`" + (" **headline**" if r["is_headline"] else "")
            low, high = (f"{end:g}" if end is not None else "…" for end in (r["range_low"], r["range_high"]))
            where = f"{low} to {high}, {r['direction']}"
            yield row(name, r["description"], where, r["null_baseline"], r["unscored_when"], r["source"])


def tables(query: Query) -> Iterator[str]:
    """Yield the lines of the page of every view and table with its columns, from their comments."""
    yield "# Tables and views\n\nWhat `culturemeter sql` can read. Recipes: [SQL cookbook](sql.md)."
    columns = query(
        "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() "
        "WHERE NOT internal AND schema_name = 'main' ORDER BY table_name, column_index"
    )
    for kind in ("view", "table"):
        comments = (
            f"SELECT {kind}_name, comment FROM duckdb_{kind}s() WHERE NOT internal AND schema_name = 'main'"
        )
        for name, comment in query(f"{comments} ORDER BY 1").rows():
            yield f"\n## {name}\n\n*{kind.capitalize()}.* {escaped(comment)}\n"
            yield "| column | type | what it is |\n| --- | --- | --- |"
            yield from (row(f"`{c}`", type_, what) for own, c, type_, what in columns.rows() if own == name)


def sources(query: Query) -> Iterator[str]:
    """Yield the lines of the page of the origin and licence of every reference file."""
    yield "# All sources\n\nThe table `source`. In short: [data and licences](data.md).\n"
    yield "| file | source | version | licence | notes |\n|" + " --- |" * 5
    for found in query("SELECT file, source, version, licence, notes FROM source ORDER BY file").rows():
        yield row(f"`{found[0]}`", *found[1:])


def row(*cells: str | None) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(map(escaped, cells))} |"


def escaped(text: str | None) -> str:
    """Return text for a cell on one line, with bars and angle brackets escaped."""
    return " ".join((text or "").split()).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    sys.path.insert(0, str(REPOSITORY))
    print(build(Path(sys.argv[1]).resolve() if sys.argv[1:] else REPOSITORY / "build" / "docs"))
