"""Compares the settings of a paper and a run, from ``settings.toml`` in an evaluation's folder. Pure.

A row is one of three kinds. A *knob* has ``field``, an option of the evaluation, and ``value``, the
paper's. *Content* has ``pack``, a file of a pack or a text in its ``prompts.toml``, which only the authors'
own files fill. A *fact* has ``ours``: a value here that no option changes. These rows decide whether a
published number may be shown beside ours.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, model_validator

from tasks.identity import digest
from tasks.judging.forms import states_form
from tasks.packs.shape import PROMPTS, REPLACES, ByName, Rows, content_hash
from tasks.parsing import parse_toml

if TYPE_CHECKING:
    from tasks.evaluations.contract import Params

MODEL = "models"
"""The field that differs on every leaderboard; it is in the table and prevents no comparison."""
SELECTING = ("limit", "dish_set", "file", "files")
"""Options that choose items or replace them, in every evaluation that has them."""
SHIPPED = "shipped"
NOT_VERIFIED = ", not verified"
ENGINES = (MODEL, "simulator", "judge", "judges")
"""Fields that name engines. Profiles have none; see ``_is_model``."""


class Setting(BaseModel):
    """One row of ``settings.toml``.

    Attributes:
        setting: name of the setting, in words.
        paper: the paper's value, in words; "": ``value`` unchanged.
        section: where the paper states it, or the file of its program.
        field, value: an option and the paper's value for it; without a value the option is empty, which
            ``empty`` explains. For the option models: the paper's models.
        pack, rows: a file of a pack, or ``prompts.NAME``, and its number of rows in the paper; 0: any number.
        hash: for content, the hash of the authors' own (``content_hash``); "": their files are not here, so
            that no content is known to be theirs.
        each, least: a column of that file, and for its values the fewest rows in the paper.
        ours: the value here, in words; for content: the prompts used without a pack.
        is_equal: for a fact, whether it equals the paper's.
        is_unsaid: for an option, whether the paper gives no value, so that no run is known to equal it.
        metrics: our metrics that depend on it; none: all.
        columns: the paper's models that it concerns; none: all. not_kinds: kinds of our engines (see
            ``EngineSpec``) that it does not concern.
        profile: the profile whose table lists it; "": every profile.
        also: a model of the paper -> other names of it, such as its repositories.
        is_rubric: for a text, whether it is a judge's rubric, which must state the form of an answer itself.
        words: for a text that the paper prints, the digest of its words (``digest_of_words``); "": unknown.
        parts: for a text, the names of all texts that hold these words; none: the text alone.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    setting: str
    paper: str = ""
    section: str
    field: str = ""
    value: Any = None
    empty: str = "none"
    is_unsaid: bool = False
    pack: str = ""
    rows: int = 0
    hash: str = ""
    each: str = ""
    least: dict[str, int] = {}
    ours: str = ""
    is_equal: bool = False
    metrics: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    not_kinds: tuple[str, ...] = ()
    profile: str = ""
    is_rubric: bool = False
    words: str = ""
    parts: tuple[str, ...] = ()
    also: Mapping[str, tuple[str, ...]] = {}

    @model_validator(mode="after")
    def _is_one_kind(self) -> Setting:
        if bool(self.field) + bool(self.pack) + bool(self.ours and not self.pack) != 1:
            raise ValueError(f"{self.setting!r}: a setting has either field, or pack, or ours")
        return self


class ComparedSetting(NamedTuple):
    """A setting of a run beside the paper's.

    Attributes:
        is_open: it may be the paper's, but nothing here verifies it; it is never equal then.
    """

    setting: str
    ours: str
    paper: str
    section: str
    is_equal: bool
    is_model: bool
    metrics: tuple[str, ...]
    columns: tuple[str, ...] = ()
    is_open: bool = False

    @property
    def label(self) -> str:
        """The setting's name, and that it is not verified."""
        return f"{self.setting} (not verified)" if self.is_open else self.setting

    @property
    def may_be_equal(self) -> bool:
        """Whether nothing speaks against it being the paper's."""
        return self.is_equal or self.is_open


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
    kinds: Set[str] = frozenset(),
) -> list[ComparedSetting]:
    """Return every setting of a run beside the paper's, in the order of the file.

    Args:
        params: of a run, or its stored values by name.
        profile: rows of another profile alone are left out.
        kinds: the kinds of the run's engines; rows that concern none of them are left out. Empty: unknown.
    """
    every = [row for row in rows if not kinds or not kinds <= set(row.not_kinds)]
    table = [
        (_knob(row, params) if row.field else _content(row, packs) if row.pack else _fact(row))._replace(
            columns=row.columns
        )
        for row in every
        if row.profile in ("", profile)
    ]
    return [*table, *_selections(every, params), *_further(every, packs)] if every else []


