"""Tables 1 and 4 of Measuring Meta-Cultural Competency from small files, by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tasks.papers.spectral.reproduction import REPRODUCTION
from tests.papers.reproduced import further, numbers, opened, printed

AVERAGE = printed("Table 1", "Avg Score", domain="Currency")
SD = printed("Table 1", "Std Dev", domain="Currency")
ITEMS = printed("Table 1", "# Items", domain="Currency")
CORRELATION = printed("Table 4", "Correlation", "Aya-8B")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rankings.csv").write_text(
        "participant,domain,rank\na,Currency,9\nb,currency,5\na,Religions,1\nb,Religions,1\n"
    )
    (tmp_path / "items.csv").write_text(
        "domain,item\nCurrency,yen\nCurrency,yen\nCurrency,euro\nReligions,x\n"
    )
    return tmp_path


def test_hand_calculation_gives_ratings_of_people(folder: Path) -> None:
    average, sd, items = numbers(REPRODUCTION, folder, [AVERAGE, SD, ITEMS])
    assert (average.value, average.null, average.n) == (7.0, 4.0, 2)  # 9 and 5; all four have a mean of 4
    assert sd.value == pytest.approx(math.sqrt(8))  # 2 and -2: 8 / 1
    assert items.value == 2.0
    assert numbers(REPRODUCTION, folder, [SD], ddof=[0])[0].value == 2.0
    assert [one.value for one in numbers(REPRODUCTION, folder, [AVERAGE, ITEMS], ddof=[0])] == [7.0, 2.0]


def test_hand_calculation_gives_the_correlation_of_er_and_sr(folder: Path) -> None:
    """ER 1, 2, 3 and SR 9, 4, 2: ranks turned round, and Pearson's -(7 / 2) / sqrt(2 / 2 * 26 / 2 ...)."""
    (folder / "spectra.csv").write_text(
        "model,question,er,sr\naya-8b,q1,1,9\naya-8b,q2,2,4\naya-8b,q3,3,2\nother,q1,1,1\n"
    )
    # Deviations -1 0 1 and 4 -1 -3: -7 / sqrt(2 * 26)
    assert numbers(REPRODUCTION, folder, [CORRELATION])[0].value == pytest.approx(-7 / math.sqrt(52))
    (spearman,) = numbers(REPRODUCTION, folder, [CORRELATION], correlation=["spearman"])
    assert spearman.value == pytest.approx(-1.0)
    assert (spearman.null, spearman.n) == (None, 3)
    assert numbers(REPRODUCTION, folder, [AVERAGE], correlation=["spearman"])[0].value == 7.0


def test_hand_calculation_gives_spectra_of_published_probabilities(folder: Path) -> None:
    """Two countries with nothing in common have eigenvalues 1 and 1, so ER 2 and SR 1; with the cosine c the
    eigenvalues are 1 + c and 1 - c. Logarithms go through a softmax first."""
    questions = folder / "probabilities" / "Aya-8B"
    questions.mkdir(parents=True)
    (questions / "apart.csv").write_text("country,a,b\nJP,1,0\nIN,0,1\n")
    (questions / "near.csv").write_text("country,a,b\nJP,0.6,0.8\nIN,0.8,0.6\n")  # c = 0.96
    log = ",".join(str(math.log(p)) for p in (0.5, 0.5))
    (questions / "logs.csv").write_text(f"country,a,b\nJP,{log}\nIN,{math.log(0.8)},{math.log(0.2)}\n")
    results = further(REPRODUCTION, folder)
    assert results["Figures 5 and 6", "Aya-8B", "apart", "ER"].value == pytest.approx(2.0)
    assert results["Figures 5 and 6", "Aya-8B", "apart", "SR"].value == pytest.approx(1.0)
    assert results["Figures 5 and 6", "Aya-8B", "near", "SR"].value == pytest.approx(1.96 / 0.04)
    cosine = (0.5 * 0.8 + 0.5 * 0.2) / (math.sqrt(0.5) * math.sqrt(0.68))
    ratio = (1 + cosine) / (1 - cosine)
    assert results["Figures 5 and 6", "Aya-8B", "logs", "SR"].value == pytest.approx(ratio)
    (correlation,) = numbers(REPRODUCTION, folder, [CORRELATION], correlation=["spearman"])
    assert correlation.value == pytest.approx(-1.0)
    assert correlation.n == 3


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("land,a\nJP,1\nIN,1\n", "not countries by items"),
        ("country,a\nJP,x\nIN,1\n", "not countries by items"),
        ("country,a,b\nJP,1,0\nJP,0,1\n", "at least two countries"),
        ("country,a,b\nJP,1,-1\nIN,0,1\n", "neither probabilities nor log-probabilities"),
        ("country,a,b\nJP,1,\nIN,0,1\n", "neither probabilities nor log-probabilities"),
    ],
)
def test_broken_probabilities_are_refused(folder: Path, text: str, complaint: str) -> None:
    path = folder / "probabilities" / "m" / "q.csv"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(ValueError, match=complaint):
        numbers(REPRODUCTION, folder, [AVERAGE])


