"""Published benchmarks whose items the user brings: ``benchmark`` makes an evaluation of a reader and a
definition.

    def read(files, params):
        for path in files.needed("*.jsonl"):
            for record in records(path):
                options = [record.get(f"option_{k}") for k in "abcd"]
                right = place_of(record.get("answer"), options)
                yield choice(record.text("id"), record.text("question"), options, right)

    EVALUATION = of_choices("mine", read, title=…, cluster="item", licence=…, source=…, citation=…)

The evaluation has the option ``--data``. Items are hashed by content, so equal items have equal numbers
wherever their files are. Published data has faults: an unusable item is left out, and the plan counts these
by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from tasks.data import hub
from tasks.evaluations.contract import Evaluation, Params
from tasks.evaluations.recipe import checks
from tasks.evaluations.recipe.checks import parsed
from tasks.evaluations.recipe.definition import LETTERS
from tasks.evaluations.recipe.evaluation import evaluation_of
from tasks.evaluations.recipe.files import Files, clean, whole
from tasks.evaluations.recipe.groups import Preference
from tasks.evaluations.recipe.items import ITEM, Derive, Item, LeftOut, LoadedRecipe, Member, Score
from tasks.evaluations.recipe.options import Choice
from tasks.judging.rubric import normal
from tasks.metrics.intervals import SHARE
from tasks.packs.shape import PackError


def _whole_path(data: str) -> str:
    """Return the absolute path, since a run may be read again from another working folder, or the commit."""
    if data.startswith("hf:"):
        return hub.pinned(data)
    return data and str(Path(data).expanduser().absolute())


Data = Annotated[str, AfterValidator(_whole_path)]


TWICE = LeftOut("there twice", is_fault=False)
NOT_DRAWN = "not drawn"
"""Reason of a ``LeftOut`` that a knob leaves out: it counts as a usable part of the data."""

ReadItem = Mapping[str, str] | Member | LeftOut
"""Output of a reader: the cells of an item, an item of a group, or why something is left out."""

Units = Mapping[str, Sequence[str]]
"""Unit of the data, such as questions -> columns of the items that tell two units apart."""

Read = Callable[[Files, Any], Iterable[ReadItem]]

MOST_LEFT_OUT = 0.5
"""Largest share of faulty items; with more, the files are misread or are the wrong ones."""

_DATA = "file or folder of the benchmark, or hf:OWNER/NAME@COMMIT: its items are not shipped"
"""Help of the option."""


QUESTION = "{% if passage %}{{ passage }}\n\n{% endif %}{{ question }}\n{{ choices }}\nAnswer:"
"""The prompt of a choice: a passage if any, the question, and the options with their letters."""

LETTERED = tuple("abcdefghij")
"""Columns of a choice's options."""

ENTITIES = "entities"
"""Unit of the members of a preference's groups."""

UNKNOWN = "unknown"
"""Value of a slice that is missing in the data."""

FEW, SOME, SHORT_ANSWER = 20, 400, 64
"""Number of items in the profiles smoke and demo, and of tokens for a written letter."""


def benchmark(
    name: str,
    recipe: str,
    read: Read,
    *,
    knobs: Mapping[str, Any] | None = None,
    hashed: Sequence[str] = (),
    score: Score | None = None,
    derive: Derive | None = None,
    units: Units | None = None,
    **definition: Any,
) -> Evaluation[Any, Any, Any]:
    """Return an evaluation whose items are read from ``--data``.

    Args:
        read: the user's files and the params -> items, in any order; raises ValueError.
        knobs: name -> (type, field) of further options. hashed: those that do more than choose items.
        score, derive: see ``items.LoadedRecipe``. units: those of which something may be left out, the one
            that items are made of first. Default: each item is one.
        definition: fields of the recipe's class, except its files.

    Raises:
        PackError: the definition has faults.
    """
    files = {"items": "data", **({"contexts": "data"} if recipe == Preference.recipe else {})}
    definition_read, faults = parsed(recipe, {**files, **definition}, name)
    if faults or definition_read is None:
        raise PackError(name, faults)
    own = LoadedRecipe(name, definition_read, (), score=score, derive=derive, knobs=frozenset(hashed))
    data = {"data": (Data, Field("", description=_DATA))}
    return evaluation_of(own, lambda params: bring(own, read, params, units), {**data, **(knobs or {})})


def of_choices(
    name: str, read: Read, *, what: str = "questions", **definition: Any
) -> Evaluation[Any, Any, Any]:
    """Return a choice benchmark whose items come from ``choice``; its default headline is ``accuracy``.

    Args:
        what: one word for the items. definition: see ``benchmark``.
    """
    about = f"Share of {what} whose right option is the likeliest, or named by its letter."
    usual: dict[str, Any] = {
        "prompt": QUESTION,
        "options": LETTERED,
        "answer": "answer",
        "question": ("passage", "question"),
        "metric": {
            "name": "accuracy", "bounds": SHARE, "null": "best", "description": about,
            "source": definition["citation"].partition(",")[0],
        },
        "profiles": {
            "smoke": {"limit": FEW, "max_tokens": SHORT_ANSWER},
            "demo": {"limit": SOME, "max_tokens": SHORT_ANSWER},
            "full": {},
        },
    }  # fmt: skip
    return benchmark(name, Choice.recipe, read, **{**usual, **definition})


