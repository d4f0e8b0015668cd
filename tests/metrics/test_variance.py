from __future__ import annotations

import math
import warnings
from itertools import product

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
import statsmodels.formula.api as smf  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.metrics.variance import RESIDUAL, crossed_variance, nested_variance


def crossed(levels: tuple[int, ...], repeats: int = 1) -> list[np.ndarray]:
    """Return labels of a balanced design: each combination of levels `repeats` times."""
    cells = np.array(list(product(*(range(n) for n in levels), range(repeats))))
    return [cells[:, i] for i in range(len(levels))]


def test_hand_calculation_gives_split() -> None:
    # Scenarios in rows, personas in columns:   6 4
    #                                           2 0
    #                                           4 2
    # Row means 5, 1, 3; column means 4, 2; mean 3. Mean squares: rows 2 * (4 + 4 + 0) / 2 = 8, columns
    # 3 * (1 + 1) / 1 = 6, rest 0. Scenario (8 - 0) / 2 = 4, persona (6 - 0) / 3 = 2, residual 0.
    rows, columns = crossed((3, 2))
    split = crossed_variance([6, 4, 2, 0, 4, 2], {"scenario": rows, "persona": columns})
    assert split.components == pytest.approx({"scenario": 4, "persona": 2, RESIDUAL: 0}, abs=1e-12)
    assert split.shares == pytest.approx({"scenario": 2 / 3, "persona": 1 / 3, RESIDUAL: 0}, abs=1e-12)
    assert (split.n, split.reason) == (6, None)


def test_hand_calculation_gives_split_of_one_factor() -> None:
    # Groups 1, 3 and 5, 7, 9: means 2, 7; mean 5. Between 2 * 9 + 3 * 4 = 30 with 1 degree of freedom; within
    # 2 + 8 = 10 with 3. n0 = 5 - (4 + 9) / 5 = 2.4. Residual 10 / 3, group (30 - 10 / 3) / 2.4.
    split = crossed_variance([1, 3, 5, 7, 9], {"group": [0, 0, 1, 1, 1]})
    assert split.components == pytest.approx({"group": (30 - 10 / 3) / 2.4, RESIDUAL: 10 / 3})


def test_negative_estimates_are_zero_and_named() -> None:
    # Both groups have the mean 2 and a spread within: between 0, less than chance would give.
    split = crossed_variance([1, 3, 1, 3], {"group": [0, 0, 1, 1]})
    assert split.clipped == ("group",)
    assert split.components == pytest.approx({"group": 0, RESIDUAL: 2})
    assert split.shares == pytest.approx({"group": 0, RESIDUAL: 1})


