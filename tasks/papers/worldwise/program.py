"""Reads texts and constants from the program in WorldWiseAI's repository. Files are read by their syntax
trees and never run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.papers.reproduction import Files, SourceFiles, by_name
from tasks.papers.sources import PythonSource, read_source, template
from tasks.papers.values import Composed, NotRead, Pieces, Slot, text_of

CONFIG, SCENARIOS, PROMPTS, EVALUATOR = (
    SourceFiles("config", ("config.py",), "Python: CULTURAL_CONTEXTS, VALUE_OPTIONS, STEREOTYPE_INDICATORS"),
    SourceFiles(
        "scenario list",
        ("scenarios.py",),
        "Python: Scenario(id, category, description, primary_decision_dimension)",
    ),
    SourceFiles("prompts", ("prompt_constructor.py",), "Python: build_system_prompt, build_user_prompt"),
    SourceFiles("evaluator", ("evaluator.py",), "Python: dimension_exemplars, _infer_cultural_profile"),
)
PROFILE = "seed_bucketed"
"""Name of the profile of section 7.4."""
DIMENSIONS = {
    "idv": "individualism", "pdi": "power_distance", "mas": "masculinity",
    "uai": "uncertainty_avoidance", "lto": "long_term_orientation", "ivr": "indulgence",
}  # fmt: skip
"""Hofstede's abbreviation -> name of the dimension here."""
PROGRAM = by_name(CONFIG, SCENARIOS, PROMPTS, EVALUATOR)


_ID, _DIMENSION = ("id", "scenario_id"), ("primary_decision_dimension", "primary_dimension", "dimension")
_TEXTS = ("context", "description", "text", "prompt", "scenario", "question")
COLUMNS = ("place", "people", "called")
"""Columns of culture.csv for the words of a persona."""
_USUAL = {"location": "place", "description": "people", "demonym": "people", "name": "called",
          "culture": "called", "country": "called"}  # fmt: skip
_ANSWER = {"explanation", "decision", "top_values"}
PERSONAS = ("build_system_prompt", "system", "persona", "cultur")
QUESTIONS = ("build_user_prompt", "user", "scenario", "question", "prompt", "instruction")
EMBEDDED = ("_infer_cultural_profile", "profile", "embed", "text", "align")


