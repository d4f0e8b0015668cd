"""CAMeL: are Western or Arab entities likelier in Arabic sentences? (Naous et al. 2024).

``--data``: a clone of tareknaous/camel, or some of its files: ``entities/<kind>.xlsx`` with the columns
Entity and Culture, and ``camelco-prompts-*.xlsx`` or ``camelag-prompts-*.xlsx`` with Entity Type, Prompt and
perhaps Sentiment. In the sentences of camel-co only Arab entities fit, in those of camel-ag both do. Where a
set has files for causal and for masked models, the one for causal models is read: its blank is mostly at the
end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import Field

from tasks.evaluations.recipe import SHARE, Metric
from tasks.evaluations.recipe.benchmark import ENTITIES, NOT_DRAWN, TWICE, UNKNOWN, ReadItem, benchmark
from tasks.evaluations.recipe.definition import PREFERENCE
from tasks.evaluations.recipe.files import Files, Record, records
from tasks.evaluations.recipe.items import LeftOut, Member
from tasks.identity import digest

BLANK = "[MASK]"
ARAB, WESTERN = "Arab", "Western"
GROUPS = {"arab": ARAB, "arabic": ARAB, "western": WESTERN}
SETS = ("co", "ag")


def read(files: Files, params: Any) -> Iterator[ReadItem]:
    """Yield entities, some of each kind and culture, and the sentences of the kinds that have them.

    Raises:
        ValueError: there are no entities or no sentences.
    """
    by_kind: dict[str, dict[str, dict[str, None]]] = {}
    for path in files.needed("*.xlsx", "*.csv"):
        if not _is_of_prompts(path):
            for record in records(path):
                text, group = _entity(record)
                if not (text and group):
                    yield LeftOut("without text or culture", ENTITIES)
                    continue
                by_kind.setdefault(kind_of(path.stem), {}).setdefault(group, {})[text] = None
    drawn = {kind: _drawn(groups, params.entities) for kind, groups in by_kind.items() if len(groups) == 2}
    for kind in by_kind.keys() - drawn.keys():
        alone = LeftOut("of a kind without the other culture", ENTITIES)
        yield from [alone for _ in chain(*by_kind[kind].values())]
    if not drawn:
        raise ValueError(
            f"--data: there are no entities of {ARAB} and of {WESTERN} culture: name the folder that has "
            "entities/*.xlsx, with the columns Entity and Culture"
        )
    for kind, members in drawn.items():
        yield from (Member(text, group, kind) for group, texts in members.items() for text in texts)
        both, n = set.intersection(*map(set, by_kind[kind].values())), sum(map(len, by_kind[kind].values()))
        yield from [LeftOut("of both cultures", ENTITIES, is_fault=False)] * (2 * len(both))
        undrawn = n - 2 * len(both) - sum(map(len, members.values()))
        yield from [LeftOut(NOT_DRAWN, ENTITIES, is_fault=False)] * undrawn
    seen: set[tuple[str, ...]] = set()
    sentiments = _sentiments(files)
    for name in SETS:
        sentences, unread = _of_set(files, name)
        yield from (LeftOut(f"cannot be read ({file})", "files", is_fault=False) for file in unread)
        for record in sentences:
            kind, text = kind_of(record.text("entity_type")), record.text("prompt")
            if kind not in drawn:  # the user's data have no entities of this kind
                yield LeftOut(f"on {kind or 'no kind'}, for which there are no entities", is_fault=False)
            elif (name, kind, text) in seen:
                yield TWICE
            else:
                seen.add((name, kind, text))
                yield {
                    "item": digest([name, kind, text], 16), "sentence": text, "kind": kind, "set": name,
                    "sentiment": record.text("sentiment").lower() or sentiments(kind, text),
                }  # fmt: skip
    if not seen:
        names = " or ".join(f"camel{name}-prompts-*.xlsx" for name in SETS)
        raise ValueError(f"--data: no file {names} has a sentence for the entities of {', '.join(by_kind)}")


def kind_of(name: str) -> str:
    """Return the kind of entities that a file or cell names: Sports Clubs and sports-clubs are one."""
    return "_".join(name.lower().replace("-", " ").replace("_", " ").split()).removesuffix("s")


def _is_of_prompts(path: Path) -> bool:
    return "prompt" in path.name.lower()


def _entity(record: Record) -> tuple[str, str]:
    """Return an entity's text and culture, by the columns' names, else by the cells; "" where missing."""
    cells = [record.text(column) for column in record.cells]
    named = [record.text("culture"), *cells]
    group = next((GROUPS[cell.lower()] for cell in named if cell.lower() in GROUPS), "")
    others = (cell for cell in cells if cell and cell.lower() not in GROUPS)
    return record.text("entity") or next(others, ""), group


def _sentiments(files: Files) -> Callable[[str, str], str]:
    """Return a function of a sentence's kind and text: the sentiment that the files for masked models name.

    A causal sentence ends at the blank of the masked one. "unknown" if none or several sentiments fit.
    """
    by_start: dict[tuple[str, str], set[str]] = {}
    for path in files.named("camel*prompts*masked*"):
        with suppress(ValueError):  # a broken file is reported where its sentences are read
            for record in records(path):
                start = _start(kind_of(record.text("entity_type")), record.text("prompt"))
                if start[1] and (of := record.text("sentiment").lower()):
                    by_start.setdefault(start, set()).add(of)

    def sentiment(kind: str, text: str) -> str:
        found = by_start.get(_start(kind, text), set())
        return next(iter(found)) if len(found) == 1 else UNKNOWN

    return sentiment


def _start(kind: str, text: str) -> tuple[str, str]:
    """Return the kind and the words of a sentence before its blank."""
    return kind, " ".join(text.partition(BLANK)[0].split())


def _of_set(files: Files, name: str) -> tuple[list[Record], list[str]]:
    """Return the sentences of a set for causal models, else those for masked ones, and files that are broken.

    Raises:
        ValueError: there are files of the set, but none can be read.
    """
    causal = files.named(f"camel*{name}*prompts*causal*")
    masked = [path for path in files.named(f"camel*{name}*prompts*") if path not in causal]
    unread: list[str] = []
    for paths in (causal, masked):
        try:
            if entities := [record for path in paths for record in records(path)]:
                return entities, unread
        except ValueError:
            if paths is masked or not masked:
                raise
            unread += [path.name for path in paths]
    return [], unread


def _drawn(groups: dict[str, dict[str, None]], n: int | None) -> dict[str, list[str]]:
    """Return at most n entities of each culture, drawn by a hash; entities of both cultures are left out."""
    both = set.intersection(*map(set, groups.values()))
    own = {group: sorted(set(texts) - both, key=lambda t: digest([t])) for group, texts in groups.items()}
    return {group: sorted(texts[:n]) for group, texts in own.items()}


_HELP = "entities of each kind and culture that are drawn; empty: all"

EVALUATION = benchmark(
    "camel",
    PREFERENCE,
    read,
    knobs={"entities": (int | None, Field(50, ge=1, description=_HELP))},
    title="Are Western or Arab entities likelier in Arabic sentences? (CAMeL)",
    prompt="{{ sentence }}",
    blank=BLANK,
    group="culture",
    target=WESTERN,
    kind="kind",
    length="tokens",
    metric=Metric(
        "cbs",
        label="Western is likelier",
        bounds=SHARE,
        null=0.5,
        direction="lower",
        description="Cultural bias score: share of pairs of a Western and an Arab entity in which the model "
        "finds the Western one likelier. 0.5: neither is preferred.",
        source="Naous et al. 2024",
    ),
    cluster="item",
    units={"sentences": ("item",)},
    slices=("set", "kind", "sentiment"),
    profiles={
        "smoke": {"limit": 10, "entities": 5},
        "demo": {"limit": 80, "entities": 20},
        "full": {"entities": None},
    },
    licence="MIT, by the LICENSE of the repository",
    source="github.com/tareknaous/camel",
    citation="Naous et al. 2024, Having Beer after Prayer? Measuring Cultural Bias in Large Language Models",
)
