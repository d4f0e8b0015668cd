"""Check a data set before it is read: nothing in it may lead to other files, or to addresses.

A data set is a folder, or a repository of the hub at a commit. Its links and its card say which files are
read, and whoever made the data set wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tasks.data import TableError
from tasks.data.folders import walk
from tasks.engines.content import ONLINE, is_offline

_CARD = re.compile(r"\s*---[^\S\n]*\n(.*?)\n---\s*(?:\n|$)", re.DOTALL)
CARDS = ("README.md", ".huggingface.yaml")
"""Files from which the library of data sets takes what to read."""


def check(folder: Path, task: str) -> None:
    """Raise ValueError if a folder has a link that leads out of it, or a card that names other places."""
    try:
        for parent, _, files in walk(folder):
            for name in set(CARDS) & set(files):
                _check_card(_card(parent / name), task, str(parent / name))
    except TableError as error:
        raise ValueError(f"task {task!r}: {error}") from error


def check_commit(repository: str, commit: str, task: str) -> None:
    """Raise ValueError unless the hub has this commit of a data set, and its card names only files in it.

    Where there is no network, the commit is one that was fetched.
    """
    from huggingface_hub import HfApi, snapshot_download

    if is_offline():
        try:
            own = snapshot_download(repository, repo_type="dataset", revision=commit, local_files_only=True)
        except Exception as error:
            raise ValueError(
                f"task {task!r}: {repository!r} at {commit} is not here, and {ONLINE}"
            ) from error
        if others := _built(repository) - {commit}:
            raise ValueError(
                f"task {task!r}: {min(others)} of {repository!r} was fetched too, and without network the "
                "library of data sets takes the newest: prefetch each commit into a folder of its own"
            )
        return check(Path(own), task)
    try:
        info = HfApi().dataset_info(repository, revision=commit)
    except Exception as error:  # no network, no such data set, no such commit, no permission
        raise ValueError(
            f"task {task!r}: the hub does not confirm commit {commit} of {repository!r} "
            f"({type(error).__name__}): check both, or download it once and add --data {task}=FOLDER"
        ) from error
    if info.sha != commit:
        raise ValueError(f"task {task!r}: {commit} is no commit of {repository!r}: use {info.sha}")
    if any(each.rfilename == ".huggingface.yaml" for each in info.siblings or ()):
        raise ValueError(f"task {task!r}: {repository!r} has a .huggingface.yaml: review it, then use --data")
    card: Any = info.card_data
    _check_card(card.to_dict() if card else {}, task, repository)


def _built(repository: str) -> set[str]:
    """Return the commits of a data set that the library of data sets has in its own cache."""
    from datasets import config
    from datasets.naming import camelcase_to_snakecase

    owner, _, name = repository.rpartition("/")
    place = "___".join([*([owner] if owner else []), camelcase_to_snakecase(name)])
    found = Path(config.HF_DATASETS_CACHE).glob(f"{place}/*/*/*")
    return {each.name for each in found if re.fullmatch("[0-9a-f]{40}", each.name)}


def _card(file: Path) -> Any:
    """Return the YAML of a card."""
    text = file.read_text("utf-8-sig", "replace")
    if file.suffix == ".md":
        head = _CARD.match(text)
        text = head[1] if head else ""
    try:
        return yaml.load(text, yaml.CSafeLoader)
    except yaml.YAMLError:
        return {}


def _check_card(card: Any, task: str, where: str) -> None:
    configs = card.get("configs") if isinstance(card, Mapping) else None
    for config in configs if isinstance(configs, list) else []:
        of = config if isinstance(config, Mapping) else {}
        odd = outside([of.get("data_files"), of.get("data_dir")])
        if odd is not None:
            raise ValueError(f"task {task!r}: {where} names data outside of the data set: {odd!r}")


def outside(files: Any) -> str | None:
    """Return a name in a card's ``data_files`` that may lead out of the data set; None if none does."""
    for text in _texts(files):
        path = Path(text)
        if "://" in text or "::" in text or path.is_absolute() or ".." in path.parts or text[:1] == "~":
            return text
    return None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for own in value.values():
            yield from _texts(own)
    elif isinstance(value, list):
        for own in value:
            yield from _texts(own)
