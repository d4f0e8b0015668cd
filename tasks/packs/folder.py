"""Finds folders of packs and reads their files as bytes. A pack is data; no code in it is run."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from tasks.packs.shape import PackFault

GROUP = "culturemeter.packs"
"""Group of entry points of installed packs.

Each names a package whose folder is the pack; it is not imported.
"""
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
MOST_BYTES = 32 * 2**20
"""Largest size of one file in bytes."""
MOST_FILES = 2000

_READ = (".csv", ".toml", ".py")
_SKIPPED = re.compile(r"^\.|^__pycache__$|^__init__\.py$|^(licen[cs]e|notice|readme|changelog)\b|\.md$", re.I)
"""Names of files that a pack may have and that are not read."""


@dataclass(frozen=True)
class PackFolder:
    """A pack's name and location."""

    name: str
    path: Path


def packs_of(home: Path) -> Path:
    """Return the folder with the packs of a home."""
    return home / "packs"


def checked_name(name: str) -> str:
    """Return the name.

    Raises ValueError for an invalid name, so that no name leads out of the folder of packs.
    """
    if not NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} is not a valid pack name: use at most 60 lower-case letters, digits, - and _, and "
            "begin with a letter or digit"
        )
    return name


def folders(home: Path) -> dict[str, PackFolder]:
    """Return all packs by name: those of the home, then installed ones with other names."""
    packs = packs_of(home)
    paths = sorted(packs.iterdir()) if packs.is_dir() else []
    own_packs = {
        path.name: PackFolder(path.name, path)
        for path in paths
        if path.is_dir() and NAME.fullmatch(path.name)
    }
    return dict(sorted((_installed(tuple(sys.path)) | own_packs).items()))


def folder_of(name: str, home: Path) -> PackFolder:
    """Return one pack. Raises ValueError with the known packs if it does not exist."""
    known = folders(home)
    if checked_name(name) not in known:
        raise ValueError(
            f"unknown pack {name!r}; known: {', '.join(known) or 'none'}. A pack is a folder in "
            f"{packs_of(home)}; begin one with: culturemeter pack new {name} --for spectral"
        )
    return known[name]


def files(folder: PackFolder) -> tuple[dict[str, Path], list[PackFault]]:
    """Return the pack's files by their path below its folder, and faults of files that are not allowed."""
    paths: dict[str, Path] = {}
    faults: list[PackFault] = []
    for path in _walk(folder.path):
        name = path.relative_to(folder.path).as_posix()
        if path.is_symlink():
            faults.append(PackFault(name, None, "", "it is a symbolic link", "put the file itself there"))
        elif not stat.S_ISREG(path.stat().st_mode):
            faults.append(PackFault(name, None, "", "it is not an ordinary file", "remove it"))
        elif path.suffix not in _READ:
            fault = "unknown kind of file; known: .csv, .toml, and the .py of a recipe's score"
            faults.append(PackFault(name, None, "", fault, "remove it"))
        elif (size := path.stat().st_size) > MOST_BYTES:
            fault = f"it has {size / 2**20:.0f} MiB, more than {MOST_BYTES // 2**20}"
            faults.append(PackFault(name, None, "", fault, "split it into several packs"))
        else:
            paths[name] = path
        if len(paths) > MOST_FILES:
            return {}, [
                PackFault(folder.name, None, "", f"it has more than {MOST_FILES} files", "split the pack")
            ]
    return paths, faults


def read(path: Path) -> bytes:
    """Return the bytes of a file from ``files``; raises OSError if a link has replaced it meanwhile."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        return file.read(MOST_BYTES)


def _walk(folder: Path) -> Iterator[Path]:
    """Yield files and links below a folder; links are not followed."""
    for path in sorted(folder.iterdir()):
        if _SKIPPED.search(path.name):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)
        else:
            yield path


@lru_cache(maxsize=2)
def _installed(path: tuple[str, ...]) -> dict[str, PackFolder]:
    """Return installed packs by name; cached because reading the metadata of all packages is slow."""
    packs = {entry.name: _folder(entry) for entry in entry_points(group=GROUP) if NAME.fullmatch(entry.name)}
    return {name: PackFolder(name, folder) for name, folder in packs.items() if folder}


def _folder(entry: EntryPoint) -> Path | None:
    """Return the folder of an entry point's package, found by the import system without an import."""
    top, *rest = entry.value.partition(":")[0].split(".")
    if not all(part.isidentifier() for part in (top, *rest)):
        return None
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (path := Path(place).joinpath(*rest)).is_dir():
            return path
    return None
