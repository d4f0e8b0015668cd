"""Files that a build is made from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders.culturall.model_server import rows


@pytest.fixture
def pages(tmp_path: Path) -> Callable[..., str]:
    """A function that writes a file of excerpts: the facts of n shipped items of each language."""

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
