"""Zhou et al. (2025), FmLAMA, from its published files: ``culturescope reproduce fmlama``."""

from tasks.papers.fmlama.cells import cells, depends
from tasks.papers.fmlama.files import SOURCES, complete, read
from tasks.papers.fmlama.options import FmlamaReproduced
from tasks.papers.reproduction import Reproduction

REPRODUCTION = Reproduction(
    title="FmLAMA (Zhou et al. 2025): counts, baseline, mAP, mWS and MES of its tables.",
    sources=tuple(SOURCES.values()),
    options=FmlamaReproduced,
    read=read,
    cells=cells,
    examples=(
        "--table '1(a)' --baseline hits,top-ten",
        "--england uk --files pooled",
        "--word-vectors cc.{language}.300.bin",
    ),
    tables={"origin_group": "SELECT * FROM origin_group ORDER BY rowid"},
    complete=complete,
    depends=depends,
)

__all__ = ["REPRODUCTION"]
