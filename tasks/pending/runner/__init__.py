"""The sources of run.py, which answers a folder's requests without this package: one file made of several."""

from __future__ import annotations

from importlib.resources import files

PARTS = ("replies", "local", "main")


def source() -> str:
    """Return run.py: the documentation of ``main``, and all parts without imports of each other."""
    texts = [files(__package__).joinpath(f"{part}.py").read_text(encoding="utf-8") for part in PARTS]
    future = "from __future__ import annotations\n"
    docs = texts[-1].partition(future)[0]
    bodies = [text.partition(future)[2] for text in texts]
    lines = [line for body in bodies for line in body.splitlines() if not line.startswith("from tasks.")]
    return docs + future + "\n".join(lines) + "\n"
