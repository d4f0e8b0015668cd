"""Null texts, gold and null shares, real against null, families: by hand."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from tasks.judging.controls import (
    NULLS,
    SOURCES,
    acceptances,
    best_null,
    families,
    preference_row,
    refusals,
    same_family,
    separation_row,
    shuffled,
    texts_by_source,
)
from tasks.judging.verdicts import NO_JUDGE
from tasks.loop.requests import Engine
from tasks.metrics.intervals import sign_flip_p, sign_flip_p_two_sided

NAMES = [f"item-{n}" for n in range(12)]
OWN = {name: frozenset({name}) for name in NAMES}
"""No two items share a family."""
TEXTS = {name: f"Because of {name}." for name in NAMES}


def test_real_shuffled_generic_and_empty_texts_by_source() -> None:
    real = {"item-0": "So it is.", "item-1": "It is not."}
    texts = texts_by_source(real, OWN, "It depends.", "norms")
    assert list(texts) == list(SOURCES)
    assert texts["real"] == real
    assert texts["shuffled"] == {"item-0": "It is not.", "item-1": "So it is."}
    assert texts["generic"] == dict.fromkeys(NAMES, "It depends.")
    assert texts["empty"] == dict.fromkeys(NAMES, "")
    assert NULLS == ("shuffled", "generic", "empty")


def test_shuffling_depends_on_names_and_scope_only() -> None:
    mixed = dict(random.Random(1).sample(sorted(TEXTS.items()), len(TEXTS)))
    assert shuffled(mixed, OWN, "norms") == shuffled(TEXTS, OWN, "norms")
    assert shuffled(TEXTS, OWN, "tables") != shuffled(TEXTS, OWN, "norms")


@given(st.lists(st.integers(0, 4), min_size=2, max_size=12))
def test_shuffled_texts_come_from_another_family(groups: list[int]) -> None:
    names = NAMES[: len(groups)]
    families = {name: frozenset({("country", n)}) for name, n in zip(names, groups, strict=True)}
    texts = {name: TEXTS[name] for name in names}
    swapped = shuffled(texts, families, "norms")
    owner = {text: name for name, text in texts.items()}
    assert all(not same_family(families, name, owner[text]) for name, text in swapped.items())
    # No item has a partner only if all are of one family.
    assert set(swapped) == (set(names) if len(set(groups)) > 1 else set())


def test_a_family_is_shared_by_any_of_its_traits() -> None:
    families = {"a": frozenset({"IN", "rice"}), "b": frozenset({"JP", "rice"}), "c": frozenset({"JP"})}
    assert same_family(families, "a", "b")
    assert same_family(families, "b", "c")
    assert not same_family(families, "a", "c")


WHERE = ("benchmark", "normad")


def test_a_text_is_accepted_from_a_score_of_one_half() -> None:
    # 0.5 and 0.9 are accepted; 0, 0.2 and 0.49 are refused: 3 of 5. One is unscored.
    row = refusals("generic", WHERE, [0.0, 0.2, 0.49, 0.5, 0.9, None], "nobody judged")
    assert (row.metric, row.slice_kind, row.slice) == ("judge_generic_refused", *WHERE)
    assert row.value == pytest.approx(0.6)
    assert (row.n_scored, row.n_unscored, row.unscored_reason) == (5, 1, None)


def test_gold_acceptance_is_the_complement_of_refusal() -> None:
    row = acceptances(WHERE, [0.0, 0.5, 0.9, math.nan], "nobody judged")
    assert row.metric == "judge_gold_accepted"
    assert (row.value, row.n_scored, row.n_unscored) == (pytest.approx(2 / 3), 2 + 1, 1)


@pytest.mark.parametrize(("refused", "n"), [(0, 4), (3, 5), (20, 20)])
def test_shares_of_refusals_have_the_clopper_pearson_interval(refused: int, n: int) -> None:
    row = refusals("empty", WHERE, [0.0] * refused + [1.0] * (n - refused), "nobody judged")
    exact = binomtest(refused, n).proportion_ci(0.95, method="exact")
    assert (row.ci_low, row.ci_high) == pytest.approx((exact.low, exact.high))
    # Refusing all of these does not prove that the judge always refuses.
    assert (row.ci_low, row.ci_high) != (row.value, row.value)


NONE = np.full(8, "", dtype=object)
FULL = np.full(8, 0.5)
EIGHT = list("abcdefgh")


def flag(real: np.ndarray, null: np.ndarray, clusters: list[str], why: str = "") -> tuple[object, ...]:
    reasons = np.where(np.isnan(real), why, "").astype(object)
    row = separation_row(WHERE, (real, reasons), (null, NONE), clusters, "personas", 0)
    assert (row.metric, row.slice_kind, row.slice) == ("tells_real_from_shuffled", *WHERE)
    return row[3:7]


def test_eight_equal_gains_are_significant_and_losses_are_not() -> None:
    assert flag(FULL, FULL - 0.1, EIGHT) == (1.0, None, 8, 0)  # 1 / 256 of all orders of signs
    assert flag(FULL, FULL + 0.1, EIGHT) == (0.0, None, 8, 0)
    assert flag(FULL, FULL, EIGHT) == (0.0, None, 8, 0)


def test_five_clusters_are_unscored_with_a_reason() -> None:
    few = list("aabbccde")
    assert flag(FULL, FULL - 0.1, few) == (None, "fewer than 6 personas cannot show a difference", 0, 8)
    three_missing = np.where(np.arange(8) < 3, np.nan, FULL)
    why = "fewer than 6 personas cannot show a difference"
    assert flag(three_missing, FULL - 0.1, EIGHT, "cut off")[:2] == (None, why)
    assert flag(np.full(8, np.nan), FULL, EIGHT, "cut off") == (None, "cut off", 0, 8)


def test_the_best_null_has_the_highest_mean() -> None:
    unknown = np.full(2, np.nan)
    assert best_null([np.array([0.2, np.nan]), np.array([0.3, 0.0]), unknown]) == pytest.approx(0.2)
    assert best_null([unknown]) is None
    assert best_null([]) is None


def test_the_two_sided_p_is_twice_the_one_sided() -> None:
    values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert sign_flip_p(values) == 1 / 64
    assert sign_flip_p_two_sided(values) == sign_flip_p_two_sided([-v for v in values]) == 2 / 64
    assert sign_flip_p_two_sided([1.0, -1.0]) == 1.0


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("embedded:smollm2-135m", {"smollm"}),
        ("HuggingFaceTB/SmolLM3-3B", {"smollm"}),
        ("meta-llama/Llama-3.1-70B-Instruct-Turbo", {"llama"}),
        ("meta-llama/Llama-4-Scout-17B-16E", {"llama"}),
        ("codellama/CodeLlama-7b-hf", {"llama"}),
        ("embedded:gemma3-270m", {"gemini"}),
        ("google/gemini-2.5-pro", {"gemini"}),
        ("Qwen/Qwen2.5-72B-Instruct-Turbo", {"qwen"}),
        ("Qwen/QwQ-32B", {"qwen"}),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", {"mistral"}),
        ("gpt-4o-2024-08-06", {"gpt"}),
        ("openai/gpt-oss-20b", {"gpt"}),
        ("chatgpt-4o-latest", {"gpt"}),
        ("gpt2", {"gpt"}),
        ("o3-mini-2025-01-31", {"gpt"}),
        ("openai/o1", {"gpt"}),
        ("claude-sonnet-4-20250514", {"claude"}),
        ("anthropic/claude-3.7-sonnet", {"claude"}),
        ("deepseek-ai/DeepSeek-V3", {"deepseek"}),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", {"deepseek", "qwen"}),
        ("nvidia/Llama-3.1-Nemotron-70B-Instruct", {"llama", "nemotron"}),
        ("/models/Qwen2.5-7B.Q4_K_M.gguf", {"qwen"}),
        ("microsoft/phi-4", {"phi"}),
        ("CohereForAI/c4ai-command-r-plus", {"command"}),
        # "ollama" contains "llama" but is not of that family.
        ("ollama/unknown", set()),
        ("TinyLlama/TinyLlama-1.1B-Chat-v1.0", set()),
        ("EleutherAI/gpt-j-6b", set()),
        ("EleutherAI/gpt-neo-2.7B", set()),
        ("EleutherAI/gpt-neox-20b", set()),
        ("nomic-ai/gpt4all-13b", set()),
        ("sophia-7b", set()),
        ("foo-o33", set()),
        ("Prometheus-2", set()),
        ("", set()),
    ],
)
def test_model_families_are_read_from_names(model: str, expected: set[str]) -> None:
    assert families(model) == expected
    assert families(model.upper()) == expected


@pytest.mark.parametrize(
    ("judge", "candidate", "value"),
    [
        ("Qwen/QwQ-32B", "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", 1.0),
        ("gpt-5", "openai/gpt-4o", 1.0),
        ("gpt-5", "claude-opus-4", 0.0),
        ("Our/Model", "our/model", 1.0),  # an unknown family is compared only by name
        ("our/model", "our/other", 0.0),
    ],
)
def test_a_judge_of_the_candidates_family_has_a_preference_warning(
    judge: str, candidate: str, value: float
) -> None:
    judges = [Engine("other", "fake", "nobody-2", "h"), Engine("j", "fake", judge, "i")]
    row, without = preference_row(judges, candidate), preference_row([], candidate)
    assert (row.value, row.n_scored, row.n_unscored) == (value, len(judges), 0)
    assert (without.unscored_reason, without.n_scored, without.n_unscored) == (NO_JUDGE, 0, 1)