def test_missing_files_leave_their_own_cells_without_numbers(folder: Path) -> None:
    (folder / "items.csv").unlink()
    results = numbers(
        REPRODUCTION, folder, [AVERAGE, ITEMS, CORRELATION, printed("Table 3", "Parameters", "GPT-2")]
    )
    assert results[0].value == 7.0
    assert results[1].reason == "no file of items (*items*.csv)"
    assert "probabilities/*/*.csv" in results[2].reason
    assert results[3].reason == "no published file has it"


def test_hand_calculation_gives_categories_and_macro_f1(folder: Path) -> None:
    """Four spectra; ER 1 2 3 4 and SR 8 1 6 2: high are 3 and 4, and 8 and 6. So LH, LL, HH, HL."""
    (folder / "spectra.csv").write_text(
        "model,question,er,sr\n"
        "a,house_numbers-1,1,8\na,religions-1,2,1\nb,common_foods-1,3,6\nb,House numbers 2,4,2\n"
    )
    results = further(REPRODUCTION, folder, DOMAINS)
    of = {key[1:]: number for key, number in results.items() if key[0] == "Figure 2"}
    assert of["a", "macro-F1"].value == 1.0
    # Model b has foods HH and house numbers HL, people HH and LH: F1 1 and 0.
    assert (of["b", "macro-F1"].value, of["b", "F1 HH"].value, of["b", "F1 LH"].value) == (0.5, 1.0, 0.0)
    assert of["b", "House numbers 2", "HL", "as people"].value == 0.0
    # Guessing LH or LL gives F1 2/3 for one of the two classes; the other two of four guesses give 0.
    assert of["a", "macro-F1"].null == pytest.approx((1 / 3 + 1 / 3) / 4)
    assert of["b", "macro-F1"].reason == "over 2 questions, of which the paper has 27"
    (folder / "spectra.csv").write_text("model,question,er,sr\na,unknown,1,8\n")
    results = further(REPRODUCTION, folder, DOMAINS)
    assert [key for key in results if key[0] == "Figure 2"] == [("Figure 2", "a", "unknown", "as people")]
    reason = results["Figure 2", "a", "unknown", "as people"].reason
    assert reason == "'unknown' is named like no domain of table 1"


@pytest.mark.parametrize(
    ("question", "category"),
    [
        ("Common food", "HH"), ("common-foods_3", "HH"), ("COMMON FOODS: which are sold?", "HH"),
        ("house number", "LH"), ("The religions 2", "LL"), ("Religion", "LL"), ("Religoins", "LL"),
        ("convenient foods", ""), ("food", ""), ("3", ""), ("", ""), ("housing", ""),
    ],
)  # fmt: skip
def test_domains_are_found_by_their_names_in_any_form(folder: Path, question: str, category: str) -> None:
    made = opened(REPRODUCTION, folder, (), DOMAINS)
    assert made._human(question) == category


DOMAINS = {
    "domain": [
        {"domain": name, "label": name.replace("_", " ").capitalize(), "human_category": category}
        for name, category in (("house_numbers", "LH"), ("religions", "LL"), ("common_foods", "HH"))
    ]
}
