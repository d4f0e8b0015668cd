"""DLAMA: facts of Wikidata on regions of the world, by choice (Keleg and Magdy 2023).

``--data``: a clone of AMR-KELEG/DLAMA whose archive ``data/dlama-v1.tar.gz`` is unpacked, or one of its sets:
files ``<set>/dlama/<language>/<predicate>_…_<region>.jsonl``, whose lines have sub_label, obj_label, sub_uri
and obj_uri. A file ``templates.jsonl`` of mLAMA beside them, or above, words the predicates in its language
("[X] is in [Y] ."); without one a few predicates have English words of our own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from tasks.evaluations.recipe import SHARE, Metric
from tasks.evaluations.recipe.benchmark import LETTERED, ReadItem, choice, of_choices
from tasks.evaluations.recipe.files import Files, Record, records
from tasks.evaluations.recipe.items import LeftOut
from tasks.identity import digest
from tasks.judging.rubric import normal

_NAME = re.compile(r"(P\d+)_(.+)")
_SET = r"(?!dlama|cultlama)[a-z_]+(?:-[a-z_]+)+"
"""Form of a folder's name that is the name of a set: two regions, such as arab-west."""
_REGION = re.compile(r"[A-Z][A-Z_]*$|[A-Z][A-Za-z]+$")
_ENGLISH = {
    "P17": "[X] is in the country [Y]", "P19": "[X] was born in [Y]", "P20": "[X] died in [Y]",
    "P27": "[X] is a citizen of [Y]", "P30": "[X] is on the continent [Y]",
    "P36": "The capital of [X] is [Y]", "P37": "An official language of [X] is [Y]",
    "P47": "[X] has a border with [Y]",
    "P103": "The native language of [X] is [Y]", "P106": "By occupation, [X] is a [Y]",
    "P136": "The genre of [X] is [Y]", "P190": "A sister city of [X] is [Y]",
    "P264": "The record label of [X] is [Y]", "P364": "The original language of [X] is [Y]",
    "P449": "[X] was first broadcast by [Y]", "P495": "[X] comes from the country [Y]",
    "P530": "[X] has diplomatic relations with [Y]", "P1303": "An instrument that [X] plays is the [Y]",
    "P1376": "[X] is the capital of [Y]", "P1412": "A language that [X] speaks or writes is [Y]",
}  # fmt: skip


def read(files: Files, params: Any) -> Iterator[ReadItem]:
    """Yield the facts, each with a right object and others of the same predicate and language."""
    facts: dict[tuple[str, str, str], list[tuple[str, str, Record]]] = {}
    for path in files.needed("P*_*.jsonl", "P*_*.json"):
        if match := _NAME.fullmatch(path.stem):
            of_set = files.folder_of(path, _SET)
            of_file = facts.setdefault((of_set, path.parent.name, match[1]), [])
            region = suffix[0] if (suffix := _REGION.search(match[2])) else match[2]
            of_file += [(path.stem, region.strip("_").lower(), record) for record in records(path)]
    templates = _templates(files)
    for (of_set, language, predicate), of_predicate in sorted(facts.items()):
        template = templates.get((language, predicate)) or (
            _ENGLISH.get(predicate) if language == "en" else None
        )
        if template is None:
            yield from [LeftOut(f"no words for {predicate} in {language}", is_fault=False)] * len(
                of_predicate
            )
            continue
        named = sorted(label for *_, record in of_predicate for label in _labels(record))
        pool = list({normal(label): label for label in named}.values())
        for file, region, record in of_predicate:
            yield _item(of_set, language, predicate, file, region, record, template, pool, params.options)


def _item(
    of_set: str, language: str, predicate: str, file: str, region: str, record: Record, template: str,
    pool: Sequence[str], n: int,
) -> ReadItem:  # fmt: skip
    """Return the item of one fact; the other options and the order of all are drawn by a hash."""
    right, subject = _labels(record), record.text("sub_label")
    fact = record.text("uuid") or digest([subject, right], 12)
    name = "/".join(part for part in (of_set, language, file, fact) if part)
    if not right or not subject:
        return LeftOut("without a subject or an object")
    taken = {normal(label) for label in right}
    others = [label for label in pool if normal(label) not in taken]
    drawn = sorted(others, key=lambda label: digest([name, label]))[: n - 1]
    options = sorted([right[0], *drawn], key=lambda label: digest([name, "place", label]))
    question = template.replace("[X]", subject).replace("[Y]", "____").strip()
    return choice(
        name, question, options, options.index(right[0]),
        subject=record.text("sub_uri") or subject, language=language, predicate=predicate.lower(),
        region=region, set=of_set,
    )  # fmt: skip


def _labels(record: Record) -> list[str]:
    """Return the right objects: one, or a list."""
    label = record.get("obj_label")
    texts = label if isinstance(label, list) else [label]
    return [text.strip() for text in texts if isinstance(text, str) and text.strip()]


def _templates(files: Files) -> dict[tuple[str, str], str]:
    """Return mLAMA's templates by (language, predicate), for each folder."""
    regions = {}
    for path in files.named("templates*.jsonl"):
        for record in records(path):
            text: str = record.text("template")
            if text.count("[X]") == 1 and text.count("[Y]") == 1:
                regions[_language_of(path), record.text("relation")] = text
    return regions


def _language_of(path: Path) -> str:
    return path.parent.name


_HELP = "options of each fact: its own object and others of the predicate"

EVALUATION = of_choices(
    "dlama",
    read,
    knobs={"options": (int, Field(4, ge=2, le=len(LETTERED), description=_HELP))},
    prompt="Fill in the blank.\n{{ question }}\n{{ choices }}\nAnswer:",
    title="Which object completes a fact on a region of the world? (DLAMA)",
    metric=Metric(
        "accuracy",
        bounds=SHARE,
        null="best",
        description="Share of facts whose object the model names, or finds likelier than other objects of "
        "the same predicate.",
        source="Culturemeter, after Keleg and Magdy 2023",
    ),
    cluster="subject",
    slices=("set", "region", "language", "predicate"),
    licence="none named in the repository; facts are Wikidata's (CC0)",
    source="github.com/AMR-KELEG/DLAMA",
    citation="Keleg and Magdy 2023, DLAMA: A Framework for Curating Culturally Diverse Facts for Probing the "
    "Knowledge of Pretrained Language Models",
)
