"""A small rubric, as a file's text and loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.judging.rubric import Rubric, load_rubric

RUBRIC = '''
name = "taste"
version = 1
system = "Judge each item: Good (tasty, healthy), Unsure (unknown) or Bad (unknown)."
inputs = ["title", "items"]
user = """
Title: {{ title }}
Items: {{ items }}
"""
max_chars = 50

[verdicts.Good]
value = 1.0
reasons = ["tasty", "healthy"]

[verdicts.Unsure]
value = 0.5
reasons = ["unknown"]

[verdicts.Bad]
value = 0.0
reasons = ["unknown"]

[[examples]]
inputs = { title = "fruit", items = ["plum"] }
answer = { plum = { verdict = "Good", reason = "tasty" } }
'''


@pytest.fixture
def rubric_text() -> str:
    return RUBRIC


@pytest.fixture(scope="session")
def rubric(tmp_path_factory: pytest.TempPathFactory) -> Rubric:
    path: Path = tmp_path_factory.mktemp("rubrics") / "taste.toml"
    path.write_text(RUBRIC)
    return load_rubric(path)
