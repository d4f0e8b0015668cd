"""Special tokens of twelve kinds of tokenizers: a text starts as its model's texts do, and has no end."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from tasks.engines import pairs, prompting
from tasks.engines.local.packed_trie import PackedTrieScorer
from tasks.engines.protocols import EngineError, TextPair
from tasks.engines.templates import Rendered
from tests.engines import tiny_models as tiny

SPECIAL = ["<pad>", "<s>", "</s>", "<unk>", "[gMASK]", "<sop>", "<|user|>", "<|assistant|>"]
WORDS = ["the", "food", "of", "peru", "is", "rice", "pudding", "salt", ":", "?", "\n"]
CHAT = "{% for m in messages %}<|user|>{{ m.content }}{% endfor %}<|assistant|>"
USER = [{"role": "user", "content": "food of peru ?"}]
RAW, REST = "the food of peru is", " rice pudding"


class Kind(NamedTuple):
    """A tokenizer: what it adds around a text, its chat template, its splitting, and its start token."""

    around: str = "$A"
    template: str = CHAT
    metaspace: bool = False
    bos: str | None = "<s>"
    start: tuple[str, ...] = ()
    """Tokens that a plain text starts with."""


KINDS = {
    "adds nothing (Qwen)": Kind(),
    "adds nothing, has no start token": Kind(bos=None),
    "adds a start token (Llama 3, Gemma)": Kind("<s> $A", start=("<s>",)),
    "adds a start token, template has it too": Kind("<s> $A", "{{ bos_token }}" + CHAT, start=("<s>",)),
    "adds a start token, template begins on the next line": Kind(
        "<s> $A", "{{ '\n' }}{{ bos_token }}" + CHAT, start=("<s>",)
    ),
    "adds an end token (T5)": Kind("$A </s>"),
    "adds an end token, template has one": Kind("$A </s>", CHAT + "{{ eos_token }}"),
    "adds start and end": Kind("<s> $A </s>", start=("<s>",)),
    "adds start and end, template starts": Kind("<s> $A </s>", "{{ bos_token }}" + CHAT, start=("<s>",)),
    "adds two tokens that are no start token (GLM)": Kind(
        "[gMASK] <sop> $A", "[gMASK]<sop>" + CHAT, bos=None, start=("[gMASK]", "<sop>")
    ),
    "marks spaces (SentencePiece)": Kind("<s> $A", metaspace=True, start=("<s>",)),
    "marks spaces and adds an end token": Kind("$A </s>", metaspace=True),
}


def tokenizer_of(kind: Kind) -> PreTrainedTokenizerFast:
    words = [f"▁{word}" for word in WORDS] + WORDS if kind.metaspace else WORDS
    made = Tokenizer(models.WordLevel({w: i for i, w in enumerate([*SPECIAL, *words])}, unk_token="<unk>"))
    if kind.metaspace:
        made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    else:
        made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single=kind.around, special_tokens=[(word, i) for i, word in enumerate(SPECIAL)]
    )
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=made, bos_token=kind.bos, eos_token="</s>", unk_token="<unk>", pad_token="<pad>",
        additional_special_tokens=SPECIAL[4:],
    )  # fmt: skip
    tokenizer.chat_template = kind.template
    return tokenizer


def words(tokenizer: PreTrainedTokenizerFast, ids: list[int]) -> list[str]:
    return [word.removeprefix("▁") for word in tokenizer.convert_ids_to_tokens(ids)]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


def test_a_plain_text_starts_once_and_never_ends(kind: Kind) -> None:
    tokenizer = tokenizer_of(kind)
    start = "".join(kind.start)
    for text in (RAW, start + RAW, f"\n{start}{RAW}" if start else RAW):
        (ids,) = prompting.text_tokens(tokenizer, [text])
        assert [w for w in words(tokenizer, ids) if w not in ("\n", "")] == [*kind.start, *RAW.split()]
        assert prompting.prefix_tokens(tokenizer, text) == ids


def test_a_pair_scores_the_continuation_alone(kind: Kind) -> None:
    tokenizer = tokenizer_of(kind)
    (pair,) = pairs.pair_tokens(tokenizer, [TextPair(RAW, REST)], 99)
    assert words(tokenizer, pair.tokens) == [*kind.start, *RAW.split(), *REST.split()]
    assert pair.n_scored == 2
    rest = prompting.continuation_tokens(tokenizer, RAW, [REST])[0]
    assert prompting.prefix_tokens(tokenizer, RAW) + rest == pair.tokens, "all doors read the same tokens"


def test_an_empty_context_is_the_start_token(kind: Kind) -> None:
    tokenizer = tokenizer_of(kind)
    (pair,) = pairs.pair_tokens(tokenizer, [TextPair("", "rice pudding")], 99)
    assert words(tokenizer, pair.tokens) == [kind.bos or "</s>", "rice", "pudding"]


def test_a_rendered_chat_gets_no_special_token(kind: Kind) -> None:
    tokenizer = tokenizer_of(kind)
    text = str(tokenizer.apply_chat_template(USER, tokenize=False, add_generation_prompt=True))
    expected = tokenizer(text, add_special_tokens=False).input_ids
    (prefix,) = prompting.frame(tokenizer, [USER[0]["content"]]).prefixes
    assert prompting.prefix_tokens(tokenizer, prefix) == expected
    assert pairs.context_tokens(tokenizer, USER) == expected
    (pair,) = pairs.pair_tokens(tokenizer, [TextPair(USER, " rice")], 99)
    assert pair.tokens[: len(expected)] == expected
    assert words(tokenizer, pair.tokens[len(expected) :]) == ["rice"]
    assert expected.count(tokenizer.convert_tokens_to_ids("<s>")) == ("bos_token" in kind.template)


def test_a_rendered_text_and_an_equal_plain_one_are_not_mixed_up() -> None:
    tokenizer = tokenizer_of(KINDS["adds a start token (Llama 3, Gemma)"])
    texts = [RAW, Rendered(RAW)]
    plain, rendered = prompting.text_tokens(tokenizer, texts)
    assert plain == [tokenizer.bos_token_id, *rendered]
    both = pairs.pair_tokens(tokenizer, [TextPair(text, REST) for text in texts], 99)
    assert [pair.tokens[:1] == plain[:1] for pair in both] == [True, False]


def test_pairs_and_lists_have_the_same_scores_with_an_end_token(tmp_path: Path) -> None:
    tokenizer = tokenizer_of(KINDS["adds start and end"])
    config = GPT2Config(vocab_size=len(tokenizer), n_embd=8, n_layer=1, n_head=2, n_positions=600)
    folder = tiny.save(lambda: GPT2LMHeadModel(config), tokenizer, tmp_path / "model")  # type: ignore[no-untyped-call]
    scorer = PackedTrieScorer(tiny.spec(), str(folder))
    items = [" rice", " rice pudding", " salt"]
    listed = scorer.score([RAW], items)[0]
    paired = scorer.score_pairs([TextPair(RAW, item) for item in items]).logprob
    assert np.abs(listed - paired).max() < 1e-4


def test_a_text_that_a_tokenizer_cannot_read_is_one_line() -> None:
    made = Tokenizer(models.WordLevel({"rice": 0}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made)  # type: ignore[no-untyped-call]
    with pytest.raises(
        EngineError, match=r"cannot read a text \(WordLevel error: Missing .*get its files again"
    ):
        prompting.plain_tokens(tokenizer, ["rice", "salt"])
