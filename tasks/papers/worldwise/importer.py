"""Makes a pack of WorldWiseAI's own texts from its repository; programs are read as data and never run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrapers.countries import CountryCodes
from tasks.evaluations.worldwise.pack import PACK
from tasks.papers.importing import Importer, Pack
from tasks.papers.reproduction import Files
from tasks.papers.sources import template
from tasks.papers.values import Pieces, Slot
from tasks.papers.worldwise.program import PROGRAM, CloneProgram

NAME, FRAMEWORK = "worldwise", "hofstede"
_FILES = {file.name: file for file in PACK.files}


def fill(files: Files, pack: Pack) -> None:
    """Add the files of the pack."""
    program = CloneProgram(files)
    codes = CountryCodes(pack.countries)

    def add(file: str, rows: Sequence[dict[str, Any]], source: str) -> None:
        pack.rows(NAME, _FILES[file], rows, source)

    scenarios = [
        {"framework": FRAMEWORK, **r, "scenario": r["scenario"].lower()} for r in program.scenarios()
    ]
    add("scenario", scenarios, "scenarios.py")
    add("exemplar", [{"framework": FRAMEWORK, **row} for row in program.exemplars()], "evaluator.py")
    add("guiding_value", [{"value": _identifier(v), "label": v} for v in program.values()], "config.py")
    add("stereotype", [{"phrase": phrase} for phrase in program.phrases()], "config.py")
    words = [
        {**row, "country": code}
        for row in program.words()
        if (code := codes.code(row["country"]) or codes.code(row["label"]))
    ]
    targets = [{**row, "country": codes.code(row["country"])} for row in program.targets()]
    add("culture_profile", [row for row in targets if row["country"]], "config.py")
    add("culture", words, "config.py")
    persona, baseline = program.persona()
    texts = {"persona": persona, "baseline": baseline, "question": program.question(),
             "embedded": embedded_template(program.embedded())}  # fmt: skip
    pack.table(NAME, "prompts.toml", {name: text for name, text in texts.items() if text}, "its program")
    replaced = [
        file
        for file in ("scenario", "exemplar", "guiding_value", "stereotype")
        if f"{NAME}/{file}.csv" in pack.files
    ]
    pack.table(
        NAME, "replaces.toml", {"files": replaced} if replaced else {}, "what replaces shipped content"
    )
    pack.left_out += [*program.faults, *(program.missing(name) for name, text in texts.items() if not text)]


def embedded_template(pieces: Pieces) -> str:
    """Return the template of the embedded text, with three values in place of the list."""
    if not pieces:
        return ""
    separators = {
        piece.between or " " for piece in pieces if isinstance(piece, Slot) and piece.name == "top_values"
    }
    slots = (Slot("value_1"), Slot("value_2"), Slot("value_3"))
    (separator,) = separators if len(separators) == 1 else (" ",)
    value_slots: Pieces = (slots[0], separator, slots[1], separator, slots[2])
    expanded = [part for piece in pieces for part in (value_slots if _is_list(piece) else (piece,))]
    fields = {name: name for name in ("explanation", "decision", "value_1", "value_2", "value_3")}
    return template(tuple(expanded), fields)


def _is_list(piece: str | Slot) -> bool:
    return isinstance(piece, Slot) and piece.name == "top_values"


def _identifier(label: str) -> str:
    """Return an identifier: "Achievement & Success" becomes achievement_success."""
    words = "".join(char if char.isascii() and char.isalnum() else " " for char in label.casefold()).split()
    return "_".join(words)[:60] or "value"


IMPORTER = Importer(
    title="The texts of WorldWiseAI (2024), from its program.",
    sources=PROGRAM,
    fill=fill,
    source="the repository of WorldWiseAI",
)
