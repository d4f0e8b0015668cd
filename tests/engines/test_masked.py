"""The masked scorer against one plain forward pass per sentence and candidate, on small random models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    PreTrainedTokenizerBase,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
)

from tasks.engines.local.masked import MaskedScorer
from tasks.engines.protocols import Cloze, EngineError
from tests.engines import tiny_models as tiny
from tests.engines.candidate_contract import (  # noqa: F401 - tests of every scorer of candidates
    Expected,
    test_batches_and_order_do_not_matter,
    test_half_precision_stays_near_float32,
    test_missing_model_is_refused,
    test_progress_adds_up,
    test_scores_equal_brute_force,
    test_sentence_longer_than_the_context_is_refused,
    test_unspellable_candidate_is_nan_and_changes_no_other,
)

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}


@dataclass(frozen=True)
class Family:
    tokenizer: Callable[[], PreTrainedTokenizerBase]
    build: Callable[[], Any]
    opening: str
    closing: str
    mask: str
    pieces: Callable[..., list[str]]


def bert_config(tokens: int = 40) -> BertConfig:
    return BertConfig(**SIZES, vocab_size=len(tiny.WORDPIECES), max_position_embeddings=tokens)


FAMILIES = {
    "wordpiece": Family(
        tiny.bert_tokenizer,
        lambda: BertForMaskedLM(bert_config()),
        "[CLS]", "[SEP]", "[MASK]", tiny.wordpieces,
    ),
    # 42 rows for 40 tokens: positions of RoBERTa's kind begin at 2.
    "unigram": Family(
        tiny.xlmr_tokenizer,
        lambda: XLMRobertaForMaskedLM(
            XLMRobertaConfig(**SIZES, vocab_size=len(tiny.UNIGRAMS) + 5, max_position_embeddings=42)
        ),
        "<s>", "</s>", "<mask>", tiny.unigrams,
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest) -> Family:
    return FAMILIES[request.param]


@pytest.fixture(scope="module")
def folder(family: Family, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save(family.build, family.tokenizer(), tmp_path_factory.mktemp("masked"))


@pytest.fixture(scope="module")
def scorer(folder: Path) -> MaskedScorer:
    return MaskedScorer(tiny.spec(), str(folder))


@pytest.fixture(scope="module")
def n_rice() -> int:
    return 36  # two special tokens and a mask


@pytest.fixture(scope="module")
def expected(family: Family, folder: Path) -> Expected:
    return partial(brute_force, family, folder)


def brute_force(
    family: Family, folder: Path, cloze: Cloze, texts: list[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute equations 1 and 2 literally, with hand-written pieces and without our engine code."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForMaskedLM.from_pretrained(folder, attn_implementation="eager").eval()
    inside = {} if family.pieces is tiny.wordpieces else {"word_start": False}
    logprob, probability = np.empty((2, len(cloze.before), len(texts)))
    for s, before in enumerate(cloze.before):
        for c, text in enumerate(texts):
            wanted = tokenizer.convert_tokens_to_ids(family.pieces(text, **inside))
            left, right = family.pieces(before), family.pieces(cloze.after, **inside)
            query = [family.opening, *left, *[family.mask] * len(wanted), *right, family.closing]
            ids = tokenizer.convert_tokens_to_ids(query)
            assert tokenizer.unk_token_id not in ids + wanted
            with torch.no_grad():
                logprobs = torch.log_softmax(model(torch.tensor([ids])).logits[0], dim=-1)
            first = 1 + len(left)
            steps = np.array([float(logprobs[first + i, token]) for i, token in enumerate(wanted)])
            logprob[s, c], probability[s, c] = steps.sum(), np.exp(steps).mean()
    n_tokens = np.array([len(family.pieces(text, **inside)) for text in texts])
    return logprob, probability, n_tokens


def test_mask_outside_the_blank_is_refused(family: Family, scorer: MaskedScorer) -> None:
    cloze = Cloze(before=(f"rice {family.mask} has",), lead=" ", after="", tail=" has")
    with pytest.raises(EngineError, match="outside the blank"):
        scorer.score_candidates(cloze, ["salt"])


def test_candidate_without_a_token_is_refused(scorer: MaskedScorer) -> None:
    with pytest.raises(EngineError, match="candidate '' has no token"):
        scorer.score_candidates(tiny.ENGLISH, ["rice", ""])


def test_checkpoint_without_its_head_is_refused(tmp_path: Path) -> None:
    folder = tiny.save(lambda: BertModel(bert_config()), tiny.bert_tokenizer(), tmp_path)
    with pytest.raises(EngineError, match=r"lacks .* weights .*cls\.predictions"):
        MaskedScorer(tiny.spec(), str(folder))


def test_encoder_decoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="encoder-decoder"):
        MaskedScorer(tiny.spec(), str(tiny.save_bart(tmp_path)))
