"""Makes a pack of FmLAMA's templates, dishes and groups of origins (Zhou et al. 2025) from its repository."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.data import TableError
from tasks.data.json_rows import parsed
from tasks.data.reading import objects
from tasks.data.text import text
from tasks.evaluations.fmlama.pack import PACK, DishRow, DishSetRow, OriginGroupRow, TemplateRow
from tasks.packs.files import checked_row
from tasks.packs.published import Row
from tasks.papers.fmlama import message
from tasks.papers.fmlama.raw import dishes_of_csv, dishes_of_lines, is_filtered
from tasks.papers.importing import Importer, Pack
from tasks.papers.reproduction import Files, SourceFiles, by_name
from tasks.papers.sources import literal, read_source
from tasks.papers.values import NotRead

NAME = "fmlama"
FULL, ALIGNED, ALL = "fmlama-full", "fmlama-aligned", "fmlama-all"
"""Dish sets: each language's own, the same dishes in all languages, and all languages of Dishes.csv."""
SLOTS = {"[1]": "[X]", "[2]": "[Y]", "[3]": "[C]"}
"""Slots of the Hebrew templates -> the same slots in the others."""
RELATIONS = {"hasParts": "no", "country": "yes"}
OTHERS = "aggregated"

SOURCES = by_name(
    SourceFiles(
        "templates", ("templates/*_templates.jsonl", "*_templates.jsonl"), "JSON Lines: relation, template"
    ),
    SourceFiles(
        "dishes", ("*_dishes.jsonl", "fmlama*.jsonl"), "JSON Lines: url, origin, lang, sub_label, obj_label"
    ),
    SourceFiles("table", ("dishes.csv", "*dishes*.csv"), "CSV: url, origin, name, lang, hasParts"),
    SourceFiles("groups", ("get_map_table.py", "correlation.py", "get_*_results.py"), "Python: country_lang"),
    SourceFiles("mes", ("prompt/prompt.txt",), "text: prompt for GPT-4o about predictions"),
    SourceFiles("mes_program", ("gpt4o-predict.py",), "Python: message to GPT-4o about a dish"),
    SourceFiles(
        "predictions",
        ("english_human_evaluation.json",),
        "JSON: origin -> url, predicted_ingredient of Llama3",
    ),
)
_FILES = {file.row: file for file in PACK.files}


def fill(files: Files, pack: Pack) -> None:
    """Add the files of the pack."""
    templates = _templates(files.get("templates", ()), pack)
    pack.rows(NAME, _FILES[TemplateRow], templates, "templates")
    sets = _sets(files, pack)
    main = next((sets[name] for name in (FULL, ALIGNED) if sets.get(name)), [])
    languages = {row["language"] for row in templates} or {"en"}
    dishes = [row for row in main if row["language"] in languages]
    pack.rows(NAME, _FILES[DishRow], dishes, f"set {FULL if main is sets.get(FULL) else ALIGNED}")
    set_rows = [{"dish_set": name, **row} for name, rows in sets.items() for row in rows]
    pack.rows(NAME, _FILES[DishSetRow], set_rows, ", ".join(name for name, rows in sets.items() if rows))
    groups = _groups(files.get("groups", ()), pack)
    pack.rows(NAME, _FILES[OriginGroupRow], groups, "country_lang")
    if prompt := next((text for path in files.get("mes", ()) if (text := _text(path, pack))), ""):
        texts = {"mes_rules": literal(prompt)} | _question(files.get("mes_program", ()), pack)
        pack.table(NAME, "prompts.toml", texts, "prompt.txt, gpt4o-predict.py")
    for path in files.get("predictions", ())[:1]:
        pack.added.append(f"{path.name}: left in place; run it as a model: culturemeter run fmlama -m {path}")
    complete = {
        "template": len({r["language"] for r in templates}) >= 6,
        "dish": dishes,
        "origin_group": groups,
    }
    replaced = [name for name, is_complete in complete.items() if is_complete]
    pack.table(
        NAME, "replaces.toml", {"files": replaced} if replaced else {}, "what replaces shipped content"
    )


def _question(paths: Sequence[Path], pack: Pack) -> dict[str, str]:
    """Return the program's words about a dish."""
    for path in paths:
        try:
            found = message.question(read_source(path).tree)
        except NotRead as error:
            pack.left_out.append(str(error))
            continue
        if found:
            return {"mes_question": found}
        pack.left_out.append(f"{path.name}: its message about a dish is not read; ours is used")
    return {}