def differing(table: Iterable[ComparedSetting], metric: str, column: str = "") -> list[ComparedSetting]:
    """Return the differing settings that affect a metric, except the model.

    Args:
        column: a model of the paper; settings that do not concern it are left out.
    """
    return [
        row
        for row in table
        if not row.is_equal
        and not row.is_model
        and (not row.metrics or metric in row.metrics)
        and (not column or not row.columns or column in row.columns)
    ]


def _knob(row: Setting, params: Params | SimpleNamespace) -> ComparedSetting:
    own = getattr(params, row.field)
    if row.field in ENGINES:
        names, wanted = ([each] if isinstance(each, str) else list(each or ()) for each in (own, row.value))
        known = [each for name in wanted for each in (name, *row.also.get(name, ()))]
        is_equal = bool(names) and all(any(_is_model(name, each) for each in known) for name in names)
        ours, paper = _shown(names, row.empty), ", ".join(wanted)
        return ComparedSetting(
            row.setting, ours, paper, row.section, is_equal, row.field == MODEL, row.metrics
        )
    paper = "not said" if row.is_unsaid else row.paper or _shown(row.value, row.empty)
    ours, is_equal = _shown(own, row.empty), not row.is_unsaid and _same(own, row.value)
    return ComparedSetting(row.setting, ours, paper, row.section, is_equal, False, row.metrics)


def _selections(rows: Sequence[Setting], params: Params | SimpleNamespace) -> Iterator[ComparedSetting]:
    """Yield the options that choose items or replace them and that the table does not list. The paper has
    all items, and no files of others.
    """
    listed = {row.field for row in rows}
    for name, value in sorted((name, getattr(params, name)) for name in vars(params)):
        if name in listed or not (name in SELECTING or name.endswith(("_file", "_files"))):
            continue
        is_empty = value in (None, "", [], {}, SHIPPED)
        ours = "all" if is_empty and name == "limit" else _shown(value, "none")
        paper = ours if is_empty else "all" if name == "limit" else "none"
        setting = name.replace("_", " ").replace("limit", "items at most")
        yield ComparedSetting(setting, ours, paper, "", is_empty, False, ())
    if until := getattr(params, "until", None):
        yield ComparedSetting("items sent", f"until {until}", "all", "", False, False, ())


def _further(rows: Sequence[Setting], packs: Sequence[OwnPack]) -> Iterator[ComparedSetting]:
    """Yield the content of packs that the table does not list, which the paper does not have.

    What ``pack from`` made of the authors' files, such as their cultures, is the paper's.
    """
    listed = {row.pack for row in rows}
    for pack in packs:
        made = _made(pack)
        files = {name for name, own in pack.rows.items() if made.get(name) != content_hash(own)}
        files -= {REPLACES.name, PROMPTS}
        texts = {
            f"{PROMPTS}.{name}" for each in pack.rows.get(PROMPTS, ()) for name, text in each.items() if text
        }
        of_judge = {
            name for name in texts if name.endswith(("_rules", "_question", "judge_form"))
        }  # with their rules
        if further := sorted((files | (texts - of_judge)) - listed):
            ours = f"of pack {pack.name}: {', '.join(further)}"
            yield ComparedSetting("further content", ours, "none", "", False, False, ())


