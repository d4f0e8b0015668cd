"""CURE (Vo and Koyejo 2025) from its benchmarks' files, and from results and ratings in formats of ours."""

from tasks.papers.cure.cells import cells, further
from tasks.papers.cure.files import SOURCES, CureReproduced, read
from tasks.papers.reproduction import Reproduction

REPRODUCTION = Reproduction(
    title="CURE (Vo and Koyejo 2025): sizes of benchmarks and cues (Tables 1 and 2), F1 and judged scores.",
    sources=tuple(SOURCES.values()),
    options=CureReproduced,
    read=read,
    cells=cells,
    examples=("--table 1", "--unread left-out"),
    tables={"country": "SELECT country, name FROM country ORDER BY country"},
    further=further,
)

__all__ = ["REPRODUCTION"]
