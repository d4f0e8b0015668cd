"""Reference rows, or a user's own, as typed material: scenarios, dimensions, values, cultures. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np

from tasks.evaluations.worldwise.cultures import Culture, choose_cultures, choose_targets
from tasks.evaluations.worldwise.params import WorldwiseParams
from tasks.evaluations.worldwise.user_files import Row
from tasks.identity import digest
from tasks.metrics.types import FloatArray, IntArray

SEPARATORS = (",", ";", "\n")
"""What stands between values in a prompt or an answer, so not in a value."""


@dataclass(frozen=True)
class Scenario:
    """A dilemma whose options pull apart on one primary dimension."""

    scenario: str
    framework: str
    dimension: str
    category: str
    text: str
    option_a: str
    option_b: str


@dataclass(frozen=True)
class Dimension:
    """An axis, by example statements of its two ends."""

    framework: str
    dimension: str
    high: tuple[str, ...]
    low: tuple[str, ...]


@dataclass(frozen=True)
class Value:
    """A value to choose from; models see the label."""

    value: str
    label: str


@dataclass(frozen=True)
class Materials:
    """All that is asked and measured with, independent of the model.

    Attributes:
        scenarios: by identifier.
        dimensions: all that answers are projected on, by framework and name; names are unique.
        values: in the order of the prompt.
        cultures: the baseline, then the others by code.
        stereotypes: phrases to count.
    """

    scenarios: tuple[Scenario, ...]
    dimensions: tuple[Dimension, ...]
    values: tuple[Value, ...]
    cultures: tuple[Culture, ...]
    stereotypes: tuple[str, ...]

    @cached_property
    def labels(self) -> list[str]:
        """The values as models see them."""
        return [v.label for v in self.values]

    @cached_property
    def primary(self) -> IntArray:
        """[scenarios] the column of each one's primary dimension among ``dimensions``."""
        column = {d.dimension: i for i, d in enumerate(self.dimensions)}
        return np.array([column[s.dimension] for s in self.scenarios], dtype=np.intp)

    @cached_property
    def targets(self) -> FloatArray:
        """[cultures, scenarios] each culture's target on each one's primary dimension; NaN: the baseline."""
        return np.array([[c.target.get(s.dimension, np.nan) for s in self.scenarios] for c in self.cultures])

    @cached_property
    def hash(self) -> str:
        """Identifies the content."""
        return digest(asdict(self))


def build_materials(params: WorldwiseParams, rows: Mapping[str, Sequence[Row]]) -> Materials:
    """Choose and check the material.

    Args:
        rows: by table: scenario, exemplar, guiding_value (in the order to show), culture_profile, country,
            persona, stereotype, and country_name (country, language, name) if there is one.

    Raises:
        UnknownName: a culture or target profile that is not there.
        ValueError: no scenario is left, exemplars or targets are missing, or values cannot be told apart.
    """
    if not rows["stereotype"]:
        raise ValueError("there are no stereotype phrases: table stereotype is empty")
    dimensions = _dimensions(rows["exemplar"])
    targets = choose_targets(params.targets, rows["culture_profile"])
    scenarios = _scenarios(params, rows["scenario"], targets.framework)
    asked = {s.dimension for s in scenarios}
    lacking = sorted(asked - {d.dimension for d in dimensions if d.framework == targets.framework})
    if lacking:
        raise ValueError(
            f"there are no exemplars of {targets.framework} for {', '.join(lacking)}: add them to the "
            "exemplars file, or correct the dimension's name"
        )
    return Materials(
        scenarios,
        dimensions,
        _values(rows["guiding_value"]),
        choose_cultures(params, targets, asked, rows),
        tuple(sorted({str(r["phrase"]) for r in rows["stereotype"]})),
    )


def _dimensions(rows: Sequence[Row]) -> tuple[Dimension, ...]:
    """One entry per dimension, statements in their order."""
    poles: dict[tuple[str, str], dict[str, list[str]]] = {}
    for r in sorted(rows, key=lambda r: (r["framework"], r["dimension"], r["pole"], int(r["number"]))):
        sides = poles.setdefault((str(r["framework"]), str(r["dimension"])), {})
        sides.setdefault(str(r["pole"]), []).append(str(r["text"]))
    dimensions = []
    for (framework, dimension), sides in poles.items():
        if set(sides) != {"high", "low"}:
            raise ValueError(f"dimension {dimension!r} has exemplars for {sorted(sides)} only: it needs both")
        dimensions.append(Dimension(framework, dimension, tuple(sides["high"]), tuple(sides["low"])))
    names = [d.dimension for d in dimensions]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two frameworks have a dimension {', '.join(twice)}: name them apart")
    return tuple(dimensions)


def _scenarios(params: WorldwiseParams, rows: Sequence[Row], framework: str) -> tuple[Scenario, ...]:
    """Of each dimension of the targets' framework, the scenarios whose ids' hashes are smallest: the same in
    every run."""
    kept = [r for r in rows if r["framework"] == framework]
    if not kept:
        frameworks = ", ".join(sorted({str(r["framework"]) for r in rows}))
        raise ValueError(f"the targets are of {framework}, but scenarios only of {frameworks}: take others")
    by_dimension: dict[str, list[Scenario]] = {}
    for r in sorted(kept, key=lambda r: (digest(str(r["scenario"])), str(r["scenario"]))):
        if params.multi_dimensional or not r["is_multi"]:
            scenario = Scenario(**{name: str(r[name]) for name in Scenario.__dataclass_fields__})
            by_dimension.setdefault(scenario.dimension, []).append(scenario)
    chosen = [s for some in by_dimension.values() for s in some[: params.scenarios_per_dimension]]
    if not chosen:
        raise ValueError("all scenarios are multi-dimensional: set multi_dimensional")
    return tuple(sorted(chosen, key=lambda s: s.scenario))


def _values(rows: Sequence[Row]) -> tuple[Value, ...]:
    values = tuple(Value(str(r["value"]), str(r["label"])) for r in rows)
    if len({v.label.casefold() for v in values}) < len(values):
        raise ValueError("two values have the same label: models could not tell them apart")
    if len(values) < 3:
        raise ValueError(f"{len(values)} values to choose three from: add some")
    for v in values:
        if any(separator in v.label for separator in SEPARATORS):
            raise ValueError(f"the value {v.label!r} has a comma or semicolon in it, which separate values")
    return values
