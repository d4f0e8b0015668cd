"""Section 5 of Measuring Meta-Cultural Competency from small files, by hand; its numbers, entered again."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tasks.papers.explication.reproduction import NO_TEST, REPRODUCTION
from tasks.papers.reproduction import find_files
from tests.papers.reproduced import further, numbers, printed
from warehouse import Warehouse

HUMAN = "5.2 Human Validation"
SMALL, OTHERS = "Llama-3.2-1B-it", "all others"
INSTRUCTED = printed("5.2 Instruction Following", "instruction following", SMALL, "4.4")
REST = printed("5.2 Instruction Following", "instruction following", "", ">4.5", models=OTHERS)
# conversation, model, condition, persona, repetition, apr, int, instruction
TALKS = [
    ("c1", "llama-3.2-1b-it", "control", "p1", 1, 4, 3, 4.0),
    ("c2", "llama-3.2-1b-it", "experiment", "p1", 1, 6, 5, 5.0),
    ("c3", "Aya-8B", "control", "p1", 1, 8, 7, 4.8),
    ("c4", "Aya-8B", "treatment", "p2", 1, 9, 9, None),
]
NAMES = ("conversation", "model", "condition", "persona", "repetition", "apr", "int", "instruction")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [json.dumps(dict(zip(NAMES, talk, strict=True))) for talk in TALKS]
    (tmp_path / "conversations.jsonl").write_text("\n".join(rows))
    # Pairs of a: both say c1 < c3 and c1 < c4; only a says c3 > c4. b rated one conversation.
    (tmp_path / "ratings.csv").write_text(
        "rater,conversation,persona,apr,int\na,c1,4,1,2\na,c3,5,5,2\na,c4,4,4,4\nb,c2,3,2,\nb,none,3,1,1\n"
    )
    return tmp_path


def test_hand_calculation_gives_counts_and_grades_of_section_5(folder: Path) -> None:
    metrics = ("participants", "conversations", "instruction-tuned models", "conversations of a model")
    cells = [printed("5.1 Setup", metric) for metric in metrics]
    cells += [printed("5.1 Setup", "conversations of a model", condition="experiment"), INSTRUCTED, REST]
    assert [one.value for one in numbers(REPRODUCTION, folder, cells)] == [2, 4, 2, 2, 1, 4.5, 4.8]
    cells = [
        *(printed("5.1 Setup", metric) for metric in ("cuisines", "temperature")),
        printed("5.2", "p-value"),
    ]
    reasons = ["no column has cuisines", "no file has it", NO_TEST]
    assert [one.reason for one in numbers(REPRODUCTION, folder, cells)] == reasons


def test_hand_calculation_gives_agreement_of_people_and_judge(folder: Path) -> None:
    """One of a's three pairs is reversed in APR; in INT people rate c1 and c3 alike."""
    metrics = ("misaligned pairs (%)", "Cohen's kappa", "Spearman's rho of the models")
    cells = [printed(HUMAN, metric, dimension=d) for d in ("APR", "INT") for metric in metrics]
    apr, kappa, rho, interaction, *_ = numbers(REPRODUCTION, folder, cells)
    assert (apr.value, apr.null, apr.n) == (pytest.approx(100 / 3), 50, 3)
    assert kappa.value is not None
    assert (rho.value, rho.n) == (pytest.approx(1.0), 2)  # 1.5 and 4.5 by people, 5 and 8.5 by the judge
    assert (interaction.value, interaction.null) == (0.0, pytest.approx(100 / 3))
    others = [printed(HUMAN, metric) for metric in ("conversations", "participants", "persona alignment")]
    assert [one.value for one in numbers(REPRODUCTION, folder, others)] == [5, 2, pytest.approx(19 / 5)]


def test_hand_calculation_gives_figure_4(folder: Path) -> None:
    results = further(REPRODUCTION, folder)
    assert results["Figure 4", "Aya-8B", "treatment", "INT"].value == 9
    control = results["Figure 4", "Aya-8B", "control", "APR"]
    assert (control.value, control.null, control.n) == (8.0, 6.0, 1)


def test_missing_files_are_named_as_reasons(tmp_path: Path) -> None:
    cells = [INSTRUCTED, printed(HUMAN, "participants")]
    (tmp_path / "notes.txt").write_text("nothing")
    assert [one.reason.partition(" (")[0] for one in numbers(REPRODUCTION, tmp_path, cells)] == [
        "no file of conversations", "no file of ratings",
    ]  # fmt: skip
    (tmp_path / "conversations.json").write_text('[{"model": "x"}]')
    with pytest.raises(ValueError, match="none of 1 rows fits"):
        REPRODUCTION.read(find_files(tmp_path, REPRODUCTION.sources), REPRODUCTION.options())


SECOND = """\
participants 10|cuisines 5|instruction-tuned models 6|repetitions 10|temperature 1|control 100|experiment 100
a model 200|all 1200|Llama-3.2-1B-it 4.4|all others >4.5|lags <0.05|Gemma <0.05|rated 70|raters 7|persona 4.3
APR pairs 22.8|INT pairs 16.7|APR kappa 0.54|INT kappa 0.72|APR rho 0.83|INT rho 0.89"""
"""Section 5 read a second time, without the table: in the order of the text."""


def test_the_numbers_of_section_5_equal_a_second_reading(blank: Path) -> None:
    first = Warehouse.open(blank).query(
        "SELECT printed FROM published_result WHERE paper = 'explication' ORDER BY rowid"
    )["printed"]
    second = [entry.rpartition(" ")[2] for line in SECOND.splitlines() for entry in line.split("|")]
    assert sorted(first) == sorted(second)
    assert len(second) == 22


def test_every_cell_of_section_5_has_a_number_or_a_reason(folder: Path) -> None:
    file = Path(__file__).parents[2] / "warehouse" / "reference" / "published_result.csv"
    with file.open(newline="") as content:
        rows = [row for row in csv.DictReader(content) if row["paper"] == "explication"]
    cells = [
        printed(r["table_name"], r["metric"], r["model"], r["printed"],
                **dict(part.split("=", 1) for part in r["condition"].split("; ") if part))
        for r in rows
    ]  # fmt: skip
    results = numbers(REPRODUCTION, folder, cells)
    without = {
        (cell.metric, one.reason) for cell, one in zip(cells, results, strict=True) if one.value is None
    }
    assert without == {
        ("p-value", NO_TEST), ("temperature", "no file has it"), ("cuisines", "no column has cuisines"),
    }  # fmt: skip
