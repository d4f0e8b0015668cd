"""Put a whole site in place at once, and verify a published site against its hashes and a warehouse.

A site is written to a folder beside its target, then swapped in. ``site.json`` has the SHA-256 of every other
file, and names the parts with the answers behind the numbers; a part's name has the hash of its content.
Anyone who can change the site can change that file too. Its own hash, the site's fingerprint, is therefore
printed on publishing, to be quoted where the site is cited.
"""

from __future__ import annotations

import ctypes
import fcntl
import gzip
import json
import lzma
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import file_digest, sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

from deployments.publish.data import PublishedTable, SiteAbout, croissant, write_tables
from deployments.publish.pages import BESIDE, Boards, Pages, boards, foot, sources
from deployments.publish.rule import refuse_secrets
from deployments.show import report
from deployments.show.drawings import frozen_heap
from deployments.show.overview import overview
from deployments.show.overview import pages as newest_reports
from tasks.data import TableError
from tasks.data.errors import reading
from tasks.data.parquet import frame
from tasks.parsing import parse_json
from tasks.report.svg import Drawn, collected_figures
from warehouse import Warehouse, WarehouseError
from warehouse.storage import room_for

_HERE = Path(__file__).parent
_NEEDED = 20_000_000
_LARGEST_MARK = 1 << 26
_NEWEST = "SELECT max(finished_at) FROM run WHERE status = 'finished'"


@dataclass(frozen=True)
class Published:
    """A published site. n_bytes: size of all files; engine_bytes: of the query page's programs; fingerprint:
    see the function ``fingerprint``."""

    folder: Path
    n_files: int
    n_bytes: int
    engine_bytes: int
    n_pages: int
    n_figures: int
    tables: Sequence[PublishedTable]
    fingerprint: str


