"""Find the tasks that are named, and the data that each may read.

Data come from the task's own folder, from files and folders that ``--data`` names, or from the hub at a
commit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import yaml

from tasks.evaluations.harness import clone, form
from tasks.identity import checked_name

BUILDERS = {".json": "json", ".jsonl": "json", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet"}
"""Maps a file's suffix to its reader."""
READERS = frozenset({*BUILDERS.values(), "text", "arrow"})
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?", re.ASCII)


@dataclass(frozen=True)
class Entry:
    """A task whose YAML has been read and checked; nothing is built.

    Attributes:
        config: its settings, with those of a group that it is in. folder: outside of which it reads no file.
    """

    name: str
    config: Mapping[str, Any]
    folder: Path


def entries(manager: Any, spec: str) -> Iterator[Entry]:
    """Yield a task by name or file, and all tasks of a group or tag, each checked.

    Raises:
        ValueError: there is no such task, its YAML cannot be read, or it holds what may run code.
    """
    known = manager._entry(spec)
    if known is None and not Path(spec).expanduser().is_file():
        raise ValueError(f"--tasks: there is no task or file {spec!r}{_near(manager, spec)}")
    if known is not None and known.yaml_path is None:
        for name in sorted(known.tags):
            yield from entries(manager, name)
        return
    path = Path(spec).expanduser().resolve() if known is None else known.yaml_path
    folder = path.parent if known is None else _library()
    try:
        config = form.load(path, folder)
    except (ValueError, OSError, yaml.YAMLError) as error:
        raise ValueError(f"--tasks: {spec!r} is not a task: {_first_line(error)}") from error
    yield from _of_config(manager, config, folder, spec)


def _of_config(manager: Any, config: Mapping[str, Any], folder: Path, spec: str) -> Iterator[Entry]:
    """Yield the task of a config, or those of its group."""
    if "group" not in config or "class" in config:
        name = config.get("task")
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"--tasks: {spec!r} is not a task: it has no text under task")
        form.check(name, config)
        yield Entry(checked_name(name, "--tasks: the name of a task"), config, folder)
        return
    children = config.get("task")
    shared = {key: value for key, value in config.items() if key not in _OF_GROUPS}
    for child in children if isinstance(children, list) else [children]:
        if isinstance(child, str):
            child = {"task": child}
        own = shared | dict(child) if isinstance(child, Mapping) else {}
        name = own.get("group", own.get("task"))
        if not isinstance(name, str):
            if isinstance(own.get("task"), list):
                yield from _of_config(manager, {"group": spec, **own}, folder, spec)
                continue
            raise ValueError(f"--tasks: the group {spec!r} names no task by {child!r}")
        if manager._entry(name) is None:
            yield from _of_config(manager, own, folder, f"{spec}: {name}")
            continue
        more = {key: value for key, value in own.items() if key not in _OF_GROUPS}
        for entry in entries(manager, name):
            changed = {**entry.config, **more}
            form.check(entry.name, changed)
            yield replace(entry, config=changed)


_OF_GROUPS = {"group", "group_alias", "task", "aggregate_metric_list", "metadata", "tag", "task_alias"}
"""Settings of a group, which are not its tasks'."""


def is_task(spec: str) -> bool:
    """Return whether this is a file of a single task, which needs no other task by name."""
    path = Path(spec).expanduser()
    try:
        return path.is_file() and "group" not in form.load(path, path.resolve().parent)
    except (ValueError, OSError, yaml.YAMLError):
        return path.is_file()  # told when it is read again


def _library() -> Path:
    import lm_eval.tasks

    return Path(lm_eval.tasks.__file__).resolve().parent


