"""Families by name, and when a judge warns of favouring its own."""

from __future__ import annotations

import pytest

from tasks.judging.family import families, self_preference_warning


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


def test_a_warning_names_both_and_the_family() -> None:
    warning = self_preference_warning("Qwen/Qwen3-235B-A22B", "Qwen/Qwen2.5-72B-Instruct")
    assert warning == (
        "the judge Qwen/Qwen3-235B-A22B and the candidate Qwen/Qwen2.5-72B-Instruct are of the same family "
        "(qwen): it may favour its own kind"
    )
    assert self_preference_warning("Qwen/QwQ-32B", "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B") is not None
    assert self_preference_warning("gpt-5", "openai/gpt-4o") is not None
    assert self_preference_warning("gpt-5", "claude-opus-4") is None


def test_an_unknown_model_is_compared_by_name_alone() -> None:
    warning = self_preference_warning("Our/Model", "our/model")
    assert warning == "the judge Our/Model judges its own answers: it may favour them"
    assert self_preference_warning("our/model", "our/other") is None
