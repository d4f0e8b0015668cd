"""Sampled prompts are independent of each other: by themselves, through the loop, and in a paired test."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import Sampling, each
from tasks.engines.specs import EngineSpec
from tasks.loop.prompts import Prompt, Prompts, prompt_seed
from tasks.loop.requests import Engine

SAMPLED, GREEDY = Sampling(temperature=0.7, seed=5), Sampling(seed=5)
SPEC = EngineSpec(name="fake", kind="fake", model="fake")


def prompt(text: str, sample: str = "") -> Prompt:
    return Prompt([{"role": "user", "content": text}], sample=sample)


def seeds(request: Prompts) -> list[int]:
    """Return the stored seeds."""
    return request.compute(FakeEngine(SPEC), request.units, lambda _: None)["seed"].to_list()


def test_every_sampled_prompt_has_its_own_seed_which_is_stored() -> None:
    prompts = [prompt(str(n)) for n in range(50)]
    request = Prompts(prompts=prompts, sampling=SAMPLED)
    drawn = seeds(request)
    assert drawn == [request.sampling_of(unit).seed for unit in request.units]
    assert len(set(drawn)) == 50
    assert all(0 <= seed < 2**31 for seed in drawn)
    assert seeds(Prompts(prompts=prompts[::-1], sampling=SAMPLED)) == drawn[::-1]
    others = seeds(Prompts(prompts=prompts, sampling=Sampling(temperature=0.7, seed=6)))
    assert set(others).isdisjoint(drawn)


def test_equal_prompts_of_different_samples_have_different_seeds() -> None:
    same = Prompts(prompts=[prompt("a"), prompt("a")], sampling=SAMPLED)
    apart = Prompts(prompts=[prompt("a", "talk 1"), prompt("a", "talk 2"), prompt("a")], sampling=SAMPLED)
    assert (len(same.units), len(apart.units)) == (1, 3)
    assert len(set(seeds(apart))) == 3


def test_greedy_prompts_keep_the_seed_and_the_hash_of_their_request() -> None:
    assert seeds(Prompts(prompts=[prompt("a"), prompt("b")], sampling=GREEDY)) == [5, 5]
    # Hashes of greedy requests stay as they were before each prompt had its own seed.
    engine = Engine("m", "fake", "m", "0123456789abcdef")
    assert prompt("a").id == "81aa432cff59dfb2a0d9691ede5b2060"
    assert Prompts(prompts=[], sampling=GREEDY).hash(engine) == "56cfc4a1bd7d6636"
    # Answers under a shared seed have this hash; no sampled request has it now.
    assert Prompts(prompts=[], sampling=SAMPLED).hash(engine) != "f6463aca581a26b2"


def test_one_sampling_applies_to_all_prompts_and_a_list_to_each_in_turn() -> None:
    assert each(GREEDY, 2) == [GREEDY, GREEDY]
    assert each([GREEDY, SAMPLED], 2) == [GREEDY, SAMPLED]
    with pytest.raises(ValueError, match="1 samplings for 2 conversations"):
        each([GREEDY], 2)


def rejected(is_shared: bool, studies: int = 400, personas: int = 30) -> float:
    """Return the share of paired t-tests at 5 % that find a difference between two equal prompts per persona.

    The engine draws as vLLM does: a text depends on one uniform number u of its seed. The two prompts score u
    and 1 - u, which is the worst case.
    """
    uniform: NDArray[np.float64] = np.empty((studies, 2, personas))
    for study in range(studies):
        for condition in range(2):
            for persona in range(personas):
                seed = prompt_seed(study, f"{condition} {persona}")
                uniform[study, condition, persona] = np.random.Generator(np.random.PCG64(seed)).random()
    if is_shared:
        uniform[:] = uniform[:, :1, :1]
    own = np.random.Generator(np.random.PCG64(1)).normal(0, 0.1, (2, studies, personas))  # what personas add
    treated, control = uniform[:, 0] + own[0], 1 - uniform[:, 1] + own[1]
    return float(np.mean(stats.ttest_rel(treated, control, axis=1).pvalue < 0.05))


@pytest.mark.heavy  # a simulation
def test_a_paired_test_keeps_its_level_with_independent_seeds() -> None:
    assert rejected(is_shared=True) > 0.8  # 0.95: the noise of one seed looks like an effect
    assert 0.03 <= rejected(is_shared=False) <= 0.07