def data_of(entry: Entry, data: Mapping[str, str], revision: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of a task that select its data: the user's, files of its own folder, or the hub's.

    Args:
        data: task, or ``*`` for all -> a file or folder. revision: data set of the hub -> commit.

    Raises:
        ValueError: a file is missing or lies elsewhere, or a data set of the hub has no commit.
    """
    config = entry.config
    if (place := data.get(entry.name) or data.get("*")) is not None:
        return _local(config, Path(place), entry.name)
    source, kwargs = config.get("dataset_path"), dict(config.get("dataset_kwargs") or {})
    if config.get("custom_dataset") or (source is None and "class" in config):
        return {}
    if not isinstance(source, str):
        raise ValueError(f"task {entry.name!r} has no dataset_path: add one, or --data {entry.name}=FILE")
    if source in READERS:
        return {"dataset_kwargs": kwargs | {"data_files": _files(kwargs.get("data_files"), entry)}}
    folder = entry.folder / source
    is_inside = folder.is_dir() and entry.folder in folder.resolve().parents
    if is_inside and entry.folder != _library():  # there a folder holds tasks: xnli is a data set of the hub
        clone.check(folder, entry.name)
        _check_inside(kwargs.get("data_files"), entry)
        return {"dataset_path": str(folder.resolve())}
    commit = revision.get(source) or revision.get(entry.name) or kwargs.get("revision")
    _check_hub(source, commit, kwargs, entry)
    return {"dataset_kwargs": kwargs | {"revision": commit}}


def _check_hub(source: str, commit: Any, kwargs: Mapping[str, Any], entry: Entry) -> None:
    """Raise ValueError unless this is a data set of the hub at a commit that the hub has."""
    from datasets.packaged_modules import _PACKAGED_DATASETS_MODULES

    if not HUB_ID.fullmatch(source) or source in _PACKAGED_DATASETS_MODULES or Path(source).exists():
        raise ValueError(
            f"task {entry.name!r} reads {source!r}, which is no data set of the hub and no folder beside its "
            f"YAML: name what it may read, --data {entry.name}=FILE"
        )
    if not re.fullmatch(r"[0-9a-f]{40}", str(commit or "")):
        raise ValueError(
            f"task {entry.name!r} reads {source!r} of the hub, which may change: add --revision "
            f"{source}=COMMIT (40 hex digits), or --data {entry.name}=FILE for a file of yours"
        )
    _check_inside(kwargs.get("data_files"), entry)
    clone.check_commit(source, str(commit), entry.name)


def _local(config: Mapping[str, Any], place: Path, task: str) -> dict[str, Any]:
    """Return the config of a task whose splits without a separate file all come from one place."""
    if place.is_dir():
        clone.check(place, task)
        of_set = _of_set(place, config.get("dataset_name"))
        folder, name = of_set if of_set else (place, None)
        return {"dataset_path": str(folder.resolve()), "dataset_name": name, "dataset_kwargs": None}
    if not place.is_file() or place.suffix not in BUILDERS:
        known = ", ".join(BUILDERS)
        raise ValueError(f"--data {task}={place}: there is no such folder, or file that ends in {known}")
    splits = [config.get(f"{split}_split") for split in ("training", "validation", "test", "fewshot")]
    files = {str(split): str(place.resolve()) for split in splits if split} or {"test": str(place.resolve())}
    more = {"sep": "\t"} if place.suffix == ".tsv" else {}
    kwargs = {"data_files": files, **more}
    return {"dataset_path": BUILDERS[place.suffix], "dataset_name": None, "dataset_kwargs": kwargs}


def _of_set(place: Path, name: Any) -> tuple[Path, str | None] | None:
    """Return the place of one set in a folder: a subfolder, or a name in its dataset card."""
    if name and (place / str(name)).is_dir():
        return place / str(name), None
    card = place / "README.md"
    is_named = card.is_file() and re.search(
        rf"config_name:\s*[\"']?{re.escape(str(name))}[\"']?\s*$",
        card.read_text("utf-8", "replace"),
        re.MULTILINE,
    )
    return (place, str(name)) if name and is_named else None


def check_shared(tasks: Iterable[Entry], data: Mapping[str, str]) -> None:
    """Raise ValueError if tasks read different sets of a data set that one place, ``*``, does not have."""
    if (place := data.get("*")) is None:
        return
    names = {entry.config.get("dataset_name") for entry in tasks if entry.name not in data}
    lacking = sorted(str(name) for name in names if not _of_set(Path(place), name))
    if len(names) > 1 and lacking:
        raise ValueError(
            f"--data *={place}: it has no folder {lacking[0]}, but tasks read {len(names)} sets of their "
            "data: name a folder that holds all these sets, or a file for each task: --data TASK=FILE"
        )


def _files(files: Any, entry: Entry) -> Any:
    """Return a task's data files with their places; raises ValueError for one outside of its folder."""
    if isinstance(files, Mapping):
        return {split: _files(own, entry) for split, own in files.items()}
    if isinstance(files, list):
        each = [_files(own, entry) for own in files]
        return [file for some in each for file in (some if isinstance(some, list) else [some])]
    pattern = str(files or "")
    if not pattern or "://" in pattern or "::" in pattern or ".." in Path(pattern).parts:
        raise _no_file(pattern, entry)
    place = entry.folder / pattern
    if not place.is_relative_to(entry.folder) and not Path(pattern).parent.resolve().is_relative_to(
        entry.folder
    ):
        raise _no_file(pattern, entry)
    found = [place] if place.is_file() else sorted(Path(each) for each in glob(str(place), recursive=True))
    try:
        inside = [str(form.within(each, entry.folder)) for each in found if not each.is_dir()]
    except ValueError as error:
        raise ValueError(f"task {entry.name!r}: {error}, or name it: --data {entry.name}=FILE") from error
    if not inside:
        raise _no_file(pattern, entry)
    if odd := next((each for each in inside if has_magic(each) or "::" in each), None):
        raise ValueError(f"task {entry.name!r}: {odd!r}: rename it without * ? [ ] and ::")
    return inside if len(inside) > 1 else inside[0]


def _no_file(pattern: str, entry: Entry) -> ValueError:
    return ValueError(
        f"task {entry.name!r}: {pattern!r} is no file in the folder of its YAML, the only one that it may "
        f"read: copy the file there, or name it: --data {entry.name}=FILE"
    )


def _check_inside(files: Any, entry: Entry) -> None:
    """Raise ValueError unless files are named by their places inside of a data set."""
    if (odd := clone.outside(files)) is not None:
        raise ValueError(f"task {entry.name!r}: its data file {odd!r} is not inside of its data set")


def _near(manager: Any, name: str) -> str:
    from rapidfuzz import process

    near = process.extract(name, manager.all_tasks, limit=3, score_cutoff=70)
    return f"; near: {', '.join(match for match, *_ in near)}" if near else ""


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
