"""A run stops before its budget is exceeded, and only new completions count."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.engines.protocols import EngineError, Generation, Sampling
from tasks.engines.specs import EngineSpec
from tasks.loop.budget import Budget, BudgetReached, Meter, at_most
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.requests import Engine
from tests.loop.completing import complete
from warehouse import Warehouse

Calls = list[list[str]]
SAMPLING = Sampling(max_tokens=20)
PRICED = {"usd_per_million_input_tokens": 2.0, "usd_per_million_output_tokens": 10.0}

# The most that one of these takes: 3 bytes of text are 1 token, the template 16, the answer 20: 37 tokens.
# The fake engine counts words: 1 sent and 2 written ("Answer 123."), so 3 tokens are used.
MOST, USED = 37, 3


def prompts(n: int) -> list[Prompt]:
    return [Prompt([{"role": "user", "content": f"q{i:02d}"}]) for i in range(n)]


def complete_all(n: int, spec: EngineSpec, meter: Meter, batch: int = 2) -> list[Completion]:
    return complete(prompts(n), Engine.of(spec), SAMPLING, ("run-1", "candidate"), "label", batch, meter)


def served(**fields: Any) -> EngineSpec:
    return EngineSpec(name="hosted", kind="openai", model="m", base_url="http://127.0.0.1:1/v1", **fields)


def test_hand_calculation_gives_the_upper_bound_of_tokens() -> None:
    # "नम" has 6 bytes, '{"a": 1}' has 8: 14 / 3 rounded up is 5, and 16 for each of the two.
    most = at_most([{"role": "user", "content": "नम"}], {"a": 1}, SAMPLING)
    assert (most.prompt_tokens, most.completion_tokens) == (5 + 32, 20)
    assert at_most(prompts(1)[0].conversation, None, SAMPLING).prompt_tokens + 20 == MOST


@pytest.mark.nets(3)
@pytest.mark.parametrize(
    ("limit", "n_batches"),
    [
        (2 * MOST - 1, 0),  # the first batch of two may take 74
        (2 * MOST, 1),  # the first batch used 6; with the second one's 74 the sum would be 80
        (2 * USED + 2 * MOST - 1, 1),
        (2 * USED + 2 * MOST, 2),
        (4 * USED + 2 * MOST, 3),
    ],
)
def test_a_batch_begins_only_if_its_upper_bound_fits(
    warehouse: Warehouse, spec: EngineSpec, sent: Calls, limit: int, n_batches: int
) -> None:
    meter = Meter(Budget(max_tokens=limit))
    with pytest.raises(BudgetReached, match=r"budget is reached.*are stored: raise the limit.*only the rest"):
        complete_all(8, spec, meter)
    assert len(sent) == n_batches
    assert meter.tokens == n_batches * 2 * USED
    assert warehouse.query("SELECT count(*) FROM response").item() == n_batches * 2


def test_the_error_names_the_model_and_what_was_used(
    warehouse: Warehouse, spec: EngineSpec, sent: Calls
) -> None:
    message = r"model 'judge': .* 6 of 79 tokens are used, and the next 2 answers may take 74\. All"
    with pytest.raises(BudgetReached, match=message):
        complete_all(4, spec, Meter(Budget(max_tokens=79)))
    dear = spec.model_copy(update=PRICED | {"model": "dear"})
    # Two answers cost at most 2 (17 · 2 + 20 · 10) / 1e6 = 0.000468.
    with pytest.raises(BudgetReached, match=r"0\.0000 of 0\.0004 US dollars are spent.*may cost 0\.0005"):
        complete_all(4, dear, Meter(Budget(max_usd=0.0004)))


def test_a_higher_limit_completes_only_the_rest(warehouse: Warehouse, spec: EngineSpec, sent: Calls) -> None:
    with pytest.raises(BudgetReached):
        complete_all(4, spec, Meter(Budget(max_tokens=2 * MOST)))
    first = [text for call in sent for text in call]
    meter = Meter(Budget(max_tokens=2 * MOST))  # stored answers are free
    assert len(complete_all(4, spec, meter)) == 4
    assert meter.tokens == 2 * USED
    assert sorted(first + sent[-1]) == ["q00", "q01", "q02", "q03"]
    spent = Meter(Budget(max_tokens=0, max_usd=0))
    assert len(complete_all(4, spec, spent)) == 4  # no answer is missing, so a budget of 0 is enough
    assert (spent.tokens, spent.usd) == (0, 0)


def test_calls_that_share_a_meter_share_the_budget(
    warehouse: Warehouse, spec: EngineSpec, sent: Calls
) -> None:
    meter = Meter(Budget(max_tokens=2 * USED + 2 * MOST - 1))
    complete_all(2, spec, meter)
    with pytest.raises(BudgetReached):
        complete_all(2, spec.model_copy(update={"model": "other"}), meter)
    assert len(sent) == 1


def test_a_budget_in_dollars_stops_before_it_is_used_up(
    warehouse: Warehouse, spec: EngineSpec, sent: Calls
) -> None:
    dear = spec.model_copy(update=PRICED)
    # At most 0.000468 a batch; used are 2 (1 · 2 + 2 · 10) / 1e6 = 0.000044.
    meter = Meter(Budget(max_usd=0.00052))
    with pytest.raises(BudgetReached):
        complete_all(6, dear, meter)
    assert meter.usd == pytest.approx(2 * 0.000044)
    assert len(sent) == 2


def test_local_models_cost_nothing(warehouse: Warehouse, spec: EngineSpec) -> None:
    meter = Meter(Budget(max_usd=0))
    complete_all(2, spec, meter)
    assert meter.usd == 0
    assert meter.tokens == 2 * USED


def test_a_limit_in_dollars_needs_prices(warehouse: Warehouse) -> None:
    with pytest.raises(EngineError, match=r"'hosted': dollars are limited.*names no price: add usd_per_mill"):
        complete_all(1, served(), Meter(Budget(max_usd=1)))
    with Meter(Budget(max_tokens=100)).batch(served(), [Generation("", "length", 9, 9, 0)]):
        pass
    free = served(usd_per_million_input_tokens=0, usd_per_million_output_tokens=0)
    with Meter(Budget(max_usd=0)).batch(free, [Generation("", "length", 9, 9, 0)]):
        pass


def test_a_server_without_token_counts_is_counted_at_the_upper_bound(spec: EngineSpec) -> None:
    meter = Meter(Budget())
    most = [Generation("", "length", 17, 20, 0)] * 2
    with meter.batch(spec, most) as count:
        count(most, [Generation("x", "stop", 0, 0, 0), Generation("y", "stop", 5, 2, 0)])
    assert meter.tokens == 37 + 7


def test_a_prompt_longer_than_estimated_stops_the_next_batch(spec: EngineSpec) -> None:
    meter = Meter(Budget(max_tokens=100))
    most = [Generation("", "length", 17, 20, 0)]
    with meter.batch(spec, most) as count:
        count(most, [Generation("x", "stop", 150, 2, 0)])
    with pytest.raises(BudgetReached, match="152 of 100 tokens are used"), meter.batch(spec, most):
        pass


def test_batches_under_way_count_at_their_upper_bound(spec: EngineSpec) -> None:
    meter = Meter(Budget(max_tokens=2 * MOST))
    most = [Generation("", "length", 17, 20, 0)]
    with meter.batch(spec, most) as count, meter.batch(spec, most):
        with pytest.raises(BudgetReached, match="74 of 74 tokens are used"), meter.batch(spec, most):
            pass
        count(most, [Generation("x", "stop", 1, 2, 0)])
    assert meter.tokens == USED  # the other request failed: its use is unknown
