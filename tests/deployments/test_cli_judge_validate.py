"""`culturescope judge validate`: people's ratings compared with the judges' scores, and stored."""

from __future__ import annotations

import csv
import hashlib
import io
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from tests.deployments.judged_run import (
    ANA,
    BEN,
    GOLDEN,
    METRICS,
    STORED,
    Said,
    audited,
    code,
    explanation,
    judge,
    named,
    one_judge,
    rated,
    store,
    table,
    words,
)
from warehouse import Warehouse


def test_validate_by_hand_and_by_other_packages(warehouse: Warehouse) -> None:
    items = named("normad", 6)
    store(warehouse, {"normad": one_judge(items)})
    file = rated(Path("ratings.csv"), items, {"Ana": ANA, "Ben": BEN})
    found = {row["metric"]: row for row in table("validate", file)}
    table_of_people = np.array([[1, 1, 0, 0, 0, 1], [1, 1, 0, 1, 0, np.nan]])
    for level in ("nominal", "ordinal", "interval"):
        expected = krippendorff.alpha(reliability_data=table_of_people, level_of_measurement=level)
        assert found[f"krippendorff_alpha_{level}"]["value"] == pytest.approx(expected, abs=1e-9)
        assert found[f"krippendorff_alpha_{level}"]["n"] == 5
    # They are divided on the fourth. Of the others people say 1 1 0 0 1, the judge 1 1 0 0 0: 4/5 are equal,
    # by chance 3/5 * 2/5 + 2/5 * 3/5 = 12/25. Kappa (20 - 12) / (25 - 12).
    assert found["cohen_kappa"]["value"] == pytest.approx(8 / 13)
    assert (found["cohen_kappa"]["n"], found["cohen_kappa"]["n_dropped"]) == (5, 1)
    means, values, grades = (1, 1, 0, 0.5, 0, 1), (1, 1, 0, 1, 0, 0), [graded for _, graded in GOLDEN]
    for suffix, scores in (("", values), ("_graded", grades)):
        assert found[f"pearson{suffix}"]["value"] == pytest.approx(pearsonr(means, scores).statistic)
        assert found[f"spearman{suffix}"]["value"] == pytest.approx(spearmanr(means, scores).statistic)
    # (0.1^2 + 0.2^2 + 0.1^2 + 0.2^2 + 0.6^2) / 5; and as every score has a bin of its own, 1.2 / 5.
    assert found["brier"]["value"] == pytest.approx(0.46 / 5)
    assert found["expected_calibration_error"]["value"] == pytest.approx(0.24)
    assert found["expected_calibration_error"]["ci_low"] is None
    assert found["brier"]["ci_low"] < 0.092 < found["brier"]["ci_high"]
    stored = warehouse.query("SELECT * FROM judge_validation")
    assert {r["metric"]: (r["value"], r["ci_low"], r["n"]) for r in stored.to_dicts()} == {
        metric: (row["value"], row["ci_low"], row["n"]) for metric, row in found.items()
    }
    (engine,) = set(stored["judge_hash"])
    assert engine == "hash of fake-b"
    (source,) = set(stored["source"])
    assert source == f"ratings.csv sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
    identity = stored.select("judge", "rubric", "dimension").unique().rows()
    assert identity == [("fake-b", "coverage 0123456789abcdef", "coverage")]
    # The leaderboard's join.
    joined = "SELECT DISTINCT model FROM verdict SEMI JOIN judge_validation USING (judge, judge_hash, rubric)"
    assert warehouse.query(joined).rows() == [("m1",)]


def test_tables_for_people(warehouse: Warehouse) -> None:
    items = named("normad", 6)
    store(warehouse, {"normad": one_judge(items)})
    file = rated(Path("ratings.csv"), items, {"Ana": ANA, "Ben": BEN})
    result = judge("validate", file)
    assert result.exit_code == 0
    for text in ("krippendorff_alpha_ordinal", "Reliability", "judge stricter", items[5]):
        assert text in result.stdout
    assert "leaderboards now show fake-b as validated on coverage" in words(result)
    # Five scores, each in a bin of its own; the tie is left out.
    curve = table("validate", file, "--table", "reliability")
    assert [(row["mean_score"], row["observed"], row["n"]) for row in curve] == [
        (0.1, 0, 1), (0.2, 0, 1), (0.4, 1, 1), (0.8, 1, 1), (0.9, 1, 1),
    ]  # fmt: skip
    (apart,) = table("validate", file, "--table", "disagreements")
    expected = {"model": "m1", "group": "NO", "item": items[5], "pattern": "judge stricter"}
    assert expected.items() <= apart.items()
    assert (apart["people"], apart["judge_score"], apart["n_annotators"]) == (1.0, 0.4, 1)
    as_csv = judge("validate", file, "--format", "csv").stdout
    assert len(list(csv.DictReader(io.StringIO(as_csv)))) == 11


