"""`culturemeter judge validate`: people's ratings compared with the judges' scores, and stored."""

from __future__ import annotations

import csv
import hashlib
import io
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from tests.deployments.commands import call, one_line, refused, table
from tests.deployments.judged_run import (
    ANA,
    BEN,
    GOLDEN,
    METRICS,
    STORED,
    JudgeSamples,
    audited,
    code,
    explanation,
    named,
    one_judge,
    rated,
    store,
)
from warehouse import Warehouse

ITEMS = named("normad", 6)


@pytest.fixture
def judged(warehouse: Warehouse) -> Warehouse:
    """A warehouse with the golden verdicts of one judge on six items."""
    store(warehouse, {"normad": one_judge(ITEMS)})
    return warehouse


@pytest.fixture
def ratings(judged: Warehouse) -> Path:
    """The golden ratings of Ana and Ben on the same items."""
    return rated(Path("ratings.csv"), ITEMS, {"Ana": ANA, "Ben": BEN})


def test_validation_numbers_equal_hand_sums_and_other_packages(judged: Warehouse, ratings: Path) -> None:
    rows = {row["metric"]: row for row in table("judge", "validate", ratings)}
    table_of_people = np.array([[1, 1, 0, 0, 0, 1], [1, 1, 0, 1, 0, np.nan]])
    for level in ("nominal", "ordinal", "interval"):
        expected = krippendorff.alpha(reliability_data=table_of_people, level_of_measurement=level)
        assert rows[f"krippendorff_alpha_{level}"]["value"] == pytest.approx(expected, abs=1e-9)
        assert rows[f"krippendorff_alpha_{level}"]["n"] == 5
    # People are tied on the fourth item. On the others they rate 1 1 0 0 1, the judge 1 1 0 0 0: 4/5 are
    # equal, by chance 3/5 * 2/5 + 2/5 * 3/5 = 12/25. Kappa (20 - 12) / (25 - 12).
    assert rows["cohen_kappa"]["value"] == pytest.approx(8 / 13)
    assert (rows["cohen_kappa"]["n"], rows["cohen_kappa"]["n_dropped"]) == (5, 1)
    means, values, grades = (1, 1, 0, 0.5, 0, 1), (1, 1, 0, 1, 0, 0), [graded for _, graded in GOLDEN]
    for suffix, scores in (("", values), ("_graded", grades)):
        assert rows[f"pearson{suffix}"]["value"] == pytest.approx(pearsonr(means, scores).statistic)
        assert rows[f"spearman{suffix}"]["value"] == pytest.approx(spearmanr(means, scores).statistic)
    # (0.1^2 + 0.2^2 + 0.1^2 + 0.2^2 + 0.6^2) / 5; and as every score has a bin of its own, 1.2 / 5.
    assert rows["brier"]["value"] == pytest.approx(0.46 / 5)
    assert rows["expected_calibration_error"]["value"] == pytest.approx(0.24)
    assert rows["expected_calibration_error"]["ci_low"] is None
    assert rows["brier"]["ci_low"] < 0.092 < rows["brier"]["ci_high"]
    stored = judged.query("SELECT * FROM judge_validation")
    assert {r["metric"]: (r["value"], r["ci_low"], r["n"]) for r in stored.to_dicts()} == {
        metric: (row["value"], row["ci_low"], row["n"]) for metric, row in rows.items()
    }
    (engine,) = set(stored["judge_hash"])
    assert engine == "hash of fake-b"
    (source,) = set(stored["source"])
    assert source == f"ratings.csv sha256:{hashlib.sha256(ratings.read_bytes()).hexdigest()}"
    identity = stored.select("judge", "rubric", "dimension").unique().rows()
    assert identity == [("fake-b", "coverage 0123456789abcdef", "coverage")]
    # The leaderboard's join.
    joined = "SELECT DISTINCT model FROM verdict SEMI JOIN judge_validation USING (judge, judge_hash, rubric)"
    assert judged.query(joined).rows() == [("m1",)]


