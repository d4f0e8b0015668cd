"""CulturALL (Lin et al. 2026) from its published items and files of answers."""

from tasks.papers.culturall.cells import SOURCES, CulturallReproduced, cells, further, read
from tasks.papers.reproduction import Reproduction

REPRODUCTION = Reproduction(
    title="CulturALL (Lin et al. 2026): accuracy by difficulty (Table 2), language, topic and region.",
    sources=tuple(SOURCES.values()),
    options=CulturallReproduced,
    read=read,
    cells=cells,
    examples=("--table 2", "--settings gemini-2.5-pro_auto_true=1", "--unjudged left-out"),
    further=further,
)

__all__ = ["REPRODUCTION"]