class CloneProgram:
    """Contents of the program in a clone; missing parts are None or empty.

    Attributes:
        faults: why parts could not be read, one line each.
    """

    def __init__(self, files: Files) -> None:
        self.faults: list[str] = []
        self._read: dict[str, PythonSource] = {}
        sources: dict[Path, PythonSource] = {}
        for name in PROGRAM:
            for path in sorted(files.get(name, ()), key=lambda path: (len(path.parts), path)):
                source = self._or_fault(lambda path=path: read_source(path, sources))  # type: ignore[misc]
                if source is not None:
                    self._read[name] = source
                    break

    def scenarios(self) -> list[dict[str, Any]]:
        """Return the scenarios, each once: scenario, dimension, category, text."""
        rows: dict[str, dict[str, Any]] = {}
        for call in self._calls():
            name, dimension = _first_of(call, _ID), _first_of(call, _DIMENSION)
            if dimension is None and call.get("cultural_dimensions"):
                dimension = call["cultural_dimensions"][0]
            if name and dimension and (text := self._text(call)):
                category = str(call.get("category") or "none")
                row = {
                    "scenario": str(name),
                    "dimension": dimension_name(dimension),
                    "category": category,
                    "text": text,
                }
                rows.setdefault(str(name), row)
            elif name:
                missing = "no dimension" if not dimension else "no text"
                self._fault(f"scenarios.py: {name}: {missing} could be read: write it into scenario.csv")
        return list(rows.values())

    def exemplars(self) -> list[dict[str, Any]]:
        """Return the exemplars: dimension, pole, number, text."""
        source = self._read.get("evaluator")
        value: Any = None
        if source is not None:
            value = self._or_none(lambda: source.attribute("dimension_exemplars"))
            if not _poles(value):
                value = next((literal for literal in source.dictionaries() if _poles(literal)), value)
            if not _poles(value):
                self._fault("evaluator.py: dimension_exemplars cannot be read: write exemplar.csv by hand")
        return [
            {"dimension": dimension_name(dimension), "pole": pole, "number": str(number), "text": str(text)}
            for dimension, pole, texts in _poles(value)
            for number, text in enumerate(texts, 1)
        ]

    def phrases(self) -> list[str]:
        """Return the stereotype phrases, each once."""
        return _texts(self._constant("STEREOTYPE_INDICATORS"))

    def values(self) -> list[str]:
        """Return the values to choose from, each once."""
        return _texts(self._constant("VALUE_OPTIONS"))

    def cultures(self) -> dict[str, dict[str, Any]]:
        """Return name of a culture -> its name, location, description and hofstede_scores in the program."""
        value = self._constant("CULTURAL_CONTEXTS")
        return {str(name): dict(about) for name, about in _items(value) if isinstance(about, dict)}

    def targets(self) -> list[dict[str, Any]]:
        """Return the targets of the cultures: profile, country (by name), framework, dimension, score."""
        return [
            {
                "profile": PROFILE,
                "country": str(about.get("name", name)),
                "framework": "hofstede",
                "dimension": dimension_name(dimension),
                "score": float(score),
            }
            for name, about in self.cultures().items()
            for dimension, score in _items(_first_of(about, ("hofstede_scores", "hofstede", "scores")))
            if isinstance(score, int | float)
        ]

    def persona(self) -> tuple[str, str]:
        """Return the templates of the system prompt with and without a culture; "": not found."""
        pieces, fixed = self._personas()
        if fields := self._columns(pieces):
            return self._template(pieces, fields), self._template(fixed, {})
        return "", self._template(fixed, {})

    def words(self) -> list[dict[str, str]]:
        """Return each culture's words for the persona: country (by name), and columns."""
        pieces, _ = self._personas()
        slots = {piece.name: piece for piece in pieces if isinstance(piece, Slot)}
        rows = []
        for name, about in self.cultures().items():
            row = {"country": str(about.get("name", name)), "label": name}
            for slot, column in self._columns(pieces).items():
                value = about.get(slot, name if slot == "culture" else "")
                parts = value if isinstance(value, list | tuple) else [value]
                row[column] = (slots[slot].between or ", ").join(map(str, parts))
            rows.append(row)
        return rows

    def _personas(self) -> tuple[Pieces, Pieces]:
        """Return the pieces of the system prompt with and without a culture; (): not found."""
        persona: Pieces = ()
        fixed: Pieces = ()
        for function, texts in self._composed("prompts", PERSONAS):
            plain = next((pieces for pieces in texts if not _slots(pieces)), ())
            richest = max(texts, key=lambda pieces: len(_slots(pieces)))
            if _slots(richest) and not persona:
                persona, fixed = richest, plain
            if not fixed and any(word in function for word in ("baseline", "default", "neutral")):
                fixed = plain
        return persona, fixed

    def _columns(self, pieces: Pieces) -> dict[str, str]:
        """Return slot of a persona -> column of culture.csv; {} if it has more slots than columns."""
        slots = list(dict.fromkeys(piece.name for piece in pieces if isinstance(piece, Slot)))
        columns: dict[str, str] = {}
        for slot in sorted(slots, key=lambda slot: slot not in _USUAL):
            free = [column for column in COLUMNS if column not in columns.values()]
            usual = _USUAL.get(slot)
            if not free:
                self._fault(
                    f"persona: it has more slots ({', '.join(slots)}) than columns ({', '.join(COLUMNS)})"
                )
                return {}
            columns[slot] = usual if usual in free else free[0]
        return columns

    def question(self) -> str:
        """Return the template of the question; "": not found."""
        pieces = self._question()
        return self._template(pieces, {"scenario": "scenario"}) if pieces else ""

    def embedded(self) -> Pieces:
        """Return the pieces of the embedded text (explanation, decision, top_values); (): not found."""
        source = self._read.get("evaluator")
        texts: list[Pieces] = []
        for function in _functions(source, EMBEDDED) if source else ():
            for names in self._or_none(lambda: source.reader.ends(function)) or ():  # type: ignore[union-attr] # noqa: B023
                local_values = [value for name, value in names.items() if name not in source.constants]  # type: ignore[union-attr]
                encoded = names.get("encode()")
                for value in [*(encoded if isinstance(encoded, list) else [encoded]), *local_values]:
                    if isinstance(value, Composed) and "explanation" in _slots(value.pieces) <= _ANSWER:
                        texts.append(value.pieces)
            if texts:
                return max(texts, key=lambda pieces: len(_slots(pieces)))
        return ()

    def missing(self, name: str) -> str:
        """Return the message about a text that was not found."""
        source = self._read.get("evaluator" if name == "embedded" else "prompts")
        functions = f"; functions of {source.name}: {', '.join(source.reader.functions)}" if source else ""
        return f"{name}: not found: write it into worldwise/prompts.toml{functions}"

    def _question(self) -> Pieces:
        """Return the pieces of the question, with one slot, the scenario's text, for all its fields."""
        for _, texts in self._composed("prompts", QUESTIONS):
            for pieces in sorted(texts, key=lambda pieces: -len(_slots(pieces))):
                scenario_places = [
                    i for i, p in enumerate(pieces) if isinstance(p, Slot) and self._is_scenario_field(p.name)
                ]
                if scenario_places and len(scenario_places) == sum(isinstance(p, Slot) for p in pieces):
                    return (
                        *pieces[: scenario_places[0]],
                        Slot("scenario"),
                        *pieces[scenario_places[-1] + 1 :],
                    )
        return ()

    def _is_scenario_field(self, name: str) -> bool:
        """Return whether a slot is a field of a scenario, or a method that makes its text."""
        source = self._read.get("scenario list")
        if source is not None and name in source.reader.functions:
            return True
        fields, _ = source.reader.fields(source.reader.classes.get("Scenario")) if source else ([], {})
        return name in (*fields, *_TEXTS, "scenario_text", "prompt_text", "get_prompt_text")

    def _text(self, scenario: Mapping[str, Any]) -> str:
        """Return the text of a scenario in the question: from its method or its fields, else its context and
        description.
        """
        source = self._read.get("scenario list")
        for _, texts in self._composed("prompts", QUESTIONS):
            for pieces in texts:
                scenario_places = [
                    i for i, p in enumerate(pieces) if isinstance(p, Slot) and self._is_scenario_field(p.name)
                ]
                if not scenario_places:
                    continue
                parts = [
                    self._part(p, scenario, source)
                    for p in pieces[scenario_places[0] : scenario_places[-1] + 1]
                ]
                text = text_of([part for part in parts if part is not None])
                if None not in parts and isinstance(text, str) and text.strip():
                    return text.strip()
        return "\n\n".join(str(scenario[part]) for part in _TEXTS[:3] if scenario.get(part))

    def _part(
        self, piece: str | Slot, scenario: Mapping[str, Any], source: PythonSource | None
    ) -> str | None:
        """Return a piece of the question about this scenario; None: it cannot be followed."""
        if isinstance(piece, str):
            return piece
        if source is not None and piece.name in source.reader.functions:
            values = self._or_none(lambda: source.reader.returned(piece.name, {"self": dict(scenario)}))
            return next((value for value in values or () if isinstance(value, str)), None)
        value = scenario.get(piece.name)
        if isinstance(value, list | tuple) and piece.between is not None:
            return piece.between.join(map(str, value))
        return value if isinstance(value, str) else None

    def _calls(self) -> Iterator[dict[str, Any]]:
        """Yield the program's scenarios: fields of calls of Scenario, else dictionaries with such fields."""
        source = self._read.get("scenario list")
        if source is not None:
            rows = [call for call in source.calls("Scenario") if _first_of(call, _ID)]
            yield from rows or (row for value in source.constants.values() for row in _records(value))

    def _composed(self, name: str, words: Sequence[str]) -> Iterator[tuple[str, list[Pieces]]]:
        """Yield the functions of a program whose names have one of these words, with the texts they
        return.
        """
        source = self._read.get(name)
        for function in _functions(source, words) if source else ():
            if words is QUESTIONS and any(word in function for word in PERSONAS):
                continue
            if texts := self._or_none(lambda: source.texts(function)):  # type: ignore[union-attr] # noqa: B023
                yield function, texts

    def _template(self, pieces: Pieces, fields: Mapping[str, str]) -> str:
        return str(self._or_fault(lambda: template(pieces, fields)) or "")

    def _or_fault(self, compute: Callable[[], Any]) -> Any:
        try:
            return compute()
        except NotRead as error:
            self._fault(str(error))
            return None

    def _or_none(self, compute: Callable[[], Any]) -> Any:
        try:
            return compute()
        except NotRead:
            return None

    def _fault(self, fault: str) -> None:
        if fault not in self.faults:
            self.faults.append(fault)

    def _constant(self, name: str) -> Any:
        source = self._read.get("config")
        lost: list[str] = []
        value = self._or_fault(lambda: source.constant(name, lost)) if source else None
        for fault in lost:
            self._fault(fault)
        return value


