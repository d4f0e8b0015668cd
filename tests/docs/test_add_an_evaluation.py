"""The page on adding an evaluation: its code makes evaluations, and its files exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from tasks.evaluations import recipe
from tasks.evaluations.recipe.checks import RECIPES
from tests.conftest import REPOSITORY
from tests.evaluations.recipe.made import examined, example

PAGE = (REPOSITORY / "docs" / "add-an-evaluation.md").read_text(encoding="utf-8")


def shown(language: str, place: int = 0) -> str:
    return str(re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[place])


def test_shown_definition_is_an_evaluation() -> None:
    made, faults = examined(example("choice") | {"evaluation.toml": shown("toml").encode()})
    assert faults == []
    assert made is not None


def test_shown_python_is_an_evaluation(tmp_path: Path) -> None:
    for name, content in example("judged").items():
        (tmp_path / name).write_bytes(content)
    code = compile(ast.parse(shown("python")), "page", "exec")
    there = {"__file__": str(tmp_path / "evaluation.py"), "__name__": "page"}
    exec(code, there)
    assert there["EVALUATION"].name == "idioms"  # type: ignore[attr-defined]


def test_shown_benchmark_is_an_evaluation(tmp_path: Path) -> None:
    there: dict[str, Any] = {}
    exec(compile(ast.parse(shown("python", 2)), "page", "exec"), there)
    (tmp_path / "items.csv").write_text(
        "id,country,question,option_a,option_b,option_c,option_d,answer\n1,PE,Q?,u,v,w,x,c\n2,TH,P?,u,v,w,x,E\n"
    )
    made = there["EVALUATION"]
    study = made.study(made.params(models=["m"], data=str(tmp_path), country=["PE"]), {}, {})
    assert [study.right(item) for item in study.items] == [2]
    assert sum(study.loaded.left_out.values()) == 1


def test_table_lists_every_recipe() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) >= RECIPES.keys()
    assert all(callable(getattr(recipe, name)) for name in RECIPES)


def test_files_named_on_the_page_exist() -> None:
    for place in re.findall(r"`((?:tasks|deployments|warehouse|flows|tests)/[\w/.]+)`", PAGE):
        assert (REPOSITORY / place).exists(), place
    for pattern in re.findall(r"^\| `([\w/<>.]+\.(?:py|toml|csv))` \|", PAGE, re.MULTILINE):
        assert list(REPOSITORY.glob(re.sub(r"<\w+>", "*", pattern))), pattern