def publish(
    warehouse: Warehouse,
    folder: Path,
    about: SiteAbout,
    include_answers: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Published:
    """Write the site of all finished runs to a folder. Equal warehouses give equal bytes.

    Args:
        include_answers: publish models' stored answers too.
        progress: called with the name of each thing before it is written.

    Raises:
        WarehouseError: no run has finished, the folder holds something else, the site would hold a secret,
            or the disk is full. The folder is then unchanged.
    """
    folder = folder.expanduser().absolute()
    check(folder)
    with room_for(folder, _NEEDED), _swapped_in(folder) as site:
        progress("leaderboards")
        of_evaluation = boards(warehouse)
        tables = write_tables(warehouse, site, include_answers, progress)
        reports = newest_reports(warehouse)
        templates = Pages(about, {name: file for name, (_, file) in reports.items()})
        with frozen_heap():
            texts, figures = _drawn(warehouse, about, of_evaluation, reports, templates, progress)
        date: datetime | None = warehouse.query(_NEWEST).item()
        texts["data.html"] = templates.data(tables, sources(warehouse), about.citation(date), include_answers)
        texts["query.html"] = templates.query(tables)
        texts["croissant.json"] = croissant(tables, about, version("culturemeter"), date)
        for name, text in texts.items():
            refuse_secrets(text, name)
            (site / name).write_text(text, encoding="utf-8")
        n_figures = _write_figures(site / "figures", figures)
        progress("the query engine")
        engine_bytes = _write_engine(site)
        digests = {
            str(path.relative_to(site)): sha256(path.read_bytes()).hexdigest()
            for path in sorted(site.rglob("*"))
            if path.is_file()
        }
        n_bytes = sum((site / name).stat().st_size for name in digests)
        mark = {"culturemeter": version("culturemeter"), "files": digests, "parts": answer_parts(warehouse)}
        (site / MARK).write_text(json.dumps(mark, indent=1) + "\n", encoding="utf-8")
    n_pages = sum(name.endswith(".html") for name in texts)
    return Published(
        folder, len(digests) + 1, n_bytes, engine_bytes, n_pages, n_figures, tables, fingerprint(folder)
    )


def check(folder: Path) -> None:
    """Raise WarehouseError if the folder holds anything but a site, which would be overwritten."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise WarehouseError(f"{folder} is a file: name an empty or new folder")
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
    if not there:
        return
    try:
        ours = {MARK, *_mark(folder)["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        raise WarehouseError(
            f"{folder} is not a site of culturemeter and is not overwritten: name an empty or new folder"
        ) from None
    if others := sorted(there - ours):
        raise WarehouseError(
            f"{folder} also holds {others[0]}{' and others' if others[1:] else ''}, which publishing would "
            "delete: move it away, or name another folder"
        )


@contextmanager
def _swapped_in(folder: Path) -> Iterator[Path]:
    """Yield a new folder, which replaces `folder` when the block ends and is removed on an error.

    It is locked, so that the next publication can tell it from one that a killed process left.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    new, old = (folder.with_name(f".{folder.name}.{uuid4().hex}.{end}") for end in ("new", "old"))
    with ExitStack() as locks:
        with _locked(folder.parent):
            _tidy(folder)
            new.mkdir()
            locks.enter_context(_locked(new))
        try:
            yield new
            check(folder)
            if not folder.exists():
                new.rename(folder)
            elif not _exchanged(new, folder):
                folder.rename(old)
                try:
                    new.rename(folder)
                except BaseException:
                    old.rename(folder)
                    raise
                shutil.rmtree(old)
        finally:
            shutil.rmtree(new, ignore_errors=True)


def _tidy(folder: Path) -> None:
    """Remove what killed publications left beside `folder`, and put back a site that one had moved away."""
    own = re.compile(rf"\.{re.escape(folder.name)}\.[0-9a-f]{{32}}\.(new|old)")
    left = {path: found[1] for path in folder.parent.iterdir() if (found := own.fullmatch(path.name))}
    for path in [path for path, end in left.items() if end == "new"]:
        try:
            with _locked(path, waits=False):
                shutil.rmtree(path)
        except BlockingIOError:
            return  # another process publishes now: what else lies here may be its
    for path in [path for path, end in left.items() if end == "old"]:
        if folder.exists():
            shutil.rmtree(path)
        else:
            path.rename(folder)


@contextmanager
def _locked(folder: Path, *, waits: bool = True) -> Iterator[None]:
    """Hold a folder's lock, which a kill releases; BlockingIOError if it is held and not waited for."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two folders in one step, so that a kill leaves a whole site. False where Linux cannot."""
    here, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of renameat2(2), which Python lacks
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    return rename is not None and rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0


def _drawn(
    warehouse: Warehouse, about: SiteAbout, of_evaluation: Boards, reports: Mapping[str, tuple[str, str]],
    templates: Pages, progress: Callable[[str], None],
) -> tuple[dict[str, str], dict[str, Mapping[str, Drawn]]]:  # fmt: skip
    """Return the pages with figures and leaderboards, by file, and the figures, by page and name."""
    texts: dict[str, str] = {}
    figures: dict[str, Mapping[str, Drawn]] = {}
    files = {name: file for name, (_, file) in reports.items()}
    texts[BESIDE["leaderboards"]] = templates.leaderboards(of_evaluation)
    for name in of_evaluation:
        texts[f"leaderboard-{name}.html"] = templates.leaderboards(of_evaluation, name)
    progress("the overview")
    texts["index.html"] = overview(warehouse, files, BESIDE, foot(about))
    with collected_figures() as drawn:
        texts[BESIDE["history"]] = templates.history(warehouse, of_evaluation)
    figures["history"] = drawn
    for name, (config, file) in reports.items():
        progress(f"the report of {name}")
        with collected_figures() as drawn:
            links = {"overview": "index.html", **files, **BESIDE}
            texts[file] = report.page(warehouse, name, config, links, foot(about))
        figures[name] = drawn
    texts[BESIDE["figures"]] = templates.figures(figures)
    return texts, figures


def _write_figures(folder: Path, figures: Mapping[str, Mapping[str, Drawn]]) -> int:
    """Write three files for each figure; returns the number of figures."""
    for page, of_page in figures.items():
        for name, drawn in of_page.items():
            file = folder / page / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.with_suffix(".svg").write_text(drawn.svg, encoding="utf-8")
            file.with_suffix(".pdf").write_bytes(drawn.pdf)
            file.with_suffix(".csv").write_text(drawn.csv, encoding="utf-8", newline="")
    return sum(map(len, figures.values()))


def _write_engine(site: Path) -> int:
    """Write the query page's programs, WebAssembly as gzip, which browsers unpack.

    Returns their size in bytes.
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


MARK = "site.json"
"""File that marks a folder as a site."""

_PARTS = """
SELECT DISTINCT u.kind || '/' || u.part AS part
FROM part_unit AS u JOIN run_request USING (request_hash) JOIN run AS r ON r.run_id = run_request.run_id
WHERE r.status = 'finished'
ORDER BY part
"""
_ROWS = "FROM metric_value"


@dataclass(frozen=True)
class Verified:
    """The result of ``verify``.

    Attributes:
        fingerprint: SHA-256 of ``site.json``.
        n_files, n_parts: number of files hashed, and of parts behind the numbers.
        problems: one line each; empty if the site is as published.
    """

    fingerprint: str
    n_files: int
    n_parts: int
    problems: list[str]


def answer_parts(warehouse: Warehouse) -> list[str]:
    """Return kind and name of every part with answers behind finished runs; a name has its content's hash."""
    return warehouse.query(_PARTS)["part"].to_list()


def fingerprint(site: Path) -> str:
    """Return the SHA-256 of a site's list of file hashes, which covers all files."""
    return sha256((site / MARK).read_bytes()).hexdigest()


def verify(site: Path, expected: str | None = None, warehouse: Warehouse | None = None) -> Verified:
    """Compare every file of a site with its hash; with a warehouse, also look for the site's numbers there.

    Args:
        expected: the fingerprint printed on publishing, or its beginning.
        warehouse: the warehouse that the site was made from; it may hold more by now.

    Raises:
        WarehouseError: the folder is not a site.
    """
    try:
        mark = _mark(site)
        files: dict[str, str] = dict(mark["files"])
        parts = [str(part) for part in mark.get("parts", ())]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WarehouseError(f"{site} is not a site of culturemeter: it has no readable {MARK}") from error
    own = fingerprint(site)
    problems = list(_wrong_files(site, files))
    if expected is not None and not (len(expected) >= 8 and own.startswith(expected.lower())):
        problems.append(f"{MARK}: the fingerprint is {own}, not {expected}")
    if warehouse is not None:
        problems += _not_here(site, parts, warehouse)
    return Verified(own, len(files), len(parts), problems)


def _wrong_files(site: Path, files: dict[str, str]) -> Iterator[str]:
    there = {path.relative_to(site).as_posix() for path in site.rglob("*") if not path.is_dir()} - {MARK}
    for name in sorted(files.keys() - there):
        yield f"{name}: missing"
    for name in sorted(there - files.keys()):
        yield f"{name}: not part of the published site"
    for name in sorted(there & files.keys()):
        if _hash(site / name) != files[name]:
            yield f"{name}: changed since publishing"


def _mark(site: Path) -> dict[str, Any]:
    """Return the list of a site's files; raises OSError, ValueError or TypeError if there is none to read."""
    if (site / MARK).is_symlink() or not (site / MARK).is_file():
        raise ValueError(f"{MARK} is no file")
    if (site / MARK).stat().st_size > _LARGEST_MARK:
        raise ValueError(f"{MARK} has more than {_LARGEST_MARK:,} bytes")
    mark: dict[str, Any] = parse_json((site / MARK).read_text(encoding="utf-8"))
    return mark


def _hash(path: Path) -> str:
    """Return the SHA-256 of a file's content; "" for anything but a file, such as a link or a pipe."""
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _not_here(site: Path, parts: list[str], warehouse: Warehouse) -> Iterator[str]:
    """Yield problems: the site's numbers and parts that the warehouse lacks."""
    if lacking := sorted(set(parts) - set(answer_parts(warehouse))):
        n = f"{len(lacking)} of {len(parts)}"
        yield f"{n} parts with answers are not in this warehouse, such as {lacking[0]}"
    rows = warehouse.query(_ROWS)
    name = "data/metric_value.parquet"
    try:
        published = frame(site / name)
        with reading(name, "table of metric rows"):
            here = rows.select(published.columns).cast(published.schema)
            others = published.join(here, on=published.columns, how="anti", nulls_equal=True)
    except TableError as error:
        yield str(error)
        return
    if others.height:
        first = others.row(0, named=True)
        where = ", ".join(str(first[name]) for name in ("run_id", "metric", "slice"))
        yield f"{others.height} of {published.height} metric rows are not in this warehouse, such as {where}"
