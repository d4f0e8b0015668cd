"""The program of WorldWiseAI's repository as data: what of it belongs to its texts and its arithmetic.

Its files are read by their syntax trees, and never run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tasks.papers.reproduction import Files, Source, by_name
from tasks.papers.sources import NotRead, Pieces, PythonSource, Slot, composed, literal, read_source, template

CONFIG, SCENARIOS, PROMPTS, EVALUATOR = (
    Source("config", ("config.py",), "Python: CULTURAL_CONTEXTS, VALUE_OPTIONS, STEREOTYPE_INDICATORS"),
    Source(
        "scenario list",
        ("scenarios.py",),
        "Python: Scenario(id, category, description, primary_decision_dimension)",
    ),
    Source("prompts", ("prompt_constructor.py",), "Python: build_system_prompt, build_user_prompt"),
    Source("evaluator", ("evaluator.py",), "Python: dimension_exemplars, _infer_cultural_profile"),
)
PROFILE = "seed_bucketed"
"""The profile of section 7.4."""
PROGRAM = by_name(CONFIG, SCENARIOS, PROMPTS, EVALUATOR)


class Program:
    """The program of a clone; what it has not is None, or empty.

    Attributes:
        faults: why a part could not be read, a line each.
    """

    def __init__(self, files: Files) -> None:
        self.faults: list[str] = []
        self._read: dict[str, PythonSource] = {}
        for name in PROGRAM:
            for path in sorted(files.get(name, ()), key=lambda path: (len(path.parts), path))[:1]:
                others = [self._read["config"]] if "config" in self._read else []
                self._try(lambda path=path, name=name, others=others: self._keep(name, path, others))  # type: ignore[misc]

    def scenarios(self) -> list[dict[str, Any]]:
        """The scenarios: scenario, dimension, category, text."""
        source = self._read.get("scenario list")
        rows = []
        for call in source.calls("Scenario") if source else []:
            name, dimension = call.get("id"), call.get("primary_decision_dimension")
            if dimension is None and call.get("cultural_dimensions"):
                dimension = call["cultural_dimensions"][0]
            text = "\n\n".join(str(call[part]) for part in ("context", "description") if call.get(part))
            if name and dimension and text:
                rows.append(
                    {
                        "scenario": str(name),
                        "dimension": str(dimension),
                        "category": str(call.get("category") or "none"),
                        "text": text,
                    }
                )
        return rows

    def exemplars(self) -> list[dict[str, Any]]:
        """The exemplars: dimension, pole, number, text."""
        value = self._literal("evaluator", lambda source: source.attribute("dimension_exemplars"))
        return [
            {"dimension": str(dimension), "pole": str(pole), "number": str(number), "text": str(text)}
            for dimension, poles in _items(value)
            for pole, texts in _items(poles)
            if pole in ("high", "low")
            for number, text in enumerate(texts, 1)
        ]

    def phrases(self) -> list[str]:
        """The stereotype phrases, each once."""
        return _texts(self._literal("config", lambda source: source.constant("STEREOTYPE_INDICATORS")))

    def values(self) -> list[str]:
        """The values to choose from, each once."""
        return _texts(self._literal("config", lambda source: source.constant("VALUE_OPTIONS")))

    def cultures(self) -> dict[str, dict[str, Any]]:
        """Name of a culture -> what the program knows of it: name, location, description, hofstede_scores."""
        value = self._literal("config", lambda source: source.constant("CULTURAL_CONTEXTS"))
        return {str(name): dict(about) for name, about in _items(value) if isinstance(about, dict)}

    def targets(self) -> list[dict[str, Any]]:
        """The targets of the cultures: profile, country (as it is called), framework, dimension, score."""
        return [
            {
                "profile": PROFILE,
                "country": str(about.get("name", name)),
                "framework": "hofstede",
                "dimension": str(dimension),
                "score": float(score),
            }
            for name, about in self.cultures().items()
            for dimension, score in _items(about.get("hofstede_scores"))
            if isinstance(score, int | float)
        ]

    def persona(self) -> tuple[str, str]:
        """Templates of the system prompt of a culture, and without one; "": not found."""
        fields = {"location": "place", "description": "people", "name": "country", "culture": "country"}
        own = self._composed("prompts", "build_system_prompt", "", fields)
        return own, literal(_special(self._read.get("prompts"), "build_system_prompt"))

    def question(self) -> str:
        """The template of the question; "": not found."""
        fields = dict.fromkeys(("get_prompt_text", "scenario_text", "description", "text"), "scenario")
        return self._composed("prompts", "build_user_prompt", "", fields)

    def embedded(self) -> Pieces:
        """The text of an answer that is embedded, of explanation, decision and top_values; (): not found."""
        source = self._read.get("evaluator")
        for variable in ("response_text", "text", "combined_text", "full_text") if source else ():
            try:
                pieces = composed(source, "_infer_cultural_profile", variable)  # type: ignore[arg-type]
            except NotRead:
                continue
            if {p.name for p in pieces if isinstance(p, Slot)} <= {"explanation", "decision", "top_values"}:
                return pieces
        return ()

    def _keep(self, name: str, path: Path, others: Sequence[PythonSource]) -> None:
        self._read[name] = read_source(path, others)

    def _try(self, do: Callable[[], Any]) -> Any:
        try:
            return do()
        except NotRead as error:
            self.faults.append(str(error))
            return None

    def _literal(self, name: str, look: Callable[[PythonSource], Any]) -> Any:
        source = self._read.get(name)
        return self._try(lambda: look(source)) if source else None

    def _composed(self, name: str, function: str, variable: str, fields: dict[str, str]) -> str:
        source = self._read.get(name)
        text = source and self._try(lambda: template(composed(source, function, variable), fields))
        return str(text or "")


def _special(source: PythonSource | None, function: str) -> str:
    """The literal text that a function returns for a special case; "": none."""
    if source is None:
        return ""
    try:
        body = source.function(function)
    except NotRead:
        return ""
    for node in ast.walk(body):
        if (
            isinstance(node, ast.Return)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            return node.value.value
    return ""


def _items(value: Any) -> Iterable[tuple[Any, Any]]:
    return value.items() if isinstance(value, dict) else ()


def _texts(value: Any) -> list[str]:
    return list(dict.fromkeys(str(text) for text in value or () if str(text).strip()))