def _functions(source: PythonSource, words: Sequence[str]) -> list[str]:
    """Return the functions whose names contain one of these words, those of the first word first."""
    names = [name for word in words for name in source.reader.functions if word in name]
    return list(dict.fromkeys(names))


def _slots(pieces: Pieces) -> set[str]:
    return {piece.name for piece in pieces if isinstance(piece, Slot)}


def _poles(value: Any) -> list[tuple[str, str, Sequence[Any]]]:
    """Return (dimension, high or low, statements) from dimension -> pole -> statements, if it is that."""
    rows: list[tuple[str, str, Sequence[Any]]] = []
    for dimension, poles in _items(value):
        for pole, texts in _items(poles):
            side = next((end for end in ("high", "low") if str(pole).casefold().startswith(end)), "")
            if side and isinstance(texts, list | tuple):
                rows.append((dimension, side, texts))
    return rows


def _records(value: Any) -> Iterator[dict[str, Any]]:
    """Yield nested dictionaries that have the fields of a scenario."""
    if isinstance(value, dict) and _first_of(value, _ID) and _first_of(value, _TEXTS):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _records(part)


def _first_of(fields: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((fields[name] for name in names if fields.get(name)), None)


def dimension_name(text: Any) -> str:
    """Return the dimension: "IDV", "Individualism (IDV)" and "IDV (Individualism)" become individualism."""
    words = "".join(c if c.isalnum() else " " for c in str(text).casefold().partition("(")[0])
    name = "_".join(words.split())
    return DIMENSIONS.get(name, name)


def _items(value: Any) -> Iterable[tuple[Any, Any]]:
    return value.items() if isinstance(value, dict) else ()


def _texts(value: Any) -> list[str]:
    """Return the texts of a list, or of the lists of a dictionary, each once."""
    if isinstance(value, dict):
        return list(dict.fromkeys(text for part in value.values() for text in _texts(part)))
    texts = (value,) if isinstance(value, str) else value or ()
    return list(
        dict.fromkeys(
            text
            for part in texts
            for text in ([part] if isinstance(part, str) else _texts(part))
            if text.strip()
        )
    )
