"""Measuring Meta-Cultural Competency (2025) from item lists, probabilities and people's rankings."""

from tasks.papers.reproduction import Reproduction
from tasks.papers.spectral.cells import SOURCES, SpectralReproduced, cells, further, read

REPRODUCTION = Reproduction(
    title="Measuring Meta-Cultural Competency (2025): people's rankings (Table 1), ER and SR (Table 4).",
    sources=tuple(SOURCES.values()),
    options=SpectralReproduced,
    read=read,
    cells=cells,
    examples=("--table 4", "--correlation spearman --ddof 0"),
    further=further,
)

__all__ = ["REPRODUCTION"]
