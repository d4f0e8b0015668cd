"""Comparison of numbers with printed digits, the search for files, and the order of option choices."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from pydantic import Field

from deployments.cli.reproduce import reproduction, reproductions
from tasks.papers.reproduction import (
    TRIED,
    Named,
    NoNumber,
    Numbers,
    Options,
    PrintedCell,
    RecomputedCell,
    Reproduction,
    SourceFiles,
    Tools,
    agreement,
    by_name,
    compare_cells,
    find_files,
    is_of_table,
    variants,
)


def cell(printed: str, value: float | None, table: str = "Table 1") -> PrintedCell:
    return PrintedCell(table, "", {}, "m", printed, value, "score")


@pytest.mark.parametrize(
    ("printed", "value", "number", "expected"),
    [
        ("7.70", 7.7, 7.695, "equal"),  # half-way rounds to 7.69 or 7.70
        ("7.70", 7.7, 7.7049, "equal"),
        ("7.70", 7.7, 7.706, "near"),  # within 1 % = 0.077
        ("7.70", 7.7, 7.778, "differs"),
        ("52", 52.0, 53.0, "near"),  # one unit of the last digit
        ("52", 52.0, 54.0, "differs"),
        ("+0.228", 0.228, 0.2284, "equal"),
        ("-0.06", -0.06, -0.0649, "equal"),
        ("0.00", 0.0, 0.004, "equal"),
        ("13,33", 13.33, 13.329, "equal"),
        (">0.60", None, 0.61, "equal"),
        (">0.60", None, 0.6, "differs"),
        ("<0.0001", None, 0.00005, "equal"),
        ("120+", None, 120.0, "equal"),
        ("120+", None, 119.0, "differs"),
        ("7.70", 7.7, None, "not recomputed"),
    ],
)
def test_a_number_agrees_to_the_printed_digits(
    printed: str, value: float | None, number: float | None, expected: str
) -> None:
    assert agreement(cell(printed, value), number) == expected


class Two(Options):
    """Two options that are tried, and one that is not."""

    times: list[int] = Field([1, 3], json_schema_extra=TRIED)
    rule: list[str] = Field(["a", "b"], json_schema_extra=TRIED)
    seed: int = 0


def test_the_fewest_differences_are_tried_first() -> None:
    tried = variants(Two(seed=7))
    assert [changed for changed, _ in tried] == [{}, {"rule": "b"}, {"times": 3}, {"times": 3, "rule": "b"}]
    assert tried[2][1] == Two(times=[3], rule=["a"], seed=7)


def test_a_cell_takes_the_first_variant_with_its_digits_else_the_first() -> None:
    """Numbers by (times, rule); the last cell depends only on times, so it is computed twice."""
    known: dict[str, dict[tuple[int, str], float]] = {
        "1.0": {(1, "a"): 1.04, (1, "b"): 1.0, (3, "a"): 1.0},
        "2.0": {(1, "a"): 2.5, (1, "b"): 2.6, (3, "a"): 2.04},
        "3.0": {(3, "b"): 9.0},
        "4.0": {},
    }
    computed: list[str] = []

    class Known(Numbers[None, Two]):
        def _number(self, cell: PrintedCell) -> RecomputedCell:
            computed.append(cell.printed)
            choice = (self.options.times[0], self.options.rule[0])
            if choice not in known[cell.printed]:
                raise NoNumber(f"not {choice}")
            return RecomputedCell(known[cell.printed][choice])

    kind = Reproduction(
        "", {}, Two, lambda files, options: (None, ()), Known,
        depends=lambda cell: ("times",) if cell.printed == "4.0" else ("times", "rule"),
    )  # fmt: skip
    cells = [cell(text, float(text)) for text in known]
    rows, n = compare_cells(kind, None, Two(), Tools({}, lambda *_: np.empty(0)), cells)
    assert [(r.number.value, r.needs, r.agreement) for r in rows] == [
        (1.04, "", "equal"),
        (2.04, "--times 3", "equal"),
        (9.0, "--times 3 --rule b", "differs"),
        (None, "", "not recomputed"),
    ]
    assert rows[3].number.reason == "not (1, 'a')"
    assert n == 4
    assert [computed.count(text) for text in known] == [1, 3, 4, 2]


def test_files_are_found_in_subfolders_by_the_first_matching_pattern(tmp_path: Path) -> None:
    """Folders are laid out like a public clone; * in a pattern matches within one name only."""
    for name in (
        ".idea/misc.xml", "README.md", "results/Results_2.json", "results/results_1.csv",
        "results/summary_1.json", "results/plots/results.png", "probabilities/m/q.csv", "probabilities/q.csv",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    patterns = {"a": ("results*.json", "*.json"), "b": ("*.txt",), "c": ("probabilities/*/*.csv",)}
    sources = by_name(*(SourceFiles(name, some, "") for name, some in patterns.items()))
    assert {
        name: [path.relative_to(tmp_path).as_posix() for path in paths]
        for name, paths in find_files(tmp_path, sources).items()
    } == {"a": ["results/Results_2.json"], "b": [], "c": ["probabilities/m/q.csv"]}
    assert sources["b"].missing == "no file of b (*.txt)"
    with pytest.raises(ValueError, match="no such folder"):
        find_files(tmp_path / "nowhere", sources)


def test_folders_of_any_depth_are_searched_once(tmp_path: Path) -> None:
    deepest = tmp_path
    for _ in range(1200):
        deepest /= "d"
        deepest.mkdir()
    for folder in (deepest, tmp_path / "__MACOSX"):
        folder.mkdir(exist_ok=True)
        (folder / "found.csv").write_text("")
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "nowhere.csv").symlink_to("absent.csv")
    (tmp_path / "folder.csv").mkdir()
    found = find_files(tmp_path, by_name(SourceFiles("a", ("*.csv",), "")))["a"]
    assert found == [deepest / "found.csv"]
    subprocess.run(["rm", "-r", tmp_path / "d"], check=True)  # pytest's own deletion stops at 1,000 levels


@pytest.mark.parametrize(("found", "expected"), [
    ({"GPT-4o", "Qwen"}, []),
    ({"GPT-4o"}, ["1 of the paper's 2 models are in the files; without 'Qwen'"]),
    ({"GPT-4o", "Qwen", "mine"}, ["models that the paper has no number of: 'mine'"]),
    ({"mine"}, [
        "models that the paper has no number of: 'mine'",
        "0 of the paper's 2 models are in the files; without 'GPT-4o', 'Qwen'",
    ]),
    (set(), []),
])  # fmt: skip
def test_names_that_files_or_paper_lack_are_listed(found: set[str], expected: list[str]) -> None:
    assert Named("models", found, {"GPT-4o", "Qwen"}).notes == expected


def test_many_names_are_listed_in_one_line_and_counted() -> None:
    (note,) = Named("origins", {f"o{n:03d}" for n in range(60)} | {"a"}, {"a"}).notes
    assert note.endswith("'o011' and 48 more")


@pytest.mark.parametrize("paper", reproductions())
def test_each_paper_compares_the_names_in_its_files_with_its_own(paper: str) -> None:
    assert "known_names" in vars(reproduction(paper).numbers)


class _Pooling(Numbers[int, Options]):
    known_names = (Named("models", {"a", "b"}, {"a", "b", "c"}), Named("items", {"x"}, {"x"}))

    def _number(self, cell: PrintedCell) -> RecomputedCell:
        if cell.table == "none":
            raise NoNumber("no file")
        return RecomputedCell(1.0, "of its own" if cell.table == "own" else "")

    def pooled(self, cell: PrintedCell) -> tuple[str, ...]:
        return () if cell.model else ("models", "items")


@pytest.mark.parametrize(("table", "model", "reason"), [
    ("1", "", "over 2 of the paper's 3 models"), ("1", "a", ""),
    ("own", "", "of its own"), ("none", "", "no file"),
])  # fmt: skip
def test_a_number_over_fewer_than_the_papers_says_so(table: str, model: str, reason: str) -> None:
    numbers = _Pooling(0, Options(), Tools({}, lambda *_: np.zeros((0, 0))))
    assert numbers.number(cell("1", 1.0, table)._replace(model=model)).reason == reason


def test_a_table_is_selected_by_its_number() -> None:
    names = ["Table 1(a)", "Table 10", "Table 1", "4.2 Mean", "4.2 Dimension", "4.3 Accuracy"]

    def selected(wanted: str) -> list[str]:
        return [name for name in names if is_of_table(name, wanted)]

    assert selected("1") == ["Table 1(a)", "Table 1"]
    assert selected("table 1(A)") == ["Table 1(a)"]
    assert selected("4.2") == ["4.2 Mean", "4.2 Dimension"]
    assert selected("4") == ["4.2 Mean", "4.2 Dimension", "4.3 Accuracy"]
    assert selected("2") == []
