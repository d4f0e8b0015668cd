"""The answer of a model that may think is scored where an answer begins, or not at all.

The templates are short ones in the form of public families: what they write at the end of a prompt, before an
assistant's text, and for their switches.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from transformers import PreTrainedTokenizerBase

from tasks.engines import pairs, prompting, templates
from tasks.engines.protocols import EngineError, TextPair
from tests.engines import tiny_models as tiny

USER = [{"role": "user", "content": "Food?"}]
TURNS = "{% for m in messages %}{% if m.role == 'assistant' %}%s{% else %}%s{% endif %}{% endfor %}"
CHATML = "{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}"


def chatml(prompt: str, answer: str = "{{ '<|im_start|>assistant\n' + m.content + '<|im_end|>\n' }}") -> str:
    """Return a template of ChatML's form. prompt: its end. answer: of an assistant's message."""
    turns = TURNS.replace("%s", answer, 1).replace("%s", CHATML, 1)
    return f"{turns}{{% if add_generation_prompt %}}{prompt}{{% endif %}}"


HEADER = "{{ '<|im_start|>assistant\n' }}"
EMPTY = "{{ '<think>\n\n</think>\n\n' }}"
UNLESS_ON = "{% if enable_thinking is defined and enable_thinking is false %}"
WITH_EMPTY = "{{ '<|im_start|>assistant\n<think>\n\n</think>\n\n' + m.content + '<|im_end|>\n' }}"
SPLIT = "{{ '<|im_start|>assistant\n' + m.content.split('</think>')[-1] + '<|im_end|>\n' }}"
DEEPSEEK = TURNS.replace("%s{% endif %}", "{{ '<｜User｜>' + m.content }}{% endif %}")
GRANITE_ON = (
    "{% if thinking %}{{ '<|start_of_role|>system<|end_of_role|>Think first.<|end_of_text|>\n' }}{% endif %}"
)


class Family(NamedTuple):
    """A template; the end of its answer prompt after the question, or what the refusal says."""

    template: str
    end: str = ""
    refused: str = ""


FAMILIES = {
    "Qwen3": Family(
        chatml(f"{HEADER}{UNLESS_ON}{EMPTY}{{% endif %}}", WITH_EMPTY),
        "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
    ),
    "Qwen3-Thinking-2507": Family(
        chatml("{{ '<|im_start|>assistant\n<think>\n' }}", WITH_EMPTY),
        "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
    ),
    "QwQ": Family(
        chatml("{{ '<|im_start|>assistant\n<think>\n' }}", SPLIT), refused="open block of thoughts"
    ),
    "DeepSeek-R1": Family(
        DEEPSEEK.replace("%s", "{{ '<｜Assistant｜>' + m.content.split('</think>')[-1] }}")
        + "{% if add_generation_prompt %}{{ '<｜Assistant｜><think>\n' }}{% endif %}",
        "<｜Assistant｜><think>\n\n</think>\n\n",
    ),
    "DeepSeek-V3.1": Family(
        DEEPSEEK.replace("%s", "{{ '<｜Assistant｜></think>' + m.content }}")
        + "{% if add_generation_prompt %}{{ '<｜Assistant｜>' }}"
        "{% if thinking is defined and thinking %}{{ '<think>' }}"
        "{% else %}{{ '</think>' }}{% endif %}{% endif %}",
        "<｜Assistant｜></think>",
    ),
    "gpt-oss": Family(
        "{{ '<|start|>system<|message|>Reasoning: ' + (reasoning_effort or 'medium') + '<|end|>' }}"
        "{% for m in messages %}{% if m.role == 'assistant' %}"
        "{{ '<|start|>assistant<|channel|>final<|message|>' + m.content + '<|return|>' }}{% else %}"
        "{{ '<|start|>user<|message|>' + m.content + '<|end|>' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}",
        "<|end|><|start|>assistant<|channel|>final<|message|>",
    ),
    "GLM-4.5": Family(
        "[gMASK]<sop>{% for m in messages %}{% if m.role == 'user' %}{{ '<|user|>\n' + m.content }}"
        "{{ '/nothink' if enable_thinking is defined and not enable_thinking else '' }}{% else %}"
        "{{ '<|assistant|>\n<think></think>\n' + m.content.strip() }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|assistant|>' }}"
        "{{ '\n<think></think>' if enable_thinking is defined and not enable_thinking else '' }}{% endif %}",
        "/nothink<|assistant|>\n<think></think>\n",
    ),
    "SmolLM3": Family(
        "{% if enable_thinking is not defined %}{% set enable_thinking = true %}{% endif %}"
        + chatml(f"{HEADER}{{% if not enable_thinking %}}{{{{ '<think>\n\n</think>\n' }}}}{{% endif %}}"),
        "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n",
    ),
    "Granite": Family(GRANITE_ON + chatml(HEADER), "<|im_end|>\n<|im_start|>assistant\n"),
    "Hunyuan": Family(
        chatml(f"{HEADER}{UNLESS_ON}{{{{ '<think>\n\n</think>\n' }}}}{{% endif %}}"),
        "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n",
    ),
    "Nemotron-Nano-v2": Family(
        "{% set ns = namespace(on=true) %}{% for m in messages %}{% if '/think' in m.content %}"
        "{% set ns.on = true %}{% elif '/no_think' in m.content %}{% set ns.on = false %}{% endif %}"
        "{% endfor %}" + chatml(f"{HEADER}{{{{ '<think>\n' if ns.on else '<think></think>' }}}}"),
        "<|im_end|>\n<|im_start|>assistant\n<think></think>",
    ),
    "Seed-OSS": Family(
        chatml(
            "{{ '<|im_start|>assistant\n' }}{% if thinking_budget is defined and thinking_budget == 0 %}"
            "{{ '<seed:think>None.</seed:think>' }}{% endif %}"
        ),
        "<|im_end|>\n<|im_start|>assistant\n<seed:think>None.</seed:think>",
    ),
    "EXAONE-4": Family(
        chatml(
            f"{HEADER}{{% if enable_thinking is defined and enable_thinking is true %}}{{{{ '<think>\n' }}}}"
            f"{{% else %}}{EMPTY}{{% endif %}}"
        ),
        "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
    ),
    "EXAONE-Deep": Family(chatml("{{ '[|assistant|]<thought>\n' }}"), refused="open block of thoughts"),
    "Magistral": Family(
        "{{ '[SYSTEM_PROMPT]First draft in [THINK][/THINK].[/SYSTEM_PROMPT]' }}{% for m in messages %}"
        "{% if m.role == 'user' %}{{ '[INST]' + m.content + '[/INST]' }}{% else %}{{ m.content }}{% endif %}"
        "{% endfor %}",
        refused="has no switch for them",
    ),
    "Kimi-K2-Thinking": Family(
        chatml(HEADER, "{{ '<|im_start|>assistant\n<think></think>' + m.content }}"),
        "<|im_end|>\n<|im_start|>assistant\n<think></think>",
    ),
    "Command R7B": Family(
        "{# <|START_THINKING|> #}"
        + chatml(HEADER, "{{ '<|im_start|>assistant\n<|START_RESPONSE|>' + m.content }}"),
        "<|im_end|>\n<|im_start|>assistant\n<|START_RESPONSE|>",
    ),
    "Gemma 4": Family(
        "{% if enable_thinking is defined and enable_thinking %}{{ '<|think|>' }}{% endif %}"
        + chatml(
            f"{HEADER}{{% if not enable_thinking | default(false) %}}"
            f"{{{{ '<|channel>thought\n<channel|>' }}}}"
            "{% endif %}"
        ),
        "<|im_end|>\n<|im_start|>assistant\n<|channel>thought\n<channel|>",
    ),
    "MiniMax-M2": Family(chatml("{{ ']~b]ai\n<think>\n' }}"), refused="open block of thoughts"),
    "Qwen3.5": Family(
        chatml(f"{HEADER}{UNLESS_ON}{EMPTY}{{% else %}}{{{{ '<think>\n' }}}}{{% endif %}}"),
        "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
    ),
    "Command A Reasoning": Family(
        "{% set reasoning = reasoning | default(true) %}"
        + chatml(
            "{{ '<|CHATBOT_TOKEN|>' }}{% if not reasoning %}"
            "{{ '<|START_THINKING|><|END_THINKING|>' }}{% endif %}",
            "{{ '<|CHATBOT_TOKEN|><|START_RESPONSE|>' + m.content + '<|END_RESPONSE|>' }}",
        ),
        "<|im_end|>\n<|CHATBOT_TOKEN|><|START_THINKING|><|END_THINKING|><|START_RESPONSE|>",
    ),
    "Cogito": Family(
        "{% if enable_thinking is defined and enable_thinking %}{{ 'Enable deep thinking.' }}{% endif %}"
        + chatml(HEADER),
        "<|im_end|>\n<|im_start|>assistant\n",
    ),
    "Apertus": Family(
        "{{ 'Deliberation: ' + ('enabled' if enable_thinking | default(false) else 'disabled') }}"
        + chatml("{{ '<|assistant_start|>' }}", "{{ '<|assistant_start|>' + m.content }}"),
        "<|im_end|>\n<|assistant_start|>",
    ),
    "Solar-Open": Family(
        "{% set effort = reasoning_effort | default('high') %}"
        + chatml(
            "{{ '<|begin|>assistant' + ('<|think|><|end|><|begin|>assistant' if effort == 'low' else '') }}",
            "{{ '<|begin|>assistant<|content|>' + m.content + '<|end|>' }}",
        ),
        "<|im_end|>\n<|begin|>assistant<|content|>",
    ),
    "MiMo": Family(
        chatml(
            f"{HEADER}{{% if not enable_thinking | default(true) %}}{{{{ '<think></think>' }}}}{{% endif %}}"
        ),
        "<|im_end|>\n<|im_start|>assistant\n<think></think>",
    ),
    "Olmo-3-Think": Family(
        chatml("{{ '<|im_start|>assistant\n<think>' }}"), refused="open block of thoughts"
    ),
    "Kimi-VL-Thinking": Family(chatml(f"{HEADER}◁think▷"), refused="open block of thoughts"),
    "Phi-4-reasoning": Family(
        "Answer in two parts: <think> thoughts </think> and the solution." + chatml(HEADER),
        refused="has no switch for them",
    ),
    "LFM2.5-Thinking": Family(
        chatml(HEADER, "{{ '<|im_start|>assistant\n' + m.content.split('</think>')[-1] + '<|im_end|>\n' }}"),
        refused="has no switch for them",
    ),
    "without thoughts": Family(chatml(HEADER), "<|im_end|>\n<|im_start|>assistant\n"),
}


def tokenizer_of(name: str) -> PreTrainedTokenizerBase:
    tokenizer = tiny.bert_tokenizer()
    tokenizer.chat_template = FAMILIES[name].template
    return tokenizer


SCORED = [name for name, family in FAMILIES.items() if not family.refused]


@pytest.mark.parametrize("name", SCORED)
def test_an_answer_is_scored_where_one_begins(name: str) -> None:
    tokenizer, end = tokenizer_of(name), FAMILIES[name].end
    (prefix,) = prompting.frame(tokenizer, ["Food?"]).prefixes
    assert prefix.endswith(f"Food?{end}"), prefix
    assert pairs.rendered_context(tokenizer, USER) == prefix
    begun = [*USER, {"role": "assistant", "content": "Rice and"}]
    assert pairs.rendered_context(tokenizer, begun) == f"{prefix}Rice and"


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in SCORED])
def test_a_model_that_cannot_be_kept_from_thinking_is_refused(name: str) -> None:
    tokenizer = tokenizer_of(name)
    for refused in (
        lambda: prompting.frame(tokenizer, ["Food?"]),
        lambda: pairs.pair_tokens(tokenizer, [TextPair(USER, "rice")], 99),
    ):
        with pytest.raises(EngineError, match=f"may think before it answers.*{FAMILIES[name].refused}"):
            refused()
    assert prompting.frame(tokenizer, ["Food?"], "base").style == "base"
    assert "Food?" in templates.prompt(tokenizer, USER), "it may still write"


@pytest.mark.parametrize("name", SCORED)
def test_a_system_message_stays_and_keeps_thinking_off(name: str) -> None:
    tokenizer = tokenizer_of(name)
    text = templates.answer_prompt(tokenizer, [{"role": "system", "content": "Be brief."}, *USER])
    assert text.endswith(FAMILIES[name].end)
    assert "Be brief." in text


def test_text_that_looks_like_thoughts_in_a_question_changes_nothing() -> None:
    tokenizer = tokenizer_of("Qwen3")
    (prefix,) = prompting.frame(tokenizer, ["What does <think> mean?"]).prefixes
    assert prefix.endswith(FAMILIES["Qwen3"].end)


def test_a_question_that_switches_thinking_on_is_refused() -> None:
    with pytest.raises(EngineError, match="such as /think in it"):
        prompting.frame(tokenizer_of("Nemotron-Nano-v2"), ["And /think of food?"])


@pytest.mark.parametrize("name", ["Qwen3", "DeepSeek-V3.1"])
def test_a_spec_that_switches_thinking_on_is_not_scored(name: str) -> None:
    variable = {"Qwen3": "enable_thinking", "DeepSeek-V3.1": "thinking"}[name]
    with pytest.raises(
        EngineError, match=f"chat_template_kwargs sets {variable}: leave it out, or set it to"
    ):
        prompting.frame(tokenizer_of(name), ["Food?"], "chat", {variable: True})


def test_a_model_that_never_thinks_is_scored_if_the_spec_says_so() -> None:
    (prefix,) = prompting.frame(
        tokenizer_of("Magistral"), ["Food?"], "auto", {"enable_thinking": False}
    ).prefixes
    assert prefix.endswith("[INST]Food?[/INST]")
    with pytest.raises(EngineError, match="open block"):
        prompting.frame(tokenizer_of("MiniMax-M2"), ["Food?"], "auto", {"enable_thinking": False})


def test_other_variables_of_a_template_are_used() -> None:
    tokenizer = tiny.bert_tokenizer()
    tokenizer.chat_template = "{{ region }}: " + chatml(HEADER)
    assert prompting.frame(tokenizer, ["Food?"], "chat", {"region": "Peru"}).prefixes[0].startswith("Peru: ")


def test_a_free_text_begins_with_thoughts_as_the_model_is_made() -> None:
    assert templates.prompt(tokenizer_of("MiniMax-M2"), USER).endswith("<think>\n")
    assert templates.prompt(tokenizer_of("Qwen3"), USER).endswith("assistant\n")


def test_templates_with_tools_are_read_by_their_default() -> None:
    tokenizer: Any = tiny.bert_tokenizer()
    tokenizer.chat_template = {"default": FAMILIES["Qwen3"].template, "tool_use": "{{ tools }}"}
    (prefix,) = prompting.frame(tokenizer, ["Food?"]).prefixes
    assert prefix.endswith(FAMILIES["Qwen3"].end)
