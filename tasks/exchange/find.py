"""Finds the logs in files and folders, by content: which program wrote them, and where their samples are."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tasks.data.errors import TableError, reading
from tasks.data.folders import files_in
from tasks.exchange import eee, helm, inspect, lm_eval, table
from tasks.exchange.records import Log, Refused
from tasks.exchange.table import Mapped

_HEAD = 1 << 16
"""Bytes of a file by which it is recognised."""

Reader = Callable[[], Iterator[Log]]

KINDS = (
    "results_….json of lm-evaluation-harness, .eval or .json of Inspect, a run folder of HELM, .json of "
    "Every Eval Ever, or a table with columns model, item and score (--model, --item, --score name others)"
)


def found(paths: list[Path], mapped: Mapped | None = None) -> Iterator[Log | Refused]:
    """Yield every log of files and folders, in the order of their names; a file that is none is refused.

    In a folder, files that no program named here wrote are left alone.

    Args:
        mapped: the columns of tables; in a folder, tables are read only with it.
    """
    for path in paths:
        if not path.exists():
            yield Refused(str(path), "there is no such file or folder: check the path")
            continue
        try:
            readers = [*_readers(path, mapped)]
        except TableError as error:
            yield Refused(str(path), _line(error, path))
            continue
        if not readers:
            yield Refused(str(path), f"no log is recognised: name {KINDS}")
        for file, reader in readers:
            try:
                yield from reader()
            except TableError as error:
                yield Refused(str(file), _line(error, file))


def _line(error: TableError, file: Path) -> str:
    """Return an error on one line, without the file's name, which stands before it."""
    return " ".join(str(error).removeprefix(str(file)).lstrip(":, ").split())


def _readers(path: Path, mapped: Mapped | None) -> Iterator[tuple[Path, Reader]]:
    """Yield each log file or run folder with its reader."""
    if path.is_file():
        own = _reader(path, mapped or Mapped({}))
        if own:
            yield path, own
        return
    seen = set[Path]()
    for file in files_in(path):
        if file.name == helm.SPEC:
            yield file.parent, partial(helm.logs, file.parent)
        elif (own := _reader(file, mapped, is_in_folder=True)) and file not in seen:
            seen.add(file)
            yield file, own


def _reader(path: Path, mapped: Mapped | None, is_in_folder: bool = False) -> Reader | None:
    """Return the reader of a file; None if no program named here wrote it."""
    ending = path.suffix.casefold()
    if ending == ".eval" or (ending == ".zip" and zipfile.is_zipfile(path)):
        return partial(inspect.logs, path)
    if ending == ".json":
        head = _head(path)
        if lm_eval.is_results(head):
            return partial(lm_eval.logs, path)
        if eee.is_aggregate(head):
            return partial(eee.logs, path)
        if inspect.is_log(head):
            return partial(inspect.logs, path)
        if path.name == helm.SPEC:
            return partial(helm.logs, path.parent)
    if ending == ".jsonl":
        if path.name.startswith("samples_"):
            results = lm_eval.results_of(path)
            if not is_in_folder and results is None:
                raise TableError("its results_….json is not beside it", "put it there")
            return None if is_in_folder or results is None else partial(lm_eval.logs, results)
        if path.name.endswith(eee.SUFFIX):
            aggregate = path.with_name(f"{path.name.removesuffix(eee.SUFFIX)}.json")
            if not is_in_folder and not aggregate.is_file():
                raise TableError(f"its aggregate {aggregate.name} is not beside it", "put it there")
            return None if is_in_folder else partial(eee.logs, aggregate)
    if mapped is not None and table.is_table(path) and not (ending == ".json" and is_in_folder):
        return partial(table.logs, path, mapped)
    return None


def _head(path: Path) -> str:
    with reading(path), path.open("rb") as file:
        return file.read(_HEAD).decode("utf-8", "replace").lstrip("\ufeff")