def _content(row: Setting, packs: Sequence[OwnPack]) -> ComparedSetting:
    """Return the paper's content from the last pack that replaces the shipped content.

    Rows may be the paper's if ``pack from`` made them and nobody edited them since, and as many as the paper
    has; they are if they have the hash of the authors' own. Texts are typed in by people too: they have the
    paper's words where it prints them, and those that ``pack from`` made are unchanged.
    """
    file, _, text = row.pack.partition(".")
    ours, is_equal, own_hash = row.ours or "as shipped", False, ""
    for pack in packs:
        there = pack.rows.get(file, ())
        made = _made(pack)
        if file == PROMPTS and any(each.get(text) for each in there):
            own = [{text: each[text]} for each in there]
            is_typed_in = row.pack not in made
            is_edited = not is_typed_in and made[row.pack] != content_hash(own)
            parts = [each.get(name) or "" for each in there for name in row.parts or (text,)]
            is_other = is_typed_in and bool(row.words) and digest_of_words(*parts) != row.words
            adds_form = row.is_rubric and not _has_form(text, there)
            ours = f"of pack {pack.name}{', edited' * is_edited}{', in other words' * is_other}"
            ours += ", with our form of an answer" * adds_form
            is_equal = not (is_edited or is_other or adds_form)
            is_printed = bool(row.words) and digest_of_words(*parts) == row.words
            own_hash = row.hash if is_printed else content_hash(own)
        elif file != PROMPTS and there:
            alone = any(file in each["files"] for each in pack.rows.get(REPLACES.name, ()))
            is_made = made.get(file) == content_hash(there)
            many = Counter(str(each.get(row.each)) for each in there)
            few = [f"{many[value]} of {value}" for value, least in row.least.items() if many[value] < least]
            is_equal = alone and is_made and not few and row.rows in (0, len(there))
            ours = f"{len(there)} of pack {pack.name}" + ("" if alone else ", beside the shipped ones")
            ours += "" if is_made else ", edited" if file in made else ", not made by pack from"
            ours += f", only {', '.join(few)}" if few else ""
            own_hash = content_hash(there)
    is_theirs = own_hash == row.hash
    is_open = is_equal and not is_theirs and not row.hash
    ours += NOT_VERIFIED if is_open else ", other than the authors'" if is_equal and not is_theirs else ""
    return ComparedSetting(
        row.setting, ours, row.paper, row.section, is_equal and is_theirs, False, row.metrics, (), is_open
    )


def digest_of_words(*texts: str) -> str:
    """Return a digest of the words of texts, in any order and without fields in braces or brackets.

    It stands for a text of a paper which this repository may not hold: a copy of it has the same digest, in
    whatever texts of a pack its sentences stand.
    """
    plain = " ".join(re.sub(r"\{\{.*?\}\}|\{.*?\}|\[.*?\]", " ", text) for text in texts)
    return digest(sorted(re.findall(r"\w+", unicodedata.normalize("NFKC", plain).casefold())))


def _made(pack: OwnPack) -> dict[str, str]:
    """Return file or text that ``pack from`` made -> hash of its content."""
    return {name: h for each in pack.rows.get(REPLACES.name, ()) for name, h in each.get("made", {}).items()}


def _has_form(text: str, rows: Rows) -> bool:
    """Return whether a rubric's rules or question in a pack, or its form, say how an answer must look."""
    name = text.removesuffix("_rules").removesuffix("_question")
    own = [each.get(key) or "" for each in rows for key in (text, f"{name}_rules", f"{name}_question")]
    return states_form(*own) or any(each.get("judge_form") for each in rows)


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


def _is_model(name: str, paper: str) -> bool:
    """Return whether a name stands for the paper's model: by letters and digits, without provider, owner or
    server; "Instruct" is "it", and a date counts only if the paper prints one.
    """
    own, wanted = _model(name), _model(paper)
    return own == wanted or _model(_DATE.sub("", name)) == wanted


_DATE = re.compile(r"[-@:](?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")


def _model(name: str) -> str:
    """Return a model's name in the form that is compared."""
    own = re.split(r"[/#]", name)[-1].casefold().removeprefix("meta-")
    own = re.sub(r"-instruct\b", "-it", own)
    return "".join(char for char in own if char.isalnum())
