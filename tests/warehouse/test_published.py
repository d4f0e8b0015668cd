"""Published tables as rows: their counts, cells by hand, their arithmetic, and the numbers beside ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from warehouse import Warehouse

ROWS = {
    ("spectral", "Table 1"): 27, ("spectral", "Table 3"): 8, ("spectral", "Table 4"): 8,
    ("explication", "5.1 Setup"): 9, ("explication", "5.2 Instruction Following vs. Explication"): 3,
    ("explication", "5.2 Results"): 1, ("explication", "5.2 Human Validation"): 9,
    ("cure", "Table 1"): 8, ("cure", "Table 2"): 14,
    ("cure", "Thin vs. Thick Culture Evaluation"): 5, ("cure", "Thick Culture Reasoning Metrics"): 16,
    ("cure", "LLM-as-a-Judge Validation"): 20, ("cure", "Conclusion"): 2,
    ("fmlama", "Table 1(a)"): 309, ("fmlama", "Table 1(b)"): 263, ("fmlama", "Table 2"): 16,
    ("fmlama", "Table 3"): 29, ("fmlama", "Table 5"): 5, ("fmlama", "Table 7"): 44,
    ("fmlama", "Table 8"): 263,
    ("fmlama", "Table 9(a)"): 225, ("fmlama", "Table 9(b)"): 195, ("fmlama", "Table 10"): 225,
    ("fmlama", "Table 11(a)"): 195, ("fmlama", "Table 11(b)"): 165, ("fmlama", "Table 12"): 255,
    ("fmlama", "Table 13(a)"): 225, ("fmlama", "Table 13(b)"): 195, ("fmlama", "Table 14"): 22,
    ("worldwise", "4.1 Summary Scores (0–10 scale)"): 10,
    ("worldwise", "4.2 Mean Dimension Alignment Across All Cultures"): 12,
    ("worldwise", "4.2 Dimension Performance by Culture"): 30,
    ("worldwise", "4.3 Overall Accuracy Summary"): 4, ("worldwise", "4.3 Accuracy by Dimension"): 12,
    ("worldwise", "4.3 Accuracy by Culture"): 15, ("worldwise", "4.3 Accuracy by Model"): 4,
    ("worldwise", "4.4 Baseline Distance Rankings"): 5, ("worldwise", "4.4 Value Distribution Analysis"): 5,
    ("worldwise", "4.5 Shift Magnitude Rankings"): 5, ("worldwise", "4.6 Overall Performance"): 12,
    ("worldwise", "4.7 Hardest Scenarios (Lowest Alignment)"): 5,
    ("worldwise", "4.7 Easiest Scenarios (Highest Alignment)"): 5,
    ("worldwise", "4.7 Category Performance"): 4, ("worldwise", "4.9 Top 3 Values by Culture"): 18,
    ("worldwise", "4.8 Model Comparison (ANOVA)"): 2, ("worldwise", "4.8 Culture Comparison (ANOVA)"): 2,
    ("worldwise", "4.8 Pairwise Model Comparisons"): 2,
    ("worldwise", "7.4 Country Profiles (Bucketed normalized [-2, +2] scale)"): 30,
    ("culturall", "Table 2"): 60, ("culturall", "Section 2.4.3 Quality Control"): 3,
    ("culturall", "Section 2.5 Statistics"): 7,
    ("culturall", "Section 4.4 English vs. In-Language Prompts"): 2,
}  # fmt: skip

# paper, beginning of the table, model, end of the condition, metric, printed, value
CELLS = [
    ("spectral", "Table 1", None, "Common foods", "# Items", ">3700", None),
    ("spectral", "Table 4", "Llama-3.1-70B-it", None, "Correlation", "-0.64", -0.64),
    ("cure", "Table 1", None, "SpecNorm", "Countries", "145", 145.0),
    ("cure", "Table 1", None, "CultureBank", "Countries", "120+", None),
    ("cure", "Table 2", None, "Marital Status", "%", "5.9", 5.9),
    ("fmlama", "Table 1(a)", "Llama3", "Italy", "mAP (%)", "29.62", 29.62),
    ("fmlama", "Table 1(a)", "mT5", None, "Coefficient of Variation (CV)", "54.29", 54.29),
    ("fmlama", "Table 7", None, "Iran", "Time(m)", "13,33", 13.33),
    ("fmlama", "Table 8", "Llama3", None, "Corr.", "0.96", 0.96),
    ("worldwise", "4.1", None, "Mexico", "Alignment", "5.42", 5.42),
    ("worldwise", "4.3 Accuracy by Dimension", None, "(Indulgence)", "Bias (Signed Mean)", "+0.195", 0.195),
    ("worldwise", "4.5", None, "UAE", "TVD (%)", "41.39", 41.39),
    ("worldwise", "4.8 Pairwise", None, None, "largest Cohen's d", "<0.06", None),
    ("cure", "LLM-as-a-Judge", None, "Binary Correctness", "kappa of judge and people", "0.79", 0.79),
    ("worldwise", "4.6", "Gemini 2.0 Flash", None, "Stereotype Score", "6.77", 6.77),
    ("culturall", "Table 2", "gemini-2.5-pro", "id=1; open=No; reasoning=auto; web=Yes; subset=hard",
     "Accuracy (%)", "18.47", 18.47),
]  # fmt: skip


# Numbers in prose from a second reading, in reading order; paper, beginning of the table's name
IN_PROSE = {
    ("cure", "Thin"): "0.74 0.67 38 55 <0.005",
    ("cure", "Thick"): "0.40 0.55 0.39 0.58 0.54 0.79 0.30 0.81 0.55 0.54 0.81 0.71 0.71 0.30 0.78 0.79",
    ("cure", "LLM"): "0.79 0.65 0.82 0.81 0.79 0.65 0.79 0.72 0.81 400 100 3 78 19.5 32 38 24 28 0.75 0.81",
    ("cure", "Conclusion"): "75 82",
    ("culturall", "Section 2.4.3"): "75.0 8.1 16.9",
    ("culturall", "Section 2.5"): "2610 470 18.01 700 26.82 1440 55.17",
    ("culturall", "Section 4.4"): "36.40 8.08",
}


@pytest.fixture(scope="module")
def published(blank: Path) -> Warehouse:
    """A warehouse with the reference data; tests only read it."""
    return Warehouse.open(blank)


def test_every_table_has_its_number_of_rows_and_no_cell_twice(published: Warehouse) -> None:
    counts = published.query("SELECT paper, table_name, count(*) FROM published_result GROUP BY ALL").rows()
    assert {(paper, table): n for paper, table, n in counts} == ROWS
    assert sum(ROWS.values()) == 2872 + 6 + 43 + 72 + 22
    twice = """SELECT paper, table_name, model, condition, metric FROM published_result
    GROUP BY ALL HAVING count(*) > 1"""
    assert published.query(twice).is_empty()


def test_cells_are_as_printed(published: Warehouse) -> None:
    sql = """SELECT printed, value FROM published_result WHERE paper = ? AND starts_with(table_name, ?)
    AND model IS NOT DISTINCT FROM ? AND ends_with(coalesce(condition, ''), coalesce(?, '')) AND metric = ?
    AND (? IS NOT NULL OR condition IS NULL)"""
    for cell in CELLS:
        assert published.query(sql, [*cell[:5], cell[3]]).rows() == [cell[5:]], cell


def test_numbers_in_prose_equal_a_second_reading(published: Warehouse) -> None:
    sql = """SELECT printed FROM published_result WHERE paper = ? AND starts_with(table_name, ?)
    ORDER BY rowid"""
    for place, numbers in IN_PROSE.items():
        assert " ".join(published.query(sql, [*place])["printed"]) == numbers, place


def test_numbers_in_prose_agree_with_each_other(published: Warehouse) -> None:
    sql = "SELECT condition, metric, value FROM published_result WHERE table_name = ?"
    of = {(c, m): v for c, m, v in published.query(sql, ["Section 2.5 Statistics"]).rows()}
    for subset in ("easy", "medium", "hard"):
        share = 100 * of[f"subset={subset}", "Items"] / 2610
        assert round(share, 2) == of[f"subset={subset}", "Items (%)"]
    assert round(44.48 - 36.40, 2) == 8.08  # Table 2, setting 1
    assert pytest.approx(100) == 75.0 + 8.1 + 16.9
    assert round(100 * 78 / 400, 1) == 19.5


def test_values_equal_their_printed_text(published: Warehouse) -> None:
    odd = """SELECT DISTINCT printed FROM published_result
    WHERE try_cast(printed AS DOUBLE) IS DISTINCT FROM value"""
    assert sorted(published.query(odd)["printed"]) == ["13,33"]
    assert published.query("SELECT count(*) FROM published_result WHERE value IS NULL").item() == 9 + 3
    assert published.query("SELECT count(page) FROM published_result").item() == 0  # no source shows pages


def test_accuracies_of_culturall_agree_with_the_sizes_of_its_subsets(published: Warehouse) -> None:
    sizes = {"easy": 470, "medium": 700, "hard": 1440, "all": 2610}
    sql = "SELECT condition, value FROM published_result WHERE paper = 'culturall' AND table_name = 'Table 2'"
    settings: dict[str, dict[str, int]] = {}
    for condition, value in published.query(sql).rows():
        setting, subset = condition.rsplit("; subset=", 1)
        right = round(value * sizes[subset] / 100)
        assert round(100 * right / sizes[subset], 2) == value, condition
        settings.setdefault(setting, {})[subset] = right
    assert len(settings) == 15
    for setting, right in settings.items():
        assert right["easy"] + right["medium"] + right["hard"] == right["all"], setting
    # 10 to 14 of 15 settings solve easy items, 5 to 9 medium ones, at most 4 hard ones.
    for subset, (low, high) in {"easy": (10, 14), "medium": (5, 9), "hard": (0, 4)}.items():
        assert low <= sum(right[subset] for right in settings.values()) / sizes[subset] <= high


def test_means_of_rows_equal_the_printed_means_except_in_the_noted_table(published: Warehouse) -> None:
    sql = """SELECT table_name, bool_or(note IS NOT NULL AND model = 'Avg.') AS noted,
        max(abs(mean - printed)) > 0.006 AS differs
    FROM (SELECT *, avg(value) FILTER (model NOT IN ('Avg.', 'Average', 'Dumb Base')) OVER row AS mean,
            any_value(value) FILTER (model IN ('Avg.', 'Average')) OVER row AS printed
        FROM (SELECT * EXCLUDE printed FROM published_result)
        WHERE paper = 'fmlama' AND metric IN ('mAP (%)', 'mWS')
        WINDOW row AS (PARTITION BY table_name, condition))
    GROUP BY table_name"""
    rows = published.query(sql).rows()
    assert len(rows) == 11
    assert {table for table, noted, _ in rows if noted} == {"Table 9(a)"}
    assert {table for table, _, differs in rows if differs} == {"Table 9(a)"}


def test_published_numbers_beside_ours_exist_and_have_a_metric_here(published: Warehouse) -> None:
    unknown = "SELECT * FROM published_metric ANTI JOIN metric USING (evaluation, metric)"
    assert published.query(unknown).is_empty()
    idle = """SELECT * FROM published_metric AS k ANTI JOIN leaderboard_published AS p
    ON (p.paper, p.table_name, p.published_metric, p.metric) = (k.paper, k.table_name, k.published, k.metric)
    AND regexp_full_match(coalesce(p.condition, ''), coalesce(k.condition, ''))"""
    assert published.query(idle).is_empty()
    beside = """SELECT slice_kind, slice, value, definition FROM leaderboard_published WHERE metric = ?
    AND model = ? AND condition = ? AND table_name = ?"""
    italy = published.query(beside, ["map", "Llama3", "origin=Italy", "Table 1(a)"]).rows()
    assert italy == [("condition_origin", "en:en:no:Italy", pytest.approx(0.2962), "equal")]
    everything = published.query(beside, ["mws", "Llama3", "origin=ALL", "Table 8"]).rows()
    assert [row[:2] + row[3:] for row in everything] == [("condition", "en:en:no", "near")]
    origins = "SELECT DISTINCT slice FROM leaderboard_published WHERE slice_kind = 'condition_origin'"
    groups = published.query("SELECT DISTINCT origin_group FROM origin_group")["origin_group"]
    assert {slice.split(":")[3] for slice in published.query(origins)["slice"]} == set(groups)