def choice(
    item: str, question: str, options: Sequence[Any], right: int | None, passage: str = "", **more: str
) -> ReadItem:
    """Return the cells of a choice item, or why it is unusable.

    Args:
        right: index of the right option, from 0. more: further cells, such as those of slices; empty ones are
            "unknown".
    """
    texts = [clean(str(option)) for option in options if option is not None]
    if not question or not item:
        return LeftOut("without a question or a name")
    if len(texts) < len(options) or not all(texts):
        return LeftOut("an option is empty")
    if len(set(map(normal, texts))) < len(texts):
        return LeftOut("two options are the same")
    if len(texts) > len(LETTERED):
        return LeftOut(f"more than {len(LETTERED)} options")
    if right is None or not 0 <= right < len(texts):
        return LeftOut("the right answer is not one of its options")
    cells = {"item": item, "passage": passage, "question": question, "answer": texts[right]}
    cells |= dict.fromkeys(LETTERED, "") | dict(zip(LETTERED, texts, strict=False))
    return cells | {name: cell or UNKNOWN for name, cell in more.items()}


def place_of(
    answer: object, options: Sequence[Any], by: Literal["letter", "number", "text"] = "letter"
) -> int | None:
    """Return the index of the option that an answer names, from 0; None if it names no option or two.

    Args:
        by: kind of answer in the benchmark, because options may be letters or numbers themselves. Numbers are
            from 0.
    """
    if by == "number":
        place = whole(answer)
        return place if place is not None and 0 <= place < len(options) else None
    text = clean(str(answer)) if isinstance(answer, str | int) and not isinstance(answer, bool) else ""
    if by == "text":
        texts = [clean(str(option)) for option in options]
        return texts.index(text) if texts.count(text) == 1 else None
    place = LETTERS.find(text.upper()) if len(text) == 1 else -1
    return place if 0 <= place < len(options) else None


def bring(own: LoadedRecipe, read: Read, params: Params, units: Units | None = None) -> LoadedRecipe:
    """Return the evaluation with the items of ``params.data``.

    Raises:
        ValueError: nothing can be read, items contradict each other, or most are unusable.
    """
    rows: list[Mapping[str, str]] = []
    members: dict[tuple[str, str, str], Member] = {}
    out: Counter[LeftOut] = Counter()
    for row in read(Files.at(getattr(params, "data")), params):  # noqa: B009
        if isinstance(row, LeftOut):
            out[row] += 1
        elif isinstance(row, Member):
            members.setdefault((row.text, row.kind, row.group), row)
        else:
            rows.append(row)
    header = list(dict.fromkeys(column for row in rows for column in row))
    items, unasked = _items(own, rows, header)
    out += unasked
    used = _used(items, members.values(), units or {})
    first = next(iter(used))
    for what in [what for what in out if what.reason == NOT_DRAWN]:
        used[what.unit or first] += out.pop(what)
    faulty = sum(n for what, n in out.items() if what.is_fault and what.unit in ("", first))
    if not items or faulty > MOST_LEFT_OUT * (used[first] + faulty):
        why = "; ".join(f"{n} {what.reason}" for what, n in out.most_common(3)) or "the files hold none"
        raise ValueError(f"--data: most items of {own.name} are unusable: {why}. Are these its files?")
    faults = [*checks.columns_there(own.definition, header, own.name)]
    faults += checks.prompt_faults(own.definition, header, own.name)
    if faults:
        raise PackError(own.name, faults)
    there = tuple(members.values())
    return replace(own, items=items, members=there, used=used, left_out=dict(out))


def _used(items: Sequence[Item], members: Iterable[Member], units: Units) -> dict[str, int]:
    """Return unit -> number of used ones: items, or what they are made of, and a preference's entities."""
    used = {u: len({tuple(i.fields[c] for c in of) for i in items}) for u, of in units.items()}
    return (used or {"items": len(items)}) | ({ENTITIES: n} if (n := len(list(members))) else {})


def _items(
    own: LoadedRecipe, rows: Sequence[Mapping[str, str]], header: Sequence[str]
) -> tuple[tuple[Item, ...], Counter[LeftOut]]:
    """Return the usable items by name, and the number of others by reason."""
    items: dict[str, Item] = {}
    out: Counter[LeftOut] = Counter()
    contradicted: set[str] = set()
    for number, row in enumerate(rows, 1):
        cells = {column: row.get(column, "") for column in header}
        item = Item(cells[ITEM], cells.get(own.definition.cluster, "") or cells[ITEM], cells, number)
        fault = next(iter(checks.item_faults(own.definition, item, own.name)), None)
        if fault:
            out[LeftOut(_reason(fault.what))] += 1
        elif (before := items.setdefault(item.name, item)) is not item:
            differing = [column for column in header if before.fields[column] != cells[column]]
            if differing == ["answer"]:
                contradicted.add(item.name)
            elif differing:
                raise ValueError(
                    f"--data: two different items are named {item.name}: they differ in "
                    f"{', '.join(differing[:3])}. Are there two versions of a file? Name one of them"
                )
            out[TWICE] += 1
    out += Counter({LeftOut(f"{TWICE.reason}, with different answers"): len(contradicted)})
    kept = (item for item in items.values() if item.name not in contradicted)
    return tuple(sorted(kept, key=lambda item: item.name)), out


def _reason(what: str) -> str:
    """Return a fault's text without the parts about one item, for counting."""
    return (
        "the right answer is not one of its options"
        if "not one of its options" in what
        else what.partition(":")[0]
    )
