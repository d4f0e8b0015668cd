"""A folder shaped like a clone of WorldWiseAI's repository, with invented texts and answers."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DIMENSIONS = {
    "individualism": "IND", "power_distance": "PDI", "masculinity": "MAS", "uncertainty_avoidance": "UAI",
    "long_term_orientation": "LTO", "indulgence": "INDU",
}  # fmt: skip
CULTURES = {
    "US": ("United States", "Springfield, USA", "American"),
    "Japan": ("Japan", "Kamakura, Japan", "Japanese"),
    "India": ("India", "Mysuru, India", "Indian"),
    "Mexico": ("Mexico", "Oaxaca, Mexico", "Mexican"),
    "UAE": ("United Arab Emirates", "Sharjah, UAE", "Emirati"),
}
TARGETS = {  # section 7.4
    "US": (2.0, -1.0, 1.0, 0.0, -1.5, 1.5),
    "India": (0.0, 1.5, 1.0, -1.0, 0.0, -1.5),
    "Japan": (0.0, 0.0, 2.0, 2.0, 2.0, -1.0),
    "Mexico": (-1.5, 2.0, 1.5, 2.0, -1.5, 2.0),
    "UAE": (-1.5, 2.0, 0.0, 1.5, -1.5, -1.0),
}
VALUES = [f"{kind} {what}" for what in ("Quiet", "Order", "Craft") for kind in
          ("Steady", "Shared", "Open & Plain", "Early", "Late", "Bright")]  # fmt: skip
PHRASES = ["every one of them", "in their nature", "so typical", "as they all do", "born to it",
           "the usual sort", "one and all", "like all such", "never fails"]  # fmt: skip
MODELS = ("gpt-4", "claude-sonnet", "gemini", "deepseek")

_SCENARIO = """\
    Scenario(
        id="{id}",
        category="{category}",
        description=(
            "An invented dilemma, number {n}, about {about}: a neighbour asks for a favour that "
            "would take your whole Saturday. What do you do?"
        ),
        cultural_dimensions=["{dimension}", "masculinity"],
        primary_decision_dimension="{dimension}",
    ),
"""
_CONFIG = '''\
"""Settings. Ein Wörtchen, und ein Pfeil → daneben."""

import os
from pathlib import Path
from dotenv import load_dotenv

load_dotenv()
raise SystemExit("a program of others was run")
PROJECT_ROOT = Path(__file__).parent
OPENAI_API_KEY = os.getenv("OPENAI_API_KEY")
MODELS = {{"gpt-4": {{"provider": "x", "temperature": 0.7}}}}
CULTURAL_CONTEXTS = {contexts}
CULTURAL_DIMENSIONS = {dimensions!r}
VALUE_OPTIONS = {values!r}
STEREOTYPE_INDICATORS = {phrases!r}
NUM_RUNS_PER_COMBINATION = 1

def validate():
    return [score for score in HOFSTEDE_OFFICIAL_SCORES.values()]
'''
_PROMPTS = '''\
from typing import Tuple
from scenarios import Scenario
from config import CULTURAL_CONTEXTS, VALUE_OPTIONS


class PromptConstructor:
    def __init__(self):
        self.cultural_contexts = CULTURAL_CONTEXTS

    def build_system_prompt(self, culture: str) -> str:
        """Builds it."""
        if culture == "baseline":
            return "You answer letters in a newspaper."

        if culture not in self.cultural_contexts:
            raise ValueError(f"Unknown culture: {culture}")

        context = self.cultural_contexts[culture]
        system_prompt = f"""You keep a shop in {context['location']} and always have.

Your customers are {context['description']}, as {context['description']} as you; mind the {{braces}}."""

        return system_prompt

    def build_user_prompt(self, scenario: Scenario) -> str:
        scenario_text = scenario.get_prompt_text()
        values_formatted = "\\n".join([f"  - {value}" for value in VALUE_OPTIONS])
        user_prompt = f"""{scenario_text}

Reply in this form:

DECISION: Option A, Option B or Decline

TOP_VALUES: three of
{values_formatted}

EXPLANATION: why"""
        return user_prompt
'''
_EVALUATOR = """\
from sentence_transformers import SentenceTransformer
from config import CULTURAL_CONTEXTS, CULTURAL_DIMENSIONS, STEREOTYPE_INDICATORS


class CulturalEvaluator:
    def __init__(self):
        self.dimensions = CULTURAL_DIMENSIONS
        self.semantic_model = SentenceTransformer("all-MiniLM-L6-v2")
        self.dimension_exemplars = {exemplars}
        self.encoded_exemplars = {{}}

    def _infer_cultural_profile(self, parsed_response):
        profile = {{}}
{text}
        if not response_text.strip():
            return {{dim: 0.0 for dim in self.dimensions}}
        response_embedding = self.semantic_model.encode(response_text, convert_to_tensor=True)
        return profile
"""
FIRST = """\
        response_text = f"{parsed_response.explanation} {parsed_response.decision} "
        response_text += " ".join(parsed_response.top_values)
"""
THRICE = """\
        values_text = ", ".join(parsed_response.top_values)
        weighted = (values_text + ". ") * 3
        response_text = f"{weighted}{parsed_response.explanation} {parsed_response.decision}"
