"""The sample that people rate, the file for annotators, and the ratings read from it."""

from __future__ import annotations

import csv
import random
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.judging.audit import (
    AUDIT_COLUMNS,
    JudgedAnswer,
    RatingsError,
    annotation_rows,
    criteria,
    read_ratings,
    stratified_sample,
)
from tasks.judging.rubric import Rubric

CRITERIA = {"x": "Does it state the norm?", "y": "Is the label right?", "z": "Is it short?"}


def answers(sizes: dict[tuple[str, str], int]) -> list[JudgedAnswer]:
    return [
        JudgedAnswer(model, dimension, f"q{number}", f"g{number % 3}", f"question {number}", "an answer")
        for (model, dimension), size in sizes.items()
        for number in range(size)
    ]


def spread(sample: list[JudgedAnswer]) -> Counter[tuple[str, str]]:
    return Counter((answer.model, answer.dimension) for answer in sample)


sizes = st.dictionaries(
    st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), st.integers(1, 30), min_size=1
)


def test_a_sample_is_proportional_and_has_at_least_one_answer_of_each_pair() -> None:
    # One each; then by size / (2 * seats + 1): 60/3 = 20, 30/3 = 10, 9/3 = 3, 1/3 (full). The next six go to
    # 60/3, 60/5 = 12, 30/3 = 10, 60/7 = 8.6, 60/9 = 6.7 and 30/5 = 6.
    shares = {("a", "x"): 60, ("a", "y"): 30, ("b", "x"): 9, ("b", "y"): 1}
    sample = stratified_sample(answers(shares), 10, seed=0)
    assert spread(sample) == {("a", "x"): 5, ("a", "y"): 3, ("b", "x"): 1, ("b", "y"): 1}
    # The third seat goes to the larger of 24/7 = 3.43 and 10/3 = 3.33; proportional shares are 3.5 and 1.5.
    sample = stratified_sample(answers({("a", "x"): 24, ("b", "x"): 10}), 5, seed=0)
    assert spread(sample) == {("a", "x"): 4, ("b", "x"): 1}


@given(sizes, st.integers(0, 40), st.integers(0, 5), st.randoms(use_true_random=False))
def test_a_sample_does_not_depend_on_order_and_is_part_of_a_larger_one(
    shares: dict[tuple[str, str], int], more: int, seed: int, shuffler: random.Random
) -> None:
    every = answers(shares)
    n = len(shares) + more
    sample = stratified_sample(every, n, seed)
    assert len(sample) == min(n, len(every))
    assert set(spread(sample)) == set(shares)
    shuffled = list(every)
    shuffler.shuffle(shuffled)
    assert stratified_sample(shuffled, n, seed) == sample
    codes = {answer.code for answer in sample}
    assert codes <= {answer.code for answer in stratified_sample(every, n + 3, seed)}
    exact = {pair: n * size / len(every) for pair, size in shares.items()}
    if n < len(every) and min(exact.values()) > 1:
        assert all(abs(count - exact[pair]) < 2 for pair, count in spread(sample).items())


def test_another_seed_draws_another_sample_in_mixed_order() -> None:
    every = answers({("a", "x"): 200, ("b", "x"): 200})
    first, second = stratified_sample(every, 40, seed=0), stratified_sample(every, 40, seed=1)
    assert {a.code for a in first} != {a.code for a in second}
    models = [answer.model for answer in first]
    assert models != sorted(models)
    # Runs of one model: about half of 39 neighbours differ.
    assert 10 < sum(a != b for a, b in pairwise(models)) < 30


def test_within_a_pair_every_answer_has_the_same_chance() -> None:
    every = answers({("a", "x"): 10})
    drawn = Counter(a.item for seed in range(600) for a in stratified_sample(every, 3, seed))
    # 600 * 3 / 10 = 180 each, standard deviation at most sqrt(600 * 0.3 * 0.7) = 11.
    assert all(abs(count - 180) < 45 for count in drawn.values())
    assert len(drawn) == 10


