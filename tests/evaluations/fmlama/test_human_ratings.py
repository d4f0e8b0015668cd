"""Ratings from a CSV file, and agreement by hand and against scipy and statsmodels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import pearsonr, spearmanr
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_kappa  # type: ignore[import-untyped]

from tasks.evaluations.fmlama.human_ratings import (
    VERDICTS,
    AgreementRow,
    RatingsError,
    agreement,
    read_ratings,
)
from tasks.evaluations.fmlama.judge import MES_RUBRIC
from tasks.judging.rubric import load_rubric

HEADER = "dish,origin,prediction,annotator,verdict\n"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "ratings.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_verdicts_are_the_rubrics() -> None:
    assert tuple(load_rubric(MES_RUBRIC).verdicts) == VERDICTS


def test_spellings_column_order_and_further_columns(tmp_path: Path) -> None:
    text = (
        "\ufeffannotator,verdict,minutes,prediction,dish,origin\r\n"
        'ana, correct ,3,"rice, white",Q1,Italy\r\n'
        "ana,1,,salt,Q1,Italy\r\n\r\n"
        "ana,0,,soil,Q1,Italy\r\n"
        "ben,MAYBE,,soil,Q1,Italy\r\n"
    )
    assert read_ratings(write(tmp_path, text)).to_dicts() == [
        {"dish": "Q1", "origin": "Italy", "prediction": p, "annotator": a, "verdict": v}
        for p, a, v in [
            ("rice, white", "ana", "Correct"),
            ("salt", "ana", "Correct"),
            ("soil", "ana", "Incorrect"),
            ("soil", "ben", "Maybe"),
        ]
    ]


LINE = "Q1,Italy,salt,ana,Correct\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"line 1: the header lacks \['annotator'"),
        ("dish;origin;prediction;annotator;verdict\n", "line 1: the header lacks .*it is .*dish;origin"),
        (HEADER, "no ratings below the header"),
        (
            HEADER + LINE + "Q1,Italy,rice,ana,Perhaps\n",
            "line 3, column verdict: 'Perhaps' is not one of Correct",
        ),
        (HEADER + LINE + "Q1,Italy,rice,ana,2\n", "line 3, column verdict: '2'"),
        (HEADER + "Q1,Italy, ,ana,1\n", "line 2, column prediction: the cell is empty"),
        (HEADER + "Q1,Italy,salt,ana\n", "line 2, column verdict: the cell is empty"),
        (HEADER + "Q1,Italy,salt,sea,ana,1\n", "line 2: more cells than the header"),
        (HEADER + LINE + LINE, "line 3, column prediction: 'ana' rated 'salt' .* on line 2 already"),
        (HEADER + LINE + "Q1,Spain,salt,ben,1\n", "line 3, column origin: 'Spain', but line 2 .* 'Italy'"),
        (HEADER + 'Q1,Italy,"salt"x,ana,1\n', "line 2: not CSV"),
        (HEADER + '\n\nQ1,Italy,"sa\nlt",ana,x\n', "line 5, column verdict: 'x'"),
    ],
)
def test_a_wrong_file_is_named_with_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(RatingsError, match=rf"^{path}.*{message}"):
        read_ratings(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(RatingsError, match=r"no readable ratings at .*: No such file"):
        read_ratings(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes(HEADER.encode() + "Q1,Italy,purée,ana,1\n".encode("latin-1"))
    with pytest.raises(RatingsError, match="not UTF-8"):
        read_ratings(tmp_path / "latin.csv")


def frame(ratings: dict[tuple[str, str, str], str]) -> pl.DataFrame:
    """{(origin, dish, prediction): "CMI"} -> ratings, one letter an annotator."""
    letters = {v[0]: v for v in VERDICTS}
    rows = [
        {"dish": d, "origin": o, "prediction": p, "annotator": f"a{i}", "verdict": letters[letter]}
        for (o, d, p), given in ratings.items()
        for i, letter in enumerate(given)
    ]
    return pl.DataFrame(rows)


def judge(values: Mapping[tuple[str, str], float | None]) -> pl.DataFrame:
    rows = [{"dish": d, "prediction": p, "value": v} for (d, p), v in values.items()]
    return pl.DataFrame(rows, schema={"dish": pl.String, "prediction": pl.String, "value": pl.Float64})


def rows(ratings: pl.DataFrame, judged: pl.DataFrame) -> dict[tuple[str, str], AgreementRow]:
    return {(r.metric, r.slice): r for r in agreement(ratings, judged)}


def test_agreement_by_hand() -> None:
    ratings = frame(
        {
            ("Italy", "Q1", "salt"): "CCC",
            ("Italy", "Q1", "rice"): "CCI",
            ("Italy", "Q2", "soil"): "III",
            ("Italy", "Q2", "saffron"): "MI",  # two raters only: not in kappa, but in MES
            ("Spain", "Q3", "oil"): "CMI",
            ("Spain", "Q3", "wine"): "CCC",
        }
    )
    judged = judge(
        {
            ("Q1", "SALT "): 1.0, ("Q1", "rice"): 0.0, ("Q2", "soil"): 0.0, ("Q2", "saffron"): 0.0,
            ("Q3", "oil"): None, ("Q3", "wine"): 1.0, ("Q3", "not rated"): 0.0,
        }
    )  # fmt: skip
    found = rows(ratings, judged)
    # Italy: agreeing pairs 1, 1/3, 1, mean 7/9. C 5/9, I 4/9: by chance 25/81 + 16/81 = 41/81.
    # kappa = (63/81 - 41/81) / (40/81) = 22/40.
    kappa = found["fleiss_kappa", "Italy"]
    assert kappa.value == pytest.approx(0.55, abs=1e-12)
    assert (kappa.slice_kind, kappa.n, kappa.n_dropped) == ("origin", 3, 1)
    # Spain has two predictions.
    assert found["fleiss_kappa", "Spain"].value is None
    assert found["fleiss_kappa", "Spain"].unscored_reason == "2 predictions, 3 are needed"
    # People: Q1 (1 + 2/3)/2 = 5/6, Q2 0; Italy 5/12. Judge: Q1 1/2, Q2 0; Italy 1/4.
    assert found["mes_human", "Italy"].value == pytest.approx(5 / 12, abs=1e-12)
    assert found["mes_judge", "Italy"].value == pytest.approx(1 / 4, abs=1e-12)
    # Oil has no verdict of the judge, so both sides leave it out.
    assert (found["mes_human", "Spain"].value, found["mes_judge", "Spain"].value) == (1.0, 1.0)
    assert found["mes_human", "Italy"].n == 2
    # Two origins correlate trivially; three dishes: people 5/6, 0, 1, judge 1/2, 0, 1.
    for metric in ("pearson_origins", "spearman_origins"):
        assert found[metric, "all"].value is None
        assert found[metric, "all"].unscored_reason == "2 origins, 3 are needed"
    # Pearson: deviations (4, -11, 7)/18 and (0, -1/2, 1/2): (11 + 7)/36 / sqrt(186/324 * 1/2) = 0.9335
    assert found["pearson_dishes", "all"].value == pytest.approx(0.5 / np.sqrt(186 / 648), abs=1e-12)
    assert found["spearman_dishes", "all"].value == pytest.approx(1.0, abs=1e-12)
    assert found["spearman_dishes", "all"].n == 3


def test_the_order_of_rows_does_not_matter_and_other_code_agrees() -> None:
    rng = np.random.default_rng(3)
    given = {
        (f"O{d % 5}", f"Q{d}", f"p{p}"): "".join(
            rng.choice(list("CMI"), 3, p=[0.2 + d / 50, 0.2, 0.6 - d / 50])
        )
        for d in range(30)
        for p in range(4)
    }
    values = {(d, p): float(rng.random() < 0.2 + int(d[1:]) / 40) for _, d, p in given}
    ratings, judged = frame(given), judge(values)
    found = rows(ratings, judged)
    assert rows(ratings.sample(fraction=1, shuffle=True, seed=1), judged.reverse()) == {
        key: AgreementRow(**{**vars(row), "value": pytest.approx(row.value, abs=1e-9)})
        for key, row in found.items()
    }
    human = [
        np.mean([[c == "C" for c in g] for (_, d, _), g in given.items() if d == f"Q{i}"]) for i in range(30)
    ]
    machine = [np.mean([v for (d, _), v in values.items() if d == f"Q{i}"]) for i in range(30)]
    assert found["pearson_dishes", "all"].value == pytest.approx(pearsonr(human, machine)[0], abs=1e-9)
    rho = spearmanr(np.round(human, 12), machine)[0]
    assert found["spearman_dishes", "all"].value == pytest.approx(rho, abs=1e-9)
    means = [[np.mean(side[o::5]) for o in range(5)] for side in (human, machine)]
    assert found["pearson_origins", "all"].value == pytest.approx(pearsonr(*means)[0], abs=1e-9)
    for o in range(5):
        counts = [[g.count(c) for c in "CMI"] for (origin, _, _), g in given.items() if origin == f"O{o}"]
        assert found["fleiss_kappa", f"O{o}"].value == pytest.approx(statsmodels_kappa(counts), abs=1e-9)
        assert found["fleiss_kappa", f"O{o}"].n == 24


def test_what_cannot_be_scored_says_why() -> None:
    ratings = frame({("Italy", f"Q{i}", "salt"): "C" for i in range(4)})
    found = rows(ratings, judge({(f"Q{i}", "salt"): 1.0 for i in range(4)}))
    assert found["fleiss_kappa", "Italy"].unscored_reason == "predictions have one rater each, two are needed"
    assert found["pearson_dishes", "all"].unscored_reason == "people's or the judge's scores do not vary"
    ratings = frame({("Italy", f"Q{i}", "salt"): "CC" for i in range(4)})
    found = rows(ratings, judge({("Q0", "salt"): None}))
    assert found["fleiss_kappa", "Italy"].unscored_reason == "all ratings are the same verdict"
    assert found["mes_judge", "Italy"].unscored_reason == "the judge gave no verdict on what people rated"
    dishes = found["pearson_dishes", "all"]
    assert (dishes.unscored_reason, dishes.n, dishes.n_dropped) == ("0 dishes, 3 are needed", 0, 4)
    assert all((row.value is None) == (row.unscored_reason is not None) for row in found.values())


def test_a_judged_frame_without_values_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"lacks the columns \['value'\]"):
        agreement(
            frame({("Italy", "Q1", "salt"): "C"}), pl.DataFrame({"dish": ["Q1"], "prediction": ["salt"]})
        )