def test_balanced_split_is_reml_of_statsmodels() -> None:
    rng = np.random.default_rng(3)
    scenario, persona, model = crossed((10, 5, 3))
    values = (
        1.5 * rng.standard_normal(10)[scenario]
        + 0.8 * rng.standard_normal(5)[persona]
        + 0.6 * rng.standard_normal(3)[model]
        + rng.standard_normal(150)
    )
    frame = pd.DataFrame({"y": values, "s": scenario, "p": persona, "m": model, "all": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = smf.mixedlm(
            "y ~ 1", frame, groups="all", vc_formula={name: f"0 + C({name})" for name in "smp"}
        ).fit(reml=True, method="lbfgs")
    split = crossed_variance(values, {"s": scenario, "p": persona, "m": model})
    expected = dict(zip(fitted.model.exog_vc.names, fitted.vcomp, strict=True)) | {RESIDUAL: fitted.scale}
    assert not split.clipped
    assert split.components == pytest.approx(expected, rel=2e-3)


def test_split_is_unbiased_with_gaps() -> None:
    rng = np.random.default_rng(5)
    scenario, persona = crossed((20, 6), 2)
    present = rng.random(scenario.size) < 0.6
    scenario, persona = scenario[present], persona[present]
    estimates = []
    for _ in range(400):
        values = rng.standard_normal(20)[scenario] + 0.7 * rng.standard_normal(6)[persona]
        values += 0.5 * rng.standard_normal(scenario.size)
        split = crossed_variance(values, {"scenario": scenario, "persona": persona})
        estimates.append([split.components[name] for name in ("scenario", "persona", RESIDUAL)])
    means, errors = np.mean(estimates, axis=0), np.std(estimates, axis=0) / 20
    # Four standard errors; hardly any estimate is negative here, so that clipping does not move the mean.
    assert (np.abs(means - [1, 0.49, 0.25]) < 4 * errors).all()


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=40)
def test_crossed_shares_sum_to_1_and_ignore_order_and_unit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scenario, persona = crossed((6, 4), 2)
    values = rng.standard_normal(6)[scenario] + rng.standard_normal(48)
    split = crossed_variance(values, {"scenario": scenario, "persona": persona})
    assert sum(split.shares.values()) == pytest.approx(1)
    assert all(0 <= share <= 1 for share in split.shares.values())
    order = rng.permutation(48)
    shuffled = crossed_variance(values[order], {"persona": persona[order], "scenario": scenario[order]})
    assert shuffled.shares == pytest.approx(split.shares, abs=1e-9)
    # Units and names have no effect.
    renamed = crossed_variance(100 - 3 * values, {"scenario": 9 - scenario, "persona": persona.astype(str)})
    assert renamed.shares == pytest.approx(split.shares, abs=1e-9)


def test_a_factor_with_one_level_has_no_part() -> None:
    rng = np.random.default_rng(2)
    (scenario,) = crossed((8,), 4)
    values = rng.standard_normal(8)[scenario] + rng.standard_normal(32)
    split = crossed_variance(values, {"scenario": scenario, "model": ["m"] * 32})
    assert split == crossed_variance(values, {"scenario": scenario})
    # Without any factor all is residual: the plain variance.
    alone = crossed_variance(values, {})
    assert alone.components == pytest.approx({RESIDUAL: values.var(ddof=1)})


def test_a_missing_split_has_a_reason() -> None:
    scenario, _ = crossed((3, 2))
    for values in ([2.0] * 6, [0.1 + 0.2, 0.3] * 3):
        assert crossed_variance(values, {"scenario": scenario}).reason == "the values do not vary"
    assert crossed_variance([], {"scenario": []}).reason == "the values do not vary"
    # Each scenario has a persona of its own; then each response a scenario of its own.
    values = [1.0, 5, 2, 3, 8, 4]
    for factors in ({"scenario": scenario, "persona": scenario}, {"scenario": np.arange(6)}):
        split = crossed_variance(values, factors)
        assert split.reason is not None
        assert "cannot be told apart" in split.reason
        assert (split.components, split.shares, split.n) == ({}, {}, 6)


def test_crossed_variance_refuses_wrong_factors_and_nan() -> None:
    with pytest.raises(ValueError, match="factor 'persona' has shape"):
        crossed_variance([1, 2], {"persona": ["a"]})
    with pytest.raises(ValueError, match="may not be named 'residual'"):
        crossed_variance([1, 2], {RESIDUAL: [0, 1]})
    with pytest.raises(ValueError, match="leave unscored responses out"):
        crossed_variance([1, math.nan], {"persona": [0, 1]})


# --- persons, repetitions and judges


def test_hand_calculation_gives_nested_split() -> None:
    # Persons 1 and 5, repetitions a half apart, one judge: MS between = 2 * 2 * 4 = 16, MS within = 0.125.
    split = nested_variance([[[0.75], [1.25]], [[4.75], [5.25]]])
    assert split is not None
    assert split.person == pytest.approx((16 - 0.125) / 2 / ((16 - 0.125) / 2 + 0.125))
    assert split.repetition == pytest.approx(1 - split.person)
    assert (split.judge, split.rest, split.n_persons) == (None, None, 2)


def test_hand_calculation_gives_nested_split_of_two_judges() -> None:
    # 10, persons ±4, repetitions ±1, judges ±2, rest ±0.5. Mean squares: persons 4 * 32 / 1 = 128, repetition
    # 2 * 4 / 2 = 4, judges 4 * 8 / 1 = 32, rest 8 * 0.25 / ((4 - 1) * (2 - 1)) = 2 / 3.
    split = nested_variance([[[17.5, 12.5], [14.5, 11.5]], [[9.5, 4.5], [6.5, 3.5]]])
    components = np.array([(128 - 4) / 4, (4 - 2 / 3) / 2, (32 - 2 / 3) / 4, 2 / 3])
    assert split is not None
    assert split[:4] == pytest.approx(components / components.sum())


def test_judges_that_differ_in_level_have_all_nested_variance() -> None:
    split = nested_variance([[[1, 3], [1, 3]], [[1, 3], [1, 3]], [[1, 3], [1, 3]]])
    assert split is not None
    assert (split.person, split.repetition, split.judge, split.rest) == (0, 0, 1, 0)


def test_nested_components_of_a_simulation_are_recovered() -> None:
    generator = np.random.Generator(np.random.PCG64(0))
    shares = []
    for _ in range(200):
        person, talk = generator.normal(0, 2, (30, 1, 1)), generator.normal(0, 1, (30, 10, 1))
        judge, rest = generator.normal(0, 1, (1, 1, 4)), generator.normal(0, 1, (30, 10, 4))
        split = nested_variance(person + talk + judge + rest)
        assert split is not None
        shares.append(split[:4])
    # 4 : 1 : 1 : 1 of 7; few judges scatter much, so their share is a little low on average.
    assert np.mean(shares, axis=0) == pytest.approx([4 / 7, 1 / 7, 1 / 7, 1 / 7], abs=0.05)


def test_no_nested_split_without_repetitions_or_values() -> None:
    assert nested_variance(np.ones((3, 2, 1))) is None
    assert nested_variance(np.arange(3.0).reshape(3, 1, 1)) is None
    assert nested_variance(np.full((3, 2, 1), np.nan)) is None
    with pytest.raises(ValueError, match="persons x repetitions"):
        nested_variance([1.0, 2.0])