@given(st.lists(st.integers(1, 12), min_size=1, max_size=4), st.integers(1, 40), st.integers(0, 5))
def test_within_a_pair_groups_are_in_proportion(sizes: list[int], n: int, seed: int) -> None:
    every = [
        JudgedAnswer("m", "x", f"q{i}", f"g{g}", "?", "!")
        for g, size in enumerate(sizes)
        for i in range(size)
    ]
    sample = Counter(answer.group for answer in stratified_sample(every, n, seed))
    share = min(n, len(every)) / len(every)
    # A group's answers are drawn at even distances from the group's start, so each number is near its share.
    assert all(abs(sample[f"g{g}"] - size * share) < 1 + len(sizes) for g, size in enumerate(sizes))


def test_a_sample_smaller_than_the_number_of_pairs_is_refused() -> None:
    every = answers({("a", "x"): 3, ("b", "x"): 3})
    with pytest.raises(ValueError, match=r"sample of 1 cannot .* 2 pairs .* ask for at least 2"):
        stratified_sample(every, 1, seed=0)
    with pytest.raises(ValueError, match="sample of 0"):
        stratified_sample([], 0, seed=0)
    assert stratified_sample([], 5, seed=0) == []


# --- the file


def test_an_answers_code_does_not_show_the_model() -> None:
    first = JudgedAnswer("gpt-4o", "x", "q1", "IN", "?", "yes")
    assert first.code == JudgedAnswer("gpt-4o", "x", "q1", "JP", "other", "yes").code
    others = [("gpt-4", "x", "q1"), ("gpt-4o", "y", "q1"), ("gpt-4o", "x", "q2")]
    codes = {JudgedAnswer(*key, "IN", "?", "yes").code for key in others}
    codes.add(JudgedAnswer("gpt-4o", "x", "q1", "IN", "?", "other words").code)
    assert len(codes | {first.code}) == 5
    assert all(code[0] == "a" and len(code) == 13 for code in codes)
    cells = " ".join(cell for row in annotation_rows([first], CRITERIA) for cell in row.values())
    assert "gpt" not in cells


def test_the_annotation_file_has_one_row_per_answer() -> None:
    sample = answers({("a", "x"): 2, ("a", "y"): 1})
    rows = annotation_rows(sample, CRITERIA)
    assert all(tuple(row) == AUDIT_COLUMNS for row in rows)
    expected = [(a.code, a.group, a.dimension, CRITERIA[a.dimension]) for a in sample]
    assert [(row["item"], row["group"], row["dimension"], row["criteria"]) for row in rows] == expected
    assert {(row["annotator"], row["rating"]) for row in rows} == {("", "")}


def test_criteria_are_the_rules_and_verdicts_of_the_rubric(rubric: Rubric) -> None:
    in_json = rubric.model_copy(update={"system": "Is it tasty?\n\nAnswer with one JSON object."})
    assert criteria(in_json) == "Is it tasty?\n\nRating: Good, Unsure, Bad, or a number from 0 to 1."


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2", "@SUM(A1)", "\t=1", "\r=1"])
def test_cells_that_a_spreadsheet_would_run_are_quoted(text: str) -> None:
    (row,) = annotation_rows([JudgedAnswer("a", "x", "q", text, text, text)], {"x": text})
    assert row["group"] == row["question"] == row["answer"] == row["criteria"] == "'" + text


def test_a_filled_in_file_is_read_back(tmp_path: Path) -> None:
    sample = [
        JudgedAnswer("a", dimension, "q", "IN", 'He said "no",\nthen left', "yes") for dimension in "xy"
    ]
    rows = annotation_rows(sample, CRITERIA)
    rows[0] |= {"annotator": "Ana", "rating": "Yes"}
    path = tmp_path / "ana.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, AUDIT_COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    ratings, n_empty = read_ratings([path])
    assert [tuple(r.model_dump().values()) for r in ratings] == [(sample[0].code, "ana", "x", 1.0, "yes")]
    assert n_empty == 1


HEADER = "item,annotator,dimension,rating\n"
LINE = "a1,ana,coverage,yes\n"


