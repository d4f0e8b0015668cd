"""Two invented scenarios, word vectors that encode scores, and answers of scripted models."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SCENARIOS = """scenario,framework,dimension,category,text,option_a,option_b
mine-1,hofstede,power_distance,work,"In the middle of a meeting, who speaks first?",The chief,Anybody
mine-2,hofstede,individualism,family,"In the middle of a life, where does one live?",At home,Away
"""
EXEMPLARS = """framework,dimension,pole,number,text
hofstede,power_distance,high,1,I obey the ruler
hofstede,power_distance,low,1,We are all equals
hofstede,individualism,high,1,I decide alone
hofstede,individualism,low,1,We decide together
"""
# WorldWiseAI 2024's targets for its five countries (section 7.4) on these two dimensions.
TARGETS = {"AE": (2, -1.5), "IN": (1.5, 0), "JP": (0, 0), "MX": (2, -1.5), "US": (-1, 2)}
NAMES = {"AE": "Emirates", "IN": "India", "JP": "Japan", "MX": "Mexico", "US": "United States"}
AXES = ("power_distance", "individualism")


def mine(home: Path, *more: str) -> tuple[str, ...]:
    """Return arguments of a run on two invented scenarios.

    Only these words have vectors: those of the exemplars, which are the axes, "middle", which lies at 0, and
    "<dimension>:<score>" for each score an answer needs: r = (h - l) / (h + l) of the vector (1 + r, 1 - r)
    is r again, and 2 tanh r the score.
    """
    (home / "scenarios.csv").write_text(SCENARIOS)
    (home / "exemplars.csv").write_text(EXEMPLARS)
    words = {"ruler": (1, 0, 0, 0), "equals": (0, 1, 0, 0), "alone": (0, 0, 1, 0), "together": (0, 0, 0, 1)}
    lines = [f"{word} {' '.join(map(str, vector))}" for word, vector in words.items()] + ["middle 1 1 1 1"]
    for score in (-1.5, -1, 0, 1.5):
        r = math.atanh(score / 2)
        lines += [f"{AXES[0]}:{score} {1 + r} {1 - r} 1 1", f"{AXES[1]}:{score} 1 1 {1 + r} {1 - r}"]
    (home / "mine.vec").write_text("\n".join([f"{len(lines)} 4", *lines]) + "\n")
    files = ("--scenarios-file", home / "scenarios.csv", "--exemplars-file", home / "exemplars.csv")
    common = ("run", "worldwise", "--profile", "smoke", "--embedder", home / "mine.vec", *files)
    return tuple(map(str, (*common, "--cultures", ",".join(TARGETS), "--targets", "seed_bucketed", *more)))


def persona(request: Mapping[str, Any]) -> str | None:
    """Return the code of the country in the prompt's persona."""
    system = request["messages"][0]["content"]
    return next((c for c, n in NAMES.items() if n in system), None) if len(request["messages"]) > 1 else None


def knows(request: Mapping[str, Any]) -> str:
    """Return the word for the persona's target (1.5 for 2, which no answer can reach), or for 0."""
    axis = "chief" not in request["messages"][-1]["content"].lower()
    return f"{AXES[axis]}:{min(TARGETS.get(persona(request) or '', (0, 0))[axis], 1.5)}"


def text_answer(explanation: str) -> str:
    values = "Family Harmony, Group Loyalty, Honesty & Integrity"
    return f"DECISION: A\nTOP_VALUES: {values}\nEXPLANATION: {explanation}"


def json_answer(explanation: str) -> str:
    values = {"value_1": "Family Harmony", "value_2": "Group Loyalty", "value_3": "Honesty & Integrity"}
    return json.dumps({"decision": "B"} | values | {"explanation": explanation})
