"""Ratings from CSV files: what is read, and how a wrong cell is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tasks.judging.audit import RatingsError, read_ratings

HEADER = "item,annotator,dimension,rating\n"
LINE = "a1,ana,coverage,yes\n"


def write(tmp_path: Path, text: str, name: str = "ratings.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_spellings_column_order_and_further_columns(tmp_path: Path) -> None:
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


def test_words_of_a_rubric(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + "a1,ana,coverage,partly\na1,ben,coverage,0.5\n")
    ratings = read_ratings([path], {"coverage": {"Fully": 1.0, "Partly": 0.5}})[0]
    assert [(r.rating, r.written) for r in ratings] == [(0.5, "partly"), (0.5, "0.5")]
    with pytest.raises(RatingsError, match="'partly' is neither"):
        read_ratings([path], {"beauty": {"Partly": 0.5}})
    with pytest.raises(RatingsError, match="'partly' is neither a number nor one of yes, no"):
        read_ratings([path])


def test_a_file_for_each_annotator(tmp_path: Path) -> None:
    ana = write(tmp_path, HEADER + LINE, "ana.csv")
    ben = write(tmp_path, HEADER + "a1,ben,coverage,no\n", "ben.csv")
    assert [r.annotator for r in read_ratings([ana, ben])[0]] == ["ana", "ben"]
    with pytest.raises(RatingsError, match=r"again\.csv, line 2, column item: .* at .*ana\.csv, line 2 al"):
        read_ratings([ana, write(tmp_path, HEADER + LINE, "again.csv")])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"line 1: the header lacks \['annotator'"),
        ("item;annotator;dimension;rating\n", "line 1: the header lacks .*it is .*item;annotator"),
        (HEADER, r"no ratings in .*ratings\.csv: fill in the column rating"),
        (HEADER + "a1,ana,coverage,\n", "no ratings in "),
        (HEADER + LINE + "a2,ana,coverage,perhaps\n", "line 3, column rating: 'perhaps' is neither a number"),
        (HEADER + 'a1,ana,coverage,"0,5"\n', "line 2, column rating: '0,5' is neither a number"),
        (
            HEADER + "a1,ana,coverage,4\n",
            "column rating: .*4.* is not between 0 and 1: bring the scale",
        ),
        (HEADER + "a1,ana,coverage,-0.5\n", "line 2, column rating: .*-0.5.* is not between 0 and 1"),
        (HEADER + "a1,ana,coverage,nan\n", "line 2, column rating: .*nan.* is not between 0 and 1"),
        (HEADER + " ,ana,coverage,1\n", "line 2, column item: the cell is empty"),
        (HEADER + "a1, ,coverage,1\n", "line 2, column annotator: the cell is empty"),
        (HEADER + "a1,,,2\n", "column annotator: .*column dimension: .*column rating: "),
        (HEADER + "a1,ana,coverage,1,5\n", "line 2: more cells than the header"),
        (
            HEADER + LINE + "a1,ANA,Coverage ,no\n",
            "line 3, column item: 'ana' rated coverage of .* line 2 already",
        ),
        (HEADER + 'a1,"ana"x,coverage,1\n', "line 2: not CSV"),
        (HEADER + '\n\n"a\n1",ana,coverage,x\n', "line 5, column rating: 'x'"),
    ],
)
def test_a_wrong_file_is_named_with_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(RatingsError, match=message) as caught:
        read_ratings([path])
    assert re.search(re.escape(str(path)), str(caught.value))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(RatingsError, match=r"no readable ratings at .*none\.csv: No such file"):
        read_ratings([tmp_path / "none.csv"])
    (tmp_path / "latin.csv").write_bytes((HEADER + "a1,josé,coverage,1\n").encode("latin-1"))
    with pytest.raises(RatingsError, match=r"latin\.csv: not UTF-8"):
        read_ratings([tmp_path / "latin.csv"])
    with pytest.raises(RatingsError, match="no ratings in no file"):
        read_ratings([])
