"""WorldWiseAI (2024) from its stored answers: ``culturescope reproduce worldwise``."""

from tasks.papers.reproduction import Reproduction
from tasks.papers.worldwise.cells import cells, depends
from tasks.papers.worldwise.options import WorldwiseOptions
from tasks.papers.worldwise.stored import SOURCES, read

REPRODUCTION = Reproduction(
    title="WorldWiseAI (2024): sections 4.1 to 4.9 and 7.4 from stored answers.",
    sources=tuple(SOURCES.values()),
    options=WorldwiseOptions,
    read=read,
    cells=cells,
    depends=depends,
    examples=(
        "--table 4.5",
        "--answers results_20251122_172747.json --values-times 3",
        "--names gpt-4=GPT-4o-mini --embedder none",
    ),
    tables={
        "country": "SELECT country, name FROM country ORDER BY country",
        "culture_profile": "SELECT * FROM culture_profile ORDER BY rowid",
        "guiding_value": "SELECT * FROM guiding_value ORDER BY rowid",
    },
)

__all__ = ["REPRODUCTION"]
