"""Tokenizers of three families over one small English and Chinese vocabulary, and the pieces of clozes.

The pieces are written by hand, so that tests do not take them from the code under test.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertTokenizer,
    PreTrainedTokenizerBase,
    T5Tokenizer,
    XLMRobertaTokenizer,
)

from tasks.engines.protocols import Cloze
from tasks.engines.specs import EngineSpec

WORDS = ["the", "food", "of", "peru", "rice", "pudding", "salt", "has", "in", "it", "x"]
CHINESE = list("米饭的原料是盐鱼香肉")
WORDPIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "##cake", *CHINESE, ".", "。"]
# Fewer pieces win. "是盐" merges across the blank's border; the candidate's own piece is expected there.
UNIGRAMS = ["▁", *("▁" + word for word in WORDS), "cake", "米饭", "是盐", *CHINESE, ".", "。"]

ENGLISH = Cloze(
    before=("the food of peru has", "rice pudding has", "the rice pudding of the food of peru has"),
    lead=" ",
    after=" in it.",
    tail=" has",
)
ENGLISH_AT_THE_END = Cloze(before=ENGLISH.before, lead=" ", after="", tail=" has")
ENGLISH_WITH_STOP = Cloze(before=ENGLISH.before, lead=" ", after=".", tail=" has")
CHINESE_CLOZE = Cloze(before=("米饭的原料是", "鱼香肉的原料是"), lead="", after="。", tail="的原料是")
CLOZES = {
    "text after the blank": ENGLISH,
    "blank at the end": ENGLISH_AT_THE_END,
    "full stop after the blank": ENGLISH_WITH_STOP,
    "chinese": CHINESE_CLOZE,
}

ENGLISH_CANDIDATES = [
    "rice", "rice pudding", "ricecake", "rice pudding ricecake", "salt", "rice salt", "ricecake pudding",
]  # fmt: skip
CHINESE_CANDIDATES = ["盐", "米饭", "鱼", "鱼肉", "鱼香肉", "鱼香肉盐"]


def candidates(cloze: Cloze) -> list[str]:
    return ENGLISH_CANDIDATES if cloze.lead else CHINESE_CANDIDATES


def wordpieces(text: str) -> list[str]:
    """Return hand-made pieces: words, single Chinese characters, "cake" as a continuation."""
    pieces: list[str] = []
    for word in text.replace(".", " .").split():
        if word[0] in CHINESE or word[0] == "。":
            pieces += list(word)
        else:
            pieces += ["rice", "##cake"] if word == "ricecake" else [word]
    return pieces


def unigrams(text: str, word_start: bool = True) -> list[str]:
    """Return hand-made pieces: ▁ before a word, "米饭" is one piece, "cake" follows "▁rice"."""
    pieces: list[str] = []
    for number, word in enumerate(text.replace(".", " .").split()):
        if word == ".":
            pieces.append(".")
        elif word[0] in CHINESE or word[0] == "。":
            pieces += ["▁"] if word_start and number == 0 else []
            pieces += ["米饭", *word[2:]] if word.startswith("米饭") else list(word)
        else:
            pieces += ["▁rice", "cake"] if word == "ricecake" else ["▁" + word]
    return pieces


def bert_tokenizer() -> PreTrainedTokenizerBase:
    return BertTokenizer(vocab={piece: i for i, piece in enumerate(WORDPIECES)})


def xlmr_tokenizer() -> PreTrainedTokenizerBase:
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    return XLMRobertaTokenizer(vocab=[*_scored(special, 0.0), *_scored(UNIGRAMS, -1.0), ("<mask>", 0.0)])


def t5_tokenizer(sentinel: str = "<extra_id_0>") -> PreTrainedTokenizerBase:
    special = ["<pad>", "</s>", "<unk>"]
    extra_ids = int(sentinel == "<extra_id_0>")
    vocab = [*_scored(special, 0.0), *_scored(UNIGRAMS, -1.0), (sentinel, 0.0)]
    return T5Tokenizer(vocab=vocab, extra_ids=extra_ids)


def save(build: Callable[[], Any], tokenizer: PreTrainedTokenizerBase, folder: Path) -> Path:
    """Save a randomly initialised model whose probabilities differ measurably, and its tokenizer."""
    torch.manual_seed(0)
    model = build()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_bart(folder: Path) -> Path:
    """Save a small BART, which no candidate scorer takes."""
    config = BartConfig(
        vocab_size=len(UNIGRAMS) + 5, d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16,
    )  # fmt: skip
    return save(lambda: BartForConditionalGeneration(config), xlmr_tokenizer(), folder)


def spec(**fields: Any) -> EngineSpec:
    return EngineSpec(**{"name": "tiny", "model": "x", "dtype": "float32", "device": "cpu"} | fields)


def _scored(pieces: list[str], score: float) -> list[tuple[str, float]]:
    return [(piece, score) for piece in pieces]
