"""Tokens of contexts and continuations, against lm-evaluation-harness's own code over the same tokenizers."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from tasks.engines.pairs import longest, pair_tokens, rendered_context
from tasks.engines.protocols import EngineError, TextPair

PAIRS = [
    TextPair("The capital of Peru is", " Lima"),
    TextPair("The capital of Peru is ", "Lima"),
    TextPair("Q: what?\n\nA:\n", "yes and no"),
    TextPair("정답:", " 야구, 축구"),
    TextPair("ب", "كبسة"),
    TextPair("", " alone"),
    TextPair("<|im_start|>user\nHi<|im_end|>\n", "Hello"),
    TextPair("<bos>Hi", " there"),
    TextPair("merged wo", "rds of it"),
]


def theirs(tokenizer: Any, pair: TextPair) -> tuple[list[int], list[int]]:
    """Return the tokens that the harness passes to its model."""
    from lm_eval.models.huggingface import HFLM

    model = object.__new__(HFLM)
    model.tokenizer, model.backend = tokenizer, "causal"
    model.add_bos_token = model.custom_prefix_token_id = model.enable_thinking = None
    found: list[tuple[list[int], list[int]]] = []
    model._loglikelihood_tokens = lambda requests, **_: found.extend((c, r) for _, c, r in requests)
    model.loglikelihood([SimpleNamespace(args=tuple(pair))], disable_tqdm=True)
    return found[0]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: repr(pair.context[:12]))
@pytest.mark.parametrize("which", ["smollm2_tokenizer", "gemma3_tokenizer"])
def test_tokens_equal_those_of_the_harness(
    which: str, pair: TextPair, request: pytest.FixtureRequest
) -> None:
    tokenizer = request.getfixturevalue(which)
    head, rest = theirs(tokenizer, pair)
    (own,) = pair_tokens(tokenizer, [pair], 1000)
    assert own.tokens == head + rest
    assert own.n_scored == len(rest)
    assert own.n_cut == 0


def test_pairs_of_one_call_are_independent(smollm2_tokenizer: Any) -> None:
    alone = [pair_tokens(smollm2_tokenizer, [pair], 1000)[0] for pair in PAIRS]
    assert pair_tokens(smollm2_tokenizer, PAIRS, 1000) == alone


def test_too_long_context_is_cut_on_the_left(smollm2_tokenizer: Any) -> None:
    pair = TextPair("one two three four five six seven", " eight nine")
    (whole,) = pair_tokens(smollm2_tokenizer, [pair], 1000)
    (cut,) = pair_tokens(smollm2_tokenizer, [pair], 5)
    assert cut.tokens == whole.tokens[-6:]
    assert cut.n_cut == len(whole.tokens) - 6


def test_continuation_without_a_token_is_refused(smollm2_tokenizer: Any) -> None:
    with pytest.raises(EngineError, match="the continuation '' has no token of its own: leave it out"):
        pair_tokens(smollm2_tokenizer, [TextPair("Hi", "")], 100)


def test_template_without_system_role_is_rendered_without_it(smollm2_tokenizer: Any) -> None:
    talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]

    class Picky:
        chat_template, name_or_path = "x", "picky"

        def apply_chat_template(self, messages: Any, **_: Any) -> str:
            if messages[0]["role"] == "system":
                raise ValueError("System role not supported")
            return f"<{messages[0]['content']}>"

    assert rendered_context(Picky(), talk) == "<Hi>"
    assert "Be brief." in rendered_context(smollm2_tokenizer, talk)


@pytest.mark.parametrize("ignores", [True, False])
def test_a_system_prompt_that_a_template_drops_is_said_once(
    ignores: bool, caplog: pytest.LogCaptureFixture
) -> None:
    class Drops:
        chat_template, name_or_path = "x", f"drops {ignores}"

        def apply_chat_template(self, messages: Any, **_: Any) -> str:
            if messages[0]["role"] == "system" and not ignores:
                raise ValueError("System role not supported")
            return f"<{messages[-1]['content']}>"

    logging.getLogger("culturemeter").propagate = True
    talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    assert [rendered_context(Drops(), each) for each in (talk[1:], talk, talk)] == ["<Hi>"] * 3
    records = {id(record): record for record in caplog.records}  # two handlers may have one record
    assert [record.message.partition(":")[0] for record in records.values()] == [
        f"the chat template of 'drops {ignores}' has no place for a system prompt"
    ]


def test_conversation_without_a_chat_template_is_refused(gemma3_tokenizer: Any) -> None:
    with pytest.raises(EngineError, match="no chat template: leave --chat out"):
        rendered_context(gemma3_tokenizer, [{"role": "user", "content": "Hi"}])


def test_longest_context_comes_from_config_tokenizer_or_default() -> None:
    unsaid = SimpleNamespace(model_max_length=10**30)
    assert longest(SimpleNamespace(max_position_embeddings=512), unsaid) == 512
    assert longest(SimpleNamespace(), SimpleNamespace(model_max_length=300)) == 300
    assert longest(SimpleNamespace(), unsaid) == 2048
