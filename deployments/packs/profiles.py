"""Profiles in packs: values of options; ``--profile pack/name`` chooses profile and pack."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from deployments.cli.options import validated
from warehouse.storage import resolved_home, usual_home

if TYPE_CHECKING:
    from tasks.packs.folder import PackFolder
    from tasks.packs.shape import PackFault

RESERVED = ("models", "occasion", "pack", "profile")
"""Options that a pack's profile may not set."""

_PATH = re.compile(r"[/\\~]")


def profiles_of_packs(evaluation: str, kind: Callable[..., Any]) -> dict[str, dict[str, Any]]:
    """Return packs' profiles for an evaluation as ``pack/name`` -> params; faulty packs are left out.

    Args:
        kind: makes the evaluation's params, or raises ValueError.
    """
    home = resolved_home()
    if home is None or (not (home / "packs").is_dir() and not _are_installed()):
        return {}
    from tasks.packs.folder import folders

    known: dict[str, dict[str, Any]] = {}
    for folder in folders(home).values():
        try:
            values, faults = profiles_of(folder, evaluation, kind)
        except OSError:
            continue
        if not faults:
            known |= values
    return known


@cache
def _are_installed() -> bool:
    """Return whether any installed package has packs, without importing the code that reads packs."""
    return bool(entry_points(group="culturemeter.packs"))


def check_profile(evaluation: str, chosen: str, kind: Callable[..., Any]) -> None:
    """Raise the reason why there is no profile ``pack/name``.

    Raises:
        PackError: its file has faults. ValueError: there is no such pack.
    """
    from tasks.packs.folder import folder_of
    from tasks.packs.shape import PackError

    pack, slash, _ = chosen.partition("/")
    if not slash:
        return
    _, faults = profiles_of(folder_of(pack, usual_home()), evaluation, kind)
    if faults:
        raise PackError(pack, faults)


def profiles_of(
    folder: PackFolder, evaluation: str, kind: Callable[..., Any]
) -> tuple[dict[str, dict[str, Any]], list[PackFault]]:
    """Return a pack's profiles as params, and their faults: a profile may name no file, URL or model."""
    from tasks.packs.check import PROFILES, profiles
    from tasks.packs.shape import PackFault

    file = f"{evaluation}/{PROFILES}"
    values, faults = profiles(folder, evaluation)
    known: dict[str, dict[str, Any]] = {}
    for label, of_label in values.items():
        refused = {name: "a pack's profile may not set this" for name in RESERVED if name in of_label}
        paths = [name for name, value in of_label.items() if _PATH.search(str(value))]
        refused |= dict.fromkeys(paths, "a pack's profile may not name a file, folder or URL")
        faults += [
            PackFault(file, None, f"{label}.{name}", what, "remove it") for name, what in refused.items()
        ]
        if refused:
            continue
        try:
            validated(kind, {"models": ["none"], **of_label})
        except ValueError as error:
            faults.append(PackFault(file, None, label, str(error), "correct it"))
            continue
        own = {"profile": f"{folder.name}/{label}", "pack": [folder.name]}
        known[f"{folder.name}/{label}"] = {**of_label, **own}
    return known, faults