def _templates(paths: Sequence[Path], pack: Pack) -> list[dict[str, Any]]:
    """Return the templates of all languages in which the blank comes after the dish."""

    def key(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return row["language"], row["variant"], row["mentions_country"]

    rows: list[dict[str, Any]] = []
    for path in paths:
        language = path.name.partition("_")[0].casefold()
        for record in _lines(path, pack):
            relation, text = str(record.get("relation", "")), str(record.get("template", "")).strip()
            name, _, variant = relation.partition("_")
            for published_slot, slot in SLOTS.items():
                text = text.replace(published_slot, slot)
            row = {
                "language": language,
                "variant": variant,
                "mentions_country": RELATIONS.get(name),
                "text": text,
            }
            _, faults = checked_row(TemplateRow, row, path.name, None)
            if not faults and key(row) not in map(key, rows):
                rows.append(row)
            elif re.fullmatch("[1-5]", variant) and name in RELATIONS:
                reason = faults[0].what if faults else "repeated"
                reason = "the blank comes before the dish" if _is_blank_first(text) else reason
                pack.left_out.append(f"{path.name}: {relation}: {reason}")
            else:
                pack.left_out.append(f"{path.name}: {relation}: a further wording")
    return rows


def _is_blank_first(text: str) -> bool:
    return 0 <= text.find("[Y]") < text.find("[X]")


def _sets(files: Files, pack: Pack) -> dict[str, list[dict[str, Any]]]:
    """Return dish set -> its rows, each dish once per language."""
    sets: dict[str, list[dict[str, Any]]] = {FULL: [], ALIGNED: [], ALL: []}
    for path in files.get("dishes", ()):
        records = dishes_of_lines(_lines(path, pack))
        sets[ALIGNED if is_filtered(path) else FULL] += records
    for path in files.get("table", ())[:1]:
        try:
            sets[ALL] += dishes_of_csv(path)
        except TableError as error:
            pack.left_out.append(str(error))
    return {name: _fitting(name, rows, pack) for name, rows in sets.items()}


def _fitting(name: str, rows: Sequence[Mapping[str, Any]], pack: Pack) -> list[dict[str, Any]]:
    by_key: dict[tuple[str, str], dict[str, Any]] = {}
    lost: Counter[str] = Counter()
    counts = Counter((row["url"], row["language"]) for row in rows)
    for row in rows:
        key = (row["url"], row["language"])
        cells = {column: cell for column, cell in row.items() if cell}
        faults = checked_row(DishRow, cells, name, None)[1]
        if faults:
            lost[f"{faults[0].column or 'row'}: {faults[0].what}"] += 1
        elif counts[key] > 1 and by_key.get(key, cells)["origin"] != cells["origin"]:
            lost["several origins"] += 1
        elif key in by_key:
            lost["repeated"] += 1
        else:
            by_key[key] = cells
    pack.left_out += [f"{name}: {n} dishes: {why}" for why, n in sorted(lost.items())[:5]]
    return list(by_key.values())


def _groups(paths: Sequence[Path], pack: Pack) -> list[dict[str, Any]]:
    """Return origin -> group from the first program that defines them as a dictionary."""
    for path in paths:
        try:
            mapping = read_source(path).constant("country_lang")
        except NotRead as error:
            pack.left_out.append(str(error))
            continue
        if isinstance(mapping, dict):
            return [
                {"origin": str(origin), "origin_group": str(group)}
                for origin, group in mapping.items()
                if origin != OTHERS
            ]
    return []


def _lines(path: Path, pack: Pack) -> Iterator[Row]:
    """Yield the objects of a file's lines; other lines are left out with a note."""
    faults: list[TableError] = []
    try:
        for number, line in enumerate(text(path).split("\n"), 1):
            if line.strip():
                try:
                    (row,) = objects([(f"line {number}", parsed(line, number))])
                except TableError as error:
                    faults.append(error)
                else:
                    yield row.cells
    except TableError as error:
        faults.append(error)
    if faults:
        pack.left_out.append(f"{path.name}: {len(faults)} lines left out, the first: {faults[0]}")


def _text(path: Path, pack: Pack) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig", "replace").strip()
    except OSError as error:
        pack.left_out.append(f"{path}: cannot be read ({error.strerror})")
        return ""


IMPORTER = Importer(
    title="The templates, dishes and groups of FmLAMA (Zhou et al. 2025).",
    sources=SOURCES,
    fill=fill,
    source="https://github.com/lizhou21/FmLAMA-master",
)
