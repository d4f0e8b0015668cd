"""Checks what a task of lm-evaluation-harness reads and runs, in its YAML, before it is built.

Functions in Python, metrics from the hub and code of data sets run only with ``--trust-remote-code``. Data
come from files and folders of this machine, or from the hub at a commit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tasks.engines.specs import is_allowed

BUILDERS = {".json": "json", ".jsonl": "json", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet"}
"""Maps a file's suffix to its reader."""
READERS = frozenset({*BUILDERS.values(), "text", "arrow"})
CODE = "it runs code ({what}): review it, then add --trust-remote-code"


def entries(manager: Any, spec: str) -> Iterator[Any]:
    """Return a task by name or file, and all tasks of a group or tag; nothing is built.

    Raises:
        ValueError: there is no such task.
    """
    from lm_eval.tasks._index import Kind, TaskIndex

    entry = manager._entry(spec)
    if entry is None:
        try:
            entry = TaskIndex.entry_from_path(Path(spec))
        except Exception as error:  # a file that is not YAML may raise anything
            raise ValueError(f"--tasks: {spec!r} is not a task: {_first_line(error)}") from error
    if entry is None:
        raise ValueError(f"--tasks: there is no task or file {spec!r}{_near(manager, spec)}")
    yield entry
    if entry.kind is Kind.TAG:
        for name in sorted(entry.tags):
            yield from entries(manager, name)
    if entry.kind is Kind.GROUP:
        config: Mapping[str, Any] = entry.cfg or config_of(entry)
        children = config.get("task")
        for child in children if isinstance(children, list) else [children]:
            name = child
            if isinstance(child, Mapping):
                name = child.get("group") or child.get("task")
            if isinstance(name, str) and manager._entry(name) is not None:
                yield from entries(manager, name)


def config_of(entry: Any) -> dict[str, Any]:
    """Return a task's YAML with its includes; functions are given by name."""
    from lm_eval.tasks._yaml_loader import load_yaml

    if entry.yaml_path is None:
        return dict(entry.cfg or {})
    try:
        return dict(load_yaml(entry.yaml_path, resolve_func=False))
    except Exception as error:
        raise ValueError(f"task {entry.name!r}: its YAML cannot be read: {_first_line(error)}") from error


def check_code(entry: Any) -> None:
    """Raise ValueError for a task that would run code without permission."""
    if is_allowed("remote-code"):
        return
    config = config_of(entry)
    what = next(_code(entry.yaml_path, config), None)
    if what is not None:
        raise ValueError(f"task {entry.name!r}: {CODE.format(what=what)}")


def _code(path: Path | None, config: Mapping[str, Any]) -> Iterator[str]:
    for function in _functions(path, set()):
        yield f"!function {function}"
    if (config.get("dataset_kwargs") or {}).get("trust_remote_code"):
        yield "dataset_kwargs.trust_remote_code"
    if config.get("unsafe_code"):
        yield "unsafe_code"
    if config.get("use_prompt"):
        yield "use_prompt"
    metrics = config.get("metric_list") or []
    if any(isinstance(metric, Mapping) and metric.get("hf_evaluate") for metric in metrics):
        yield "a metric of the hub, hf_evaluate"


def _functions(path: Path | None, seen: set[Path]) -> Iterator[str]:
    """Yield what follows ``!function`` in a file and in those that it includes."""
    import yaml

    if path is None or (path := path.resolve()) in seen:
        return
    seen.add(path)
    loader = yaml.SafeLoader(path.read_bytes())
    nodes, own = [loader.get_single_node()], []
    while nodes:
        node = nodes.pop()
        if node is None or id(node) in own:
            continue
        own.append(id(node))
        if node.tag not in _PLAIN:
            yield str(node.value) if isinstance(node.value, str) else node.tag
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                nodes += [key, value]
                if key.value == "include":
                    included = value.value if isinstance(value, yaml.SequenceNode) else [value]
                    for each in included:
                        yield from _functions(path.parent / str(each.value), seen)
        elif isinstance(node, yaml.SequenceNode):
            nodes += node.value


_PLAIN = {
    f"tag:yaml.org,2002:{kind}"
    for kind in ("map", "seq", "str", "int", "float", "bool", "null", "merge", "timestamp", "value")
}


def data_of(entry: Any, data: Mapping[str, str], revision: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a task's config that select the user's data.

    Args:
        data: task, or ``*`` for all -> a file or folder. revision: data set of the hub -> commit.

    Raises:
        ValueError: a file is missing, or a data set of the hub has no commit.
    """
    config = config_of(entry)
    if (place := data.get(entry.name) or data.get("*")) is not None:
        return _local(config, Path(place), entry.name)
    source, kwargs = config.get("dataset_path"), dict(config.get("dataset_kwargs") or {})
    if source is None or config.get("custom_dataset"):
        return {}
    if str(source) in READERS:
        return {"dataset_kwargs": kwargs | {"data_files": _files(kwargs.get("data_files"), entry)}}
    if Path(str(source)).is_dir():
        return {}
    commit = revision.get(str(source)) or revision.get(entry.name) or kwargs.get("revision")
    if not re.fullmatch(r"[0-9a-f]{40}", str(commit or "")):
        raise ValueError(
            f"task {entry.name!r} reads {source!r} of the hub, which may change: add --revision "
            f"{source}=COMMIT (40 hex digits), or --data {entry.name}=FILE for a file of yours"
        )
    return {"dataset_kwargs": kwargs | {"revision": commit}}


def _local(config: Mapping[str, Any], place: Path, task: str) -> dict[str, Any]:
    """Return the config of a task whose splits without a separate file all come from one place."""
    if place.is_dir():
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


def check_shared(tasks: Iterable[Any], data: Mapping[str, str]) -> None:
    """Raise ValueError if tasks read different sets of a data set that one place, ``*``, does not have."""
    if (place := data.get("*")) is None:
        return
    names = {config_of(entry).get("dataset_name") for entry in tasks if entry.name not in data}
    lacking = sorted(str(name) for name in names if not _of_set(Path(place), name))
    if len(names) > 1 and lacking:
        raise ValueError(
            f"--data *={place}: it has no folder {lacking[0]}, but tasks read {len(names)} sets of their "
            "data: name a folder that holds all these sets, or a file for each task: --data TASK=FILE"
        )


def _files(files: Any, entry: Any) -> Any:
    """Return a task's data files, from here or else from beside its YAML; raises ValueError."""
    if isinstance(files, Mapping):
        return {split: _files(own, entry) for split, own in files.items()}
    if isinstance(files, list):
        return [_files(own, entry) for own in files]
    places = [Path(str(files))]
    if entry.yaml_path is not None:
        places.append(entry.yaml_path.parent / str(files))
    for place in places:
        if files and "://" not in str(files) and (place.is_file() or any(place.parent.glob(place.name))):
            return str(place.resolve())
    raise ValueError(f"task {entry.name!r}: its data file {str(files)!r} is not on this machine")


def _near(manager: Any, name: str) -> str:
    from rapidfuzz import process

    near = process.extract(name, manager.all_tasks, limit=3, score_cutoff=70)
    return f"; near: {', '.join(match for match, *_ in near)}" if near else ""


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
