"""Families by name, and when a judge warns of favouring its own."""

from __future__ import annotations

import pytest

from tasks.judging.controls import families, preference_row
from tasks.judging.verdicts import NO_JUDGE
from tasks.loop.requests import Engine


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
        # Not of the family that a part of the name spells.
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
def test_families_by_name(model: str, expected: set[str]) -> None:
    assert families(model) == expected
    assert families(model.upper()) == expected


@pytest.mark.parametrize(
    ("judge", "candidate", "value"),
    [
        ("Qwen/QwQ-32B", "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", 1.0),
        ("gpt-5", "openai/gpt-4o", 1.0),
        ("gpt-5", "claude-opus-4", 0.0),
        ("Our/Model", "our/model", 1.0),  # an unknown one is compared by name alone
        ("our/model", "our/other", 0.0),
    ],
)
def test_a_judge_of_the_candidates_family_is_flagged(judge: str, candidate: str, value: float) -> None:
    judges = [Engine("other", "fake", "nobody-2", "h"), Engine("j", "fake", judge, "i")]
    assert preference_row(judges, candidate).value == value
    assert preference_row([], candidate).unscored_reason == NO_JUDGE