def test_an_audit_filled_in_comes_back(warehouse: Warehouse) -> None:
    """Two copies of one audit, all benchmarks, people agree with the judge throughout."""
    judgements = {b: one_judge(named(b, 4), [("YES", 0.9), ("NO", 0.2)] * 2) for b in METRICS}
    store(warehouse, judgements)
    store(warehouse, judgements, "m2")
    assert judge("audit").exit_code == 0
    right = {
        explanation(model, item): said
        for items in judgements.values()
        for item, by_judge in items.items()
        for said in [by_judge["fake-b"][0][0]]
        for model in ("m1", "m2")
    }
    rows = audited(Path("audit.csv"))
    assert len(rows) == 32
    for name in ("ana", "ben"):
        with Path(f"{name}.csv").open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(row | {"annotator": name, "rating": right[row["answer"]]} for row in rows)
    result = judge("validate", "ana.csv", "ben.csv")
    assert result.exit_code == 0, result.output
    stored = warehouse.query(STORED)
    assert stored.height == 4 * 11 + 2  # coherence is compared at equal length too
    for metric in ("krippendorff_alpha_nominal", "cohen_kappa", "pearson"):
        assert stored.filter(metric=metric)["value"].to_list() == pytest.approx([1.0] * 4)
    assert set(stored["n"]) == {8}


def test_samples_are_one_opinion_and_judges_two(warehouse: Warehouse) -> None:
    items = named("specnorm", 5)
    yes: Said = [("YES", 0.9), ("NO", 0.3), ("YES", 0.6)]  # YES, 0.6
    no: Said = [("NO", 0.1), ("NO", None), (None, None)]  # NO, 0.1
    tied: Said = [("YES", 0.9), ("NO", 0.3)]  # no verdict, 0.6
    first = dict(zip(items, (yes, no, no, yes, tied), strict=True))
    judgements = {
        "specnorm": {item: {"fake-b": said, "slow": [("YES", None)]} for item, said in first.items()}
    }
    store(warehouse, judgements)
    ratings = ("1", "0", "0", "1", "1")
    file = rated(Path("ratings.csv"), items, {"ana": ratings}, "specnorm")
    found = {(row["judge"], row["metric"]): row for row in table("validate", file)}
    kappa = found["fake-b", "cohen_kappa"]
    assert (kappa["value"], kappa["n"], kappa["n_dropped"]) == (1.0, 4, 1)
    # Graded 0.6 0.1 0.1 0.6 0.6 against 1 0 0 1 1: (3 * 0.4^2 + 2 * 0.1^2) / 5.
    assert found["fake-b", "brier"]["value"] == pytest.approx(0.1)
    assert found["slow", "cohen_kappa"]["value"] == 0.0  # YES to everything
    assert found["slow", "brier"]["unscored_reason"] == "0 items, 3 are needed"
    assert found["slow", "krippendorff_alpha_nominal"]["unscored_reason"] == "0 items, 3 are needed"
    assert set(warehouse.query(STORED)["judge"]) == {"fake-b", "slow"}


def test_a_second_validation_replaces_that_dimension_alone(warehouse: Warehouse) -> None:
    normad, casa = named("normad", 6), named("casa", 6)
    store(warehouse, {"normad": one_judge(normad), "casa": one_judge(casa)})
    both = rated(Path("casa.csv"), casa, {"ana": ANA}, "casa"), rated(Path("n.csv"), normad, {"ana": ANA})
    assert judge("validate", *both).exit_code == 0
    before = warehouse.query(STORED)
    assert before.height == 22
    assert judge("validate", rated(Path("new.csv"), normad[:4], {"eva": ANA[:4]})).exit_code == 0
    after = warehouse.query(STORED)
    assert after.filter(dimension="connotation").equals(before.filter(dimension="connotation"))
    assert after.filter(dimension="coverage", metric="pearson")["n"].to_list() == [4]
    assert after.height == 22


