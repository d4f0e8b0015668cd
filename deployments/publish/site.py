"""A whole site, put in place at once: written to a folder beside its own, then swapped with it."""

from __future__ import annotations

import gzip
import json
import lzma
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

from deployments.publish.croissant import About, croissant
from deployments.publish.data import Table, write_tables
from deployments.publish.pages import BESIDE, Boards, Pages, boards, foot, sources
from deployments.publish.rule import refuse_secrets
from deployments.publish.verify import MARK, answer_parts, fingerprint
from deployments.show import report
from deployments.show.overview import overview
from deployments.show.overview import pages as newest_reports
from tasks.parsing import parse_json
from tasks.report.svg import Drawn, kept_figures
from warehouse import Warehouse, WarehouseError
from warehouse.storage import room_for

_HERE = Path(__file__).parent
_NEEDED = 20_000_000
_NEWEST = "SELECT max(finished_at) FROM run WHERE status = 'finished'"


@dataclass(frozen=True)
class Published:
    """A site as ``publish`` wrote it. n_bytes: of all files; engine_bytes: of those that the query page runs;
    fingerprint: as ``verify.fingerprint``."""

    folder: Path
    n_files: int
    n_bytes: int
    engine_bytes: int
    n_pages: int
    n_figures: int
    tables: Sequence[Table]
    fingerprint: str


def publish(
    warehouse: Warehouse,
    folder: Path,
    about: About,
    include_answers: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Published:
    """Write the site of all finished runs to a folder. The same warehouse gives the same bytes.

    Args:
        include_answers: publish stored answers of models too.
        tell: hears what is being written.

    Raises:
        WarehouseError: nothing has finished, the folder holds something else, a secret stands in what would
            be published, or the disk is full. The folder is then as before.
    """
    folder = folder.expanduser().absolute()
    check(folder)
    with room_for(folder, _NEEDED), _swapped_in(folder) as site:
        tell("leaderboards")
        of_evaluation = boards(warehouse)
        tables = write_tables(warehouse, site, include_answers, tell)
        texts, figures = _drawn(warehouse, about, of_evaluation, tell)
        date: datetime | None = warehouse.query(_NEWEST).item()
        shown = Pages(about, _reports(warehouse))
        texts["data.html"] = shown.data(tables, sources(warehouse), about.citation(date), include_answers)
        texts["query.html"] = shown.query(tables)
        texts["croissant.json"] = croissant(tables, about, version("culturescope"), date)
        for name, text in texts.items():
            refuse_secrets(text, name)
            (site / name).write_text(text, encoding="utf-8")
        n_figures = _write_figures(site / "figures", figures)
        tell("the query engine")
        engine_bytes = _write_engine(site)
        digests = {
            str(path.relative_to(site)): sha256(path.read_bytes()).hexdigest()
            for path in sorted(site.rglob("*"))
            if path.is_file()
        }
        n_bytes = sum((site / name).stat().st_size for name in digests)
        mark = {
            "culturescope": version("culturescope"),
            "files": digests,
            "parts": answer_parts(warehouse),
        }
        (site / MARK).write_text(json.dumps(mark, indent=1) + "\n", encoding="utf-8")
    n_pages = sum(name.endswith(".html") for name in texts)
    return Published(
        folder, len(digests) + 1, n_bytes, engine_bytes, n_pages, n_figures, tables, fingerprint(folder)
    )


def check(folder: Path) -> None:
    """Raises WarehouseError if a site may not be put there: something else is, which is never overwritten."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise WarehouseError(f"{folder} is a file: name a folder that is empty or not there yet")
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
    if not there:
        return
    try:
        ours = {MARK, *parse_json((folder / MARK).read_text(encoding="utf-8"))["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        raise WarehouseError(
            f"{folder} is no site of culturescope and is not overwritten: name a folder that is empty or not "
            "there yet"
        ) from None
    if others := sorted(there - ours):
        raise WarehouseError(
            f"{folder} also holds {others[0]}{' and others' if others[1:] else ''}, which the new site would "
            "not: move it away, or name another folder"
        )


@contextmanager
def _swapped_in(folder: Path) -> Iterator[Path]:
    """A new folder, which takes the place of `folder` when the block ends and is removed on an error."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    new, old = (folder.with_name(f".{folder.name}.{uuid4().hex}.{end}") for end in ("new", "old"))
    new.mkdir()
    try:
        yield new
        check(folder)
        if not folder.exists():
            new.rename(folder)
            return
        folder.rename(old)
        try:
            new.rename(folder)
        except BaseException:
            old.rename(folder)
            raise
        shutil.rmtree(old)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _reports(warehouse: Warehouse) -> dict[str, str]:
    """Evaluation -> file of its report."""
    return {name: file for name, (_, file) in newest_reports(warehouse).items()}


def _drawn(
    warehouse: Warehouse, about: About, of_evaluation: Boards, tell: Callable[[str], None]
) -> tuple[dict[str, str], dict[str, Mapping[str, Drawn]]]:
    """The pages with figures and leaderboards, by file; and the figures, by page and name."""
    texts: dict[str, str] = {}
    figures: dict[str, Mapping[str, Drawn]] = {}
    files = _reports(warehouse)
    shown = Pages(about, files)
    texts[BESIDE["leaderboards"]] = shown.leaderboards(of_evaluation)
    for name in of_evaluation:
        texts[f"leaderboard-{name}.html"] = shown.leaderboards(of_evaluation, name)
    tell("the overview")
    texts["index.html"] = overview(warehouse, files, BESIDE, foot(about))
    with kept_figures() as kept:
        texts[BESIDE["history"]] = shown.history(warehouse, of_evaluation)
    figures["history"] = kept
    for name, (config, file) in newest_reports(warehouse).items():
        tell(f"the report of {name}")
        with kept_figures() as kept:
            links = {"overview": "index.html", **files, **BESIDE}
            texts[file] = report.page(warehouse, name, config, links, foot(about))
        figures[name] = kept
    texts[BESIDE["figures"]] = shown.figures(figures)
    return texts, figures


def _write_figures(folder: Path, figures: Mapping[str, Mapping[str, Drawn]]) -> int:
    """Three files of each; returns how many figures there are."""
    for page, of_page in figures.items():
        for name, drawn in of_page.items():
            file = folder / page / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.with_suffix(".svg").write_text(drawn.svg, encoding="utf-8")
            file.with_suffix(".pdf").write_bytes(drawn.pdf)
            file.with_suffix(".csv").write_text(drawn.csv, encoding="utf-8", newline="")
    return sum(map(len, figures.values()))


def _write_engine(site: Path) -> int:
    """What the query page runs: programs as they are, WebAssembly as gzip, which browsers unpack themselves.

    Returns its size in bytes.
    """
    folder = site / "engine"
    folder.mkdir()
    for packed in sorted((_HERE / "engine").glob("*.xz")):
        content = lzma.decompress(packed.read_bytes())
        name = packed.stem
        if name.endswith(".wasm"):
            name, content = f"{name}.gz", gzip.compress(content, compresslevel=5, mtime=0)
        (folder / name).write_bytes(content)
    shutil.copyfile(_HERE / "engine" / "LICENCES.txt", folder / "LICENCES.txt")
    shutil.copyfile(_HERE / "static" / "query.js", site / "query.js")
    return sum(path.stat().st_size for path in folder.iterdir())