def test_validation_prints_reliability_and_disagreements(ratings: Path) -> None:
    result = call("judge", "validate", ratings)
    for text in ("krippendorff_alpha_ordinal", "Reliability", "judge stricter", ITEMS[5]):
        assert text in result.stdout
    assert "fake-b as validated on coverage" in one_line(result.stderr)
    # Five scores, each in a bin of its own; the tie is left out.
    curve = table("judge", "validate", ratings, "--table", "reliability")
    assert [(row["mean_score"], row["observed"], row["n"]) for row in curve] == [
        (0.1, 0, 1), (0.2, 0, 1), (0.4, 1, 1), (0.8, 1, 1), (0.9, 1, 1),
    ]  # fmt: skip
    (apart,) = table("judge", "validate", ratings, "--table", "disagreements")
    expected = {"model": "m1", "group": "NO", "item": ITEMS[5], "pattern": "judge stricter"}
    assert expected.items() <= apart.items()
    assert (apart["people"], apart["judge_score"], apart["n_annotators"]) == (1.0, 0.4, 1)
    as_csv = call("judge", "validate", ratings, "--format", "csv").stdout
    assert len(list(csv.DictReader(io.StringIO(as_csv)))) == 11


def test_filled_in_audit_is_validated_per_dimension(warehouse: Warehouse) -> None:
    """Two people fill in copies of one audit of all benchmarks and always agree with the judge."""
    judgements = {b: one_judge(named(b, 4), [("YES", 0.9), ("NO", 0.2)] * 2) for b in METRICS}
    store(warehouse, judgements)
    store(warehouse, judgements, "m2")
    call("judge", "audit")
    right = {
        explanation(model, item): by_judge["fake-b"][0][0]
        for items in judgements.values()
        for item, by_judge in items.items()
        for model in ("m1", "m2")
    }
    rows = audited(Path("audit.csv"))
    assert len(rows) == 32
    for name in ("ana", "ben"):
        with Path(f"{name}.csv").open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(row | {"annotator": name, "rating": right[row["answer"]]} for row in rows)
    call("judge", "validate", "ana.csv", "ben.csv")
    stored = warehouse.query(STORED)
    assert stored.height == 4 * 11
    for metric in ("krippendorff_alpha_nominal", "cohen_kappa", "pearson"):
        assert stored.filter(metric=metric)["value"].to_list() == pytest.approx([1.0] * 4)
    assert set(stored["n"]) == {8}


def test_samples_of_a_judge_are_pooled_and_judges_are_kept_apart(warehouse: Warehouse) -> None:
    items = named("specnorm", 5)
    yes: JudgeSamples = [("YES", 0.9), ("NO", 0.3), ("YES", 0.6)]  # YES, 0.6
    no: JudgeSamples = [("NO", 0.1), ("NO", None), (None, None)]  # NO, 0.1
    tied: JudgeSamples = [("YES", 0.9), ("NO", 0.3)]  # no verdict, 0.6
    first = dict(zip(items, (yes, no, no, yes, tied), strict=True))
    judgements = {"specnorm": {item: {"fake-b": own, "slow": [("YES", None)]} for item, own in first.items()}}
    store(warehouse, judgements)
    ratings = ("1", "0", "0", "1", "1")
    file = rated(Path("ratings.csv"), items, {"ana": ratings}, "specnorm")
    rows = {(row["judge"], row["metric"]): row for row in table("judge", "validate", file)}
    kappa = rows["fake-b", "cohen_kappa"]
    assert (kappa["value"], kappa["n"], kappa["n_dropped"]) == (1.0, 4, 1)
    # Graded 0.6 0.1 0.1 0.6 0.6 against 1 0 0 1 1: (3 * 0.4^2 + 2 * 0.1^2) / 5.
    assert rows["fake-b", "brier"]["value"] == pytest.approx(0.1)
    assert rows["slow", "cohen_kappa"]["value"] == 0.0  # YES to everything
    for metric in ("brier", "krippendorff_alpha_nominal"):
        assert rows["slow", metric]["unscored_reason"] == "0 items, 3 are needed"
    assert set(warehouse.query(STORED)["judge"]) == {"fake-b", "slow"}


