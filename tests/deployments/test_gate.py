"""``culturemeter gate``: verdicts, exit codes and reasons, and the faults of a policy in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from flows.gates import read_policy
from tests.deployments.commands import call, one_line
from tests.flows.stored_runs import Stored, store
from warehouse import Warehouse

RNG = np.random.default_rng(0)
EASE = RNG.beta(3, 1, 300)
RULE = "[[rule]]\nevaluation = 'cure'\nmetric = 'x'\n"


def scores(lower: float) -> np.ndarray:
    """Return 300 shares, worse by this; their mean is near 0.75 less it."""
    return np.clip(EASE - lower + 0.05 * RNG.standard_normal(300), 0, 1)


@pytest.fixture(scope="module")
def filled(copied_home: Callable[[], Path]) -> Warehouse:
    warehouse = Warehouse.open(copied_home())
    runs = {"old": scores(0.0), "same": scores(0.0), "worse": scores(0.1), "few": scores(0.0)[:4]}
    store(
        warehouse,
        [
            *(
                Stored(
                    name, "w1", evaluation="culturall", scores={"accuracy": values, "scenario_gain": values}
                )
                for name, values in runs.items()
            ),
            Stored("old", "w2", evaluation="culturall", scores={"accuracy": scores(0.1)}),
        ],
    )
    slices = """INSERT INTO metric_value_base BY NAME SELECT run_id, model, 'accuracy' AS metric,
        'country' AS slice_kind, unnest(['FR', 'JP']) AS slice, unnest([0.9, 0.5]) AS value,
        unnest([0.8, 0.3]) AS ci_low, unnest([0.96, 0.7]) AS ci_high, 60 AS n_scored, 0 AS n_unscored,
        0.4 AS null_value FROM run WHERE occasion = 'w1'"""
    with warehouse.write() as connection:
        connection.execute(slices)
        connection.execute("UPDATE metric_value_base SET null_value = 0.4 WHERE slice = 'all'")
    return warehouse


@pytest.fixture
def stored(filled: Warehouse, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """The warehouse that commands open; no test here writes to it."""
    monkeypatch.setenv("CULTUREMETER_HOME", str(filled.home))
    return filled


def gated(tmp_path: Path, rules: str, code: int, *options: str, head: str = 'model = "same"') -> list[str]:
    """Return the printed lines of a policy of these rules on occasion w1, after checking the exit code."""
    file = tmp_path / "policy.toml"
    texts = [f'[[rule]]\nevaluation = "culturall"\n{rule}' for rule in rules.split("---")]
    file.write_text("\n".join([head, *texts]))
    if "--occasion" not in options:
        options = (*options, "--occasion", "w1")
    return call("gate", str(file), *options, code=code).stdout.splitlines()


@pytest.mark.parametrize(
    ("rule", "code", "words"),
    [
        ('metric = "accuracy"\nat_least = 0.6', 0, "accuracy of same is at least 0.6: 0.7"),
        ('metric = "accuracy"\nat_least = 0.9', 1, "shown to be missed"),
        ('metric = "accuracy"\nat_least = 0.74', 3, "more items would decide"),
        ('metric = "accuracy"\nat_most = 0.9', 0, "is at most 0.9"),
        ('metric = "accuracy"\nat_most = 0.6', 1, "is at most 0.6"),
        ('metric = "accuracy"\nbeyond_null = true', 0, "is beyond its null"),
        ('metric = "accuracy"\nmargin = 0.02\nbaseline = "old"', 0, "is at most 0.02 worse than old"),
        ('metric = "accuracy"\nmargin = 0.02\nbaseline = "old"\nmodel = "worse"', 1, "of worse"),
        ('metric = "accuracy"\nslice = "country=JP"\nat_least = 0.6', 3, "(country JP)"),
        ('metric = "accuracy"\nslice = "country=FR"\nat_least = 0.75', 0, "(country FR)"),
        ('metric = "accuracy"\nslice = "country=FR"\nmargin = 0.5\nbaseline = "old"', 0, "worse than old"),
        ('metric = "accuracy"\nmodel = "few"\nmargin = 0.02\nbaseline = "old"', 3, "too little varies"),
    ],
)  # fmt: skip
def test_verdict_and_exit_code(stored: Warehouse, tmp_path: Path, rule: str, code: int, words: str) -> None:
    lines = gated(tmp_path, rule, code)
    verdict = {0: "GO", 1: "NO-GO", 3: "INCONCLUSIVE"}[code]
    assert len(lines) == 2
    assert lines[0].split("  ")[0] == verdict
    assert words in lines[0]
    assert lines[1] == f"{verdict}: 1 of 1 requirement (level 0.05, one look)"


def test_every_slice_of_a_kind_has_a_verdict(stored: Warehouse, tmp_path: Path) -> None:
    lines = gated(tmp_path, 'metric = "accuracy"\nby = "country"\nat_least = 0.7', 3)
    assert [line.split()[0] for line in lines] == ["GO", "INCONCLUSIVE", "INCONCLUSIVE:"]


def test_one_missed_requirement_is_enough(stored: Warehouse, tmp_path: Path) -> None:
    rules = 'metric = "accuracy"\nat_least = 0.1---metric = "scenario_gain"\nat_least = 0.99'
    assert gated(tmp_path, rules, 1)[-1].startswith("NO-GO: 1 of 2 requirements")


def test_looks_and_level_widen_what_decides(stored: Warehouse, tmp_path: Path) -> None:
    rule = 'metric = "accuracy"\nmargin = 0.006\nbaseline = "old"'
    once = gated(tmp_path, rule, 0)
    weekly = gated(tmp_path, rule, 3, head='model = "same"\nlooks = 52')
    assert "one of at most 52 looks" in weekly[-1]
    assert once[0] != weekly[0]


def test_a_model_is_held_against_its_own_earlier_occasion(stored: Warehouse, tmp_path: Path) -> None:
    rule = 'metric = "accuracy"\nmargin = 0.02\nbaseline_occasion = "w1"'
    lines = gated(tmp_path, rule, 1, "--model", "old", "--occasion", "w2")
    assert "of old is at most 0.02 worse than old on w1" in lines[0]


def test_a_doubted_number_is_not_beyond_its_null(
    stored: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import flows.gates as module

    doubting = module._NUMBERS.replace("a.doubt", "'a judge failed its check' AS doubt")
    monkeypatch.setattr(module, "_NUMBERS", doubting)
    lines = gated(tmp_path, 'metric = "accuracy"\nbeyond_null = true', 3)
    assert "doubted: a judge failed its check" in lines[0]


def test_json_and_csv_have_every_requirement(stored: Warehouse, tmp_path: Path) -> None:
    rule = 'metric = "accuracy"\nat_least = 0.74'
    found = json.loads("\n".join(gated(tmp_path, rule, 3, "--format", "json")))
    assert (found["verdict"], found["looks"]) == ("INCONCLUSIVE", 1)
    (line,) = found["requirements"]
    assert line["low"] < 0.74 < line["high"]
    assert line["more_items"] > 0
    rows = gated(tmp_path, rule, 3, "--format", "csv")
    assert rows[0] == "verdict,requirement,value,low,high,more_items,reason"
    assert rows[1].startswith("INCONCLUSIVE,")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model = ", "Invalid value (at end of document)"),
        ("", "rule: Field required"),
        ("rule = []", "rule: List should have at least 1 item"),
        (f"levels = 2\n{RULE}at_least = 1.0", "levels: there is no such key"),
        (f"level = 2.0\n{RULE}at_least = 1.0", "level: Input should be less"),
        (RULE, "rule 1: a rule has one of at_least, at_most"),
        (f"{RULE}at_least = 1.0\nat_most = 2.0", "this has at_least and at_most"),
        (f"{RULE}at_least = 'a'", "rule 1, at_least: Input should be"),
        (f"{RULE}at_least = nan", "rule 1, at_least: Input should be a finite"),
        (f"{RULE}margin = -1.0", "rule 1, margin: Input should be greater"),
        (f"{RULE}at_least = 1.0\nbaseline = 'b'", "a baseline needs a margin"),
        (f"{RULE}at_least = 1.0\nslice = 'JP'", "write kind=name"),
    ],
)  # fmt: skip
def test_a_fault_of_a_policy_is_one_line_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"policy\.toml: ") as error:
        read_policy(file)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ('metric = "nothing"\nat_least = 0.5', "rule 1: culturall, configuration config, occasion"),
        ('metric = "accuracy"\nat_least = 0.5\nmodel = "nobody"', "no model 'nobody'; known: few, old, same"),
        ('metric = "accuracy"\nat_least = 0.5\nby = "domain"', "kinds of slices: country, overall"),
        ('metric = "accuracy"\nmargin = 0.5', "a margin needs a baseline"),
        ('metric = "accuracy"\nmargin = 0.5\nbaseline_occasion = "w1"', "the baseline is the same run"),
    ],
)  # fmt: skip
def test_what_the_warehouse_lacks_is_one_line_and_code_2(
    stored: Warehouse, tmp_path: Path, rule: str, message: str
) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(f'model = "same"\n[[rule]]\nevaluation = "culturall"\n{rule}')
    result = call("gate", str(file), "--occasion", "w1", code=2)
    assert message in one_line(result.stderr)
    assert result.stdout == ""


def test_a_missing_file_and_an_unknown_evaluation_are_faults(stored: Warehouse, tmp_path: Path) -> None:
    assert "none.toml" in call("gate", str(tmp_path / "none.toml"), code=2).stderr
    file = tmp_path / "policy.toml"
    file.write_text('model = "a"\n[[rule]]\nevaluation = "nowhere"\nmetric = "x"\nat_least = 1.0')
    assert "nowhere" in call("gate", str(file), code=2).stderr
