"""The boundary rule on both embedded tokenizers, against tokenising the whole text at once."""

from __future__ import annotations

import pytest
from transformers import PreTrainedTokenizerBase

from tasks.engines import prompting
from tasks.engines.protocols import RAW, EngineError, is_continued

QUESTIONS = ["What do people eat in Peru?", "What is a holiday in Côte d'Ivoire?"]


@pytest.fixture(params=["smollm2_tokenizer", "gemma3_tokenizer"])
def tokenizer(request: pytest.FixtureRequest) -> PreTrainedTokenizerBase:
    found: PreTrainedTokenizerBase = request.getfixturevalue(request.param)
    return found


def test_base_framing_adds_an_answer_cue(tokenizer: PreTrainedTokenizerBase) -> None:
    framed = prompting.frame(tokenizer, QUESTIONS, "base")
    assert framed.prefixes == [f"{q}\nAnswer:" for q in QUESTIONS]
    assert (framed.lead, framed.style) == (" ", "base")


def test_chat_framing_ends_with_the_assistant_header(smollm2_tokenizer: PreTrainedTokenizerBase) -> None:
    framed = prompting.frame(smollm2_tokenizer, QUESTIONS[:1], "chat")
    assert framed == prompting.frame(smollm2_tokenizer, QUESTIONS[:1], "auto")
    assert framed.prefixes[0].endswith(f"user\n{QUESTIONS[0]}<|im_end|>\n<|im_start|>assistant\n")
    assert (framed.lead, framed.style) == ("", "chat")


def test_auto_style_is_base_without_a_template(gemma3_tokenizer: PreTrainedTokenizerBase) -> None:
    assert prompting.frame(gemma3_tokenizer, QUESTIONS).style == "base"


def test_chat_style_without_a_template_is_refused(gemma3_tokenizer: PreTrainedTokenizerBase) -> None:
    with pytest.raises(EngineError, match=r'gemma3-270m.*no chat template: set prompt_style = "base"'):
        prompting.frame(gemma3_tokenizer, QUESTIONS, "chat")


def test_start_token_is_added_once(
    smollm2_tokenizer: PreTrainedTokenizerBase, gemma3_tokenizer: PreTrainedTokenizerBase
) -> None:
    bos = gemma3_tokenizer.bos_token_id
    for prefix in ("What?\nAnswer:", "<bos>What?\nAnswer:"):
        tokens = prompting.prefix_tokens(gemma3_tokenizer, prefix)
        assert tokens[0] == bos
        assert tokens.count(bos) == 1
    # SmolLM2 adds no start token to plain text; each of its template's three turns begins with that token.
    chat = prompting.frame(smollm2_tokenizer, QUESTIONS[:1]).prefixes[0]
    assert prompting.prefix_tokens(smollm2_tokenizer, chat).count(smollm2_tokenizer.bos_token_id) == 3
    assert smollm2_tokenizer.bos_token_id not in prompting.prefix_tokens(smollm2_tokenizer, "What?")


@pytest.mark.parametrize("style", ["base", "auto"])
def test_prefix_and_item_concatenate_to_the_whole_text(
    tokenizer: PreTrainedTokenizerBase, sample_items: list[str], style: str
) -> None:
    framed = prompting.frame(tokenizer, QUESTIONS, style)
    items = [framed.lead + item for item in sample_items]
    assert len(items) > 280
    for prefix in framed.prefixes:
        start = prompting.prefix_tokens(tokenizer, prefix)
        rests = prompting.continuation_tokens(tokenizer, prefix, items)
        adds = not (tokenizer.bos_token and prefix.startswith(tokenizer.bos_token))
        whole = tokenizer([prefix + i for i in items], add_special_tokens=adds).input_ids
        wrong = [i for i, rest, ids in zip(items, rests, whole, strict=True) if start + rest != ids]
        assert not wrong


def test_all_prefixes_give_the_same_item_tokens(
    tokenizer: PreTrainedTokenizerBase, sample_items: list[str]
) -> None:
    framed = prompting.frame(tokenizer, QUESTIONS)
    items = [framed.lead + item for item in sample_items]
    one, other = (prompting.continuation_tokens(tokenizer, p, items) for p in framed.prefixes)
    assert one == other


def test_sides_are_tokenised_apart_if_tokens_merge_across_the_boundary(
    gemma3_tokenizer: PreTrainedTokenizerBase,
) -> None:
    rest = prompting.continuation_tokens(gemma3_tokenizer, "The answ", ["er is"])[0]
    assert gemma3_tokenizer("The answ").input_ids + rest != gemma3_tokenizer("The answer is").input_ids
    assert rest == gemma3_tokenizer("er is", add_special_tokens=False).input_ids


def test_item_without_a_token_is_refused(tokenizer: PreTrainedTokenizerBase) -> None:
    with pytest.raises(EngineError, match="the item '' has no token"):
        prompting.continuation_tokens(tokenizer, "What?\nAnswer:", [" bread", ""])


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Food?", "Food?\nAnswer:"), ("Q: food?\nAnswer:", None), ("음식? 답변: ", "음식? 답변:")],
)
def test_plain_prompt_ends_with_one_cue(text: str, expected: str | None) -> None:
    assert prompting.plain_prompt([{"role": "user", "content": text}]) == (expected or text)


def test_plain_prompt_begins_with_the_system_message() -> None:
    talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Food?"}]
    assert prompting.plain_prompt(talk) == "Be brief.\n\nFood?\nAnswer:"


@pytest.mark.parametrize(
    ("roles", "continued"),
    [([RAW], True), (["user", "assistant"], True), (["user"], False), (["user", "assistant", "user"], False)],
)
def test_raw_texts_and_begun_answers_are_continued(roles: list[str], continued: bool) -> None:
    assert is_continued([{"role": role, "content": "?"} for role in roles]) == continued