def test_second_validation_replaces_only_its_own_dimension(warehouse: Warehouse) -> None:
    casa = named("casa", 6)
    store(warehouse, {"normad": one_judge(ITEMS), "casa": one_judge(casa)})
    both = rated(Path("casa.csv"), casa, {"ana": ANA}, "casa"), rated(Path("n.csv"), ITEMS, {"ana": ANA})
    call("judge", "validate", *both)
    before = warehouse.query(STORED)
    assert before.height == 22
    call("judge", "validate", rated(Path("new.csv"), ITEMS[:4], {"eva": ANA[:4]}))
    after = warehouse.query(STORED)
    assert after.filter(dimension="connotation").equals(before.filter(dimension="connotation"))
    assert after.filter(dimension="coverage", metric="pearson")["n"].to_list() == [4]
    assert after.height == 22


def test_rated_items_without_a_judgement_are_counted(judged: Warehouse, ratings: Path) -> None:
    more = "a000000000000,ana,coverage,1\n"
    # People agree on beauty, which no judge scored.
    more += "".join(f"a{n},{name},beauty,{n % 2}\n" for n in range(4) for name in ("ana", "ben"))
    notes = one_line(call("judge", "validate", rated_text(ratings.read_text() + more)).stderr)
    assert "no judge has scored: 5" in notes
    assert "without a rating: 1" in notes
    assert set(judged.query(STORED)["dimension"]) == {"coverage"}


def rated_text(text: str) -> Path:
    path = Path("written.csv")
    path.write_text(text)
    return path


def test_ratings_apply_only_to_the_text_that_was_rated(judged: Warehouse, ratings: Path) -> None:
    store(judged, {"normad": one_judge(ITEMS)}, config="c2", edition=" (revised)")
    error = refused("judge", "validate", ratings)
    assert "none of the 6 rated items was judged under configuration c2" in error
    assert judged.query(STORED).is_empty()
    call("judge", "validate", ratings, "--config", "c1")
    assert judged.query(STORED).height == 11


@pytest.mark.parametrize("case", ["two items", "no verdicts"])
def test_too_few_scored_items_store_no_validation(warehouse: Warehouse, case: str) -> None:
    n, verdicts = (2, GOLDEN) if case == "two items" else (6, [(None, None)] * 6)
    store(warehouse, {"normad": one_judge(ITEMS, verdicts)})
    file = rated(Path("ratings.csv"), ITEMS[:n], {"ana": ANA[:n], "ben": BEN[:n]})
    result = call("judge", "validate", file, code=1)
    assert ("2 items, 3 are needed" in one_line(result.stdout)) == (case == "two items")
    assert "nothing stored" in result.stderr
    assert warehouse.query(STORED).is_empty()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,annotator,rating\na1,ana,1\n", "written.csv, line 1: the header lacks the columns dimension"),
        ("item,annotator,dimension,rating\n{a},ana,coverage,1\n{a},ana,coverage,maybe\n",
         "written.csv, line 3, column rating: 'maybe' is neither a number nor one of yes, no"),
        ("item,annotator,dimension,rating\n{a},ana,coverage,5\n", "written.csv, line 2, column rating: "),
        ("item,annotator,dimension,rating\n{a},,coverage,1\n", "line 2, column annotator: the cell is empty"),
        ("item,annotator,dimension,rating\n{a},ana,coverage,\n", "no ratings in written.csv"),
        ("item,annotator,dimension,rating\n{a},ana,coverage,1\n{a},ana,coverage,1\n",
         "line 3, column item: 'ana' rated coverage of"),
    ],
)  # fmt: skip
def test_broken_ratings_file_is_refused_and_stores_nothing(
    judged: Warehouse, text: str, message: str
) -> None:
    result = call("judge", "validate", rated_text(text.replace("{a}", code(ITEMS[0]))), code=1)
    assert message in one_line(result.stderr)
    assert result.stdout == ""
    assert judged.query(STORED).is_empty()


def test_validation_names_the_engine_that_judged_after_its_spec_changed(
    judged: Warehouse, ratings: Path
) -> None:
    spec = judged.home / "engines" / "fake-b.toml"
    spec.write_text('kind = "fake"\nmodel = "another"\nname = "fake-b"\n')
    call("judge", "validate", ratings)
    stored = judged.query("SELECT DISTINCT judge, judge_hash FROM judge_validation")
    assert stored.rows() == [("fake-b", "hash of fake-b")]
