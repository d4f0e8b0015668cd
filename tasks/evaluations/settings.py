"""Compares the settings of a paper and a run, from ``settings.toml`` in an evaluation's folder. Pure.

A row is one of three kinds. A *knob* has ``field``, an option of the evaluation, and ``value``, the
paper's. *Content* has ``pack``, a file of a pack or a text in its ``prompts.toml``, which only the authors'
own files fill. A *fact* has ``ours``: a value here that no option changes. These rows decide whether a
published number may be shown beside ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, model_validator

from tasks.packs.shape import PROMPTS, REPLACES, ByName
from tasks.parsing import parse_toml

if TYPE_CHECKING:
    from tasks.evaluations.contract import Params

MODEL = "models"
"""The field that differs on every leaderboard; it is in the table and prevents no comparison."""
ENGINES = (MODEL, "simulator", "judge", "judges")
"""Fields that name engines. Profiles have none; names are compared by their letters and digits,
without a provider."""


class Setting(BaseModel):
    """One row of ``settings.toml``.

    Attributes:
        setting: name of the setting, in words.
        paper: the paper's value, in words; "": ``value`` unchanged.
        section: where the paper states it, or the file of its program.
        field, value: an option and the paper's value for it; without a value the option is empty, which
            ``empty`` explains. For the option models: the paper's models.
        pack, rows: a file of a pack, or ``prompts.NAME``, and its number of rows in the paper; 0: any number.
        ours: the value here, in words; for content: the prompts used without a pack.
        is_equal: for a fact, whether it equals the paper's.
        metrics: our metrics that depend on it; none: all.
        profile: the profile whose table lists it; "": every profile.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    setting: str
    paper: str = ""
    section: str
    field: str = ""
    value: Any = None
    empty: str = "none"
    pack: str = ""
    rows: int = 0
    ours: str = ""
    is_equal: bool = False
    metrics: tuple[str, ...] = ()
    profile: str = ""

    @model_validator(mode="after")
    def _is_one_kind(self) -> Setting:
        if bool(self.field) + bool(self.pack) + bool(self.ours and not self.pack) != 1:
            raise ValueError(f"{self.setting!r}: a setting has either field, or pack, or ours")
        return self


class ComparedSetting(NamedTuple):
    """A setting of a run beside the paper's."""

    setting: str
    ours: str
    paper: str
    section: str
    is_equal: bool
    is_model: bool
    metrics: tuple[str, ...]


class OwnPack(NamedTuple):
    """A pack that a run names: its name, and its rows by file."""

    name: str
    rows: ByName


@cache
def settings(evaluation: str) -> tuple[Setting, ...]:
    """Return the settings of an evaluation's paper; none without a ``settings.toml``."""
    file = Path(__file__).parent / evaluation / "settings.toml"
    if not evaluation.isidentifier() or not file.is_file():
        return ()
    return tuple(Setting(**row) for row in parse_toml(file.read_text(encoding="utf-8"))["setting"])


def compared(
    rows: Iterable[Setting],
    params: Params | SimpleNamespace,
    packs: Sequence[OwnPack] = (),
    profile: str = "paper",
) -> list[ComparedSetting]:
    """Return every setting of a run beside the paper's, in the order of the file.

    Args:
        params: of a run, or its stored values by name.
        profile: rows of another profile alone are left out.
    """
    chosen = [row for row in rows if row.profile in ("", profile)]
    return [
        _knob(row, params) if row.field else _content(row, packs) if row.pack else _fact(row)
        for row in chosen
    ]


def differing(table: Iterable[ComparedSetting], metric: str) -> list[ComparedSetting]:
    """Return the differing settings that affect a metric, except the model."""
    return [
        row
        for row in table
        if not row.is_equal and not row.is_model and (not row.metrics or metric in row.metrics)
    ]


def _knob(row: Setting, params: Params | SimpleNamespace) -> ComparedSetting:
    own = getattr(params, row.field)
    if row.field in ENGINES:
        names, wanted = ([each] if isinstance(each, str) else list(each or ()) for each in (own, row.value))
        is_equal = bool(names) and set(map(_model, names)) <= set(map(_model, wanted))
        ours, paper = _shown(names, row.empty), ", ".join(wanted)
        return ComparedSetting(
            row.setting, ours, paper, row.section, is_equal, row.field == MODEL, row.metrics
        )
    paper = row.paper or _shown(row.value, row.empty)
    ours, is_equal = _shown(own, row.empty), _same(own, row.value)
    return ComparedSetting(row.setting, ours, paper, row.section, is_equal, False, row.metrics)


def _content(row: Setting, packs: Sequence[OwnPack]) -> ComparedSetting:
    """Return the paper's content from the last pack that replaces the shipped content."""
    file, _, text = row.pack.partition(".")
    ours, is_equal = row.ours or "as shipped", False
    for pack in packs:
        there = pack.rows.get(file, ())
        if file == PROMPTS and any(text in each for each in there):
            ours, is_equal = f"of pack {pack.name}", True
        elif file != PROMPTS and there:
            alone = any(file in each["files"] for each in pack.rows.get(REPLACES.name, ()))
            is_equal = alone and row.rows in (0, len(there))
            ours = f"{len(there)} of pack {pack.name}" + ("" if alone else ", beside the shipped ones")
    return ComparedSetting(row.setting, ours, row.paper, row.section, is_equal, False, row.metrics)


def _fact(row: Setting) -> ComparedSetting:
    return ComparedSetting(row.setting, row.ours, row.paper, row.section, row.is_equal, False, row.metrics)


def _same(own: Any, paper: Any) -> bool:
    """Return whether two values are equal; the order of a list does not count."""
    if isinstance(own, list | tuple) and isinstance(paper, list | tuple):
        return sorted(map(str, own)) == sorted(map(str, paper))
    if isinstance(own, Mapping) or isinstance(paper, Mapping):
        return bool(own == paper)
    return own == paper and isinstance(own, bool) == isinstance(paper, bool)


def _shown(value: Any, empty: str) -> str:
    """Return a value as text for people."""
    if value is None or value in ("", []):
        return empty
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _model(name: str) -> str:
    """Return letters and digits of a model's name, without its provider, owner or server."""
    own = re.split(r"[/#]", name)[-1]
    return "".join(char for char in own.casefold() if char.isalnum())
