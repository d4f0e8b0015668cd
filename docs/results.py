"""Record a finished run: ``CULTUREMETER_HOME=… python docs/results.py EVALUATION PROFILE [FIGURE …]``.

Writes ``docs/results/PROFILE.md`` with leaderboard and times, and the figures of the report beside it (by
default all but large ones). Add by hand what can and cannot be concluded, and the page's line in the
navigation of zensical.toml.
"""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import unquote

from bs4 import BeautifulSoup

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from deployments.evaluations import doors
from deployments.show import boards, report
from warehouse import Warehouse, WarehouseError

FOLDER = Path(__file__).resolve().parent / "results"
MOST_BYTES = 100_000
RUNS = """
SELECT model, engine->>'kind' AS engine, coalesce(engine->>'dtype', '–') AS dtype, code_version AS version,
    strftime(started_at, '%Y-%m-%d %H:%M') AS "started (UTC)",
    round(date_diff('second', started_at, finished_at) / 60) AS minutes
FROM run WHERE config_hash = ? AND NOT is_null AND status = 'finished' ORDER BY started_at
"""


def write_results(
    warehouse: Warehouse, evaluation: str, profile: str, figures: set[str], folder: Path
) -> list[Path]:
    """Write the page of a profile's newest configuration, and its figures; returns the files.

    Raises:
        WarehouseError: no finished run of the evaluation has the profile.
    """
    runs = "SELECT config_hash FROM run WHERE evaluation = ? AND profile = ? AND status = 'finished'"
    found = warehouse.query(f"{runs} ORDER BY finished_at DESC LIMIT 1", [evaluation, profile]).rows()
    if not found:
        raise WarehouseError(f"no finished run of {evaluation} has the profile {profile!r}")
    config, door = found[0][0], doors()[evaluation]
    board = boards.for_people(boards.leaderboard(warehouse, evaluation, config), door.columns)
    lines = [f"# {evaluation}, profile {profile}", "", door.title, "", f"Configuration `{config}`.", ""]
    lines += ["## Leaderboard", "", *table(board), "", door.caption, ""]
    lines += [boards.beyond_null(warehouse, evaluation, config), ""]
    lines += ["## How long it took", "", *table(warehouse.query(RUNS, [config])), "", "## Figures", ""]
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    page = BeautifulSoup(report.page(warehouse, evaluation, config), "lxml")
    for link in page.find_all("a", download=lambda name: bool(name) and name.endswith(".svg")):
        name, svg = (
            str(link["download"]).removeprefix("culturemeter-"),
            unquote(str(link["href"])).partition(",")[2],
        )
        if len(svg.encode()) > MOST_BYTES or (figures and name.removesuffix(".svg") not in figures):
            continue
        written.append(folder / f"{profile}-{name}")
        written[-1].write_text(svg, encoding="utf-8")
        drawing = link.find_previous("svg")
        text = drawing.get("aria-label", name) if drawing else name
        lines += [f"![{text}]({written[-1].name})", ""]
    written.append(folder / f"{profile}.md")
    written[-1].write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return written


def table(frame: object) -> list[str]:
    """Return a frame as a Markdown table."""
    columns, rows = frame.columns, frame.rows()  # type: ignore[attr-defined]
    lines = [f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns)]
    return lines + [f"| {' | '.join('–' if cell is None else str(cell) for cell in row)} |" for row in rows]


if __name__ == "__main__":
    for path in write_results(Warehouse.open(), sys.argv[1], sys.argv[2], set(sys.argv[3:]), FOLDER):
        print(path)
