"""The files of a folder that the user names: no link in it leads out of it.

Whoever made the folder made its links. One to a file elsewhere on this machine would put that file's content
into prompts, and so send it to servers and store it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from tasks.data.errors import TableError


def home_of(folder: Path) -> Path:
    """Return the folder that links may lead to: the folder itself, as its own links lead there; for a
    snapshot of the hub's cache, the cache of the same repository.
    """
    root = folder.resolve()
    return root.parent.parent if root.parent.name == "snapshots" else root


def checked_link(path: Path, home: Path) -> Path:
    """Return the path of a file or folder.

    Args:
        home: ``home_of`` the folder that the user named.

    Raises:
        TableError: it is a link that leads out of the folder, or to itself.
    """
    if not path.is_symlink():
        return path
    try:
        target = path.resolve()
    except (OSError, RuntimeError) as error:
        raise TableError("it is a link to itself", "delete it", file=str(path)) from error
    if not target.is_relative_to(home):
        what = f"it is a link to {target}, outside of the data"
        raise TableError(what, "replace it by the file, or delete it", file=str(path))
    return path


def walk(folder: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield each folder with the names of its folders and files, like ``os.walk``, after checking its links.

    Names taken out of the list of folders are not visited, and links to folders never are.

    Raises:
        TableError: a link leads out of the folder.
    """
    home = home_of(folder)
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            checked_link(Path(parent, name), home)
        yield Path(parent), folders, files


def files_in(folder: Path, endings: Collection[str] = ()) -> list[Path]:
    """Return the files in a folder and its subfolders, in the order of their paths; none if it is no folder.

    Args:
        endings: of the files, in small letters; empty: all.

    Raises:
        TableError: a link in it leads out of it.
    """
    paths = (parent / name for parent, _, files in walk(folder) for name in files)
    return sorted(
        path for path in paths if (not endings or path.suffix.lower() in endings) and path.is_file()
    )