def write(tmp_path: Path, text: str, name: str = "ratings.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_ratings_are_read_in_any_spelling_and_column_order(tmp_path: Path) -> None:
    text = (
        "\ufeffrating,minutes,dimension,item,annotator\r\n"
        " YES ,3,Coverage,a1,Ana\r\n"
        '0.25,,coverage ,"a,2",ana\r\n\r\n'
        ",,coverage,a3,\r\n"
        "No,,coverage,a1,ben\r\n"
        "1,,specificity,a1,ana\r\n"
    )
    ratings, n_empty = read_ratings([write(tmp_path, text)])
    assert [(r.item, r.annotator, r.dimension, r.rating) for r in ratings] == [
        ("a1", "ana", "coverage", 1.0),
        ("a,2", "ana", "coverage", 0.25),
        ("a1", "ben", "coverage", 0.0),
        ("a1", "ana", "specificity", 1.0),
    ]
    assert n_empty == 1


def test_verdicts_of_a_rubric_are_read_as_ratings(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + "a1,ana,coverage,partly\na1,ben,coverage,0.5\n")
    ratings = read_ratings([path], {"coverage": {"Fully": 1.0, "Partly": 0.5}})[0]
    assert [(r.rating, r.written) for r in ratings] == [(0.5, "partly"), (0.5, "0.5")]
    with pytest.raises(RatingsError, match="'partly' is neither"):
        read_ratings([path], {"beauty": {"Partly": 0.5}})
    with pytest.raises(RatingsError, match="'partly' is neither a number nor one of yes, no"):
        read_ratings([path])


def test_ratings_of_several_files_are_joined_and_repeats_refused(tmp_path: Path) -> None:
    ana = write(tmp_path, HEADER + LINE, "ana.csv")
    ben = write(tmp_path, HEADER + "a1,ben,coverage,no\n", "ben.csv")
    assert [r.annotator for r in read_ratings([ana, ben])[0]] == ["ana", "ben"]
    with pytest.raises(
        RatingsError, match=r"again\.csv, line 2, column item: .* already at .*ana\.csv, line 2:"
    ):
        read_ratings([ana, write(tmp_path, HEADER + LINE, "again.csv")])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("item;annotator;rating\n", "line 1: the header lacks the columns dimension; it has item, annotator"),
        (HEADER, r"no ratings in .*ratings\.csv: fill in the column rating"),
        (HEADER + "a1,ana,coverage,\n", "no ratings in "),
        (HEADER + LINE + "a2,ana,coverage,perhaps\n", "line 3, column rating: 'perhaps' is neither a number"),
        (HEADER + 'a1,ana,coverage,"0,5"\n', "line 2, column rating: '0,5' is neither a number"),
        (HEADER + "a1,ana,coverage,4\n", "column rating: .*4.* is not between 0 and 1: bring the scale"),
        (HEADER + "a1,ana,coverage,-0.5\n", "line 2, column rating: .*-0.5.* is not between 0 and 1"),
        (HEADER + "a1,ana,coverage,nan\n", "line 2, column rating: .*nan.* is not between 0 and 1"),
        (HEADER + " ,ana,coverage,1\n", "line 2, column item: the cell is empty"),
        (HEADER + "a1, ,coverage,1\n", "line 2, column annotator: the cell is empty"),
        (HEADER + "a1,,,2\n", "column annotator: .*column dimension: .*column rating: "),
        (HEADER + "a1,ana,coverage,1,5\n", "line 2: 5 cells for 4 columns"),
        (HEADER + LINE + "a1,ANA,Coverage ,no\n", "line 3, column item: 'ana' rated coverage of .* line 2"),
        (HEADER + 'a1,"ana"x,coverage,1\n', "line 2: not a CSV file"),
        (HEADER + '\n\n"a\n1",ana,coverage,x\n', "line 4, column rating: 'x'"),
    ],
)
def test_a_wrong_file_is_refused_with_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(RatingsError, match=message) as caught:
        read_ratings([path])
    assert re.search(re.escape(str(path)), str(caught.value))


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RatingsError, match=r"none\.csv: cannot be read \(No such file"):
        read_ratings([tmp_path / "none.csv"])
    (tmp_path / "latin.csv").write_bytes((HEADER + "a1,josé,coverage,1\n").encode("latin-1"))
    with pytest.raises(RatingsError, match=r"latin\.csv, line 2: it is not UTF-8"):
        read_ratings([tmp_path / "latin.csv"])
    with pytest.raises(RatingsError, match="no ratings in no file"):
        read_ratings([])