"""


def scenario_ids() -> list[str]:
    return [f"{prefix}{n:03}" for prefix in DIMENSIONS.values() for n in range(1, 6)]


def exemplars() -> dict[str, dict[str, list[str]]]:
    return {
        dimension: {
            pole: [f"{pole} {dimension.replace('_', ' ')} statement {n}" for n in range(1, 6)]
            for pole in ("high", "low")
        }
        for dimension in DIMENSIONS
    }


def record(scenario: str, model: str, culture: str, n: int, **more: Any) -> dict[str, Any]:
    """Return a record as the program writes it."""
    named = [VALUES[(n + step) % len(VALUES)] for step in (0, 5, 11)]
    explanation = f"Case {n}: I would think of {named[0].lower()} and what my neighbours in {culture} expect."
    raw = f"DECISION: Option A\n\nTOP_VALUES:\n- {named[0]}\n\nEXPLANATION: {explanation}"
    return {
        "scenario_id": scenario, "scenario_category": "Work" if n % 2 else "Family", "model": model,
        "culture": culture, "run_num": 1, "timestamp": "2025-11-22T17:27:47", "raw_response": raw,
        "explanation": explanation, "decision": "Option A" if n % 3 else "Option B", "top_values": named,
        "parse_success": True, "parse_errors": [],
        "cultural_alignment": None if culture == "baseline" else 6.5, "consistency": 10.0,
        "differentiation": 0.0, "stereotype": 8.0,
    } | more  # fmt: skip


def records(models: Sequence[str] = MODELS, scenarios: Sequence[str] | None = None) -> list[dict[str, Any]]:
    cells = [
        (scenario, model, culture)
        for scenario in scenarios or scenario_ids()
        for model in models
        for culture in ("baseline", *CULTURES)
    ]
    return [record(*cell, n) for n, cell in enumerate(cells)]


def program(folder: Path, text: str = FIRST, encoding: str = "utf-8") -> None:
    """Write the four programs.

    Args:
        text: the lines of evaluator.py that compose the embedded text.
    """
    names = list(DIMENSIONS)
    contexts: dict[str, Any] = {
        "baseline": {"name": "Baseline", "location": "nowhere", "hofstede_scores": dict.fromkeys(names)}
    }
    for label, (name, place, people) in CULTURES.items():
        scores = dict(zip(names, TARGETS[label], strict=True))
        contexts[label] = {"name": name, "location": place, "description": people, "hofstede_scores": scores}
    cookie = "" if encoding == "utf-8" else f"# -*- coding: {encoding} -*-\n"
    config = _CONFIG.format(contexts=contexts, dimensions=names, values=VALUES, phrases=PHRASES)
    if encoding != "utf-8":
        config = config.replace("→", "->")
    lists = []
    for dimension, prefix in DIMENSIONS.items():
        some = [
            _SCENARIO.format(
                id=f"{prefix}{n:03}", n=n, about=dimension, dimension=dimension, category=category
            )
            for n, category in enumerate(("Work", "Family", "Work", "Family", "Work"), start=1)
        ]
        lists.append((f"{dimension.upper()}_SCENARIOS", "".join(some)))
    head = "from dataclasses import dataclass\n\n@dataclass\nclass Scenario:\n    id: str\n"
    head += "    category: str\n    description: str\n    context: str = ''\n\n"
    body = "".join(f"{name} = [\n{some}]\n\n" for name, some in lists)
    tail = f"ALL_SCENARIOS = ({' + '.join(name for name, _ in lists)})\n"
    tail += "SCENARIOS_DICT = {s.id: s for s in ALL_SCENARIOS}\n"
    files = {
        "config.py": cookie + config,
        "scenarios.py": cookie + head + body + tail,
        "prompt_constructor.py": cookie + _PROMPTS,
        "evaluator.py": cookie + _EVALUATOR.format(exemplars=exemplars(), text=text),
    }
    for name, source in files.items():
        (folder / name).write_bytes(source.encode(encoding))


def clone(folder: Path, text: str = FIRST, answers: Sequence[dict[str, Any]] | None = None) -> Path:
    """Write the whole folder: programs, results and unrelated files."""
    results = folder / "results"
    for name in (
        ".idea",
        ".git/objects",
        "__pycache__",
        ".ipynb_checkpoints",
        "results/visualizations",
        "cache",
    ):
        (folder / name).mkdir(parents=True)
    program(folder, text)
    rows = list(records() if answers is None else answers)
    newest = results / "results_20251122_172747.json"
    newest.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    with newest.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (results / "summary_20251122_172747.json").write_text(
        json.dumps({"overall": {"total_responses": len(rows)}})
    )
    (results / "analysis_report_results_20251122_172747.txt").write_text("REPORT\nTotal Responses: 720\n")
    for name in ("baseline_comparison", "stereotype_scores", "scenario_difficulty"):
        (results / "visualizations" / f"{name}.png").write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe")
    (folder / ".idea" / "misc.xml").write_text("<project/>")
    (folder / ".git" / "objects" / "results_old.json").write_text("no JSON")
    (folder / ".ipynb_checkpoints" / "results_9-checkpoint.json").write_text("no JSON")
    (folder / "analysis.ipynb").write_text(json.dumps({"cells": []}))
    (folder / "cache" / "results_cache.pkl").write_bytes(b"\x80\x04no")
    (folder / "README.md").write_text("# Invented\n")
    for name in ("main.py", "test.py", "visualizer.py", "demo.py", "analyze.py", "llm_interface.py"):
        (folder / name).write_text("raise SystemExit('a program of others was run')\n")
    return folder