def test_what_nobody_judged_is_counted(warehouse: Warehouse) -> None:
    items = named("normad", 6)
    store(warehouse, {"normad": one_judge(items)})
    text = rated(Path("ratings.csv"), items, {"ana": ANA, "ben": BEN}).read_text()
    more = "a000000000000,ana,coverage,1\n"
    # People agree on beauty, which no judge scored.
    more += "".join(f"a{n},{name},beauty,{n % 2}\n" for n in range(4) for name in ("ana", "ben"))
    result = judge("validate", rated_text(text + more))
    assert result.exit_code == 0
    assert "rated items that no judge has scored: 5" in words(result)
    assert "lines without a rating: 1" in words(result)
    assert set(warehouse.query(STORED)["dimension"]) == {"coverage"}


def rated_text(text: str) -> Path:
    path = Path("written.csv")
    path.write_text(text)
    return path


def test_ratings_hold_for_the_words_that_were_rated(warehouse: Warehouse) -> None:
    items = named("normad", 6)
    store(warehouse, {"normad": one_judge(items)})
    file = rated(Path("ratings.csv"), items, {"ana": ANA})
    store(warehouse, {"normad": one_judge(items)}, config="c2", edition=" (revised)")
    result = judge("validate", file)
    assert result.exit_code == 1
    assert "none of the 6 rated items was judged under configuration c2" in words(result)
    assert warehouse.query(STORED).is_empty()
    assert judge("validate", file, "--config", "c1").exit_code == 0
    assert warehouse.query(STORED).height == 11


def test_too_few_items_are_no_validation(warehouse: Warehouse) -> None:
    items = named("normad", 6)
    store(warehouse, {"normad": one_judge(items)})
    result = judge("validate", rated(Path("ratings.csv"), items[:2], {"ana": ANA[:2], "ben": BEN[:2]}))
    assert result.exit_code == 1
    assert "2 items, 3 are needed" in " ".join(result.stdout.split())
    assert "nothing stored" in result.stderr
    assert warehouse.query(STORED).is_empty()


def test_people_alone_are_no_validation(warehouse: Warehouse) -> None:
    items = named("normad", 6)
    store(warehouse, {"normad": one_judge(items, [(None, None)] * 6)})
    result = judge("validate", rated(Path("ratings.csv"), items, {"ana": ANA, "ben": BEN}))
    assert result.exit_code == 1
    assert "nothing stored" in result.stderr
    assert warehouse.query(STORED).is_empty()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,annotator,rating\na1,ana,1\n", r"written.csv, line 1: the header lacks ['dimension']"),
        ("item,annotator,dimension,rating\n{a},ana,coverage,1\n{a},ana,coverage,maybe\n",
         "written.csv, line 3, column rating: 'maybe' is neither a number nor one of yes, no"),
        ("item,annotator,dimension,rating\n{a},ana,coverage,5\n", "written.csv, line 2, column rating: "),
        ("item,annotator,dimension,rating\n{a},,coverage,1\n", "line 2, column annotator: the cell is empty"),
        ("item,annotator,dimension,rating\n{a},ana,coverage,\n", "no ratings in written.csv"),
        ("item,annotator,dimension,rating\n{a},ana,coverage,1\n{a},ana,coverage,1\n",
         "line 3, column item: 'ana' rated coverage of"),
    ],
)  # fmt: skip
def test_a_broken_file_is_named_and_stores_nothing(warehouse: Warehouse, text: str, message: str) -> None:
    items = named("normad", 6)
    store(warehouse, {"normad": one_judge(items)})
    name = code(items[0])
    result = judge("validate", rated_text(text.replace("{a}", name)))
    assert result.exit_code == 1
    assert message in words(result)
    assert result.stdout == ""
    assert warehouse.query(STORED).is_empty()


def test_the_engine_that_judged_is_validated_whatever_its_spec_says_now(warehouse: Warehouse) -> None:
    items = named("normad", 6)
    store(warehouse, {"normad": one_judge(items)})
    file = rated(Path("ratings.csv"), items, {"ana": ANA})
    spec = warehouse.home / "engines" / "fake-b.toml"
    spec.write_text('kind = "fake"\nmodel = "another"\nname = "fake-b"\n')
    assert judge("validate", file).exit_code == 0
    stored = warehouse.query("SELECT DISTINCT judge, judge_hash FROM judge_validation")
    assert stored.rows() == [("fake-b", "hash of fake-b")]
