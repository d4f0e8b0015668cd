"""People's ranking of domains as the human ceiling of the models that are compared with it."""

from __future__ import annotations

import pytest

from deployments.people import ceiling
from deployments.show import boards
from tasks.people.study import StudyError
from tests.deployments.people.test_results import held, ranked
from tests.evaluations.spectral.report import example_run
from warehouse import Warehouse

RANKS = {f"p{n:02}": {"a": 1, "b": 2 + n // 2 % 2, "c": 3 - n // 2 % 2, "d": 4 + n % 2} for n in range(10)}


def test_one_half_of_the_people_is_a_line_beside_the_models_compared_with_them(warehouse: Warehouse) -> None:
    results = held("spectral-ranking", ratings=ranked(RANKS))
    with pytest.raises(StudyError, match="run spectral --human mine"):
        ceiling.score(warehouse, results)
    example_run.store(warehouse, "model-a", "other", human="another:ab")
    example_run.store(warehouse, "model-a", "compared", human="mine:ab")
    ceiling.score(warehouse, results)
    assert boards.ceiling_lines(warehouse, "other") == []
    (line,) = boards.ceiling_lines(warehouse, "compared")
    assert line["n people"] == 10
    assert line["n items"] == 4
    assert line["note"] == "one half of the people held against the other"
    assert "[" in line["people [95 %]"]


def test_few_people_have_no_line_or_no_interval(warehouse: Warehouse) -> None:
    example_run.store(warehouse, "model-a", "compared", human="mine:ab")
    three, six = (dict(list(RANKS.items())[:n]) for n in (3, 6))
    with pytest.raises(StudyError, match="two halves need four"):
        ceiling.score(warehouse, held("spectral-ranking", ratings=ranked(three)))
    ceiling.score(warehouse, held("spectral-ranking", ratings=ranked(six)))
    (line,) = boards.ceiling_lines(warehouse, "compared")
    assert "no interval: too few people" in line["note"]
