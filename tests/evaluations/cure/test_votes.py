"""What the requests to one judge are called: SQL and the progress tell votes apart by their labels."""

from __future__ import annotations

import pytest

from tasks.evaluations.cure.read import judge_calls, read_answers
from tests.evaluations.cure.conftest import MakeStudy, right_answers


@pytest.mark.parametrize("samples", [1, 3])
def test_votes_are_numbered_from_one_in_the_order_of_their_samplings(
    make_study: MakeStudy, samples: int
) -> None:
    study = make_study(judge_samples=samples, batch=7)
    calls = judge_calls(study, read_answers(study, right_answers(study)))
    requests = study.panel.requests(calls)
    samplings = list(dict.fromkeys(call.sampling for call in calls))
    assert [request.sampling for request in requests] == samplings
    votes = [f"vote {k + 1}" for k in range(samples)] if samples > 1 else []
    assert [request.label for request in requests] == ["verdicts", *votes]
    assert {request.topic for request in requests} == {"explanations"}
    assert {request.batch for request in requests} == {7}
    assert study.panel.requests([]) == []
