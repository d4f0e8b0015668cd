"""A warehouse of each test's own, and the files that a build is made from."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.evaluations.culturall.build.model_server import rows
from warehouse import Warehouse


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home as first opened: copying it is quicker than loading the reference each time."""
    home = tmp_path_factory.mktemp("template") / "home"
    Warehouse.open(home)
    return home


@pytest.fixture
def warehouse(template: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    shutil.copytree(template, home, dirs_exist_ok=True)
    monkeypatch.setenv("CULTURESCOPE_HOME", str(home))
    return Warehouse.open()


@pytest.fixture
def pages(tmp_path: Path) -> Callable[..., str]:
    """A file of excerpts: the facts of so many shipped items of each language."""

    def write(n: int = 2, languages: str = "ja kk ru es km", name: str = "pages.jsonl") -> str:
        path = tmp_path / name
        lines = []
        for language in languages.split():
            for row in rows(language)[:n]:
                lines.append({"text": row["fact"], "language": language, "source": row["look_up"]})
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write
