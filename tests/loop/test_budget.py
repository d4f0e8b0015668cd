"""A run stops before its budget is exceeded, and only new completions count."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from tasks.engines.protocols import EngineError, Generation, Sampling
from tasks.engines.specs import EngineSpec
from tasks.loop.budget import Budget, BudgetReached, Meter, at_most, within
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
    ("limit", "n_answers", "n_batches"),
    [
        (MOST - 1, 0, 0),
        (MOST, 1, 1),
        (MOST + USED - 1, 1, 1),
        (MOST + USED, 2, 2),  # one at a time
        (MOST + 6 * USED, 7, 7),
        (2 * MOST - 1, 8, 8),  # each batch of two may take 74, so one is sent at a time: all fit
        (2 * MOST, 8, 7),  # the first two together
    ],
)
def test_as_many_prompts_are_sent_as_fit_with_their_upper_bound(
    warehouse: Warehouse, spec: EngineSpec, sent: Calls, limit: int, n_answers: int, n_batches: int
) -> None:
    meter = Meter(Budget(max_tokens=limit))
    if n_answers < 8:
        with pytest.raises(BudgetReached, match=r"budget is reached.*are stored: raise the.*only the rest"):
            complete_all(8, spec, meter)
    else:
        complete_all(8, spec, meter)
    assert len(sent) == n_batches
    assert meter.tokens == n_answers * USED <= limit
    assert warehouse.query("SELECT count(*) FROM response").item() == n_answers


def test_the_error_names_the_model_and_what_was_used(
    warehouse: Warehouse, spec: EngineSpec, sent: Calls
) -> None:
    message = r"model 'judge': .* 6 of 41 tokens are used, and the next 2 answers may take 74\. All"
    with pytest.raises(BudgetReached, match=message):
        complete_all(4, spec, Meter(Budget(max_tokens=MOST + 2 * USED - 2)))
    dear = spec.model_copy(update=PRICED | {"model": "dear"})
    # Two answers cost at most 2 (17 · 2 + 20 · 10) / 1e6 = 0.000468, one half of that.
    with pytest.raises(BudgetReached, match=r"0\.0000 of 0\.0002 US dollars are spent.*may cost 0\.0005"):
        complete_all(4, dear, Meter(Budget(max_usd=0.0002)))


def test_a_higher_limit_completes_only_the_rest(warehouse: Warehouse, spec: EngineSpec, sent: Calls) -> None:
    with pytest.raises(BudgetReached):
        complete_all(4, spec, Meter(Budget(max_tokens=MOST + USED)))
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
    meter = Meter(Budget(max_tokens=2 * USED + MOST - 1))
    complete_all(2, spec, meter)
    with pytest.raises(BudgetReached):
        complete_all(2, spec.model_copy(update={"model": "other"}), meter)
    assert meter.tokens == 2 * USED


def test_a_budget_in_dollars_stops_before_it_is_used_up(
    warehouse: Warehouse, spec: EngineSpec, sent: Calls
) -> None:
    dear = spec.model_copy(update=PRICED)
    # An answer costs at most 0.000234, and 1 · 2 + 2 · 10 = 22 millionths when it is there.
    meter = Meter(Budget(max_usd=0.000234 + 3 * 0.000022))
    with pytest.raises(BudgetReached):
        complete_all(6, dear, meter)
    assert meter.usd == pytest.approx(4 * 0.000022)


def test_a_run_whose_answers_are_short_spends_nearly_all_of_its_limit() -> None:
    """Answers use a twentieth of what they may. In whole batches of 64 a run stopped at a third of the limit,
    for fear of what the next batch might take."""
    rng, most, sent = random.Random(0), Generation("", "length", 100, 900, 0), 0
    meter, priced = Meter(Budget(max_usd=1.0)), served(**PRICED)

    def spend(batch: list[Generation]) -> int:
        k = meter.admit(priced, batch)
        with meter.batch(priced, batch[:k]) as count:
            count(batch[:k], [Generation("x", "stop", 100, rng.randint(1, 70), 0) for _ in range(k)])
        return k

    def work_off(n: int) -> None:
        nonlocal sent
        while n:
            n -= (k := spend([most] * min(n, 64)))
            sent += k
            assert meter.usd <= 1.0

    with pytest.raises(BudgetReached):
        work_off(10_000)
    assert 0.99 < meter.usd <= 1.0
    assert sent > 1500


def test_a_batch_waits_for_those_of_other_threads() -> None:
    most = [Generation("", "length", 17, 20, 0)]
    meter, spec, begun = Meter(Budget(max_tokens=MOST + USED)), served(), Event()
    with ThreadPoolExecutor(1) as pool:

        def second() -> int:
            begun.set()
            n = meter.admit(spec, most)
            with meter.batch(spec, most[:n]) as count:
                count(most, [Generation("x", "stop", 1, 2, 0)])
            return n

        with meter.batch(spec, most) as count:
            waiting = pool.submit(second)
            begun.wait()
            assert not waiting.done()
            count(most, [Generation("x", "stop", 1, 2, 0)])
        assert waiting.result(timeout=60) == 1
    assert meter.tokens == 2 * USED


def test_an_admission_that_is_not_taken_up_is_given_back() -> None:
    most = [Generation("", "length", 17, 20, 0)]
    meter = Meter(Budget(max_tokens=MOST))
    assert meter.admit(served(), most) == 1
    meter.release()
    with meter.batch(served(), most) as count:
        count(most, most)
    assert meter.admit(served(), most) == 1, "nothing fits, and the batch says so"
    with pytest.raises(BudgetReached), meter.batch(served(), most):
        pass


def test_a_bound_keeps_to_the_models_context() -> None:
    most = Generation("", "length", 900, 500, 0)
    assert within(most, None) == within(most, 1400) == most
    cut = within(most, 1000)
    assert (cut.prompt_tokens, cut.completion_tokens) == (500, 500), "the dearest split"
    small = within(most, 300)
    assert (small.prompt_tokens, small.completion_tokens) == (0, 300)


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
