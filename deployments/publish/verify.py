"""A published site held to its own hashes, and to the warehouse that it was made of.

``site.json`` has the SHA-256 of every other file, and names the parts with the answers that the numbers rest
on; such a name has the hash of the content. Whoever can change the site can change that file too: so its own
hash, the site's fingerprint, is printed when the site is published, to be quoted where the site is cited.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from tasks.parsing import parse_json
from warehouse import Warehouse, WarehouseError

MARK = "site.json"
"""The file by which a folder is known as a site."""

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
        n_files, n_parts: files that were hashed, and parts that the numbers rest on.
        problems: one line each; none: the site is as it was published.
    """

    fingerprint: str
    n_files: int
    n_parts: int
    problems: list[str]


def answer_parts(warehouse: Warehouse) -> list[str]:
    """Kind and name of every part with answers that finished runs rest on; a name has its content's hash."""
    return warehouse.query(_PARTS)["part"].to_list()


def fingerprint(site: Path) -> str:
    """SHA-256 of a site's list of its files, and so of all of them."""
    return sha256((site / MARK).read_bytes()).hexdigest()


def verify(site: Path, expected: str | None = None, warehouse: Warehouse | None = None) -> Verified:
    """Hash every file of a site and compare; with a warehouse, also look for the site's numbers there.

    Args:
        expected: the fingerprint that was printed when the site was published, or its beginning.
        warehouse: holds what the site was made of, and maybe more.

    Raises:
        WarehouseError: the folder is no site.
    """
    try:
        mark: dict[str, Any] = parse_json((site / MARK).read_text(encoding="utf-8"))
        files: dict[str, str] = dict(mark["files"])
        parts = [str(part) for part in mark.get("parts", ())]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WarehouseError(f"{site} is no site of culturescope: it has no readable {MARK}") from error
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
        yield f"{name}: it is missing"
    for name in sorted(there - files.keys()):
        yield f"{name}: it was not published"
    for name in sorted(there & files.keys()):
        if (site / name).is_symlink() or sha256((site / name).read_bytes()).hexdigest() != files[name]:
            yield f"{name}: it is not what was published"


def _not_here(site: Path, parts: list[str], warehouse: Warehouse) -> Iterator[str]:
    """Numbers and parts of a site that a warehouse does not have."""
    if lacking := sorted(set(parts) - set(answer_parts(warehouse))):
        yield f"{len(lacking)} of {len(parts)} parts with answers are not here, such as {lacking[0]}"
    try:
        published = pl.read_parquet(site / "data" / "metric_value.parquet")
    except (OSError, pl.exceptions.PolarsError) as error:
        yield f"data/metric_value.parquet: it cannot be read: {error}"
        return
    here = warehouse.query(_ROWS).select(published.columns).cast(published.schema)
    others = published.join(here, on=published.columns, how="anti", nulls_equal=True)
    if others.height:
        first = others.row(0, named=True)
        where = ", ".join(str(first[name]) for name in ("run_id", "metric", "slice"))
        yield f"{others.height} of {published.height} metric rows are not here, such as {where}"
