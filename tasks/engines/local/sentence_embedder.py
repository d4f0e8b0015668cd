"""Sentence vectors by sentence-transformers, which knows each model's pooling and sequence limit.

all-MiniLM-L6-v2 averages the token vectors over the attention mask, scales the mean to length 1, and reads
256 tokens, [CLS] and [SEP] included. It was trained on English: of FmLAMA's ingredients, 121 of 198 Chinese
and 32 of 197 Korean ones consist only of [UNK], and in the other Chinese ones most characters are [UNK]. Use
a multilingual model or fastText for these languages.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stderr

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from transformers import PreTrainedTokenizerBase

from tasks.engines.local import devices
from tasks.engines.local.embedded import DEFAULT
from tasks.engines.protocols import Embedded, EngineError, Progress
from tasks.engines.specs import PICKLE_ADVICE, is_allowed

BATCH_TOKENS = 8192
"""Most token positions per forward pass, padding included; bounds the memory."""
TEXTS_AT_ONCE = 4096
"""Number of texts tokenised together to count their tokens."""


class SentenceEmbedder:
    """Implements ``Embedder`` in float32, on the GPU if torch sees one.

    A text without a known token (empty, blank, or only [UNK]) has no vector: the model would give all such
    texts nearly the same vector, with cosines of 1.
    """

    def __init__(self, name: str, model: str, revision: str | None = None) -> None:
        """Load a model from its folder or, with its Hugging Face id, at a revision.

        Raises:
            EngineError: it cannot be loaded, or is not a transformer over text.
        """
        self.name = name
        try:
            with redirect_stderr(io.StringIO()):  # progress bars
                safe = None if is_allowed("pickle") else {"use_safetensors": True}
                self._model = SentenceTransformer(model, revision=revision, model_kwargs=safe).float()
        except Exception as error:  # the libraries may raise anything on a broken folder
            if "safetensors" in str(error) and not is_allowed("pickle"):
                raise EngineError(f"embedder {model!r} lacks safetensors: {PICKLE_ADVICE}") from error
            raise EngineError(
                f"sentence-transformers cannot load {model!r} ({type(error).__name__}: {error}); check that "
                "its files are complete"
            ) from error
        tokenizer, limit = self._model.tokenizer, self._model.max_seq_length
        if not isinstance(tokenizer, PreTrainedTokenizerBase) or limit is None:
            raise EngineError(
                f"{model!r} is not a transformer over text with a sequence limit, so its truncated texts "
                f"cannot be counted; use another, for instance {DEFAULT}"
            )
        self._tokenizer = tokenizer
        self.limit = int(limit)
        self._prompt = self._model.prompts.get(self._model.default_prompt_name or "", "")

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Embedded:
        """Implement ``Embedder``. Texts of similar length share a batch, so there is little padding.

        The longest come first, so that a batch that does not fit into memory fails at once.
        """
        dimension = self._model.get_embedding_dimension()
        assert dimension is not None
        vectors = np.zeros((len(texts), dimension), dtype=np.float32)
        lengths, known = self._count_tokens(texts)
        rows = np.flatnonzero(known)
        if progress and len(rows) < len(texts):
            progress(len(texts) - len(rows))
        longest_last = list(devices.batches(np.minimum(lengths[rows], self.limit), BATCH_TOKENS))
        for batch in (rows[places] for places in reversed(longest_last)):
            vectors[batch] = self._model.encode(
                [texts[row] for row in batch], batch_size=len(batch), show_progress_bar=False
            )
            if progress:
                progress(len(batch))
        return Embedded(vectors, lengths, lengths > self.limit)

    def close(self) -> None:
        """Free the model's memory."""
        del self._model

    def _count_tokens(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return [n] numbers of tokens without a limit, and [n] bool: whether a text has a known token."""
        special = self._tokenizer.num_special_tokens_to_add()
        prompt = len(self._tokenizer(self._prompt, add_special_tokens=False)["input_ids"])
        unknown = self._tokenizer.unk_token_id
        lengths, known = np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts), dtype=np.bool_)
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            part = list(texts[start : start + TEXTS_AT_ONCE])
            tokens = self._tokenizer(part, add_special_tokens=False, truncation=False, verbose=False)
            for row, ids in enumerate(tokens["input_ids"], start):
                lengths[row] = len(ids) + special + prompt
                known[row] = any(i != unknown for i in ids)
        return lengths, known
