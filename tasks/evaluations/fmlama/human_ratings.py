"""People's ratings of predicted ingredients, and how far they agree with each other and with the judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import polars as pl
from scipy.stats import rankdata

from tasks.judging.ratings import RatingsError, read_lines
from tasks.judging.rubric import normal
from tasks.metrics.agreement import fleiss_kappa
from tasks.metrics.correlation import pearson

__all__ = ["COLUMNS", "VERDICTS", "AgreementRow", "RatingsError", "agreement", "read_ratings"]

COLUMNS = ("dish", "origin", "prediction", "annotator", "verdict")
VERDICTS = ("Correct", "Maybe", "Incorrect")

# What a cell of the column "verdict" may say, compared under `normal`.
_SPELLINGS = {normal(v): v for v in VERDICTS} | {"1": "Correct", "0": "Incorrect"}

_KEY = pl.col("prediction").map_elements(normal, return_dtype=pl.String).alias("key")

# Two points always correlate perfectly, and two items say nothing about raters.
_MIN_POINTS = 3


@dataclass(frozen=True)
class AgreementRow:
    """One number on people and judge, or the reason why there is none.

    Attributes:
        metric: see ``agreement``.
        slice_kind, slice: "origin" and its name, or "all" and "all".
        n: how many things the value rests on (predictions, dishes or origins, by metric).
        n_dropped: how many of these were rated by people but could not be used.
    """

    metric: str
    slice_kind: str
    slice: str
    value: float | None
    unscored_reason: str | None
    n: int
    n_dropped: int


def read_ratings(path: Path) -> pl.DataFrame:
    """Read ratings from a CSV file with a header, UTF-8, one rating per line; further columns are ignored.

    Columns: dish (its url), origin, prediction, annotator, verdict (Correct, Maybe, Incorrect, or 1 and 0).

    Returns:
        frame of these columns as text, verdicts in the spelling of ``VERDICTS``, in the file's order.

    Raises:
        RatingsError: not readable, a column is missing, a cell is empty or off the menu, an annotator rated
            a prediction twice, or a dish has two origins.
    """
    rows = list(_rows(path))
    if not rows:
        raise RatingsError(f"{path}: no ratings below the header")
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String))


def agreement(ratings: pl.DataFrame, judged: pl.DataFrame) -> list[AgreementRow]:
    """How far people agree with each other, and the judge with them (Zhou et al. 2025, section 5.3, table 3).

    Args:
        ratings: as ``read_ratings`` gives them.
        judged: columns dish, prediction, value (the judge's verdict as 0 to 1, null where unscored).

    Returns:
        For each origin: ``fleiss_kappa`` over the three verdicts (n: predictions), ``mes_human`` and
        ``mes_judge`` (n: dishes). Over all: ``pearson_origins``, ``spearman_origins``, ``pearson_dishes``
        and ``spearman_dishes``, the correlation of the judge's and people's MES over origins or dishes.

    MES of both sides is taken over the predictions that have a verdict of the judge and a rating of at least
    one person. A prediction's human value is the mean over its annotators of 1 for Correct, else 0; where
    each annotator rated everything, MES of that is the paper's mean of the annotators' MES.
    """
    missing = {"dish", "prediction", "value"} - set(judged.columns)
    if missing:
        raise ValueError(f"the judged frame lacks the columns {sorted(missing)}; it has {judged.columns}")
    ratings = ratings.with_columns(_KEY)
    dishes = _dish_scores(ratings, judged)
    rows: list[AgreementRow] = []
    for group in ratings.sort("origin").partition_by("origin", maintain_order=True):
        origin = group["origin"][0]
        rows.append(_kappa(origin, group))
        rows += _mes(origin, group["dish"].n_unique(), dishes.filter(pl.col("origin") == origin))
    origins = dishes.group_by("origin", maintain_order=True).agg(pl.col("human", "judge").mean())
    rows += _correlations("origins", origins, ratings["origin"].n_unique())
    rows += _correlations("dishes", dishes, ratings["dish"].n_unique())
    return rows


def _rows(path: Path) -> Iterator[dict[str, str]]:
    """The file's ratings, one by one, checked."""
    lines: dict[tuple[str, str, str], int] = {}
    origins: dict[str, tuple[str, int]] = {}
    for line, cells in read_lines(path, COLUMNS):
        row = _checked(f"{path}, line {line}", cells)
        first = lines.setdefault((row["dish"], row["prediction"], row["annotator"]), line)
        if first != line:
            raise RatingsError(
                f"{path}, line {line}, column prediction: {row['annotator']!r} rated {row['prediction']!r} "
                f"of this dish on line {first} already: keep one of the two"
            )
        origin, known = origins.setdefault(row["dish"], (row["origin"], line))
        if origin != row["origin"]:
            raise RatingsError(
                f"{path}, line {line}, column origin: {row['origin']!r}, but line {known} says that "
                f"{row['dish']} is from {origin!r}: a dish counts for one origin"
            )
        yield row


def _checked(where: str, cells: Mapping[str, str]) -> dict[str, str]:
    """One line's cells without outer space, the verdict in our spelling."""
    row = {column: cell.strip() for column, cell in cells.items()}
    for column, cell in row.items():
        if not cell:
            raise RatingsError(f"{where}, column {column}: the cell is empty")
    if normal(row["verdict"]) not in _SPELLINGS:
        raise RatingsError(
            f"{where}, column verdict: {row['verdict']!r} is not one of {', '.join(VERDICTS)}, 1 or 0"
        )
    return row | {"verdict": _SPELLINGS[normal(row["verdict"])]}


def _dish_scores(ratings: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """Columns origin, dish, human, judge: each side's score of a dish, over the predictions both marked."""
    human = ratings.group_by("origin", "dish", "key").agg(human=(pl.col("verdict") == "Correct").mean())
    judge = (
        judged.drop_nulls("value").select("dish", _KEY, judge="value").unique(["dish", "key"], keep="first")
    )
    both = human.join(judge, on=["dish", "key"])
    return both.group_by("origin", "dish").agg(pl.col("human", "judge").mean()).sort("origin", "dish")


def _kappa(origin: str, ratings: pl.DataFrame) -> AgreementRow:
    """Fleiss' kappa over the predictions with the origin's usual number of raters; if tied, the larger."""
    verdicts = [(pl.col("verdict") == verdict).sum().alias(verdict) for verdict in VERDICTS]
    counts = ratings.group_by("dish", "key").agg(verdicts).drop("dish", "key").to_numpy()
    raters = counts.sum(axis=1)
    usual = max(set(raters.tolist()), key=lambda n: ((raters == n).sum(), n))
    counts = counts[raters == usual]
    value, reason = None, None
    if usual < 2:
        reason = "predictions have one rater each, two are needed"
    elif len(counts) < _MIN_POINTS:
        reason = f"{len(counts)} predictions, {_MIN_POINTS} are needed"
    else:
        value = fleiss_kappa(counts)
        reason = "all ratings are the same verdict" if value is None else None
    return AgreementRow(
        "fleiss_kappa", "origin", origin, value, reason, len(counts), int((raters != usual).sum())
    )


def _mes(origin: str, n_rated: int, dishes: pl.DataFrame) -> list[AgreementRow]:
    """People's and the judge's MES of one origin, over the same predictions."""
    n = len(dishes)
    reason = None if n else "the judge gave no verdict on what people rated"
    return [
        AgreementRow(
            f"mes_{side}", "origin", origin, fmean(dishes[side]) if n else None, reason, n, n_rated - n
        )
        for side in ("human", "judge")
    ]


def _correlations(points: str, scores: pl.DataFrame, n_rated: int) -> list[AgreementRow]:
    """Pearson's r and Spearman's rho between the columns human and judge."""
    n = len(scores)
    # Means of the same marks, added up in another order, must tie.
    human, judge = scores["human"].to_numpy().round(12), scores["judge"].to_numpy().round(12)
    rows = []
    for method, pair in (("pearson", (human, judge)), ("spearman", (rankdata(human), rankdata(judge)))):
        value = pearson(*pair) if n >= _MIN_POINTS else None
        reason = None
        if n < _MIN_POINTS:
            reason = f"{n} {points}, {_MIN_POINTS} are needed"
        elif value is None:
            reason = "people's or the judge's scores do not vary"
        rows.append(AgreementRow(f"{method}_{points}", "all", "all", value, reason, n, n_rated - n))
    return rows
