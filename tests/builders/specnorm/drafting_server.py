"""A local server that writes SpecNorm drafts, good ones or with a test's faults."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.engines.protocols import Message
from tests.engines.served import Scripted, completion

WORDS = [
    f"{first}{last}"
    for first in ("bar", "kel", "min", "tor", "vus", "zal")
    for last in ("do", "fe", "gi", "la", "no", "pu")
]
"""36 meaningless words."""


@dataclass(frozen=True)
class Scene:
    """The scene of a drafting prompt, read back from it."""

    country: str
    cues: dict[str, str]
    norm: str
    stance: str


def scene_of(conversation: list[Message]) -> Scene:
    text = conversation[-1]["content"]
    country, cues, norm = (json.loads(data) for data in re.findall(r"<data>(.*?)</data>", text))
    stance = re.search(r"right answer to the question is (yes|no)\.", text)
    assert stance
    return Scene(country, dict(cue.split(": ", 1) for cue in cues), norm, stance[1])


def good(scene: Scene) -> dict[str, str]:
    """Return a draft without fault: all cues are named, and each norm has its own words."""
    words = random.Random(scene.norm).sample(WORDS, 24)
    return {
        "persona": f"Sam of {words[0]} {words[1]} is known for this: {', '.join(scene.cues.values())}.",
        "situation": f"Sam sees {' '.join(words[2:])}.",
        "question": f"Is this fine with the {words[0]} people?",
        "label": scene.stance,
        "norm": scene.norm,
    }


Writer = Callable[[Scene], object]
"""Returns the model's answer: a text, or fields that become JSON."""


@contextmanager
def drafting(home: Path, writer: Writer) -> Iterator[list[Scene]]:
    """Serve the model ``writer`` of a home at a dollar per million tokens; yield the requested scenes."""
    scenes: list[Scene] = []

    def reply(number: int, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        scene = scene_of(request["messages"])
        scenes.append(scene)
        written = writer(scene)
        usage = {"usage": {"prompt_tokens": 1000, "completion_tokens": 400, "total_tokens": 1400}}
        return 200, completion(written if isinstance(written, str) else json.dumps(written)) | usage

    server = Scripted(reply)
    (home / "engines" / "writer.toml").write_text(
        f'kind = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n'
        "usd_per_million_input_tokens = 1.0\nusd_per_million_output_tokens = 1.0\n"
    )
    try:
        yield scenes
    finally:
        server.close()
