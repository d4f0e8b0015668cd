"""A pack on disk, small and right, to be broken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.evaluations.spectral.pack import PACK
from tasks.packs.check import examine, stray
from tasks.packs.folder import PackFolder
from tasks.packs.shape import ByName, PackContent, PackFault

FILES = {
    "pack.toml": 'title = "Sports"\n',
    "spectral/domain.csv": (
        "domain,label,item_list,prefix,human_category,human_score\nsport,Sport,sports,Name it.,LH,4.5\n"
    ),
    "spectral/question.csv": "domain,variant,template\nsport,1,In {country} people watch\n",
    "spectral/item.csv": "item_list,item,countries\nsports,football,BR|DE\nsports,cricket,IN\n",
}
SHIPPED: ByName = {
    "country": [{"country": code} for code in ("BR", "DE", "IN")],
    "question": [{"domain": "currency", "variant": 1}],
    "item": [{"item_list": "currency", "item": "euro"}],
}
Examine = Callable[..., tuple[PackContent, list[PackFault]]]


@pytest.fixture
def folder(tmp_path: Path) -> PackFolder:
    """The pack."""
    for name, text in FILES.items():
        path = tmp_path / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return PackFolder("mine", tmp_path / "mine")


@pytest.fixture
def examined(folder: PackFolder) -> Examine:
    """Return a pack's content and faults, with these texts or bytes as its files; None: without the file."""

    def look(**changed: str | bytes | None) -> tuple[PackContent, list[PackFault]]:
        for name, text in changed.items():
            path = folder.path / "spectral" / f"{name}.csv"
            path.unlink(missing_ok=True)
            if text is not None:
                path.write_bytes(text.encode() if isinstance(text, str) else text)
        content, faults = examine(folder, "spectral", PACK, SHIPPED)
        return content, [*faults, *stray(folder, {"spectral": PACK})]

    return look
